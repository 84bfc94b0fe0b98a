"""The solution that the thoughts write and change, the ways in which a run ends, and what the steps of a plan keep."""

import re

import pytest

import nodes
from tests.replies import EVALUATIONS, PLAN, literal, reply
from utils.errors import InvalidThought
from utils.reply import read_reply

DONE = ["[Done] Solve", "[Done] Conclusion"]
END = reply(plan=DONE, more=False)
CODE = "def f():\n    if x:\n        return 1\n    return 0\nall:\n\tcc a.c\n\tstrip a"
NO_MARKERS = " ======= \n========\n======\n<<<<<<< HEAD\n> >>>>>>> REPLACE\n======= ="


@pytest.mark.parametrize("solution, changes, result", [
    ("x = 1, y = 2", [("1", "3"), ("3, y", "3, z"), ("x", "")], " = 3, z = 2"),
    ("x = 1, y = 2", [("\n1\n\n", "\n\n3\n")], "x = 3, y = 2"),
    ("a.b a+b", [("a.b", r"\1 \g<0>")], r"\1 \g<0> a+b"),
    ("x", [("x", NO_MARKERS), (NO_MARKERS, f"-\n{NO_MARKERS}")], f"-\n{NO_MARKERS}"),
    ("One.", [("", "  Two.\nThree."), ("", "Four.")], "One.\n\n  Two.\nThree.\n\nFour."),
    (None, [("", "One.")], "One."),
    ("a\n b  \nc \nd", [("a \n b\nc", "e \n  f")], "e \n  f \nd"),  # white space at the ends of lines
    *[(CODE, [change], CODE.replace(*change)) for change in (
        ("        return 1", "        y = 1\n        return y"),
        ("    return 0", "return 0"),  # moved to the left
        ("return 1\n    return 0", "return 1\n\n        return 0"),
        ("\tstrip a", "\tstrip -s a\n\n\tls"),
        ("        return 1\n", ""),
    )],
    ("One.\n\nTwo.\n\nThree.", [("Two.", "")], "One.\n\nThree."),
    ("One.\n\nTwo.\n\nThree.", [("One.", "")], "Two.\n\nThree."),
    ("One.\n\nTwo.\n\nThree.", [("Two.\n\nThree.", "")], "One."),
    ("a\n\n\n\nb  \n\nc", [("b", "")], "a\n\n\n\nc"),  # The longer row of empty lines stays.
    ("a\nb\n\n\nc", [("b", "")], "a\n\n\nc"),
    ("- a\n  - b\n  - c", [("- b", "")], "- a\n  - c"),
    ("a b\nc d\ne", [("b\nc", "")], "a  d\ne"),
    ("a\nb c\nd", [("a\nb", "")], " c\nd"),
])
def test_a_change_replaces_adds_or_takes_out_a_passage_to_the_letter(run, solution, changes, result):
    assert run("-q", replies=[reply(solution=solution), reply(changes=changes), END]).out == f"{result}\n"


def with_changes(text):
    """A reply that ends the run with this text as its `solution_changes`."""
    return "\n".join([END.removesuffix("\n```\n"), *literal("solution_changes", text)])


def test_a_marker_needs_no_words_and_may_have_white_space_behind_it(run):
    text = "\n<<<<<<< SEARCH  \nx\n=======\t\na\n>>>>>>> REPLACE \n\n\n<<<<<<<\ny\n======= \nb\n>>>>>>>\n\n"
    assert run("-q", replies=[reply(solution="x y"), with_changes(text)]).out == "a b\n"


@pytest.mark.parametrize("text", [
    "x is y.", "x:\n<\nx\n=\na\n>", "<\nx\n=\na\n>\nSo.", "<\nx\n=\na\n>\nThen:\n<\na\n=\nb\n>",  # a text outside
    "x\n=\na\n>", "<\nx\n>", "<\nx\n=\na", "<\nx\n=\na\n<\na\n=\nb\n>", ">\nx\n=\na\n<",  # a marker that is missing
    "<\nx\n=\nA title\n=\n>", "<\nx\n=\n<\n>", "<\n\n=\n\n>", "<\nx\n=\na\n>\n<\n=\n>",  # one in a part; empty parts
])
def test_faulty_blocks_are_rejected_and_the_way_out_is_to_write_the_solution_whole(text):
    """Here < stands for <<<<<<< and so on."""
    with pytest.raises(InvalidThought, match=r"solution_changes.*\bsolution\b"):
        read_reply(with_changes(re.sub("(?m)^[<=>]$", lambda sign: 7 * sign[0], text)), 2, (), "x")


