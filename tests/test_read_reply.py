import random
import re
import time

import pytest
import yaml

from tests.loopback import recorded
from utils.plan_format import format_plan
from utils.read_reply import STATUSES, read_reply

BLOCK = """\
current_thinking: |-
  Some work.
planning:
  - description: |-
      Conclusion
    status: Pending
next_thought_needed: true
"""
THOUGHT = {
    "current_thinking": "Some work.",
    "planning": [{"description": "Conclusion", "status": "Pending"}],
    "next_thought_needed": True,
}
DRAFT = BLOCK.replace("Some work.", "A draft.")


def with_step(*lines):
    """The block with a step of these lines before the Conclusion."""
    step = "  - " + "\n    ".join(lines) + "\n"
    return BLOCK.replace("planning:\n", "planning:\n" + step)


# What is taken as it is


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(f"```yaml\n{BLOCK}```", id="a yaml fence"),
        pytest.param(f"```yml\n{BLOCK}```", id="a yml tag"),
        pytest.param(f"```YAML\n{BLOCK}```", id="an upper-case tag"),
        pytest.param(f"``` yaml \n{BLOCK}``` \n", id="spaces around the tag"),
        pytest.param(f"```\n{BLOCK}```", id="no tag"),
        pytest.param(f"````yaml\n{BLOCK}````", id="a longer fence"),
        pytest.param(f"```yaml\n{BLOCK}", id="no closing fence"),
        pytest.param(f"```\n{BLOCK}", id="neither tag nor closing fence"),
        pytest.param(BLOCK, id="no fence at all"),
        pytest.param(f"{BLOCK}```\n", id="no opening fence"),
        pytest.param(f"```yaml\n{BLOCK}```".replace("\n", "\r\n"), id="CRLF line ends"),
        pytest.param(f"Here it is:\n\n```yaml\n{BLOCK}```\n\nI hope that helps.", id="words around the block"),
        pytest.param(f"Here: `x`\n```\n{BLOCK}```\nMore.", id="words around a block without tag"),
        pytest.param(f"<think>\n```yaml\n{DRAFT}```\n</think>\n```yaml\n{BLOCK}```", id="a draft in the think part"),
        pytest.param(f"\n <think>Short.</think>\n\n{BLOCK}", id="a think part before no fence"),
        pytest.param(
            f"```yaml\n{DRAFT}```\nNo.\n</think>\n\n```yaml\n{BLOCK}```", id="a think part without its opening"
        ),
        pytest.param(f"Well.\n<think>\n{DRAFT}</think>\n```yaml\n{BLOCK}```", id="words before the think part"),
        pytest.param(f"Draft:\n```yaml\n{DRAFT}```\nFine.</think>\n\n```yaml\n{BLOCK}```", id="its end behind words"),
        pytest.param(f"Well.</think>{BLOCK}", id="a think part without its opening before no fence"),
        pytest.param(f"Here it is.\n\n{BLOCK}", id="words before no fence"),
        pytest.param(f"---\n{BLOCK}", id="a document marker"),
        pytest.param(BLOCK.replace("status: Pending", "status: |\n      Pending"), id="a status with a line end"),
        pytest.param(f"{BLOCK}confidence: 0.9\nthought_number: 7\n", id="keys of its own"),
    ],
)
def test_a_thought_is_found_whatever_stands_around_it(reply):
    assert read_reply(reply) == THOUGHT


@pytest.mark.parametrize(
    "thinking",
    [
        "Colon: \"quotes\", 'more', # no comment, {braces}, - dashes, 100% & *stars*",
        r"$\frac{1}{2} \int_0^1 \theta \, d\theta$",
        "```python\nx = 1\n```\n\n```yaml\nplanning: []\n```",
        "<think>No tag of mine.</think>",
        "甲、乙两地相距 480 千米 🚄",
        "a\ttab",
    ],
)
def test_a_block_literal_needs_no_escaping(thinking):
    indented = "\n".join(f"  {line}" if line else "" for line in thinking.split("\n"))
    reply = "```yaml\n" + BLOCK.replace("  Some work.", indented) + "```"
    assert read_reply(reply)["current_thinking"] == thinking


def test_the_block_goes_on_to_the_last_closing_fence():
    reply = "```yaml\n" + with_value("current_thinking", '"Code:\n\n```\n\nx = 1\n\n```\n"') + "```\n"
    assert read_reply(reply)["current_thinking"] == "Code:\n```\nx = 1\n``` "


@pytest.mark.parametrize("name", ["die", "intervals", "trains"])
def test_recorded_replies_are_read_as_yaml_reads_them(name):
    for reply in recorded(name):
        block = reply.removeprefix("```yaml\n").rstrip().removesuffix("```")
        assert read_reply(reply) == yaml.safe_load(block)


