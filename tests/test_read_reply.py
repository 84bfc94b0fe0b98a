"""What is taken as a thought, and what is rejected with which reason."""

import contextlib
import pathlib
import re
import time

import pytest

from tests.loopback import list_item, literal, recorded, reply
from utils.errors import InvalidThought
from utils.read_reply import read_reply

BLOCK = reply("Some work.", ["[Pending] Conclusion"]).removeprefix("```yaml\n").removesuffix("```\n")
PLAN = [{"description": "Conclusion", "status": "Pending"}]
THOUGHT = {"thought_number": 1, "current_thinking": "Some work.", "planning": PLAN, "next_thought_needed": True}
FENCED = f"```yaml\n{BLOCK}```"
CUT = f"{BLOCK}solution: |-\n  Run this:"
END = reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False)
DRAFT = FENCED.replace("Some work.", "A draft.")
INDENTED = "".join(f"  {line}\n" for line in BLOCK.splitlines())


@pytest.mark.parametrize("text", [
    pytest.param(f"````\n{BLOCK}````", id="a longer fence without a tag"),
    pytest.param(f"```yaml\n{BLOCK}", id="no closing fence"),
    pytest.param(f"```yaml\n{BLOCK.rstrip()}```", id="a closing fence glued to the last line"),
    pytest.param(f"{BLOCK}```\n", id="no opening fence"),
    pytest.param(BLOCK, id="no fence at all"),
    pytest.param(f"```yaml\n{INDENTED}```", id="indented in its fence"),
    pytest.param(INDENTED, id="indented as a whole"),
    pytest.param(FENCED.replace("\n", "\r\n"), id="CRLF line ends"),
    pytest.param(f"Here: `x`\n\n{FENCED}\n\nI hope that helps.", id="words around the block"),
    pytest.param(f"```python\nx = 1\n```\n{FENCED}\n```python\ny = 2\n```", id="code blocks around the block"),
    pytest.param(f"```\nx = 1\n```\n{BLOCK}", id="a code block before and no fence"),
    pytest.param(f"```yaml\n---\n{BLOCK}---\n```", id="document marks in the fence"),
    pytest.param(f"---\n{BLOCK}---\n", id="document marks and no fence"),
    pytest.param(f"{DRAFT}\nNo, better:\n{FENCED}", id="a draft before"),
    pytest.param(f" <think>{DRAFT}</think>\n\n{BLOCK}", id="a think part and no fence"),
    pytest.param(f"{DRAFT}\nFine.</think>\n\n{FENCED}", id="a think part without its opening"),
    pytest.param(f"<reasoning>\n</think>\n{DRAFT}\n</reasoning>  \n{BLOCK}", id="a reasoning part"),
    pytest.param(f"<thinking>\n{DRAFT}\n</thinking> So:\n{FENCED}", id="a closing tag with text after it"),
    pytest.param(f"<think>\n{DRAFT}\n</think>{FENCED}", id="a closing tag with the fence after it"),
    pytest.param(f"{BLOCK}thought_number: 7".replace("true", "TRUE").replace("Pending", "'PENDING'"), id="odd values"),
    pytest.param(BLOCK.replace("Pending", "Pending\n    sub_steps:\n    result: ~\n    mark: ''"), id="nothing given"),
    pytest.param(f"{BLOCK}solution: None\nsolution_changes: []\n", id="no solution given"),
])
def test_a_thought_is_found_whatever_is_around_it(text):
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
    r"Colon: \"quotes\", 'more', # no comment, {braces}, - dashes, 100% & *stars* !A, $\frac{1}{2} \int_0^1 \theta$",
    "```python\nx = 1\n```\n\n```yaml\ncurrent_thinking: x\n```",
    "<think>No tag of mine.</think>",
    "甲、乙两地相距 480 千米 🚄, שלום,\tnull \ufeffmark",
])
def test_a_block_literal_needs_no_escaping(text):
    thought = read_reply(reply(text, solution=text, Solve=text))
    assert (thought["current_thinking"], thought["solution"], thought["planning"][0]["result"]) == (text, text, text)


def with_step(*lines):
    """The block with a step of these lines before the Conclusion."""
    return BLOCK.replace("planning:\n", "planning:\n  - " + "\n    ".join(lines) + "\n")


