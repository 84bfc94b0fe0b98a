"""What a thought is: its keys, the steps of its plan, its verdicts, when it ends the run, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/solution.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.
"""

import collections
import copy
import re
import typing

from utils.cost import read_cost
from utils.errors import InvalidThought, quote
from utils.plain_yaml import CONTROL_CHARACTER, dedent, read_choice, read_fields, read_text, refuse
from utils.plan_format import walk
from utils.solution import apply_changes

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")
REPLY_KEYS = ("thought_number", *REQUIRED_KEYS, "solution", "solution_changes")
SAVED_KEYS = (*REPLY_KEYS, "cost")
REQUIRED_STEP_KEYS = ("description", "status")
STEP_KEYS = (*REQUIRED_STEP_KEYS, "result", "mark", "sub_steps")

DONE, UNSURE = "Done", "Verification Needed"
STATUSES = ("Pending", DONE, UNSURE)

MINOR, MAJOR = "Minor Issues", "Major Error"
VERDICTS = ("Correct", MINOR, MAJOR)

# "Evaluation of Thought 2: Correct - ...", "- EVALUATION of **Thoughts 2** and 3 ..."
EVALUATION = re.compile(rf"""
    [\W_]* evaluation [\W_]+ of [\W_]+ thoughts? [\W_]+
    (?P<number> \d{{1,9}} ) (?!\d)                                        # No thought has a longer one.
    ( [\W_]+ (?P<verdict> {'|'.join(map(re.escape, VERDICTS))} ) (?![^\W_]) )?  # if it comes next, as whole words
    """, re.VERBOSE | re.IGNORECASE)

# "Conclusion", "3. **Conclusion**", "Conclusion: check it", but not "Step 3: Conclusion" or "Conclusion of part (a)"
CONCLUSION = re.compile(r"[\W\d_]*conclusion\s*([^\w\s]|_|\Z)", re.IGNORECASE)


# The problem


def check_problem(problem):
    """Raise ValueError unless the problem, str, can be thought on, saved and shown."""
    if not problem.strip():
        raise ValueError("the problem is blank")
    control = CONTROL_CHARACTER.search(problem)
    if control:
        raise ValueError(f"the problem has the control character {control[0]!r}; take it out")


# The plan


def is_open(step):
    return step["status"] != DONE


def open_steps(plan):
    """The open steps of a plan, the next one first. A step with open sub-steps is represented by these."""
    steps = []
    for step in plan:
        open_sub_steps = open_steps(step.get("sub_steps", []))
        if open_sub_steps:
            steps += open_sub_steps
        elif is_open(step):
            steps.append(step)
    return steps


def last_plan(thoughts):
    """The plan after a list of thoughts, [] before the first."""
    return thoughts[-1]["planning"] if thoughts else []


def ends_run(thought):
    """Whether the run is over with this thought: no step of its plan is open."""
    return not open_steps(thought["planning"])


def is_over(thoughts):
    """Whether a run with these thoughts is over."""
    return bool(thoughts) and ends_run(thoughts[-1])


# What a reply leaves out of its plan


def complete_plan(plan, plan_before):
    """Give the steps of a plan what they had in the plan before and leave out.

    Steps match by their path (their parents' descriptions and their own). A step that has no match is the one with its
    description anywhere, if only one such is left.
    """
    left = collections.defaultdict(list)
    for step, path in walk(plan_before):
        left[path].append(step)
    new_steps = []
    for step, path in walk(plan):  # It walks on through the sub-steps that a step has just been given.
        if left[path]:
            complete_step(step, left[path].pop(0))
        else:
            new_steps.append((step, path))
    complete_moved_steps(new_steps, left)


def complete_moved_steps(new_steps, left):
    """Complete the steps that were below other parents before. left: {path: steps} of the plan before."""
    by_description = collections.defaultdict(list)
    for path, steps in left.items():
        by_description[path[-1]] += steps
    for step, path in new_steps:
        candidates = by_description[path[-1]]
        if len(candidates) == 1:
            complete_step(step, candidates.pop())


def complete_step(step, before):
    """Give a step what it had before and leaves out, if its status is the same."""
    if step["status"] != before["status"]:
        return
    kept = copy.deepcopy(before)
    if "result" in step:  # An old mark does not belong to a new result.
        kept.pop("mark", None)
    fields = {**kept, **step}
    step.clear()
    step.update({key: fields[key] for key in STEP_KEYS if fields.get(key)})  # in this order


# The evaluations


class Evaluation(typing.NamedTuple):
    """A line that begins with "Evaluation of Thought N", the N, and the verdict after it: one of VERDICTS or None."""

    line: str
    number: int
    verdict: str | None


def read_evaluation(line):
    """The Evaluation in a line of a thought's thinking, or None."""
    found = EVALUATION.match(line)
    if not found:
        return None
    verdict = found["verdict"]
    return Evaluation(line, int(found["number"]), verdict and verdict.title())


def evaluations(thought):
    """The Evaluations of earlier thoughts in a thought."""
    number = thought["thought_number"]
    found = map(read_evaluation, thought["current_thinking"].split("\n"))
    return [evaluation for evaluation in found if evaluation and 0 < evaluation.number < number]


def lacks_evaluation(thought):
    """Whether a thought does not evaluate the one before it, although there is one."""
    number_before = thought["thought_number"] - 1
    evaluated = [evaluation.number for evaluation in evaluations(thought)]
    return number_before > 0 and number_before not in evaluated


