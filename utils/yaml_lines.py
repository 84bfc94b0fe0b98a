"""The lines of YAML, checked before PyYAML reads them.

PyYAML names the line at which it gives up, which may stand far below the slip. Here the line that slipped is named:
each line is a part of a text, or else a key or an item of a list, in a column that is open, with a value that YAML
leaves as it is.
"""

import collections
import re

from utils.errors import quote, refuse

# What to write instead. Most slips are lines of a text that are indented too little.
INDENTATION_RULE = "all lines of a text are indented deeper than its key, none less than the first"
TEXT_RULE = f"a text is a block literal (|-), and {INDENTATION_RULE}"
KEY = "a key, such as `status: Done`,"
DEEP_TEXT_RULE = "; a text whose first line is deeper than the others begins with |2-"

# "- description: |-", "planning:", "- Conclusion", but a "Note: x" or a "def f(x):" has no key.
LINE = re.compile(r" *(?P<text>(?P<item>(- +)?)(?P<key>([a-z_]+:( +|$))?)(?P<value>.*))")

# A value that YAML leaves as it is. Others are comments, tags, texts over several lines and the like.
VALUE = re.compile(r"""
                                        # nothing: a list follows, or the value is not given
    | \|([-+]?[1-9]?|[1-9][-+])         # "|-", or "|2-" before a text that begins with spaces or an empty line
    | \[\]                              # no sub-steps
    | "[^"\\]*" | '([^']|'')*'          # a quoted text; YAML would change a backslash in double quotes
    | (?!.*(\s\#|:\s|:$)) (?!-(\s|$))   # a plain text, but not "x # y", "x: y", "x:" or "- x"
      [^\s!&*>|%@`"'\[\]{}\#?,].*
    """, re.VERBOSE)


class Line:
    """A line, such as "  - status: Done".

    number: from 1; text: "- status: Done"; depth: the column in which that begins (2); item ("- "), key ("status: ")
    and value ("Done"): its parts, each "" if it has none; column: that of the key (4).
    """

    def __init__(self, number, line):
        parts = LINE.fullmatch(line.rstrip(" "))
        self.number = number
        self.text, self.item, self.key, self.value = parts.group("text", "item", "key", "value")
        self.depth = parts.start("item")
        self.column = parts.start("key")


def check_lines(text):
    """Raise InvalidThought, with the line, for one that is out of place or that YAML would change."""
    numbered = enumerate(text.split("\n"), 1)
    lines = collections.deque(Line(number, line) for number, line in numbered if line.strip(" "))
    columns = {}
    can_open = True
    while lines:
        line = lines.popleft()
        check_form(line)
        columns = check_column(line, columns, can_open)
        take_text(line, lines)
        can_open = not line.value


def check_form(line):
    """Check that a line is a key or an item of a list, with a value that YAML leaves as it is."""
    if "\t" in line.text:
        refuse(line.number, "it has a tab outside of a block literal; use spaces")
    if not line.key and not line.item:
        refuse(line.number, f"{quote(line.text)} is neither {KEY} nor a part of a text; {TEXT_RULE}")
    if not VALUE.fullmatch(line.value):
        refuse(line.number, f"YAML would not leave {quote(line.text)} as it is (`#`, a colon or the like); {TEXT_RULE}")


def check_column(line, columns, can_open):
    """Check that a line begins in an open column. Returns the columns that are open behind it.

    columns: {(column, whether items begin there): the number of the last line that does}, outermost first; can_open:
    whether a deeper column may open here, below a key with nothing behind it.
    """
    place = (line.depth, line.item != "")
    # A line closes the deeper columns, and a key also the items in its own: (2, False) < (2, True) < (4, False).
    still_open = {column: number for column, number in columns.items() if column <= place}
    if place not in still_open and not (can_open and still_open == columns):
        kind = "item" if line.item else "key"
        above = max(still_open.values(), default=1)
        where = f"a column in which no {kind} begins above it since line {above}"
        refuse(line.number, f"{quote(line.text)} begins in {where}; move it, with all that belongs to it, or that line")
    still_open[place] = line.number
    if line.key:
        still_open[line.column, False] = line.number
    return still_open


def take_text(line, lines):
    """Take the lines of the text that a line begins, at least as deep as the first. An odd depth is a slip of that."""
    if not line.value or not lines or lines[0].depth <= line.column:
        return
    if not line.value.startswith("|"):
        rule = "take that out, or begin a text with |-"
        refuse(line.number, f"{quote(line.text)} has a value, but the next line is deeper; {rule}")
    first = lines[0]
    digit = line.value.strip("|+-")  # of "|2-"
    depth = line.column + int(digit) if digit else first.depth
    hint = DEEP_TEXT_RULE if depth > line.column + 2 else ""
    if first.depth < depth or (depth - line.column) % 2:
        rule = "indent all its lines by two spaces more than its key"
        refuse(first.number, f"{quote(first.text)} begins a text: {rule}{hint}")
    while lines and lines[0].depth >= depth:
        lines.popleft()
    if lines:
        check_end(lines[0], line, first, hint)


def check_end(end, line, first, hint):
    """Check that the Line behind a text has not slipped out of it: it is a key, or an item to the left of its key.

    Another would be refused anyway, but only here can the reason name the text. (Of a tab, check_form says more.)
    """
    is_item = end.item and end.depth < line.column
    if not end.key and not is_item and "\t" not in end.text:
        text = f"the text that begins in line {first.number}; make it a key, indent it, or take it out{hint}"
        refuse(end.number, f"{quote(end.text)} is neither {KEY} nor as deep as {text}")
