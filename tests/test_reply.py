"""Where a thought is found in a reply, what its values hold to the letter, and what is rejected with which reason."""

import collections
import random
import re
import textwrap
import time

import pytest

from tests.replies import end, recorded, reply, reply_of
from utils.call_llm import Reply
from utils.errors import InvalidThought
from utils.plain_yaml import WORD_KEYS, read_text, read_verbatim
from utils.reply_reader import read_reply
from utils.saved_run import RUN_READERS
from utils.thought import START
from utils.thought_reader import SAVED_READERS, STEP_READERS

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


def read(text, solution=None):
    """The first thought of a run, in a reply, as it is saved. solution: one that stands before it."""
    before = {**START, "solution_so_far": solution}
    thought = read_reply(Reply(text), before, is_last_allowed=False)
    return {key: thought[key] for key in thought if key not in ("solution_so_far", "why_no_check")}


def reject(text, solution=None):
    """The reason why a reply is rejected: one short line."""
    with pytest.raises(InvalidThought) as rejection:
        read(text, solution)
    reason = str(rejection.value)
    assert reason.isprintable()
    assert len(reason) < 300
    return reason


def edited(old, new):
    """REPLY with `new` in the place of `old`."""
    assert REPLY.count(old) == 1
    return REPLY.replace(old, new)


def result_of(thought):
    return thought["planning"][0]["result"]


# Where the thought stands


def test_a_reply_is_a_thought():
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
        f"Here is *it*, ```fenced```:\n  - so: x\n\n{REPLY}",
        REPLY.replace("```yaml", "````\n \n") + "\n \n",
        REPLY.replace("\n", "\r\n"),
        f"\ufeff{REPLY}",
        f"{REPLY}\n\nLet me know if you want me to go on!\n- or not: x\n",
        f"<think>\n{DRAFT}</think>\n{REPLY}",
        f"{DRAFT}A think part whose tag does not open here.</thinking>\n{REPLY}",
        f"<reasoning>\n</think>\n{DRAFT}\n</reasoning>{REPLY}",
        f"<|channel|>analysis<|message|>Hm: x.<|end|><|start|>assistant<|channel|>final<|message|>{REPLY}",
        f"analysisWe need\n{DRAFT}\nSo.assistantfinal{REPLY}",
    ],
)
def test_a_thought_is_found_in_its_block(text):
    assert read(text) == read(REPLY)


@pytest.mark.parametrize(
    "text, reason",
    [
        (BLOCK, "no block that begins with ```yaml"),
        ("The answer is 42.", "no block that begins with ```yaml"),
        (REPLY.replace("\n```", "\n  ```"), "```: 1, not 2"),
        (f"```yaml\n{BLOCK}\nsolution: |-\n```\nls\n```\n", "```: 3, not 2"),
        (f"```sh\nls\n```\n{REPLY}", "```: 4, not 2"),
        (DRAFT + REPLY, "```: 4, not 2"),
    ],
)
def test_a_reply_without_exactly_one_block_is_rejected_with_what_to_write(text, reason):
    rejection = reject(text)
    assert reason in rejection
    assert "one block with both its fences, indent the fences" in rejection


@pytest.mark.parametrize(
    "text, quoted",
    [
        (REPLY.replace("yaml", "yaml solution: 42"), "yaml solution: 42"),
        (REPLY.replace("true\n```", "true\n```sh"), "sh"),
        (f"solution: |-\n{REPLY}", "solution: |-"),
        (f"<think>\n{REPLY}", "<think>"),
        (f"<thinking>\n{REPLY}", "<thinking>"),
        (f"<reasoning>\n{REPLY}", "<reasoning>"),
        (f"{REPLY}\nsolution: 7", "solution: 7"),
        (f"{REPLY}  the rest of a text\n", "the rest of a text"),
        (f"{REPLY}\n\n<think>\n", "<think>"),
        (REPLY + "solution:" + 99 * " word", "solution: word word"),
    ],
)
def test_what_stands_outside_of_the_block_and_may_be_a_part_of_a_thought_is_quoted(text, quoted):
    reason = reject(text)
    assert quoted in reason
    assert "stands" in reason