@pytest.mark.parametrize("solution, changes, times, is_near", [
    (None, [("x", "y")], 0, False),
    ("X = 2", [("x = 2", "y")], 0, False),
    ("x = 2", [("x", "y"), ("x = 2", "z")], 0, False),
    ("x = 2, then x = 25", [("x = 2", "y")], 2, False),
    ("a\na \naa", [("a\na", "b")], 2, False),  # They overlap.
    *[("One\n  two", [(passage, "")], 0, True) for passage in ("One\ntwo", "One\n\n  two", "One two", "One\n\ttwo")],
])
def test_a_passage_that_is_not_there_exactly_once_is_rejected(solution, changes, times, is_near):
    with pytest.raises(InvalidThought) as rejection:
        read_reply(reply(changes=changes), 2, (), solution)
    reason, passage = str(rejection.value), changes[-1][0]
    assert repr(" ".join(passage.split())) in reason and f" {times} " in reason and ("space" in reason) == is_near


def test_the_trace_shows_what_was_written_and_what_was_changed_with_its_indentation(run):
    column = "    12\n  +  5\n----"
    first = reply(f"\n{column}\n", solution=column).replace("|-\n  \n ", "|2-\n\n ").replace("|-\n   ", "|2-\n   ")
    changed = reply(changes=[("    12", "  14"), ("5\n----", ""), ("", "Done.")])
    out = run(replies=[first, changed, reply(plan=DONE, more=False, solution="2.")]).out
    assert out.count("\n      12\n    +  5\n  ----\n\n") == 2
    assert "Changes to the Solution:\n  -     12\n  +   14\n  - 5\n    ----\n  + Done.\n\n" in out
    assert out.count("2.") == 1


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("last", ["Conclusion", "CONCLUSION: all of it", "3. **Conclusion**", "Conclusion (check)"])
def test_a_plan_without_an_open_step_ends_the_run_whatever_the_flag_says(run, last, more):
    result = run(replies=[reply(solution="42"), reply(plan=["[done] Solve", f"[DONE] {last}"], more=more)])
    assert (result.status, result.err, len(result.prompts)) == (0, "", 2) and "(Conclusion)" in result.out


@pytest.mark.parametrize("plan, step", [
    (["[Pending] Conclusion of part (a)", "[Pending] Conclusion"], "Conclusion of part (a)"),
    (["[Pending] Essay", "  [Done] Body", "  [Pending] Conclusion", "[Pending] Conclusion"], "Conclusion"),
    (["[Done] Conclusion", "[Pending] Conclusion", "[Pending] Conclusion"], "Conclusion"),
])
def test_the_conclusion_is_the_last_step_and_no_other(run, plan, step):
    result = run(replies=[reply(plan=plan, solution="5"), END])
    turn = nodes.TURN["last step"].format(number=2, before=1, step=step)
    assert (result.status, result.err) == (0, "") and turn in result.prompts[1]


@pytest.mark.parametrize("first, bad, reason", [
    (None, {"thinking": EVALUATIONS, "plan": DONE}, "solution"),
    ("x", {"plan": DONE, "changes": [("x", "")]}, "solution"),
    *[("5", {"plan": ["[Done] Conclusion", f"[Done] {last}"]}, f"'{last}'") for last in (
        "Conclusion of part (a)", "Conclusion section of an essay", "Step 3: Conclusion", "Conclusions: all", "Schluss",
    )],
    ("5", {"plan": PLAN}, "'Conclusion'"),
    ("5", {"plan": ["[Verification Needed] Add", "[Done] Conclusion"], "marks": {"Add": "wrong?"}}, "'Add'"),
    ("5", {"plan": ["[Done] A", "  [Pending] B", "[Done] Conclusion"], "more": True}, "'B'"),
    ("5", {"plan": ["[Done] A", "[Done] Conclusion", "  [Pending] B"], "more": True}, "'B'"),
])
def test_an_end_that_is_none_is_asked_for_again_at_the_limit_too(run, first, bad, reason):
    replies = [reply(solution=first), reply(**{"more": False, **bad}), reply(plan=DONE, solution="4")]
    result = run("-q", "--max-thoughts", "2", replies=replies)
    assert (result.status, result.out, len(result.prompts)) == (0, "4\n", 3)
    assert reason in result.err and reason in result.prompts[2]


