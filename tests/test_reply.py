"""What is taken as a thought, and what is rejected with which reason."""

import collections
import pathlib
import re
import sys
import time

import pytest

from tests.replies import list_item, recorded, reply
from utils.errors import InvalidThought
from utils.reply import read_reply

BLOCK = """\
current_thinking: |-
  Some work.
planning:
  - description: Conclusion
    status: Pending
next_thought_needed: true
"""
PLAN = [{"description": "Conclusion", "status": "Pending"}]
THOUGHT = {"thought_number": 1, "current_thinking": "Some work.", "planning": PLAN, "next_thought_needed": True}
FENCED = f"```yaml\n{BLOCK}```\n"
DRAFT = FENCED.replace("Some work.", "A draft.")
CUT = f"{BLOCK}solution: |-\n  Run this:\n"


def indented(text):
    return "".join(f"  {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("text", [
    pytest.param(BLOCK, id="no fence at all"),
    pytest.param(f"```yaml\n{BLOCK}", id="no closing fence"),
    pytest.param(f"{BLOCK}````", id="only a closing fence"),
    pytest.param(f"Here is *it*: `x`\n\n{FENCED}\n\nI hope that helps.", id="words around the block"),
    pytest.param(FENCED.replace("\n", "\r\n"), id="CRLF line ends"),
    pytest.param(indented(FENCED), id="indented as a whole"),
    pytest.param(f"<think>{DRAFT}</think>\n\n{indented(BLOCK)}", id="indented but for the think part"),
    pytest.param(f"{DRAFT}\nFine.</thinking> So:\n{BLOCK}", id="a think part without its opening, and words behind"),
    pytest.param(f"<reasoning>\n</think>\n{DRAFT}\n</reasoning>{FENCED}", id="a fence right behind the reasoning"),
    pytest.param(f"{BLOCK}thought_number: 7".replace("true", "'TRUE'").replace("Pending", '"PENDING"'), id="cases"),
    pytest.param(BLOCK.replace("Pending", "Pending\n    sub_steps:\n    result: ~\n    mark: ''"), id="no result"),
    pytest.param(f"{BLOCK}solution: None\nsolution_changes: |-\n  \n", id="no solution"),
])
def test_a_thought_is_found_where_the_rule_says_that_it_is(text):
    assert read_reply(text) == THOUGHT


@pytest.mark.parametrize("end", ["```\n", ""])
@pytest.mark.parametrize("text", [
    r"Colon: \"quotes\", 'more', # no comment, {braces}, - dashes, 100% & *stars* !A, $\frac{1}{2} \int_0^1 \theta$",
    "```python\nx = 1\n```\n\n```yaml\ncurrent_thinking: x\nsolution: y\n```",
    "<think>No tag of mine.</think>\n甲、乙两地相距 480 千米 🚄, שלום,\tnull \ufeffmark",
    "null",
])
def test_a_block_literal_needs_no_escaping(text, end):
    thought = read_reply(reply(text, solution=text, Solve=text).removesuffix("```\n") + end)
    assert (thought["current_thinking"], thought["solution"], thought["planning"][0]["result"]) == (text, text, text)


def with_thinking(value):
    return BLOCK.replace("|-\n  Some work.", value)


def with_plan(value):
    return BLOCK.replace("\n  - description: Conclusion\n    status: Pending", value)


def with_step(*lines):
    """The block with a step of these lines, the first of them line 4, before the Conclusion."""
    return BLOCK.replace("planning:\n", "planning:\n  - " + "\n    ".join(lines) + "\n")


def step_a(line):
    return with_step("description: A", "status: Done", line)


@pytest.mark.parametrize("written, value", [
    *[(text, text) for text in ("42", "0.50", "1_000", "010", "12:30", "2026-02-30", "No", "=", "C#", "9" * 5000)],
    (r"'a \n b ''c'''", r"a \n b 'c'"),
    (r'"a\\b \\nu \"c\" \x41\u00e9\U0001F600"', 'a\\b \\nu "c" Aé😀'),  # the escapes of a saved run
])
def test_a_value_is_the_text_that_was_written(written, value):
    assert read_reply(step_a(f"result: {written}"))["planning"][0]["result"] == value


