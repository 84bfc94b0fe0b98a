"""Finding the thought in a model's reply."""

import re
import textwrap

from utils.errors import InvalidThought
from utils.plain_yaml import load_yaml
from utils.thought import THOUGHT_KEYS, read_thought

THINK_TAG = "(?:think|thinking|reasoning)>"
THINK_PART_END = re.compile(rf"^(?=\S).*</{THINK_TAG}", re.MULTILINE)  # "</think>", "That is all.</think>"
# What must not stand outside of the thought: "planning:", "<think>" without its end
OUTSIDE = re.compile(f"^(?:(?:{'|'.join(THOUGHT_KEYS)}):|<{THINK_TAG})", re.MULTILINE)
# After a fence that belongs to a text of the thought: a word on its line, or later another fence or an indented text
TORN = re.compile(r"\A.*[^`\s]|\n(?:```|[ \t]+\S)")


def read_reply(reply, number=1, plan_before=(), solution=None):
    """Read a thought from a model's reply; INSTRUCTIONS in nodes.py describes its format.

    reply: str. If it has a `fault`, a str, that is why it cannot be a thought. The other arguments and the result are
    those of read_thought. Raises InvalidThought.
    """
    if getattr(reply, "fault", None):
        raise InvalidThought(reply.fault)
    if not reply.strip():
        raise InvalidThought("it is empty")
    return read_thought(load_yaml(find_thought(reply)), number, plan_before, solution)


def find_thought(reply):
    """The YAML in a reply: from the line "current_thinking:" to the closing fence or the end."""
    text = THINK_PART_END.split(textwrap.dedent(reply.replace("\r\n", "\n")))[-1]
    text = textwrap.dedent(text)  # The thought may be indented without its think part.
    before, *blocks = re.split("^(?=current_thinking:)", text, flags=re.MULTILINE)
    if len(blocks) != 1:
        raise InvalidThought(f"it has {len(blocks)} lines that begin with current_thinking:, not one")
    block, _, after = blocks[0].partition("\n```")
    if TORN.search(after):
        raise InvalidThought("a code fence that is not indented ends the block too early")
    outside = OUTSIDE.search(f"{before}\n{after}")
    if outside:
        raise InvalidThought(f"{outside[0]} is outside the block that begins with current_thinking:")
    return block
