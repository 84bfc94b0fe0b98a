"""A plan as text: one line per step, sub-steps indented under their step."""

import typing


REMOVED = "removed"  # in the place of the status of a step that is gone


class PlanLine(typing.NamedTuple):
    """A line of a plan; the status of its step, or REMOVED; and whether the plan before did not have it there."""

    text: str
    status: str
    is_new: bool


def format_plan(plan):
    """The whole plan, a str of lines like "- [Done] description: result" and "- [Pending] description (mark)".

    plan: a list of steps as in utils/thought.py.
    """
    return "\n".join(line.text for line in compare_plans(plan, []))


def format_plan_for_prompt(plan):
    """The plan in its simplified view, a str of lines like "- [Pending] description"."""
    return "\n".join(indent(simple_line(step), path) for step, path in walk(plan))


def compare_plans(plan, plan_before):
    """The lines of a plan, a list of PlanLines, with one at the end for each step of the plan before that is gone.

    A step is gone if its description is nowhere in the plan. (The Conclusion and its sub-steps never are.)
    """
    lines_before = {(full_line(step), path) for step, path in walk(plan_before)}
    lines = []
    for step, path in walk(plan):
        line = full_line(step)
        is_new = (line, path) not in lines_before
        lines.append(PlanLine(indent(line, path), step["status"], is_new))
    descriptions = {path[-1] for _, path in walk(plan)}
    for _, path in walk(plan_before[:-1]):
        if path[-1] not in descriptions:
            lines.append(PlanLine(f"- {REMOVED}: {path[-1]}", REMOVED, is_new=True))
    return lines


def walk(plan, parents=()):
    """Every step of the plan from top to bottom, with its path: the descriptions of its parents, and its own."""
    for step in plan:
        path = (*parents, one_line(step["description"]))
        yield step, path
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
    lines = [line.strip() for line in text.split("\n")]
    return " ".join(line for line in lines if line)