def check_rejection(text, *parts):
    with pytest.raises(InvalidThought) as rejection:
        read_reply(text)
    reason = str(rejection.value)
    assert reason.isprintable() and len(reason) < 300 and all(part in reason for part in parts), reason


@pytest.mark.parametrize("text, part", [
    *[(text, "current_thinking") for text in ("I cannot: sorry.", "```", "- a\n", '{"current_thinking": "x"}')],
    *[(text, "current_thinking") for text in (DRAFT + FENCED, FENCED * 3, f"{DRAFT[:40]}\nNo:\n{FENCED}", BLOCK * 2)],
    (f"```yaml\n{indented(BLOCK)}```", "current_thinking"),
    *[(f"{FENCED}\nAnd the rest:\n\n```{tag}\nx = 1\n```", "fence") for tag in ("", "python", "yaml")],
    *[(f"{CUT}```{tag}\nls\n```\n{end}", "fence") for tag in ("", "sh") for end in ("", "  It lists.\n", "```\n")],
    *[(f"{CUT}{rest}", "fence") for rest in ("```\n  ls\n", "```sh\nls\n")],
    *[(f"{FENCED}\n{key}: x", key) for key in ("solution", "solution_changes", "planning", "next_thought_needed")],
    *[(f"{before}{FENCED}", "solution") for before in ("solution: x\n", "```yaml\nsolution: |-\n  x\n```\n")],
    *[(f"<{tag}>\n{BLOCK}", "think") for tag in ("think", "thinking", "reasoning")],
])
def test_a_thought_is_looked_for_nowhere_else_so_that_nothing_of_it_can_be_lost(text, part):
    check_rejection(text, part)


@pytest.mark.parametrize("text, parts", [
    (f"Here:\n\n```yaml\n{BLOCK}solution: a: b\n```", ["line 7:"]),
    (BLOCK.replace("Conclusion", '"Conclusion'), ["line 4:"]),  # where the text begins
    (with_thinking("|-\n      Some\n  more"), ["line 3:"]),
    *[(text, []) for text in ("", " \n\n", "current_thinking:x", with_thinking(r'"\UFFFFFFFF"'), f"{BLOCK}...\na: b")],
    *[(with_plan(plan), []) for plan in (" " + "[{sub_steps: " * 400 + "}]" * 400, " [{{a: b}: c}]", " [A]", " [[]]")],
    *[(with_thinking(value), ["current_thinking"]) for value in ("~", "|-\n", "'  '", "[a]")],
    *[(with_plan(value), ["planning"]) for value in (" null", " {}", " A", " []")],
    *[(BLOCK.replace("true", value), ["next_thought_needed"]) for value in ("", "maybe")],
    (with_step("description: ' '", "status: Done"), ["description"]),
    (with_step("description: A", "status: finished"), ["'A'", "'finished'", "Verification Needed"]),
    (step_a("sub_steps: [{description: B, status: C}]"), ["'B'", "'C'"]),
    *[(step_a(f"{key}: {value}"), ["'A'", key]) for key, value in (
        ("sub_steps", "B"), ("substeps", "[B]"), ("result", "[1]"), ("mark", r'"\x08"'),
    )],
    *[(f"{BLOCK}solution: |-\n  a{c}b", ["line 8:", repr(c)]) for c in "\x07\r\x1b\x7f\x85\u2028\ud800"],
    *[(f"{BLOCK}{key}: x\n", [f"'{key}'"]) for key in ("Solution", "final_solution", "cost", "Note")],
    (f"{BLOCK}solution_changes:\n  - new: y\n", ["solution_changes"]),
    (reply(solution="x", changes=[("", "y")]), ["solution", "solution_changes"]),
])
def test_a_rejection_says_on_one_line_what_is_wrong_and_where(text, parts):
    check_rejection(text, *parts)


