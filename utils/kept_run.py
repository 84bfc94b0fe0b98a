"""A run on disk, to go on from. YAML with every text as a block literal, so that a person can read and edit it."""

import logging
import os
import pathlib
import re
import shlex
import sys

import yaml

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # so that this file can be run on its own

from utils.plan_steps import is_concluded
from utils.read_reply import STATUSES, load_yaml, read_thought

DEFAULT_PATH = "last_run.yaml"

log = logging.getLogger("chain_of_thought")


# What YAML does not take as it is in a block literal; a text with one of these is escaped in double quotes.
NOT_LITERAL = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class KeptRun:
    """The file that a run is kept in. path: str."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.resume_option = None  # The option that goes on with this run, once there is a thought to go on from.
        self.has_failed = False

    def save(self, shared):
        """Write the problem and the thoughts of a shared store. What goes wrong is logged, and only once."""
        run = {"problem": shared["problem"], "thoughts": shared["thoughts"]}
        temporary = pathlib.Path(f"{self.path}.tmp")
        try:
            if self.path.exists() and not self.path.is_file():
                raise OSError("it is not a file")  # Such as /dev/null, which the rename would replace.
            temporary.write_text(yaml.dump(run, Dumper=RunDumper, sort_keys=False, allow_unicode=True), "utf-8")
            os.replace(temporary, self.path)
            self.resume_option = "--resume"
        except OSError as error:
            if not self.has_failed:
                log.warning("The run cannot be kept in %s: %s.", self.path, error.strerror or error)
            self.has_failed = True

    def load(self, count=None):
        """The kept problem and the first count thoughts (None: all), as a shared store to go on with.

        Raises OSError, or AssertionError with what is wrong with the file or the count.
        """
        run = load_yaml(self.path.read_bytes())
        assert isinstance(run, dict), "it is not a kept run"
        assert isinstance(run.get("problem"), str), "it is not a kept run: problem is missing or not a text"
        assert isinstance(run.get("thoughts"), list), "it is not a kept run: thoughts is missing or not a list"
        thoughts = [read_kept_thought(number, fields) for number, fields in enumerate(run["thoughts"], 1)]
        assert count is None or 0 <= count <= len(thoughts), f"N must be between 0 and {len(thoughts)}, its last thought"
        for number, thought in enumerate(thoughts[:count]):
            assert not is_concluded(thought), f"solved by Thought {number + 1}; to think that again, --resume {number}"
        self.resume_option = "--resume" if count is None else f"--resume {count}"
        return {"problem": run["problem"], "thoughts": thoughts[:count]}

    def how_to_go_on(self, *more):
        """The end of a message about a run that has failed; empty if nothing of the run is kept."""
        if not self.resume_option:
            return ""
        keep = [] if str(self.path) == DEFAULT_PATH else ["--keep", shlex.quote(str(self.path))]
        return f" To go on: python main.py {' '.join([self.resume_option, *keep, *more])}"


def read_kept_thought(number, fields):
    try:
        return {"thought_number": number, **read_thought(fields)}
    except AssertionError as fault:
        raise AssertionError(f"in Thought {number}, {fault}") from None


class RunDumper(yaml.SafeDumper):
    """Writes every text but keys and statuses as a block literal."""

    def ignore_aliases(self, data):
        return True

    def choose_scalar_style(self):
        text, is_text = self.event.value, self.event.implicit[1]
        if not is_text or self.simple_key_context or text in STATUSES:
            return super().choose_scalar_style()
        return '"' if NOT_LITERAL.search(text) else "|"


if __name__ == "__main__":
    print(yaml.dump({"problem": "How many?\n- Two: 2"}, Dumper=RunDumper))
