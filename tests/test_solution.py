"""The solution that the thoughts write and change, the plans that are taken, and what their steps keep."""

import pathlib

import pytest
import yaml

from tests.replies import DONE, PLAN, end, reply, reply_of


@pytest.fixture
def think(run):
    """think(*replies) is a run with -q whose first thought has written this solution, followed by these replies."""

    def think_on(*replies, solution="5"):
        first = reply(1, solution=solution)
        return run("-q", replies=[first, *replies])

    return think_on


@pytest.fixture
def change(think):
    """change(solution, *changes) is the final solution of a run that makes these changes."""

    def change_solution(solution, *changes):
        result = think(reply(2, changes=changes), end(3), solution=solution)
        assert result.err == ""
        return result.out.removesuffix("\n")

    return change_solution


@pytest.fixture
def reject(think):
    """reject(reply) is what stderr says of a reply that is asked for again."""

    def reject_reply(rejected, **situation):
        result = think(rejected, **situation)
        line, _ = result.err.splitlines()  # The model has no more replies.
        assert len(result.prompts) == 3
        return line

    return reject_reply


# Changes


CODE = "def f():\n    if x:\n        return 1\n    return 0\nall:\n\tcc abc a.c"
LIKE_MARKERS = " =======\n========\n======\n<<<<<<< HEAD\n> >>>>>>> REPLACE\n======= ="


@pytest.mark.parametrize("passage, new", [
    ("        return 1", "        y = 1\n        return y"),
    ("return 1\n    return 0", "return 1\n\n        return 0"),
    ("\tcc abc a.c", r"\1 \g<0>"),  # no patterns
    ("return 1", "return 2  "),  # as a line break in Markdown
    ("x:", LIKE_MARKERS),
])
def test_a_change_replaces_a_passage_to_the_letter(change, passage, new):
    assert change(CODE, (passage, new)) == CODE.replace(passage, new)


@pytest.mark.parametrize("passage, new, result", [
    ("a", "a\n", "a\n\n- b\n\nc"),
    ("- b", "\n- b", "a\n\n- b\n\nc"),
    ("- b\n", "- b", "a\n- b\nc"),
    ("- b\n", "", "a\nc"),
])
def test_empty_lines_at_the_edges_of_a_part_are_taken_to_the_letter(change, passage, new, result):
    assert change("a\n- b\n\nc", (passage, new)) == result


@pytest.mark.parametrize("new, result", [(" ", "3 5"), ("\n\n", "3\n\n5"), ("", "35")])
def test_white_space_takes_the_place_of_a_passage_and_nothing_takes_it_out(run, new, result):
    out = run(replies=[reply(1, solution="3_5"), reply(2, changes=[("_", new)]), end(3)]).out
    assert f"=== FINAL SOLUTION ===\n{result}\n====" in out
    assert ("\n  +" in out) == bool(new)


INDENTED = "def f(xs):\n    if xs:\n        total = sum(xs)\n\n        return total"
CHANGED = "def f(xs):\n    if xs:\n        return (\n            sum(xs)\n\n        )"


@pytest.mark.parametrize("margin", ["    ", "  ", ""])
def test_a_passage_may_lack_the_same_indentation_before_all_its_lines_which_the_new_ones_get(change, margin):
    passage = f"{margin}total = sum(xs)\n\n{margin}return total"
    new = f"{margin}return (\n{margin}    sum(xs)\n\n{margin})"
    assert change(INDENTED, (passage, new)) == CHANGED


def test_a_passage_without_its_indentation_can_be_taken_out(change):
    assert change(INDENTED, ("if xs:\n    total = sum(xs)\n", "")) == "def f(xs):\n        return total"


def test_changes_apply_in_order(change):
    assert change("x = 1, y = 2", ("1", "3"), ("3, y", "3, z")) == "x = 3, z = 2"


def test_a_change_without_a_passage_adds_a_paragraph_at_the_end(change):
    added = [("", "  Two.\nThree."), ("", "Four.")]
    assert change("One.", *added) == "One.\n\n  Two.\nThree.\n\nFour."


def test_what_is_added_has_no_empty_lines_at_its_edges_neither_in_the_solution_nor_in_the_trace(run):
    changes = [("", "\n\n  d\n\ne\n\n"), ("", "f")]
    out = run(replies=[reply(1, solution="a b c"), reply(2, changes=changes), end(3)]).out
    assert "\n\nChanges to the Solution:\n  +   d\n  +\n  + e\n  + f\n\n" in out
    assert "=== FINAL SOLUTION ===\na b c\n\n  d\n\ne\n\nf\n====" in out


def test_a_change_can_begin_the_solution(think):
    result = think(reply(2, changes=[("", "One.")]), end(3), solution=None)
    assert result.out == "One.\n"


