"""The trace: a run as a person reads it, in parts (text, style) for utils/terminal.py to lay out."""

import pathlib
import re
import sys
import textwrap

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # so that this file can be run on its own

from utils.plan_format import compare_plans
from utils.plan_steps import is_concluded
from utils.terminal import DOUBT, ERROR, HEADING, PLAIN, UNCHANGED, lay_out

VERDICT_STYLES = {"Minor Issues": DOUBT, "Major Error": ERROR}


def format_run(problem, thoughts):
    """The problem and the thoughts so far."""
    parts, plan_before = [(f"🤔 Problem: {problem}\n", PLAIN)], []
    for thought in thoughts:
        parts += format_thought(thought, plan_before)
        plan_before = thought["planning"]
    return parts


def format_thought(thought, plan_before):
    """A thought and its plan, with the solution if it is the concluding thought.

    thought: as in the shared store; plan_before: the plan of the thought before it, [] for the first.
    """
    solution = find_solution(thought)
    title, plan_title = ("", "Current") if solution is None else (" (Conclusion)", "Final")
    return [
        (f"Thought {thought['thought_number']}{title}:", HEADING),
        *format_thinking(dedent(thought["current_thinking"])),
        (f"\n{plan_title} Plan Status:", HEADING),
        *[(f"  {line}", plan_style(line, is_new)) for line, is_new in compare_plans(thought["planning"], plan_before)],
        *format_ending(solution),
    ]


def format_thinking(thinking):
    first_line, *others = textwrap.indent(thinking, "  ").split("\n", 1)
    verdict = re.match(r"  Evaluation of Thought \d+: (Minor Issues|Major Error)", first_line)
    return [(first_line, VERDICT_STYLES[verdict[1]] if verdict else PLAIN), *[(text, PLAIN) for text in others]]


def format_ending(solution):
    if solution is None:
        return [(f"{'-' * 50}\n", PLAIN)]
    return [("\n=== FINAL SOLUTION ===", HEADING), (solution, PLAIN), (f"{'=' * 22}\n", HEADING)]


def plan_style(line, is_new):
    if line.lstrip().startswith("- [Verification Needed]"):
        return DOUBT
    return PLAIN if is_new else UNCHANGED


def find_solution(thought):
    """The answer, if this is the concluding thought, else None. Its evaluation is not for the reader of the answer."""
    if not is_concluded(thought):
        return None
    thinking = dedent(thought["current_thinking"])
    first_paragraph, _, others = thinking.partition("\n\n")
    return dedent(others) if first_paragraph.startswith("Evaluation of Thought") and others else thinking


def dedent(text):
    return textwrap.dedent(text).strip()


if __name__ == "__main__":
    steps = [{"description": "Conclusion", "status": "Done"}]
    example = {"thought_number": 1, "current_thinking": "42", "planning": steps, "next_thought_needed": False}
    print(lay_out(format_run("6 x 7?", [example])))
