"""A run in a file: YAML with every text as a block literal, so that a person can read it and edit it."""

import contextlib
import itertools
import logging
import os
import pathlib
import time

import yaml

from utils.errors import InvalidThought, RunFailed
from utils.load_yaml import load_yaml
from utils.read_thought import CONTROL_CHARACTER, read_thought
from utils.thought import COST_KEYS, STATUSES, is_over, solution_so_far

FOLDER = pathlib.Path("runs")
READ_COST = {"model": str.strip, **dict.fromkeys(COST_KEYS, int), "seconds": float}

log = logging.getLogger("chain_of_thought")


class SavedRun:
    """The file of a run.

    path: pathlib.Path, or None for a new one in FOLDER; content: what the file holds, bytes, or None if there is none
    yet; old_path: the path of the run that this one starts from, or None.
    """

    def __init__(self, path=None, content=None, old_path=None):
        self.path = path or FOLDER / time.strftime("%Y%m%d-%H%M%S.yaml")
        self.content = content
        self.old_path = old_path
        self.has_failed = False

    def save(self, shared):
        """Write the run to its file. The first failure is logged, and the run goes on."""
        run = {"problem": shared["problem"], "thoughts": shared["thoughts"]}
        content = yaml.dump(run, Dumper=RunDumper, sort_keys=False, allow_unicode=True, width=float("inf")).encode()
        temporary = self.path.with_name(f".{os.getpid()}.tmp")
        try:
            self.path.parent.mkdir(exist_ok=True)
            temporary.write_bytes(content)
            self.take_path()
            temporary.replace(self.path)
            self.content = content
            self.has_failed = False
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            if not self.has_failed:
                log.warning("The run cannot be saved in %s: %s.", self.path, error.strerror)
            self.has_failed = True

    def take_path(self):
        """Create the file. If it is another run's, or not as this run left it, create FILE-2, FILE-3, ... instead."""
        if self.content is not None and (not self.path.exists() or self.path.read_bytes() == self.content):
            return
        first_path = self.path
        for number in itertools.count(2):
            with contextlib.suppress(FileExistsError):
                self.path.touch(exist_ok=False)
                break
            self.path = first_path.with_name(f"{first_path.stem}-{number}{first_path.suffix}")
        if self.content is not None:
            log.warning("%s was changed by another run or by hand: continuing in %s.", first_path, self.path)
        self.content = b""


def latest_path():
    """The run in FOLDER that was written last, or None."""
    # A kill can leave an empty file.
    runs = [path for path in FOLDER.glob("[!.]*.yaml") if path.is_file() and path.stat().st_size]
    return max(runs, key=lambda path: path.stat().st_mtime_ns, default=None)


def load_run(path, count=None):
    """Read a saved run, or only its first `count` thoughts, so that whatever is wrong with the others does no harm.

    Returns its shared store, the model of its last thought (str or None), and the content of the file (bytes).
    Raises RunFailed with the file and what is wrong with it.
    """
    try:
        content = path.read_bytes()
        return *read_run(load_yaml(content.decode("utf-8-sig")), count), content
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"line {line}: it is not UTF-8"
    except InvalidThought as error:
        reason = error.reason
    raise RunFailed(f"{path}: {reason}.")


def read_run(run, count):
    """The shared store and the last model in what load_yaml made of a saved run. Raises InvalidThought."""
    is_run = isinstance(run, dict) and set(run) == {"problem", "thoughts"}
    if not is_run or not isinstance(run["problem"], str) or not isinstance(run["thoughts"], list):
        raise InvalidThought("it is not a saved run, which has a problem and a list of thoughts, and nothing else")
    if count is not None and count > len(run["thoughts"]):
        raise InvalidThought(f"it has no Thought {count}; the last one is Thought {len(run['thoughts'])}")
    try:  # The last thought names it even if it is not among the first `count`.
        model = READ_COST["model"](run["thoughts"][-1]["cost"]["model"])
    except (LookupError, TypeError):
        model = None
    thoughts = []
    solution = None
    for number, fields in enumerate(run["thoughts"][:count], 1):
        try:
            if thoughts and is_over(thoughts[-1]):
                raise InvalidThought("the thought before it ends the run")
            cost = fields.pop("cost", None) if isinstance(fields, dict) else None
            thought = read_thought(fields, number, [], solution)
            thoughts.append({**thought, "cost": read_cost(cost)} if cost else thought)
        except InvalidThought as error:
            raise InvalidThought(f"Thought {number}: {error.reason}") from None
        solution = solution_so_far([thought], solution)
    return {"problem": run["problem"], "thoughts": thoughts}, model


def read_cost(fields):
    """The cost of a saved thought, with its numbers as numbers. fields: what load_yaml made of it."""
    try:
        return {key: READ_COST[key](value) for key, value in fields.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidThought("its cost cannot be read") from None


class RunDumper(yaml.SafeDumper):
    """Writes every text but keys and statuses as a block literal, if YAML can hold it in one."""

    ESCAPE_REPLACEMENTS = {'"': '"', "\\": "\\", "\n": "n"}  # The others as \x0C, not as \f, which load_yaml refuses.

    def ignore_aliases(self, data):
        return True  # Thoughts share the steps that did not change, and a person is to read each of them in full.

    def choose_scalar_style(self):
        text, is_text = self.event.value, self.event.implicit[1]
        if not is_text or self.simple_key_context or text in STATUSES:
            return super().choose_scalar_style()
        return '"' if CONTROL_CHARACTER.search(text) else "|"  # In a literal, the reader refuses or changes them.
