"""What a thought is: its keys, the steps of its plan, its verdicts, when it ends the run, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/solution.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.
"""

import re
import textwrap

from utils.cost import read_cost
from utils.errors import InvalidThought, quote
from utils.plain_yaml import CONTROL_CHARACTER
from utils.solution import apply_change, read_changes

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")
THOUGHT_KEYS = ("thought_number", *REQUIRED_KEYS, "solution", "solution_changes")
REQUIRED_STEP_KEYS = ("description", "status")
STEP_KEYS = (*REQUIRED_STEP_KEYS, "result", "mark", "sub_steps")

DONE, UNSURE = "Done", "Verification Needed"
STATUSES = ("Pending", DONE, UNSURE)  # in title case, so that one in any case can be read

MINOR, MAJOR = "Minor Issues", "Major Error"
PUNCTUATION = r"(?:[^\w\n]|_)*"  # "  ", "**", " - "
EVALUATION = rf"(?im)^{PUNCTUATION}Evaluation of Thought (\d+)"  # "**Evaluation of Thought 2", in any case, on any line
# "Evaluation of Thought 2: Correct" or, with one line break, "**Evaluation of Thought 2**:\n**Major Error**"
VERDICT = re.compile(rf"{EVALUATION}{PUNCTUATION}(?:\n{PUNCTUATION})?(Correct|{MINOR}|{MAJOR})(?![^\W_])")
# How the description of the Conclusion begins: "Conclusion", "3. **Conclusion**", "Conclusion: check it", but not
# "Step 3: Conclusion" or "Conclusion of part (a)"
CONCLUSION = re.compile(r"[\W\d_]*conclusion\s*(?:[^\w\s]|_|\Z)", re.IGNORECASE)


def open_steps(plan):
    """The steps that are not Done, the next one first. A step with open sub-steps is represented by these."""
    steps = []
    for step in plan:
        steps += open_steps(step.get("sub_steps", [])) or ([] if step["status"] == DONE else [step])
    return steps


def is_over(thought):
    """Whether the run ends with this thought."""
    return not open_steps(thought["planning"])


def find_verdicts(thought):
    """The verdicts of a thought on the one before it: a list of "Correct", MINOR and MAJOR."""
    before = str(thought["thought_number"] - 1)
    return [verdict.title() for number, verdict in VERDICT.findall(thought["current_thinking"]) if number == before]


def solution_so_far(thoughts, solution=None):
    """What the thoughts make of the solution before them, str or None. Raises InvalidThought, as apply_change does."""
    for thought in thoughts:
        solution = thought.get("solution", solution)
        for passage, new in read_changes(thought.get("solution_changes", "")):
            solution = apply_change(solution or "", passage, new)
    return solution


def final_solution(thoughts, solution=None):
    """The solution of a run that is over, or None before that. If none was written, it is in the last thinking.

    solution: the one before these thoughts, str or None.
    """
    if not thoughts or not is_over(thoughts[-1]):
        return None
    solution = solution_so_far(thoughts, solution)
    after_evaluation = re.split(f"{EVALUATION}.*", thoughts[-1]["current_thinking"])[-1]
    return dedent(after_evaluation) if solution is None else solution


def dedent(text):
    """The text without its common indentation, and without blank lines around it."""
    return textwrap.dedent(text.rstrip()).strip("\n")


def complete_plan(plan, plan_before):
    """The plan, completed by what steps with the same parents, description and status had in the plan before."""
    unmatched = list(plan_before)
    completed = []
    for step in plan:
        words = step["description"].split()
        before = next((old for old in unmatched if old["description"].split() == words), {})
        if before:
            unmatched.remove(before)  # Of two steps with one description, each keeps its own result.
        fields = {**before, **step} if step["status"] == before.get("status") else dict(step)
        if "result" in step:
            fields["mark"] = step.get("mark")  # An old mark does not belong to a new result.
        if "sub_steps" in step:
            fields["sub_steps"] = complete_plan(step["sub_steps"], before.get("sub_steps", []))  # [] takes them out.
        completed.append({key: fields[key] for key in STEP_KEYS if fields.get(key)})
    return completed


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