def finds_major_error(thought):
    """Whether a thought calls any earlier one a Major Error."""
    return any(evaluation.verdict == MAJOR for evaluation in evaluations(thought))


# The solution


def solution_after(thought, solution_before):
    """The solution, str or None, after a thought. Raises InvalidThought if its changes do not fit."""
    if "solution_changes" in thought:
        return apply_changes(solution_before or "", thought["solution_changes"])
    return thought.get("solution", solution_before)


def solution_so_far(thoughts):
    """The solution, str or None, after a list of thoughts."""
    solution = None
    for thought in thoughts:
        solution = solution_after(thought, solution)
    return solution


def final_solution(thoughts):
    """The solution, str, of a run that is over, or None before that."""
    if not is_over(thoughts):
        return None
    solution = solution_so_far(thoughts)
    if solution is None:
        return thinking_after_evaluations(thoughts[-1])
    return solution


def thinking_after_evaluations(thought):
    """What stands in for a solution if no thought has written one."""
    rest = []
    for line in thought["current_thinking"].split("\n"):
        rest.append(line)
        if read_evaluation(line):
            rest = []
    return dedent("\n".join(rest))


# The flaws that are taken but said


def find_flaws(thoughts):
    """Yield a sentence for each flaw of the last thought that the user should know of, although it was taken."""
    thought = thoughts[-1]
    number = thought["thought_number"]
    if lacks_evaluation(thought):
        flaw = f"Thought {number} does not evaluate Thought {number - 1}"
        if ends_run(thought):
            flaw += ", and ends the run"
        form = f'"Evaluation of Thought {number - 1}: Correct", or Minor Issues, or Major Error'
        yield f"{flaw}: it has no line that begins with {form}."
    if ends_run(thought) and finds_major_error(thought):
        yield f"Thought {number} ends the run after a Major Error: its correction was not checked."
    if ends_run(thought) and solution_so_far(thoughts) is None:
        yield f"Thought {number} ends the run without a `solution`: its thinking is shown instead."


# Reading a thought, and the rules about it


def read_thought(field, number, plan_before, solution_before, keys=REPLY_KEYS):
    """Make a thought of its Field, as load_yaml returns it. Raises InvalidThought.

    number: int, the thought's number; plan_before: list of steps, the last plan; solution_before: str or None; keys:
    those that may be there.
    """
    given = read_fields(field, keys, REQUIRED_KEYS, "the thought")
    if "thought_number" in given:
        read_choice(given["thought_number"], [str(number)], "thought_number")
    plan = read_steps(given["planning"], "planning")
    if not plan:
        refuse(given["planning"].line, "planning has no steps")
    complete_plan(plan, plan_before)
    flag = read_choice(given["next_thought_needed"], ("true", "false"), "next_thought_needed")
    thought = {
        "thought_number": number,
        "current_thinking": read_text(given["current_thinking"], "current_thinking"),
        "planning": plan,
        "next_thought_needed": flag == "true",
    }
    for key in ("solution", "solution_changes"):
        if key in given:
            thought[key] = read_text(given[key], key)
    if "cost" in given:
        thought["cost"] = read_cost(given["cost"])
    check_conclusion(thought)
    check_solution(thought, solution_before)
    return thought


def check_conclusion(thought):
    """The plan ends with the Conclusion; while any step is open, that is not Done, and the flag is not false."""
    plan = thought["planning"]
    last = plan[-1]
    if not CONCLUSION.match(last["description"]):
        shown = quote(last["description"])
        raise InvalidThought(f"the last step of the plan is {shown}; end the whole plan with Conclusion, in English")
    claims_end = not thought["next_thought_needed"] or not is_open(last)
    if claims_end and not ends_run(thought):
        next_step = quote(open_steps(plan)[0]["description"])
        rule = "until it is, Conclusion is Pending, and next_thought_needed is true"
        raise InvalidThought(f"it ends the run, but the step {next_step} is not Done; {rule}")


def check_solution(thought, solution_before):
    """A thought has `solution` or `solution_changes` or neither, the changes fit, and the run ends with a solution."""
    if "solution" in thought and "solution_changes" in thought:
        raise InvalidThought("it has both solution and solution_changes")
    solution = solution_after(thought, solution_before)  # Raises InvalidThought if a change does not fit.
    if solution is None:
        solution = thinking_after_evaluations(thought)
    if ends_run(thought) and not solution:
        raise InvalidThought("it ends the run without a solution; write the key solution")


def read_steps(field, name):
    if not isinstance(field.value, list):
        refuse(field.line, f"{name} is not a list of steps")
    return [read_step(step) for step in field.value]


def read_step(field):
    name = name_step(field)
    given = read_fields(field, STEP_KEYS, REQUIRED_STEP_KEYS, name)
    step = {
        "description": read_text(given["description"], f"the description of {name}"),
        "status": read_choice(given["status"], STATUSES, f"the status of {name}"),
    }
    for key in ("result", "mark"):
        if key in given:
            step[key] = read_text(given[key], f"the {key} of {name}")
    if "sub_steps" in given:
        step["sub_steps"] = read_steps(given["sub_steps"], f"the sub_steps of {name}")
    return step


def name_step(field):
    """Such as "the step 'Solve'"; "a step", if it has no description."""
    if isinstance(field.value, dict) and "description" in field.value:
        field = field.value["description"]
    if not isinstance(field.value, str):
        return "a step"
    return f"the step {quote(field.value)}"
