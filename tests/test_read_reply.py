"""What is taken as a thought, and what is rejected with which reason."""

import re

import pytest
import yaml

from tests.loopback import recorded, reply
from utils.plan_format import format_plan
from utils.read_reply import read_reply

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
FENCED = f"```yaml\n{BLOCK}```"
DRAFT = FENCED.replace("Some work.", "A draft.")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FENCED, id="a fence"),
        pytest.param(f"``` YML \n{BLOCK}``` \n", id="another tag"),
        pytest.param(f"```\n{BLOCK}```", id="no tag"),
        pytest.param(f"````yaml\n{BLOCK}````", id="a longer fence"),
        pytest.param(f"```yaml\n{BLOCK}", id="no closing fence"),
        pytest.param(f"```yaml\n{BLOCK}  ```\n", id="an indented closing fence"),
        pytest.param(f"```yaml\n{BLOCK.rstrip()}```", id="a closing fence glued to the last line"),
        pytest.param(f"{BLOCK}```\n", id="no opening fence"),
        pytest.param(BLOCK, id="no fence at all"),
        pytest.param(f"Here it is.\n\n{BLOCK}", id="words and no fence"),
        pytest.param(FENCED.replace("\n", "\r\n"), id="CRLF line ends"),
        pytest.param(f"Here: `x`\n\n{FENCED}\n\nI hope that helps.", id="words around the block"),
        pytest.param(f"```python\nx = 1\n```\n{FENCED}\n```\ny = 2\n```", id="code blocks around the block"),
        pytest.param(f"{DRAFT}\nNo, better:\n{FENCED}", id="a draft before"),
        pytest.param(f"<think>\n{DRAFT}\n</think>\n{FENCED}", id="a draft in the think part"),
        pytest.param(f" <think>{DRAFT}</think>\n\n{BLOCK}", id="a think part and no fence"),
        pytest.param(f"{DRAFT}\nFine.</think>\n\n{FENCED}", id="a think part without its opening"),
        pytest.param(BLOCK.replace("true", '"True"'), id="a quoted flag"),
        pytest.param(BLOCK.replace("true", "TRUE"), id="a flag in capitals"),
        pytest.param(f"{BLOCK}confidence: 0.9\n", id="a key of its own"),
        pytest.param(BLOCK.replace("Pending", "Pending\n    sub_steps:\n    result: null"), id="nothing given"),
    ],
)
def test_a_thought_is_found_whatever_stands_around_it(text):
    assert read_reply(text) == THOUGHT


@pytest.mark.parametrize(
    "thinking",
    [
        "Colon: \"quotes\", 'more', # no comment, {braces}, - dashes, 100% & *stars*",
        r"$\frac{1}{2} \int_0^1 \theta \, d\theta$",
        "```python\nx = 1\n```\n\n```yaml\ncurrent_thinking: x\n```",
        "<think>No tag of mine.</think>",
        "甲、乙两地相距 480 千米 🚄, שלום, مرحبا",
        "a\ttab",
    ],
)
def test_a_block_literal_needs_no_escaping(thinking):
    assert read_reply(reply(thinking))["current_thinking"] == thinking


@pytest.mark.parametrize("name", ["die", "die-2", "intervals", "trains", "trains-2"])
def test_recorded_replies_are_read_as_yaml_reads_them(name):
    for text in recorded(name):
        assert read_reply(text) == yaml.safe_load(text.removeprefix("```yaml\n").rstrip().removesuffix("```"))


def with_step(*lines):
    """The block with a step of these lines before the Conclusion."""
    return BLOCK.replace("planning:\n", "planning:\n  - " + "\n    ".join(lines) + "\n")


@pytest.mark.parametrize("value", ["42", "0.50", "1_000", "010", "12:30", "2026-02-30", "No", "=", "9" * 5000])
def test_a_plain_value_is_the_text_that_was_written(value):
    step = read_reply(with_step("description: Solve", "status: Done", f"result: {value}"))["planning"][0]
    assert step["result"] == value


def with_value(key, value):
    fields = {"current_thinking": "x", "planning": "[{description: A, status: Pending}]", "next_thought_needed": "true"}
    return "".join(f"{name}: {text}\n" for name, text in {**fields, key: value}.items() if text is not None)


def nested_plan(levels):
    lines = ["  " * 2 * n + f"  - description: x\n{'    ' * n}    status: Pending\n{'    ' * n}    sub_steps:" for n in range(levels)]
    return "current_thinking: x\nplanning:\n" + "\n".join(lines) + " []\nnext_thought_needed: true"


