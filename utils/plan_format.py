"""A plan as text: one line per step, sub-steps indented under their step."""


def format_plan(plan):
    """The plan with its results and marks, for the trace and for the thoughts in the prompt.

    plan: a list of steps {"description": str, "status": str}, each with an optional "result": str,
    "mark": str and "sub_steps": list of steps.
    Returns lines like "- [Done] description: result" and "- [Verification Needed] description (mark)".
    """
    return "\n".join(line for line, _ in compare_plans(plan, []))


def format_plan_for_prompt(plan):
    """The plan in its simplified view, lines like "- [Pending] description". plan: as in format_plan."""
    return "\n".join("  " * len(parents) + simple_line(step) for parents, step in walk(plan))


def compare_plans(plan, plan_before):
    """The lines of format_plan(plan), each with whether it is new: [(line, bool), ...].

    A line that stood below other parents in plan_before is new.
    """
    before = {(parents, full_line(step)) for parents, step in walk(plan_before)}
    lines = [(parents, full_line(step)) for parents, step in walk(plan)]
    return [("  " * len(parents) + line, (parents, line) not in before) for parents, line in lines]


def walk(plan, parents=()):
    """Every step of the plan from top to bottom, with the descriptions of its parents."""
    for step in plan:
        yield parents, step
        yield from walk(step.get("sub_steps", []), (*parents, one_line(step["description"])))


def simple_line(step):
    return f"- [{step['status']}] {one_line(step['description'])}"


def full_line(step):
    line = simple_line(step)
    if step.get("result"):
        line += f": {one_line(step['result'])}"
    if step.get("mark"):
        line += f" ({one_line(step['mark'])})"
    return line


def one_line(text):
    return " ".join(line.strip() for line in text.split("\n") if line.strip())


if __name__ == "__main__":
    sub_steps = [{"description": "Put it back in", "status": "Pending"}]
    example = {"description": "Solve", "status": "Pending", "result": "x = 2", "sub_steps": sub_steps}
    print(format_plan([example]), format_plan_for_prompt([example]), sep="\n\n")
