"""What a thought is: its keys, its plan, its evaluations, the solution it leads to, and whether it ends the run.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/solution.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.
"""

import copy
import re
import textwrap

from utils.cost import read_cost
from utils.errors import InvalidThought, MisplacedThought, quote
from utils.plain_yaml import CONTROL_CHARACTER, read_choice, read_list, read_mapping, read_text, trim
from utils.plan_format import one_line, walk
from utils.solution import apply_changes

PENDING, DONE, UNSURE = STATUSES = ("Pending", "Done", "Verification Needed")

# "Evaluation of Thought 2: Correct - ...", "1. EVALUATION of **Thought 2** -- major error",
# "evaluation_of_thought_2: correct"
GAP = r"(?:[^\w\n]|_)+"
EVALUATION = re.compile(
    rf"evaluation{GAP}of{GAP}thought{GAP}(\d{{1,9}}){GAP}(Correct|Minor Issues|Major Error)(?![^\W_])", re.IGNORECASE
)

# "Conclusion", "3. **Conclusion**", "Conclusion: check it", but not "Step 3: Conclusion" or "Conclusion of part (a)"
CONCLUSION = re.compile(r"[\W\d_]*conclusion\s*([^\w\s]|_|\Z)", re.IGNORECASE)


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


def complete_plan(plan, plan_before):
    """Give the steps of a plan what they had in the plan before and leave out now.

    A step is the one with its description below the same parents or else the only one left with its description.
    """
    left = list(walk(plan_before))
    for step in complete_in_place(plan, left):
        name = one_line(step["description"])
        namesakes = [old for old in left if old.path[-1] == name]
        if len(namesakes) == 1:
            left.remove(namesakes[0])
            complete_step(step, namesakes[0].step)


def complete_in_place(steps, left, parents=()):
    """Complete the steps that stand below the same parents as before, and take those out of left. Returns the others.

    left: the steps of the plan before, as walk yields them.
    """
    others = []
    for step in steps:
        path = (*parents, one_line(step["description"]))
        twins = [old for old in left if old.path == path]
        if twins:
            left.remove(twins[0])
            complete_step(step, twins[0].step)
        else:
            others.append(step)
        others += complete_in_place(step.get("sub_steps", []), left, path)  # The sub-steps it has kept are among them.
    return others


def complete_step(step, before):
    """Give a step what it had before and leaves out, if its status is the same."""
    if step["status"] != before["status"]:
        return
    kept = copy.deepcopy(before)
    if "result" in step:  # An old mark does not belong to a new result.
        kept.pop("mark", None)
    fields = {**kept, **step}
    step.clear()
    step.update({key: fields[key] for key in STEP_READERS if fields.get(key)})  # in this order, and no empty sub_steps


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


# The solution, and the end of the run


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


def delivered_solution(thought, solution_before):
    """What the user gets if a thought concludes, str: without any solution, what it thinks behind its verdicts."""
    solution = solution_after(thought, solution_before)
    if solution is None:
        return thinking_behind_verdicts(thought)
    return solution


def solution_at_end(thoughts):
    """The solution, str, of a run whose last thought concludes, or None."""
    if not thoughts or not concludes(thoughts[-1]):
        return None
    return delivered_solution(thoughts[-1], solution_so_far(thoughts[:-1]))


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
    if speaks_of_major_error(thought):
        return "it speaks of a Major Error"
    return ""


def why_unchecked(thoughts):
    """Why the solution at the end of a run, whose last thought concludes, is not checked, str: "" if it is."""
    *_, last = replay(thoughts)
    return why_no_check(*last)


def is_over(thoughts):
    """Whether the last of the thoughts ends the run: it concludes, and has checked the solution.

    The second of two that conclude in a row does as well, if it speaks of no Major Error, and one in a run where no
    thought has written a solution: no other thought would change that.
    """
    if not solution_at_end(thoughts):
        return False
    is_checked = not why_unchecked(thoughts)
    is_second = len(thoughts) > 1 and concludes(thoughts[-2]) and not speaks_of_major_error(thoughts[-1])
    return is_checked or is_second or solution_so_far(thoughts) is None


# Reading a thought, and the rules about it


def read_status(node, name):
    return read_choice(node, name, STATUSES)


def read_flag(node, name):
    return read_choice(node, name, ("true", "false")) == "true"


def read_steps(node, name):
    required = ("description", "status")
    return [read_mapping(step, STEP_READERS, required, "a step") for step in read_list(node, name)]


