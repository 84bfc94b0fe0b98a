"""Loading YAML to the letter: what YAML would change without a word is refused."""

import re

import yaml

from utils.errors import InvalidThought, quote

NULLS = ("", "~", "null", "Null", "NULL", "None")  # plain values that mean "not given"
# All but tabs and line breaks, with what YAML takes for a line break ("\u2028") or cannot hold ("\ud800").
CONTROL_CHARACTER = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def load_yaml(text):
    """The value of the YAML, made of dicts, lists, texts as they were written, and None. Raises InvalidThought."""
    control = CONTROL_CHARACTER.search(text)
    if control:
        refuse(text.count("\n", 0, control.start()), f"it has the control character {control[0]!r}")
    try:
        check_tokens(text)
        return read_node(yaml.compose(text))
    except yaml.MarkedYAMLError as error:
        began = error.context_mark if isinstance(error, yaml.scanner.ScannerError) else None  # an unfinished text
        refuse((began or error.problem_mark).line, f"it is not valid YAML ({error.problem})")
    except (ValueError, OverflowError, TypeError, RecursionError) as error:  # "\UFFFFFFFF", a list as a key, "[[[[..."
        raise InvalidThought(f"its YAML cannot be read ({error})") from None


def check_tokens(text):
    """Refuse what YAML would pass over, join or change."""
    end = 0
    for token in yaml.scan(text):
        start = token.start_mark
        comment = text[end : start.index].lstrip()
        if comment:
            refuse(start.line - comment.count("\n"), f"YAML would ignore {quote(comment)}")
        end = token.end_mark.index
        written = text[start.index : end]
        style = getattr(token, "style", None)  # of a text: "|" for a block literal, '"' in double quotes
        if style == "|":
            is_changed = "#" in written.split("\n")[0]  # "|- # a comment"
        elif style == '"':
            is_changed = not re.fullmatch(r'(?:[^\\\n]|\\[\\"xuU])*', written)  # several lines, or "\theta"
        else:
            is_changed = "\n" in written or token.id in ("<tag>", "<anchor>", "<alias>")
        if is_changed:
            refuse(start.line, f"YAML would change {quote(written)}")


def read_node(node):
    if isinstance(node, yaml.SequenceNode):
        return [read_node(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        fields = {}
        for key, value in node.value:
            if key.value in fields:
                refuse(key.start_mark.line, f"the key {quote(key.value)} is given twice in one place")
            fields[key.value] = read_node(value)
        return fields
    return None if node is None or (node.style is None and node.value in NULLS) else node.value


def refuse(line, reason):
    raise InvalidThought(f"line {line + 1}: {reason}")  # YAML counts from 0.
