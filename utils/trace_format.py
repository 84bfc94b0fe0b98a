"""The trace: a run as a person reads it, in parts (text, style) for utils/terminal.py to lay out."""

import itertools
import re
import textwrap

from utils.plan_format import compare_plans
from utils.solution import EVALUATION, find_solution
from utils.terminal import DOUBT, ERROR, HEADING, PLAIN, UNCHANGED

VERDICT = re.compile(rf"{EVALUATION.pattern}\W*(Minor Issues|Major Error)")


def format_run(problem, thoughts):
    """The problem and all the thoughts. thoughts: as in the shared store."""
    parts = [(f"🤔 Problem: {problem}\n", PLAIN)]
    for count in range(1, len(thoughts) + 1):
        parts += format_last_thought(thoughts[:count])
    return parts


def format_last_thought(thoughts):
    """The last of the thoughts: its thinking, what it writes of the solution, its plan, and the end of the run."""
    thought, solution = thoughts[-1], find_solution(thoughts)
    plan_before = thoughts[-2]["planning"] if len(thoughts) > 1 else []
    title, plan_title, ending = "", "Current", [("-" * 50 + "\n", PLAIN)]
    if solution is not None:
        title, plan_title = " (Conclusion)", "Final"
        ending = [("\n=== FINAL SOLUTION ===", HEADING), (solution, PLAIN), ("=" * 22 + "\n", HEADING)]
    lines = textwrap.indent(thought["current_thinking"], "  ").split("\n")
    return [
        (f"Thought {thought['thought_number']}{title}:", HEADING),
        # One part for each style, not for each line, so that a code fence stays whole.
        *[("\n".join(group), style) for style, group in itertools.groupby(lines, verdict_style)],
        *format_solution(thought, is_over=solution is not None),
        (f"\n{plan_title} Plan Status:", HEADING),
        *[(f"  {line}", plan_style(line, is_new)) for line, is_new in compare_plans(thought["planning"], plan_before)],
        *ending,
    ]


def verdict_style(line):
    verdict = VERDICT.match(line)
    return PLAIN if not verdict else ERROR if verdict[2] == "Major Error" else DOUBT


def plan_style(line, is_new):
    return DOUBT if line.lstrip().startswith("- [Verification Needed]") else PLAIN if is_new else UNCHANGED


def format_solution(thought, is_over):
    """The solution, which at the end of the run stands under FINAL SOLUTION instead, or its changes."""
    if "solution" in thought:
        text = textwrap.indent(thought["solution"], "  ")
        return [] if is_over else [("\nSolution:", HEADING), (text, PLAIN)]
    changes = thought.get("solution_changes", [])
    texts = [(mark, change.get(key)) for change in changes for mark, key in (("-", "old"), ("+", "new"))]
    parts = [(f"  {mark} {textwrap.indent(text, '    ')[4:]}", PLAIN) for mark, text in texts if text]
    return [("\nChanges to the Solution:", HEADING), *parts] if parts else []
