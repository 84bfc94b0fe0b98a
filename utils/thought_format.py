"""Thoughts as text: for the prompt, and as the trace, in parts (text, style) of whole lines for utils/terminal.py."""

import itertools
import textwrap

from utils.plan_format import compare_plans
from utils.thought import COST_KEYS, MAJOR, MINOR, UNSURE, final_solution, find_verdicts


def format_thoughts_for_prompt(thoughts):
    """All thoughts in full, each with the lines of its plan that the plan before did not have."""
    blocks, plan_before = [], []
    for thought in thoughts:
        blocks.append(format_thought_for_prompt(thought, plan_before))
        plan_before = thought["planning"]
    return f"\n{'-' * 20}\n".join(blocks) or "No previous thoughts yet."


def format_thought_for_prompt(thought, plan_before):
    """One thought. plan_before: the plan of the one before it, [] for the first."""
    number = thought["thought_number"]
    lines = [f"Thought {number}:", "  Thinking:", textwrap.indent(thought["current_thinking"], "    ")]
    if "solution" in thought:
        lines.append("  Solution: written")
    if "solution_changes" in thought:
        lines.append(f"  Solution: changed in {count(len(thought['solution_changes']), 'places')}")
    lines.append(f"  Plan Status After Thought {number}{' (what changed)' if plan_before else ''}:")
    new_lines = [line for line, _, is_new in compare_plans(thought["planning"], plan_before) if is_new]
    return "\n".join(lines + [f"    {line}" for line in new_lines or ["(nothing)"]])


def format_run(problem, thoughts):
    """The trace of a run so far. problem: str; thoughts: list of thoughts."""
    parts = [(f"🤔 Problem: {problem}\n", "plain")]
    for number in range(1, len(thoughts) + 1):
        parts += format_last_thought(thoughts[:number])
    return parts


def format_last_thought(thoughts):
    """The last of the thoughts: its thinking, what it writes of the solution, its plan, and the end of the run."""
    thought = thoughts[-1]
    solution = final_solution(thoughts)
    plan_before = thoughts[-2]["planning"] if len(thoughts) > 1 else []
    if solution is None:
        title, plan_title = "", "Current"
        ending = [("-" * 50 + "\n", "plain")]
    else:
        title, plan_title = " (Conclusion)", "Final"
        ending = [("\n=== FINAL SOLUTION ===", "heading"), (solution, "plain"), ("=" * 22 + "\n", "heading")]
    # One part for each style, not for each line, so that a code fence is not torn apart.
    thinking = itertools.groupby(textwrap.indent(thought["current_thinking"], "  ").split("\n"), verdict_style)
    plan = compare_plans(thought["planning"], plan_before)
    return [
        (f"Thought {thought['thought_number']}{title}:", "heading"),
        *[("\n".join(lines), style) for style, lines in thinking],
        *format_solution(thought, is_final=solution is not None),
        (f"\n{plan_title} Plan Status:", "heading"),
        *[(f"  {line}", step_style(step, is_new)) for line, step, is_new in plan],
        *ending,
    ]


def verdict_style(line):
    styles = {MINOR: "doubt", MAJOR: "error"}
    return next((styles.get(verdict, "plain") for _, verdict in find_verdicts(line)), "plain")


def step_style(step, is_new):
    if step["status"] == UNSURE:
        return "doubt"
    return "plain" if is_new else "unchanged"


def format_solution(thought, is_final):
    """The solution or its changes. A solution that is final is shown at the end of the run instead."""
    if "solution" in thought:
        return [] if is_final else [("\nSolution:", "heading"), (textwrap.indent(thought["solution"], "  "), "plain")]
    changes = thought.get("solution_changes", [])
    texts = [(mark, change.get(key)) for change in changes for mark, key in (("-", "old"), ("+", "new"))]
    parts = [(f"  {mark} {textwrap.indent(text, '    ')[4:]}", "plain") for mark, text in texts if text]
    return [("\nChanges to the Solution:", "heading"), *parts] if parts else []


def format_cost(cost):
    """A cost, as in utils/thought.py, such as "2 requests, 31.4 seconds, 1,624 prompt tokens (gpt-6-luna)"."""
    numbers = ", ".join(count(cost[key], key.replace("_", " ")) for key in COST_KEYS if key in cost)
    return f"{numbers} ({cost['model']})" if "model" in cost else numbers


def count(number, things):
    """Such as "1 thought", "1,624 prompt tokens" or "1.0 seconds". things: the plural noun."""
    digits = f"{number:,}"
    return f"{digits} {things.removesuffix('s') if digits == '1' else things}"
