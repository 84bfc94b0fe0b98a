"""A run in a file: YAML with every text as a block literal, so that a person can read it and edit it."""

import logging
import pathlib
import time

import yaml

from utils.cost import UNITS
from utils.errors import NotAThought
from utils.read_reply import STATUSES, read_thought
from utils.read_yaml import load_yaml
from utils.solution import is_over, solution_so_far
from utils.text import CONTROL_CHARACTER

FOLDER = pathlib.Path("runs")

log = logging.getLogger("chain_of_thought")


class SavedRun:
    """The file of a run. path: pathlib.Path, or None for a new one; content: bytes, or None before there is any."""

    def __init__(self, path=None, content=None):
        self.path = path or FOLDER / time.strftime("%Y%m%d-%H%M%S.yaml")
        self.content = content
        self.has_failed = False

    def save(self, shared):
        """Write the run, under another name if its file was changed meanwhile. The first failure is logged."""
        run = {"problem": shared["problem"], "thoughts": shared["thoughts"]}
        content = yaml.dump(run, Dumper=RunDumper, sort_keys=False, allow_unicode=True, width=float("inf")).encode()
        first_path, had_content, number = self.path, self.content is not None, 1
        try:
            self.path.parent.mkdir(exist_ok=True)
            while not self.replace(content):
                number += 1
                self.path = first_path.with_name(f"{first_path.stem}-{number}{first_path.suffix}")
            if number > 1 and had_content:
                log.warning("%s was changed by another run or by hand: this run goes on in %s.", first_path, self.path)
            self.has_failed = False
        except OSError as error:
            if not self.has_failed:
                log.warning("The run cannot be saved in %s: %s.", self.path, error.strerror)
            self.has_failed = True

    def replace(self, content):
        """Replace the file, if it is as this run left it. Returns whether it was."""
        temporary = self.path.with_name(f"{self.path.name}.tmp")
        try:
            file = open(temporary, "xb")  # Of two processes, only one gets past this line.
        except FileExistsError:
            return False
        try:
            with file:
                file.write(content)
            if self.path.exists() and self.path.read_bytes() != self.content:
                return False
            temporary.replace(self.path)
            self.content = content
            return True
        finally:
            temporary.unlink(missing_ok=True)


def latest_path():
    """The run in FOLDER that was written last, or None."""
    return max(FOLDER.glob("[!.]*.yaml"), key=lambda path: path.stat().st_mtime_ns, default=None)


def load_run(path):
    """The shared store of a saved run, and its SavedRun. Raises OSError, or NotAThought with what is wrong with it."""
    content = path.read_bytes()
    run = load_yaml(content.decode("utf-8-sig"))
    is_run = isinstance(run, dict) and set(run) == {"problem", "thoughts"} and isinstance(run["problem"], str)
    if not is_run or not isinstance(run["thoughts"], list):
        raise NotAThought("it is not a saved run, which has a problem and a list of thoughts, and nothing else")
    thoughts = []
    for number, fields in enumerate(run["thoughts"], 1):
        try:
            if thoughts and is_over(thoughts[-1]):
                raise NotAThought("the thought before it ends the run")
            thought = {"thought_number": number, **read_thought(fields, solution_so_far(thoughts), is_last=True)}
            thoughts.append({**thought, **({"cost": read_cost(fields["cost"])} if fields.get("cost") else {})})
        except NotAThought as fault:
            raise NotAThought(f"Thought {number}: {fault}") from None
        except (ValueError, TypeError, AttributeError):
            raise NotAThought(f"Thought {number}: its cost cannot be read") from None
    return {"problem": run["problem"], "thoughts": thoughts}, SavedRun(path, content)


def read_cost(fields):
    model = {"model": fields["model"]} if fields.get("model") else {}
    return {**model, **{key: (float if key == "seconds" else int)(fields[key]) for key in UNITS if key in fields}}


class RunDumper(yaml.SafeDumper):
    """Writes every text but keys and statuses as a block literal, if YAML can hold it in one."""

    # A tab as \x09: the reader takes \t for a slip such as "\theta".
    ESCAPE_REPLACEMENTS = {key: value for key, value in yaml.SafeDumper.ESCAPE_REPLACEMENTS.items() if key != "\t"}

    def choose_scalar_style(self):
        text, is_text = self.event.value, self.event.implicit[1]
        if not is_text or self.simple_key_context or text in STATUSES:
            return super().choose_scalar_style()
        return '"' if CONTROL_CHARACTER.search(text) else "|"  # In a literal, the reader refuses or changes them.
