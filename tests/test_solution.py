"""The solution that the thoughts write and change, and the ways in which a run ends."""

import re

import pytest

from tests.loopback import EVALUATIONS, WORK, reply

DONE = ["[Done] Solve", "[Done] Conclusion"]
CODE = "```python\ndef f():\n    if x:\n        a = 1\n        b = 2\n    return a\n```"


def printed_solution(trace):
    return trace.split("=== FINAL SOLUTION ===\n")[1].removesuffix(f"\n{'=' * 22}\n\n")


@pytest.mark.parametrize("solution, change, result", [
    ("x = 1, y = 2", ("1", "3"), "x = 3, y = 2"),
    ("One.", (None, "Two."), "One.\n\nTwo."),
    ("One two\n  three.", ("two three", "2 3"), "One 2 3."),
    ("One two three.", ("two\nthree", "2\n3"), "One 2\n3."),
    ("a.b a+b", ("a.b", r"\1"), r"\1 a+b"),
    ("One.\n\nTwo.\n\nThree.", ("Two.", ""), "One.\n\nThree."),
    ("- a\n- b\n- c", ("- b", ""), "- a\n- c"),
    ("One two three.", ("two ", ""), "One  three."),
    ("One.\n\nTwo.", ("One.", ""), "Two."),
    ("One.\n\nTwo.", ("Two.", ""), "One."),
])
def test_a_change_replaces_adds_or_takes_out_a_passage(serve, run, solution, change, result):
    serve(reply(solution=solution), reply(changes=[change]), reply(plan=DONE, more=False))
    assert printed_solution(run().out) == result


@pytest.mark.parametrize("old, new", [
    ("a = 1\n        b = 2", "a = 3\n        b = 4"),  # as it stands
    ("a = 1\nb = 2", "a = 3\nb = 4"),  # moved to the left
    ("if x:\n    a = 1\n    b = 2", "if x:\n    a = 3\n    b = 4"),
    ("if x:\n\n        a = 1\n        b = 2", "if x:\n        a = 3\n        b = 4"),
    ("a = 1 b = 2", "a = 3\n        b = 4"),
])
def test_the_further_lines_of_a_change_keep_the_indentation_of_the_passage(serve, run, old, new):
    serve(reply(solution=CODE), reply(changes=[(old, new)]), reply(plan=DONE, more=False))
    assert printed_solution(run().out) == CODE.replace("a = 1", "a = 3").replace("b = 2", "b = 4")


def test_a_first_line_that_is_indented_more_than_the_others_keeps_its_indentation(serve, run):
    addition = "    12\n  +  5\n----\n    17"
    first = reply(f"\n{addition}\n", solution=addition).replace("|-\n  \n ", "|2-\n\n ").replace("|-\n   ", "|2-\n   ")
    change = "solution_changes:\n  - old: |2-\n          12\n        +  5\n    new: |2-\n          13\n        +  4"
    serve(first, reply(plan=DONE, more=False).replace("needed: false", f"needed: false\n{change}"))
    out = run().out
    assert "Thought 1:\n      12\n    +  5\n  ----\n" in out and "\nSolution:\n      12\n    +  5\n  ----\n" in out
    assert printed_solution(out) == addition.replace("12", "13").replace(" 5", " 4")


@pytest.mark.parametrize("first, old, reason", [
    ("x = 2", "x = 3", "the passage 'x = 3' occurs 0 times in the solution, not once"),
    ("x = 2, then x = 25", "x = 2", "the passage 'x = 2' occurs 2 times in the solution, not once"),
    ("aaa", "aa", "occurs 2 times in the solution"),
    (None, "x", "the passage 'x' occurs 0 times in the solution, not once (there is no solution yet)"),
])
def test_a_passage_that_does_not_stand_there_exactly_once_is_asked_for_again(serve, run, first, old, reason):
    endpoint = serve(reply(solution=first), reply(changes=[(old, "new")]), reply(plan=DONE, more=False))
    result = run()
    assert result.status == 0 and reason in result.err and reason in endpoint.prompts[2]


def test_the_trace_shows_what_was_written_and_what_was_changed(serve, run):
    changed = reply(changes=[("is x.", "is\nx = 2."), ("The", ""), (None, "Done.")])
    serve(reply(solution="The answer\n\n  is x."), changed, reply(plan=DONE, more=False, solution="Two."))
    out = run().out
    assert f"{WORK.splitlines()[-1]}\n\nSolution:\n  The answer\n\n    is x.\n\nCurrent Plan Status:\n" in out
    assert "\n\nChanges to the Solution:\n  - is x.\n  + is\n    x = 2.\n  - The\n  + Done.\n\nCurrent Plan" in out
    assert out.count("Two.") == 1 and printed_solution(out) == "Two."


