"""A run and its file. No run is ever overwritten.

The file is YAML that a person can read and edit: {"problem": str, "thoughts": [thought, ...]}, with thoughts as in
utils/thought.py and every text as a block literal.
"""

import itertools
import logging
import os
import pathlib
import re
import shutil
import tempfile
import textwrap
import time

import yaml

from utils.cost import format_count, read_cost
from utils.errors import InvalidThought, RunFailed
from utils.plain_yaml import load_yaml, read_list, read_mapping, read_verbatim
from utils.thought import STATUSES, last_thought
from utils.thought_reader import SAVED_READERS, finish_thought, read_thought

FOLDER = pathlib.Path("runs")
RUN_READERS = {"problem": read_verbatim, "thoughts": read_list}

log = logging.getLogger("chain_of_thought")


class SavedRun:
    """A run and its file.

    shared: the shared store; thoughts: those in it; model: that of the last thought in the file, str or None; path: the
    file, or None until there is one; content: what was read from it or written there last, bytes; saved_count: how many
    thoughts need not be saved any more.
    """

    def __init__(self, shared, model=None, path=None, content=b""):
        self.shared = shared
        self.thoughts = shared.setdefault("thoughts", [])
        self.model = model
        self.path = path
        self.content = content
        self.saved_count = len(self.thoughts)

    def save_first(self, path=None):
        """Save the run before anything is asked, so that a place that cannot be written is noticed before it costs.

        A new run gets its file: at path or, without one, in FOLDER. A resumed one, without a path, is written as it
        was read: it becomes the latest. Raises RunFailed.
        """
        content = self.content or format_run(self.shared)
        try:
            if path:
                create_file(path, content)
                self.path = path
            elif self.path:
                open(self.path, "r+b").close()  # A file that may not be written could still be replaced.
                self.write(content)
            else:
                FOLDER.mkdir(exist_ok=True)
                self.path = create_numbered_file(new_path(self.shared["problem"]), content)
        except OSError as error:
            place = path or self.path or FOLDER
            raise RunFailed(f"{place}: {error.strerror}; name a new file in an existing folder: --run FILE.") from None
        self.content = content

    def save(self, shared):
        """Save the run after a thought. A failure is logged, and the run goes on. shared: that of this run."""
        try:
            self.write(format_run(shared))
        except OSError as error:
            log.warning(f"The run cannot be saved in {self.path}: {error.strerror}.")

    @property
    def length(self):
        """Such as "2 thoughts"."""
        return format_count(len(self.thoughts), "thoughts")

    @property
    def unsaved_count(self):
        return len(self.thoughts) - self.saved_count

    def write(self, content):
        """Write this content to the file, or to FILE-2 if the file is not as this run has left it."""
        if not self.path.exists():  # It was moved or deleted.
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


class RunDumper(yaml.SafeDumper):
    """Writes every text but keys and statuses as a block literal."""

    def choose_scalar_style(self):
        """PyYAML asks this for the style of each value. It would put some texts in quotes, with backslashes."""
        is_text = self.event.tag == "tag:yaml.org,2002:str"  # no number and no flag
        is_key = self.simple_key_context
        if is_text and not is_key and self.event.value not in STATUSES:
            return "|"
        return super().choose_scalar_style()


def format_run(shared):
    """The YAML, bytes, of the problem and the thoughts in a shared store."""
    thoughts = [{key: thought[key] for key in SAVED_READERS if key in thought} for thought in shared["thoughts"]]
    run = {"problem": shared["problem"], "thoughts": thoughts}
    return yaml.dump(run, Dumper=RunDumper, sort_keys=False, allow_unicode=True, encoding="utf-8")


def read_run(text, count=None):
    """The shared store in the text of a file, and the model of its last thought, str or None.

    count: read only the first `count` thoughts; the others need only be YAML. Raises InvalidThought.
    """
    run = read_mapping(load_yaml(text), RUN_READERS, RUN_READERS, "a saved run")
    nodes = run["thoughts"]
    if count is not None and not 0 <= count <= len(nodes):
        raise InvalidThought(f"--after {count} is impossible; it can be from 0 to {len(nodes)}")
    run["thoughts"] = read_thoughts(nodes[:count])
    return run, last_model(nodes)


def read_thoughts(nodes):
    """The thoughts in a list of YAML nodes. Raises InvalidThought, with the number of the thought and a way out."""
    thoughts = []
    for number, node in enumerate(nodes, 1):
        try:
            thought = read_thought(node, SAVED_READERS, number)
            finish_thought(thought, last_thought(thoughts))
        except InvalidThought as error:
            way_out = ""
            if number > 1:
                way_out = f"; mend it, or take only the thoughts before it: --after {number - 1}"
            raise InvalidThought(f"Thought {number}: {error}{way_out}") from None
        thoughts.append(thought)
    return thoughts


def last_model(nodes):
    """The model of the last thought in a list of nodes, or None. With --after, it may be one that cannot be read."""
    try:
        fields = {key.value: value for key, value in nodes[-1].value}
        return read_cost(fields["cost"], "cost")["model"]
    except (LookupError, TypeError, ValueError, InvalidThought):
        return None


# Files


def load_run(path, count=None):
    """The SavedRun in a file, or a new one of its first `count` thoughts. Reads the file once: it may be a pipe.

    Raises RunFailed, or OSError.
    """
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig", "surrogateescape").replace("\r\n", "\n")
        shared, model = read_run(text, count)
    except InvalidThought as error:
        raise RunFailed(f"{path}: {error}.") from None
    if count is not None:
        return SavedRun(shared, model)
    return SavedRun(shared, model, path, content)


def latest_path():
    """The run in FOLDER that was written last. Raises RunFailed, or OSError if it may not be looked for."""
    runs = [path for path in FOLDER.glob("[!.]*.yaml") if path.is_file()]
    if not runs:
        raise RunFailed(f"No run was found in {FOLDER.absolute()}. Name its file after --resume or --show.")
    return max(runs, key=os.path.getmtime)


def new_path(problem):
    """Such as runs/20261121-101500-how-many-integers-from-1-to.yaml."""
    words = re.findall(r"[^\W_]+", problem.lower())
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


def create_file(path, content):
    """Write a new file as a whole, or leave none. Raises FileExistsError if there is one already."""
    file = open(path, "xb")
    try:
        write_to_disk(file, content)
    except BaseException:  # an interrupt, too
        path.unlink()
        raise


def replace_file(path, content):
    """Replace a file as a whole, or leave it as it is. It keeps its mode, and a link to it stays one."""
    target = path.resolve()
    # Only its owner can read it.
    descriptor, temporary = tempfile.mkstemp(suffix=".tmp", prefix=".", dir=target.parent)
    try:
        write_to_disk(open(descriptor, "wb"), content)
        shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        pathlib.Path(temporary).unlink(missing_ok=True)


def write_to_disk(file, content):
    with file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
