"""The solution: a text of its own that the thoughts write and change."""

import re
import textwrap

from utils.errors import NotAThought
from utils.plan_steps import open_steps
from utils.text import dedent, quote

# The beginning of the line with a thought's verdict on the thought before it, marks of Markdown before it aside.
EVALUATION = re.compile(r"^[\s>*_#`~-]*Evaluation of Thought (\d+)", re.MULTILINE)


def is_over(thought):
    """Whether the run ends with this thought: its plan has no open step, or it says so."""
    return not open_steps(thought["planning"]) or not thought["next_thought_needed"]


def find_solution(thoughts):
    """The solution if the last of the thoughts ends the run, else None."""
    return final_solution(thoughts[-1], solution_so_far(thoughts)) if thoughts and is_over(thoughts[-1]) else None


def final_solution(thought, solution):
    """The solution or, where none was written, what the thought that ends the run holds behind its last verdict."""
    if solution is not None:
        return solution
    return dedent(re.split(rf"{EVALUATION.pattern}.*", thought["current_thinking"], flags=re.MULTILINE)[-1])


def solution_so_far(thoughts):
    """What the thoughts have made of the solution, str, or None if none has written one."""
    solution = None
    for thought in thoughts:
        solution = update_solution(solution, thought)
    return solution


def update_solution(solution, thought):
    """The solution, str or None, after a thought. Raises NotAThought for an "old" that does not occur exactly once."""
    solution = thought.get("solution", solution)
    for change in thought.get("solution_changes", []):
        solution = apply_change(solution or "", **change)
    return solution


def apply_change(solution, new, old=None):
    if old is None:
        return f"{solution}\n\n{new}".strip("\n")
    places = [match.span(1) for match in re.finditer(f"(?=({words_pattern(old)}))", solution)]
    if len(places) != 1:
        hint = "" if solution else " (there is no solution yet)"
        raise NotAThought(f"the passage {quote(old)} occurs {len(places)} times in the solution, not once{hint}")
    before, passage, after = solution[: places[0][0]], solution[slice(*places[0])], solution[places[0][1] :]
    if not new and not before.split("\n")[-1].strip() and after[:1] in ("", "\n"):
        # A passage with lines of its own leaves no empty line behind.
        before = before.rstrip(" \t")
        after = after.lstrip("\n") if before[-2:] in ("", "\n\n") else after.removeprefix("\n")
    # The indentation of the first line stands in the solution already.
    first_line, line_break, other_lines = new.removeprefix(indent_of(old)).partition("\n")
    other_lines = textwrap.indent(other_lines, missing_indent(passage, old))
    return (before + first_line + line_break + other_lines + after).strip("\n")


def missing_indent(passage, old):
    """What the second line of old lacks in indentation against the passage, if that breaks the line there."""
    first_line, *second_line = [line for line in old.split("\n") if line.strip()][:2]
    line_break = re.match(rf"{words_pattern(first_line)}\s*\n([ \t]*)", passage)
    indent, own_indent = line_break[1] if line_break else "", indent_of("".join(second_line))
    return indent.removesuffix(own_indent) if second_line and indent.endswith(own_indent) else ""


def words_pattern(text):
    """Matches the words of the text, whatever the white space between them."""
    return r"\s+".join(re.escape(word) for word in text.split())


def indent_of(text):
    return text[: len(text) - len(text.lstrip())]
