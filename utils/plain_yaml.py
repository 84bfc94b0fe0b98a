"""YAML to the letter: PyYAML reads it, and what it would change without a word is refused.

A node is PyYAML's: a mapping, a list or a scalar, with the place where it stands.
"""

import re

import yaml

from utils.errors import InvalidThought, quote

# The control characters but tab and line feed, what YAML takes for a line break ("\u2028"), what it cannot hold
# ("\ud800").
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

TEXT_RULE = (
    "a text is a block literal (|-), and all its lines are indented by spaces, deeper than its key, none less than the"
    " first"
)


def load_yaml(text):
    """The node of the YAML in a str. Raises InvalidThought for what is no YAML, or would be changed."""
    control = CONTROL_CHARACTER.search(text)
    if control:
        refuse(line_at(text, control.start()), f"it has the control character {control[0]!r}")
    try:
        check_tokens(text)
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        is_open_quote = error.context == "while scanning a quoted scalar"
        mark = error.context_mark if is_open_quote else error.problem_mark
        place = "at a tab" if text.startswith("\t", mark.index) else "here or above"
        refuse(mark.line + 1, f"{place}, YAML cannot read what is meant; {TEXT_RULE}")
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):  # such as for "\UFFFFFFFF" in double quotes
        raise InvalidThought(f"YAML cannot read what is meant; {TEXT_RULE}") from None
    if node is None:
        raise InvalidThought("it is empty")
    return node


def line_at(text, index):
    return text.count("\n", 0, index) + 1


def refuse(line, reason):
    """Raise InvalidThought for what is wrong in the line with this number."""
    raise InvalidThought(f"line {line}: {reason}")


# The guard


def check_tokens(text):
    """Raise InvalidThought, or PyYAML's exceptions, unless each value is to the letter what stands in the text."""
    before = None
    end = column = 0
    for token in yaml.scan(text):
        start = token.start_mark.index
        dropped = text[end:start].strip()
        if dropped:  # such as a comment: between two tokens stands nothing but white space
            line = line_at(text, text.index(dropped, end))
            refuse(line, f"YAML would drop {quote(dropped)}; take it out, or put it in a text: {TEXT_RULE}")
        end = token.end_mark.index
        line = token.start_mark.line + 1
        written = text[start:end]
        if isinstance(before, yaml.KeyToken):
            column = token.start_mark.column
            if not written.isidentifier():
                refuse(line, f"{quote(written)} is not a key, such as `status:`; {TEXT_RULE}")
        if written.startswith("|"):
            check_literal(written, line, column)
        elif not is_to_the_letter(token, written):
            refuse(line, f"YAML would not take {quote(written)} to the letter; {TEXT_RULE}")
        before = token


def check_literal(written, line, column):
    """The sign of a block literal stands alone, and its text is an even number of spaces deeper than its key.

    An odd number is a slip in the first line, which would shift all others. column: that of the key.
    """
    sign, *lines = written.split("\n")
    rest = sign.strip("|+- ")  # The 2 of "|2-" may stand: it says itself how deep the text is.
    if rest and not rest.isdecimal():
        refuse(line, f"YAML would drop {quote(rest)}; write the text below its sign")
    first = next((text for text in lines if text.strip(" ")), "")
    margin = len(first) - len(first.lstrip(" "))
    depth = margin - column
    if rest:
        depth = int(rest)
    if first and depth % 2:
        rule = "indent all its lines by two spaces more than its key"
        refuse(line + 1 + lines.index(first), f"{quote(first)} begins a text: {rule}")


def is_to_the_letter(token, written):
    """Whether YAML takes a token as it is written: a value, quoted or not, or one of the few signs that may stand."""
    if not isinstance(token, yaml.ScalarToken):
        return written in ("", ":", "-", "[", "]")  # The last two are for an empty list, []; no comma may stand.
    quotes = token.style or ""
    return written == quotes + token.value + quotes


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
    nodes = {}
    for key_node, value_node in node.value:
        key = key_node.value
        if key not in readers:
            refuse_node(key_node, f"{quote(key)} is not a key here: {rule}")
        if key in nodes:
            refuse_node(key_node, f"the key {quote(key)} of {name} is given twice")
        nodes[key] = value_node
    given = [key for key in readers if key in nodes and not is_blank(nodes[key])]
    for key in required_keys:
        if key not in given:
            refuse_node(node, f"{key} of {name} is missing or blank")
    return {key: readers[key](nodes[key], f"{key} of {name}") for key in given}


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
    """The str in a scalar, to the letter."""
    if not isinstance(node, yaml.ScalarNode):
        refuse_node(node, f"{name} is not a text; {TEXT_RULE}")
    return node.value


def read_text(node, name):
    """The str in a scalar, without the empty lines around it."""
    return trim(read_verbatim(node, name))


def read_choice(node, name, choices):
    """One of the choices, str, which may be written in any case."""
    written = read_text(node, name)
    for choice in choices:
        if written.lower() == choice.lower():
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
