"""Thoughts as text, for the user: texts with their styles, (text, style), which utils/terminal.py prints.

A style is "plain", "bold", "dim", "magenta", "red" or "green".
"""

import itertools
import textwrap

from utils.plan_format import REMOVED, compare_plans
from utils.solution import read_changes
from utils.thought import EVALUATION, START, UNSURE, concludes, delivered_solution, is_written_anew, next_step

VERDICT_STYLES = {"Correct": "bold", "Minor Issues": "magenta", "Major Error": "red"}


def trace_run(problem, thoughts):
    """Yield the texts of a run so far: those of its problem, then thought by thought. problem: str; thoughts: list."""
    yield [(f"🤔 Problem: {problem}\n", "plain")]
    for before, thought in itertools.pairwise([START, *thoughts]):
        yield trace_thought(thought, before)


def trace_thought(thought, before):
    """Yield the texts of a thought: its thinking, what it writes of the solution, its plan, and the end.

    before: the thought before it, or START.
    """
    is_concluding = concludes(thought)
    yield heading(thought, before), "bold"
    yield from trace_thinking(thought)
    if "solution" in thought and not is_concluding:
        extent = " (written anew)" if is_written_anew(thought, before) else ""
        yield f"\nSolution{extent}:", "bold"
        yield textwrap.indent(thought["solution"], "  "), "plain"
    if "solution_changes" in thought:
        yield "\nChanges to the Solution:", "bold"
        yield from trace_changes(thought["solution_changes"])
    stage = "Final" if is_concluding else "Current"
    yield f"\n{stage} Plan Status:", "bold"
    yield from trace_plan(thought["planning"], before["planning"])
    if is_concluding:
        yield from trace_end(thought)
    else:
        yield "-" * 50 + "\n", "plain"


def trace_end(thought):
    """Yield the texts of the solution, under a heading that says whether it was checked."""
    reason = thought["why_no_check"]
    name = f"SOLUTION (not checked: {reason})" if reason else "FINAL SOLUTION"
    yield f"\n=== {name} ===", "bold"
    yield delivered_solution(thought), "plain"
    yield "=" * 22 + "\n", "bold"


def heading(thought, before):
    """Such as "Thought 1:", "Thought 2: Solve the system" or, if it concludes, "Thought 3 (Conclusion):"."""
    name = f"Thought {thought['thought_number']}"
    if concludes(thought):
        return f"{name} (Conclusion):"
    step = next_step(before["planning"])
    return f"{name}: {step}".rstrip()


def trace_thinking(thought):
    thinking = textwrap.indent(thought["current_thinking"], "  ")
    for line in thinking.split("\n"):
        found = EVALUATION.search(line)
        verdict = found[2].title() if found else ""
        yield line, VERDICT_STYLES.get(verdict, "plain")


def trace_changes(text):
    """Yield each passage and what replaces it, with a sign before each line, as in a diff."""
    for passage, new in read_changes(text):
        for sign, part, style in (("-", passage, "red"), ("+", new, "green")):
            if part:
                for line in part.split("\n"):
                    signed = f"{sign} {line}" if line else sign
                    yield f"  {signed}", style


def trace_plan(plan, plan_before):
    for line, status, is_new in compare_plans(plan, plan_before):
        style = "plain" if is_new else "dim"
        if status in (UNSURE, REMOVED):
            style = "magenta"
        yield f"  {line}", style