@pytest.mark.parametrize("field", ["result", "mark"])
@pytest.mark.parametrize(
    "value, text",
    [
        ("42", "42"),
        ("0", "0"),
        ("0.50", "0.50"),
        ("1_000", "1_000"),
        ("010", "010"),
        ("12:30", "12:30"),
        ("2026-02-30", "2026-02-30"),
        ("9" * 5000, "9" * 5000),
        ("null", None),
        ("", None),
        ("''", None),
        ("|-\n      x", "x"),
    ],
    ids=lambda value: str(value)[:10],
)
def test_an_optional_text_can_be_a_number_or_null(field, value, text):
    step = read_reply(with_step("description: Solve", "status: Done", f"{field}: {value}"))["planning"][0]
    assert step.get(field) == text


@pytest.mark.parametrize("value", ["null", "[]", ""])
def test_sub_steps_can_be_none(value):
    step = read_reply(with_step("description: Solve", "status: Done", f"sub_steps: {value}"))["planning"][0]
    assert step == {"description": "Solve", "status": "Done"}


# What is rejected, and what the reason says


def nested_plan(levels):
    lines = []
    for level in range(levels):
        indent = "    " * level
        lines += [f"{indent}  - description: x", f"{indent}    status: Pending", f"{indent}    sub_steps:"]
    return "current_thinking: x\nplanning:\n" + "\n".join(lines) + " []\nnext_thought_needed: true"


def without(key):
    fields = yaml.safe_load(BLOCK)
    del fields[key]
    return yaml.safe_dump(fields)


def with_value(key, value):
    return f"{without(key)}{key}: {value}\n"


REJECTED = [
    pytest.param("I cannot do that.", "no YAML mapping", id="prose"),
    pytest.param("```yaml\n- a\n- list\n```", "no YAML mapping", id="a list"),
    pytest.param("", "no YAML mapping", id="nothing"),
    pytest.param("```yaml\n```", "no YAML mapping", id="an empty block"),
    pytest.param(f"<think>\n```yaml\n{BLOCK}```", "no YAML mapping", id="a think part that does not end"),
    pytest.param("current_thinking: a: b", "not valid YAML (mapping values", id="a bare colon"),
    pytest.param('current_thinking: "$\\int$"', "not valid YAML", id="an unknown escape"),
    pytest.param("current_thinking: \x1b[31m", "not valid YAML", id="a bare control character"),
    pytest.param(with_value("current_thinking", "2026-02-30"), "not a text", id="a date for thinking"),
    pytest.param(without("current_thinking"), "current_thinking is missing", id="no thinking"),
    pytest.param(without("planning"), "planning is missing", id="no plan"),
    pytest.param(without("next_thought_needed"), "next_thought_needed is missing", id="no flag"),
    pytest.param(
        with_value("current_thinking", "42"), "current_thinking is blank or not a text", id="a number for thinking"
    ),
    pytest.param(
        with_value("current_thinking", "[a]"), "current_thinking is blank or not a text", id="a list for thinking"
    ),
    pytest.param(
        with_value("current_thinking", "null"), "current_thinking is blank or not a text", id="null for thinking"
    ),
    pytest.param(with_value("current_thinking", '" \\n "'), "current_thinking is blank", id="blank thinking"),
    pytest.param(with_value("planning", "Conclusion"), "planning is not a list", id="a text for the plan"),
    pytest.param(with_value("planning", "null"), "planning is not a list", id="null for the plan"),
    pytest.param(with_value("planning", "[]"), "planning is empty", id="an empty plan"),
    pytest.param(
        with_value("next_thought_needed", '"false"'), "next_thought_needed is 'false'", id="a text for the flag"
    ),
    pytest.param(with_value("next_thought_needed", "0"), "next_thought_needed is '0'", id="a number for the flag"),
    pytest.param(with_value("planning", "[Conclusion]"), "a step of the plan is 'Conclusion'", id="a text for a step"),
    pytest.param(with_step("status: Done"), "no description", id="a step without description"),
    pytest.param(with_step("description: ' '", "status: Done"), "no description", id="a blank description"),
    pytest.param(
        with_step("description: [a]", "status: Done"), "description of a step is not a text", id="a list for one"
    ),
    pytest.param(with_step("description: Solve"), "the step 'Solve' has the status ''", id="no status"),
    pytest.param(
        with_step("description: Solve", "status: [Done]"),
        "status of the step 'Solve' is not a text",
        id="a list for a status",
    ),
    pytest.param(with_step("description: Solve", "status: done"), "'Solve' has the status 'done'", id="lower case"),
    pytest.param(
        with_step("description: A", "status: Pending", "sub_steps:", "- description: B", "  status: Started"),
        "the step 'B' has the status 'Started'",
        id="an unknown status further down",
    ),
    pytest.param(
        with_step("description: A", "status: Done", "sub_steps: B"),
        "sub_steps of the step 'A' is not a list",
        id="sub-steps",
    ),
    pytest.param(
        with_step("description: A", "status: Done", "result: [1]"),
        "result of the step 'A' is not a text",
        id="a list result",
    ),
    pytest.param(with_step("description: A", "status: Done", "result: yes"), "not a text", id="a boolean result"),
    pytest.param(
        with_value("current_thinking", '"$\\frac{1}{2}$"'),
        "current_thinking has the control character '\\x0c'",
        id="\\f",
    ),
    pytest.param(with_value("current_thinking", '"\\e[31m"'), "control character '\\x1b'", id="an escape sequence"),
    pytest.param(with_value("current_thinking", '"$\\Lambda$"'), "control character '\\u2028'", id="\\L"),
    pytest.param(with_value("current_thinking", '"\\ud83d"'), "control character '\\ud83d'", id="half a character"),
    pytest.param(
        with_step("description: A", "status: Done", 'result: "\\beta"'),
        "result of the step 'A' has the control",
        id="\\b",
    ),
    pytest.param(
        with_value("planning", "&p\n  - description: A\n    status: Pending\n    sub_steps: *p"),
        "alias",
        id="a plan in itself",
    ),
    pytest.param(with_value("current_thinking", '!!bool "maybe"'), "tag", id="a tag"),
    pytest.param(with_value("current_thinking", "!%0a x"), "tag", id="a tag with a line end"),
    pytest.param(with_value("current_thinking", '"\\U00110000"'), "not valid YAML", id="beyond Unicode"),
    pytest.param(with_value("current_thinking", '"\\UFFFFFFFF"'), "not valid YAML", id="far beyond Unicode"),
    pytest.param(with_value("next_thought_needed", "0x" + "f" * 5000), "next_thought_needed is", id="a huge flag"),
    pytest.param(nested_plan(400), "too deep", id="400 levels"),
    pytest.param(f"{BLOCK}---\n{BLOCK}", "not valid YAML", id="two documents"),
]


