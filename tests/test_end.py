"""The end is a check: a run goes on until a thought has checked the solution, and says so if none has."""

import pytest

from tests.replies import DONE, end, reply, reply_of

FIRST = reply(1, solution="5")
B_OPEN = reply(1, plan=["[Pending] (b)", "[Pending] Conclusion"], solution="5")
ANEW = end(2, solution="5")
FINAL = "\n=== FINAL SOLUTION ===\n"

NO_CHECK = {
    "no solution stood before it": [reply(1), ANEW],
    "'(b)' was still open before it": [B_OPEN, end(2)],
    "it has no verdict on Thought 1": [FIRST, reply_of("Fine.", DONE)],
    "it has a verdict and no check": [FIRST, reply_of("**Evaluation of Thought 1**: Correct.", DONE)],
    "it writes the solution anew": [reply(1, solution="4"), ANEW],
    "more than a quarter of the solution is new": [reply(1, solution="4"), end(2, changes=[("4", "5")])],
}
AT_THE_LIMIT = {**NO_CHECK, "it speaks of a Major Error": [FIRST, end(2, "A major\nerror?")]}


def heading(reason):
    return f"\n=== SOLUTION (not checked: {reason}) ===\n5\n"


@pytest.fixture
def think(command):
    """think(*replies) is a run with -q of FIRST and these replies."""

    def think_on(*replies):
        return command("-q", [FIRST, *replies])

    return think_on


# Until a thought has checked


@pytest.mark.parametrize("reason, replies", NO_CHECK.items())
def test_after_an_end_that_is_no_check_the_next_thought_checks(command, reason, replies):
    result = command("", [*replies, end(3)])
    assert result.status == 0
    assert result.err == ""
    unchecked, checked = result.out.split("\nThought 3 (Conclusion):\n")
    assert heading(reason) in unchecked
    assert FINAL in checked


@pytest.mark.parametrize("before, changes, is_check", [
    ("(a) is 1.\n\n(b) is 2.", [("2.", "-7.")], True),
    ("(a) is 1.\n\n(b) is 2.", [("(a) is 1.", ""), ("", "(a) is 1.")], True),
    ("(a) is 1.", [("", "(b) is 12345.")], False),
    ("a b c", [("", "d")], True),
    ("a b c d", [("", "e e e")], False),
    ("甲乙丙丁戊己庚辛", [("甲乙", "一二")], True),
    ("1.2 3.4 5.6", [("1.2 3.4", "1.4 3.2")], False),
    ("가나 다라 마바", [("가나 다라", "나가 라다")], False),
    ("At 13:35", [("13:35", "15:33")], False),
])
def test_an_end_is_a_check_if_three_quarters_of_the_solution_stood_before_it(command, before, changes, is_check):
    out = command("", [reply(1, solution=before), end(2, changes=changes), end(3)]).out
    assert ("more than a quarter of the solution is new" not in out) == is_check


@pytest.mark.parametrize("reason, replies", AT_THE_LIMIT.items())
def test_at_the_limit_it_is_taken_and_said_also_when_it_is_shown(command, reason, replies):
    result = command("--max-thoughts 2", replies)
    assert result.status == 0
    assert heading(reason) in result.out
    assert result.err.count("\n") == 1
    assert f"Thought 2 is not checked: {reason}" in result.err
    shown = command("--show")
    assert shown.status == 0
    assert shown.out == result.out
    assert reason in shown.last_line
    quiet = command("--show -q")
    assert quiet.status == 0
    assert quiet.out == "5\n"
    assert reason in quiet.last_line


def test_a_model_that_writes_every_end_anew_stops_at_the_second(think):
    result = think(end(2, solution="6"), end(3, solution="7"))
    assert result.status == 0
    assert result.out == "7\n"
    assert result.err.count("\n") == 1
    assert "Thought 3 is not checked: it writes the solution anew" in result.err