@pytest.mark.parametrize("more", [True, False])
def test_a_plan_without_an_open_step_ends_the_run_whatever_the_flag_says(serve, run, more):
    endpoint = serve(reply(solution="42"), reply(plan=["[Done] Solve", "[Done] CONCLUSION: all"], more=more))
    result = run()
    assert (result.status, len(endpoint.requests), printed_solution(result.out)) == (0, 2, "42")
    assert "\nThought 2 (Conclusion):\n" in result.out and "\nFinal Plan Status:\n" in result.out


@pytest.mark.parametrize("thinking, solution", [
    ("Evaluation of Thought 1: Correct - x\n\nThe answer.\n\n  Details.", "The answer.\n\n  Details."),
    ("Evaluation of Thought 1: Correct - x\nThe answer is 42.\n\nMore.", "The answer is 42.\n\nMore."),
    ("A check.\n**Evaluation of Thought 1: Correct** - x\nThe answer.", "The answer."),
    (f"{EVALUATIONS}\n\n  12\n+ 5", "  12\n+ 5"),
    ("The answer.", "The answer."),
])
def test_without_a_written_solution_it_is_what_stands_behind_the_last_evaluation(serve, run, thinking, solution):
    serve(reply(), reply(thinking, DONE, more=False))
    assert printed_solution(run().out) == solution


@pytest.mark.parametrize("bad, reason", [
    (reply(EVALUATIONS, DONE, more=False), "would end without a solution"),
    (reply(plan=DONE, changes=[(None, "x"), ("x", "")]), "would end without a solution"),
    (reply(plan=["[Done] Solve"]), "is not the Conclusion: return the whole plan"),
    (reply(more=False), "next_thought_needed is false, but the step 'Conclusion' is not Done"),
    (reply(plan=["[Done] A", "  [Pending] B", "[Done] Conclusion"], more=False), "but the step 'B' is not Done"),
])
def test_a_run_does_not_end_with_half_of_the_work(serve, run, bad, reason):
    endpoint = serve(reply(), bad, reply("The answer.", DONE, more=False))
    result = run()
    assert (result.status, len(endpoint.requests)) == (0, 3)
    assert reason in result.err and result.out.count("FINAL SOLUTION") == 1


@pytest.mark.parametrize("limit", [1, 3])
def test_a_run_stops_at_the_thought_limit_without_a_solution(serve, run, limit):
    endpoint = serve(*[reply(solution="half")] * 9)
    result = run("--max-thoughts", str(limit))
    assert (result.status, len(endpoint.requests)) == (1, limit)
    assert "FINAL SOLUTION" not in result.out
    assert f"No solution after {limit} thought" in result.err and f"--max-thoughts {2 * limit}" in result.err


def test_the_last_allowed_thought_may_conclude_with_open_steps(serve, run):
    serve(reply(solution="42"), reply(more=False))
    result = run("--max-thoughts", "2")
    assert result.status == 0 and printed_solution(result.out) == "42"


def last_plan(trace):
    return re.split(r"Plan \w+:\n", trace)[-1].split("\n\n")[0]


@pytest.mark.parametrize("plan, again, line", [
    (["[Done] Solve"], {}, "[Done] Solve: x = 2 (sign?)"),
    (["[Done] Solve"], {"Solve": "x = 3"}, "[Done] Solve: x = 3"),
    (["[Done] Solve"], {"Solve": "NULL"}, "[Done] Solve: NULL"),
    (["[Done] Solve"], {"marks": {"Solve": "why?"}}, "[Done] Solve: x = 2 (why?)"),
    (["[Verification Needed] Solve"], {}, "[Verification Needed] Solve"),
    (["[Done] Solve all"], {}, "[Done] Solve all"),
    (["[Done] All", "  [Done] Solve"], {}, "[Done] All\n    - [Done] Solve"),
])
def test_a_step_keeps_its_result_and_mark_only_if_it_is_the_same(serve, run, plan, again, line):
    first = reply(Solve="x = 2", marks={"Solve": "sign?"})
    serve(first, reply(plan=[*plan, "[Pending] Conclusion"], **again))
    assert last_plan(run("--max-thoughts", "2").out) == f"  - {line}\n  - [Pending] Conclusion\n{'-' * 50}"


@pytest.mark.parametrize("steps", [
    ["[Done] A", "  [Done] Check", "[Done] B", "  [Done] Check"], ["[Done] Check", "[Done] A", "[Done] Check"]
])
def test_equal_descriptions_keep_their_own_results(serve, run, steps):
    plan = [*steps, "[Pending] Conclusion"]
    first = reply(plan=plan, Check="first").replace("first", "second", 1)
    serve(first, reply(plan=[*plan[:-1], "[Done] Conclusion"], more=False))
    out = last_plan(run().out)
    assert out.index("Check: second") < out.index("Check: first")
