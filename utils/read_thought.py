"""Making a thought of its fields, as a reply or a saved run has them, or saying what is wrong with them."""

from utils.cost import read_cost
from utils.errors import InvalidThought, quote
from utils.load_yaml import CONTROL_CHARACTER
from utils.thought import CONCLUSION, DONE, REQUIRED_KEYS, REQUIRED_STEP_KEYS, STATUSES, STEP_KEYS, THOUGHT_KEYS
from utils.thought import complete_plan, dedent, final_solution, open_steps, solution_so_far


def read_thought(fields, number, plan_before, solution, keys=THOUGHT_KEYS):
    """The thought in the fields, a dict of what load_yaml returns.

    number: int, the thought's number; plan_before: list of steps, the last plan; solution: the solution so far, str
    or None; keys: those that may be there. Returns a thought as in utils/thought.py. Raises InvalidThought.
    """
    given = read_fields(fields, keys, REQUIRED_KEYS, "")
    flag = given["next_thought_needed"].lower()
    if flag not in ("true", "false"):
        raise InvalidThought(f"next_thought_needed is {quote(flag)}, neither true nor false")
    if "solution" in given and "solution_changes" in given:
        raise InvalidThought("it has both solution and solution_changes")
    plan = complete_plan(given["planning"], plan_before)
    thought = {**given, "thought_number": number, "planning": plan, "next_thought_needed": flag == "true"}
    conclusion, steps = plan[-1], open_steps(plan)
    if not CONCLUSION.match(conclusion["description"]):
        raise InvalidThought(f"the last step of the plan is {quote(conclusion['description'])}, not Conclusion")
    if steps and (flag == "false" or conclusion["status"] == DONE):
        raise InvalidThought(f"it ends the run, but the step {quote(steps[0]['description'])} is not Done")
    solution_so_far([thought], solution)  # Raises InvalidThought if a change does not fit.
    if not steps and not final_solution([thought], solution):
        raise InvalidThought("it ends the run without a solution; write the key solution")
    return {key: thought[key] for key in keys if key in thought}


def read_fields(fields, keys, required_keys, of):
    """The fields that are not blank, each read by its READERS. of: whose fields they are, for a reason."""
    if not isinstance(fields, dict):
        raise InvalidThought(f"{quote(fields)} is not a mapping")
    for key in fields:
        if key not in keys:
            raise InvalidThought(f"the key {quote(key)}{of} is unknown")
    given = {key: READERS.get(key, read_text)(value, key + of) for key, value in fields.items() if value is not None}
    for key in required_keys:
        if not given.get(key):
            raise InvalidThought(f"{key}{of} is missing or blank")
    return {key: value for key, value in given.items() if value != ""}


def read_text(value, name):
    if not isinstance(value, str) or CONTROL_CHARACTER.search(value):  # from "\x08" in double quotes
        raise InvalidThought(f"{name} is not a text, or has a control character")
    return dedent(value)


def read_plan(items, name):
    if not isinstance(items, list):
        raise InvalidThought(f"{name} is not a list")
    return [read_step(item) for item in items]


def read_step(fields):
    step = read_fields(fields, STEP_KEYS, REQUIRED_STEP_KEYS, f" of the step {quote(fields)}")
    status = step["status"].title()
    if status not in STATUSES:
        reason = f"the status of {quote(step['description'])} is {quote(step['status'])}"
        raise InvalidThought(f"{reason}, not one of {', '.join(STATUSES)}")
    return {**step, "status": status}


READERS = {"planning": read_plan, "sub_steps": read_plan, "cost": read_cost}
