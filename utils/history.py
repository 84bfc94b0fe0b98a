"""The thoughts so far as text, for the prompt."""

import itertools
import textwrap

from utils.cost import format_count
from utils.plan_format import format_plan
from utils.solution import read_changes
from utils.thought import START, is_written_anew


def format_history(thoughts):
    """All thoughts in full, str, each with what is new in its plan."""
    if not thoughts:
        return "No previous thoughts yet."
    pairs = itertools.pairwise([START, *thoughts])
    return "\n--------------------\n".join(format_thought(thought, before) for before, thought in pairs)


def format_thought(thought, before):
    """A thought in full, with what is new in its plan. before: the thought before it, or START."""
    name = f"Thought {thought['thought_number']}"
    lines = [f"{name}:", "  Thinking:", textwrap.indent(thought["current_thinking"], "    ")]
    if is_written_anew(thought, before):
        lines.append("  Solution: written anew")
    elif "solution" in thought:
        lines.append("  Solution: written")
    elif "solution_changes" in thought:
        count = len(read_changes(thought["solution_changes"]))
        lines.append(f"  Solution: changed in {format_count(count, 'places')}")
    extent = " (what changed)" if before["planning"] else ""
    plan = format_plan(thought["planning"], before["planning"]) or "(nothing)"
    lines += [f"  Plan Status After {name}{extent}:", textwrap.indent(plan, "    ")]
    return "\n".join(lines)
