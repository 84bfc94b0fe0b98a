"""A plan as text: one line per step, sub-steps indented under their step."""

import re


def format_plan(plan, plan_before):
    """The plan in full, as lines like "- [Done] description: result" and "- [Verification Needed] description (mark)".

    plan: a list of steps as in utils/thought.py. Returns [(line, its step, whether it is new), ...]: a line is new if
    the plan before has none like it below the same parents.
    """
    before = {(full_line(step), parents) for step, parents in walk(plan_before)}
    return [
        (f"{'  ' * len(parents)}{full_line(step)}", step, (full_line(step), parents) not in before)
        for step, parents in walk(plan)
    ]


def format_plan_for_prompt(plan):
    """The plan in its simplified view, a str of lines like "- [Pending] description"."""
    return "\n".join(f"{'  ' * len(parents)}{simple_line(step)}" for step, parents in walk(plan))


def walk(plan, parents=()):
    """Every step of the plan from top to bottom, with the descriptions of its parents."""
    for step in plan:
        yield step, parents
        yield from walk(step.get("sub_steps", []), (*parents, step["description"]))


def simple_line(step):
    return f"- [{step['status']}] {one_line(step['description'])}"


def full_line(step):
    result = f": {one_line(step['result'])}" if "result" in step else ""
    mark = f" ({one_line(step['mark'])})" if "mark" in step else ""
    return f"{simple_line(step)}{result}{mark}"


def one_line(text):
    return re.sub(r"\s*\n\s*", " ", text.strip())
