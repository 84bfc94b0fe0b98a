"""A run and its file. No run is ever overwritten.

The file is YAML that a person can read and edit: {"problem": str, "thoughts": [thought, ...]}, with thoughts as in
utils/thought.py and every text as a block literal.
"""

import contextlib
import itertools
import logging
import os
import pathlib
import re
import secrets
import shutil
import tempfile
import textwrap
import time

from utils.errors import InvalidThought, RunFailed
from utils.plain_yaml import LiteralDumper, dump_yaml, load_yaml
from utils.thought import SAVED_KEYS, STATUSES, read_fields, read_thought, solution_after

FOLDER = pathlib.Path("runs")
RUN_KEYS = ("problem", "thoughts")

log = logging.getLogger("chain_of_thought")


class SavedRun:
    """A run and its file.

    shared: the shared store; thoughts: those in it; model: the one that thought last, str or None; source: the file
    that it was loaded from, or None; path: the file that it is saved in, or None; content: what this run found or left
    there, bytes; saved_count: how many thoughts need not be saved any more; last_save_failed: bool.
    """

    def __init__(self, shared, model=None, source=None, path=None, content=b""):
        self.shared = shared
        self.thoughts = shared["thoughts"]
        self.model = model
        self.source = source
        self.path = path
        self.content = content
        self.saved_count = len(self.thoughts)
        self.last_save_failed = False

    def open_file(self, path):
        """See that the run can be saved: in a new file at path, in the one that it has, or in a new one in FOLDER.

        Raises RunFailed.
        """
        try:
            if path:
                path.touch(exist_ok=False)
                self.take_new_file(path)
            elif self.path:
                tempfile.TemporaryFile(dir=self.path.resolve().parent).close()  # Fails if it cannot be written there.
            else:
                FOLDER.mkdir(exist_ok=True)
                self.take_new_file(create_file(new_path(self.shared["problem"])))
        except (OSError, UnicodeError) as error:
            place = path or self.path or FOLDER
            raise RunFailed(f"{place}: {describe(error)}; name another new file with --run FILE.") from None

    def take_new_file(self, path):
        self.path = path
        self.content = b""

    def save(self, shared):
        """Write the run to its file, or to FILE-2 if that was changed. The first failure is logged; the run goes on."""
        content = format_run(shared).encode()
        try:
            self.write(content)
            self.saved_count = len(shared["thoughts"])
            self.last_save_failed = False
        except OSError as error:
            if not self.last_save_failed:
                log.warning(f"The run cannot be saved in {self.path}: {describe(error)}.")
            self.last_save_failed = True

    def write(self, content):
        present = self.path.read_bytes() if self.path.exists() else None
        if present not in (None, self.content, content):
            changed = self.path
            self.take_new_file(create_file(changed))
            log.warning(f"{changed} was changed by another run or by hand: continuing in {self.path}.")
        if present != content:  # Else, it was written by a save that was interrupted.
            replace_file(self.path, content)
        self.content = content

    def has_unsaved_thoughts(self):
        return len(self.thoughts) > self.saved_count

    def is_saved(self):
        """Whether the run has a file that holds all its thoughts."""
        return bool(self.content) and not self.has_unsaved_thoughts()

    def close(self):
        """Save what an interrupt has kept from being saved, or remove a file that was created for nothing."""
        if self.has_unsaved_thoughts():
            self.save(self.shared)
        if self.path and not self.content:
            with contextlib.suppress(OSError):  # It may have been moved or deleted.
                if not self.path.stat().st_size:
                    self.path.unlink()


# A run as text


class RunDumper(LiteralDumper):
    plain_texts = STATUSES


def format_run(shared):
    """The YAML, str, of the problem and the thoughts in a shared store."""
    return dump_yaml({"problem": shared["problem"], "thoughts": shared["thoughts"]}, RunDumper)