# Nothing is lost


def test_a_reply_that_was_cut_off_is_asked_for_again(run):
    whole = end(1, solution="Take 2 tablets a day,\nbut never more than 8 in a week.")
    cut = whole[: whole.index(" in a week")]
    result = run("-q", "--max-thoughts", "1", replies=[cut, whole])
    assert result.out == "Take 2 tablets a day,\nbut never more than 8 in a week.\n"
    assert "cut off, less in one" in result.err


def replay(name):
    """The replies of a recorded run, each with the solution that was written before it."""
    solution = None
    for text in recorded(name):
        yield text, solution
        solution = read(text, solution).get("solution", solution)


RECORDINGS = ["die-2", "letter-3", "bughunt-4d", "koushi-4"]
each_recording = pytest.mark.parametrize("name", RECORDINGS)


@each_recording
def test_a_recorded_reply_is_not_taken_wherever_it_was_cut(name):
    for text, solution in replay(name):
        last_length = len(text.rstrip()) - 1
        for length in range(last_length, 0, -41):
            reject(text[:length], solution)


def leave_out(line):
    return ""


def double(line):
    return f"{line}\n{line}"


def move_left(line):
    return line[1:]


def move_right(line):
    return f" {line}"


def put_comment_behind(line):
    return f'{line} "a" # b'


def take_out_of_literal(line):
    return line.replace("|-", "A")


MUTATIONS = [leave_out, double, move_left, move_right, put_comment_behind, take_out_of_literal]
each_mutation = pytest.mark.parametrize("mutate", MUTATIONS)


def read_mutated(name, mutate):
    """Yield the replies of a recorded run with a mutated line, each with its thought, where it is taken."""
    for text, solution in replay(name):
        lines = text.splitlines()
        for number in range(1, len(lines), 7):
            mutated = "\n".join([*lines[:number], mutate(lines[number]), *lines[number + 1 :]])
            try:
                thought = read(mutated, solution)
            except InvalidThought:
                continue
            del thought["thought_number"]
            yield mutated, thought


MAY_GO = {"yaml", "result", "mark", "solution", "changes"}  # of the fence, and of keys without a value


def words(value):
    """How often each word and sign stands in a text, or in the keys and values of a thought."""
    if isinstance(value, dict):
        return words([*value.keys(), *value.values()])
    if isinstance(value, list):
        return sum(map(words, value), collections.Counter())
    return collections.Counter(re.findall(r"[^\W_]+|[+=<>*]+", str(value).lower()))


@each_recording
@each_mutation
def test_a_mutated_reply_is_a_thought_with_all_of_its_words_or_rejected(mutate, name):
    for text, thought in read_mutated(name, mutate):
        lost = words(text) - words(thought)
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
def test_a_block_literal_holds_its_text_to_the_letter(text):
    thought = read(reply(1, text, solution=text, results={"Solve": text}))
    assert thought["current_thinking"] == text
    assert thought["solution"] == text
    assert result_of(thought) == text


def test_a_first_line_keeps_the_indentation_that_it_has_before_the_others():
    thought = read(edited(THINKING, "|2-\n\n     1\n    20\n"))
    assert thought["current_thinking"] == "   1\n  20"


def test_the_indentation_of_a_text_is_counted_from_its_key():
    plan = PLAN.replace("\n", "\n ")
    assert read(edited(PLAN, plan.replace("x = 2", "|-\n       x = 2"))) == read(REPLY)


def test_empty_lines_around_a_text_do_not_count():
    thought = read(edited(THINKING, "|+\n \n\n  # Some work.\n    \n\n"))
    assert thought["current_thinking"] == "# Some work."


# Texts as models write them