@pytest.mark.parametrize("text, parts", [
    *[(with_thinking(rf'"$x \{word}$"'), ["line 1:", rf"\{word}"]) for word in (
        "neq 0", "nu", "nabla f", "theta", "frac 12", "beta", "alpha", "vec x", "rho", "epsilon", "/ 2", "_", " y", "0",
    )],
    *[(step_a(f"result: {text}"), ["line 6:", "# B"]) for text in ("x  # B", "|- # B\n      C")],
    (with_thinking("|-\n  Some\n# B\n  work."), ["line 3:", "# B"]),
    (f"{BLOCK}# B", ["line 7:", "# B"]),
    *[(step_a(f"result: {text} B"), ["line 6:", text]) for text in ("!A", "&p")],
    (with_plan(" &p [{description: A, status: Pending, sub_steps: *p}]"), ["line 3:", "&p"]),
    *[(with_thinking(text), ["line 1:", "x = 1 y = 2"]) for text in (
        "x = 1\n  y = 2", "'x = 1\n  y = 2'", '"x = 1\n  y = 2"', ">\n  x = 1\n  y = 2", ">-\n  x = 1\n  y = 2",
    )],
    (f"{BLOCK}current_thinking : x\n", ["line 7:", "'current_thinking'"]),
    (step_a("status: Done"), ["line 6:", "'status'"]),
])
def test_what_yaml_would_change_without_a_word_is_rejected(text, parts):
    check_rejection(text, *parts)


BLANK = {"result", "mark", "solution", "changes"}  # words of keys that may stand there without a value


def words_of(value):
    """The words of a text, or of all keys and values of a thought."""
    if isinstance(value, dict):
        return words_of([item for pair in value.items() if pair[0] != "thought_number" for item in pair])
    if isinstance(value, list):
        return sum(map(words_of, value), collections.Counter())
    return collections.Counter(re.findall(r"[^\W_]+|[+=<>*]+", str(value).lower()))


@pytest.mark.parametrize("name", ["die-2", "letter-3"])
@pytest.mark.parametrize("mutate", [
    lambda line, rest: rest, lambda line, rest: [line, line, *rest], lambda line, rest: [],
    lambda line, rest: [f" {line}", *rest], lambda line, rest: [line[1:], *rest],
    lambda line, rest: ["```", line, *rest], lambda line, rest: [line, *rest[3:6], *rest],
    lambda line, rest: [line.replace("|-", "A"), *rest], lambda line, rest: [f'{line} "a" # b', *rest],
])
def test_a_mutated_reply_is_a_thought_with_all_of_its_words_or_rejected(name, mutate):
    solution = None
    for text in recorded(name):
        lines = text.splitlines()[1:-1]
        for number in range(1, len(lines), 4):
            mutated = "\n".join([*lines[:number], *mutate(lines[number], lines[number + 1 :])])
            try:
                written, read = words_of(mutated), words_of(read_reply(mutated, solution=solution))
                assert not read - written and set(written - read) <= BLANK
            except InvalidThought as reason:
                assert str(reason).isprintable() and len(str(reason)) < 300
        solution = read_reply(text, solution=solution).get("solution")


def test_reading_a_run_takes_work_in_proportion_to_its_length(run):
    """Work is how many functions of this project are called: each of five changes must be made once."""
    calls, five = collections.Counter(), [(f"{number}.", f"{number}.") for number in range(1, 6)]
    project = str(pathlib.Path(__file__).parents[1])
    for size in (8, 32):
        replies = [reply("x", solution="1. 2. 3. 4. 5."), *[reply("x", changes=five)] * size]
        thoughts = ["\n".join(list_item(text.split("\n")[1:-2])) for text in replies]
        pathlib.Path("run.yaml").write_text("\n".join(["problem: x", "thoughts:", *thoughts, ""]))
        sys.settrace(lambda frame, *_: calls.update([size] if frame.f_code.co_filename.startswith(project) else []))
        try:
            assert run("--show", "run.yaml").out.count("Thought ") == size + 1
        finally:
            sys.settrace(None)
    assert 0 < calls[32] < 6 * calls[8]


@pytest.mark.parametrize("filler", ["-", "\n  -", "\n", " ", "`", "</think", " Evaluation of Thought 1:"])
def test_reading_a_text_takes_time_in_proportion_to_its_length(filler):
    """What a pattern does is none of those calls, so here is a clock: 40 times the length, never 200 times the time."""
    seconds = []
    for size in (400, 16_000):
        text = f"{filler * size}\n{reply(f'Evaluation of Thought 1:{filler * size}.', changes=[('b', 'c'), ('c', '')])}"
        start = time.process_time()
        read_reply(text, 2, (), f"a{filler * size}b d")
        seconds.append(time.process_time() - start)
    assert seconds[1] < 200 * seconds[0]
