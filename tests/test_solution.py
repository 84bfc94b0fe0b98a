"""The solution that the thoughts write and change, what a plan's steps keep, and what ends a run or keeps it going."""

import pathlib
import shlex
import shutil

import pytest
import yaml

from tests.replies import DONE, PLAN, end, reply, reply_of
from utils.thought import STATUSES


@pytest.fixture
def think(run):
    """think(*replies) is a run with -q whose first thought has written this solution, followed by these replies."""

    def think_on(*replies, solution="5", limit=30):
        first = reply(1, solution=solution)
        return run("-q", "--max-thoughts", str(limit), replies=[first, *replies])

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
    """reject(*replies) is what stderr says of the last of these replies, which is asked for again."""

    def reject_reply(*replies, **situation):
        mended = end(len(replies) + 1, changes=[("", "mended")])
        result = think(*replies, mended, **situation)
        assert result.out.endswith("mended\n")
        assert len(result.prompts) == len(replies) + 2
        assert result.err.count("\n") == 1
        return result.err

    return reject_reply


# Changes


CODE = "def f():\n    if x:\n        return 1\n    return 0\nall:\n\tcc abc a.c\n\tstrip a"
LIKE_MARKERS = " =======\n========\n======\n<<<<<<< HEAD\n> >>>>>>> REPLACE\n======= ="


@pytest.mark.parametrize(
    "passage, new",
    [
        ("        return 1", "        y = 1\n        return y"),
        ("    return 0", "return 0"),
        ("return 1\n    return 0", "return 1\n\n        return 0"),
        ("\tstrip a", "\tstrip -s a\n\n\tls"),
        ("a.c", r"\1 \g<0>"),  # no patterns
        ("tri", "ro"),  # a piece of a word
        ("x:", LIKE_MARKERS),
    ],
)
def test_a_change_replaces_a_passage_to_the_letter(change, passage, new):
    assert change(CODE, (passage, new)) == CODE.replace(passage, new)


def test_changes_apply_in_order(change):
    assert change("x = 1, y = 2", ("1", "3"), ("3, y", "3, z")) == "x = 3, z = 2"


def test_a_change_without_a_passage_adds_a_paragraph_at_the_end(change):
    added = [("", "  Two.\nThree."), ("", "Four.")]
    assert change("One.", *added) == "One.\n\n  Two.\nThree.\n\nFour."


def test_a_change_can_begin_the_solution(change):
    assert change(None, ("", "One.")) == "One."


def test_empty_lines_around_the_parts_of_a_change_do_not_count(change):
    assert change("x = 1, y = 2", ("\n1\n\n", "\n \n3\n")) == "x = 3, y = 2"


def test_white_space_at_the_end_of_a_part_does_not_count(change):
    assert change("The numbers are 7.", ("The numbers are ", "The only ones are  ")) == "The only ones are 7."


def test_white_space_at_the_ends_of_lines_does_not_count_when_searching_and_stays_elsewhere(change):
    solution = "a \nif x:  \n    y\t\nz"
    assert change(solution, ("if x:\n    y  \nz", "w")) == "a \nw"


@pytest.mark.parametrize(
    "solution, passage, result",
    [
        ("One.\n\nTwo.\n\nThree.", "Two.", "One.\n\nThree."),
        ("One.\n\nTwo.\n\nThree.", "One.", "Two.\n\nThree."),
        ("One.\n\nTwo.\n\nThree.", "Two.\n\nThree.", "One."),
        ("a\n\n\nb  \n \n\nc", "b", "a\n\n\nc"),
        ("a\n\n  b\n  c", "b", "a\n\n  c"),
        ("a\nb\n\n\nc", "b", "a\n\n\nc"),
        ("- a\n  - b\n  - c", "- b", "- a\n  - c"),
    ],
)
def test_lines_that_are_taken_out_leave_no_gap(change, solution, passage, result):
    assert change(solution, (passage, "")) == result


