"""A plan as text: a line a step, sub-steps indented under their step."""


def format_plan(plan):
    """The plan with what came of it, for the trace and for the thoughts in the prompt.

    plan: a list of steps {"description": str, "status": str}, each with an optional "result": str,
    "mark": str and "sub_steps": list of steps.
    Returns lines like "- [Done] description: result" and "- [Verification Needed] description (mark)".
    """
    return "\n".join(plan_lines(plan, full_line))


def format_plan_for_prompt(plan):
    """The plan in its simplified view, lines like "- [Pending] description". plan: as in format_plan."""
    return "\n".join(plan_lines(plan, simple_line))


def plan_lines(plan, format_step, depth=0):
    for step in plan:
        yield "  " * depth + format_step(step)
        yield from plan_lines(step.get("sub_steps") or [], format_step, depth + 1)


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
    example = [
        {"description": "Understand the problem", "status": "Done", "result": "x + y = 3, x - y = 1"},
        {
            "description": "Solve the system",
            "status": "Verification Needed",
            "mark": "y looks wrong",
            "sub_steps": [{"description": "Substitute again", "status": "Pending"}],
        },
        {"description": "Conclusion", "status": "Pending"},
    ]
    print(format_plan(example), format_plan_for_prompt(example), sep="\n\n")
