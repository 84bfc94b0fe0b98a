"""YAML to the letter, read and written: what YAML would change without a word is refused."""

import collections
import re
import textwrap
import typing

import yaml

from utils.errors import InvalidThought, quote

# Plain values that mean "not given".
NULLS = ("~", "null", "Null", "NULL", "None")

# All but tabs and line feeds, with what YAML takes for a line break ("\u2028") or cannot hold ("\ud800").
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

# What to write instead. Most slips are lines of a text that are indented too little.
INDENTATION_RULE = "all lines of a text are indented deeper than its key, none less than the first"
TEXT_RULE = f"a text is a block literal (|-), and {INDENTATION_RULE}"

# "- description: |-", "planning:", "- Conclusion", but a "Note: x" or a "def f(x):" has no key.
LINE = re.compile(r"(?P<item>(- +)*)(?P<key>[a-z_]+:( +|$))?(?P<value>.*)")

# A value that YAML leaves as it is. Others are comments, tags, texts over several lines and the like.
VALUE = re.compile(r"""
                                        # nothing: a list follows, or the value is not given
    | \|[-+]?(?P<depth>\d?)[-+]?        # "|-", or "|2-" before a text that begins with spaces or an empty line
    | \[\]                              # no sub-steps
    | "[^"\\]*" | '([^']|'')*'          # a quoted text; YAML would change a backslash in double quotes
    | [^\s!&*>|%@`"'\[{#?](?!.*\s\#).*  # a plain text
    """, re.VERBOSE)


class Field(typing.NamedTuple):
    """A value, and the line of its key, int, from 1.

    value: {key: Field, ...}, [Field, ...] with the line of the list's key, a str as it was written, or None for nulls
    and blank texts.
    """

    value: typing.Any
    line: int


def load_yaml(text):
    """The Field of the YAML in a str. Raises InvalidThought, with the line, for what is no YAML or would be changed."""
    check_lines(text)
    try:
        return read_node(yaml.compose(text, Loader=yaml.BaseLoader), line=1)
    except yaml.MarkedYAMLError as error:
        refuse(error.problem_mark.line + 1, f"here or above, it is not valid YAML ({error.problem}); {TEXT_RULE}")
    except RecursionError:
        raise InvalidThought("its YAML is nested too deep") from None


def refuse(line, reason):
    raise InvalidThought(f"line {line}: {reason}")


# Before YAML reads it


class Line(typing.NamedTuple):
    """A line: its number, from 1, how many spaces it is indented by, and what it says."""

    number: int
    depth: int
    text: str


def read_lines(text):
    """The Lines that are not blank. Raises InvalidThought for a control character."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        control = CONTROL_CHARACTER.search(line)
        if control:
            refuse(number, f"it has the control character {control[0]!r}")
        depth = len(line) - len(line.lstrip(" "))
        lines.append(Line(number, depth, line.strip(" ")))
    return collections.deque(line for line in lines if line.text)


def check_lines(text):
    """Check that each line is a key or an item of a list, with a value that YAML leaves as it is, or part of a text."""
    lines = read_lines(text)
    while lines:
        line = lines.popleft()
        if "\t" in line.text:
            refuse(line.number, "it has a tab outside of a block literal; use spaces")
        found = LINE.match(line.text)
        if found["value"] == line.text:
            refuse(line.number, f"{quote(line.text)} is neither a key nor a part of a text; {TEXT_RULE}")
        match = VALUE.fullmatch(found["value"])
        if not match:
            refuse(line.number, f"YAML would not leave {quote(found['value'])} as it is; {TEXT_RULE}")
        column = line.depth + found.end("item")
        if match[0].startswith("|"):
            skip_text(lines, column, match["depth"])
        elif match[0] and lines and lines[0].depth > column:
            refuse(lines[0].number, f"{quote(lines[0].text)} is deeper than the line above with its value; {TEXT_RULE}")


def skip_text(lines, column, depth):
    """Take the lines of a text, all as deep as its first. column: of its key; depth: the digit in its sign, or ""."""
    if not lines or lines[0].depth <= column:
        return  # The text is empty.
    first = lines[0]
    margin = first.depth
    if depth:
        margin = column + int(depth)
    if first.depth < margin or (margin - column) % 2:
        refuse(first.number, f"{quote(first.text)} begins a text: indent all its lines by two spaces more than its key")
    while lines and lines[0].depth >= margin:
        lines.popleft()
    if lines:
        check_end(lines[0], column, first)


def check_end(line, column, first):
    """Check that a line that is less deep than a text has not slipped out of it. first: the first line of the text."""
    is_item = line.text.startswith("- ") and line.depth < column
    has_key = LINE.match(line.text)["key"]
    if not is_item and not has_key and not line.text.startswith("\t"):
        place = f"the text that begins in line {first.number}; indent it as deep as that, or take it out"
        refuse(line.number, f"{quote(line.text)} is neither a key nor as deep as {place}")


# Making Fields of it


def read_node(node, line):
    """The Field of a YAML node. line: that of its key, or of the key of the list that it is in."""
    value = None
    if isinstance(node, yaml.SequenceNode):
        value = [read_node(item, line) for item in node.value]
    elif isinstance(node, yaml.MappingNode):
        value = read_mapping(node)
    elif node and node.value.strip() and (node.style or node.value not in NULLS):
        value = node.value
    return Field(value, line)


def read_mapping(node):
    fields = {}
    for key_node, value_node in node.value:
        key = key_node.value
        line = key_node.start_mark.line + 1
        if key in fields:
            refuse(line, f"the key {quote(key)} is given twice in one place")
        fields[key] = read_node(value_node, line)
    return fields


# Reading Fields. `name` says in a reason what is read.


def read_fields(field, keys, required_keys, name):
    """The Fields of a mapping that are not blank. keys: those that may be there."""
    fields = field.value
    if not isinstance(fields, dict) or not fields:
        refuse(field.line, f"{name} must have the keys {', '.join(required_keys)}, each on a line of its own")
    for key in fields:
        if key not in keys:
            known = ", ".join(keys)
            refuse(fields[key].line, f"the key {quote(key)} is not one of {known}; {INDENTATION_RULE}")
    given = {key: fields[key] for key in fields if fields[key].value is not None}
    first, *_ = fields.values()
    for key in required_keys:
        if key not in given:
            refuse(fields.get(key, first).line, f"{key} of {name} is missing or blank")
    return given


def read_text(field, name):
    return dedent(read_verbatim(field, name))


def read_verbatim(field, name):
    """The str in a Field, to the letter."""
    if not isinstance(field.value, str):
        refuse(field.line, f"{name} is not a text; {TEXT_RULE}")
    return field.value


def read_choice(field, choices, name):
    """One of the choices, str, which may be written in any case."""
    written = read_text(field, name)
    for choice in choices:
        if written.lower() == choice.lower():
            return choice
    refuse(field.line, f"{name} is {quote(written)}, not {' or '.join(choices)}")


def dedent(text):
    """The text without its common indentation, and without blank lines around it."""
    return textwrap.dedent(text.rstrip()).strip("\n")


# Writing


def dump_yaml(value, dumper):
    """The YAML, str, of dicts, lists, texts and numbers. dumper: a LiteralDumper."""
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=float("inf"))


class LiteralDumper(yaml.SafeDumper):
    """Writes every text but keys and plain_texts as a block literal."""

    plain_texts = ()

    def choose_scalar_style(self):
        is_text = self.event.implicit[1]  # no number and no flag
        if not is_text or self.simple_key_context or self.event.value in self.plain_texts:
            return super().choose_scalar_style()
        return "|"
