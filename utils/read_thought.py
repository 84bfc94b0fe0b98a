"""Making a thought of its fields, as a reply or a saved run has them, or saying what is wrong with them."""

import re

from utils.errors import InvalidThought, quote
from utils.thought import CHANGE_KEYS, MAJOR, REQUIRED_KEYS, STATUSES, STEP_KEYS, THOUGHT_KEYS
from utils.thought import answer_in_thinking, complete_plan, dedent, find_verdicts, is_conclusion
from utils.thought import open_steps, solution_so_far

# All but newline and tab, and what else a terminal or YAML cannot take. "\frac" in double quotes makes one.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def read_thought(fields, number=1, plan_before=(), solution=None):
    """The thought in the fields, which are what load_yaml returns.

    number: int, the thought's number; plan_before: list of steps, the last plan; solution: the solution so far, str
    or None. Returns a thought as in utils/thought.py, without its cost. Raises InvalidThought.
    """
    if not isinstance(fields, dict):
        raise InvalidThought("its YAML is not a mapping")
    faults = []
    thought = read_fields(fields, THOUGHT_KEYS, "", faults)
    faults = faults or [f"{key} is missing or blank" for key in REQUIRED_KEYS if not thought[key]]
    flag = thought["next_thought_needed"].lower()
    if flag not in ("true", "false", ""):
        faults.append(f"next_thought_needed is {quote(flag)}, neither true nor false")
    if thought["solution"] and thought["solution_changes"]:
        faults.append("it has both solution and solution_changes")
    if len(faults) > 3:
        faults[3:] = [f"and {len(faults) - 3} more faults"]
    if faults:
        raise InvalidThought("; ".join(faults))
    thought = {key: value for key, value in thought.items() if value}
    planning = complete_plan(thought["planning"], plan_before)
    thought.update(thought_number=number, planning=planning, next_thought_needed=flag == "true")
    check_end(thought, solution)
    return {key: thought[key] for key in THOUGHT_KEYS if key in thought}


def check_end(thought, solution):
    """Raise InvalidThought if the thought ends the run, or wants to, and must not. solution: the one before it."""
    new_solution = solution_so_far([thought], solution)
    steps = open_steps(thought["planning"])
    if not is_conclusion(thought["planning"][-1]):
        last_step = quote(thought["planning"][-1]["description"])
        raise InvalidThought(f"the last step of the plan is {last_step}, not the Conclusion", "return the whole plan")
    if steps and not thought["next_thought_needed"]:
        raise InvalidThought(f"next_thought_needed is false, but the step {quote(steps[0]['description'])} is not Done")
    if steps:
        return
    if not (answer_in_thinking(thought) if new_solution is None else new_solution):
        raise InvalidThought("the run would end without a solution", "write it")
    number_before = thought["thought_number"] - 1
    is_refuted = (str(number_before), MAJOR) in find_verdicts(thought["current_thinking"])
    if is_refuted and solution is not None and new_solution.split() == solution.split():
        raise InvalidThought("it ends the run with the solution that it calls a Major Error", "put the solution right")


def read_fields(fields, keys, of, faults):
    """The values of the keys, empty where they are not given. of: names the owner in faults, the list to add to."""
    faults += [f"the key {quote(key)}{of} is unknown" for key in fields if key not in keys]
    return {key: read_value(fields.get(key), READ_ITEM.get(key), f"{key}{of}", faults) for key in keys}


def read_step(fields, faults):
    of = f" of the step {quote(fields.get('description') or fields)}"
    step = read_fields(fields, STEP_KEYS, of, faults)
    if not step["description"]:
        faults.append(f"a step has no description ({quote(fields)})")
    status = {name.lower(): name for name in STATUSES}.get(step["status"].lower())
    if not status:
        faults.append(f"the status{of} is {quote(step['status'])}, not Pending, Done or Verification Needed")
    return {key: value for key, value in {**step, "status": status}.items() if value}


def read_change(fields, faults):
    change = read_fields(fields, CHANGE_KEYS, " of a change", faults)
    has_blank_old = fields.get("old") is not None and not change["old"]
    if "new" not in fields or not any(change.values()) or has_blank_old:
        faults.append(f"a change of the solution needs `new` and, unless it adds to the end, `old` ({quote(fields)})")
    return change if change["old"] else {"new": change["new"]}


READ_ITEM = {"planning": read_step, "sub_steps": read_step, "solution_changes": read_change}  # The rest are texts.


def read_value(value, read_item, name, faults):
    """A text or, with read_item, a list of what that makes of the items."""
    value = value or ([] if read_item else "")
    if read_item and isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return [read_item(item, faults) for item in value]
    if read_item or not isinstance(value, str):
        faults.append(f"{name} is not a {'list of mappings' if read_item else 'text'}")
        return ""
    found = CONTROL_CHARACTER.search(value)
    if found:
        faults.append(f"{name} has the control character {found[0]!r}, probably LaTeX in double quotes")
    return dedent(value)