@pytest.mark.parametrize(
    "written",
    [
        "42",
        "0.50",
        "12:30",
        "2026-02-30",
        "No",
        r"\xca \frac{1}{2}",
        "two roots: x = 1 and y = 2",
        "**y = 2**: see #3 # no comment",
        "[1, 2] and {x: 1}",
        "> 5",
        ">5",
        "| a | b |",
        "*p &p !x %x @x `f(2)` - y ? x",
        '"x = 2',
        '"y" is 2',
        '"he said "two" here"',
        "it's '2'",
        "nullity",
        "[]",
        "-",
        "a\tb",
    ],
)
def test_a_value_on_one_line_is_the_text_that_was_written(written):
    assert result_of(read(edited("x = 2", f" {written} "))) == written


@pytest.mark.parametrize(
    "written, text",
    [
        (r"'a \n b'", r"a \n b"),
        ("'it''s # 2'  # a comment", "it's # 2"),
        ('"it\'s # 2: x"', "it's # 2: x"),
        (r'"a \"b\" \\c"', r'a "b" \c'),
        ("'null'", "null"),
        ("|- y = 2", "y = 2"),
        (">- y = 2", "y = 2"),
        ("y = 2, since\n      x is 1", "y = 2, since x is 1"),
        ("'y: 2,\n\n      since # x'", "y: 2,\nsince # x"),
        (">-\n      y: 2,\n      since # x", "y: 2, since # x"),
    ],
)
def test_a_value_that_is_marked_or_goes_on_below_is_what_yaml_makes_of_it(written, text):
    assert result_of(read(edited("x = 2", written))) == text


@pytest.mark.parametrize(
    "lines, text",
    [
        ("    return x\n  y = 2", "  return x\ny = 2"),
        ("  if x:\n     y()\n  z()", "if x:\n   y()\nz()"),
        ("  1. one\n     more", "1. one\n   more"),
        ("   x\n     y\n   z", "x\n  y\nz"),
        ("   x", "x"),
    ],
)
def test_a_text_has_the_smaller_indentation_of_its_first_two_lines(lines, text):
    assert read(edited(": true", f": true\nsolution: |-\n{lines}"))["solution"] == text


SIGNS = "abc  ::##--''\"\"||>>**&&!!%%@@``[]{},?\\/~=<.0é字\ufeff\t"


def made_up_texts(count):
    """So many texts of any signs, on one line, but for those that are in quotes. They are the same each time."""
    generator = random.Random(1)
    texts = []
    while len(texts) < count:
        signs = generator.choices(SIGNS, k=generator.randint(3, 12))
        text = "".join(signs).strip()
        if text and text[0] not in "'\"" and text[1:3] != "- ":
            texts.append(text)
    return texts


def test_any_text_on_one_line_is_read_to_the_letter():
    for text in made_up_texts(300):
        assert result_of(read(edited("x = 2", text))) == text


@pytest.mark.parametrize("sign", ["", "|", "|-", "|+"])
def test_any_lines_below_a_key_are_read_to_the_letter_whatever_their_margin_and_sign(sign):
    texts = made_up_texts(100)
    for number in range(100):
        text = "\n".join(["First", *texts[number : number + 3], "", "Last"])
        below = textwrap.indent(text, (5 + number % 12) * " ")
        assert result_of(read(edited("x = 2", f"{sign}\n\n{below}"))) == text


@pytest.mark.parametrize("written", ["~", "null", "None # yet", "", "' '", "|-", "|-\n      \n"])
def test_a_value_that_says_nothing_is_not_given(written):
    thought = read(edited("x = 2", written))
    assert thought["planning"][0] == {"description": "Solve", "status": "Done"}


@pytest.mark.parametrize(
    "status",
    ["verification needed", "'VERIFICATION NEEDED'", "VERIFICATION_NEEDED", "✅ **Verification Needed**  # why"],
)
@pytest.mark.parametrize("flag", ["True", "|-\n  true", "**true**", "true # go on: x"])
def test_a_status_and_the_flag_may_be_written_in_any_case_among_marks_and_before_a_comment(status, flag):
    thought = read(edited("Done", status).replace("true", flag))
    assert thought["planning"][0]["status"] == "Verification Needed"
    assert thought["next_thought_needed"] is True


