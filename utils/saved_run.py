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

from utils.errors import InvalidThought, RunFailed
from utils.run_format import format_run_for_file, read_run

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
