"""A plan as text: one line per step, sub-steps indented under their step."""

from utils.text import one_line


def format_plan(plan):
    """The plan with its results and marks.

    plan: a list of steps {"description": str, "status": str}, each with an optional "result": str,
    "mark": str and "sub_steps": list of steps.
    Returns lines like "- [Done] description: result" and "- [Verification Needed] description (mark)".
    """
    return "\n".join("  " * len(parents) + full_line(step) for parents, step in walk(plan))


def format_plan_for_prompt(plan):
    """The plan in its simplified view, lines like "- [Pending] description". plan: as in format_plan."""
    return "\n".join("  " * len(parents) + simple_line(step) for parents, step in walk(plan))


def compare_plans(plan, plan_before):
    """The lines of format_plan(plan), each with whether it is new (below the same parents): [(line, bool), ...]."""
    before = {(parents, full_line(step)) for parents, step in walk(plan_before)}
    are_new = [(parents, full_line(step)) not in before for parents, step in walk(plan)]
    return list(zip(format_plan(plan).split("\n"), are_new))


def walk(plan, parents=()):
    """Every step of the plan from top to bottom, with the descriptions of its parents."""
    for step in plan:
        yield parents, step
        yield from walk(step.get("sub_steps", []), (*parents, one_line(step["description"])))


def simple_line(step):
    return f"- [{step['status']}] {one_line(step['description'])}"


def full_line(step):
    result = f": {one_line(step['result'])}" if step.get("result") else ""
    mark = f" ({one_line(step['mark'])})" if step.get("mark") else ""
    return simple_line(step) + result + mark