@pytest.mark.parametrize("reply, reason", REJECTED)
def test_a_rejection_says_what_to_mend(reply, reason):
    with pytest.raises(AssertionError, match=re.escape(reason)):
        read_reply(reply)


@pytest.mark.parametrize("reply, reason", REJECTED)
def test_a_reason_is_one_line_that_can_be_sent(reply, reason):
    with pytest.raises(AssertionError) as rejection:
        read_reply(reply)
    assert str(rejection.value).isprintable()
    assert len(str(rejection.value)) < 400


def test_a_plan_of_many_levels_is_read():
    planning = read_reply(nested_plan(50))["planning"]
    assert format_plan(planning).count("[Pending]") == 50


# Anything else


def cut(reply, rng):
    start, end = sorted(rng.choices(range(len(reply) + 1), k=2))
    return reply[:start] if rng.random() < 0.5 else reply[:start] + reply[end:]


def double(reply, rng):
    lines = reply.split("\n")
    start, end = sorted(rng.choices(range(len(lines) + 1), k=2))
    return "\n".join(lines[:end] + lines[start:])


def reindent(reply, rng):
    lines = reply.split("\n")
    for number in rng.choices(range(len(lines)), k=rng.randint(1, 5)):
        lines[number] = " " * rng.randint(0, 6) + lines[number].lstrip(" ")
    return "\n".join(lines)


def requote(reply, rng):
    quote = rng.choice(["'", '"', ""])
    return re.sub(r"\|-\n\s+(.*)", lambda found: rng.choice([f"{quote}{found[1]}{quote}", found[0]]), reply)


def swap_lines(reply, rng):
    lines = reply.split("\n")
    one, other = rng.choices(range(len(lines)), k=2)
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def move_a_fence(reply, rng):
    lines = [line for line in reply.split("\n") if rng.random() < 0.5 or not line.startswith("```")]
    lines.insert(
        rng.randint(0, len(lines)), rng.choice(["```", "```yaml", "  ```", "```python", "<think>", "</think>"])
    )
    return "\n".join(lines)


def swap_characters(reply, rng):
    place = rng.randrange(len(reply) or 1)
    return reply[:place] + rng.choice("\x00\x1b\x85\ud800&*!|>%@`'\"\\{}[]:#-?,\t\r\n0 ") + reply[place + 1 :]


MUTATIONS = [cut, double, reindent, requote, swap_lines, move_a_fence, swap_characters]


def is_plan(plan):
    return isinstance(plan, list) and all(
        step["status"] in STATUSES
        and all(isinstance(step[field], str) and step[field] for field in step if field != "sub_steps")
        and is_plan(step.get("sub_steps", []))
        for step in plan
    )


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutated_reply_is_a_thought_or_a_rejection(mutation):
    rng = random.Random(mutation.__name__)
    replies = recorded("die") + recorded("intervals") + recorded("trains")
    taken = rejected = 0
    for _ in range(500):
        reply = mutation(rng.choice(replies), rng)
        if rng.random() < 0.3:
            reply = rng.choice(MUTATIONS)(reply, rng)
        start = time.perf_counter()
        try:
            thought = read_reply(reply)
        except AssertionError as reason:
            assert str(reason)
            rejected += 1
        else:
            assert set(thought) == set(THOUGHT)
            assert isinstance(thought["current_thinking"], str) and isinstance(thought["next_thought_needed"], bool)
            assert thought["planning"] and is_plan(thought["planning"])
            taken += 1
        assert time.perf_counter() - start < 1
    assert taken and rejected
