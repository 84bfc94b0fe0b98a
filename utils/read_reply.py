"""Reading one thought: from a model's reply, or from the fields of a saved one."""

from utils.errors import NotAThought
from utils.plan_steps import STEP_KEYS, is_conclusion, open_steps
from utils.read_yaml import KEYS, find_block, load_yaml
from utils.solution import final_solution, is_over, update_solution
from utils.text import CONTROL_CHARACTER, dedent, quote

STATUSES = ("Pending", "Done", "Verification Needed")
THOUGHT_KEYS = (*KEYS, "solution", "solution_changes")
CHANGE_KEYS = ("old", "new")
ALL_KEYS = (*THOUGHT_KEYS, *STEP_KEYS, *CHANGE_KEYS)


def read_reply(reply, solution=None, is_last=False):
    """Read one thought from a model's reply; INSTRUCTIONS in nodes.py describes its format.

    reply: str, one YAML mapping, with or without a fence and words around it. solution: the solution so far, str
    or None. is_last: bool, whether no other thought is allowed, so that this one may leave steps open.
    Returns {"current_thinking": str, "planning": [step, ...], "next_thought_needed": bool} and, where given,
    "solution": str or "solution_changes": [{"old": str, "new": str}, ...]. A step is {"description": str,
    "status": str} with "result": str, "mark": str and "sub_steps": [step, ...] where given.
    Raises NotAThought with what is wrong.
    """
    fault = getattr(reply, "fault", None) or (None if reply.strip() else "it is empty")
    if fault:
        raise NotAThought(fault)
    return read_thought(load_yaml(find_block(reply)), solution, is_last)


def read_thought(fields, solution, is_last):
    """Check what load_yaml made of a thought. Takes, returns and raises what read_reply does."""
    if not isinstance(fields, dict):
        raise NotAThought("its YAML is not a mapping")
    faults = []
    thought = read_fields(fields, THOUGHT_KEYS, "", faults)
    faults = faults or [f"{key} is missing or blank" for key in KEYS if not thought[key]]
    flag = thought["next_thought_needed"].lower()
    if flag not in ("true", "false", ""):
        faults.append(f"next_thought_needed is {quote(flag)}, neither true nor false")
    if thought["solution"] and thought["solution_changes"]:
        faults.append("it has both solution and solution_changes: give one of them")
    thought = {key: value for key, value in thought.items() if value} | {"next_thought_needed": flag == "true"}
    faults = faults or find_contradictions(thought, solution, is_last)
    if faults:
        raise NotAThought("; ".join(faults[:3]) + (f"; and {len(faults) - 3} more faults" if len(faults) > 3 else ""))
    return thought


def find_contradictions(thought, solution, is_last):
    """What is wrong with a thought whose fields are right, individually."""
    steps, solution = open_steps(thought["planning"]), update_solution(solution, thought)
    if not is_conclusion(thought["planning"][-1]):
        return ["the last step of the plan is not the Conclusion: return the whole plan"]
    if steps and not thought["next_thought_needed"] and not is_last:
        return [f"next_thought_needed is false, but the step {quote(steps[0]['description'])} is not Done"]
    if is_over(thought) and not final_solution(thought, solution):
        return ["the run would end without a solution: write it"]
    return []


def read_fields(fields, keys, of, faults):
    """The fields of these keys, each a list or a text, empty where it is not given."""
    # Keys of the model's own do no harm, but a list, or a key that belongs elsewhere, would be missed.
    unknown = [key for key in fields if key not in keys and (isinstance(fields[key], list) or key in ALL_KEYS)]
    faults += [f"the key {quote(key)}{of} does not belong there" for key in unknown]
    return {key: read_value(fields.get(key), READ_ITEM.get(key), f"{key}{of}", faults) for key in keys}


def read_step(fields, faults):
    of = f" of the step {quote(fields.get('description') or fields)}"
    step = read_fields(fields, STEP_KEYS, of, faults)
    if not step["description"]:
        faults.append(f"a step has no description ({quote(fields)})")
    if step["status"] not in STATUSES:
        faults.append(f"the status{of} is {quote(step['status'])}, not Pending, Done or Verification Needed")
    return {key: value for key, value in step.items() if value}


def read_change(fields, faults):
    change = read_fields(fields, CHANGE_KEYS, " of a change", faults)
    has_blank_old = fields.get("old") is not None and not change["old"]
    if "new" not in fields or not any(change.values()) or has_blank_old:
        faults.append(f"a change of the solution needs `new` and, unless it adds to the end, `old` ({quote(fields)})")
    return change if change["old"] else {"new": change["new"]}


READ_ITEM = {"planning": read_step, "sub_steps": read_step, "solution_changes": read_change}  # The rest are texts.


def read_value(value, read_item, name, faults):
    """A text or, with read_item, a list. Where it is neither, that goes to faults."""
    value = value or ([] if read_item else "")
    if read_item and isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return [read_item(item, faults) for item in value]
    if read_item or not isinstance(value, str):
        faults.append(f"{name} is not a {'list of mappings' if read_item else 'text'}")
        return ""
    found = CONTROL_CHARACTER.search(value)
    if found:
        faults.append(f"{name} has the control character {found[0]!r}, as double quotes make of LaTeX: use |-")
    return dedent(value)
