"""Where a thought is found in a reply, what its values hold to the letter, and what is rejected with which reason."""

import collections
import cProfile
import re
import textwrap
import time

import pytest

from tests.replies import end, recorded, reply, reply_of
from utils.call_llm import Reply
from utils.errors import InvalidThought
from utils.reply_format import read_reply

THINKING = "|-\n  Some work."
PLAN = """
  - description: Solve
    status: Done
    result: x = 2
  - description: Conclusion
    status: Pending"""
BLOCK = f"current_thinking: {THINKING}\nplanning:{PLAN}\nnext_thought_needed: true"
REPLY = f"```yaml\n{BLOCK}\n```\n"
DRAFT = REPLY.replace("Some work.", "A draft.")
RECORDINGS = ["die-2", "letter-3", "bughunt-4d", "koushi-4"]


@pytest.fixture
def read():
    """read(text) is the thought in the reply `text`, a first one."""

    def read_first_reply(text, solution=None):
        return read_reply(Reply(text), number=1, plan_before=[], solution_before=solution, is_last_allowed=False)

    return read_first_reply


@pytest.fixture
def reject(read):
    """reject(text) is the reason why this reply is rejected: one short line."""

    def reason_of_rejection(text, solution=None):
        with pytest.raises(InvalidThought) as rejection:
            read(text, solution)
        reason = str(rejection.value)
        assert reason.isprintable()
        assert len(reason) < 300
        return reason

    return reason_of_rejection


@pytest.fixture
def read_edited(read):
    """read_edited(old, new) is the thought in REPLY with `new` in the place of `old`."""

    def read_edited_reply(old, new):
        assert REPLY.count(old) == 1
        return read(REPLY.replace(old, new))

    return read_edited_reply


@pytest.fixture
def reject_edited(reject):
    """reject_edited(old, new) is the reason why REPLY with `new` in the place of `old` is rejected."""

    def reject_edited_reply(old, new):
        assert REPLY.count(old) == 1
        return reject(REPLY.replace(old, new))

    return reject_edited_reply


# Where the thought stands


def test_a_reply_is_a_thought(read):
    assert read(REPLY) == {
        "thought_number": 1,
        "current_thinking": "Some work.",
        "planning": [
            {"description": "Solve", "status": "Done", "result": "x = 2"},
            {"description": "Conclusion", "status": "Pending"},
        ],
        "next_thought_needed": True,
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"Here is *it*:\n\n```sh\nls\n```\n\n{REPLY}", id="words before the block"),
        pytest.param(REPLY.replace("```yaml", "````\n \n") + "\n \n", id="empty lines"),
        pytest.param(REPLY.replace("\n", "\r\n"), id="CRLF line ends"),
        pytest.param(textwrap.indent(f"<think>A</think>\n{REPLY}", "  "), id="indented as a whole"),
        pytest.param(f"<think>\n{DRAFT}</think>\n{REPLY}", id="a draft in a think part"),
        pytest.param(f"<think>A</think>\n{textwrap.indent(REPLY, '  ')}", id="indented behind a think part"),
        pytest.param(f"{DRAFT}Fine.</thinking>\n{REPLY}", id="a think part whose tag does not open here"),
        pytest.param(f"<reasoning>\n</think>\n{DRAFT}\n</reasoning>{REPLY}", id="a fence right behind the think part"),
    ],
)
def test_a_thought_is_found_in_its_block(read, text):
    assert read(text) == read(REPLY)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot: sorry.",
        '```json\n{"current_thinking": "x"}\n```',
        pytest.param(REPLY.replace("\n", "\n  "), id="a block that is indented without its fence"),
    ],
)
def test_what_is_no_reply_of_ours_is_told_how_a_thought_begins(reject, text):
    assert "current_thinking:" in reject(text)


def test_an_empty_reply_is_rejected(reject):
    reject(" \n\n")


