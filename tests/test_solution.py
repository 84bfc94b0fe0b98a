"""The solution that the thoughts write and change, and the ways in which a run ends."""

import re

import pytest

from tests.loopback import EVALUATIONS, WORK, reply

DONE = ["[Done] Solve", "[Done] Conclusion"]
END = reply(plan=DONE, more=False)
MAJOR = "A check.\n**Evaluation of Thought 1**: **Major Error** - the sum is 4, not 5."
UNSURE = ["[Verification Needed] Add", "[Done] Conclusion"]
CODE = "```python\ndef f():\n    if x:\n        a = 1\n        b = 2\n    return a\n```"
FIXED = CODE.replace("a = 1", "a = 3").replace("b = 2", "b = 4")


@pytest.mark.parametrize("solution, change, result", [
    ("x = 1, y = 2", ("1", "3"), "x = 3, y = 2"),
    ("One.", (None, "Two."), "One.\n\nTwo."),
    ("One two\n  three.", ("two three", "2 3"), "One 2 3."),
    ("a.b a+b", ("a.b", r"\1"), r"\1 a+b"),
    ("- a\n  b: 1\n- c", ("b: 1", "b: 2\nd: 3\n  e: 4"), "- a\n  b: 2\nd: 3\n  e: 4\n- c"),
    ("One.\n\nTwo.\n\nThree.", ("Two.", ""), "One.\n\nThree."),
    ("- a\n- b\n- c", ("- b", ""), "- a\n- c"),
    ("One two three.", ("two ", ""), "One  three."),
    ("One.\n\nTwo.", ("One.", ""), "Two."),
    ("One.\n\nTwo.", ("Two.", ""), "One."),
    (CODE, ("a = 1\n        b = 2", "a = 3\n        b = 4"), FIXED),  # as it stands
    (CODE, ("a = 1\nb = 2", "a = 3\nb = 4"), FIXED),  # moved to the left
    (CODE, ("if x:\n    a = 1\n    b = 2", "if x:\n    a = 3\n    b = 4"), FIXED),
    (CODE, ("if x:\n\n        a = 1\n        b = 2", "if x:\n        a = 3\n        b = 4"), FIXED),
    (CODE, ("a = 1 b = 2", "a = 3\n        b = 4"), FIXED),
    ("f:\n    a()\n    b()", ("f: a()\nb()", "g: a()\nb()"), "g: a()\nb()"),  # broken elsewhere
])
def test_a_change_replaces_adds_or_takes_out_a_passage(serve, run, solution, change, result):
    serve(reply(solution=solution), reply(changes=[change]), END)
    assert run("-q").out == f"{result}\n"


def test_a_first_line_that_is_indented_more_than_the_others_keeps_its_indentation(serve, run):
    addition = "    12\n  +  5\n----\n    17"
    first = reply(f"\n{addition}\n", solution=addition).replace("|-\n  \n ", "|2-\n\n ").replace("|-\n   ", "|2-\n   ")
    change = "solution_changes:\n  - old: |2-\n          12\n        +  5\n    new: |2-\n          13\n        +  4"
    serve(first, END.replace("needed: false", f"needed: false\n{change}"))
    out = run().out
    assert "Thought 1:\n      12\n    +  5\n  ----\n" in out and "\nSolution:\n      12\n    +  5\n  ----\n" in out
    assert run("--resume", "-q").out == addition.replace("12", "13").replace(" 5", " 4") + "\n"


def test_the_trace_shows_what_was_written_and_what_was_changed(serve, run):
    changed = reply(changes=[("is x.", "is\nx = 2."), ("The", ""), (None, "Done.")])
    serve(reply(solution="The answer\n\n  is x."), changed, reply(plan=DONE, more=False, solution="Two."))
    out = run().out
    assert f"{WORK.splitlines()[-1]}\n\nSolution:\n  The answer\n\n    is x.\n\nCurrent Plan Status:\n" in out
    assert "\n\nChanges to the Solution:\n  - is x.\n  + is\n    x = 2.\n  - The\n  + Done.\n\nCurrent Plan" in out
    assert out.count("Two.") == 1 and run("--resume", "-q").out == "Two.\n"


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("conclusion", ["Conclusion", "CONCLUSION: all", "**Conclusion**", "3. Conclusion"])
def test_a_plan_without_an_open_step_ends_the_run_whatever_the_flag_says(serve, run, conclusion, more):
    endpoint = serve(reply(solution="42"), reply(plan=["[done] Solve", f"[DONE] {conclusion}"], more=more))
    result = run()
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", 2)
    assert "\nThought 2 (Conclusion):\n" in result.out and "\nFinal Plan Status:\n  - [Done] Solve\n" in result.out


@pytest.mark.parametrize("thinking, solution", [
    ("Evaluation of Thought 1: Correct - x\n\nThe answer.\n\n  Details.", "The answer.\n\n  Details."),
    ("A check.\n**Evaluation of Thought 1: Correct** - x\nThe answer is 42.\n\nMore.", "The answer is 42.\n\nMore."),
    (f"{EVALUATIONS}\n\n  12\n+ 5", "  12\n+ 5"),
    (f"{MAJOR}\nThe sum is 4.", "The sum is 4."),
    ("The answer.", "The answer."),
])
def test_without_a_solution_the_thinking_after_the_last_evaluation_is_shown(serve, run, thinking, solution):
    serve(reply(), reply(thinking, DONE, more=False))
    result = run("-q")
    assert result.out == f"{solution}\n" and "Thought 2 ends the run without a `solution`" in result.err