@pytest.mark.parametrize(
    "solution, passage, result",
    [
        ("a b\nc\n\nd", "b\nc", "a \n\nd"),
        ("a\nb c\nd", "a\nb", " c\nd"),
    ],
)
def test_a_part_of_a_line_is_taken_out_alone(change, solution, passage, result):
    assert change(solution, (passage, "")) == result


# Changes that are rejected


def reply_with_changes(text):
    """A reply with this text as its `solution_changes`."""
    return reply(2, solution=text).replace("solution:", "solution_changes:")


def test_a_marker_needs_no_words_and_may_have_white_space_behind_it(think):
    first = "<<<<<<< SEARCH  \nx\n=======\t\na\n>>>>>>> REPLACE "
    second = "<<<<<<<\ny\n======= \nb\n>>>>>>>"
    changes = reply_with_changes(f"{first}\n\n\n{second}")
    assert think(changes, end(3), solution="x y").out == "a b\n"


BLOCK = "<<<<<<<\nx\n=======\na\n>>>>>>>"
FAULTY_BLOCKS = {
    "no block": "x is y.",
    "text before": f"So:\n{BLOCK}",
    "text between": f"{BLOCK}\nThen:\n<<<<<<<\na\n=======\nb\n>>>>>>>",
    "text behind": f"{BLOCK}\nSo.",
    "no beginning": "x\n=======\na\n>>>>>>>",
    "no divider": "<<<<<<<\nx\n>>>>>>>\n=======\na\n>>>>>>>",
    "no end": "<<<<<<<\nx\n=======\na",
    "no end before the next": "<<<<<<<\nx\n=======\na\n<<<<<<<\na\n=======\nb\n>>>>>>>",
    "indented marker": f"{BLOCK}\n <<<<<<<\na\n=======\nb\n>>>>>>>",
    "underlined title": "<<<<<<<\nx\n=======\nA title\n=======\n>>>>>>>",
    "marker as a part": "<<<<<<<\nx\n=======\n<<<<<<<\n>>>>>>>",
    "empty parts": "<<<<<<<\n\n=======\n\n>>>>>>>",
    "empty block behind another": f"{BLOCK}\n<<<<<<<\n=======\n>>>>>>>",
}


@pytest.mark.parametrize("text", FAULTY_BLOCKS.values(), ids=FAULTY_BLOCKS)
def test_faulty_blocks_are_rejected_and_the_way_out_is_to_write_the_solution_whole(reject, text):
    err = reject(reply_with_changes(text), solution="x")
    assert "solution_changes" in err
    assert "write" in err  # the key solution, whole


@pytest.mark.parametrize(
    "solution, passage, times",
    [
        (None, "x", 0),
        ("X = 2", "x = 2", 0),
        ("x = 2, then x = 25", "x = 2", 2),
        ("aaa", "aa", 2),
    ],
)
def test_a_passage_that_is_not_there_once_is_rejected(reject, solution, passage, times):
    err = reject(reply(2, changes=[(passage, "y")]), solution=solution)
    assert f"'{passage}'" in err
    assert f" {times} " in err
    assert "space" not in err


@pytest.mark.parametrize("passage", ["One\n\ntwo", "One\n  two", "One two"])
def test_a_passage_that_is_there_but_for_spaces_and_line_breaks_is_rejected_with_that(reject, passage):
    err = reject(reply(2, changes=[(passage, "")]), solution="One\n\n  two")
    assert " 0 " in err
    assert "space" in err


@pytest.mark.parametrize("new", ["| a |", "\n| a |", "| a |  \n"])
def test_a_change_that_changes_nothing_is_rejected_and_told_to_take_in_a_line_that_stays(reject, new):
    changes = [("Text", "Words"), ("| a |", new)]
    err = reject(reply(2, changes=changes), solution="Text:\n| a |")
    assert "'| a |'" in err
    assert "stays" in err


def test_a_thought_has_a_solution_or_changes_and_not_both(reject):
    assert "solution_changes" in reject(reply(2, solution="6", changes=[("5", "6")]))