def test_white_space_at_the_ends_of_lines_does_not_count_when_searching_and_stays_elsewhere(change):
    solution = "a \nif x:  \n    y\t\nz"
    assert change(solution, ("if x:\n    y  \nz", "w")) == "a \nw"


@pytest.mark.parametrize("solution, passage, result", [
    ("One.\n\nTwo.\n\nThree.", "Two.", "One.\n\nThree."),
    ("One.\n\nTwo.\n\nThree.", "One.", "Two.\n\nThree."),
    ("One.\n\nTwo.\n\nThree.", "Two.\n\nThree.", "One."),
    ("a\n\n\nb  \n \n\nc", "b", "a\n\n\nc"),
    ("a\nb\n\n\nc", "b", "a\n\n\nc"),
    ("- a\n  - b\n  - c", "- b", "- a\n  - c"),
    ("-\n  a\n  b\n    c", "  b", "-\n  a\n    c"),
    ("a\n\nb\n\n  c", "b", "a\n\n  c"),
    ("a\n  b", "a", "  b"),
    ("a b\nc\n\nd", "b\nc", "a \n\nd"),
    ("a\nb c\nd", "a\nb", " c\nd"),
])
def test_what_is_taken_out_leaves_no_gap_and_everything_else_as_it_was(change, solution, passage, result):
    assert change(solution, (passage, "")) == result


# Changes that are rejected


def reply_with_changes(text):
    """A reply with this text as its `solution_changes`."""
    return reply(2, solution=text).replace("solution:", "solution_changes:")


@pytest.mark.parametrize("first, last", [
    ("<<<<<<< SEARCH  ", ">>>>>>> REPLACE "),
    ("<<<<<<<", ">>>>>>>"),
    ("<<<<< SEARCH", ">>>>> REPLACE"),
    ("<<<<<<<<< SEARCH>", ">>>>>>>>> REPLACE>"),
])
def test_a_marker_needs_no_words_and_may_have_more_or_less_signs(think, first, last):
    blocks = f"{first}\nx\n=======\t\na\n{last}\n\n\n{first}\ny\n=======\nb\n{last}"
    assert think(reply_with_changes(blocks), end(3), solution="x y").out == "a b\n"


def test_the_last_marker_may_be_missing_where_the_next_block_begins_or_the_text_ends(think):
    blocks = "<<<<<<< SEARCH\nx\n=======\na\n<<<<<<< SEARCH\ny\n=======\nb"
    assert think(reply_with_changes(blocks), end(3), solution="x y").out == "a b\n"


BLOCK = "<<<<<<<\nx\n=======\na\n>>>>>>>"
FAULTY_BLOCKS = {
    "no block": "x is y.",
    "text before": f"So:\n{BLOCK}",
    "text behind": f"{BLOCK}\nSo.",
    "no beginning": "x\n=======\na\n>>>>>>>",
    "no divider": "<<<<<<<\nx\n>>>>>>>\n=======\na\n>>>>>>>",
    "no end before an empty line": "<<<<<<<\nx\n=======\na\n\n<<<<<<<\na\n=======\nb\n>>>>>>>",
    "no end and text": f"<<<<<<<\nx\n=======\na\n=======\nb",
    "ten signs": BLOCK.replace("<<<<<<<", "<<<<<<<<<<"),
    "indented marker": f"{BLOCK}\n <<<<<<<\na\n=======\nb\n>>>>>>>",
    "underlined title": "<<<<<<<\nx\n=======\nA title\n=======\n>>>>>>>",
    "empty parts": "<<<<<<<\n\n=======\n\n>>>>>>>",
}


@pytest.mark.parametrize("text", FAULTY_BLOCKS.values(), ids=FAULTY_BLOCKS)
def test_faulty_blocks_are_rejected_with_the_three_markers_or_to_write_the_solution_whole(reject, text):
    err = reject(reply_with_changes(text), solution="x")
    for words in ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "last", "write", "whole"):
        assert words in err


@pytest.mark.parametrize("solution, passage, times", [
    (None, "x", 0),
    ("X = 2", "x = 2", 0),
    ("x\n= 2", "x\n", 0),
    ("x\n\n= 2", "x\n= 2", 0),
    ("x = 2, then x = 25", "x = 2", 2),
    ("1 + 1 + 1", "1 + 1", 2),
    ("a\na \na", "a\na", 2),
    ("We wait, then stop", "the ", 0),
    ("-\n  a\n  b\n    a\n    b", "a\nb", 2),
    ("  a\n    b", "a\nb", 0),
])
def test_a_passage_that_is_not_there_once_is_rejected(reject, solution, passage, times):
    err = reject(reply(2, changes=[(passage, "y")]), solution=solution)
    assert " ".join(passage.split()) in err
    assert f" {times} " in err


