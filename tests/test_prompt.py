"""What each prompt holds, as the endpoint receives it."""

import itertools
import re

import pytest

import nodes
from tests.loopback import WORK, recorded, recorded_problem, recorded_trace, reply
from tests.test_trace import RECORDINGS
from utils.read_reply import read_reply

NASTY_TEXT = 'Braces {x} {0} {{}}, 100% %s $HOME \\n \\frac{1}{2}\n\n```yaml\n---\nkey: "value" # x\n```\n  end'
END = reply(plan=["[Done] Conclusion"], more=False)


def turn(prompt):
    return prompt.split("\n# Your turn\n\n")[1]


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_prompt_holds_all_earlier_thoughts_and_the_present_plan(serve, run, name):
    endpoint = serve(*recorded(name))
    trace = run("--problem", recorded_problem(name)).out
    solution = r"(?:(?:Solution|Changes to the Solution):\n.*?\n\n)?"
    thought = rf"^Thought \d+.*?:\n(.*?)\n\n{solution}\w+ Plan \w+:\n(.*?)\n[-\n]"
    blocks = re.findall(thought, trace, re.M | re.S)
    for number, prompt in enumerate(endpoint.prompts):
        history = prompt.split("\n# Your turn\n")[0]
        assert f"\n\n{recorded_problem(name)}\n\n" in history
        for thinking, plan in blocks[:number]:
            assert thinking.replace("\n", "\n  ").replace("\n  \n", "\n\n") in history
            assert all(history.count(f"\n  {line}\n") == 1 for line in plan.split("\n") if "Conclusion" not in line)
        open_steps = re.findall(r"^ *- \[(?:Pending|Verification Needed)\] .*", blocks[number - 1][1], re.M)
        assert number == 0 or open_steps
        assert all(line.strip() in turn(prompt) for line in open_steps if number)


def test_every_prompt_begins_with_almost_all_of_the_one_before(serve, run):
    endpoint = serve(*recorded("die"))
    run()
    for before, after in itertools.pairwise(endpoint.prompts[1:]):
        assert after.startswith(before.split("\n\n# Your turn\n")[0])


def test_edited_instructions_reach_the_model_unchanged(serve, run, monkeypatch):
    text = 'Use {braces}, %s, 100%, $HOME and \\n or \\frac.\n\n```yaml\nkey: "{x}"\n```\n'
    monkeypatch.setattr(nodes, "INSTRUCTIONS", text)
    endpoint = serve(*recorded("die-2"))
    run()
    assert all(prompt.startswith(text) for prompt in endpoint.prompts)


def test_the_example_in_the_instructions_is_a_valid_reply():
    if "```yaml" in nodes.INSTRUCTIONS:  # An edit may leave it out.
        assert read_reply(nodes.INSTRUCTIONS)["planning"]


def test_what_the_problem_a_thought_and_the_solution_contain_cannot_break_the_prompt(serve, run):
    endpoint = serve(reply(NASTY_TEXT, solution=NASTY_TEXT), END)
    run("--problem", NASTY_TEXT)
    assert f"# Problem\n\n{NASTY_TEXT}\n\n" in endpoint.prompts[1]
    assert f"# Solution so far\n\n{NASTY_TEXT}\n\n# Your turn" in endpoint.prompts[1]
    indented = "\n".join(f"    {line}" if line else "" for line in NASTY_TEXT.split("\n"))
    assert f"  Thinking:\n{indented}\n" in endpoint.prompts[1]


def test_the_history_holds_each_line_of_a_plan_once_and_tells_equal_steps_apart(serve, run):
    plans = [
        ("[Pending] Solve", "  [Pending] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
        ("[Pending] Solve", "  [Done] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
        ("[Done] Solve", "  [Done] Check", "[Pending] Write", "  [Done] Check", "[Pending] Conclusion"),
    ]
    endpoint = serve(*[reply(plan=plan) for plan in plans], END)
    run()
    assert re.findall(r"Plan Status After (.*):\n((?:    .*\n)+)", endpoint.prompts[3]) == [
        ("Thought 1", "".join(f"    {line.replace('[', '- [')}\n" for line in plans[0])),
        ("Thought 2 (what changed)", "      - [Done] Check\n"),
        ("Thought 3 (what changed)", "    - [Done] Solve\n      - [Done] Check\n"),
    ]


def test_the_solution_stands_in_the_prompt_once_and_as_it_is_after_all_changes(serve, run):
    changed, changed_again = reply(changes=[("41", "42"), (None, "So it is.")]), reply(changes=[("So", "Yes")])
    endpoint = serve(reply(solution="It is 41."), changed, reply(), changed_again, END)
    run()
    assert "# Solution so far" not in endpoint.prompts[0]
    assert [prompt.count("It is 4") for prompt in endpoint.prompts[1:]] == [1] * 4
    assert "# Solution so far\n\nIt is 42.\n\nYes it is.\n\n# Your turn" in endpoint.prompts[4]
    assert re.findall(r"\n  Solution: (.*)\n  Plan Status After Thought (\d)", endpoint.prompts[4]) == [
        ("written", "1"), ("changed in 2 places", "2"), ("changed in 1 place", "4")
    ]


def test_the_first_turn_has_no_plan_and_nothing_to_evaluate(run):
    text = turn(run("--show-prompt").out)
    assert "This is Thought 1" in text and "nothing to evaluate" in text
    assert "[Pending]" not in text


@pytest.mark.parametrize("plan, step, is_last_work", [
    (["[Done] Solve", "[Pending] Check", "[Pending] Write", "[Pending] Conclusion"], "Check", False),
    (["[Done] Solve", "[Pending] Check", "[Pending] Conclusion"], "Check", True),
    (["[Verification Needed] Solve", "[Pending] Check", "[Pending] Conclusion"], "Solve", False),
    (["[Pending] Solve", "  [Done] Find x", "  [Pending] Find y", "[Pending] Conclusion"], "Find y", True),
    (["[Pending] Solve", "  [Done] Find x", "  [Done] Find y", "[Pending] Conclusion"], "Solve", True),
])
def test_a_turn_names_the_next_step_after_the_evaluation(serve, run, plan, step, is_last_work):
    endpoint = serve(reply(plan=plan, **{"Find x": "x = 2"}), END)
    run()
    text = turn(endpoint.prompts[1])
    assert f"execute this step: {step}\n" in text
    assert text.index("evaluate Thought 1") < text.index("execute this step")
    assert ("complete the solution now" in text) == is_last_work
    assert "next_thought_needed" not in text
    assert "x = 2" not in text  # The plan stands there in its simplified view.


@pytest.mark.parametrize("solution, asks_for", [("42", "_needed` to false"), (None, "the missing solution")])
def test_a_turn_for_the_conclusion_asks_for_the_check_or_for_the_missing_solution(serve, run, solution, asks_for):
    endpoint = serve(reply(solution=solution), END)
    run()
    assert asks_for in turn(endpoint.prompts[1])


@pytest.mark.parametrize("limit", ["1", "2"])
def test_the_last_allowed_turn_says_so_and_names_no_other_step(serve, run, limit):
    endpoint = serve(*[reply(plan=["[Done] A", "[Pending] Check", "[Pending] Conclusion"])] * int(limit))
    run("--max-thoughts", limit)
    said = ["No thought is allowed after this one" in prompt for prompt in endpoint.prompts]
    assert said == [False] * (int(limit) - 1) + [True]
    assert "this step" not in turn(endpoint.prompts[-1]) and "first step" not in turn(endpoint.prompts[-1])
    assert run("--max-thoughts", limit, "--show-prompt").out == endpoint.prompts[0]
