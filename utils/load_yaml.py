"""Loading YAML without losing or changing anything that was written."""

import re

import yaml

from utils.errors import InvalidThought, quote

NULLS = ("", "~", "null", "Null", "NULL", "None")  # plain values that mean "not given"
ESCAPES = '\\"/nxuU'  # Others are rather LaTeX or Markdown in double quotes, such as "\theta" or "max\_value".
USE_LITERAL = "write every text as a block literal (|-) and indent all its lines"


class TextLoader(yaml.BaseLoader):
    """Leaves every value the text that was written, and refuses what YAML would change without a word."""

    def scan_to_next_token(self):
        start, line = self.index, self.line
        super().scan_to_next_token()
        self.refuse_comment(self.buffer[start : self.index], line)

    def scan_block_scalar(self, style):
        line = self.line
        token = super().scan_block_scalar(style)
        self.refuse_comment(self.buffer[token.start_mark.index : token.end_mark.index].split("\n")[0], line)
        if self.column > self.indent and self.peek() not in "#\0":
            advice = "write |2- and indent every line by two spaces more than the key"
            refuse(self.line, f"the line after {quote(token.value)} is indented less than the first line", advice)
        return token

    def refuse_comment(self, passed_over, line):
        before, mark, comment = passed_over.partition("#")
        if mark:
            comment = quote(mark + comment.split("\n")[0])
            refuse(line + before.count("\n"), f"YAML would ignore the comment {comment}")

    def get_token(self):
        token = super().get_token()
        line = token.start_mark.line
        written = self.buffer[token.start_mark.index : token.end_mark.index]
        if isinstance(token, (yaml.TagToken, yaml.AnchorToken, yaml.AliasToken)):
            refuse(line, f"YAML would take {quote(written)} for a tag, an anchor or an alias")
        if isinstance(token, yaml.ScalarToken) and token.style != "|" and "\n" in written:
            refuse(line, f"YAML would join the lines of {quote(written)}")
        if isinstance(token, yaml.ScalarToken) and token.style == '"':
            for escape in re.findall(r"\\(.)", written):
                if escape not in ESCAPES:
                    shown = escape.replace("\t", " ")
                    refuse(line, f"YAML would change the \\{shown} in {quote(written)}")
        return token

    def construct_mapping(self, node, deep=False):
        keys = []
        for key, _ in node.value:
            if key.value in keys:
                advice = "begin every list item with a dash"
                refuse(key.start_mark.line, f"the key {quote(key.value)} is given twice in one place", advice)
            keys.append(key.value)
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node):
        return None if node.style is None and node.value in NULLS else super().construct_scalar(node)


def refuse(line, reason, advice=USE_LITERAL):
    """line: int, from 0."""
    raise InvalidThought(f"line {line + 1}: {reason}", advice)


def load_yaml(text):
    """The value of the YAML, made of dicts, lists, texts and None. Raises InvalidThought."""
    try:
        return yaml.load(re.sub(r"\n---\s*\Z", "\n", text), TextLoader)
    except yaml.MarkedYAMLError as error:
        problem = " ".join(filter(None, [error.context, error.problem]))
        refuse(error.problem_mark.line, f"it is not valid YAML ({problem})")
    except yaml.reader.ReaderError as error:
        refuse(text.count("\n", 0, error.position), f"it has the character {error.character:#x}", "leave it out")
    except (ValueError, OverflowError) as error:  # for "\UFFFFFFFF" in double quotes
        raise InvalidThought(f"it is not valid YAML ({error})", USE_LITERAL) from None
    except RecursionError:
        raise InvalidThought("its YAML is nested too deeply to read") from None
