"""Making one change to the text of the solution."""

import re

from utils.errors import InvalidThought, quote


def apply_change(solution, new, old=None):
    """The solution with `new` in place of its passage `old`, or added at its end if `old` is None. All three are str.

    The passage is found whatever the line breaks and the indentation between its words. Raises InvalidThought if it
    does not occur exactly once.
    """
    if old is None:
        return f"{solution}\n\n{new}".strip("\n")
    # Matched ahead, so that occurrences which overlap count as several.
    places = [match.span(1) for match in re.finditer(f"(?=({words_pattern(old)}))", solution)]
    if len(places) != 1:
        hint = "" if solution else " (there is no solution yet)"
        raise InvalidThought(f"the passage {quote(old)} occurs {len(places)} times in the solution, not once{hint}")
    start, end = places[0]
    if not new:
        return take_out(solution[:start], solution[end:]).strip("\n")
    # The first line begins where the passage does, after an indentation that is there already.
    first_line, *further_lines = new.removeprefix(indent_of(old)).split("\n")
    indent = missing_indent(solution[start:end], old)
    lines = [first_line, *(indent + line if line.strip() else line for line in further_lines)]
    return (solution[:start] + "\n".join(lines) + solution[end:]).strip("\n")


def take_out(before, after):
    """What is left without the passage between them. A passage with lines of its own leaves no blank line behind."""
    if before.split("\n")[-1].strip() or after[:1] not in ("", "\n"):
        return before + after
    text_before, text_after = before.rstrip(), after.lstrip("\n")
    line_breaks = max(before[len(text_before) :].count("\n"), len(after) - len(text_after))
    return text_before + "\n" * line_breaks + text_after


def missing_indent(passage, old):
    """The white space that the second line of `old` lacks in comparison with the second line of the passage."""
    lines = [line for line in passage.split("\n") if line.strip()]
    old_lines = [line for line in old.split("\n") if line.strip()]
    if len(old_lines) == 1 or lines[0].split() != old_lines[0].split():  # The lines do not break at the same place.
        return ""
    return indent_of(lines[1])[len(indent_of(old_lines[1])) :]


def words_pattern(text):
    """Matches the words of the text, whatever the white space between them."""
    return r"\s+".join(re.escape(word) for word in text.split())


def indent_of(text):
    return text[: len(text) - len(text.lstrip())]