@pytest.mark.parametrize("text", [DRAFT + REPLY, DRAFT.removesuffix("```\n") + REPLY])
def test_of_two_thoughts_none_is_chosen(reject, text):
    assert "2" in reject(text)


@pytest.mark.parametrize("between", ["Here it is:\n", "# Thought 1\n", "my_note: x\n", "  x\n"])
def test_the_line_before_a_thought_is_the_opening_fence(reject_edited, between):
    assert "opening" in reject_edited("yaml\n", f"yaml\n{between}")


def test_a_thought_without_any_fence_is_rejected(reject):
    assert "opening" in reject(BLOCK)


@pytest.mark.parametrize("key", ["solution", "planning", "next_thought_needed"])
@pytest.mark.parametrize("form", ["{key}: x\n" + REPLY, REPLY.replace("yaml\n", "yaml\n{key}: x\n")])
def test_a_key_before_the_thought_is_rejected_and_not_lost(reject, key, form):
    assert f"'{key}: x'" in reject(form.format(key=key))


@pytest.mark.parametrize("end_of_block", ["", "\n``", "\n  ```\n", "\nsolution: |-\n  ```sh\n  ls\n  ```\n"])
def test_a_missing_closing_fence_is_named_and_to_write_less(reject_edited, end_of_block):
    reason = reject_edited("\n```\n", end_of_block)
    assert "closing" in reason
    assert "less" in reason


@pytest.mark.parametrize(
    "behind, quoted",
    [
        ("I hope that helps.", "'I hope that helps.'"),
        ("\n\n```sh\nls\n```", "'```sh"),
        pytest.param("  the rest of a text" * 50, "'the rest of a text", id="long"),
    ],
)
def test_what_stands_behind_the_block_is_quoted(reject, behind, quoted):
    assert quoted in reject(f"{REPLY}{behind}")


@pytest.mark.parametrize("rest", ["```\n  ls\n```\n  It lists.\n```", "```sh\n  ls\n  ```\n```", "```sh"])
def test_a_fence_in_a_text_that_is_not_indented_is_rejected_with_what_to_do(reject, rest):
    reason = reject(f"```yaml\n{BLOCK}\nsolution: |-\n  Run:\n{rest}")
    assert "indent" in reason
    assert "fence" in reason


@pytest.mark.parametrize("tag", ["<think>", "<thinking>", "<reasoning>"])
def test_a_think_part_that_is_never_closed_is_rejected(reject, tag):
    assert tag in reject(f"{tag}\n{REPLY}")


# Nothing is lost


def test_a_reply_that_was_cut_off_is_asked_for_again(run):
    whole = end(1, solution="Take 2 tablets a day,\nbut never more than 8 in a week.")
    cut = whole[: whole.index(" in a week")]
    result = run("-q", replies=[cut, whole])
    assert result.out == "Take 2 tablets a day,\nbut never more than 8 in a week.\n"
    assert "closing" in result.err


def replay(read, name):
    """The replies of a recorded run, each with the solution that was written before it."""
    solution = None
    for text in recorded(name):
        yield text, solution
        solution = read(text, solution).get("solution", solution)


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_reply_is_not_taken_wherever_it_was_cut(read, reject, name):
    for text, solution in replay(read, name):
        last_length = len(text.rstrip()) - 1
        for length in range(last_length, 0, -41):
            reject(text[:length], solution)


def leave_out(line):
    return ""


def double(line):
    return f"{line}\n{line}"


def move_left(line):
    return line[1:]


def put_fence_before(line):
    return f"```\n{line}"


def put_comment_behind(line):
    return f'{line} "a" # b'


def take_out_of_literal(line):
    return line.replace("|-", "A")


MUTATIONS = [leave_out, double, move_left, put_fence_before, put_comment_behind, take_out_of_literal]
MAY_GO = {"yaml", "result", "mark", "solution", "changes"}  # of the fence, and of keys without a value