@pytest.mark.parametrize("lines", [
    ["--step"],
    ["--max-thoughts 1", "--resume --max-thoughts 2"],
    ["", "--resume --max-thoughts 3"],
])
def test_a_run_that_stopped_without_a_check_goes_on_with_it(command, lines):
    number = 1
    for line in lines:
        stopped = command(line, [end(number, solution=f"x = {number}"), end(number + 1, solution="x = 9")])
        assert stopped.status == 0
        assert "not checked: " in stopped.last_line
        number += len(stopped.prompts)
    hint = stopped.err.partition("python main.py ")[2]
    checked = command(hint, [end(number)])
    assert checked.err == ""
    assert FINAL in checked.out


def test_the_sub_steps_of_the_conclusion_are_a_part_of_the_check(command):
    first = reply(1, plan=["[Pending] Conclusion", "  [Pending] Reread"], solution="5")
    last = end(2, plan=["[Done] Conclusion", "  [Done] Reread"])
    assert FINAL in command("", [first, last]).out


@pytest.mark.parametrize("thinking, solution", [
    ("Evaluation of Thought 1: Correct\n\n  12\n+ 5\n\n Details.", "  12\n+ 5\n\n Details."),
    ("Evaluation of Thought 1: Correct\nNo.\nEvaluation of Thought 1: Correct\n12", "12"),
    ("12\n+ 5", "12\n+ 5"),
])
def test_without_a_solution_the_thinking_behind_the_last_verdict_ends_the_run(command, thinking, solution):
    result = command("-q", [reply(1), reply_of(thinking, DONE)])
    assert result.status == 0
    assert result.out == f"{solution}\n"
    assert "no solution stood before it" in result.err


# Verdicts


@pytest.mark.parametrize("thinking", [
    "1. Evaluation of Thought 1: Major Error - it is 41",
    "Evaluation of Thought 1: Correct, or **Major** error?",
    "Evaluation of Thoughts 1 and 2: Major Error",
    "Evaluation of Thought 1: Correct\nThis was a\nMAJOR error.",
    "Evaluation of Thought 1: Correct\nmajor_error: none",
])
def test_a_major_error_in_any_form_ends_no_run_and_is_rejected_at_once(think, thinking):
    result = think(reply_of(thinking, DONE), end(2))
    assert len(result.prompts) == 3
    assert "Major Error" in result.err
    assert "Pending" in result.err


@pytest.mark.parametrize("thinking", [
    "Evaluation of Thought 1: Major Error",
    "**Evaluation of _Thought #1_** -- minor issues: x",
    "So, 1. EVALUATION of Thought 1: (Correct)",
    "Evaluation of Thought 1 was too generous.\nEvaluation of Thought 1: Correct",
])
def test_a_verdict_is_found_anywhere_in_a_line(think, thinking):
    result = think(reply_of(thinking), end(3))
    assert result.status == 0
    assert result.err == ""


def test_a_verdict_on_a_thought_with_two_digits_is_found(command):
    replies = [reply(number, solution="5") for number in range(1, 11)]
    result = command("", [*replies, end(11)])
    assert result.status == 0
    assert FINAL in result.out


@pytest.mark.parametrize("thinking", [
    "Fine.",
    "## Evaluation of Thought 1:\nCorrect",
    "Evaluation of Thought 1: Correctly done",
    "Evaluation of Thought 1 was too generous: Correct",
])
def test_a_thought_without_a_verdict_is_taken_with_one_line(think, thinking):
    result = think(reply_of(thinking), end(3))
    assert len(result.prompts) == 3
    assert result.err.count("\n") == 1
    assert '"Evaluation of Thought 1: Correct"' in result.err


# The limit


@pytest.mark.parametrize("options", ["--max-thoughts 2", "--max-thoughts 1 --step"])
def test_at_the_limit_a_line_says_how_to_print_a_solution_that_may_not_be_checked(command, options):
    result = command(options, [FIRST, reply(2)])
    assert result.status == 1
    assert "SOLUTION" not in result.out
    line, last_line = result.err.splitlines()
    assert "checked" in line
    assert "--resume" in last_line
    hint = line.partition("python main.py ")[2]
    assert command(hint).out == "5\n"
