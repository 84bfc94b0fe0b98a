"""A model's reply: finding the thought in it, and the rules for replies alone.

INSTRUCTIONS in nodes.py describes the format.
"""

import re

from utils.errors import InvalidThought, quote
from utils.plain_yaml import load_yaml
from utils.thought import concludes, speaks_of_major_error
from utils.thought_reader import REPLY_READERS, complete_plan, finish_thought, read_thought

# All up to the last "</think>" on a line that is not indented, or to what servers leave of the channels of gpt-oss:
# "<|channel|>analysis<|message|>So ...", "analysisSo ... assistantfinal"
END_OF_THINK_PART = r"</(?:think|thinking|reasoning)>|<\|message\|>|assistantfinal"
THINK_PART = re.compile(rf"\A.*^(?=\S)[^\n]*(?:{END_OF_THINK_PART})", re.MULTILINE | re.DOTALL)

FENCE = re.compile("^```", re.MULTILINE)

# "planning: ..." or "<think> ...", on a line that is not indented
START_OF_THOUGHT = re.compile(rf"^(?:(?:{'|'.join(REPLY_READERS)}):|<(?:think|thinking|reasoning)>).*", re.MULTILINE)
INDENTED_LINE = re.compile(r"^[ \t]+\S.*", re.MULTILINE)


def read_reply(reply, before, is_last_allowed):
    """Read a thought from a Reply, as in utils/call_llm.py.

    before: the thought before it, or START; is_last_allowed: whether no thought may follow.
    Returns a thought as in utils/thought.py. Raises InvalidThought.
    """
    if reply.fault:
        raise InvalidThought(reply.fault)
    if not reply.text.strip():
        raise InvalidThought("it is empty")
    node = load_yaml(find_thought(reply.text))
    thought = read_thought(node, REPLY_READERS, before["thought_number"] + 1)
    complete_plan(thought["planning"], before["planning"])
    finish_thought(thought, before)
    if concludes(thought) and speaks_of_major_error(thought) and not is_last_allowed:
        rule = "leave the Conclusion Pending, since the next thought checks the correction"
        raise InvalidThought(f"a Major Error cannot end the run; {rule} (or, if none is meant, leave out the words)")
    return thought


def find_thought(text):
    """The YAML of the thought, which stands in the only fenced block. Words before and after the block do no harm.

    What stands before it becomes empty lines, so that each line has the number that it has in the text.
    """
    text = text.lstrip("\ufeff").replace("\r\n", "\n")
    before, block, after = split_at_fences(THINK_PART.sub("", text))
    language, _, yaml = block.partition("\n")
    rest_of_fence, _, remark = after.partition("\n")
    if len(language.split()) > 1 or rest_of_fence.strip("` "):
        refuse_block(f"{quote(language + rest_of_fence)} stands after a fence")
    outside = START_OF_THOUGHT.search(before) or START_OF_THOUGHT.search(remark) or INDENTED_LINE.search(remark)
    if outside:
        refuse_block(f"{quote(outside[0])} stands outside of the block")
    lines_above = text.count("\n") - (yaml + after).count("\n")
    return "\n" * lines_above + yaml.rstrip("\n")


def split_at_fences(text):
    """What stands before, between and after the two lines that begin with a fence: [str, str, str]."""
    parts = FENCE.split(text)
    if len(parts) == 1:
        refuse_block("it has no block that begins with ```yaml")
    if len(parts) != 3:
        refuse_block(f"lines that begin with a fence, ```: {len(parts) - 1}, not 2")
    return parts


def refuse_block(fault):
    rule = "write one block with both its fences, indent the fences in texts"
    raise InvalidThought(f"{fault}; {rule}, and, if this was cut off, less in one reply")