def words(value):
    """How often each word and sign stands in a text, or in the keys and values of a thought."""
    if isinstance(value, dict):
        return words([*value.keys(), *value.values()])
    if isinstance(value, list):
        return sum(map(words, value), collections.Counter())
    return collections.Counter(re.findall(r"[^\W_]+|[+=<>*]+", str(value).lower()))


@pytest.mark.parametrize("name", RECORDINGS)
@pytest.mark.parametrize("mutate", MUTATIONS)
def test_a_mutated_reply_is_a_thought_with_all_of_its_words_or_rejected(read, mutate, name):
    for text, solution in replay(read, name):
        lines = text.splitlines()
        for number in range(1, len(lines), 7):
            mutated = "\n".join([*lines[:number], mutate(lines[number]), *lines[number + 1 :]])
            try:
                thought = read(mutated, solution)
            except InvalidThought:
                continue
            del thought["thought_number"]
            lost = words(mutated) - words(thought)
            assert set(lost) <= MAY_GO


# What is written is taken to the letter


@pytest.mark.parametrize(
    "text",
    [
        r"Colon: \"quotes\", 'more', # no comment, {braces}, - dashes, 100% & *stars* !A, $\frac{1}{2} \int_0^1 x$",
        "```python\nx = 1\n```\n\n```yaml\ncurrent_thinking: x\nsolution: y\n```",
        "<think>No tag of mine.</think>\n甲、乙两地相距 480 千米 🚄, שלום,\tnull \ufeffmark",
        "# Heading\n---\n- a\n    - b  \n  \n\n\tc",
        "\tcc a.c\n\n\tstrip a",
        "null",
    ],
)
def test_a_block_literal_holds_its_text_to_the_letter(read, text):
    thought = read(reply(1, text, solution=text, results={"Solve": text}))
    assert thought["current_thinking"] == text
    assert thought["solution"] == text
    assert thought["planning"][0]["result"] == text


def test_a_first_line_keeps_the_indentation_that_it_has_before_the_others(read_edited):
    thought = read_edited(THINKING, "|2-\n\n     1\n    20\n")
    assert thought["current_thinking"] == "   1\n  20"


@pytest.mark.parametrize("lines", ["\n  # Some work.\n\n", "        \n\n  # Some work.\n    \n"])
def test_empty_lines_around_a_text_do_not_count(read_edited, lines):
    thought = read_edited(THINKING, f"|+\n{lines}")
    assert thought["current_thinking"] == "# Some work."


@pytest.mark.parametrize("written", ["42", "0.50", "1_000", "010", "12:30", "2026-02-30", "No", "=", "C#"])
def test_a_plain_value_is_the_text_that_was_written(read_edited, written):
    thought = read_edited("x = 2", written)
    assert thought["planning"][0]["result"] == written


@pytest.mark.parametrize(
    "written, value",
    [
        ("'null'", "null"),
        (r"'a \n b ''c'''", r"a \n b 'c'"),
        ('"a \'b\' # c: d"', "a 'b' # c: d"),
    ],
)
def test_a_quoted_value_is_what_stands_between_the_quotes(read_edited, written, value):
    thought = read_edited("x = 2", written)
    assert thought["planning"][0]["result"] == value


@pytest.mark.parametrize("written", ["~", "null", "Null", "NULL", "None", "", "' '", "|-\n      \n"])
def test_a_value_that_says_nothing_is_not_given(read_edited, written):
    thought = read_edited("x = 2", written)
    assert thought["planning"][0] == {"description": "Solve", "status": "Done"}


@pytest.mark.parametrize("key", ["solution", "solution_changes"])
def test_a_solution_that_says_nothing_is_not_given(read_edited, key):
    thought = read_edited(": true", f": true\n{key}: None")
    assert key not in thought


@pytest.mark.parametrize("written", ["verification needed", "'VERIFICATION NEEDED'"])
def test_a_status_may_be_written_in_any_case(read_edited, written):
    thought = read_edited("Done", written)
    assert thought["planning"][0]["status"] == "Verification Needed"