@pytest.mark.parametrize("thinking", [
    "Evaluation of Thought 1: Major Error - x", "## EVALUATION OF THOUGHT 1 -- *major error*",
    f"- **Evaluation of Thought 1**:\n  __Major Error__\n{EVALUATIONS}",
])
def test_a_run_ends_with_a_thought_that_finds_a_major_error_only_at_the_limit(run, thinking):
    """The solution need not change: it may have been the check that was wrong."""
    end = reply(thinking, DONE, more=False)
    result = run("-q", replies=[reply(solution="5"), end, reply(thinking), END])
    assert (result.out, len(result.prompts)) == ("5\n", 4) and "Major Error" in result.err and "Pending" in result.err
    result = run("-q", "--max-thoughts", "2", replies=[reply(solution="5"), end])
    assert (result.out, result.err.count("\n")) == ("5\n", 1) and "2" in result.err and "Major Error" in result.err


@pytest.mark.parametrize("thinking, is_verdict", [
    *[(f"Evaluation of Thought 1: {text}", True) for text in ("Correct, no Major Error", "minor issues\nMajor Error")],
    *[(f"Evaluation of Thought {rest}", False) for rest in (
        "1: no Major Error found", "1 (the sum): Major Error", "1: Major Errors", "1:\n\nMajor Error", "2: Major Error",
        "11: Major Error",
    )],
    *[(f"{before} Evaluation of Thought 1: Major Error", False) for before in ("So the", "1.")],
])
def test_anything_else_is_no_major_error_and_a_missing_verdict_is_said(run, thinking, is_verdict):
    result = run(replies=[reply(solution="5"), reply(thinking, DONE, more=False)])
    assert (result.status, len(result.prompts)) == (0, 2)
    assert result.err == "" if is_verdict else "Thought 1" in result.err and "Thought 2" in result.err


@pytest.mark.parametrize("thinking, solution", [
    (f"{EVALUATIONS}\n\n  12\n+ 5\n\n Details.", "  12\n+ 5\n\n Details."),
    ("A check.\n**Evaluation of Thought 1: Correct** - x\nThe answer is 42.\n\nMore.", "The answer is 42.\n\nMore."),
    ("The answer.", "The answer."),
])
def test_without_a_solution_the_thinking_after_the_last_evaluation_is_shown(run, thinking, solution):
    result = run("-q", replies=[reply(), reply(thinking, DONE, more=False)])
    assert result.out == f"{solution}\n" and "Thought 2" in result.err and "solution" in result.err


@pytest.mark.parametrize("limit", [1, 3])
def test_a_run_with_an_open_step_stops_at_the_thought_limit_without_a_solution(run, limit):
    result = run("--max-thoughts", str(limit), replies=[reply(plan=PLAN, solution="half")] * 9)
    assert (result.status, len(result.prompts), result.err.count("\n")) == (1, limit, 1)
    assert "FINAL SOLUTION" not in result.out and f"--max-thoughts {2 * limit}" in result.err


SUB_STEP = {"description": "Find x", "status": "Done", "result": "2"}
STEP = {"description": "Solve", "status": "Done", "result": "x = 2", "mark": "sign", "sub_steps": [SUB_STEP]}


@pytest.mark.parametrize("fields, step", [
    ("description: Solve, status: done", STEP),
    ("description: Solve, status: Done, result: '', mark: ~, sub_steps: ", STEP),
    ("description: Solve, status: Done, sub_steps: [{description: Find x, status: Done}]", STEP),
    ("description: Solve, status: Done, mark: root", {**STEP, "mark": "root"}),
    ("description: Solve, status: Done, result: 3", {**STEP, "result": "3", "mark": None}),
    ("description: Solve, status: Done, sub_steps: []", {**STEP, "sub_steps": None}),
    ("description: Solve, status: Pending", {"description": "Solve", "status": "Pending"}),
    ("description: Solve it, status: Done", {"description": "Solve it", "status": "Done"}),
    ("description: Find x, status: Done", {"description": "Find x", "status": "Done"}),  # below other parents
])
def test_a_step_that_is_the_same_keeps_what_is_not_given_anew(fields, step):
    text = reply().replace("description: |-\n      Solve\n    status: Done", f"{{{fields}}}")
    read = read_reply(text, 2, [STEP, {"description": "Conclusion", "status": "Pending"}])["planning"][0]
    assert list(read.items()) == [(key, value) for key, value in step.items() if value]


def test_equal_descriptions_keep_their_own_results_from_thought_to_thought(run):
    plan = ["[Done] A", "  [Done] Check", "[Done] Check", "[Done] Check", "[Pending] Conclusion"]
    replies = [reply(plan=plan, Check="no. %d") % (1, 2, 3), *[reply(plan=plan)] * 2]
    assert re.findall("no. .", run("--max-thoughts", "3", replies=replies).out) == ["no. 1", "no. 2", "no. 3"] * 3
