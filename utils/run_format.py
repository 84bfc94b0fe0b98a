"""A run as text: YAML with every text as a block literal, so that a person can read it and edit it."""

import yaml

from utils.errors import InvalidThought
from utils.load_yaml import CONTROL_CHARACTER, load_yaml
from utils.read_thought import read_thought
from utils.thought import STATUSES, THOUGHT_KEYS, solution_so_far


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
