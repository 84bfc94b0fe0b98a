"""Finding the YAML in a reply, and loading it without losing or changing anything that was written."""

import collections
import re
import textwrap

import yaml

from utils.errors import NotAThought
from utils.text import dedent, quote

KEYS = ("current_thinking", "planning", "next_thought_needed")
NULLS = ("", "~", "null", "Null", "NULL")  # How YAML writes that there is no value.
USE_LITERAL = "write every text as a block literal (|-)"

THINK_PART_END = re.compile(r"^(?:\S.*)?</(?:think|thinking|reasoning)>[ \t]*$", re.MULTILINE)
THINK_PART_START = re.compile(r"(?:\A\s*|^)<(?:think|thinking|reasoning)>", re.MULTILINE)
BLOCK = re.compile(r"^`{3,}[^\n]*\n?(.*?)(^`{3,}[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
THINKING_KEY = re.compile("^current_thinking:", re.MULTILINE)
SOLUTION_KEY = re.compile("^solution(?:_changes)?:", re.MULTILINE)
ANY_KEY = re.compile(f"^(?:{'|'.join(KEYS)}|solution(?:_changes)?):", re.MULTILINE)


def find_block(reply):
    """The YAML in a reply: the last fenced block with a thought or, without one, all from the first key on."""
    text = dedent(THINK_PART_END.split(reply.replace("\r\n", "\n"))[-1])
    if THINK_PART_START.search(text):
        raise NotAThought("it opens a think part and never closes it")
    blocks, unfenced = split_blocks(text)
    for block in reversed(blocks):
        if THINKING_KEY.search(block):
            if not SOLUTION_KEY.search(block) and SOLUTION_KEY.search("\n".join(blocks)):
                raise NotAThought("its solution is in a block of its own: write one block, with the solution last")
            return block
    if ANY_KEY.search(unfenced):
        return unfenced[ANY_KEY.search(unfenced).start() :]
    is_json = any(part.lstrip().startswith("{") for part in [*blocks, unfenced])
    raise NotAThought("it is JSON, not YAML" if is_json else "it has no YAML block")


def split_blocks(text):
    """The fenced blocks of the text, without their common indentation, and what is not fenced."""
    found = BLOCK.findall(text)
    blocks = [block for block, _ in found]
    if found and not found[-1][1] and len(re.findall("`{3,}", blocks[-1])) % 2:
        # A fence without a partner closes the block, indented or glued to the last line.
        blocks[-1] = re.sub(r"`{3,}\Z", "", blocks[-1])
    return [textwrap.dedent(block) for block in blocks], BLOCK.sub("", text)


class TextLoader(yaml.BaseLoader):
    """Leaves every value the text that was written, and refuses what YAML would change without a word."""

    def scan_to_next_token(self):
        start = self.index
        super().scan_to_next_token()
        self.refuse_comment(self.buffer[start : self.index])

    def refuse_comment(self, passed_over):
        if "#" in passed_over:
            comment = quote(passed_over[passed_over.index("#") :].split("\n")[0])
            raise NotAThought(f"YAML would ignore the comment {comment}: {USE_LITERAL} and indent all its lines")

    def get_token(self):
        token = super().get_token()
        written, style = self.buffer[token.start_mark.index : token.end_mark.index], getattr(token, "style", "|")
        if isinstance(token, (yaml.TagToken, yaml.AnchorToken, yaml.AliasToken)):
            raise NotAThought(f"YAML would take {quote(written)} for a tag, an anchor or an alias: {USE_LITERAL}")
        if style != "|" and "\n" in written:
            raise NotAThought(f"YAML would join the lines of {quote(written)}: {USE_LITERAL}")
        if style == '"' and "\t" in token.value and re.search(r"(?<!\\)(?:\\\\)*\\t", written):
            raise NotAThought(f"YAML would make a tab of the \\t in {quote(written)}: {USE_LITERAL}")
        return token

    def scan_block_scalar(self, style):
        token = super().scan_block_scalar(style)
        self.refuse_comment(self.buffer[token.start_mark.index : token.end_mark.index].split("\n")[0])
        if self.column > self.indent and self.peek() not in "#\0":
            advice = "write |2- and indent every line by two spaces more than the key"
            raise NotAThought(f"the line after {quote(token.value)} is indented less than the first line: {advice}")
        return token

    def construct_mapping(self, node, deep=False):
        keys = collections.Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key in (key for key, count in keys.items() if count > 1):
            raise NotAThought(f"the key {quote(key)} is given twice in one place: begin every list item with a dash")
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node):
        return None if node.style is None and node.value in NULLS else super().construct_scalar(node)


def load_yaml(text):
    """The value of the YAML, made of dicts, lists, texts and None. Raises NotAThought."""
    try:
        return yaml.load(text, TextLoader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # The latter two for "\UFFFFFFFF" in double quotes.
        problem = " ".join(re.sub('in "<.*?>",', "in", str(error)).split())
        raise NotAThought(f"it is not valid YAML ({problem}): {USE_LITERAL}") from None
    except RecursionError:
        raise NotAThought("its YAML is nested too deeply to read") from None
