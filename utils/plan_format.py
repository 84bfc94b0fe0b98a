"""A plan as text, one line per step; what is new in it, and what is gone."""

import collections
import typing

REMOVED = "removed"  # in the place of the status of a step that is gone


class PlacedStep(typing.NamedTuple):
    """A step, and its path: the descriptions of its parents and its own, each on one line."""

    step: dict
    path: tuple


def format_plan(plan, plan_before=()):
    """A plan, a str of lines like "- [Done] description: result" and "- [Pending] description (mark)".

    plan: a list of steps as in utils/thought.py; plan_before: another, of which no line is repeated, and whose steps
    that are gone are named at the end.
    """
    return "\n".join(line for line, _, is_new in compare_plans(plan, plan_before) if is_new)


def format_plan_for_prompt(plan):
    """The plan in its simplified view, a str of lines like "- [Pending] description"."""
    return "\n".join(indent(simple_line(step), path) for step, path in walk(plan))


def compare_plans(plan, plan_before):
    """Yield the lines of a plan, and after them one for each step of the plan before that is gone.

    Each is (line, status, is_new): str; the status of its step, or REMOVED; whether the plan before had no such line
    below the same parents, or fewer of them.
    """
    left = collections.Counter((full_line(step), path) for step, path in walk(plan_before))
    for step, path in walk(plan):
        line = full_line(step)
        is_new = left[line, path] < 1
        left[line, path] -= 1
        yield indent(line, path), step["status"], is_new
    for name in removed_steps(plan, plan_before):
        yield f"- {REMOVED}: {name}", REMOVED, True


def removed_steps(plan, plan_before):
    """The descriptions that stood in the plan before more often than now, wherever that is.

    The Conclusion and its sub-steps never count as gone.
    """
    before = collections.Counter(path[-1] for _, path in walk(plan_before[:-1]))
    now = collections.Counter(path[-1] for _, path in walk(plan))
    return (before - now).elements()


def walk(plan, parents=()):
    """Yield every step of the plan from top to bottom, each as a PlacedStep."""
    for step in plan:
        path = (*parents, one_line(step["description"]))
        yield PlacedStep(step, path)
        yield from walk(step.get("sub_steps", []), path)


def indent(line, path):
    return "  " * (len(path) - 1) + line


def simple_line(step):
    return f"- [{step['status']}] {one_line(step['description'])}"


def full_line(step):
    line = simple_line(step)
    if "result" in step:
        line += f": {one_line(step['result'])}"
    if "mark" in step:
        line += f" ({one_line(step['mark'])})"
    return line


def one_line(text):
    return " ".join(line.strip() for line in text.split("\n") if line.strip())
