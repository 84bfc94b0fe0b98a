"""The file of a run: its name, saving and loading. No run is ever overwritten."""

import dataclasses
import logging
import os
import pathlib
import re
import shutil
import tempfile
import textwrap
import time

import yaml

from utils.errors import InvalidThought, RunFailed
from utils.plain_yaml import CONTROL_CHARACTER, load_yaml
from utils.thought import STATUSES, THOUGHT_KEYS, read_thought, solution_so_far

FOLDER = pathlib.Path("runs")

log = logging.getLogger("chain_of_thought")


@dataclasses.dataclass
class SavedRun:
    """A run and its file.

    shared: the shared store; model: that of its last thought; path, content: its file, and what it found or left there.
    """

    shared: dict
    model: str = None
    path: pathlib.Path = None
    content: bytes = b""
    has_failed: bool = False

    def __post_init__(self):
        self.thoughts = self.shared["thoughts"]
        self.count_before = len(self.thoughts)

    def open_file(self, path):
        """Create a file for the run, at path or, if it has none yet, in FOLDER. Raises OSError if that fails."""
        if path:
            path.touch(exist_ok=False)
            self.path, self.content = path, b""
        elif self.path:
            tempfile.TemporaryFile(dir=self.path.resolve().parent).close()  # Fails if nothing can be written there.
        else:
            FOLDER.mkdir(exist_ok=True)
            self.path = create_file(new_path(self.shared["problem"]))

    def save(self, shared):
        """Write the run to its file, or to FILE-2 if that was changed. The first failure is logged; the run goes on."""
        content = format_run_for_file(shared).encode()
        if content == self.content:
            return
        try:
            if self.path.exists() and self.path.read_bytes() not in (self.content, content):
                changed, self.path = self.path, create_file(self.path)
                log.warning(f"{changed} was changed by another run or by hand: continuing in {self.path}.")
            replace_file(self.path, content)
            self.content = content
            self.has_failed = False
        except OSError as error:
            if not self.has_failed:
                log.warning(f"The run cannot be saved in {self.path}: {error.strerror}.")
            self.has_failed = True

    def close(self):
        """Save once more, in case that was interrupted, or remove a file that is still empty."""
        if len(self.thoughts) > self.count_before:
            self.save(self.shared)
        elif self.path and self.path.exists() and not self.path.read_bytes():
            self.path.unlink()


def new_path(problem):
    """Such as runs/20261121-101500-how-many-integers-from-1-to.yaml."""
    words = re.findall(r"[^\W_]+", problem.lower())
    name = "-".join([time.strftime("%Y%m%d-%H%M%S"), *textwrap.wrap(" ".join(words), 30)[:1]])
    return FOLDER / f"{name.replace(' ', '-')}.yaml"


def create_file(path, number=1):
    """Create the file, empty, or path-2, path-3, ... if that exists. Returns the path that it took."""
    new = path.with_stem(f"{path.stem}-{number}") if number > 1 else path
    try:
        new.touch(exist_ok=False)
        return new
    except FileExistsError:
        return create_file(path, number + 1)


def replace_file(path, content):
    """Write the content, bytes, as a whole or not at all. The file keeps its mode, and a link to it stays one."""
    target = path.resolve()
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        if target.exists():  # It may have been moved or deleted.
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def latest_path():
    """The run in FOLDER that was written last. Raises RunFailed if there is none."""
    runs = [path for path in FOLDER.glob("[!.]*.yaml") if path.is_file() and path.stat().st_size]
    if not runs:
        raise RunFailed(f"There is no run in {FOLDER}/.")
    return max(runs, key=os.path.getmtime)


def load_run(path, count=None):
    """The SavedRun in a file, or a new one of its first `count` thoughts. Raises RunFailed if the file has a fault."""
    try:
        content = path.read_bytes()
        shared, model = read_run(content.decode("utf-8-sig", "surrogateescape"), count)
        return SavedRun(shared, model, path, content) if count is None else SavedRun(shared, model)
    except (OSError, InvalidThought) as error:
        raise RunFailed(f"{path}: {getattr(error, 'strerror', None) or error}.")


def format_run_for_file(shared):
    """The YAML, str, of the problem and the thoughts in a shared store."""
    run = {"problem": shared["problem"], "thoughts": shared["thoughts"]}
    return yaml.dump(run, Dumper=RunDumper, sort_keys=False, allow_unicode=True, width=float("inf"))


class RunDumper(yaml.SafeDumper):
    """Writes every text but keys and statuses as a block literal, if YAML can hold it in one."""

    ESCAPE_REPLACEMENTS = {'"': '"', "\\": "\\"}  # The others as \x0C, not as \f, which load_yaml refuses.

    def ignore_aliases(self, data):
        return True  # Thoughts share the steps that did not change; a person wants to read them in each.

    def choose_scalar_style(self):
        text, is_text = self.event.value, self.event.implicit[1]
        if not is_text or self.simple_key_context or text in STATUSES:
            return super().choose_scalar_style()
        return '"' if CONTROL_CHARACTER.search(text) else "|"


def read_run(text, count=None):
    """The shared store in the YAML of a saved run, and the model of its last thought, str or None.

    text: str; count: read only the first `count` thoughts, whatever is wrong with the others. Raises InvalidThought.
    """
    match load_yaml(text):
        case {"problem": str(problem), "thoughts": list(saved), **others} if not others:
            pass
        case _:
            raise InvalidThought("it is not a saved run, which has a problem and a list of thoughts, and nothing else")
    thoughts, solution, model = [], None, None
    for number, fields in enumerate(saved[:count], 1):
        try:
            thoughts.append(read_thought(fields, number, [], solution, (*THOUGHT_KEYS, "cost")))
        except InvalidThought as error:
            raise InvalidThought(f"Thought {number}: {error}")
        solution = solution_so_far(thoughts[-1:], solution)
    if count not in (None, len(thoughts)):
        raise InvalidThought(f"it has {len(saved)} thoughts, so --after {count} is impossible")
    match saved:  # not `thoughts`: the last one counts, also behind the first `count`
        case [*_, {"cost": {"model": str(name)}}]:
            model = name
    return {"problem": problem, "thoughts": thoughts}, model
