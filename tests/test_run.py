"""The whole loop, through the real client over loopback."""

import itertools
import re
import warnings

import pytest

import nodes
from tests.loopback import recorded, recorded_problem, recorded_trace, reply

RECORDINGS = ["die", "die-2", "intervals", "trains", "trains-2"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_prints_its_trace_to_the_letter(serve, run, name):
    replies = recorded(name)
    endpoint = serve(*replies)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("--problem", recorded_problem(name))
    assert result.out == recorded_trace(name)
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", len(replies))


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_prompt_holds_all_earlier_thoughts_and_the_present_plan(serve, run, name):
    endpoint = serve(*recorded(name))
    trace = run("--problem", recorded_problem(name)).out
    thoughts = re.findall(r"^Thought \d+.*?:\n(.*?)\n\n(?:Current|Final) Plan Status:\n(.*?)\n[-\n]", trace, re.M | re.S)
    for number, prompt in enumerate(endpoint.prompts):
        history, turn = prompt.split("\n# Your turn\n")
        assert f"\n\n{recorded_problem(name)}\n\n" in history
        for thinking, plan in thoughts[:number]:
            assert thinking.replace("\n", "\n  ").replace("\n  \n", "\n\n") in history
            assert all(history.count(f"\n  {line}\n") == 1 for line in plan.split("\n") if "Conclusion" not in line)
        open_steps = re.findall(r"^ *- \[(?:Pending|Verification Needed)\] .*", thoughts[number - 1][1], re.M)
        assert number == 0 or open_steps
        assert all(line.strip() in turn for line in open_steps if number)


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


NASTY_TEXT = 'Braces {x} {0} {{}}, 100% %s $HOME \\n \\frac{1}{2}\n\n```yaml\n---\nkey: "value" # x\n```\n  end'


def test_what_the_problem_and_a_thought_contain_cannot_break_the_prompt(serve, run):
    endpoint = serve(reply(NASTY_TEXT), recorded("die-2")[-1])
    run("--problem", NASTY_TEXT)
    assert f"# Problem\n\n{NASTY_TEXT}\n\n" in endpoint.prompts[1]
    indented = "\n".join(f"    {line}" if line else "" for line in NASTY_TEXT.split("\n"))
    assert f"  Thinking:\n{indented}\n" in endpoint.prompts[1]


PLANS = [
    ("[Pending] Solve", "  [Pending] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
    ("[Pending] Solve", "  [Done] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
    ("[Done] Solve", "  [Done] Check", "[Pending] Write", "  [Done] Check", "[Pending] Conclusion"),
]


def test_the_history_holds_each_line_of_a_plan_once_and_tells_equal_steps_apart(serve, run):
    endpoint = serve(*[reply(plan=plan) for plan in PLANS], reply(plan=["[Done] Conclusion"], more=False))
    run()
    statuses = re.findall(r"Plan Status After (.*):\n((?:    .*\n)+)", endpoint.prompts[3])
    assert [heading for heading, _ in statuses] == ["Thought 1", "Thought 2 (what changed)", "Thought 3 (what changed)"]
    assert statuses[0][1].split("\n    ") == [
        "    - [Pending] Solve", "  - [Pending] Check", "- [Pending] Write", "  - [Pending] Check", "- [Pending] Conclusion\n"
    ]
    assert statuses[1][1] == "      - [Done] Check\n"
    assert statuses[2][1] == "    - [Done] Solve\n      - [Done] Check\n"


@pytest.mark.parametrize(
    "plan, step",
    [
        (["[Done] Solve", "[Pending] Check", "[Pending] Conclusion"], "Check"),
        (["[Verification Needed] Solve", "[Pending] Check", "[Pending] Conclusion"], "Solve"),
        (["[Pending] Solve", "  [Done] Find x", "  [Pending] Find y", "[Pending] Conclusion"], "Find y"),
        (["[Pending] Solve", "  [Done] Find x", "  [Done] Find y", "[Pending] Conclusion"], "Solve"),
        (["[Done] Solve", "[Pending] Conclusion"], "Conclusion"),
    ],
)
def test_a_turn_names_its_step_and_asks_for_the_evaluation_first(serve, run, plan, step):
    endpoint = serve(reply(plan=plan), recorded("die-2")[-1])
    run()
    turn = endpoint.prompts[1].split("# Your turn\n")[1]
    assert f"execute this step: {step}\n" in turn
    assert turn.index("evaluation of Thought 1") < turn.index("execute this step")
    assert ("`next_thought_needed` to false" in turn) == (step == "Conclusion")


def test_the_first_turn_has_no_plan_and_nothing_to_evaluate(run):
    turn = run("--show-prompt").out.split("# Your turn\n")[1]
    assert "This is Thought 1" in turn and "nothing to evaluate" in turn
    assert "[Pending]" not in turn


# What a reply need not repeat


def plans_printed(trace):
    return re.findall(r"Plan Status:\n(.*?)\n(?:---|\n)", trace, re.DOTALL)


@pytest.mark.parametrize(
    "again, line",
    [
        pytest.param(reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False), "[Done] Solve: x = 2", id="kept"),
        pytest.param(
            reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False, Solve="x = 3"), "[Done] Solve: x = 3", id="new"
        ),
        pytest.param(
            reply(plan=["[Verification Needed] Solve", "[Done] Conclusion"], more=False),
            "[Verification Needed] Solve",
            id="another status",
        ),
        pytest.param(
            reply(plan=["[Done] Solve all", "[Done] Conclusion"], more=False), "[Done] Solve all", id="another description"
        ),
        pytest.param(
            reply(plan=["[Done] All", "  [Done] Solve", "[Done] Conclusion"], more=False),
            "[Done] All\n    - [Done] Solve",
            id="another parent",
        ),
    ],
)
def test_a_step_keeps_its_result_only_if_it_is_the_same(serve, run, again, line):
    serve(reply(Solve="x = 2"), again)
    assert plans_printed(run().out)[1] == f"  - {line}\n  - [Done] Conclusion"


@pytest.mark.parametrize(
    "steps", [["[Done] A", "  [Done] Check", "[Done] B", "  [Done] Check"], ["[Done] Check", "[Done] A", "[Done] Check"]]
)
def test_equal_descriptions_keep_their_own_results(serve, run, steps):
    plan = [*steps, "[Pending] Conclusion"]
    first = reply(plan=plan, Check="first").replace("first", "second", 1)
    serve(first, reply(plan=[*plan[:-1], "[Done] Conclusion"], more=False))
    assert re.findall(r"Check: (\w+)", plans_printed(run().out)[1]) == ["second", "first"]


# The end


def test_a_plan_without_an_open_step_ends_the_run_whatever_the_flag_says(serve, run):
    endpoint = serve(reply(), reply("Evaluation of Thought 1: Correct - x\n\n42", ["[Done] Solve", "[Done] Conclusion"]))
    result = run()
    assert (result.status, len(endpoint.requests)) == (0, 2)
    assert "Thought 2 (Conclusion):" in result.out and result.out.endswith("=\n42\n======================\n\n")


@pytest.mark.parametrize(
    "thinking, solution",
    [
        ("Evaluation of Thought 1: Correct - x\n\nThe answer.\n\n  Details.", "The answer.\n\n  Details."),
        ("Evaluation of Thought 1: Correct - x\nchecked\n\nThe answer.", "The answer."),
        ("Evaluation of Thought 1: Correct - x\nThe answer.", "Evaluation of Thought 1: Correct - x\nThe answer."),
        ("The answer.\n\nEvaluation of Thought 1: no", "The answer.\n\nEvaluation of Thought 1: no"),
    ],
)
def test_the_solution_leaves_the_evaluation_out(serve, run, thinking, solution):
    serve(reply(), reply(thinking, ["[Done] Conclusion"], more=False))
    assert run().out.split("=== FINAL SOLUTION ===\n")[1] == f"{solution}\n{'=' * 22}\n\n"


@pytest.mark.parametrize("limit", [1, 3])
def test_a_run_without_conclusion_stops_at_the_thought_limit(serve, run, limit):
    endpoint = serve(*[reply()] * 9)
    result = run("--max-thoughts", str(limit))
    assert (result.status, len(endpoint.requests)) == (1, limit)
    told = ["No thought is allowed after this one" in prompt for prompt in endpoint.prompts]
    assert told == [False] * (limit - 1) + [True]
    assert "FINAL SOLUTION" not in result.out
    assert result.err == (
        f"No solution by Thought {limit}, the last that --max-thoughts allows."
        f" To go on: python main.py --resume --max-thoughts {2 * limit}\n"
    )


def test_a_conclusion_on_the_last_allowed_thought_counts(serve, run):
    serve(reply(), reply(plan=["[Done] Conclusion"], more=False))
    assert run("--max-thoughts", "2").status == 0
