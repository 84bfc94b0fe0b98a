"""The solution, and changes to it.

The changes are blocks in the form of aider and of merge conflicts. Each says which passage is replaced, and by what:

    <<<<<<< SEARCH
    The numbers are
    =======
    The only such numbers are
    >>>>>>> REPLACE
"""

import re

from utils.errors import InvalidThought, quote
from utils.plain_yaml import trim

SEARCH = ("<<<<<<< SEARCH", "<<<<<<<")
DIVIDER = ("=======",)
REPLACE = (">>>>>>> REPLACE", ">>>>>>>")
MARKERS = (*SEARCH, *DIVIDER, *REPLACE)

FAULTY_BLOCKS = "solution_changes is no sequence of SEARCH/REPLACE blocks; where that is hard, write solution whole"


def read_changes(text):
    """The changes in a text of blocks: [(passage, new), ...], all of them str. Raises InvalidThought."""
    changes = []
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.strip():
            continue
        if line.rstrip() not in SEARCH:
            raise InvalidThought(FAULTY_BLOCKS)
        passage = read_part(lines, DIVIDER)  # This takes its lines from the iterator.
        new = read_part(lines, REPLACE)
        if not passage and not new:
            raise InvalidThought(FAULTY_BLOCKS)
        changes.append((passage, new))
    return changes


def read_part(lines, end):
    """The text of the next lines, up to the marker that ends it. lines: an iterator."""
    part = []
    for line in lines:
        marker = line.rstrip()
        if marker in end:
            return trim("\n".join(part))
        if marker in MARKERS:
            break
        part.append(line)
    raise InvalidThought(FAULTY_BLOCKS)


def apply_changes(solution, text):
    """The solution, str, after the changes in a text of blocks. Raises InvalidThought."""
    for passage, new in read_changes(text):
        solution = apply_change(solution, passage, new)
    return solution


def apply_change(solution, passage, new):
    """The solution with `new` in the place of the passage, or added at its end if the passage is "". All are str.

    Raises InvalidThought unless the passage occurs exactly once.
    """
    if not passage:
        return trim(f"{solution}\n\n{new}")
    places = find_passage(solution, passage)
    if len(places) != 1:
        raise InvalidThought(describe_miss(solution, passage, len(places)))
    start, end = places[0]
    if not new:
        return take_out(solution, start, end)
    return solution[:start] + new + solution[end:]


def find_passage(solution, passage):
    """Where the passage stands: [(start, end), ...], also where places overlap. White space at line ends may differ."""
    lines = [re.escape(line.rstrip()) for line in passage.split("\n")]
    pattern = r"[^\S\n]*\n".join(lines)  # such as r"if\ x:[^\S\n]*\n\ \ return"
    places = re.finditer(f"(?=({pattern}))", solution)  # A lookahead takes nothing up, so that places may overlap.
    return [place.span(1) for place in places]


def describe_miss(solution, passage, count):
    """Why a passage that occurs `count` times, not once, cannot be changed."""
    reason = f"the passage {quote(passage)} occurs {count} times in the solution; it must occur exactly once"
    is_near = "".join(passage.split()) in "".join(solution.split())
    if count == 0 and is_near:
        reason += "; it is there only with other spaces or line breaks"
    return reason


def take_out(solution, start, end):
    """The solution without what stands from start to end. Whole lines go with their line break, and leave no gap."""
    before, after = solution[:start], solution[end:]
    start_of_line = before.rpartition("\n")[2]
    rest_of_line, _, lines_after = after.partition("\n")
    if (start_of_line + rest_of_line).strip():
        return trim(before + after)  # a part of a line
    lines_before = before.removesuffix(start_of_line)
    line_before = lines_before.removesuffix("\n").rpartition("\n")[2]
    if not line_before.strip():
        lines_after = trim(lines_after)
    return trim(lines_before + lines_after)
