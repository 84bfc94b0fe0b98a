"""What a thought is: its keys, the steps of its plan, its verdicts, when it ends the run, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": str (blocks, as in utils/solution.py), and with "cost" (as in
utils/cost.py) where it is known. A step is {"description": str, "status": str}, with "result": str, "mark": str
and "sub_steps": [step, ...] where there are any.
"""

import re
import textwrap
import typing

from utils.cost import read_cost
from utils.errors import InvalidThought, quote
from utils.plain_yaml import CONTROL_CHARACTER, INDENTATION_RULE
from utils.solution import apply_changes

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")
REPLY_KEYS = ("thought_number", *REQUIRED_KEYS, "solution", "solution_changes")
SAVED_KEYS = (*REPLY_KEYS, "cost")
REQUIRED_STEP_KEYS = ("description", "status")
STEP_KEYS = (*REQUIRED_STEP_KEYS, "result", "mark", "sub_steps")

DONE, UNSURE = "Done", "Verification Needed"
STATUSES = ("Pending", DONE, UNSURE)  # in title case, so that one in any case can be read

MINOR, MAJOR = "Minor Issues", "Major Error"
VERDICTS = ("Correct", MINOR, MAJOR)

# "Evaluation of Thought 2: Correct - ...", "- EVALUATION of **Thought 2** ...": its number, and what follows
EVALUATION = re.compile(r"[\W_]*evaluation[\W_]+of[\W_]+thought[\W_]+(\d+)(.*)", re.IGNORECASE)

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


def ends_run(thought):
    """Whether the run is over with this thought: no step of its plan is open."""
    return not open_steps(thought["planning"])


def is_over(thoughts):
    """Whether a run with these thoughts is over."""
    return bool(thoughts) and ends_run(thoughts[-1])


def complete_plan(plan, plan_before):
    """The plan, each step completed by what the step with its description had in the plan before, below its parents."""
    unmatched = list(plan_before)
    completed = []
    for step in plan:
        before = find_step(step["description"], unmatched)
        if before:
            unmatched.remove(before)  # Of two steps with one description, each keeps its own result.
        fields = complete_step(step, before or {})
        completed.append({key: fields[key] for key in STEP_KEYS if fields.get(key)})  # in this order
    return completed


def find_step(description, steps):
    """The first of the steps with this description, spaces and line breaks aside, or None."""
    for step in steps:
        if step["description"].split() == description.split():
            return step
    return None


def complete_step(step, before):
    """The step with what it had before and leaves out, if its status is the same. before: a step, or {}."""
    completed = dict(step)
    if step["status"] == before.get("status"):
        kept_keys = ["result", "mark", "sub_steps"]
        if "result" in step:
            kept_keys = ["sub_steps"]  # An old mark does not belong to a new result.
        for key in kept_keys:
            if key in before:
                completed.setdefault(key, before[key])
    if "sub_steps" in step:
        completed["sub_steps"] = complete_plan(step["sub_steps"], before.get("sub_steps", []))
    return completed


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
    number, rest = found.groups()
    return Evaluation(line, int(number), read_verdict(rest))


def read_verdict(text):
    """The verdict that begins a text, signs aside, or None: ": **Correct** - x" has one, ": Correctly" has none."""
    words = re.sub(r"^[\W_]+", "", text)
    for verdict in VERDICTS:
        length = len(verdict)
        is_whole_word = not words[length : length + 1].isalnum()
        if words[:length].lower() == verdict.lower() and is_whole_word:
            return verdict
    return None


def evaluations(thought):
    """The Evaluations of earlier thoughts in a thought."""
    lines = thought["current_thinking"].split("\n")
    number = thought["thought_number"]
    found = map(read_evaluation, lines)
    return [evaluation for evaluation in found if evaluation and 0 < evaluation.number < number]


def evaluates_thought_before(thought):
    """Whether a thought has a verdict on the one before it."""
    number_before = thought["thought_number"] - 1
    return any(evaluation.verdict for evaluation in evaluations(thought) if evaluation.number == number_before)


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


def dedent(text):
    """The text without its common indentation, and without blank lines around it."""
    return textwrap.dedent(text.rstrip()).strip("\n")


# The flaws that are taken but said


