"""What a thought is: its keys, the steps of its plan, its verdict, when it ends the run, and the solution it leads to.

A thought is {"thought_number": int, "current_thinking": str, "planning": [step, ...], "next_thought_needed": bool},
with "solution": str or "solution_changes": [{"old": str, "new": str}, ...] (without "old", the text "new" is added at
the end), and with "cost": {"model": str, "requests": int, ...} where it is known. A step is {"description": str,
"status": str}, with "result": str, "mark": str and "sub_steps": [step, ...] where there are any.
"""

import re
import textwrap

from utils.apply_change import apply_change

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")
THOUGHT_KEYS = ("thought_number", *REQUIRED_KEYS, "solution", "solution_changes")
STEP_KEYS = ("description", "status", "result", "mark", "sub_steps")
CHANGE_KEYS = ("old", "new")
COST_KEYS = ("requests", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens")  # all of them numbers

DONE, UNSURE = "Done", "Verification Needed"
STATUSES = ("Pending", DONE, UNSURE)

MINOR, MAJOR = "Minor Issues", "Major Error"
# Models decorate the line with the verdict, and now and then put words, or a line break, before the verdict itself.
EVALUATION = re.compile(
    r"^[ \t>*_#`~•\d.)-]*Evaluation of Thought (\d+)\b"
    r"(?:(?:\W*\n\W*|[^\n]{0,40}?)\b(Correct|Minor[ -]+Issues|Major[ -]+Error)\b)?",
    re.MULTILINE | re.IGNORECASE,
)


def is_conclusion(step):
    """True for "Conclusion" and "3. **Conclusion**", but not for "Conclusions of the court"."""
    return bool(re.match(r"[\W\d_]*conclusion(?![a-z])", step["description"], re.IGNORECASE))


def open_steps(plan):
    """The steps that are not Done, the next one first. A step with open sub-steps is represented by these."""
    found = []
    for step in plan:
        open_sub_steps = open_steps(step.get("sub_steps", []))
        if open_sub_steps:
            found += open_sub_steps
        elif step["status"] != DONE:
            found.append(step)
    return found


def is_over(thought):
    """Whether the run ends with this thought."""
    return not open_steps(thought["planning"])


def find_verdicts(text):
    """The verdicts in a thinking: [(number of the evaluated thought, "Correct", MINOR, MAJOR or "", both str), ...]."""
    return [(number, " ".join(re.split("[ -]+", verdict)).title()) for number, verdict in EVALUATION.findall(text)]


def solution_so_far(thoughts, solution=None):
    """What the thoughts make of the solution before them, str or None. Raises InvalidThought, as apply_change does."""
    for thought in thoughts:
        solution = thought.get("solution", solution)
        for change in thought.get("solution_changes", []):
            solution = apply_change(solution or "", **change)
    return solution


def final_solution(thoughts):
    """The solution of a run that is over, or None before that. If none was written, it is in the last thinking."""
    if not thoughts or not is_over(thoughts[-1]):
        return None
    solution = solution_so_far(thoughts)
    return answer_in_thinking(thoughts[-1]) if solution is None else solution


def answer_in_thinking(thought):
    """What the thinking says after its last verdict, or all of it if it has none."""
    return dedent(re.split(f"{EVALUATION.pattern}.*", thought["current_thinking"], flags=EVALUATION.flags)[-1])


def dedent(text):
    """The text without its common indentation, and without blank lines around it."""
    return textwrap.dedent(text).strip("\n").rstrip()


def complete_plan(plan, plan_before):
    """The plan, with what its steps need not repeat.

    A step with the parents, the description and the status of a step before keeps its sub-steps, unless it has some,
    and its result and mark, unless it has a result.
    """
    unmatched, completed = list(plan_before), []
    for step in plan:
        words = step["description"].split()
        before = next((old for old in unmatched if old["description"].split() == words), {})
        if before:
            unmatched.remove(before)  # so that two steps of one description each keep their own result
        kept_keys = []
        if step["status"] == before.get("status"):
            kept_keys = ["sub_steps"] if "result" in step else ["result", "mark", "sub_steps"]
        fields = {**{key: before[key] for key in kept_keys if key in before}, **step}
        if "sub_steps" in step:
            fields["sub_steps"] = complete_plan(step["sub_steps"], before.get("sub_steps", []))
        completed.append({key: fields[key] for key in STEP_KEYS if key in fields})
    return completed


def add_costs(costs):
    """The sum of a list of costs, with the names of all their models."""
    models = dict.fromkeys(cost["model"] for cost in costs if "model" in cost)
    total = {"model": ", ".join(models)} if models else {}
    for key in COST_KEYS:
        numbers = [cost[key] for cost in costs if key in cost]
        if numbers:
            total[key] = round(sum(numbers), 1)
    return total
