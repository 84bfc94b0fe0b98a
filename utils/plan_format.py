"""A plan as text: one line per step, sub-steps indented under their step."""


def format_plan(plan):
    """The plan with its results and marks.

    plan: a list of steps {"description": str, "status": str}, each with an optional "result": str,
    "mark": str and "sub_steps": list of steps.
    Returns lines like "- [Done] description: result" and "- [Verification Needed] description (mark)".
    """
    return "\n".join(line for line, _, _ in compare_plans(plan, []))


def format_plan_for_prompt(plan):
    """The plan in its simplified view, lines like "- [Pending] description". plan: as in format_plan."""
    return "\n".join("  " * len(parents) + simple_line(step) for step, parents in walk(plan))


def compare_plans(plan, plan_before):
    """The lines of format_plan(plan): [(line, its step, whether the plan before lacked it below the same parents)]."""
    before = {(full_line(step), parents) for step, parents in walk(plan_before)}
    lines = [(full_line(step), step, parents) for step, parents in walk(plan)]
    return [("  " * len(parents) + line, step, (line, parents) not in before) for line, step, parents in lines]


def walk(plan, parents=()):
    """Every step of the plan from top to bottom, with the descriptions of its parents."""
    for step in plan:
        yield step, parents
        yield from walk(step.get("sub_steps", []), (*parents, one_line(step["description"])))


def simple_line(step):
    return f"- [{step['status']}] {one_line(step['description'])}"


def full_line(step):
    result = f": {one_line(step['result'])}" if step.get("result") else ""
    mark = f" ({one_line(step['mark'])})" if step.get("mark") else ""
    return simple_line(step) + result + mark


def one_line(text):
    return " ".join(line.strip() for line in text.split("\n") if line.strip())