@pytest.mark.parametrize("written", ["1", "null"])
def test_the_number_of_the_thought_is_taken(written):
    thought = read(edited("planning", f"thought_number: {written}\nplanning"))
    assert thought["thought_number"] == 1


@pytest.mark.parametrize("written", ["7", "01", "one"])
def test_another_number_is_rejected(written):
    assert f"'{written}', not 1" in reject(edited("planning", f"thought_number: {written}\nplanning"))


# What is rejected


@pytest.mark.parametrize(
    "key, old, new",
    [
        ("current_thinking", THINKING, "|-\n"),
        ("planning", f"planning:{PLAN}\n", ""),
        ("planning", PLAN, " []"),
        ("next_thought_needed", "needed: true", "needed:"),
        ("next_thought_needed", "true", "maybe"),
        ("description", "description: Solve", "description: ' '"),
        ("status", "    status: Done\n", ""),
        ("line 7: 'reslut'", "result:", "reslut:"),
        ("sub_steps", "result: x = 2", "sub_steps: B"),
        ("result", "result: x = 2", "'result': [x]"),
    ],
)
def test_a_key_that_is_missing_or_unknown_or_has_the_wrong_kind_of_value_is_named(key, old, new):
    assert key in reject(edited(old, new))


def test_an_unknown_status_is_rejected_with_its_line_and_the_known_ones():
    reason = reject(edited("result: x = 2", "sub_steps:\n    - description: B\n      status: Odd"))
    assert "line 9:" in reason
    assert "'Odd', not Pending or Done or Verification Needed" in reason


@pytest.mark.parametrize(
    "line",
    [
        "cost: x",
        "planning: x",
        '"mark": x',
        "key:x",
        "x",
        "-",
        "? x",
        "{[a]: b}",
        "[a]: b",
    ],
)
def test_a_line_that_is_no_key_of_the_thought_or_one_given_twice_is_named(line):
    assert "line 11:" in reject(edited(": true", f": true\n{line}"))


@pytest.mark.parametrize("character", ["\x07", "\r", "\x85", "\u2028", "\ud800"])
def test_a_control_character_is_rejected_with_its_line(character):
    reason = reject(edited("Some work.", f"Some\n  wo{character}rk."))
    assert "line 4:" in reason
    assert repr(character) in reason


@pytest.mark.parametrize("before", ["<think>\n\nSo\n</think>\n", "\n\nHere\nit is:\n", "A\r\nB\r\nC\r\n</think>\r\n"])
def test_lines_are_counted_from_the_first_that_the_model_has_sent(before):
    assert "line 10:" in reject(before + edited("Done", "Ready"))


@pytest.mark.parametrize("number", [2, 3])
def test_a_thought_that_evaluates_a_thought_that_is_not_before_it_is_rejected(run, number):
    wrong = reply_of(f"1. evaluation of **Thought {number}** - correct")
    assert f"rejected: it evaluates Thought {number}," in run(replies=[reply(1), wrong]).err


@pytest.mark.parametrize("more", ["Evaluation of Thought 2: Correct", "The evaluation of Thought 2 comes next."])
def test_a_thought_that_evaluates_the_one_before_it_may_speak_of_others(run, more):
    result = run("--max-thoughts", "2", replies=[reply_of(more), reply(2, more)])
    assert "rejected" not in result.err


# YAML that would be changed, or cannot be read


@pytest.mark.parametrize(
    "value",
    [
        r'"$x \neq 0$"',
        r'"$\int$"',
        r'"\\\xcancel{5}"',
        "two\n      roots: x",
        "|- two\n      roots",
        "two #1\n      roots",
        "two\n      # roots",
        "'two'\n      # roots",
        "|- # two\n      roots",
        "|-\n        two\n        roots\n      # x",
        ">-\n        two\n        roots\n      # x",
    ],
)
def test_a_value_with_two_readings_is_rejected_with_its_line_or_the_next(value):
    reason = reject(edited("x = 2", value))
    assert reason.startswith(("line 7:", "line 8:", "line 10:"))
    assert "|-" in reason


