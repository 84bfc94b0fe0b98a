"""Something is said to a run, solved or not: it stands in the problem, and the next thought takes it up."""

import pytest

from tests.conftest import MAIN, all_files, run_python, saved_runs
from tests.replies import DONE, end, reply, reply_of
from utils.thought import add_to_problem

PLAN = ["[Done] (a)", "[Pending] (b)", "  [Done] 1", "  [Pending] 2", "[Pending] Conclusion", "  [Done] Reread"]
PLAN_SHOWN = "- [Pending] (b)\n  - [Done] 1\n  - [Pending] 2\n- [Pending] Conclusion\n  - [Done] Reread\n"
ADDED = "\n\nHow many?\n\nAdded after Thought 2:\n\nAnd if not?\n\n"
STEP = "- [Pending] What was added after Thought 2\n"
NEXT = [reply(3), end(4)]


@pytest.fixture
def solved(command):
    """A solved run of two thoughts, the latest in runs/, as it was printed."""
    said = {"Conclusion": "checked"}
    return command("--problem 'How many?'", [reply(1, solution="It is 2."), end(2, results=said, marks=said)])


@pytest.fixture
def unsolved(run):
    """unsolved(**fields) is a run of one thought with PLAN and these fields, in unsolved.yaml."""

    def think_once(**fields):
        first = reply(1, plan=PLAN, marks={"Conclusion": "?"}, **fields)
        return run("--step", "--problem", "How many?", "--run", "unsolved.yaml", replies=[first])

    return think_once


def test_a_question_to_a_solved_run_is_its_next_step_in_a_run_of_its_own(command, solved):
    before = all_files()
    result = command("--add 'And if not?'", NEXT)
    assert result.status == 0
    assert ADDED in result.prompts[0]
    assert f"\n\n- [Done] Solve\n{STEP}- [Pending] Conclusion\n\n" in result.prompts[0]
    assert result.out.endswith("\n=== FINAL SOLUTION ===\nIt is 2.\n======================\n\n")
    assert len(saved_runs()) == 2
    assert before.items() <= all_files().items()


def test_the_trace_and_the_history_show_the_step_with_the_last_thought(command, solved):
    result = command("--add 'And if not?' --step", NEXT)
    trace = command("--show").out
    assert "\n\nThought 2: Conclusion\n" in trace
    assert f"\n  - [Done] Solve\n  {STEP}  - [Pending] Conclusion\n---" in trace
    assert trace.endswith(f"\n\n{result.out}")
    assert result.out.startswith("Thought 3: What was added after Thought 2\n")
    assert f"(what changed):\n    {STEP}\n" in result.prompts[0]


@pytest.mark.parametrize("fields, step", [
    ({}, ""),
    ({"solution": "4"}, "- [Pending] What was added after Thought 1\n"),
])
def test_the_step_comes_before_what_is_open_and_only_where_a_solution_stands(command, unsolved, fields, step):
    unsolved(**fields)
    prompt = command("--resume unsolved.yaml --add Try --show-prompt").out
    assert "\n\nHow many?\n\nAdded after Thought 1:\n\nTry\n\n" in prompt
    assert f"The plan:\n\n- [Done] (a)\n{step}{PLAN_SHOWN}\n" in prompt


def test_the_conclusion_has_neither_result_nor_mark_any_more(command, solved):
    command("--add Why --step", NEXT)
    text = saved_runs()[1].read_text()
    assert "checked" not in text
    assert "next_thought_needed: false" not in text


def test_a_run_in_the_cookbooks_three_keys_gets_the_step_too(command):
    command("", [reply(1), reply_of("Evaluation of Thought 1: Correct\nIt is 2.", DONE)])
    assert STEP in command("--add Why --show-prompt").out


def test_a_thought_is_thought_anew_with_a_hint(command, solved):
    prompt = command("--after 1 --add Try --show-prompt").out
    assert "Added after Thought 1:\n\nTry\n\n" in prompt
    assert "- [Pending] What was added after Thought 1\n- [Pending] Conclusion\n" in prompt


def test_without_a_thought_the_words_alone_are_added(command, solved):
    prompts = command("--add Try --after 0 --step", [reply(1)]).prompts
    assert "\n\nHow many?\n\nTry\n\n" in prompts[0]
    assert "No previous thoughts yet." in prompts[0]


def test_one_addition_follows_the_other(command, solved):
    command("--add 'And if not?'", NEXT)
    prompt = command("--add 'And then?' --show-prompt").out
    assert f"{ADDED}Added after Thought 4:\n\nAnd then?\n\n" in prompt
    assert "- [Pending] What was added after Thought 4\n" in prompt


def test_other_words_before_the_next_thought_need_no_step_of_their_own(command, solved):
    command("--add 'And if not?'", [])
    [prompt] = command("--add 'And if so?'", []).prompts
    assert f"{ADDED}Added after Thought 2:\n\nAnd if so?\n\n" in prompt
    assert f"The plan:\n\n- [Done] Solve\n{STEP}- [Pending] Conclusion\n" in prompt


def test_quiet_prints_the_new_solution(command, solved):
    assert command("--add 'And if not?' -q", [reply(3, solution="No."), end(4)]).out == "No.\n"


def test_how_to_go_on_names_the_new_run_and_adds_nothing_again(command, solved):
    err = command("--add 'And if not?' --step", NEXT).err
    assert f"--resume {saved_runs()[1]} --step\n" in err
    assert "--add" not in err


def test_what_is_added_can_come_from_standard_input(solved):
    result = run_python(MAIN, "--add=-", "--show-prompt", input=b"And\r\nif not?\n")
    assert "\n\nAdded after Thought 2:\n\nAnd\nif not?\n\n" in result.out


@pytest.mark.parametrize("line, named", [
    ("--add ' '", "--add is blank"),
    ("--add 'a\x0cb'", "--add has"),
    ("--add x --problem y", "--problem"),
    ("--add x --show", "--show"),
    ("--add x --after 3", "--after 3"),
    ("--add x --max-thoughts 2", "--max-thoughts must be at least 3"),
    ("--add x --run new.yml", ".yaml"),
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
