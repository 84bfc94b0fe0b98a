"""What may be a problem, and what a user adds to one."""

import textwrap

from utils.plain_yaml import CONTROL_CHARACTER
from utils.plan_format import one_line
from utils.thought import PENDING, is_solved, last_thought

# What the prompt says of an addition, right before it.
HEADING = "Added later (it overrides the rest; what it makes stale is redone first, not judged):"


def validate_problem(text):
    """Raise ValueError unless a problem, or what is added to one, can be thought on, saved and shown. text: str."""
    if not text.strip():
        raise ValueError("a problem, or an addition to one, cannot be blank")
    control = CONTROL_CHARACTER.search(text)
    if control:
        raise ValueError(f"a problem must be UTF-8 without control characters; this one has {control[0]!r}")


def add_to_problem(shared, text):
    """Say something to the run in a shared store: a hint, a correction, a further question. text: str.

    It becomes a part of the problem. Where a solution stands, or the problem is solved, it becomes a step as well.
    """
    validate_problem(text)
    thoughts = shared.setdefault("thoughts", [])
    if thoughts:
        shared["problem"] += f"\n\n{HEADING}"
    shared["problem"] += f"\n\n{text}"
    last = last_thought(thoughts)
    if last["solution_so_far"] or is_solved(last):
        reopen(last, f"Addition ({first_words(text)})")


def first_words(text):
    """The text on one line, or as many of its words as fit in 80 characters, followed by " ..."."""
    words, *rest = textwrap.wrap(one_line(text), 80)
    if rest:
        words += " ..."
    return words


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