@pytest.mark.parametrize("written", ["True", "'TRUE'", "|-\n  true"])
def test_the_flag_may_be_written_in_any_case(read_edited, written):
    assert read_edited("true", written)["next_thought_needed"] is True


@pytest.mark.parametrize("written", ["1", "'1'", "|-\n  1", "null"])
def test_the_number_of_the_thought_is_taken(read_edited, written):
    thought = read_edited("planning", f"thought_number: {written}\nplanning")
    assert thought["thought_number"] == 1


@pytest.mark.parametrize("written", ["7", "01", "1.0", "one"])
def test_another_number_is_rejected_with_its_line(reject_edited, written):
    reason = reject_edited("planning", f"thought_number: {written}\nplanning")
    assert "line 4:" in reason
    assert f"'{written}', not 1" in reason


# What is rejected


@pytest.mark.parametrize(
    "key, old, new",
    [
        ("current_thinking", THINKING, "|-\n"),
        ("planning", f"planning:{PLAN}\n", ""),
        ("planning", PLAN, " []"),
        ("planning", PLAN, " Solve it"),
        ("next_thought_needed", "next_thought_needed: true", ""),
        ("next_thought_needed", "true", "maybe"),
        ("description", "description: Solve", "description: ' '"),
        ("status", "    status: Done\n", ""),
        ("line 10:", "needed: true", "needed:"),
        ("sub_steps", "result: x = 2", "sub_steps: B"),
        ("result", "x = 2", "[]"),
        ("solution", ": true", ": true\nsolution:\n  a: b"),
    ],
)
def test_a_value_that_is_missing_or_of_the_wrong_kind_is_rejected_with_its_key(reject_edited, key, old, new):
    assert key in reject_edited(old, new)


@pytest.mark.parametrize("old, new", [("Done", "[]"), ("result: x = 2", "sub_steps: B")])
def test_the_reason_says_in_which_step_a_value_is_wrong(reject_edited, old, new):
    assert "Solve" in reject_edited(old, new)


def test_a_step_that_is_no_mapping_is_quoted_with_its_line(reject_edited):
    reason = reject_edited(PLAN, f"{PLAN}\n  - Solve it")
    assert "line 10:" in reason
    assert "'Solve it'" in reason


@pytest.mark.parametrize("status", ["finished", "Verification"])
def test_an_unknown_status_is_rejected_with_its_step_and_the_known_ones(reject_edited, status):
    reason = reject_edited("Done", status)
    assert "'Solve'" in reason
    assert f"'{status}'" in reason
    assert "Pending or Done or Verification Needed" in reason


def test_a_fault_in_a_sub_step_is_found(reject_edited):
    reason = reject_edited("result: x = 2", "sub_steps:\n    - description: B\n      status: C")
    assert "line 9:" in reason
    assert "'B'" in reason
    assert "'C'" in reason


@pytest.mark.parametrize("key", ["final_solution", "cost", "solution_change"])
def test_an_unknown_key_is_rejected_with_its_line_and_what_may_be_wrong(reject_edited, key):
    reason = reject_edited(": true", f": true\n{key}: x")
    assert "line 11:" in reason
    assert f"'{key}'" in reason
    assert "indented" in reason


def test_an_unknown_key_of_a_step_is_rejected_with_its_line(reject_edited):
    reason = reject_edited("result:", "reslut:")
    assert "line 7:" in reason
    assert "'reslut'" in reason


def test_a_key_that_is_given_twice_is_rejected_with_its_line(reject_edited):
    reason = reject_edited(": true", ": true\nplanning:\n- description: A")
    assert "line 11:" in reason
    assert "'planning'" in reason


@pytest.mark.parametrize("line", ["Solution: x", "current_thinking : x", '"mark": x', "? x", "x", "-", "key:x"])
def test_a_line_that_is_neither_a_key_nor_a_part_of_a_text_is_quoted_with_its_line(reject_edited, line):
    reason = reject_edited(": true", f": true\n{line}")
    assert "line 11:" in reason
    assert repr(line) in reason
    assert "block literal" in reason


