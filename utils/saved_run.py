"""A run and its file. No run is ever overwritten.

The file is YAML that a person can read and edit: {"problem": str, "thoughts": [thought, ...]}, with thoughts as in
utils/thought.py and every text as a block literal.
"""

import contextlib
import functools
import itertools
import logging
import os
import pathlib
import re
import secrets
import shutil
import sys
import textwrap
import time

from utils.cost import format_count
from utils.errors import InvalidThought, RunFailed, refuse
from utils.plain_yaml import LiteralDumper, dump_yaml, load_yaml, read_fields, read_verbatim
from utils.thought import SAVED_KEYS, STATUSES, is_solved, read_thought, solution_after

FOLDER = pathlib.Path("runs")
RUN_KEYS = ("problem", "thoughts")

log = logging.getLogger("chain_of_thought")


class SavedRun:
    """A run and its file.

    shared: the shared store; thoughts: those in it; model: the one that thought last, str or None; source: the file
    that it was read from and goes on in, or None; content: what it read or wrote last, bytes; path: its file, None
    until it is saved first; saved_count: how many thoughts need not be saved any more.
    """

    def __init__(self, shared, model=None, source=None, content=b""):
        self.shared = shared
        self.thoughts = shared.setdefault("thoughts", [])
        self.model = model
        self.source = source
        self.content = content
        self.path = None
        self.saved_count = len(self.thoughts)

    def save_first(self, path=None):
        """Save the run before anything is asked: in a new file at path, or in its source, or in a new file in FOLDER.

        A source gets the bytes that were read: so a place that cannot be written is noticed before anything is paid
        for, and the run becomes the latest. Raises RunFailed.
        """
        content = self.content or format_run(self.shared)
        try:
            if path:
                create_file(path, content)
                self.path = path
            elif self.source:
                open(self.source, "r+b").close()  # A file that may not be written could still be replaced.
                self.path = self.source
                self.write(content)
            else:
                FOLDER.mkdir(exist_ok=True)
                self.path = create_numbered_file(new_path(self.shared["problem"]), content)
        except OSError as error:
            place = path or self.source or FOLDER
            raise RunFailed(f"{place}: {error.strerror}; name another new file with --run FILE.") from None
        self.content = content

    def save(self, shared):
        """Save the run after a thought. The first failure is logged, and the run goes on. shared: that of this run."""
        try:
            self.write(format_run(shared))
        except OSError as error:
            if self.unsaved_count == 1:
                log.warning(f"The run cannot be saved in {self.path}: {error.strerror}.")

    def close(self):
        """Save the run once more if a save has failed or was interrupted, or if its file is gone."""
        if self.path and not self.is_saved:
            with contextlib.suppress(OSError):
                self.write(format_run(self.shared))

    @property
    def length(self):
        """Such as "2 thoughts"."""
        return format_count(len(self.thoughts), "thoughts")

    @property
    def unsaved_count(self):
        return len(self.thoughts) - self.saved_count

    @property
    def has_file(self):
        return self.path is not None and os.path.exists(self.path)

    @property
    def is_saved(self):
        """Whether the run has a file that holds all its thoughts."""
        return self.has_file and not self.unsaved_count

    def write(self, content):
        """Write this content to the file, or to FILE-2 if the file is not as this run has left it."""
        if not self.path.exists():  # It was moved or deleted.
            self.path.parent.mkdir(exist_ok=True)
            create_file(self.path.resolve(), content)  # A link that leads to nothing stays one.
        elif self.path.read_bytes() in (self.content, content):  # `content` already, if a save was interrupted.
            replace_file(self.path, content)
        else:
            changed = self.path
            self.path = create_numbered_file(changed, content)
            log.warning(f"{changed} was changed by another run or by hand: continuing in {self.path}.")
        self.content = content
        self.saved_count = len(self.thoughts)


# A run as text


class RunDumper(LiteralDumper):
    plain_texts = STATUSES


def format_run(shared):
    """The YAML, bytes, of the problem and the thoughts in a shared store."""
    run = {key: shared[key] for key in RUN_KEYS}
    return dump_yaml(run, RunDumper).encode()


