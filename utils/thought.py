"""What a thought is: its keys, the steps of its plan, its verdicts, when it ends the run, and the solution it leads to.

The rules that hold for all thoughts stand here, too, and what becomes of a run to which the user says something.

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
from utils.errors import InvalidThought, quote, refuse
from utils.plain_yaml import CONTROL_CHARACTER, read_choice, read_fields, read_text, trim
from utils.plan_format import one_line, walk
from utils.solution import apply_changes

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")
# The prompt does not name thought_number, but a model may follow the headings of the thoughts.
REPLY_KEYS = ("thought_number", *REQUIRED_KEYS, "solution", "solution_changes")
SAVED_KEYS = (*REPLY_KEYS, "cost")
REQUIRED_STEP_KEYS = ("description", "status")
STEP_KEYS = (*REQUIRED_STEP_KEYS, "result", "mark", "sub_steps")

PENDING, DONE, UNSURE = STATUSES = ("Pending", "Done", "Verification Needed")
CORRECT, MINOR, MAJOR = VERDICTS = ("Correct", "Minor Issues", "Major Error")

# "Evaluation of Thought 2: Correct - ...", "- EVALUATION of **Thought 2** -- major error", "## Evaluation of Thought 2"
EVALUATION = re.compile(rf"""
    [\W_]* evaluation [\W_]+ of [\W_]+ thoughts? [\W_]+
    (?P<number> \d{{1,9}} )                                               # No thought has a longer one.
    ( [\W_]+ (?P<verdict> {'|'.join(map(re.escape, VERDICTS))} ) (?![^\W_])   # if it comes next, as whole words
    | (?P<heading> [\W_]* \Z )                                           # if nothing comes behind the number
    )?""", re.VERBOSE | re.IGNORECASE)

# "Conclusion", "3. **Conclusion**", "Conclusion: check it", but not "Step 3: Conclusion" or "Conclusion of part (a)"
CONCLUSION = re.compile(r"[\W\d_]*conclusion\s*([^\w\s]|_|\Z)", re.IGNORECASE)


# What a user says


def validate_problem(text, name="the problem"):
    """Raise ValueError unless a problem, or what is added to one, can be thought on, saved and shown. text: str."""
    if not text.strip():
        raise ValueError(f"{name} is blank")
    control = CONTROL_CHARACTER.search(text)
    if control:
        raise ValueError(f"{name} has the control character {control[0]!r}; take it out")


def add_to_problem(shared, text):
    """Say something to the run in a shared store: a hint, a correction, a further question. text: str.

    It becomes a part of the problem. Where there is a solution already, a new step sees to it that it is taken up: one
    for all that is added after the same thought.
    """
    thoughts = shared.setdefault("thoughts", [])
    number = len(thoughts)
    if thoughts:
        text = f"Added after Thought {number}:\n\n{text}"
    shared["problem"] += f"\n\n{text}"
    step = f"What was added after Thought {number}"
    if next_step(last_plan(thoughts)) != step and (is_solved(thoughts) or solution_so_far(thoughts)):
        reopen(thoughts[-1], step)


def reopen(thought, description):
    """Give the plan of a thought another step, before what is open. The Conclusion is Pending then."""
    plan = thought["planning"]
    conclusion = plan[-1]
    conclusion["status"] = PENDING
    conclusion.pop("result", None)
    conclusion.pop("mark", None)
    are_open = [bool(open_steps([step])) for step in plan]
    plan.insert(are_open.index(True), {"description": description, "status": PENDING})
    thought["next_thought_needed"] = True


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


def next_step(plan):
    """The description of the next step, on one line; "" if no step is open, or before there is a plan."""
    steps = open_steps(plan)
    if not steps:
        return ""
    return one_line(steps[0]["description"])


def last_plan(thoughts):
    """The plan after a list of thoughts, [] before the first."""
    return thoughts[-1]["planning"] if thoughts else []


def ends_run(thought):
    """Whether a thought solves the problem: no step of its plan is open."""
    return not open_steps(thought["planning"])


def is_solved(thoughts):
    """Whether the last of the thoughts ends the run. (A run that was stopped, at the limit too, is not solved.)"""
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
    for step, path in walk(plan):
        if left[path]:  # The walk goes on into the sub-steps that complete_step gives a step: no other gets them.
            complete_step(step, left[path].pop(0))
        else:
            new_steps.append((step, path))
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
    step.update({key: fields[key] for key in STEP_KEYS if fields.get(key)})  # in this order, and no empty sub_steps


# The evaluations


class Evaluation(typing.NamedTuple):
    """A line that begins with "Evaluation of Thought N".

    number: the N; verdict: the one of VERDICTS behind it, or None; is_heading: whether nothing stands behind it.
    """

    line: str
    number: int
    verdict: str | None
    is_heading: bool


def read_evaluation(line):
    """The Evaluation in a line of a thought's thinking, or None."""
    found = EVALUATION.match(line)
    if not found:
        return None
    verdict = found["verdict"] and found["verdict"].title()
    return Evaluation(line, int(found["number"]), verdict, found["heading"] is not None)


def evaluations(thought):
    """The Evaluations of earlier thoughts in a thought."""
    number = thought["thought_number"]
    found = map(read_evaluation, thought["current_thinking"].split("\n"))
    return [evaluation for evaluation in found if evaluation and 0 < evaluation.number < number]


def judged_thoughts(thought):
    """The numbers of the thoughts on which a thought has a verdict."""
    return {evaluation.number for evaluation in evaluations(thought) if evaluation.verdict}


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
    """The solution after a list of thoughts: a str, None if none was written, or "" if changes have emptied it."""
    solution = None
    for thought in thoughts:
        solution = solution_after(thought, solution)
    return solution


def is_written_anew(thoughts):
    """Whether the last of the thoughts writes a solution in the place of another that stood before it."""
    *earlier, thought = thoughts
    return "solution" in thought and solution_so_far(earlier) not in (None, "", thought["solution"])


def final_solution(thoughts):
    """The solution, str, of a run that is solved, or None before that."""
    if not is_solved(thoughts):
        return None
    solution = solution_so_far(thoughts)
    return thinking_after_evaluations(thoughts[-1]) if solution is None else solution


def thinking_after_evaluations(thought):
    """What stands in for a solution if no thought has written one."""
    rest = []
    for line in thought["current_thinking"].split("\n"):
        rest.append(line)
        if read_evaluation(line):
            rest = []
    return trim("\n".join(rest))


# The flaws that are taken but said


def flaws_of_last_thought(thoughts):
    """Yield a sentence for each flaw of the last of the thoughts that was taken, but that the user should know of."""
    thought = thoughts[-1]
    number = thought["thought_number"]
    if number > 1 and number - 1 not in judged_thoughts(thought):
        flaw = f"Thought {number} does not evaluate Thought {number - 1}"
        if ends_run(thought):
            flaw += ", and ends the run"
        form = f'"Evaluation of Thought {number - 1}: Correct", or Minor Issues, or Major Error'
        yield f"{flaw}: it has no line that begins with {form}."
    if not ends_run(thought):
        return
    if finds_major_error(thought):
        yield f"Thought {number} ends the run after a Major Error: its correction was not checked."
    if is_written_anew(thoughts):
        yield f"Thought {number} ends the run with a solution written anew, which was not checked."
    if solution_so_far(thoughts) is None:
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
        rule = "make it so, or leave Conclusion Pending, and next_thought_needed true"
        raise InvalidThought(f"it ends the run, but the step {quote(next_step(plan))} is not Done; {rule}")


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
