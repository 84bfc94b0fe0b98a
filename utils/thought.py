"""What a thought is: its keys, what is open in its plan, its evaluations, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/solution.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.

What follows from a thought and the one before it is worked out once, when the thought is read, and never saved:
"solution_so_far", the whole solution after it, str or None, and "why_no_check", str.

A thought concludes if it leaves no step open. It checks the solution then, unless why_no_check has a reason. A problem
is solved with a thought that concludes and checks; where no thought has written a solution, with one that concludes. A
run stops when the problem is solved, at its limit of thoughts, or after two in a row that conclude and do not check.
"""

import collections
import re

from utils.errors import quote
from utils.plain_yaml import trim
from utils.plan_format import one_line
from utils.solution import apply_changes

PENDING, DONE, UNSURE = STATUSES = ("Pending", "Done", "Verification Needed")

START = {"thought_number": 0, "planning": [], "solution_so_far": None, "why_no_check": ""}  # before the first thought

# "Evaluation of Thought 2: Correct - ...", "1. EVALUATION of **Thought 2** -- major error",
# "evaluation_of_thought_2: correct"
GAP = r"(?:[^\w\n]|_)+"
EVALUATION = re.compile(
    rf"evaluation{GAP}of{GAP}thought{GAP}(\d{{1,9}}){GAP}(Correct|Minor Issues|Major Error)(?![^\W_])", re.IGNORECASE
)

# What stands between white space, such as "12:30", and each Chinese or Japanese character
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")


def last_thought(thoughts):
    """The last of the thoughts, or START."""
    return thoughts[-1] if thoughts else START


# The plan


def open_steps(plan):
    """The open steps of a plan, the next one first. A step with open sub-steps is represented by these."""
    steps = []
    for step in plan:
        open_sub_steps = open_steps(step.get("sub_steps", []))
        if open_sub_steps:
            steps += open_sub_steps
        elif step["status"] != DONE:
            steps.append(step)
    return steps


def next_step(plan):
    """The description of the next step, on one line: the Conclusion, if no step is open; "" before there is a plan."""
    steps = open_steps(plan) or plan[-1:]
    if not steps:
        return ""
    return one_line(steps[0]["description"])


def concludes(thought):
    """Whether a thought leaves no step of its plan open. START has none."""
    plan = thought["planning"]
    return bool(plan) and not open_steps(plan)


# The evaluations


def evaluated_thoughts(thought):
    """The numbers of the thoughts on which a thought has a verdict."""
    return {int(number) for number, _ in EVALUATION.findall(thought["current_thinking"])}


def lacks_verdict(thought):
    """Whether a thought after the first has no verdict on the one before it."""
    number = thought["thought_number"]
    return number > 1 and number - 1 not in evaluated_thoughts(thought)


def speaks_of_major_error(thought):
    """Whether the words stand anywhere in a thought's thinking: EVALUATION may not know the form of a verdict."""
    return re.search(r"major[\W_]+error", thought["current_thinking"], re.IGNORECASE) is not None


def is_bare_verdict(thought):
    """Whether a thought's thinking has no word besides its verdicts."""
    rest = EVALUATION.sub("", thought["current_thinking"])
    return not any(character.isalnum() for character in rest)


def thinking_after_verdicts(thought):
    """What stands in a thought's thinking below the last line with a verdict, or all of it."""
    thinking = rest = thought["current_thinking"]
    for verdict in EVALUATION.finditer(thinking):
        rest = thinking[verdict.end() :].partition("\n")[2]
    return trim(rest)


# The solution


def is_written_anew(thought, before):
    """Whether a thought writes a solution in the place of another."""
    return "solution" in thought and before["solution_so_far"] not in (None, "", thought["solution"])


def is_largely_new(solution, solution_before):
    """Whether more than a quarter of the words of a solution did not stand in the one before it, wherever."""
    words = collections.Counter(WORD.findall(solution))
    new_words = words - collections.Counter(WORD.findall(solution_before))
    return new_words.total() > words.total() / 4


def delivered_solution(thought):
    """The solution, str, that a run delivers if this thought is its last: None unless the thought concludes.

    Where no thought has written a solution, it is what the last one thinks after its verdicts.
    """
    if not concludes(thought):
        return None
    if thought["solution_so_far"] is None:
        return thinking_after_verdicts(thought)
    return thought["solution_so_far"]


# Whether it is checked, the problem solved, the run to stop


def add_what_follows(thought, before):
    """Give a thought its solution_so_far and its why_no_check. before: the thought before it, or START.

    Raises InvalidThought if its changes of the solution do not fit.
    """
    solution = thought.get("solution", before["solution_so_far"])
    if "solution_changes" in thought:
        solution = apply_changes(solution or "", thought["solution_changes"])
    thought["solution_so_far"] = solution  # None if none was ever written, "" if changes have emptied it
    thought["why_no_check"] = why_no_check(thought, before)


def why_no_check(thought, before):
    """Why a thought, if it concludes, is no check of the solution, str: "" if it is one."""
    still_open = open_steps(before["planning"][:-1])  # The Conclusion, with its sub-steps, is the check itself.
    if not before["solution_so_far"]:
        return "no solution stood before it"
    if still_open:
        return f"{quote(still_open[0]['description'])} was still open before it"
    if lacks_verdict(thought):
        return f"it has no verdict on Thought {before['thought_number']}"
    if is_bare_verdict(thought):
        return "it has a verdict and no check"
    if is_written_anew(thought, before):
        return "it writes the solution anew"
    if is_largely_new(thought["solution_so_far"], before["solution_so_far"]):
        return "more than a quarter of the solution is new"
    if speaks_of_major_error(thought):
        return "it speaks of a Major Error"
    return ""


def is_solved(thought):
    """Whether the problem is solved with this thought: it concludes and has checked the solution.

    Where no thought has written a solution, there is nothing to check: a thought that concludes is enough.
    """
    is_checked = thought["solution_so_far"] is None or not thought["why_no_check"]
    return concludes(thought) and is_checked


def run_stops(thought, before, is_last_allowed):
    """Whether a run stops after a thought: the problem is solved, no more are allowed, or two in a row conclude.

    A model that concludes twice without a check cannot leave its solution alone.
    """
    conclude_in_a_row = concludes(before) and concludes(thought)
    return is_last_allowed or is_solved(thought) or conclude_in_a_row