# The end


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("last", ["Conclusion", "CONCLUSION: all of it", "3. **Conclusion**", "Conclusion (check)"])
def test_a_plan_without_an_open_step_ends_the_run_whatever_the_flag_says(think, last, more):
    plan = ["[done] Solve", f"[DONE] {last}"]
    result = think(reply(2, plan=plan, more=more))
    assert result.out == "5\n"
    assert result.err == ""


@pytest.mark.parametrize(
    "plan",
    [
        ["[Done] Conclusion of part (a)", "[Pending] Conclusion"],
        ["[Done] Essay", "  [Done] Conclusion", "[Pending] Conclusion"],
        ["[Done] Conclusion", "[Pending] Conclusion"],
    ],
)
def test_no_step_but_the_last_is_the_conclusion(think, plan):
    result = think(reply(2, plan=plan), end(3))
    assert len(result.prompts) == 3
    assert result.err == ""


@pytest.mark.parametrize("status", sorted({*STATUSES} - {"Done"}))
def test_a_conclusion_with_any_other_status_does_not_end_the_run(think, status):
    """A status that is added one day is no way around the check."""
    plan = ["[Done] Solve", f"[{status}] Conclusion"]
    result = think(reply(2, plan=plan), end(3))
    assert len(result.prompts) == 3


@pytest.mark.parametrize(
    "last",
    ["Conclusion of part (a)", "Conclusion section", "Step 3: Conclusion", "Conclusions: all", "Schluss"],
)
def test_a_plan_that_does_not_end_with_the_conclusion_is_rejected(reject, last):
    err = reject(end(2, plan=["[Done] Conclusion", f"[Done] {last}"]))
    assert f"'{last}'" in err
    assert "whole plan" in err


@pytest.mark.parametrize(
    "plan, more, step",
    [
        (PLAN, False, "Conclusion"),
        (["[Verification Needed] Add", "[Done] Conclusion"], False, "Add"),
        (["[Done] A", "  [Pending] B", "[Done] Conclusion"], True, "B"),
        (["[Done] A", "[Done] Conclusion", "  [Pending] B"], True, "B"),
    ],
)
@pytest.mark.parametrize("limit", [2, 30])
def test_an_end_before_a_step_is_done_is_rejected_at_the_limit_too(reject, plan, more, step, limit):
    assert f"'{step}'" in reject(reply(2, plan=plan, more=more), limit=limit)


def test_an_end_without_a_solution_is_rejected(reject):
    assert "write" in reject(reply_of("Evaluation of Thought 1: Correct", DONE), solution=None)


def test_an_end_with_a_solution_that_changes_have_emptied_is_rejected(reject):
    assert "write" in reject(end(2, changes=[("5", "")]))


@pytest.mark.parametrize(
    "thinking, solution",
    [
        ("Evaluation of Thought 1: Correct\n\n  12\n+ 5\n\n Details.", "  12\n+ 5\n\n Details."),
        ("A check.\n**Evaluation of Thought 1: Correct** - x\nIt is 42.\n\nMore.", "It is 42.\n\nMore."),
        ("12\n+ 5", "12\n+ 5"),
    ],
)
def test_without_a_solution_the_thinking_behind_the_last_evaluation_is_shown(think, thinking, solution):
    result = think(reply_of(thinking, DONE), solution=None)
    assert result.out == f"{solution}\n"
    assert "Thought 2" in result.err
    assert "`solution`" in result.err


# Verdicts


@pytest.mark.parametrize(
    "line",
    [
        "Evaluation of Thought 1: Major Error - x",
        "## EVALUATION OF THOUGHT 1 -- *major error*",
        "- Evaluation of **Thought 1**: __Major Error__",
        "Evaluation  of Thought #1: Major Error",
    ],
)
def test_a_major_error_keeps_the_run_going(reject, line):
    err = reject(reply_of(f"A check.\n{line}", DONE))
    assert "Major Error" in err
    assert "Pending" in err


def test_a_major_error_in_an_older_thought_keeps_the_run_going(reject):
    thinking = "Evaluation of Thought 1: Major Error\nEvaluation of Thought 2: Correct"
    assert "Major Error" in reject(reply(2), reply_of(thinking, DONE))


