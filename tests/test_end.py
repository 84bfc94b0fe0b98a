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


@pytest.mark.parametrize("before, changes", [
    ("(a) is 1.\n\n(b) is 2.\n\n(c) is 3.", [("(b) is 2.", "(b) is -7.")]),
    ("(a) is 1.\n\n(b) is 2.\n\n(c) is 3.", [("(a) is 1.", ""), ("", "(a) is 1.")]),
    ("It is 5, since 4 + 1 = 5.", [("It is 5, since ", "")]),
    ("a b c", [("", "d")]),
    ("甲乙丙丁戊己庚辛", [("甲乙", "二一")]),
])
def test_an_end_that_corrects_moves_or_cuts_something_is_a_check(command, before, changes):
    result = command("", [reply(1, solution=before), end(2, changes=changes)])
    assert result.status == 0
    assert FINAL in result.out


@pytest.mark.parametrize("before, changes", [
    ("(a) is 1.", [("", "(b) is 12345.")]),
    ("x = 1, y = 2", [("1", "3"), ("2", "4")]),
    ("It is:\n---------------\n5 | 6", [("5 | 6", "7 | 8")]),
    ("a b c", [("", "d e")]),
    ("1 1 1 1", [("1 1 1 1", "1 1 1 1 1 1")]),
    ("甲乙丙丁戊己庚辛", [("甲乙丙", "一二三")]),
])
def test_an_end_that_adds_a_part_or_replaces_many_words_is_no_check(command, before, changes):
    result = command("", [reply(1, solution=before), end(2, changes=changes), end(3)])
    assert result.status == 0
    assert "(not checked: more than a quarter of the solution is new)" in result.out
    assert FINAL in result.out


def test_an_end_with_a_major_error_at_a_limit_behind_another_end_is_checked_when_it_is_resumed(command):
    command("--max-thoughts 1", [end(1, solution="It is 5.")])
    at_the_limit = command("--resume --max-thoughts 2", [end(2, "A Major Error.", changes=[("5", "6")])])
    assert "not checked: it speaks of a Major Error" in at_the_limit.out
    assert f"{FINAL}It is 6.\n" in command("--resume", [end(3)]).out


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


STOPS = {
    "after a step": [("--step", 1)],
    "at a limit": [("--max-thoughts 1", 1)],
    "at two limits": [("--max-thoughts 1", 1), ("--resume --max-thoughts 2", 2)],
    "after two ends": [("", 1)],
    "after two ends and at a limit": [("", 1), ("--resume --max-thoughts 3", 3)],
}


@pytest.mark.parametrize("commands", STOPS.values(), ids=STOPS)
def test_a_run_that_stopped_without_a_check_goes_on_with_it(command, commands):
    for line, number in commands:
        replies = [end(number, solution=f"x = {number}"), end(number + 1, solution="x = 9")]
        stopped = command(line, replies)
        assert stopped.status == 0
    assert stopped.err.count("not checked: ") == 1
    hint = stopped.err.partition("python main.py ")[2]
    count = stopped.out.count("\nThought ") or 1
    checked = command(hint, [end(count + 1)])
    assert checked.err == ""
    assert FINAL in checked.out


@pytest.mark.parametrize("count", [1, 2])
def test_a_fork_of_a_solved_run_ends_with_a_check(think, command, count):
    think(end(2, solution="6"), end(3))
    fork = command(f"--after {count}", [end(count + 1)])
    assert fork.status == 0
    assert FINAL in fork.out


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


@pytest.mark.parametrize("thinking", [
    "Fine.",
    "## Evaluation of Thought 1:\nCorrect",
    "Evaluation of Thought 1: mostly correct",
    "Evaluation of Thought 1: Correctly done",
    "Evaluation of Thought 1 was too generous: Correct",
])
def test_a_thought_without_a_verdict_is_taken_with_one_line(think, thinking):
    result = think(reply_of(thinking), end(3))
    assert len(result.prompts) == 3
    assert result.err.count("\n") == 1
    assert '"Evaluation of Thought 1: Correct"' in result.err


# The limit


def test_at_the_limit_a_line_says_how_to_print_a_solution_that_may_not_be_checked(command):
    result = command("--max-thoughts 2", [FIRST, reply(2)])
    assert result.status == 1
    assert "SOLUTION" not in result.out
    line, last_line = result.err.splitlines()
    assert "checked" in line
    assert "--resume" in last_line
    hint = line.partition("python main.py ")[2]
    assert command(hint).out == "5\n"
