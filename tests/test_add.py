"""Something is said to a run, solved or not: it stands in the problem, and the next thought takes it up."""

import pytest

from tests.conftest import MAIN, all_files, run_python, saved_runs
from tests.replies import DONE, end, reply, reply_of
from utils.problem import add_to_problem

PLAN = ["[Done] (a)", "[Pending] (b)", "  [Pending] 1", "  [Pending] 2", "[Pending] Conclusion", "  [Done] Reread"]
HEADING = "Added later (it overrides the rest; what it makes stale is redone first, not judged):"
STEP = "- [Pending] Addition (And if not?)\n"
CONCLUSION = "- [Pending] Conclusion\n"
NEXT = [reply(3), end(4)]


def added(words):
    return f"\n\n{HEADING}\n\n{words}\n\n"


@pytest.fixture
def solved(command):
    """A solved run of two thoughts is the latest in runs/."""
    said = {"Conclusion": "checked"}
    command("--problem 'How many?'", [reply(1, solution="It is 2."), end(2, results=said, marks=said)])


def test_a_question_to_a_solved_run_is_its_next_step_in_a_run_of_its_own(command, solved):
    before = all_files()
    result = command("--add 'And if not?'", NEXT)
    assert result.status == 0
    assert f"How many?{added('And if not?')}" in result.prompts[0]
    assert f"\n\n- [Done] Solve\n{STEP}{CONCLUSION}\n" in result.prompts[0]
    assert "=== FINAL SOLUTION ===\nIt is 2.\n" in result.out
    assert len(saved_runs()) == 2
    assert before.items() <= all_files().items()


def test_a_model_that_repeats_its_old_plan_has_not_checked(command, solved):
    result = command("--add 'And if not?'", [end(3), end(4)])
    assert "=== SOLUTION (not checked: 'Addition (And if not?)' was still open before it) ===" in result.out
    assert "=== FINAL SOLUTION ===" in result.out


def test_the_trace_and_the_history_show_the_step_with_the_last_thought(command, solved):
    result = command("--add 'And if not?' --step", NEXT)
    trace = command("--show").out
    assert "\n\nThought 2: Conclusion\n" in trace
    assert f"\n  - [Done] Solve\n  {STEP}  {CONCLUSION}---" in trace
    assert trace.endswith(f"\n\n{result.out}")
    assert result.out.startswith("Thought 3: Addition (And if not?)\n")
    assert f"(what changed):\n    {STEP}\n" in result.prompts[0]


@pytest.mark.parametrize("solution, step", [(None, ""), ("4", STEP)])
def test_a_thought_is_thought_anew_with_a_hint_which_is_a_step_only_where_a_solution_stands(command, solution, step):
    """The step stands right before the Conclusion, so that the thought still executes its own."""
    command("", [reply(1, plan=PLAN, solution=solution)])
    result = command("--after 1 --add 'And if not?' --step", [reply(2)])
    assert result.out.startswith("Thought 2: 1\n")
    assert added("And if not?") in result.prompts[0]
    assert f"  - [Pending] 2\n{step}{CONCLUSION}  - [Done] Reread\n" in result.prompts[0]


def test_the_conclusion_has_neither_result_nor_mark_any_more(command, solved):
    command("--add Why --step", NEXT)
    text = saved_runs()[1].read_text()
    assert "checked" not in text
    assert "next_thought_needed: false" not in text


def test_a_run_in_the_cookbooks_three_keys_gets_the_step_too(command):
    command("", [reply(1), reply_of("Evaluation of Thought 1: Correct\nIt is 2.", DONE)])
    assert STEP in command("--add 'And if not?' --show-prompt").out


def test_without_a_thought_the_words_alone_are_added(command, solved):
    prompt = command("--add Try --after 0 --show-prompt").out
    assert "\n\nHow many?\n\nTry\n\n" in prompt


def test_a_solved_run_is_added_to_again(command, solved):
    command("--add 'And if not?'", NEXT)
    prompt = command("--add 'And then?' --show-prompt").out
    assert f"{added('And if not?')}{HEADING}\n\nAnd then?\n\n" in prompt
    assert f"- [Done] Solve\n- [Pending] Addition (And then?)\n{CONCLUSION}" in prompt


@pytest.mark.parametrize("words, steps", [
    ("And if not?", STEP),
    ("And if so?", f"{STEP}- [Pending] Addition (And if so?)\n"),
])
def test_the_same_words_twice_make_one_step_and_other_words_another(command, solved, words, steps):
    command("--add 'And if not?'", [])
    prompt = command(f"--add '{words}' --show-prompt").out
    assert added(words) in prompt
    assert f"- [Done] Solve\n{steps}{CONCLUSION}" in prompt


def test_twice_in_one_command_says_both(command, solved):
    prompt = command("--add 'Try it.' --add 'And why?' --show-prompt").out
    assert added("Try it.\n\nAnd why?") in prompt
    assert f"- [Pending] Addition (Try it. And why?)\n{CONCLUSION}" in prompt


WORDS = "words" + 12 * " words"  # as many as fit in 80 characters


@pytest.mark.parametrize("text, shown", [
    (f"{WORDS}\n so", f"{WORDS} so"),
    (f"{WORDS}\n and more", f"{WORDS} ..."),
    (100 * "几", f"{80 * '几'} ..."),
])
def test_the_step_has_as_many_words_as_fit_in_80_characters_and_says_where_it_is_cut(command, solved, text, shown):
    prompt = command(f"--add '{text}' --show-prompt").out
    assert added(text) in prompt
    assert f"- [Pending] Addition ({shown})\n" in prompt


def test_how_to_go_on_names_the_new_run_and_adds_nothing_again(command, solved):
    err = command("--add 'And if not?' --step", NEXT).err
    assert f"--resume {saved_runs()[1]} --step\n" in err
    assert "--add" not in err


def test_what_is_added_can_come_from_standard_input(solved):
    result = run_python(MAIN, "--add=-", "--show-prompt", input=b"And\r\nif not?\n")
    assert added("And\nif not?") in result.out


@pytest.mark.parametrize("line, named", [
    ("--add ' '", "addition"),
    ("--add 'a\x0cb'", "--add"),
    ("--add x --problem y", "--problem"),
    ("--add x --after 3", "--after 3"),
])
def test_what_cannot_be_added_is_refused_and_nothing_is_written(command, solved, line, named):
    before = all_files()
    refused = command(line)
    assert refused.status == 2
    assert named in refused.err
    assert all_files() == before


def test_a_program_can_add_to_its_shared_store():
    shared = {"problem": "How many?"}
    add_to_problem(shared, "At once.")
    assert shared == {"problem": "How many?\n\nAt once.", "thoughts": []}
