"""The trace: to the letter for the recorded runs, and how it shows texts, steps and changes."""

import re
import shutil

import pytest

from tests.replies import RECORDINGS, THREE_KEYS, WITH_SOLUTION
from tests.replies import end, recorded, recorded_problem, recorded_trace, reply

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
    assert "not checked: no solution" in warning


def test_a_resumed_run_prints_what_was_saved_and_then_what_is_new(run):
    shutil.copy(RECORDINGS / "planted-block.yaml", "planted.yaml")
    saved = run("--show", "planted.yaml").out
    resumed = run("--resume", "planted.yaml", replies=recorded("planted-block-5d"))
    assert resumed.out == saved + recorded_trace("planted-block-5d")


# Texts, steps and changes


@pytest.fixture
def trace(run):
    """trace(*replies) is the trace of a run with these replies."""

    def trace_run(*replies):
        return run(replies=replies).out

    return trace_run


def test_a_thought_keeps_its_indentation_but_not_the_empty_lines_around_it(trace):
    first = reply(1, "\n      42\n    1000\n\n    Sum: 1042\n\n")
    out = trace(first.replace("|-", "|2-"))
    assert "\n        42\n      1000\n\n      Sum: 1042\n\n" in out


def test_a_solution_keeps_its_indentation(trace):
    first = reply(1, solution="  a\n    b\n\nc")
    out = trace(first.replace("|-", "|2-"), end(2))
    assert "\n    a\n      b\n\n  c\n\n" in out
    assert "\n=== FINAL SOLUTION ===\n  a\n    b\n\nc\n=" in out


def headings(out):
    return re.findall("^Thought .*", out, re.MULTILINE)


def test_the_heading_of_a_thought_names_the_step_that_it_was_to_execute(trace):
    plan = ["[Pending] A\n(a)", "  [Done] B", "  [Pending] C\n(c)", "[Pending] Conclusion"]
    out = trace(reply(1, plan=plan), reply(2), reply(3))
    assert headings(out) == ["Thought 1:", "Thought 2: C (c)", "Thought 3: Conclusion"]


def test_the_heading_of_a_thought_names_the_conclusion_where_nothing_was_open(trace):
    out = trace(end(1, solution="42"), reply(2), end(3))
    assert headings(out) == ["Thought 1 (Conclusion):", "Thought 2: Conclusion", "Thought 3 (Conclusion):"]


def test_a_solution_in_the_place_of_another_is_headed_so(trace):
    second = reply(2, solution="(b) 2")
    out = trace(reply(1, solution="(a) 1"), second)
    assert "\n\nSolution:\n  (a) 1\n" in out
    assert "\n\nSolution (written anew):\n  (b) 2\n" in out


@pytest.mark.parametrize("fields", [{"changes": [("1", "")]}, {"solution": "2"}])
def test_a_solution_in_the_place_of_none_or_of_the_same_is_not_headed_so(trace, fields):
    first = reply(1, solution="1")
    third = reply(3, solution="2")
    out = trace(first, reply(2, **fields), third)
    assert out.count("\n\nSolution:\n  2\n") == 1


def test_a_solution_that_the_last_thought_writes_is_shown_once(trace):
    out = trace(end(1, solution="It is 42."))
    assert out.count("It is 42.") == 1


@pytest.mark.parametrize(
    "before, after, gone",
    [
        (
            "[Pending] A;   [Pending] B; [Pending] C\n(c); [Pending] Conclusion",
            "[Done] A; [Pending] Conclusion (now)",
            ["B", "C (c)"],
        ),
        (
            "[Done] A; [Pending] A; [Pending] A; [Pending] Conclusion",
            "[Done] A; [Pending] Conclusion (now)",
            ["A", "A"],
        ),
        (
            "[Pending] A; [Pending] B\n(b); [Pending] Conclusion",
            "[Pending] C;   [Pending] B (b);   [Done] A; [Pending] Conclusion (now)",
            [],
        ),
        (
            "[Done] A; [Pending] B; [Pending] Conclusion",
            "[Done] A; [Pending] Conclusion (now);   [Pending] B",
            [],
        ),
        (
            "[Done] A; [Pending] Conclusion;   [Pending] B",
            "[Done] A; [Pending] Conclusion (now)",
            [],
        ),
    ],
)
def test_a_step_that_is_gone_stands_at_the_end_of_the_plan_in_the_next_prompt_too(run, before, after, gone):
    first = reply(1, plan=before.split("; "))
    second = reply(2, plan=after.split("; "))
    result = run(replies=[first, second])
    for text in (result.out, result.prompts[2]):
        behind_plan = text.split("Conclusion (now)\n")[1]
        assert re.findall("- removed: (.*)", behind_plan) == gone


@pytest.mark.parametrize("again", ["[Done] Check", "  [Done] Check"])
def test_a_line_that_stands_in_a_plan_once_more_or_elsewhere_is_new_in_the_next_prompt(run, again):
    plan = ["[Done] A", again, "[Pending] Conclusion"]
    second = reply(2, plan=["[Done] Check", *plan])
    prompt = run(replies=[reply(1, plan=plan), second]).prompts[2]
    assert "(what changed):\n    - [Done] Check\n\n" in prompt


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


def test_a_change_has_a_sign_before_each_line_of_the_passage_and_of_what_replaces_it(trace):
    first = reply(1, solution="a\n    b\n\n      c\nd")
    changes = [
        ("    b\n\n      c", "  b\n\n    c"),
        ("", "    more"),
        ("d", ""),
    ]
    assert SHOWN_CHANGES in trace(first, reply(2, changes=changes))


SHOWN_PLAN = """
  - [Pending] A
    - [Verification Needed] Get x: x = 2, or 3 (why ?)
      - [Done] B
  - [Pending] Conclusion
"""


def test_a_plan_has_a_line_for_each_step_and_its_simplified_view_neither_results_nor_marks(run):
    plan = ["[Pending] A", "  [Verification Needed] Get\n x", "    [Done] B", "[Pending] Conclusion"]
    results = {"Get\n x": "x = 2,\n\n or 3"}
    marks = {"Get\n x": "why\n?"}
    first = reply(1, plan=plan, results=results, marks=marks)
    result = run(replies=[first])
    assert SHOWN_PLAN in result.out
    assert "- [Pending] A\n  - [Verification Needed] Get x\n    - [Done] B\n" in result.prompts[1]
