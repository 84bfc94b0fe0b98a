"""What a thought is: its keys, the steps of its plan, its verdicts, when it ends the run, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/apply_change.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.
"""

import re
import textwrap

from utils.apply_change import apply_change, read_changes

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