@pytest.mark.parametrize(
    "text, reason",
    [
        ("I cannot do that: sorry.", "it has no YAML block"),
        ("```yaml\n- a\n- list\n```", "it has no YAML block"),
        ("planning: []", "current_thinking is missing"),
        ("current_thinking: a: b", "it is not valid YAML (mapping values"),
        ('current_thinking: "$\\int$"', "it is not valid YAML"),
        ('current_thinking: "\\UFFFFFFFF"', "it is not valid YAML"),
        ("current_thinking: \x1b[31m", "it is not valid YAML"),
        (f"{FENCED[:-3]}---\n{BLOCK}", "it is not valid YAML"),
        (with_value("current_thinking", None), "current_thinking is missing"),
        (with_value("current_thinking", "null"), "current_thinking is missing"),
        (with_value("current_thinking", "[a]"), "current_thinking is not a text"),
        (with_value("current_thinking", '" \\n "'), "current_thinking is blank"),
        (with_value("planning", None), "planning is missing"),
        (with_value("planning", "Conclusion"), "planning is not a list"),
        (with_value("planning", "[]"), "planning is missing"),
        (with_value("next_thought_needed", None), "next_thought_needed is missing"),
        (with_value("next_thought_needed", "maybe"), "next_thought_needed is 'maybe', neither true nor false"),
        (with_value("next_thought_needed", "false"), "the last step of the plan is not Done"),
        (with_value("planning", "[Conclusion]"), "a step has no description ('Conclusion')"),
        (with_step("status: Done"), "a step has no description"),
        (with_step("description: ' '", "status: Done"), "a step has no description"),
        (with_step("description: Solve"), "the step 'Solve' has the status ''"),
        (with_step("description: Solve", "status: done"), "the step 'Solve' has the status 'done'"),
        (with_step("description: Solve", "status: [Done]"), "the status of the step 'Solve' is not a text"),
        (
            with_step("description: A", "status: Done", "sub_steps: [{description: B, status: Started}]"),
            "the step 'B' has the status 'Started'",
        ),
        (with_step("description: A", "status: Done", "sub_steps: B"), "sub_steps of the step 'A' is not a list"),
        (with_step("description: A", "status: Done", "result: [1]"), "the result of the step 'A' is not a text"),
        (with_step("description: A", "status: Done", 'result: "\\beta"'), "the result of the step 'A' has the control"),
        (with_value("current_thinking", '"$\\frac{1}{2}$"'), "current_thinking has the control character '\\x0c'"),
        (with_value("current_thinking", '"\\e[31m"'), "control character '\\x1b'"),
        (with_value("current_thinking", '"$\\Lambda$"'), "control character '\\u2028'"),
        (with_value("current_thinking", "abc \u202e cba"), "control character '\\u202e'"),
        (with_value("current_thinking", '"$\\theta$"'), "tab in double quotes"),
        (with_value("planning", "&p [{description: A, status: Pending, sub_steps: *p}]"), "alias"),
        (nested_plan(400), "too deep"),
    ],
)
def test_a_rejection_says_what_is_wrong_on_one_line(text, reason):
    with pytest.raises(AssertionError, match=re.escape(reason)) as rejection:
        read_reply(text)
    assert str(rejection.value).isprintable() and len(str(rejection.value)) < 400


def test_a_rejection_names_everything_that_is_wrong_at_once():
    steps = "[{description: A, status: Started}, {status: Done}]"
    with pytest.raises(AssertionError) as rejection:
        read_reply(f"planning: {steps}\ncurrent_thinking: ' '\n")
    for reason in ("current_thinking is blank", "'A' has the status", "no description", "next_thought_needed is missing"):
        assert reason in str(rejection.value)


def test_a_plan_of_many_levels_is_read():
    assert format_plan(read_reply(nested_plan(50))["planning"]).count("[Pending]") == 50


@pytest.mark.parametrize("name", ["die", "intervals", "trains"])
def test_a_reply_cut_anywhere_is_a_thought_or_a_rejection(name):
    for text in recorded(name):
        for end in range(0, len(text), 61):
            for part in (text[:end], text[end:], text[:end] + text[end + 40 :]):
                try:
                    assert set(read_reply(part)) == set(THOUGHT)
                except AssertionError as reason:
                    assert str(reason)