@pytest.mark.parametrize("character", ["\x07", "\r", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"], ids=ascii)
def test_a_control_character_is_rejected_with_its_line(reject_edited, character):
    reason = reject_edited("Some work.", f"Some\n  wo{character}rk.")
    assert "line 4:" in reason
    assert repr(character) in reason


@pytest.mark.parametrize("before", ["<think>\n\nSo\n</think>\n", "\n\nHere\nit is:\n", "A\r\nB\r\nC\r\n</think>\r\n"])
def test_lines_are_counted_from_the_first_that_the_model_has_sent(reject, before):
    assert "line 10:" in reject(before + REPLY.replace("Done", "Ready"))


@pytest.mark.parametrize(
    "old, new, line",
    [
        ("x = 2", "a: b", "line 7:"),
        ("x = 2", '"x = 2', "line 7:"),
        ("  Some work.", "      Some\n  work.", "line 4:"),
    ],
)
def test_broken_yaml_is_rejected_with_the_line_where_it_begins(reject_edited, old, new, line):
    assert line in reject_edited(old, new)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("[{sub_steps: " * 400 + "}]" * 400, id="too deep"),
        r'"\UFFFFFFFF"',
        "[{{a: b}: c}]",
    ],
)
def test_what_python_cannot_read_is_rejected_too(reject_edited, value):
    assert reject_edited(PLAN, f" {value}")


# Slips: the reason says where and what to write


@pytest.mark.parametrize("margin", ["", " "])
@pytest.mark.parametrize(
    "line", ["no.", "No: it is.", "# Heading", "---", "- item", "- Cups: 3", "> quote", "`x`", "'tis", "%x", "!x"]
)
def test_a_line_of_a_text_that_is_indented_too_little_is_named(reject_edited, line, margin):
    reason = reject_edited("Some work.", f"Some\n{margin}{line}\n  work.")
    assert "line 4:" in reason
    assert "line 3;" in reason  # where the text begins
    assert "indent" in reason


@pytest.mark.parametrize("line", ["no match.", "No: it is.", "# Heading", "---", "def f(x):", "7: seven", "a-b: c"])
@pytest.mark.parametrize("margin", ["  ", "    ", "     "])
def test_a_line_of_a_result_that_is_indented_too_little_is_named(reject_edited, line, margin):
    reason = reject_edited("x = 2", f"|-\n      x = 2\n{margin}{line}")
    assert "line 9:" in reason
    assert f"'{line}'" in reason
    assert "indent" in reason


@pytest.mark.parametrize("margin", ["    ", "     "])
def test_an_item_of_a_list_is_no_end_of_a_text_to_whose_right_it_stands(reject_edited, margin):
    reason = reject_edited("x = 2", f"|-\n      x = 2\n{margin}- item")
    assert "line 9:" in reason
    assert "'- item'" in reason


@pytest.mark.parametrize("sign, margin", [("|-", " "), ("|", "   "), ("|+", " "), ("|2-", " ")])
def test_a_text_whose_first_line_has_slipped_is_rejected_there(reject_edited, sign, margin):
    reason = reject_edited(THINKING, f"{sign}\n\n{margin}def f(x):\n    return x")
    assert "line 4:" in reason
    assert "'def f(x):'" in reason
    assert "two spaces" in reason


def test_below_a_key_without_a_value_nothing_begins_to_its_left(reject_edited):
    reason = reject_edited("result: x = 2", "sub_steps:\n   - description: B")
    assert "line 8:" in reason
    assert "column" in reason


@pytest.mark.parametrize("lines", ["     date\n  Dear", "        date\n    Dear"])
def test_a_text_that_may_be_meant_to_begin_deeper_is_told_its_sign(reject_edited, lines):
    assert "|2-" in reject_edited("  Some work.", lines)
    assert "|2-" not in reject_edited("  Some work.", "  date\n Dear")


