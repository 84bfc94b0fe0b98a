"""Reading one thought: from a model's reply, or from the fields of a saved one."""

from utils.errors import NotAThought
from utils.plan_steps import STEP_KEYS, is_conclusion, open_steps
from utils.read_yaml import KEYS, find_block, load_yaml
from utils.solution import final_solution, is_over, update_solution
from utils.text import CONTROL_CHARACTER, dedent, quote

STATUSES = ("Pending", "Done", "Verification Needed")


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


def read_thought(fields, solution=None, is_last=False):
    """Check what load_yaml made of a thought. Takes, returns and raises what read_reply does."""
    if not isinstance(fields, dict):
        raise NotAThought("its YAML is not a mapping")
    faults = [f"{key} is missing" for key in KEYS if not fields.get(key)]
    thought = read_fields(fields, (*KEYS, "solution", "solution_changes"), "", faults)
    flag = thought["next_thought_needed"].lower()
    if fields.get("current_thinking") and not thought["current_thinking"]:
        faults.append("current_thinking is blank")
    if fields.get("next_thought_needed") and flag not in ("true", "false"):
        faults.append(f"next_thought_needed is {quote(flag)}, neither true nor false")
    if thought["solution"] and thought["solution_changes"]:
        faults.append("it has both solution and solution_changes: give one of them")
    thought = {key: value for key, value in thought.items() if value} | {"next_thought_needed": flag == "true"}
    faults = faults or find_contradictions(thought, solution, is_last)
    if faults:
        raise NotAThought("; ".join(faults[:3]) + (f"; and {len(faults) - 3} more faults" if len(faults) > 3 else ""))
    return thought


def find_contradictions(thought, solution, is_last):
    """What is wrong with a thought whose fields are right, each for itself."""
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
    # Other keys of the model's own do no harm, but with a list a part of the plan would vanish.
    unknown = [key for key, value in fields.items() if isinstance(value, list) and key not in keys]
    faults += [f"the key {quote(key)}{of} is not in the format" for key in unknown]
    read = {"planning": read_list, "sub_steps": read_list, "solution_changes": read_list}
    return {key: read.get(key, read_text)(fields.get(key), f"{key}{of}", faults) for key in keys}


def read_list(items, name, faults):
    items = items or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        faults.append(f"{name} is not a list of mappings")
        return []
    return [(read_change if name == "solution_changes" else read_step)(item, faults) for item in items]


def read_step(fields, faults):
    of = f" of the step {quote(fields.get('description') or fields)}"
    step = read_fields(fields, STEP_KEYS, of, faults)
    if not step["description"]:
        faults.append(f"a step has no description ({quote(fields)})")
    if step["status"] not in STATUSES:
        faults.append(f"the status{of} is {quote(step['status'])}, not Pending, Done or Verification Needed")
    return {key: value for key, value in step.items() if value}


def read_change(fields, faults):
    change = read_fields(fields, ("old", "new"), " of a change", faults)
    if "new" not in fields or not any(change.values()) or fields.get("old") is not None and not change["old"]:
        faults.append(f"a change of the solution needs `new` and, unless it adds to the end, `old` ({quote(fields)})")
    return change if change["old"] else {"new": change["new"]}


def read_text(text, name, faults):
    text = text or ""
    if not isinstance(text, str):
        faults.append(f"{name} is not a text")
        return ""
    found = CONTROL_CHARACTER.search(text)
    if found:
        faults.append(f"{name} has the control character {found[0]!r}, as double quotes make of LaTeX: use |-")
    return dedent(text)
