"""What is taken as a thought, and what is rejected with which reason."""

import contextlib
import re
import time

import pytest
import yaml

from tests.loopback import literal, recorded, reply
from utils.errors import NotAThought
from utils.read_reply import read_reply

BLOCK = reply("Some work.", ["[Pending] Conclusion"]).removeprefix("```yaml\n").removesuffix("```\n")
PLAN = [{"description": "Conclusion", "status": "Pending"}]
THOUGHT = {"current_thinking": "Some work.", "planning": PLAN, "next_thought_needed": True}
FENCED = f"```yaml\n{BLOCK}```"
DRAFT = FENCED.replace("Some work.", "A draft.")
INDENTED = "".join(f"  {line}\n" for line in BLOCK.splitlines())


@pytest.mark.parametrize("text", [
    pytest.param(FENCED, id="a fence"),
    pytest.param(f"```\n{BLOCK}```", id="no tag"),
    pytest.param(f"````yaml\n{BLOCK}````", id="a longer fence"),
    pytest.param(f"```yaml\n{BLOCK}", id="no closing fence"),
    pytest.param(f"```yaml\n{BLOCK.rstrip()}```", id="a closing fence glued to the last line"),
    pytest.param(f"{BLOCK}```\n", id="no opening fence"),
    pytest.param(BLOCK, id="no fence at all"),
    pytest.param(f"```yaml\n{INDENTED}```", id="indented in its fence"),
    pytest.param(INDENTED, id="indented as a whole"),
    pytest.param(FENCED.replace("\n", "\r\n"), id="CRLF line ends"),
    pytest.param(f"Here: `x`\n\n{FENCED}\n\nI hope that helps.", id="words around the block"),
    pytest.param(f"```python\nx = 1\n```\n{FENCED}\n```\ny = 2\n```", id="code blocks around the block"),
    pytest.param(f"{DRAFT}\nNo, better:\n{FENCED}", id="a draft before"),
    pytest.param(f"<think>\n{DRAFT}\n</think>\n{FENCED}", id="a draft in the think part"),
    pytest.param(f" <think>{DRAFT}</think>\n\n{BLOCK}", id="a think part and no fence"),
    pytest.param(f"{DRAFT}\nFine.</think>\n\n{FENCED}", id="a think part without its opening"),
    pytest.param(f"<thinking>\n{DRAFT}\n</thinking>\n{BLOCK}", id="a thinking part"),
    pytest.param(f"<reasoning>\n</think>\n{DRAFT}\n</reasoning>  \n{BLOCK}", id="a reasoning part"),
    pytest.param(BLOCK.replace("true", "TRUE"), id="a flag in capitals"),
    pytest.param(f"{BLOCK}confidence: 0.9\nmeta:\n  a: b\n", id="keys of its own"),
    pytest.param(BLOCK.replace("Pending", "Pending\n    sub_steps:\n    result: ~\n    mark: ''"), id="nothing given"),
    pytest.param(f"{BLOCK}solution: ~\nsolution_changes: []\n", id="no solution given"),
])
def test_a_thought_is_found_whatever_stands_around_it(text):
    assert read_reply(text) == THOUGHT


@pytest.mark.parametrize("code, ending", [
    *[("Run:\n\n```python\nx = 1\n```", ending) for ending in ("```", "", "  ```", "\n")], ("```python\n1\n`x`", "")
])
def test_a_code_block_at_the_end_of_the_solution_keeps_its_fence(code, ending):
    unclosed = "\n".join(["```yaml", BLOCK.rstrip(), *literal("solution", code)])
    assert read_reply(f"{unclosed}\n{ending}")["solution"] == code


def test_a_reply_without_a_fence_may_begin_with_its_solution():
    assert read_reply(f"Here:\n\nsolution: x\n{BLOCK}") == {**THOUGHT, "solution": "x"}


