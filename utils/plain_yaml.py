"""YAML to the letter, read and written: what YAML would change without a word is refused."""

import re

import yaml

from utils.errors import InvalidThought, quote

# Plain values that mean "not given".
NULLS = ("", "~", "null", "Null", "NULL", "None")

# All but tabs and line breaks, with what YAML takes for a line break ("\u2028") or cannot hold ("\ud800").
CONTROL_CHARACTER = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

# What to write instead. Most slips are lines of a text that are indented too little.
INDENTATION_RULE = "all lines of a text are indented deeper than its key, none less than the first"
TEXT_RULE = f"a text is a block literal (|-), and {INDENTATION_RULE}"

# Of "!tag", "&anchor", "*alias", "%directive", "---" and "..."
SIGNS = ("<tag>", "<anchor>", "<alias>", "<directive>", "<document start>", "<document end>")

KEY_LINE = re.compile(r"\s*(-\s+)*[a-z_]+:(\s|$)")  # "  - description: |-"


class Key(str):
    """A key of a mapping. line: the one that it stands in, int, from 1."""


def load_yaml(text):
    """The value of the YAML in a str: dicts with a Key for each key, lists, texts as they were written, and None.

    Raises InvalidThought, with the line, for what is no YAML and for what YAML would change.
    """
    control = CONTROL_CHARACTER.search(text)
    if control:
        refuse(text.count("\n", 0, control.start()), f"it has the control character {control[0]!r}")
    try:
        refuse_what_changes(text)
        return read_node(yaml.compose(text, Loader=yaml.BaseLoader))
    except yaml.MarkedYAMLError as error:
        refuse(find_slip(text) or line_of(error), explain(error))
    except (ValueError, OverflowError, RecursionError) as error:  # "\UFFFFFFFF", "[[[[..."
        raise InvalidThought(f"its YAML cannot be read ({error})") from None


def refuse(line, reason):
    raise InvalidThought(f"line {line + 1}: {reason}")  # YAML counts from 0.


def refuse_what_changes(text):
    """Refuse what YAML would pass over, join or change. Between two of its tokens there must be white space only."""
    end = 0
    for token in yaml.scan(text):
        start, line = token.start_mark.index, token.start_mark.line
        skipped = text[end:start].lstrip()  # such as "# a comment\n" before a token in the next line
        if skipped:
            refuse(line - skipped.count("\n"), f"YAML would ignore {quote(skipped)}: take it out; {TEXT_RULE}")
        end = token.end_mark.index
        written = text[start:end]
        if isinstance(token, yaml.ScalarToken):
            refuse_changed_text(token, written, line)
        elif token.id in SIGNS:
            refuse(line, f"YAML would take {quote(written)} for a sign of its own; {TEXT_RULE}")


def refuse_changed_text(token, written, line):
    if token.style == "|":
        sign = written.split("\n")[0]
        if "#" in sign:
            refuse(line, f"YAML would ignore the comment in {quote(sign)}")
    elif token.style == '"' and has_odd_backslash(written):
        refuse(line, f"YAML would change the backslashes in {quote(written)}; a text is a block literal (|-)")
    elif "\n" in written:
        refuse(line, f"YAML would join the lines of {quote(written)}; {TEXT_RULE}")


def has_odd_backslash(written):
    r"""Whether a text in double quotes has an escape that dump_yaml does not write: \theta, but not \\theta or \x0c."""
    rest = written.replace(r"\\", "").replace(r"\"", "")
    return re.search(r"\\[^xuU]", rest)


def find_slip(text):
    """The first line, from 0, that ends a block literal and is no key: it may be indented too little. Or None."""
    margin = None  # of a block literal: None outside of one, and 0 until its first line has come
    for number, line in enumerate(text.split("\n")):
        indentation = len(line) - len(line.lstrip())
        if not line.strip() or (margin and indentation >= margin):
            continue
        if margin and not KEY_LINE.match(line):
            return number
        if margin == 0:
            margin = indentation
        else:
            margin = 0 if line.endswith("|-") else None
    return None


def line_of(error):
    """The line in which what is wrong begins, from 0: of a text without an end, its beginning."""
    if isinstance(error, yaml.scanner.ScannerError) and error.context_mark:
        return error.context_mark.line
    return error.problem_mark.line


def explain(error):
    """What a YAML error means for who wrote the text."""
    if r"'\t'" in error.problem:
        return "it has a tab outside of a block literal; use spaces"
    return f"it is not valid YAML ({error.problem}); {TEXT_RULE}"


def read_node(node):
    if isinstance(node, yaml.SequenceNode):
        return [read_node(item) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return read_mapping(node)
    if node is None or (node.style is None and node.value in NULLS):
        return None
    return node.value


def read_mapping(node):
    fields = {}
    for key_node, value_node in node.value:
        key = Key(key_node.value)
        key.line = key_node.start_mark.line + 1
        if key in fields:
            refuse(key_node.start_mark.line, f"the key {quote(key)} is given twice in one place")
        fields[key] = read_node(value_node)
    return fields


def dump_yaml(value, dumper):
    """The YAML, str, of dicts, lists, texts and numbers. dumper: a LiteralDumper."""
    return yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=float("inf"))


class LiteralDumper(yaml.SafeDumper):
    """Writes every text but keys and plain_texts as a block literal, if YAML can hold it in one."""

    plain_texts = ()
    ESCAPE_REPLACEMENTS = {'"': '"', "\\": "\\"}  # PyYAML would write \f for \x0C, which load_yaml refuses.

    def ignore_aliases(self, data):
        return True  # Thoughts share the steps that did not change; a person wants to read them in each.

    def choose_scalar_style(self):
        text = self.event.value
        is_text = self.event.implicit[1]  # no number and no flag
        if not is_text or self.simple_key_context or text in self.plain_texts:
            return super().choose_scalar_style()
        return '"' if CONTROL_CHARACTER.search(text) else "|"
