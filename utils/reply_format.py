"""A model's reply: finding the thought in it, and the rules for replies alone.

INSTRUCTIONS in nodes.py describes the format.
"""

import re

from utils.errors import InvalidThought, quote
from utils.plain_yaml import load_yaml
from utils.solution import apply_change, read_changes
from utils.thought import concludes, speaks_of_major_error
from utils.thought_format import REPLY_READERS, read_thought

FENCE = re.compile("^```", re.MULTILINE)

# "planning: ..." or "<think> ...", on a line that is not indented
START_OF_THOUGHT = re.compile(rf"^(?:(?:{'|'.join(REPLY_READERS)}):|<(?:think|thinking|reasoning)>).*", re.MULTILINE)

# "<think>So ...\n</think>" or "That is all.</think>", to the last such tag on a line that is not indented
THINK_PART = re.compile(r"\A.*^(?=\S)[^\n]*</(?:think|thinking|reasoning)>", re.MULTILINE | re.DOTALL)


def read_reply(reply, number, plan_before, solution_before, is_last_allowed):
    """Read a thought from a Reply, as in utils/call_llm.py.

    number, plan_before, solution_before: as for read_thought; is_last_allowed: whether no thought may follow.
    Returns a thought as in utils/thought.py. Raises InvalidThought.
    """
    if reply.fault:
        raise InvalidThought(reply.fault)
    if not reply.text.strip():
        raise InvalidThought("it is empty")
    node = load_yaml(find_thought(reply.text))
    thought = read_thought(node, REPLY_READERS, number, plan_before, solution_before)
    if concludes(thought) and speaks_of_major_error(thought) and not is_last_allowed:
        rule = "leave the Conclusion Pending, since the next thought checks the correction"
        raise InvalidThought(f"a Major Error cannot end the run; {rule} (or, if none is meant, leave out the words)")
    if "solution_changes" in thought:
        check_that_changes_differ(solution_before or "", thought["solution_changes"])
    return thought


def check_that_changes_differ(solution, changes):
    """No change leaves the solution as it is. Raises InvalidThought."""
    for passage, new in read_changes(changes):
        changed = apply_change(solution, passage, new)
        if changed == solution:
            raise InvalidThought(f"the change of {quote(passage)} changes nothing; drop it or add a line that stays")
        solution = changed


def find_thought(text):
    """The YAML of the thought: it stands in the only fenced block, behind which nothing stands.

    What stands before it becomes empty lines, so that each line has the number that it has in the text.
    """
    text = text.replace("\r\n", "\n")
    parts = FENCE.split(THINK_PART.sub("", text))
    if len(parts) != 3:
        refuse_block(f"lines that begin with a fence, ```: {len(parts) - 1}, not 2")
    before, block, behind = parts
    early = START_OF_THOUGHT.search(before)
    if early:
        refuse_block(f"{quote(early[0])} stands before the block")
    if behind.lstrip("`").strip():
        refuse_block(f"{quote(behind)} stands behind the block")
    language, _, yaml = block.partition("\n")
    if len(language.split()) > 1:
        refuse_block(f"{quote(language)} stands behind the first fence")
    lines_above = text.count("\n") - (yaml + behind).count("\n")
    return "\n" * lines_above + yaml.rstrip("\n")


def refuse_block(fault):
    rule = "write one block with both its fences, indent the fences in texts, write nothing behind the block"
    raise InvalidThought(f"{fault}; {rule}, and, if this was cut off, less in one reply")
