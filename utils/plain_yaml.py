"""YAML to the letter, read and written: what YAML would change without a word is refused."""

import re
import typing

import yaml

from utils.errors import quote, refuse
from utils.yaml_lines import INDENTATION_RULE, TEXT_RULE, check_lines

# Plain values that mean "not given".
NULLS = ("~", "null", "Null", "NULL", "None")

# All but tabs and line feeds, with what YAML takes for a line break ("\u2028") or cannot hold ("\ud800").
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

# "description: |-" with empty lines behind it. PyYAML would take spaces in these for the indentation of the text. (If a
# line of a text looks like this, such spaces are all that is lost.)
SIGN_AND_EMPTY_LINES = re.compile(r"(: +\|[-+]?) *\n[ \n]*\n")


class Field(typing.NamedTuple):
    """A value, and the line of its key or, in a list, its own: int, from 1.

    value: {key: Field, ...}, [Field, ...], a str as it was written, or None for nulls and blank texts.
    """

    value: typing.Any
    line: int


def load_yaml(text):
    """The Field of the YAML in a str. Raises InvalidThought, with the line, for what is no YAML or would be changed."""
    check_characters(text)
    check_lines(text)
    text = SIGN_AND_EMPTY_LINES.sub(lambda found: found[1] + found[0].count("\n") * "\n", text)
    try:
        return read_node(yaml.compose(text, Loader=yaml.BaseLoader), line=1)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1
        refuse(line, f"here or above, the lines are not indented as a list of keys is; {TEXT_RULE}")


def check_characters(text):
    control = CONTROL_CHARACTER.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        refuse(line, f"it has the control character {control[0]!r}")


# Making Fields of it


def read_node(node, line):
    """The Field of a YAML node. line: that of its key or, in a list, its own."""
    value = None
    if isinstance(node, yaml.SequenceNode):
        value = [read_node(item, item.start_mark.line + 1) for item in node.value]
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
            rule = "begin the next item of a list with `- `, or take one out"
            refuse(line, f"the key {quote(key)} is given twice in one place; {rule}")
        fields[key] = read_node(value_node, line)
    return fields


# Reading Fields. `name` says in a reason what is read.


def read_fields(field, keys, required_keys, name):
    """The Fields of a mapping that are not blank. keys: those that may be there."""
    fields = field.value
    if not isinstance(fields, dict):
        known = ", ".join(required_keys)
        refuse(field.line, f"{name} must have the keys {known}, each on a line of its own; {INDENTATION_RULE}")
    for key in fields:
        if key not in keys:
            known = ", ".join(keys)
            refuse(fields[key].line, f"the key {quote(key)} is not one of {known}; {INDENTATION_RULE}")
    given = {key: fields[key] for key in fields if fields[key].value is not None}
    first, *_ = fields.values()  # Its line is said for a key that is not there.
    for key in required_keys:
        if key not in given:
            refuse(fields.get(key, first).line, f"{key} of {name} is missing or blank")
    return given


def read_text(field, name):
    """The str in a Field, without the empty lines around it."""
    return trim(read_verbatim(field, name))


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


def trim(text):
    """The text without the empty lines that it begins with, and without the white space at its end."""
    return re.sub(r"\A\s*\n", "", text).rstrip()


# Writing


def dump_yaml(value, dumper):
    """The YAML, str, of dicts, lists, texts and numbers. dumper: a LiteralDumper."""
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True)


class LiteralDumper(yaml.SafeDumper):
    """Writes every text but keys and plain_texts as a block literal."""

    plain_texts = ()

    def choose_scalar_style(self):
        """PyYAML asks this for the style of each value. It would put some texts in quotes, with backslashes."""
        is_text = self.event.tag == "tag:yaml.org,2002:str"  # no number and no flag
        is_key = self.simple_key_context
        if is_text and not is_key and self.event.value not in self.plain_texts:
            return "|"
        return super().choose_scalar_style()