@pytest.mark.parametrize(
    "old, new, line",
    [
        ("  Some work.", "  Some\n\twork.", "line 4:"),
        ("status: Done", "status:\tDone", "line 6:"),
    ],
)
def test_a_tab_outside_of_a_text_is_named(reject_edited, old, new, line):
    reason = reject_edited(old, new)
    assert line in reason
    assert "tab" in reason
    assert "spaces" in reason


@pytest.mark.parametrize("word", ["neq 0", "nu", "theta", "int", "/ 2", "_", " y", "0", "xcancel{5}", "x41", "\\theta"])
def test_a_backslash_in_double_quotes_is_rejected_for_a_block_literal(reject_edited, word):
    reason = reject_edited("x = 2", rf'"$x \{word}$"')
    assert "line 7:" in reason
    assert "|-" in reason


@pytest.mark.parametrize(
    "value, line",
    [
        ("x = 1\n      y = 2", "line 7:"),
        ("\n      x = 1\n      y = 2", "line 8:"),
        ("'x = 1\n\n      y = 2'", "line 7:"),
        ('"x = 1\n      y: 2"', "line 7:"),
        ("[a,\n      b]", "line 7:"),
        (">\n      x = 1\n      y = 2", "line 7:"),
        ("x = 1\n      - 2", "line 7:"),
        ("x = 1\n  - description: A\n      - B", "line 8:"),
    ],
)
def test_a_text_over_several_lines_is_rejected_for_a_block_literal(reject_edited, value, line):
    reason = reject_edited("x = 2", value)
    assert line in reason
    assert "|-" in reason


@pytest.mark.parametrize(
    "old, new, line, sign",
    [
        ("x = 2", "x  # B", "line 7:", "# B"),
        ("x = 2", "|- # B\n      C", "line 7:", "# B"),
        (": true", ": true\n# B", "line 11:", "# B"),
        ("x = 2", "!A x", "line 7:", "!A"),
        ("x = 2", "&p x\n    mark: *p", "line 7:", "&p"),
        ("description: Solve", "? - Solve\n", "line 5:", "? -"),
        (": true", ": true\n...", "line 11:", "..."),
    ],
)
def test_a_sign_of_yaml_is_rejected_with_its_line(reject_edited, old, new, line, sign):
    reason = reject_edited(old, new)
    assert line in reason
    assert sign in reason


# Reading takes time in proportion to length


def count_calls(function, *arguments):
    """How many calls a call makes."""
    profile = cProfile.Profile()
    profile.runcall(function, *arguments)
    return sum(entry.callcount for entry in profile.getstats())


def test_reading_a_plan_takes_work_in_proportion_to_its_length(read):
    step = "\n  - description: A\n    status: Done"
    short = REPLY.replace(PLAN, step * 25 + PLAN)
    long = REPLY.replace(PLAN, step * 100 + PLAN)
    assert count_calls(read, long) < 4 * count_calls(read, short)


def test_showing_a_run_takes_work_in_proportion_to_its_length(run):
    calls = []
    for size in (6, 24):
        changing = reply_of("Work.", changes=[("1.", "1.!")] * 20)
        run("--run", f"{size}.yaml", replies=[reply(1, solution="1."), *[changing] * size])
        calls.append(count_calls(run, "--show", f"{size}.yaml"))
    assert calls[1] < 4 * calls[0]


@pytest.mark.parametrize("filler", ["-", "\n  -", "\n", " ", "`", "</think", "Evaluation of Thought 1:"])
def test_a_pattern_takes_time_in_proportion_to_the_length_of_a_text(read, filler):
    """This is not among the calls, so here is a clock: 40 times the length, never 200 times the time."""
    seconds = []
    for size in (400, 16_000):
        text = f"{filler * size}\n" + reply(1, f"x\n{filler * size}.", changes=[("b", "c"), ("c", "")])
        start = time.process_time()
        read(text, f"a{filler * size}b d")
        seconds.append(time.process_time() - start)
    assert seconds[1] < 200 * seconds[0]