@pytest.mark.parametrize("text", [
    "Colon: \"quotes\", 'more', # no comment, {braces}, - dashes, 100% & *stars* !A",
    r"$\frac{1}{2} \int_0^1 \theta \, d\theta$",
    "```python\nx = 1\n```\n\n```yaml\ncurrent_thinking: x\n```",
    "<think>No tag of mine.</think>",
    "甲、乙两地相距 480 千米 🚄, שלום,\tnull \ufeffmark",
])
def test_a_block_literal_needs_no_escaping(text):
    thought = read_reply(reply(text, solution=text, Solve=text))
    assert (thought["current_thinking"], thought["solution"], thought["planning"][0]["result"]) == (text, text, text)


@pytest.mark.parametrize("name", ["die", "die-2", "intervals", "trains", "trains-2", "machine-3", "readme-3"])
def test_recorded_replies_are_read_as_yaml_reads_them(name):
    solution = None
    for text in recorded(name):
        thought = read_reply(text, solution)
        assert thought == yaml.safe_load(text.removeprefix("```yaml\n").rstrip().removesuffix("```"))
        solution = thought.get("solution", solution)


def with_step(*lines):
    """The block with a step of these lines before the Conclusion."""
    return BLOCK.replace("planning:\n", "planning:\n  - " + "\n    ".join(lines) + "\n")


@pytest.mark.parametrize("value", ["42", "0.50", "1_000", "010", "12:30", "2026-02-30", "No", "=", "C#", "9" * 5000])
def test_a_plain_value_is_the_text_that_was_written(value):
    step = read_reply(with_step("description: Solve", "status: Done", f"result: {value}"))["planning"][0]
    assert step["result"] == value


def with_value(key, value):
    plan = "[{description: Conclusion, status: Pending}]"
    fields = {"current_thinking": "x", "planning": plan, "next_thought_needed": "true"}
    return "".join(f"{name}: {text}\n" for name, text in {**fields, key: value}.items() if text is not None)