def test_a_change_that_changes_nothing_is_rejected(reject):
    changes = [("Text", "Words"), ("| a |", "| a |  ")]
    err = reject(reply(2, changes=changes), solution="Text:\n| a |")
    assert "'| a |'" in err
    assert "nothing" in err


def test_a_thought_has_a_solution_or_changes_and_not_both(reject):
    assert "solution_changes" in reject(reply(2, solution="6", changes=[("5", "6")]))


@pytest.mark.parametrize("solution, changes, work", [
    (None, [], ""),
    ("5", [("5", "")], "Some work."),
])
def test_an_end_with_nothing_to_deliver_is_rejected(reject, solution, changes, work):
    last = reply_of(f"Evaluation of Thought 1: Correct\n{work}", DONE, changes=changes)
    assert "write the key solution" in reject(last, solution=solution)


def test_a_saved_run_may_hold_what_a_reply_may_not(command):
    path = pathlib.Path("run.yaml")
    command("--run run.yaml", [reply(1, solution="five"), end(2)])
    edited = path.read_text().replace("1: Correct", "1: Major Error")
    path.write_text(edited)
    result = command("--show run.yaml -q")
    assert result.status == 0
    assert result.out == "five\n"


# The plan


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("last", ["Conclusion", "CONCLUSION: all of it", "3. **Conclusion**"])
def test_a_plan_without_an_open_step_ends_the_run_whatever_the_flag_says(think, last, more):
    plan = ["[done] Solve", f"[DONE] {last}"]
    result = think(reply(2, plan=plan, more=more))
    assert result.out == "5\n"
    assert result.err == ""


@pytest.mark.parametrize("plan", [
    ["[Done] Conclusion", "[Pending] Conclusion"],
    ["[Done] Essay", "  [Done] Conclusion", "[Pending] Conclusion"],
])
def test_a_plan_with_an_open_conclusion_goes_on(think, plan):
    result = think(reply(2, plan=plan), end(3))
    assert len(result.prompts) == 3
    assert result.err == ""


@pytest.mark.parametrize("last", [
    "Conclusion of part (a)",
    "Step 3: Conclusion",
    "Schluss",
])
def test_a_plan_that_does_not_end_with_the_conclusion_is_rejected(reject, last):
    err = reject(end(2, plan=["[Done] Conclusion", f"[Done] {last}"]))
    assert f"'{last}'" in err
    assert "whole plan" in err


@pytest.mark.parametrize("plan, more, step", [
    (PLAN, False, "Conclusion"),
    (["[Verification Needed] Add", "[Done] Conclusion"], False, "Add"),
    (["[Done] A", "  [Pending] B", "[Done] Conclusion"], True, "B"),
    (["[Done] A", "[Done] Conclusion", "  [Pending] B"], True, "B"),
])
def test_an_end_before_a_step_is_done_is_rejected(reject, plan, more, step):
    assert f"'{step}'" in reject(reply(2, plan=plan, more=more))


# The steps


STEP = {
    "description": "Solve for x",
    "status": "Done",
    "result": "x = 2",
    "mark": "sign",
    "sub_steps": [{"description": "Try", "status": "Done", "result": "2"}],
}


@pytest.fixture
def last_plan(command):
    """last_plan(*replies) is the plan that is saved with the last of them."""

    def save_plan(*replies):
        command("--run run.yaml", replies)
        saved = yaml.safe_load(pathlib.Path("run.yaml").read_text())
        return saved["thoughts"][-1]["planning"]

    return save_plan


def solve():
    """A reply whose plan has STEP."""
    plan = ["[Done] Solve for x", "  [Done] Try", "[Pending] Conclusion"]
    return reply(1, plan=plan, results={"Solve for x": "x = 2", "Try": "2"}, marks={"Solve for x": "sign"})


@pytest.fixture
def return_step(last_plan):
    """return_step(*lines) is what STEP is after a thought that returns it as these lines."""

    def return_lines(*lines, **fields):
        again = reply(2, plan=[*lines, "[Pending] Conclusion"], **fields)
        step, _ = last_plan(solve(), again)
        return step

    return return_lines


def test_a_run_in_which_a_step_has_kept_its_sub_steps_can_be_resumed(return_step, command):
    return_step("[Done] Solve for x")
    resumed = command("--resume run.yaml", [end(3)])
    assert resumed.status == 0


@pytest.mark.parametrize("description", ["Solve for x", "Solve\nfor x"])
def test_a_step_keeps_what_is_not_given_anew_on_however_many_lines_it_stands(return_step, description):
    step = return_step(f"[Done] {description}")
    assert step == {**STEP, "description": description}