STEP_READERS = {
    "description": read_text,
    "status": read_status,
    "result": read_text,
    "mark": read_text,
    "sub_steps": read_steps,
}

SAVED_READERS = {
    "thought_number": read_text,
    "cost": read_cost,
    "current_thinking": read_text,
    "planning": read_steps,
    "next_thought_needed": read_flag,
    "solution": read_text,
    "solution_changes": read_text,
}

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")

# The prompt does not name thought_number, but a model may follow the headings of the thoughts.
REPLY_READERS = {key: read for key, read in SAVED_READERS.items() if key != "cost"}


def read_thought(node, readers, number, plan_before, solution_before):
    """Make a thought of its YAML node. Raises InvalidThought.

    readers: those of the keys that may be there; number: int, the thought's number; plan_before: list of steps, of
    which the thought may leave out what did not change; solution_before: str or None.
    """
    values = read_mapping(node, readers, REQUIRED_KEYS, "the thought")
    written_number = values.pop("thought_number", str(number))
    if written_number != str(number):
        raise MisplacedThought(f"thought_number is {quote(written_number)}, not {number}")
    thought = {"thought_number": number, **values}
    complete_plan(thought["planning"], plan_before)
    check_evaluations(thought)
    check_plan(thought)
    check_solution(thought, solution_before)
    return thought


def check_evaluations(thought):
    """A thought that evaluates itself or a later one evaluates the one before it, too.

    Else its number is not the one that it was written with: one before it was taken out by hand.
    """
    latest = max(evaluated_thoughts(thought), default=0)
    if latest >= thought["thought_number"] and lacks_verdict(thought):
        raise MisplacedThought(f"it evaluates Thought {latest}, which does not come before it")


def check_plan(thought):
    """The plan ends with the Conclusion; while any step is open, that is not Done, and the flag is not false."""
    plan = thought["planning"]
    if not plan:
        raise InvalidThought("planning has no steps")
    last = plan[-1]
    if not CONCLUSION.match(last["description"]):
        shown = quote(last["description"])
        raise InvalidThought(f"the last step of the plan is {shown}; end the whole plan with Conclusion, in English")
    claims_end = not thought["next_thought_needed"] or last["status"] == DONE
    if claims_end and not concludes(thought):
        rule = "make it Done, or leave Conclusion Pending, and next_thought_needed true"
        raise InvalidThought(f"it ends the run, but the step {quote(next_step(plan))} is not Done; {rule}")


def check_solution(thought, solution_before):
    """A thought has `solution` or `solution_changes` or neither, the changes fit, and the run ends with a solution."""
    if "solution" in thought and "solution_changes" in thought:
        raise InvalidThought("it has both solution and solution_changes")
    solution = delivered_solution(thought, solution_before)  # Raises InvalidThought if a change does not fit.
    if concludes(thought) and not solution:
        rule = "write the key solution, and, if another thought is allowed, leave the Conclusion Pending"
        raise InvalidThought(f"it ends the run without a solution; {rule}")


# What a user adds


def validate_problem(text):
    """Raise ValueError unless a problem, or what is added to one, can be thought on, saved and shown. text: str."""
    if not text.strip():
        raise ValueError("the problem is blank")
    control = CONTROL_CHARACTER.search(text)
    if control:
        raise ValueError(f"the problem has the control character {control[0]!r}; take it out")


def add_to_problem(shared, text):
    """Say something to the run in a shared store: a hint, a correction, a further question. text: str.

    It becomes a part of the problem. Where a solution stands, or the run is over, it becomes a step as well.
    """
    validate_problem(text)
    thoughts = shared.setdefault("thoughts", [])
    if thoughts:
        rule = "it overrides the rest; no thought written before it is judged by it"
        shared["problem"] += f"\n\nAdded after Thought {len(thoughts)} ({rule}):"
    shared["problem"] += f"\n\n{text}"
    if solution_so_far(thoughts) or is_over(thoughts):
        first_words = textwrap.wrap(one_line(text), 100)[0]
        reopen(thoughts[-1], first_words)


def reopen(thought, description):
    """Give the plan of a thought another step, right before the Conclusion, which is Pending then."""
    plan = thought["planning"]
    conclusion = plan[-1]
    conclusion["status"] = PENDING
    conclusion.pop("result", None)
    conclusion.pop("mark", None)
    step = {"description": description, "status": PENDING}
    if step not in plan[:-1]:  # The same words twice make one step.
        plan.insert(-1, step)
    thought["next_thought_needed"] = True
