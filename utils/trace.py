"""Thoughts as text, for the user: lines with their styles, (line, style), which utils/terminal.py prints.

A style is "plain", "bold", "dim", "magenta" or "red".
"""

import textwrap

from utils.plan_format import REMOVED, compare_plans
from utils.solution import read_changes
from utils.thought import CORRECT, EVALUATION, MAJOR, MINOR, UNSURE
from utils.thought import concludes, delivered_solution, is_written_anew, next_step, replay, why_unchecked

VERDICT_STYLES = {CORRECT: "bold", MINOR: "magenta", MAJOR: "red"}


def trace_run(problem, thoughts):
    """Yield the lines of a run so far. problem: str; thoughts: list of thoughts."""
    yield from styled(f"🤔 Problem: {problem}\n")
    for thought, plan_before, solution_before in replay(thoughts):
        yield from trace_thought(thought, plan_before, solution_before)


def trace_thought(thought, plan_before, solution_before):
    """Yield the lines of a thought: its thinking, what it writes of the solution, its plan, and the end."""
    is_end = concludes(thought)
    yield from styled(heading(thought, plan_before), "bold")
    yield from trace_thinking(thought)
    if "solution" in thought and not is_end:
        extent = " (written anew)" if is_written_anew(thought, solution_before) else ""
        yield from styled(f"\nSolution{extent}:", "bold")
        yield from styled(textwrap.indent(thought["solution"], "  "))
    if "solution_changes" in thought:
        yield from styled("\nChanges to the Solution:", "bold")
        yield from trace_changes(thought["solution_changes"])
    yield from styled("\nFinal Plan Status:" if is_end else "\nCurrent Plan Status:", "bold")
    yield from trace_plan(thought["planning"], plan_before)
    if is_end:
        yield from trace_end(thought, plan_before, solution_before)
    else:
        yield from styled("-" * 50 + "\n")


def trace_end(thought, plan_before, solution_before):
    """Yield the lines of the solution, under a heading that says whether it was checked."""
    reason = why_unchecked(thought, plan_before, solution_before)
    name = f"SOLUTION (not checked: {reason})" if reason else "FINAL SOLUTION"
    yield from styled(f"\n=== {name} ===", "bold")
    yield from styled(delivered_solution(thought, solution_before))
    yield from styled("=" * 22 + "\n", "bold")


def heading(thought, plan_before):
    """Such as "Thought 1:", "Thought 2: Solve the system" or, if it concludes, "Thought 3 (Conclusion):"."""
    name = f"Thought {thought['thought_number']}"
    if concludes(thought):
        return f"{name} (Conclusion):"
    return f"{name}: {next_step(plan_before)}".rstrip()


def styled(text, style="plain"):
    for line in text.split("\n"):
        yield line, style


def trace_thinking(thought):
    thinking = textwrap.indent(thought["current_thinking"], "  ")
    for line in thinking.split("\n"):
        found = EVALUATION.search(line)
        yield line, VERDICT_STYLES.get(found and found[2].title(), "plain")


def trace_changes(text):
    """Yield each passage and what replaces it, with a sign before each line, as in a diff."""
    for passage, new in read_changes(text):
        for sign, part in (("-", passage), ("+", new)):
            if part.strip():
                for line in part.split("\n"):
                    yield f"  {sign} {line}" if line else f"  {sign}", "plain"


def trace_plan(plan, plan_before):
    for line in compare_plans(plan, plan_before):
        style = "plain" if line.is_new else "dim"
        if line.status in (UNSURE, REMOVED):
            style = "magenta"
        yield f"  {line.text}", style
