"""Thoughts as text, for the user.

The trace is a series of blocks, which utils/terminal.py prints. A block is a list of lines with their styles: [(line,
style), ...]. A style is "plain", "bold", "dim", "magenta" or "red".
"""

import textwrap

from utils.plan_format import REMOVED, compare_plans
from utils.solution import read_changes
from utils.thought import CORRECT, MAJOR, MINOR, UNSURE
from utils.thought import final_solution, is_written_anew, last_plan, next_step, read_evaluation

VERDICT_STYLES = {CORRECT: "bold", MINOR: "magenta", MAJOR: "red"}


def trace_run(problem, thoughts):
    """The blocks of a run so far. problem: str; thoughts: list of thoughts."""
    yield block(f"🤔 Problem: {problem}\n")
    for number in range(1, len(thoughts) + 1):
        yield from trace_last_thought(thoughts[:number])


def trace_last_thought(thoughts):
    """The blocks of the last of the thoughts: its thinking, what it writes of the solution, its plan, and the end."""
    thought = thoughts[-1]
    solution = final_solution(thoughts)
    yield block(heading(thoughts, solution), "bold")
    yield trace_thinking(thought)
    if "solution" in thought and not solution:
        yield block("\nSolution (written anew):" if is_written_anew(thoughts) else "\nSolution:", "bold")
        yield block(textwrap.indent(thought["solution"], "  "))
    if "solution_changes" in thought:
        yield block("\nChanges to the Solution:", "bold")
        yield from trace_changes(thought["solution_changes"])
    yield block("\nFinal Plan Status:" if solution else "\nCurrent Plan Status:", "bold")
    yield trace_plan(thought["planning"], last_plan(thoughts[:-1]))
    if solution:
        yield block("\n=== FINAL SOLUTION ===", "bold")
        yield block(solution)
        yield block("=" * 22 + "\n", "bold")
    else:
        yield block("-" * 50 + "\n")


def heading(thoughts, solution):
    """Such as "Thought 1:", "Thought 2: Solve the system" or, if there is a solution, "Thought 3 (Conclusion):"."""
    number = len(thoughts)
    if solution:
        return f"Thought {number} (Conclusion):"
    step = next_step(last_plan(thoughts[:-1]))
    return f"Thought {number}: {step}".rstrip()


def block(text, style="plain"):
    return [(line, style) for line in text.split("\n")]


def trace_thinking(thought):
    thinking = textwrap.indent(thought["current_thinking"], "  ")
    return [(line, style_of_thinking(line)) for line in thinking.split("\n")]


def style_of_thinking(line):
    evaluation = read_evaluation(line)
    verdict = evaluation and evaluation.verdict
    return VERDICT_STYLES.get(verdict, "plain")


def trace_changes(text):
    """Each passage and what replaces it, with a sign before each line, as in a diff."""
    for passage, new in read_changes(text):
        for sign, part in (("-", passage), ("+", new)):
            if part:
                lines = [f"  {sign} {line}" if line else f"  {sign}" for line in part.split("\n")]
                yield block("\n".join(lines))


def trace_plan(plan, plan_before):
    lines = compare_plans(plan, plan_before)
    return [(f"  {line.text}", style_of_step(line)) for line in lines]


def style_of_step(line):
    if line.status in (UNSURE, REMOVED):
        return "magenta"
    return "plain" if line.is_new else "dim"
