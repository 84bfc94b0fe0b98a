"""Thoughts as text: for the prompt, and as the trace, in parts (text, style) of whole lines for utils/terminal.py."""

import itertools
import textwrap

from utils.solution import read_changes
from utils.cost import count
from utils.plan_format import format_plan
from utils.thought import MAJOR, MINOR, UNSURE, VERDICT, final_solution, is_over

STYLE_OF = {MINOR: "doubt", MAJOR: "error", UNSURE: "doubt"}  # of a line with a verdict, of a step with a status


def format_thoughts_for_prompt(thoughts):
    """All thoughts in full, each with the lines of its plan that the plan before did not have."""
    plans_before = [[], *(thought["planning"] for thought in thoughts)]
    blocks = map(format_thought_for_prompt, thoughts, plans_before)
    return f"\n{'-' * 20}\n".join(blocks) or "No previous thoughts yet."


def format_thought_for_prompt(thought, plan_before):
    """One thought. plan_before: the plan of the one before it, [] for the first."""
    name = f"Thought {thought['thought_number']}"
    lines = [f"{name}:", "  Thinking:", textwrap.indent(thought["current_thinking"], "    ")]
    if "solution" in thought:
        lines.append("  Solution: written")
    if "solution_changes" in thought:
        lines.append(f"  Solution: changed in {count(len(read_changes(thought['solution_changes'])), 'places')}")
    lines.append(f"  Plan Status After {name}{' (what changed)' if plan_before else ''}:")
    new_lines = [line for line, _, is_new in format_plan(thought["planning"], plan_before) if is_new]
    return "\n".join(lines + [f"    {line}" for line in new_lines or ["(nothing)"]])


def format_run(problem, thoughts):
    """The trace of a run so far. problem: str; thoughts: list of thoughts."""
    parts = [(f"🤔 Problem: {problem}\n", "plain")]
    for number, _ in enumerate(thoughts, 1):
        parts += format_last_thought(thoughts[:number])
    return parts


def format_last_thought(thoughts):
    """The last of the thoughts: its thinking, what it writes of the solution, its plan, and the end of the run."""
    *earlier, thought = thoughts
    solution = final_solution(thoughts)
    is_final = is_over(thought)
    # One part for each style, not for each line, so that a code fence is not torn apart.
    thinking = itertools.groupby(textwrap.indent(thought["current_thinking"], "  ").split("\n"), verdict_style)
    plan = format_plan(thought["planning"], earlier[-1]["planning"] if earlier else [])
    parts = [
        (f"Thought {thought['thought_number']}{' (Conclusion)' if is_final else ''}:", "heading"),
        *[("\n".join(lines), style) for style, lines in thinking],
        *format_solution(thought, is_final),
        (f"\n{'Final' if is_final else 'Current'} Plan Status:", "heading"),
        *[(f"  {line}", STYLE_OF.get(step["status"], "plain" if new else "unchanged")) for line, step, new in plan],
    ]
    if not is_final:
        return [*parts, (f"{'-' * 50}\n", "plain")]
    return [*parts, ("\n=== FINAL SOLUTION ===", "heading"), (solution, "plain"), (f"{'=' * 22}\n", "heading")]


def verdict_style(line):
    verdict = VERDICT.search(line)
    return STYLE_OF.get(verdict and verdict[2].title(), "plain")


def format_solution(thought, is_final):
    """The solution or its changes. A solution that is final is shown at the end of the run instead."""
    if "solution_changes" in thought:
        parts = [
            (f"  {sign} {textwrap.indent(text, '    ')[4:]}", "plain")
            for change in read_changes(thought["solution_changes"])
            for sign, text in zip("-+", change)
            if text
        ]
        return [("\nChanges to the Solution:", "heading"), *parts]
    if "solution" in thought and not is_final:
        return [("\nSolution:", "heading"), (textwrap.indent(thought["solution"], "  "), "plain")]
    return []
