"""YAML as models and people write it: every text is marked as one, and PyYAML reads the rest.

A node is PyYAML's: a mapping, a list or a scalar, with the place where it stands.
"""

import re

import yaml

from utils.errors import InvalidThought, quote

# The control characters but tab and line feed, what YAML takes for a line break ("\u2028"), what it cannot hold
# ("\ud800").
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

# The keys whose values are in words, in a run, a thought or a step.
WORD_KEYS = (
    "problem thought_number current_thinking next_thought_needed solution solution_changes"
    " description status result mark"
).split()
KEY_LINE = re.compile(r"""( *(?:- +)*(["'\w]+) *:)(?: +(.*))?""")  # "  - description: Solve"

SIGNS = ("", "|", "|-", "|+", ">", ">-", ">+")
NULL_OR_QUOTED = re.compile(r"""(~|null|Null|NULL|None|'([^']|'')*'|"([^"\\]|\\.)*")( +#.*)?""")  # "'a: b' # comment"

TEXT_RULE = (
    "a text is a block literal (|-), and all its lines are indented by spaces, deeper than its key, none less than the"
    " first"
)


def load_yaml(text):
    """The node of the YAML in a str. Raises InvalidThought for what is no YAML or has two readings."""
    control = CONTROL_CHARACTER.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        refuse(line, f"it has {control[0]!r}; write it in UTF-8, without control characters")
    marked = mark_texts(text)
    try:
        node = yaml.compose(marked, Loader=PlainLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "here or above"
        if marked.startswith("\t", mark.index):
            place = "at a tab"
        if marked.endswith("\\", 0, mark.index):
            place = "at a backslash in double quotes"
        refuse(mark.line + 1, f"{place}, YAML cannot read what is meant; {TEXT_RULE}")
    except RecursionError:  # for a thousand brackets
        raise InvalidThought(f"YAML cannot read what is meant; {TEXT_RULE}") from None
    if node is None:
        raise InvalidThought("it is empty")
    return node


def refuse(line, reason):
    """Raise InvalidThought for what is wrong in the line with this number."""
    raise InvalidThought(f"line {line}: {reason}")


class PlainLoader(yaml.BaseLoader):
    r"""PyYAML without what no text needs: anchors, aliases, tags, and escapes in double quotes but for \" and \\."""

    ESCAPE_REPLACEMENTS = {'"': '"', "\\": "\\"}
    ESCAPE_CODES = {}

    def fetch_anchor(self):
        refuse(self.line + 1, f"{quote(self.peek())} would be a sign of YAML here; {TEXT_RULE}")

    fetch_tag = fetch_anchor  # Without anchors, there is nothing for an alias to name.


# Marking texts


def mark_texts(text):
    """Mark the values of WORD_KEYS as texts, so that nothing in them is a sign of YAML. No line is added or moved.

    Raises InvalidThought for a value that has two readings.
    """
    lines = text.split("\n")
    end = 0
    for index, line in enumerate(lines):
        found = KEY_LINE.fullmatch(line)
        if not found or index < end:  # It is a line of another text.
            continue
        key, name, value = found.groups("")
        column = len(key) - len(key.lstrip(" -"))
        is_text = name in WORD_KEYS
        if is_text or value.startswith(("|", ">")):
            end = find_end(lines, index + 1, column)
        if is_text:
            numbered = enumerate(lines[index + 1 : end], index + 2)
            below = [(number, other[column:]) for number, other in numbered if other.strip(" ")]
            lines[index] = f"{key} {mark_value(value.rstrip(' '), below)}"
    return "\n".join(lines)


def find_end(lines, start, column):
    """The index of the first line, from `start` on, that is neither blank nor deeper than its key in this column."""
    margin = (column + 1) * " "
    while start < len(lines) and (lines[start].startswith(margin) or not lines[start].strip(" ")):
        start += 1
    return start


def mark_value(value, below):
    """What is written after a key instead of its value.

    below: the lines below the key that belong to it, from its column on, with their numbers: [(int, str), ...].
    """
    if not below:
        return mark_line(value)
    if value in SIGNS:
        return mark_block(value or "|-", below)
    is_sign = value[0] in "|>"  # such as "|2-"
    is_open_quote = value[0] in "'\"" and not NULL_OR_QUOTED.fullmatch(value)
    lines = [value] if is_sign else [value, *dict(below).values()]
    if not is_open_quote and any(" #" in f" {line}" for line in lines):
        refuse(below[0][0], f"YAML would drop what follows a #; {TEXT_RULE}")
    return value  # YAML folds its lines.


def mark_line(value):
    """A value on one line in single quotes, unless it says already what it is. A sign before it is dropped."""
    text = value.removeprefix("|- ").removeprefix(">- ").strip(" ")
    if text in SIGNS or NULL_OR_QUOTED.fullmatch(text):
        return text
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def mark_block(sign, below):
    """The sign of a text: "|2-", with the margin, which is the smaller indentation of its first two lines.

    A line less deep than that has slipped. So has a first line that is alone at an odd number of spaces.
    """
    first, *others = [len(line) - len(line.lstrip(" ")) for _, line in below]
    margin = min([first, *others[:1]])
    for number, line in below:
        if not line.startswith(margin * " "):
            refuse(number, f"{quote(line)} is less deep than its text; {TEXT_RULE}")
    if others and ((first - margin) % 2 or (first % 2 and first not in others)):
        number, line = below[0] if first % 2 else below[1]
        rule = "indent all of it by two spaces more than its key"
        refuse(number, f"{quote(line)} is out of step with its text by an odd number of spaces; {rule}")
    if sign[0] == ">" or margin > 9:  # YAML has no sign for more than nine, and finds the margin by itself.
        return sign
    return f"|{margin}{sign[1:]}"


# Reading nodes. `name` says in a reason what is read.


def refuse_node(node, reason):
    """Raise InvalidThought for what is wrong with a node."""
    refuse(node.start_mark.line + 1, reason)


def read_mapping(node, readers, required_keys, name):
    """The values in a mapping that are given, {key: value, ...}, in the order of `readers`. Raises InvalidThought.

    readers: {key: a function from a node and its name to a value, ...}; required_keys: those that must be given.
    """
    rule = f"{name} has the keys {', '.join(readers)}; {TEXT_RULE}"
    if not isinstance(node, yaml.MappingNode):
        refuse_node(node, rule)
    values = {}
    for key_node, value_node in node.value:
        key = read_verbatim(key_node, "a key")
        if key not in readers:
            refuse_node(key_node, f"{quote(key)} is not a key here: {rule}")
        if key in values:
            refuse_node(key_node, f"the key {quote(key)} of {name} is given twice")
        values[key] = None if is_blank(value_node) else readers[key](value_node, f"{key} of {name}")
    for key in required_keys:
        if values.get(key) is None:
            refuse_node(node, f"{key} of {name} is missing or blank")
    return {key: values[key] for key in readers if values.get(key) is not None}


def is_blank(node):
    """Whether a node says nothing: it is a plain null or a blank text."""
    if not isinstance(node, yaml.ScalarNode):
        return False
    is_null = node.style is None and node.value in ("~", "null", "Null", "NULL", "None")
    return is_null or not node.value.strip()


def read_list(node, name):
    """The nodes in a list."""
    if not isinstance(node, yaml.SequenceNode):
        refuse_node(node, f"{name} is not a list")
    return node.value


def read_verbatim(node, name):
    """The str in a scalar, as PyYAML has read it."""
    if not isinstance(node, yaml.ScalarNode):
        refuse_node(node, f"{name} is not a text; {TEXT_RULE}")
    return node.value


def read_text(node, name):
    """The str in a scalar, without the empty lines around it."""
    return trim(read_verbatim(node, name))


def read_choice(node, name, choices):
    """One of the choices, str, which may be written in any case, among marks and before a comment: "**DONE** # so"."""
    written = read_text(node, name)
    before_comment = written.partition(" #")[0]
    words = "".join(c if c.isalnum() else " " for c in before_comment.lower()).split()
    for choice in choices:
        if words == choice.lower().split():
            return choice
    refuse_node(node, f"{name} is {quote(written)}, not {' or '.join(choices)}")


def read_number(node, name):
    """An int, or a float if it is written with a point."""
    written = read_text(node, name)
    try:
        return float(written) if "." in written else int(written)
    except ValueError:
        refuse_node(node, f"{name} is {quote(written)}, not a number")


def trim(text):
    """The text without the empty lines that it begins with, and without the white space at its end."""
    return re.sub(r"\A\s*\n", "", text).rstrip()
