"""The trace, to the letter."""

import shutil

import pytest

from tests.replies import RECORDINGS, recorded, recorded_problem, recorded_trace, reply
from utils.plan_format import format_plan_for_prompt

THREE_KEYS = ["die", "die-2", "intervals", "trains", "trains-2"]  # The cookbook's format, which has no solution.
RUNS = [*THREE_KEYS, "machine-3", "readme-3", "letter-3", "koushi-4", "bughunt-4d"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_prints_its_trace_to_the_letter(run, name):
    result = run("--problem", recorded_problem(name), replies=recorded(name))
    assert result.out == recorded_trace(name)
    assert (result.status, len(result.prompts)) == (0, len(recorded(name)))
    assert len(result.err.splitlines()) == (name in THREE_KEYS)


def test_a_run_that_is_resumed_prints_what_was_saved_and_what_is_new_to_the_letter(run):
    shutil.copy(RECORDINGS / "planted-block.yaml", "planted.yaml")
    saved = run("--show", "planted.yaml").out
    result = run("--resume", "planted.yaml", replies=recorded("planted-block-5d"))
    assert (result.status, result.out, result.err) == (0, saved + recorded_trace("planted-block-5d"), "")
    assert run("--show", "planted.yaml").out == result.out


def test_texts_and_changes_keep_their_indentation_and_a_step_is_one_line(run):
    plan = ["[Pending] Solve\n\n  it", "  [Verification Needed] Find x", "  [Pending] Check", "[Pending] Conclusion"]
    parts = {"plan": plan, "marks": {"Find x": "Is it\n  2?"}, "Find x": "x = 2,\n\n  or 3"}
    changes = [("    b\n      c", "  b\n\n    c"), ("", "    more"), ("d", "")]
    out = run("--problem", "x", replies=[
        reply("\n    42\n  1000\n \n  Sum: 1042\n\n", solution="  a\n    b\n      c\nd", **parts).replace("|-", "|2-"),
        reply("Evaluation of Thought 1: Correct - x", plan, changes=changes),
        reply("Evaluation of Thought 2: Correct - x", ["[Done] Conclusion"], more=False, changes=[("a", "A")]),
    ]).out
    plan_text = """
Current Plan Status:
  - [Pending] Solve it
    - [Verification Needed] Find x: x = 2, or 3 (Is it 2?)
    - [Pending] Check
  - [Pending] Conclusion
--------------------------------------------------

"""
    assert out.count(plan_text) == 2
    assert "Thought 1:\n    42\n  1000\n\n  Sum: 1042\n\nSolution:\n    a\n      b\n        c\n  d\n\nCurrent" in out
    assert "Changes to the Solution:\n  -     b\n          c\n  +   b\n\n        c\n  +     more\n  - d\n\n" in out
    assert "\n=== FINAL SOLUTION ===\n  A\n  b\n\n    c\n\n    more\n======================\n\n" in out


def test_a_solution_that_the_concluding_thought_writes_is_shown_once(run):
    out = run("--problem", "x", replies=[reply(plan=["[Done] Conclusion"], more=False, solution="42")]).out
    assert out.count("42") == 1


def test_the_simplified_view_of_a_plan_has_neither_results_nor_marks():
    sub_step = {"description": "Find\n x", "status": "Verification Needed", "result": "x = 2", "mark": "why?"}
    plan = [{"description": "Solve", "status": "Pending", "sub_steps": [sub_step]}]
    assert format_plan_for_prompt(plan) == "- [Pending] Solve\n  - [Verification Needed] Find x"
