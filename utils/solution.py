"""Changes to the solution, in blocks in the form of aider and of merge conflicts:

    <<<<<<< SEARCH
    The numbers are
    =======
    The only such numbers are
    >>>>>>> REPLACE

Each says which passage is replaced, and by what.
"""

import re

from utils.errors import InvalidThought, quote
from utils.plain_yaml import trim

SEARCH = r"<<<<<<<(?: SEARCH)?[^\S\n]*\n"
DIVIDER = r"=======[^\S\n]*\n"
REPLACE = r">>>>>>>(?: REPLACE)?[^\S\n]*\n"
PART = rf"((?:(?!{SEARCH}|{DIVIDER}|{REPLACE}).*\n)*)"  # any lines but markers
BLOCK = re.compile(rf"^{SEARCH}{PART}{DIVIDER}{PART}{REPLACE}", re.MULTILINE)


def read_changes(text):
    """The changes in a text of blocks: [(passage, new), ...], all of them str. Raises InvalidThought."""
    lines = f"{text}\n"
    changes = [read_change(passage, new) for passage, new in BLOCK.findall(lines)]
    outside = BLOCK.sub("", lines)
    has_empty_block = any(not (passage + new).strip() for passage, new in changes)
    if not changes or outside.strip() or has_empty_block:
        rule = "each on a line of its own, the last block too, and nothing stands between blocks"
        markers = f"the markers <<<<<<< SEARCH, ======= and >>>>>>> REPLACE, {rule}"
        raise InvalidThought(f"each block of solution_changes has {markers}; where that is hard, write solution whole")
    return changes


def read_change(passage, new):
    """The two parts of a block without their last line breaks; what is added, without the empty lines at its edges."""
    if not passage.strip():
        return "", trim(new)
    return passage.removesuffix("\n"), new.removesuffix("\n")


def apply_changes(solution, text):
    """The solution, str, after the changes in a text of blocks. Raises InvalidThought."""
    for passage, new in read_changes(text):
        solution = apply_change(solution, passage, new)
    return solution


def apply_change(solution, passage, new):
    """The solution with `new` in the place of the passage, or added at its end if there is none. All are str.

    Raises InvalidThought unless the passage occurs exactly once.
    """
    if not passage:
        return trim(f"{solution}\n\n{new}")
    pattern = f"(?=({passage_pattern(passage)}))"  # It takes no text, so places that overlap are two.
    places = list(re.finditer(pattern, solution, re.MULTILINE))
    if len(places) != 1:
        raise InvalidThought(f"the passage {quote(passage)} occurs {len(places)} times in the solution, not once")
    start, end = places[0].span(1)
    before, behind = solution[:start], solution[end:]
    if not new.strip():
        return join_without_gap(before, behind)
    return trim(before + new + behind)


def passage_pattern(passage):
    """A pattern for the passage, whatever white space stands at its line ends: r"if\\ x:[^\\S\\n]*\\n\\ \\ return"."""
    lines = [re.escape(line.rstrip()) or r"^[^\S\n]*$" for line in passage.split("\n")]
    return r"[^\S\n]*\n".join(lines)


def join_without_gap(before, behind):
    """The solution without the passage between these two. Whole lines go with their line break, and leave no gap."""
    above, _, left = before.rpartition("\n")
    right, _, below = behind.partition("\n")
    if left.strip() or right.strip():  # The passage is a part of a line.
        return trim(before + behind)
    if not above.rpartition("\n")[2].strip():  # The line above is empty.
        below = trim(below)
    return trim(f"{above}\n{below}")
