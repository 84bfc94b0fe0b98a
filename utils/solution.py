"""Changes to the solution, in the form of aider and of merge conflicts. INSTRUCTIONS in nodes.py has examples."""

import re

from utils.errors import InvalidThought, quote

# "<<<<<<<", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
MARKER = re.compile(r"^([<=>])\1{6}(?:(?<=<) SEARCH|(?<=>) REPLACE)?[^\S\n]*$", re.MULTILINE)


def read_changes(text):
    """The changes in `solution_changes`, a str of blocks, or "": [(passage, new), ...]. Raises InvalidThought."""
    pieces = [piece.strip("\n") for piece in MARKER.split(text)]  # outside, "<", passage, "=", new, ">", outside, ...
    changes = list(zip(pieces[2::6], pieces[4::6]))
    if "".join(pieces[1::2]) != "<=>" * len(changes) or any(pieces[::6]) or ("", "") in changes:
        raise InvalidThought(
            "solution_changes must be blocks of <<<<<<< SEARCH, =======, >>>>>>> REPLACE, none of them empty, and"
            " nothing else; for a solution that has such lines itself, write the key solution"
        )
    return changes


def apply_change(solution, passage, new):
    """The solution with `new` in place of its passage, or added at its end if the passage is "". All three are str.

    Raises InvalidThought unless the passage occurs exactly once, white space at the ends of lines aside.
    """
    if not passage:
        return f"{solution}\n\n{new}".strip("\n")
    pattern = r"[^\S\n]*\n".join(re.escape(line.rstrip()) for line in passage.split("\n"))
    count = len(re.findall(f"(?={pattern})", solution))  # with those that overlap
    if count != 1:
        is_near = not count and "".join(passage.split()) in "".join(solution.split())
        hint = ", but with other spaces or line breaks it does" if is_near else ""
        raise InvalidThought(f"the passage {quote(passage)} occurs {count} times in the solution, not once{hint}")
    if new:
        return re.sub(pattern, lambda _: new, solution)
    # Whole lines go with their line breaks. The longer run of empty lines around them stays.
    lines = rf"(?<!\n)(\n*)^[^\S\n]*{pattern}[^\S\n]*$(\n*)"
    return re.sub(f"{lines}|{pattern}", lambda found: max(found.groups("")), solution, flags=re.MULTILINE).strip("\n")