@pytest.mark.parametrize("first, bad, reason", [
    ("x = 2", reply(changes=[("x = 3", "y")]), "'x = 3' occurs 0 times"),
    ("x = 2, then x = 25", reply(changes=[("x = 2", "y")]), "'x = 2' occurs 2 times"),
    ("aaa", reply(changes=[("aa", "b")]), "'aa' occurs 2 times"),
    (None, reply(changes=[("x", "y")]), "'x' occurs 0 times"),
    (None, reply(EVALUATIONS, DONE, more=False), "would end without a solution"),
    (None, reply(plan=DONE, changes=[(None, "x"), ("x", "")]), "would end without a solution"),
    ("5", reply(plan=["[Done] Solve"]), "not the Conclusion: return the whole plan"),
    ("5", reply(plan=["[Done] A", "[Done] Conclusions of a court"]), "'Conclusions of a court', not the Conclusion"),
    ("5", reply(more=False), "next_thought_needed is false, but the step 'Conclusion' is not Done"),
    ("5", reply(plan=["[Done] A", "  [Pending] B", "[Done] Conclusion"], more=False), "but the step 'B' is not Done"),
    ("5", reply(plan=UNSURE, more=False, marks={"Add": "wrong?"}), "but the step 'Add' is not Done"),
    ("5", reply(MAJOR, DONE, more=False), "put the solution right"),
    ("5", reply(MAJOR, DONE, more=False, changes=[("5", "6"), ("6", "5")]), "put the solution right"),
    ("5", reply(MAJOR, DONE, solution="5"), "put the solution right"),
    *[("5", reply(f"{begin} major error\nMore.", DONE, more=False), "put the solution right") for begin in (
        "Evaluation of Thought 1:\n\n ", "Evaluation of Thought 1 (sum): VERDICT:", "1. evaluation of thought 1 is a",
    )],
])
def test_what_is_wrong_half_done_or_refuted_is_asked_for_again_at_the_limit_too(serve, run, first, bad, reason):
    endpoint = serve(reply(solution=first), bad, reply(MAJOR, DONE, more=False, solution="4"))
    result = run("-q", "--max-thoughts", "2")
    assert (result.status, result.out, len(endpoint.requests)) == (0, "4\n", 3)
    assert reason in result.err and reason in endpoint.prompts[2]


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("plan", [["[Done] Add", "[Pending] Conclusion"], UNSURE])
def test_a_run_with_an_open_step_stops_at_the_thought_limit_without_a_solution(serve, run, limit, plan):
    endpoint = serve(*[reply(plan=plan, solution="half")] * 9)
    result = run("--max-thoughts", str(limit))
    assert (result.status, len(endpoint.requests)) == (1, limit)
    assert "FINAL SOLUTION" not in result.out and result.err.count("\n") == 1
    assert f"No solution after {limit} thought" in result.err and f"--max-thoughts {2 * limit}" in result.err


def last_plan(trace):
    return re.split(r"Plan \w+:\n", trace)[-1].split("\n\n")[0]


@pytest.mark.parametrize("plan, again, line", [
    (["[Done] Solve"], {}, "[Done] Solve: x = 2 (sign?)"),
    (["[Done] Solve"], {"Solve": "x = 3"}, "[Done] Solve: x = 3"),
    (["[Done] Solve"], {"marks": {"Solve": "why?"}}, "[Done] Solve: x = 2 (why?)"),
    (["[Verification Needed] Solve"], {}, "[Verification Needed] Solve"),
    (["[Done] Solve all"], {}, "[Done] Solve all"),
    (["[Done] All", "  [Done] Solve"], {}, "[Done] All\n    - [Done] Solve"),
])
def test_a_step_keeps_its_result_and_mark_only_if_it_is_the_same(serve, run, plan, again, line):
    first = reply(Solve="x = 2", marks={"Solve": "sign?"})
    serve(first, reply(plan=[*plan, "[Pending] Conclusion"], **again))
    assert last_plan(run("--max-thoughts", "2").out) == f"  - {line}\n  - [Pending] Conclusion\n{'-' * 50}"


def test_an_unchanged_step_keeps_its_sub_steps_and_their_results(serve, run):
    plan = ["[Pending] Solve", "  [Pending] Split", "    [Done] Find x", "  [Pending] Find y", "[Pending] Conclusion"]
    first, again = reply(plan=plan, **{"Find x": "x = 2"}), reply(plan=["[Pending] Solve", "[Pending] Conclusion"])
    serve(first, again, again)
    out = run("--max-thoughts", "3").out
    assert last_plan(out) == re.split(r"Plan \w+:\n", out)[1].split("\n\n")[0] and ": x = 2\n" in last_plan(out)
    assert run("--resume", "--max-thoughts", "4", "--show-prompt").status == 0  # It can be read again.


def test_equal_descriptions_keep_their_own_results(serve, run):
    plan = ["[Done] A", "  [Done] Check", "[Done] Check", "[Done] Check", "[Pending] Conclusion"]
    serve(reply(plan=plan, Check="no. %d") % (1, 2, 3), reply(plan=plan))
    assert re.findall("no. .", last_plan(run("--max-thoughts", "2").out)) == ["no. 1", "no. 2", "no. 3"]
