"""The thoughts so far as text, for the prompt."""

import textwrap

from utils.cost import format_count
from utils.plan_format import compare_plans, format_plan
from utils.solution import read_changes
from utils.thought import is_written_anew, last_plan


def format_history(thoughts):
    """All thoughts in full, str, each with what is new in its plan."""
    if not thoughts:
        return "No previous thoughts yet."
    texts = [format_last_thought(thoughts[:number]) for number in range(1, len(thoughts) + 1)]
    return "\n--------------------\n".join(texts)


def format_last_thought(thoughts):
    *earlier, thought = thoughts
    name = f"Thought {thought['thought_number']}"
    lines = [f"{name}:", "  Thinking:", textwrap.indent(thought["current_thinking"], "    ")]
    if "solution" in thought:
        lines.append("  Solution: written anew" if is_written_anew(thoughts) else "  Solution: written")
    if "solution_changes" in thought:
        count = len(read_changes(thought["solution_changes"]))
        lines.append(f"  Solution: changed in {format_count(count, 'places')}")
    extent = ""
    plan = format_plan(thought["planning"])
    if earlier:
        extent = " (what changed)"
        lines_of_plan = compare_plans(thought["planning"], last_plan(earlier))
        plan = "\n".join(line.text for line in lines_of_plan if line.is_new) or "(nothing)"
    lines += [f"  Plan Status After {name}{extent}:", textwrap.indent(plan, "    ")]
    return "\n".join(lines)
