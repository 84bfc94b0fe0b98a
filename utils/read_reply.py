"""Finding the thought in a model's reply, and reading it."""

import re
import textwrap

from utils.errors import InvalidThought
from utils.load_yaml import load_yaml
from utils.read_thought import read_thought
from utils.thought import REQUIRED_KEYS

THINK_TAG = "(?:think|thinking|reasoning)>"
THINK_PART_END = re.compile(rf"^(?:\S.*)?</{THINK_TAG}[ \t]*$|^</{THINK_TAG}", re.MULTILINE)
THINK_PART_START = re.compile(rf"(?:\A\s*|^)<{THINK_TAG}", re.MULTILINE)
BLOCK = re.compile(r"^`{3,}[^\n]*\n?(.*?)(^`{3,}[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
FENCE = re.compile("^`{3,}(.*)$", re.MULTILINE)
THINKING_KEY = re.compile("^current_thinking:", re.MULTILINE)
SOLUTION_KEY = re.compile("^solution(?:_changes)?:", re.MULTILINE)
CUT = ("a code fence is not indented, so it ends the block", "indent every line of a text, also its code fences")
ANY_KEY = re.compile(f"^(?:{'|'.join(REQUIRED_KEYS)}|solution(?:_changes)?):", re.MULTILINE)


def read_reply(reply, number=1, plan_before=(), solution=None):
    """Read a thought from a model's reply; INSTRUCTIONS in nodes.py describes its format.

    reply: str, a YAML mapping with or without a fence and words around it. If it has a `fault`, a str, that is why it
    cannot be a thought. The other arguments and the result are those of read_thought. Raises InvalidThought.
    """
    fault = getattr(reply, "fault", None) or (None if reply.strip() else "it is empty")
    if fault:
        raise InvalidThought(fault)
    return read_thought(load_yaml(find_block(reply)), number, plan_before, solution)


def find_block(reply):
    """The YAML in a reply: the last fenced block with a thought or, without one, all from the first key on."""
    text = textwrap.dedent(THINK_PART_END.split(reply.replace("\r\n", "\n"))[-1]).strip("\n").rstrip()
    if THINK_PART_START.search(text):
        raise InvalidThought("it opens a think part and never closes it")
    blocks = list(BLOCK.finditer(text))
    for block in reversed(blocks):
        if THINKING_KEY.search(textwrap.dedent(block[1])):
            return read_block(block)
    first_key = ANY_KEY.search(text)
    if first_key:
        text = re.sub(r"^`{3,}\Z", "", text[first_key.start() :], flags=re.MULTILINE)
        if FENCE.search(text):
            raise InvalidThought(*CUT)
        return text
    is_json = any(part.lstrip().startswith("{") for part in (text, *(block[1] for block in blocks)))
    raise InvalidThought("it is JSON, not YAML" if is_json else "it has no YAML block")


def read_block(match):
    """The YAML in a match of BLOCK, without its indentation."""
    block = textwrap.dedent(match[1])
    if set(SOLUTION_KEY.findall(match.string)) > set(SOLUTION_KEY.findall(block)):
        raise InvalidThought("its solution is in a block of its own", "write one block, with the solution last")
    if not match[2]:
        # A fence without a partner at the end of the reply closes the block, indented or glued to the last line.
        return re.sub(r"`{3,}\Z", "", block) if len(re.findall("`{3,}", block)) % 2 else block
    next_fence = FENCE.search(match.string, match.end())
    if next_fence and not next_fence[1].strip():  # With a tag, it begins a code block of the model's own.
        raise InvalidThought(*CUT)
    return block
