"""The trace: to the letter for the recorded runs, and how it shows texts, steps and changes."""

import shutil

import pytest

from tests.replies import RECORDINGS, THREE_KEYS, WITH_SOLUTION, end, recorded, recorded_problem, recorded_trace, reply
from utils.plan_format import format_plan, format_plan_for_prompt

pytestmark = pytest.mark.filterwarnings("error")  # PocketFlow warns of a node that is wired wrongly.


# Recorded runs


@pytest.mark.parametrize("name", WITH_SOLUTION)
def test_a_recorded_run_prints_its_trace_to_the_letter(run, name):
    result = run("--problem", recorded_problem(name), replies=recorded(name))
    assert result.out == recorded_trace(name)
    assert result.err == ""


@pytest.mark.parametrize("name", THREE_KEYS)
def test_a_recorded_run_without_a_solution_prints_its_trace_to_the_letter_and_says_so(run, name):
    result = run("--problem", recorded_problem(name), replies=recorded(name))
    assert result.out == recorded_trace(name)
    [warning] = result.err.splitlines()
    assert "`solution`" in warning


def test_a_run_that_is_stopped_and_resumed_prints_its_whole_trace(run):
    first, *others = recorded("die")
    run("--problem", recorded_problem("die"), "--step", replies=[first])
    assert run("--resume", replies=others).out == recorded_trace("die")


def test_a_resumed_run_prints_what_was_saved_and_then_what_is_new(run):
    shutil.copy(RECORDINGS / "planted-block.yaml", "planted.yaml")
    saved = run("--show", "planted.yaml").out
    resumed = run("--resume", "planted.yaml", replies=recorded("planted-block-5d"))
    assert resumed.out == saved + recorded_trace("planted-block-5d")


# Texts, steps and changes


def test_a_thought_keeps_its_indentation_but_not_the_empty_lines_around_it(run):
    thought = reply(1, "\n      42\n    1000\n\n    Sum: 1042\n\n").replace("|-", "|2-", 1)
    out = run(replies=[thought]).out
    assert "\n        42\n      1000\n\n      Sum: 1042\n\n" in out


def test_a_solution_keeps_its_indentation(run):
    first = reply(1, solution="  a\n    b\n\nc").replace("|-", "|2-")
    out = run(replies=[first, end(2)]).out
    assert "\n    a\n      b\n\n  c\n\n" in out
    assert "=\n  a\n    b\n\nc\n=" in out


def test_the_heading_of_a_thought_names_the_step_that_it_was_to_execute(run):
    plan = ["[Pending] A\n(a)", "  [Done] B", "  [Pending] C\n(c)", "[Pending] Conclusion"]
    out = run("--max-thoughts", "3", replies=[reply(1, plan=plan), reply(2), reply(3)]).out
    headings = [line for line in out.splitlines() if line.startswith("Thought ")]
    assert headings == ["Thought 1:", "Thought 2: C (c)", "Thought 3: Conclusion"]


def test_a_solution_in_the_place_of_another_is_headed_so(run):
    result = run(replies=[reply(1, solution="(a) 1"), reply(2, solution="(b) 2")])
    assert "\n\nSolution:\n  (a) 1\n" in result.out
    assert "\n\nSolution (written anew):\n  (b) 2\n" in result.out
    assert "anew" not in result.err  # The next thought checks it.


@pytest.mark.parametrize("second", [reply(2, changes=[("1", "")]), reply(2, solution="2")])
def test_a_solution_in_the_place_of_none_or_of_the_same_is_not_headed_so(run, second):
    out = run(replies=[reply(1, solution="1"), second, reply(3, solution="2")]).out
    assert out.count("\n\nSolution:\n  2\n") == 1


END, LAST = "[Pending] Conclusion", "[Pending] Conclusion (now)"


@pytest.mark.parametrize("before, after, gone", [
    (["[Done] A", "[Pending] B", "[Pending] C\n(c)", END], ["[Done] A", LAST], ["B", "C (c)"]),
    (["[Pending] A", "  [Pending] B", END], ["[Done] A", LAST], ["B"]),
    (["[Pending] A", "[Pending] B\n(b)", END], ["[Pending] C", "  [Pending] B (b)", "  [Done] A", LAST], []),
    (["[Done] A", END, "  [Pending] B"], ["[Done] A", LAST], []),
])
def test_a_step_that_is_nowhere_any_more_stands_at_the_end_of_the_plan_in_the_next_prompt_too(run, before, after, gone):
    result = run(replies=[reply(1, plan=before), reply(2, plan=after)])
    removed = [f"- removed: {description}\n" for description in gone]
    assert f"Conclusion (now)\n{''.join(f'  {line}' for line in removed)}-----" in result.out
    assert f"Conclusion (now)\n{''.join(f'    {line}' for line in removed)}\n" in result.prompts[2]


def test_a_solution_that_the_last_thought_writes_is_shown_once(run):
    out = run(replies=[end(1, solution="It is 42.")]).out
    assert out.count("It is 42.") == 1


SHOWN_CHANGES = """
  -     b
  -
  -       c
  +   b
  +
  +     c
  +     more
  - d

"""


def test_a_change_has_a_sign_before_each_line_of_the_passage_and_of_what_replaces_it(run):
    changes = [("    b\n\n      c", "  b\n\n    c"), ("", "    more"), ("d", "")]
    first = reply(1, solution="a\n    b\n\n      c\nd")
    out = run(replies=[first, reply(2, changes=changes)]).out
    assert SHOWN_CHANGES in out


# A plan as text


SUB_STEP = {
    "description": "Get\n x",
    "status": "Verification Needed",
    "result": "x = 2,\n\n or 3",
    "mark": "why\n?",
    "sub_steps": [{"description": "B", "status": "Done"}],
}
PLAN = [{"description": "A", "status": "Pending", "sub_steps": [SUB_STEP]}]


def test_format_plan_is_the_whole_plan_as_one_text_with_a_line_for_each_step():
    assert format_plan(PLAN) == "- [Pending] A\n  - [Verification Needed] Get x: x = 2, or 3 (why ?)\n    - [Done] B"


def test_the_simplified_view_of_a_plan_has_neither_results_nor_marks():
    assert format_plan_for_prompt(PLAN) == "- [Pending] A\n  - [Verification Needed] Get x\n    - [Done] B"
