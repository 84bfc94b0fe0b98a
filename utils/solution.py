"""Changes to the solution, in blocks in the form of aider and of merge conflicts:

    <<<<<<< SEARCH
    The numbers are
    =======
    The only such numbers are
    >>>>>>> REPLACE

Each says which passage is replaced, and by what.
"""

import re
import textwrap

from utils.errors import InvalidThought, quote
from utils.plain_yaml import trim

# Models write markers of five to nine signs, and "SEARCH>". The one between the parts has seven: in Markdown, a line of
# such signs underlines a heading.
SEARCH = r"<{5,9}(?: SEARCH>?)?[^\S\n]*\n"
DIVIDER = r"=======[^\S\n]*\n"
REPLACE = r">{5,9}(?: REPLACE>?)?[^\S\n]*\n"
PART = rf"((?:(?!{SEARCH}|{DIVIDER}|{REPLACE}).*\n)*)"  # any lines but markers
END = rf"(?:{REPLACE}|(?<!\n\n)(?={SEARCH}|\Z))"  # It may be missing where it can have stood in one place only.
BLOCK = re.compile(rf"^{SEARCH}{PART}{DIVIDER}{PART}{END}", re.MULTILINE)


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
        changed = apply_change(solution, passage, new)
        if changed == solution:
            raise InvalidThought(f"the change of {quote(passage)} changes nothing; drop it or add a line that stays")
        solution = changed
    return solution


def apply_change(solution, passage, new):
    """The solution with `new` in the place of the passage, or added at its end if there is none. All are str.

    Raises InvalidThought unless the passage occurs exactly once.
    """
    if not passage:
        return trim(f"{solution}\n\n{new}")
    place = find_passage(solution, passage)
    before, after = solution[: place.start()], solution[place.end() :]
    if not new:
        return join_without_gap(before, after)
    margin = place[1]
    return trim(before + textwrap.indent(new, margin) + after)


def find_passage(solution, passage):
    """The match of a passage in the solution, with the white space that it lacks before its lines in group 1.

    Raises InvalidThought unless there is exactly one, or none and one of whole lines that lack the same white space.
    """
    for pattern in (rf"(){passage_pattern(passage)}", indented_pattern(passage)):
        regex = re.compile(pattern, re.MULTILINE)
        place = regex.search(solution)
        if place and regex.search(solution, place.start() + 1):
            raise InvalidThought(f"the passage {quote(passage)} occurs at least 2 times in the solution, not once")
        if place:
            return place
    raise InvalidThought(f"the passage {quote(passage)} occurs 0 times in the solution, not once")


def passage_pattern(passage):
    r"""A pattern for the passage, whatever white space the solution has at line ends: "if\ x:[^\S\n]*\n\ \ return".

    White space at the end of the passage counts, unless a line ends there.
    """
    text = passage.rstrip(" \t")
    lines = [re.escape(line.rstrip()) or r"^[^\S\n]*$" for line in text.split("\n")]
    pattern = r"[^\S\n]*\n".join(lines)
    white_space = passage.removeprefix(text)
    return rf"{pattern}(?:{white_space}|[^\S\n]*$)"


def indented_pattern(passage):
    """A pattern for the passage as whole lines that all have the same white space before them: a model may drop it."""
    marked = passage_pattern(textwrap.indent(passage, "\0"))
    pattern = marked.replace("\0", r"([^\S\n]+)", 1).replace("\0", r"\1")
    return rf"^{pattern}[^\S\n]*$"


def join_without_gap(before, after):
    """The solution without the passage between these two. Whole lines go with their line break, and leave no gap."""
    above, _, left = before.rpartition("\n")
    right, _, below = after.partition("\n")
    if left.strip() or right.strip():  # The passage is a part of a line.
        return trim(before + after)
    if not above.rpartition("\n")[2].strip():  # The line above is empty.
        below = trim(below)
    return trim(f"{above}\n{below}")