def find_flaws(thoughts):
    """Yield a sentence for each flaw of the last thought that the user should know of, although it was taken."""
    thought = thoughts[-1]
    number = thought["thought_number"]
    is_end = ends_run(thought)
    if number > 1 and not evaluates_thought_before(thought):
        end = ", and ends the run" if is_end else ""
        yield (
            f"Thought {number} does not evaluate Thought {number - 1}{end}: it has no line that begins with"
            f' "Evaluation of Thought {number - 1}: Correct", or Minor Issues, or Major Error.'
        )
    if is_end and finds_major_error(thought):
        yield f"Thought {number} ends the run after a Major Error: its correction was not checked."
    if is_end and solution_so_far(thoughts) is None:
        yield f"Thought {number} ends the run without a `solution`: its thinking is shown instead."


# Reading a thought, and the rules about it


def read_thought(fields, number, plan_before, solution_before, keys=REPLY_KEYS):
    """Make a thought of its fields, as load_yaml returns them. Raises InvalidThought.

    number: int, the thought's number; plan_before: list of steps, the last plan; solution_before: str or None; keys:
    those that may be there.
    """
    given = read_fields(fields, keys, REQUIRED_KEYS)
    plan = read_plan(given["planning"], "planning")
    thought = {
        "thought_number": number,
        "current_thinking": read_text(given["current_thinking"], "current_thinking"),
        "planning": complete_plan(plan, plan_before),
        "next_thought_needed": read_flag(given["next_thought_needed"]),
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
    """The plan ends with the Conclusion, which is not Done before the other steps are; nor is the flag false."""
    plan = thought["planning"]
    conclusion = plan[-1]
    if not CONCLUSION.match(conclusion["description"]):
        last = quote(conclusion["description"])
        raise InvalidThought(f"the last step of the plan is {last}; end the whole plan with Conclusion, in English")
    claims_end = not thought["next_thought_needed"] or not is_open(conclusion)
    if claims_end and not ends_run(thought):
        next_step = quote(open_steps(plan)[0]["description"])
        raise InvalidThought(f"it ends the run, but the step {next_step} is not Done")


def check_solution(thought, solution_before):
    """A thought has `solution` or `solution_changes` or neither, the changes fit, and the run ends with a solution."""
    if "solution" in thought and "solution_changes" in thought:
        raise InvalidThought("it has both solution and solution_changes")
    solution = solution_after(thought, solution_before)  # Raises InvalidThought if a change does not fit.
    if solution is None:
        solution = thinking_after_evaluations(thought)
    if ends_run(thought) and not solution:
        raise InvalidThought("it ends the run without a solution; write the key solution")


def read_fields(fields, keys, required_keys, place=""):
    """The fields that are not blank. keys: those that may be there; place: whose fields they are, for a reason."""
    if not isinstance(fields, dict):
        raise InvalidThought(f"{quote(fields)} is not a mapping; {INDENTATION_RULE}")
    for key in fields:
        if key not in keys:
            known = ", ".join(keys)
            raise InvalidThought(f"line {key.line}: the key {quote(key)} is not one of {known}; {INDENTATION_RULE}")
    given = {key: value for key, value in fields.items() if not is_blank(value)}
    for key in required_keys:
        if key not in given:
            raise InvalidThought(f"{key}{place} is missing or blank")
    return given


def is_blank(value):
    return value is None or not str(value).strip()


def read_text(value, name):
    if not isinstance(value, str) or CONTROL_CHARACTER.search(value):  # from "\x08" in double quotes
        raise InvalidThought(f"{name} is not a text, or has a control character")
    return dedent(value)


def read_flag(value):
    flag = read_text(value, "next_thought_needed").lower()
    if flag not in ("true", "false"):
        raise InvalidThought(f"next_thought_needed is {quote(flag)}, neither true nor false")
    return flag == "true"


def read_plan(items, name):
    if not isinstance(items, list) or (name == "planning" and not items):
        raise InvalidThought(f"{name} is not a list of steps")
    return [read_step(item) for item in items]


def read_step(fields):
    place = f" of the step {quote(fields)}"
    given = read_fields(fields, STEP_KEYS, REQUIRED_STEP_KEYS, place)
    step = {}
    for key in ("description", "status", "result", "mark"):
        if key in given:
            step[key] = read_text(given[key], f"{key}{place}")
    step["status"] = read_status(step)
    if "sub_steps" in given:
        step["sub_steps"] = read_plan(given["sub_steps"], f"sub_steps{place}")
    return step


def read_status(step):
    status = step["status"].title()
    if status not in STATUSES:
        description = quote(step["description"])
        raise InvalidThought(f"the status of {description} is {quote(step['status'])}, not {', '.join(STATUSES)}")
    return status