def test_a_major_error_is_taken_while_the_conclusion_is_pending(think):
    result = think(reply_of("Evaluation of Thought 1: Major Error"), end(3))
    assert len(result.prompts) == 3
    assert result.err == ""


def test_at_the_limit_a_major_error_is_taken_and_said(think):
    thinking = "Evaluation of Thought 1: Major Error\nEvaluation of Thought 2: Correct"
    result = think(reply(2), reply_of(thinking, DONE), limit=3)
    assert result.out == "5\n"
    assert result.err.count("\n") == 1
    assert "Thought 3" in result.err
    assert "Major Error" in result.err


@pytest.mark.parametrize(
    "thinking",
    [
        "Evaluation of Thought 1: Correct, no Major Error",
        "evaluation of thought 1: minor issues\nMajor Error",
        "Evaluation of Thought 1: Correct\nEvaluation of Thought 2: Major Error",
        "Evaluation of Thought 1: Correct\nSo the Evaluation of Thought 1: Major Error",
    ],
)
def test_words_elsewhere_are_no_major_error(think, thinking):
    result = think(reply_of(thinking, DONE))
    assert result.out == "5\n"
    assert result.err == ""


@pytest.mark.parametrize(
    "rest",
    [" 1: Fehler", " 1: mostly correct", " 1: no Major Error", " 1 (x): Correct", " 1", "s 1 and 2: Correct"],
)
def test_an_evaluation_without_a_verdict_on_its_line_is_rejected_with_the_three_words(reject, rest):
    line = f"Evaluation of Thought{rest}"
    err = reject(reply(2), reply_of(f"{line}\nCorrect\nEvaluation of Thought 2: Correct"))
    assert f"'{line}'" in err
    assert "Correct, Minor Issues or Major Error" in err


@pytest.mark.parametrize(
    "thinking",
    [
        "Fine.",
        "So the Evaluation of Thought 1: Correct",
        "1. Evaluation of Thought 1: Fehler",
        "Evaluation of Thought 11: Fehler",
        f"Evaluation of Thought {4301 * '1'}: Fehler",
    ],
)
def test_a_last_thought_without_an_evaluation_is_taken_and_said_to_be_unchecked(think, thinking):
    result = think(reply_of(thinking, DONE))
    assert result.out == "5\n"
    assert "Thought 2" in result.err
    assert '"Evaluation of Thought 1: Correct"' in result.err
    assert "ends" in result.err


def test_a_heading_before_a_verdict_is_no_evaluation(think):
    result = think(reply_of("## Evaluation of Thought 1:\nA check.\nEvaluation of Thought 1: Correct", DONE))
    assert result.out == "5\n"
    assert result.err == ""


@pytest.mark.parametrize("heading, number", [
    ("Evaluation of Thought 1: none", 1),
    ("Evaluation of Thought 1: none", 2),
    ("# Evaluation of Thought 1", 2),
    ("# Evaluation of Thought 2", 1),
])
def test_a_line_with_other_words_or_without_a_verdict_elsewhere_is_an_evaluation(reject, heading, number):
    thinking = f"{heading}\nEvaluation of Thought {number}: Correct"
    assert f"'{heading}'" in reject(reply(2), reply_of(thinking))


def test_a_first_thought_may_speak_of_the_evaluation_of_thought_0(run):
    result = run("-q", replies=[reply_of("Evaluation of Thought 0: none"), end(2, changes=[("", "5")])])
    assert result.out == "5\n"
    assert result.err == ""


def test_an_end_with_a_solution_written_anew_is_taken_and_said_to_be_unchecked(think):
    result = think(end(2, solution="6"))
    assert result.out == "6\n"
    assert result.err.count("\n") == 1
    assert "Thought 2" in result.err
    assert "anew" in result.err


def test_a_thought_on_the_way_without_an_evaluation_is_taken_and_said(think):
    result = think(reply(2), reply_of("Evaluation of Thought 1: Correct"), end(4))
    assert result.err.count("\n") == 1
    assert '"Evaluation of Thought 2: Correct"' in result.err
    assert "ends" not in result.err