def read_run(content, count=None):
    """The shared store in the content of a file, bytes, and the model of its last thought, str or None.

    count: read only the first `count` thoughts; the others need only be YAML. Raises InvalidThought.
    """
    given = read_fields(load_yaml(decode(content)), RUN_KEYS, RUN_KEYS, "a saved run")
    problem = read_verbatim(given["problem"], "problem")
    saved = given["thoughts"].value
    if not isinstance(saved, list):
        refuse(given["thoughts"].line, "thoughts is not a list of thoughts")
    if count is not None and not 0 <= count <= len(saved):
        raise InvalidThought(f"--after {count} is impossible; it can be from 0 to {len(saved)}")
    thoughts = read_thoughts(saved[:count])
    return {"problem": problem, "thoughts": thoughts}, last_model(saved)


def decode(content):
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidThought(f"line {line}: it is not UTF-8; save the file as UTF-8") from None


def read_thoughts(saved):
    """The thoughts in a list of Fields. Raises InvalidThought, with the number of the thought and a way out."""
    thoughts = []
    solution = None
    for number, field in enumerate(saved, 1):
        try:
            if is_solved(thoughts):
                refuse(field.line, "the thought before it has all steps Done; set one to Pending, or take this out")
            thought = read_thought(field, number, [], solution, SAVED_KEYS)  # A saved plan is complete.
        except InvalidThought as error:
            way_out = f"; mend it, or take only the thoughts before it with --after {number - 1}" if thoughts else ""
            raise InvalidThought(f"Thought {number}: {error}{way_out}") from None
        thoughts.append(thought)
        solution = solution_after(thought, solution)
    return thoughts


def last_model(saved):
    """The model of the last saved thought, or None. With --after, that thought need not be right."""
    try:
        return saved[-1].value["cost"].value["model"].value
    except (IndexError, KeyError, TypeError):
        return None


# Files


def load_run(path, count=None):
    """The SavedRun in a file, or a new one of its first `count` thoughts. Opens the file once, to read.

    Raises RunFailed.
    """
    try:
        content = path.read_bytes()
        shared, model = read_run(content, count)
    except OSError as error:
        raise RunFailed(f"{path}: {error.strerror}.") from None
    except InvalidThought as error:
        raise RunFailed(f"{path}: {error}.") from None
    if count is not None:
        return SavedRun(shared, model)
    return SavedRun(shared, model, path, content)


def require_regular_file(path):
    """Refuse a pipe, which can be neither read twice nor replaced, for a run that is to go on. Raises RunFailed."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise RunFailed(f"{path}: this is a folder or a pipe, and a run is resumed from a file.")


def latest_path():
    """The run in FOLDER that was written last. Raises RunFailed, or OSError if it may not be looked for."""
    runs = [path for path in FOLDER.glob("[!.]*.yaml") if path.is_file()]
    if not runs:
        raise RunFailed(f"No run was found in {FOLDER.absolute()}.")
    return max(runs, key=os.path.getmtime)


def new_path(problem):
    """Such as runs/20261121-101500-how-many-integers-from-1-to.yaml."""
    encoding = sys.getfilesystemencoding()
    writable = problem.lower().encode(encoding, "ignore").decode(encoding)
    words = re.findall(r"[^\W_]+", writable)
    first_words = textwrap.wrap(" ".join(words), 30)[:1]
    name = " ".join([time.strftime("%Y%m%d-%H%M%S"), *first_words])
    return FOLDER / f"{name.replace(' ', '-')}.yaml"


def create_numbered_file(path, content):
    """Write a new file at the path or, if that is taken, at path-2, path-3, ... Returns the path that it took."""
    new = path
    for number in itertools.count(2):
        try:
            create_file(new, content)
            return new
        except FileExistsError:
            new = path.with_stem(f"{path.stem}-{number}")


def create_file(path, content, mode=0o666):
    """Write a new file as a whole, or leave none. Raises FileExistsError if there is one already."""
    file = open(path, "xb", opener=functools.partial(os.open, mode=mode))
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:  # an interrupt, too
        path.unlink()
        raise


def replace_file(path, content):
    """Write a file anew as a whole, or leave it as it is. It keeps its mode, and a link to it stays one."""
    target = path.resolve()
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    create_file(temporary, content, mode=0o600)
    try:
        shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)  # An interrupt may come when it has been renamed.
        raise
