"""A model's reply: finding the thought in it, and the rules for replies alone.

INSTRUCTIONS in nodes.py describes the format.
"""

import re

from utils.errors import InvalidThought, quote
from utils.plain_yaml import load_yaml
from utils.solution import apply_change, read_changes
from utils.thought import REPLY_KEYS, ends_run, evaluations, finds_major_error, judged_thoughts, read_thought

FENCE = "```"
FIRST_KEY = "current_thinking:"
ANY_KEY = tuple(f"{key}:" for key in REPLY_KEYS)

# "<think>", at the beginning of a line
THINK_PART = re.compile(r"<(?:think|thinking|reasoning)>")
# "</think>" or "That is all.</think>", on a line that is not indented, with all of the line before it
THINK_PART_END = re.compile(r"^(?=\S).*</(?:think|thinking|reasoning)>", re.MULTILINE)


def read_reply(reply, number, plan_before, solution_before, is_last_allowed):
    """Read a thought from a Reply, as in utils/call_llm.py.

    number, plan_before, solution_before: as for read_thought; is_last_allowed: whether no thought may follow.
    Returns a thought as in utils/thought.py. Raises InvalidThought.
    """
    if reply.fault:
        raise InvalidThought(reply.fault)
    if not reply.text.strip():
        raise InvalidThought("it is empty")
    fields = load_yaml(find_thought(reply.text))
    thought = read_thought(fields, number, plan_before, solution_before)
    check_new_thought(thought, solution_before, is_last_allowed)
    return thought


def check_new_thought(thought, solution_before, is_last_allowed):
    """The rules for a thought that a model has just sent: a saved one is taken as it is. Raises InvalidThought."""
    judged = judged_thoughts(thought)
    for evaluation in evaluations(thought):
        is_heading = evaluation.is_heading and evaluation.number in judged  # above the line with the verdict
        if not evaluation.verdict and not is_heading:
            line = quote(evaluation.line)
            raise InvalidThought(f"{line} has no verdict behind the number: Correct, Minor Issues or Major Error")
    if ends_run(thought) and finds_major_error(thought) and not is_last_allowed:
        raise InvalidThought("a Major Error cannot end the run; leave the Conclusion Pending")
    check_that_changes_differ(solution_before or "", thought.get("solution_changes", ""))


def check_that_changes_differ(solution, changes):
    """No change leaves the solution as it is. Raises InvalidThought."""
    for passage, new in read_changes(changes):
        changed = apply_change(solution, passage, new)
        if changed == solution:
            raise InvalidThought(f"the change of {quote(passage)} changes nothing; take in a line that stays")
        solution = changed


def find_thought(text):
    """The YAML of the thought: it stands in a fenced block, and begins with the line "current_thinking:".

    What stands before it becomes empty lines, so that each line has the number that it has in the text.
    """
    lines = reply_lines(text)
    start = find_start(lines)
    check_before(lines[:start])
    end = find_end(lines, start)
    check_after(lines[end:])
    return start * "\n" + "\n".join(lines[start:end])


def reply_lines(text):
    """The lines of the reply, with an empty one for each line of a think part. A reply may be indented as a whole."""
    text = dedent(text.replace("\r\n", "\n"))
    end_of_think_part = max((tag.end() for tag in THINK_PART_END.finditer(text)), default=0)
    dropped_lines = text.count("\n", 0, end_of_think_part) * "\n"
    reply = dropped_lines + dedent(text[end_of_think_part:])
    return reply.split("\n")


def dedent(text):
    """The text without the spaces that all its lines begin with. (textwrap.dedent would also change blank lines.)"""
    margin = min(re.findall(r"(?m)^ *(?=[^ \n])", text), default="")  # that of the line that is indented least
    return re.sub(f"(?m)^{margin}", "", text)


def find_start(lines):
    starts = [number for number, line in enumerate(lines) if line.startswith(FIRST_KEY)]
    if len(starts) != 1:
        raise InvalidThought(f"it has {len(starts) or 'no'} lines that begin with {FIRST_KEY}, and must have one")
    return starts[0]


def check_before(lines):
    """Before the thought stands an opening fence. Words may come before that, but nothing of a thought."""
    for line in lines:
        if THINK_PART.match(line):
            raise InvalidThought(f"{quote(line)} opens a think part that is not closed")
        if line.startswith(ANY_KEY):
            raise InvalidThought(f"{quote(line)} stands before {FIRST_KEY}, which must come first")
    written = [line for line in lines if line.strip()]
    if not written or not written[-1].startswith(FENCE):
        raise InvalidThought(f"the line before {FIRST_KEY} must be the opening fence, {FENCE}yaml")


def find_end(lines, start):
    for number in range(start, len(lines)):
        if lines[number].startswith(FENCE):
            return number
    raise InvalidThought(f"no line begins with the closing fence, {FENCE}; if the reply was cut off, write less in one")


def check_after(lines):
    """After the thought stands a closing fence and nothing else: it could be a fence in a text that goes on."""
    closing_fence, *others = lines
    rule = "indent the code fences in texts, and write nothing behind the block"
    if closing_fence.strip("` \t"):
        raise InvalidThought(f"{quote(closing_fence)} ends the block too early; {rule}")
    rest = "\n".join(others).strip()
    if rest:
        raise InvalidThought(f"{quote(rest)} stands behind the fence that ends the block; {rule}")