@pytest.mark.parametrize(
    "written, edited",
    [("six", "five"), ("2: Correct", "2: Major Error"), ("2: Correct", "2: Fehler")],
)
def test_a_saved_run_may_hold_what_a_reply_may_not(run, written, edited):
    path = pathlib.Path("run.yaml")
    run("--run", "run.yaml", replies=[reply(1, solution="five"), reply(2, changes=[("five", "six")]), end(3)])
    path.write_text(path.read_text().replace(written, edited))
    result = run("--show", "run.yaml", "-q")
    assert result.status == 0
    assert result.err == ""


# The limit


@pytest.mark.parametrize("limit", [1, 3])
def test_a_run_with_an_open_step_stops_at_the_limit_without_a_solution(run, limit):
    result = run("--max-thoughts", str(limit), replies=map(reply, range(1, 9)))
    assert result.status == 1
    assert len(result.prompts) == limit
    assert "FINAL SOLUTION" not in result.out
    assert result.err.count("\n") == 1
    assert f"--max-thoughts {2 * limit}" in result.err


def test_at_the_limit_a_line_says_how_to_print_a_solution_that_may_not_be_checked(run):
    result = run("--max-thoughts", "2", replies=[reply(1, solution="half"), reply(2)])
    line, last_line = result.err.splitlines()
    assert "checked" in line
    assert "--resume" in last_line
    command = line.partition("python main.py ")[2]
    assert run(*shlex.split(command)).out == "half\n"


def test_at_the_limit_no_command_is_shown_for_a_solution_that_is_not_saved(run):
    def lose_folder():
        shutil.rmtree("runs")
        pathlib.Path("runs").write_text("")
        return reply(1, solution="half")

    err = run("--max-thoughts", "1", replies=[lose_folder]).err
    assert "1 thought" in err
    assert "--show" not in err


# The steps


STEP = {
    "description": "Solve for x",
    "status": "Done",
    "result": "x = 2",
    "mark": "sign",
    "sub_steps": [{"description": "Try", "status": "Done", "result": "2"}],
}


TWO_PARTS = ["[Done] Part 1", "  [Done] Check", "[Done] Part 2", "  [Done] Check"]


@pytest.fixture
def last_plan(run):
    """last_plan(*replies) is the plan that is saved with the last of them."""

    def save_plan(*replies):
        run("--run", "run.yaml", replies=replies)
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


def test_a_sub_step_keeps_its_result_when_its_parent_is_taken_out(return_step):
    assert return_step("[Done] Try") == STEP["sub_steps"][0]


def test_of_several_steps_that_a_moved_one_could_be_it_is_none(last_plan):
    first = reply(1, plan=[*TWO_PARTS, "[Pending] Conclusion"], results={"Check": "fine"})
    part, _ = last_plan(first, reply(2, plan=["[Pending] Both", "  [Done] Check", "[Pending] Conclusion"]))
    assert part["sub_steps"] == [{"description": "Check", "status": "Done"}]


def test_a_new_step_takes_nothing_from_one_that_is_still_there(last_plan):
    first = reply(1, plan=["[Done] Part 1", "  [Done] Check", "[Pending] Conclusion"], results={"Check": "fine"})
    second = reply(2, plan=["[Done] Part 1", "[Done] Part 2", "  [Done] Check", "[Pending] Conclusion"])
    part_1, part_2, _ = last_plan(first, second)
    assert part_1["sub_steps"][0]["result"] == "fine"
    assert "result" not in part_2["sub_steps"][0]


def test_steps_with_the_same_description_keep_their_own_results(last_plan):
    plan = ["[Done] Check", "[Done] Check", "[Pending] Conclusion"]
    first = reply(1, plan=plan, results={"Check": "no. %d"}) % (1, 2)
    check, other_check, _ = last_plan(first, reply(2, plan=plan))
    assert check["result"] == "no. 1"
    assert other_check["result"] == "no. 2"