@pytest.mark.parametrize("text, reason", [
    ("", "it is empty"),
    ("I cannot do that: sorry.", "it has no YAML block"),
    ("```yaml\n- a\n- list\n```", "it has no YAML block"),
    ('{"current_thinking": "x"}', "it is JSON, not YAML"),
    ('```json\n{\n  "current_thinking": "x"\n}\n```', "it is JSON, not YAML"),
    (f"<think>\n{FENCED}", "it opens a think part and never closes it"),
    ("current_thinking: a: b", "it is not valid YAML (mapping values"),
    ('current_thinking: "\\UFFFFFFFF"', "it is not valid YAML"),
    (with_value("current_thinking", "null"), "current_thinking is missing"),
    (with_value("current_thinking", "[a]"), "current_thinking is not a text"),
    (with_value("current_thinking", '" \\n "'), "current_thinking is missing or blank"),
    (with_value("planning", None), "planning is missing"),
    (with_value("planning", "Conclusion"), "planning is not a list"),
    (with_value("planning", "{}"), "planning is missing"),
    (with_value("next_thought_needed", "maybe"), "next_thought_needed is 'maybe', neither true nor false"),
    (with_value("next_thought_needed", "false"), "the step 'Conclusion' is not Done"),
    (with_value("planning", "[Conclusion]"), "planning is not a list of mappings"),
    (with_value("planning", "[{description: Solve, status: Done}]"), "the last step of the plan is not the Conclusion"),
    (with_step("description: ' '", "status: Done"), "a step has no description"),
    (with_step("description: Solve"), "the status of the step 'Solve' is ''"),
    (with_step("description: Solve", "status: done"), "the status of the step 'Solve' is 'done', not Pending, Done or"),
    (with_step("description: Solve", "status: [Done]"), "status of the step 'Solve' is not a text"),
    (with_step("description: A", "status: Done", "sub_steps: [{description: B, status: C}]"), "of the step 'B' is 'C'"),
    (with_step("description: A", "status: Done", "substeps: [B]"), "'substeps' of the step 'A' does not belong"),
    (with_step("description: A", "status: Done", "result: [1]"), "result of the step 'A' is not a text"),
    (with_step("description: A", "status: Done", 'mark: "\\beta"'), "mark of the step 'A' has the control"),
    (with_value("current_thinking", '"$\\frac{1}{2}$"'), "current_thinking has the control character '\\x0c'"),
    (with_value("current_thinking", '"$\\Lambda$"'), "control character '\\u2028'"),
    (with_value("current_thinking", "abc \u202e cba"), "control character '\\u202e'"),
    (with_value("current_thinking", '"$\\theta$"'), "YAML would make a tab of the \\t in"),
    (with_value("planning", "[{sub_steps: " * 400 + "}]" * 400), "too deep"),
    (with_step("description: A", "status: Done", "result: option  #3"), "would ignore the comment '#3'"),
    (with_step("description: A", "status: Done", "result: |- # B", "  C"), "would ignore the comment '# B'"),
    (BLOCK.replace("  Some", "  Some\n# A heading\n  Some"), "would ignore the comment '# A heading'"),
    (with_step("description: A", "status: Done", "result: !A or B"), "would take '!A' for a tag, an anchor"),
    (with_value("planning", "&p [{description: A, status: Pending, sub_steps: *p}]"), "would take '&p' for a tag"),
    (BLOCK.replace("|-\n  Some", ">-\n  x = 1\n  Some"), "YAML would join the lines of"),
    (BLOCK.replace("|-\n  Some work.", "x = 1\n  y = 2"), "YAML would join the lines of 'x = 1 y = 2'"),
    (BLOCK.replace("next", "current_thinking: x\nnext"), "the key 'current_thinking' is given twice"),
    (BLOCK.replace("  Some", "      Some\n  more"), "is indented less than the first line: write |2-"),
    (f"{BLOCK}solution: x\nsolution_changes:\n  - new: y\n", "both solution and solution_changes"),
    (f"{BLOCK}solution_change:\n  - new: x\n", "the key 'solution_change' does not belong there"),
    (f"{BLOCK}solution_changes:\n  - old: x\n", "a change of the solution needs `new`"),
    (f"{BLOCK}solution_changes:\n  - old: ''\n    new: x\n", "unless it adds to the end, `old`"),
    (with_step("description: A", "status: Done", "solution: x"), "'solution' of the step 'A' does not belong"),
    (f"{FENCED}\n\n```yaml\nsolution_changes:\n  - new: x\n```", "its solution is in a block of its own"),
])
def test_a_rejection_says_what_is_wrong_on_one_line(text, reason):
    with pytest.raises(NotAThought, match=re.escape(reason)) as rejection:
        read_reply(text)
    assert str(rejection.value).isprintable() and len(str(rejection.value)) < 400


def test_a_rejection_names_the_first_faults_and_how_many_more_there_are():
    plan = [f"[Started] Step {number}" for number in range(30)]
    with pytest.raises(NotAThought, match="'Step 0' is 'Started'.*'Step 1'.*'Step 2'.*and 28 more") as rejection:
        read_reply(reply(plan=plan).replace("next_thought_needed: true", "next_thought_needed: maybe"))
    assert len(str(rejection.value)) < 400


@pytest.mark.parametrize("name", ["die", "intervals", "machine-3"])
def test_a_reply_cut_anywhere_is_a_thought_or_a_rejection(name):
    for text, end in ((text, end) for text in recorded(name) for end in range(0, len(text), 61)):
        for part in (text[:end], text[end:], text[:end] + text[end + 40 :]):
            try:
                assert read_reply(part, "x")["planning"]
            except NotAThought as reason:
                assert str(reason).isprintable()


@pytest.mark.parametrize("filler", ["\n", " ", "`", "#", "\n```", "</think", "<think>x", "- "])
def test_a_reply_full_of_one_thing_takes_no_time(filler):
    start = time.process_time()
    for text in (FENCED + filler * 50_000, filler * 50_000 + FENCED, reply("x" + filler * 50_000)):
        with contextlib.suppress(NotAThought):
            read_reply(text)
    assert time.process_time() - start < 5