@pytest.mark.parametrize("written, value", [
    *[(text, text) for text in ("42", "0.50", "1_000", "010", "12:30", "2026-02-30", "No", "=", "C#", "9" * 5000)],
    (r'"a\\b \"c\" \/\n\x41\u00e9\U0001F600"', 'a\\b "c" /\nAé😀'),  # the escapes of a saved run
])
def test_a_value_is_the_text_that_was_written(written, value):
    step = read_reply(with_step("description: Solve", "status: Done", f"result: {written}"))["planning"][0]
    assert step["result"] == value


def with_value(key, value):
    plan = "[{description: Conclusion, status: Pending}]"
    fields = {"current_thinking": "x", "planning": plan, "next_thought_needed": "true"}
    return "".join(f"{name}: {text}\n" for name, text in {**fields, key: value}.items() if text is not None)


@pytest.mark.parametrize("text, reason", [
    *[(text, "it has no YAML block") for text in ("I cannot do that: sorry.", "```yaml\n- a\n- list\n```")],
    *[(text, "it is JSON, not YAML") for text in ('{"planning": []}', '```json\n{\n  "planning": []\n}\n```')],
    (f"<think>\n{FENCED}", "it opens a think part and never closes it"),
    ("current_thinking: a: b", "it is not valid YAML (mapping values"),
    ('current_thinking: "\\UFFFFFFFF"', "it is not valid YAML"),
    (with_value("current_thinking", "[a]"), "current_thinking is not a text"),
    (with_value("next_thought_needed", "false"), "the step 'Conclusion' is not Done"),
    *[(with_value("current_thinking", value), "current_thinking is missing") for value in ("null", '" \\n "')],
    *[(with_value("planning", value), "planning is missing") for value in (None, "{}")],
    *[(with_value("planning", value), "planning is not a list of mappings") for value in ("A", "[A]")],
    (with_value("next_thought_needed", "maybe"), "next_thought_needed is 'maybe', neither true nor false"),
    (with_step("description: ' '", "status: Done"), "a step has no description"),
    (with_step("description: Solve", "status: finished"), "the status of the step 'Solve' is 'finished', not Pending"),
    (with_step("description: A", "status: Done", "sub_steps: [{description: B, status: C}]"), "of the step 'B' is 'C'"),
    (with_step("description: A", "status: Done", "substeps: [B]"), "the key 'substeps' of the step 'A'"),
    (with_step("description: A", "status: Done", "result: [1]"), "result of the step 'A' is not a text"),
    (with_step("description: A", "status: Done", 'mark: "\\x08"'), "mark of the step 'A' has the control"),
    (with_value("current_thinking", "abc \u202e cba"), "control character '\\u202e'"),
    (f"{BLOCK}solution: a\x07", "line 8: it has the character 0x7: leave it out"),
    *[(with_value("current_thinking", f'"$\\{letter}i$"'), f"the \\{letter} in") for letter in "0abefrtvLNP_ "],
    (with_value("planning", "[{sub_steps: " * 400 + "}]" * 400), "too deep"),
    (with_step("description: A", "status: Done", "result: option  #3"), "the comment '#3'"),
    (with_step("description: A", "status: Done", "result: |- # B", "  C"), "the comment '# B'"),
    (BLOCK.replace("  Some", "  Some\n# A heading\n  Some"), "the comment '# A heading'"),
    (with_step("description: A", "status: Done", "result: !A or B"), "'!A' for a tag"),
    (with_value("planning", "&p [{description: A, status: Pending, sub_steps: *p}]"), "'&p' for a tag"),
    (BLOCK.replace("|-\n  Some", ">-\n  x = 1\n  Some"), "join the lines of"),
    (BLOCK.replace("|-\n  Some work.", "x = 1\n  y = 2"), "join the lines of 'x = 1 y = 2'"),
    (BLOCK.replace("next", "current_thinking: x\nnext"), "the key 'current_thinking' is given twice"),
    (BLOCK.replace("  Some", "      Some\n  more"), "indented less than the first line: write |2-"),
    (f"{BLOCK}solution: x\nsolution_changes:\n  - new: y\n", "both solution and solution_changes"),
    *[(f"{BLOCK}{key}: x\n", f"the key '{key}'") for key in ("Solution", "final_solution", "cost", "tags")],
    (f"{BLOCK}solution_change:\n  new: x\n", "the key 'solution_change'"),
    (f"{BLOCK}solution: |-\n  x = 1\nNote: only if x > 0.\n", "the key 'Note'"),
    (f"{BLOCK}solution_changes:\n  - new: x\n    Old: y\n", "the key 'Old'"),
    (f"{BLOCK}solution_changes:\n  - old: x\n", "a change of the solution needs `new`"),
    (f"{BLOCK}solution_changes:\n  - old: ''\n    new: x\n", "unless it adds to the end, `old`"),
    *[(f"```yaml\n{CUT}\n```{tag}\nls\n```\n```", "a code fence is not indented") for tag in ("", "sh")],
    *[(f"{CUT}\n```{tag}\nls\n```\n", "a code fence is not indented") for tag in ("", "sh")],
    (FENCED.replace("work.", "work:\n```\nx = 1\n```"), "a code fence is not indented"),
    (f"Here:\n\n```yaml\n{BLOCK}solution: a: b\n```", "line 8: it is not valid YAML"),
    (f"{FENCED}\n\n```yaml\nsolution_changes:\n  - new: x\n```", "its solution is in a block of its own"),
    (f"```yaml\n{BLOCK}solution: x\n```\n{FENCED}", "its solution is in a block of its own"),
])
def test_a_rejection_says_what_is_wrong_on_one_line(text, reason):
    with pytest.raises(InvalidThought, match=re.escape(reason)) as rejection:
        read_reply(text)
    assert str(rejection.value).isprintable() and len(str(rejection.value)) < 400