def read_run(content, count=None):
    """The shared store in the content of a file, bytes, and the model of its last thought, str or None.

    count: read only the first `count` thoughts, whatever is wrong with the others. Raises InvalidThought.
    """
    fields = load_yaml(decode(content))
    if not is_run(fields):
        raise InvalidThought("it is not a saved run, which has a problem and a list of thoughts, and nothing else")
    read_fields(fields, RUN_KEYS, RUN_KEYS)  # Raises InvalidThought for another key.
    saved = fields["thoughts"]
    if count is not None and count not in range(len(saved) + 1):
        raise InvalidThought(f"--after {count} is impossible, it can be from 0 to {len(saved)}")
    thoughts = read_thoughts(saved[:count])
    return {"problem": fields["problem"], "thoughts": thoughts}, last_model(saved)


def decode(content):
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidThought(f"line {line}: it is not UTF-8; save the file in this encoding") from None


def is_run(fields):
    if not isinstance(fields, dict):
        return False
    return isinstance(fields.get("problem"), str) and isinstance(fields.get("thoughts"), list)


def read_thoughts(saved):
    thoughts = []
    solution = None
    for number, fields in enumerate(saved, 1):
        try:
            thought = read_thought(fields, number, [], solution, SAVED_KEYS)  # A saved plan is complete.
        except InvalidThought as error:
            raise InvalidThought(f"Thought {number}: {error}") from None
        thoughts.append(thought)
        solution = solution_after(thought, solution)
    return thoughts


def last_model(saved):
    """The model of the last saved thought, or None. With --after, that thought need not be right."""
    try:
        return saved[-1]["cost"]["model"]
    except (IndexError, KeyError, TypeError):
        return None


# Files


def load_run(path, count=None, is_shown=False):
    """The SavedRun in a file, or a new one of its first `count` thoughts. Opens the file once, to read.

    is_shown: whether the run is only shown, so that it can come from a pipe, too. Raises RunFailed.
    """
    try:
        if path.exists() and not path.is_file() and not is_shown:
            raise RunFailed(f"{path}: this is a folder or a pipe, and a run is resumed from a file.")
        content = path.read_bytes()
        shared, model = read_run(content, count)
    except (OSError, UnicodeError, InvalidThought) as error:
        raise RunFailed(f"{path}: {describe(error)}.") from None
    if count is not None:
        return SavedRun(shared, model, source=path)
    return SavedRun(shared, model, source=path, path=path, content=content)


def latest_path():
    """The run in FOLDER that was written last. Raises RunFailed."""
    runs = []
    try:
        if FOLDER.exists():
            runs = [path for path in FOLDER.iterdir() if is_file_of_run(path)]
        latest = max(runs, key=os.path.getmtime, default=None)
    except OSError as error:
        raise RunFailed(f"{FOLDER}: {describe(error)}.") from None
    if latest is None:
        raise RunFailed(f"There is no run in {FOLDER}/.")
    return latest


def is_file_of_run(path):
    """Whether it is neither hidden nor empty, as a kill leaves it."""
    return path.match("[!.]*.yaml") and path.is_file() and path.stat().st_size


def new_path(problem):
    """Such as runs/20261121-101500-how-many-integers-from-1-to.yaml."""
    words = re.findall(r"[^\W_]+", problem.lower())
    first_words = textwrap.wrap(" ".join(words), 30)[:1]
    name = "-".join([time.strftime("%Y%m%d-%H%M%S"), *" ".join(first_words).split()])
    return FOLDER / f"{name}.yaml"


def create_file(path):
    """Create the file, empty, or path-2, path-3, ... if that exists. Returns the path that it took."""
    new = path
    for number in itertools.count(2):
        try:
            new.touch(exist_ok=False)
            return new
        except FileExistsError:
            new = path.with_stem(f"{path.stem}-{number}")


def replace_file(path, content):
    """Write the content, bytes, as a whole or not at all. The file keeps its mode, and a link to it stays one."""
    target = path.resolve()
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(content)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def describe(error):
    """What is wrong with a file: in the words of the system, if they are known, or in our own."""
    if isinstance(error, UnicodeError):
        return "this name cannot be written in the encoding of the system"
    return getattr(error, "strerror", None) or str(error)
