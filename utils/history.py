"""The thoughts so far as text, for the prompt."""

import textwrap

from utils.cost import format_count
from utils.plan_format import format_plan
from utils.solution import read_changes
from utils.thought import is_written_anew, replay


def format_history(thoughts):
    """All thoughts in full, str, each with what is new in its plan."""
    if not thoughts:
        return "No previous thoughts yet."
    return "\n--------------------\n".join(format_thought(*context) for context in replay(thoughts))


def format_thought(thought, plan_before, solution_before):
    name = f"Thought {thought['thought_number']}"
    lines = [f"{name}:", "  Thinking:", textwrap.indent(thought["current_thinking"], "    ")]
    if is_written_anew(thought, solution_before):
        lines.append("  Solution: written anew")
    elif "solution" in thought:
        lines.append("  Solution: written")
    elif "solution_changes" in thought:
        count = len(read_changes(thought["solution_changes"]))
        lines.append(f"  Solution: changed in {format_count(count, 'places')}")
    extent = " (what changed)" if plan_before else ""
    plan = format_plan(thought["planning"], plan_before) or "(nothing)"
    lines += [f"  Plan Status After {name}{extent}:", textwrap.indent(plan, "    ")]
    return "\n".join(lines)