def test_a_rejection_names_the_first_faults_and_how_many_more_there_are():
    plan = [f"[Started] Step {number}" for number in range(30)]
    with pytest.raises(InvalidThought, match="'Step 0' is 'Started'.*'Step 1'.*'Step 2'.*and 28 more") as rejection:
        read_reply(reply(plan=plan).replace("next_thought_needed: true", "next_thought_needed: maybe"))
    assert len(str(rejection.value)) < 400


@pytest.mark.parametrize("name", ["die", "machine-3"])
def test_a_reply_cut_anywhere_is_a_thought_or_a_rejection(name):
    for text, end in ((text, end) for text in recorded(name) for end in range(0, len(text), 151)):
        for part in (text[:end], text[end:], text[:end] + text[end + 40 :]):
            try:
                assert read_reply(part, solution="x")["planning"]
            except InvalidThought as reason:
                assert str(reason).isprintable()


@pytest.mark.parametrize("filler", ["\n", " ", "`", "#", "\n```", "</think", "<think>x", "- "])
def test_a_reply_full_of_one_thing_takes_no_time(filler):
    start = time.process_time()
    for text in (FENCED + filler * 50_000, filler * 50_000 + FENCED, reply("x" + filler * 50_000)):
        with contextlib.suppress(InvalidThought):
            read_reply(text)
    assert time.process_time() - start < 5


def saved_run(*replies):
    thoughts = ["\n".join(list_item(text.split("\n")[1:-2])) for text in replies]
    pathlib.Path("run.yaml").write_text("\n".join(["problem: x", "thoughts:", *thoughts, ""]))
    return "run.yaml"


LINES = [f"Line {number}: one, two, three and four." for number in range(50)]
FIVE = [(f"Line {number}:", f"Line {number}:") for number in range(1, 50, 10)]


@pytest.mark.parametrize("make_run", [
    pytest.param(lambda size: [reply(solution="\n".join(LINES)), *[reply(changes=FIVE)] * size, END], id="changes"),
    pytest.param(lambda size: [reply(), END.replace("Some", "-\n  " * 100 * size)], id="lines of dashes"),
])
def test_reading_a_run_takes_time_in_proportion_to_its_length(run, make_run):
    seconds = []
    for size in (50, 200):
        path, start = saved_run(*make_run(size)), time.process_time()
        assert run("--quiet", "--resume", path).status == 0
        seconds.append(time.process_time() - start)
    assert seconds[1] < 8 * seconds[0]