def test_a_sub_step_keeps_its_result(return_step):
    assert return_step("[done] Solve for x", "  [Done] Try") == STEP


def test_a_step_with_a_new_mark_keeps_its_result(return_step):
    step = return_step("[Done] Solve for x", marks={"Solve for x": "root"})
    assert step == {**STEP, "mark": "root"}
    assert list(step) == list(STEP)  # also in the file


def test_a_step_with_a_new_result_keeps_its_sub_steps_and_not_its_mark(return_step):
    step = return_step("[Done] Solve for x", results={"Solve for x": "3"})
    assert step["result"] == "3"
    assert step["sub_steps"] == STEP["sub_steps"]
    assert "mark" not in step


def test_the_keys_of_a_step_keep_their_order_also_if_one_is_given_later(last_plan):
    plan = ["[Done] A", "  [Done] B", "[Pending] Conclusion"]
    again = reply(2, plan=["[Done] A", "[Pending] Conclusion"], results={"A": "2"})
    step, _ = last_plan(reply(1, plan=plan), again)
    assert list(step) == ["description", "status", "result", "sub_steps"]


def test_an_empty_list_takes_the_sub_steps_out(last_plan):
    again = reply(2, plan=["[Done] Solve for x", "[Pending] Conclusion"])
    step, _ = last_plan(solve(), again.replace("status: Done", "status: Done\n    sub_steps: []"))
    assert step["result"] == "x = 2"
    assert "sub_steps" not in step


@pytest.mark.parametrize("line", ["[Pending] Solve for x", "[Done] Solve for y"])
def test_a_step_with_another_status_or_description_keeps_nothing(return_step, line):
    assert list(return_step(line)) == ["description", "status"]


def test_a_sub_step_keeps_its_result_when_its_parent_is_reworded(return_step):
    step = return_step("[Pending] Find x", "  [Done] Try")
    assert step["sub_steps"] == STEP["sub_steps"]


def test_a_step_keeps_its_result_wherever_it_is_moved(return_step):
    step = return_step("[Pending] Part 1", "  [Done] Solve for x")
    assert step["sub_steps"] == [STEP]


def test_of_several_steps_that_a_moved_one_could_be_it_is_none(last_plan):
    plan = ["[Done] Part 1", "  [Done] Check", "[Done] Part 2", "  [Done] Check", "[Pending] Conclusion"]
    first = reply(1, plan=plan, results={"Check": "fine"})
    part, _ = last_plan(first, reply(2, plan=["[Pending] Both", "  [Done] Check", "[Pending] Conclusion"]))
    assert part["sub_steps"] == [{"description": "Check", "status": "Done"}]


@pytest.mark.parametrize("part", [["[Done] Part 1"], ["[Done] Reworded", "  [Done] Check"]])
def test_a_new_step_takes_nothing_from_one_that_is_still_there_or_has_moved(last_plan, part):
    first = reply(1, plan=["[Done] Part 1", "  [Done] Check", "[Pending] Conclusion"], results={"Check": "fine"})
    second = reply(2, plan=[*part, "[Done] Part 2", "  [Done] Check", "[Pending] Conclusion"])
    part_1, part_2, _ = last_plan(first, second)
    assert part_1["sub_steps"][0]["result"] == "fine"
    assert "result" not in part_2["sub_steps"][0]


@pytest.mark.parametrize("plan", [
    ["[Done] Group", "  [Done] A", "[Done] B", "[Pending] Conclusion"],
    ["[Done] B", "[Done] Group", "  [Done] A", "[Pending] Conclusion"],
])
def test_the_sub_steps_that_a_moved_step_gets_back_are_left_for_no_other(last_plan, plan):
    first = reply(1, plan=["[Done] A", "  [Done] B", "[Pending] Conclusion"], results={"B": "fine"})
    steps = last_plan(first, reply(2, plan=plan))
    [group] = [step for step in steps if step["description"] == "Group"]
    assert str(steps).count("fine") == 1
    assert "fine" in str(group)


@pytest.mark.parametrize("now", [["[Done] Check"], ["[Done] Group", "  [Done] Check"]])
def test_of_two_steps_with_the_same_description_each_keeps_its_own_result_also_if_one_is_moved(last_plan, now):
    first = reply(1, plan=["[Done] Check", "[Done] Check", "[Pending] Conclusion"], results={"Check": "no. %d"})
    first %= 1, 2
    check, other, _ = last_plan(first, reply(2, plan=["[Done] Check", *now, "[Pending] Conclusion"]))
    assert check["result"] == "no. 1"
    assert "no. 2" in str(other)