@pytest.mark.parametrize("value", ["&p", "!x", "*p"])
def test_an_anchor_an_alias_and_a_tag_are_rejected_with_their_line(value):
    assert "line 4:" in reject(edited("planning:", f"planning: {value}"))


@pytest.mark.parametrize("key", ["'solution'", '"solution"', "solution "])
def test_what_looks_like_keys_in_a_text_is_text_however_its_key_is_written(key):
    text = "A file:\nstatus: it's on\nresult: |- x"
    written = textwrap.indent(text, "  ")
    assert read(edited(": true", f": true\n{key}: |-\n{written}"))["solution"] == text


def test_every_key_that_is_read_as_a_text_is_marked_as_one():
    for readers in (SAVED_READERS, STEP_READERS, RUN_READERS):
        keys = [key for key, read in readers.items() if read in (read_text, read_verbatim)]
        assert set(keys) <= set(WORD_KEYS)


def test_what_stands_between_keys_is_yaml():
    assert read(edited("planning", "# A comment: x\n'planning'")) == read(REPLY)
    assert read(edited(": true", ": true  # a comment\n...")) == read(REPLY)
    assert read(edited("current", "---\ncurrent")) == read(REPLY)


@pytest.mark.parametrize("line", ["# Heading", "- item", "!x", "\twork.", "No: it is."])
def test_a_line_that_has_slipped_out_of_a_text_is_named_or_the_next(line):
    reason = reject(edited("Some work.", f"Some\n{line}\n  work."))
    assert reason.startswith(("line 4:", "line 5:"))
    assert "indented by spaces" in reason


@pytest.mark.parametrize("line", ["  No: it is.", "    no match.", "    def f(x):", "    - item"])
def test_a_line_that_has_slipped_out_of_a_result_is_named_or_the_next(line):
    reason = reject(edited("x = 2", f"|-\n      x = 2\n{line}"))
    assert reason.startswith(("line 9:", "line 10:"))
    assert "indented by spaces" in reason


ODD_LINES = [" def f(x):\n     return x", "   def f(x):\n       return x", "     def f(x):\n  x\n  y"]


@pytest.mark.parametrize("sign", ["", "|-", "|+"])
@pytest.mark.parametrize("lines", ODD_LINES)
def test_a_first_line_that_is_alone_at_an_odd_number_of_spaces_is_rejected(sign, lines):
    reason = reject(edited(THINKING, f"{sign}\n\n{lines}"))
    assert "line 4: 'def f(x):'" in reason


DEEP_STEPS = [f"{'  ' * depth}[Done] Solve" for depth in range(300)]
DEEP_PLAN = reply(1, plan=[*DEEP_STEPS, "[Pending] Conclusion"])
DEEP_BRACKETS = edited(PLAN, 10_000 * "[")
DEEP_LIST = edited(PLAN, f"\n  {'- ' * 500}A")


@pytest.mark.parametrize("deep", [DEEP_PLAN, DEEP_LIST, DEEP_BRACKETS], ids=["plan", "list", "brackets"])
def test_yaml_that_is_nested_300_deep_is_rejected(run, deep):
    result = run(replies=[deep, reply(1)])
    assert "rejected" in result.err
    assert "Thought 1:\n" in result.out


@pytest.mark.parametrize("value", [r'"\UFFFFFFFF"', r'"\U7FFFFFFF"'])
def test_a_value_of_which_python_makes_nothing_is_rejected(value):
    assert reject(edited("x = 2", value))


# Reading takes time in proportion to length


@pytest.mark.parametrize("filler", ["\n  -", " ", "</think", "Evaluation of Thought 1:", "evaluation_"])
def test_a_pattern_takes_time_in_proportion_to_the_length_of_a_text(filler):
    """This is not among the calls, so here is a clock: 40 times the length, never 200 times the time."""
    seconds = []
    for size in (400, 16_000):
        text = f"{filler * size}\n" + reply(1, f"x\n{filler * size}.", changes=[("b", "c"), ("c", "")])
        start = time.process_time()
        read(text, f"a{filler * size}b d")
        seconds.append(time.process_time() - start)
    assert seconds[1] < 200 * seconds[0]
