"""What a thought is: its keys, what is open in its plan, its evaluations, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/solution.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.

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

# "Evaluation of Thought 2: Correct - ...", "1. EVALUATION of **Thought 2** -- major error",
# "evaluation_of_thought_2: correct"
GAP = r"(?:[^\w\n]|_)+"
EVALUATION = re.compile(
    rf"evaluation{GAP}of{GAP}thought{GAP}(\d{{1,9}}){GAP}(Correct|Minor Issues|Major Error)(?![^\W_])", re.IGNORECASE
)

WORD = re.compile(r"[^\W\u2e80-\uffff]+|[\u2e80-\uffff]|[^\w\s]+")  # "word", "字", or marks such as "|" and "---"


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
    """Whether a thought leaves no step open."""
    return not open_steps(thought["planning"])


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


def thinking_behind_verdicts(thought):
    """What stands in a thought's thinking below the last line with a verdict, or all of it."""
    thinking = rest = thought["current_thinking"]
    for verdict in EVALUATION.finditer(thinking):
        rest = thinking[verdict.end() :].partition("\n")[2]
    return trim(rest)


# The solution


def solution_after(thought, solution_before):
    """The solution after a thought: a str, None if none was ever written, or "" if changes have emptied it.

    Raises InvalidThought if its changes do not fit.
    """
    if "solution_changes" in thought:
        return apply_changes(solution_before or "", thought["solution_changes"])
    return thought.get("solution", solution_before)


def replay(thoughts):
    """Yield each thought with the plan and the solution before it: (thought, plan_before, solution_before)."""
    plan = []
    solution = None
    for thought in thoughts:
        yield thought, plan, solution
        plan = thought["planning"]
        solution = solution_after(thought, solution)


def solution_so_far(thoughts):
    """The solution after a list of thoughts, as solution_after returns it."""
    solution = None
    for thought in thoughts:
        solution = solution_after(thought, solution)
    return solution


def is_written_anew(thought, solution_before):
    """Whether a thought writes a solution in the place of another."""
    return "solution" in thought and solution_before not in (None, "", thought["solution"])


def is_largely_new(solution, solution_before):
    """Whether more than a quarter of the words of a solution did not stand in the one before it, wherever."""
    words = collections.Counter(WORD.findall(solution))
    new_words = words - collections.Counter(WORD.findall(solution_before))
    return new_words.total() > words.total() / 4


def delivered_by(thought, solution_before):
    """What a thought that concludes delivers, str: without any solution, what it thinks behind its verdicts."""
    solution = solution_after(thought, solution_before)
    if solution is None:
        return thinking_behind_verdicts(thought)
    return solution


def delivered_solution(thoughts):
    """What a run delivers: the solution, str, if the last of its thoughts concludes, or else None."""
    if not thoughts or not concludes(thoughts[-1]):
        return None
    return delivered_by(thoughts[-1], solution_so_far(thoughts[:-1]))


# Whether it is checked, the problem solved, the run to stop


def why_no_check(thought, plan_before, solution_before):
    """Why a thought that concludes is no check of the solution, str: "" if it is one."""
    still_open = open_steps(plan_before[:-1])  # The Conclusion, with its sub-steps, is the check itself.
    if not solution_before:
        return "no solution stood before it"
    if still_open:
        return f"{quote(still_open[0]['description'])} was still open before it"
    if lacks_verdict(thought):
        return f"it has no verdict on Thought {thought['thought_number'] - 1}"
    if is_written_anew(thought, solution_before):
        return "it writes the solution anew"
    if is_largely_new(solution_after(thought, solution_before), solution_before):
        return "more than a quarter of the solution is new"
    if speaks_of_major_error(thought):
        return "it speaks of a Major Error"
    return ""


def why_unchecked(thoughts):
    """Why the solution is not checked by the last of the thoughts, which concludes, str: "" if it is."""
    *_, last = replay(thoughts)
    return why_no_check(*last)


def is_solved(thoughts):
    """Whether the last of the thoughts concludes and has checked the solution.

    Where no thought has written a solution, there is nothing to check: a thought that concludes is enough.
    """
    if not thoughts or not concludes(thoughts[-1]):
        return False
    return solution_so_far(thoughts) is None or not why_unchecked(thoughts)


def run_stops(thoughts, is_last_allowed):
    """Whether a run stops after these thoughts: the problem is solved, no more are allowed, or two in a row conclude.

    A model that concludes twice without a check cannot leave its solution alone.
    """
    conclude_in_a_row = len(thoughts) > 1 and concludes(thoughts[-2]) and concludes(thoughts[-1])
    return is_last_allowed or is_solved(thoughts) or conclude_in_a_row
