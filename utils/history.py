"""The thoughts so far as text, for the prompt."""

import textwrap

from utils.cost import format_count
from utils.plan_format import compare_plans, format_plan
from utils.solution import read_changes


def format_history(thoughts):
    """All thoughts in full, str, each with the lines of its plan that the plan before did not have."""
    if not thoughts:
        return "No previous thoughts yet."
    plans_before = [[], *(thought["planning"] for thought in thoughts[:-1])]
    texts = map(format_past_thought, thoughts, plans_before)
    return "\n--------------------\n".join(texts)


def format_past_thought(thought, plan_before):
    name = f"Thought {thought['thought_number']}"
    thinking = textwrap.indent(thought["current_thinking"], "    ")
    extent = ""
    plan = format_plan(thought["planning"])
    if plan_before:
        extent = " (what changed)"
        plan = format_plan_news(thought["planning"], plan_before)
    lines = [f"{name}:", "  Thinking:", thinking]
    if "solution" in thought:
        lines.append("  Solution: written")
    if "solution_changes" in thought:
        count = len(read_changes(thought["solution_changes"]))
        lines.append(f"  Solution: changed in {format_count(count, 'places')}")
    return "\n".join([*lines, f"  Plan Status After {name}{extent}:", textwrap.indent(plan, "    ")])


def format_plan_news(plan, plan_before):
    """The lines of the plan that the plan before did not have."""
    new_lines = [line.text for line in compare_plans(plan, plan_before) if line.is_new]
    return "\n".join(new_lines) or "(nothing)"
