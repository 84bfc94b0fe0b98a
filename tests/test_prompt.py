"""What each prompt holds, as the endpoint receives it."""

import re
import textwrap

import pytest
import yaml

import nodes
from tests.loopback import completion, recorded, recorded_problem, reply
from tests.test_trace import RECORDINGS
from utils.read_reply import read_reply

NASTY_TEXT = 'Braces {x} {0} {{}}, 100% %s $HOME \\n \\frac{1}{2}\n\n```yaml\n---\nkey: "value" # x\n```\n  end'
END = reply(plan=["[Done] Conclusion"], more=False)


def turn(prompt):
    return prompt.split("\n# Your turn\n\n")[1]


def plan_lines(plan, indent=""):
    """Every step of a plan as its line in the simplified view, and what follows it in the full view."""
    for step in plan:
        result = f": {' '.join(step['result'].split())}" if "result" in step else ""
        yield f"{indent}- [{step['status']}] {step['description']}", result
        yield from plan_lines(step.get("sub_steps", []), f"  {indent}")


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_prompt_holds_all_earlier_thoughts_and_the_present_plan(serve, run, name):
    replies, problem = recorded(name), recorded_problem(name)
    endpoint = serve(*replies)
    run("--problem", problem)
    thoughts = [yaml.safe_load(text.removeprefix("```yaml\n").rstrip().removesuffix("```")) for text in replies]
    for number, prompt in enumerate(endpoint.prompts):
        history = prompt.split("\n# Your turn\n")[0]
        assert f"\n\n{problem}\n\n" in history
        for thought in thoughts[:number]:
            assert f"  Thinking:\n{textwrap.indent(thought['current_thinking'], '    ')}\n" in history
            assert all(history.count(f"\n    {line}{rest}") == 1 for line, rest in plan_lines(thought["planning"]))
        plan = plan_lines(thoughts[number - 1]["planning"]) if number else []
        assert "\n".join(line for line, _ in plan) in turn(prompt)
    assert len(endpoint.prompts) == len(thoughts)


def test_every_prompt_begins_with_almost_all_of_the_one_before(serve, run):
    endpoint = serve(*recorded("die"))
    run()
    for before, after in zip(endpoint.prompts[1:], endpoint.prompts[2:]):
        assert after.startswith(before.split("\n\n# Your turn\n")[0])


def test_the_examples_in_the_instructions_are_valid_replies_one_after_the_other():
    solution = None
    for example in re.findall(r"^```yaml\ncurrent_thinking.*?^```$", nodes.INSTRUCTIONS, re.MULTILINE | re.DOTALL):
        solution = read_reply(example, solution=solution).get("solution", solution)


def test_what_instructions_problem_thought_and_solution_contain_cannot_break_the_prompt(serve, run, monkeypatch):
    monkeypatch.setattr(nodes, "INSTRUCTIONS", f"{NASTY_TEXT}\n")
    endpoint = serve(reply(NASTY_TEXT, solution=NASTY_TEXT), END)
    run("--problem", NASTY_TEXT)
    assert endpoint.prompts[1].startswith(f"{NASTY_TEXT}\n\n# Problem\n\n{NASTY_TEXT}\n\n")
    assert f"# Solution so far\n\n{NASTY_TEXT}\n\n# Your turn" in endpoint.prompts[1]
    assert f"  Thinking:\n{textwrap.indent(NASTY_TEXT, '    ')}\n" in endpoint.prompts[1]


def test_the_history_holds_each_line_of_a_plan_once_and_tells_equal_steps_apart(serve, run):
    plans = [
        ("[Pending] Solve", "  [Pending] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
        ("[Pending] Solve", "  [Done] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
        ("[Done] Solve", "  [Done] Check", "[Pending] Write", "  [Done] Check", "[Pending] Conclusion"),
    ]
    endpoint = serve(*[reply(plan=plan) for plan in (*plans, plans[2])], END)
    run()
    assert re.findall(r"Plan Status After (.*):\n((?:    .*\n)+)", endpoint.prompts[4]) == [
        ("Thought 1", "".join(f"    {line.replace('[', '- [')}\n" for line in plans[0])),
        ("Thought 2 (what changed)", "      - [Done] Check\n"),
        ("Thought 3 (what changed)", "    - [Done] Solve\n      - [Done] Check\n"),
        ("Thought 4 (what changed)", "    (nothing)\n"),
    ]


def test_the_solution_is_in_the_prompt_once_as_it_is_after_all_changes(serve, run):
    changed, changed_again = reply(changes=[("41", "42"), (None, "So it is.")]), reply(changes=[("So", "Yes")])
    endpoint = serve(reply(solution="It is 41."), changed, reply(), changed_again, END)
    run()
    assert "# Solution so far" not in endpoint.prompts[0]
    assert [prompt.count("It is 4") for prompt in endpoint.prompts[1:]] == [1] * 4
    assert "# Solution so far\n\nIt is 42.\n\nYes it is.\n\n# Your turn" in endpoint.prompts[4]
    notes = re.findall(r"\n  Solution: (.*)\n  Plan Status After Thought \d", endpoint.prompts[4])
    assert notes == ["written", "changed in 2 places", "changed in 1 place"]


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
    (["[Pending] Check:\n- its sign\n\n- its size", "[Pending] Conclusion"], "Check: - its sign - its size", True),
    (["[Pending] {step} {before}", "[Pending] {reason}", "[Pending] Conclusion"], "{step} {before}", False),
])
def test_a_turn_names_the_next_step_on_one_line_after_the_evaluation(serve, run, plan, step, is_last_work):
    endpoint = serve(reply(plan=plan, **{"Find x": "x = 2"}), END)
    run()
    text = turn(endpoint.prompts[1])
    assert f"- [Pending] {step}\n" in text or f"- [Verification Needed] {step}\n" in text
    assert f"execute this step: {step}\n" in text
    assert text.index("evaluate Thought 1") < text.index("execute this step")
    assert ("complete the solution now" in text) == is_last_work
    assert "next_thought_needed" not in text
    assert "x = 2" not in text  # The plan is there in its simplified view.


@pytest.mark.parametrize("solution, asks_for", [("42", "_needed` to false"), (None, "the missing solution")])
@pytest.mark.parametrize("conclusion", ["Conclusion", "3. **Conclusion**"])
def test_a_turn_for_the_conclusion_asks_for_one_check_or_for_a_solution(serve, run, conclusion, solution, asks_for):
    endpoint = serve(reply(plan=["[Done] Solve", f"[Pending] {conclusion}"], solution=solution), END)
    run()
    text = turn(endpoint.prompts[1])
    assert asks_for in text and text.count("Thought 1") == 1


@pytest.mark.parametrize("limit", ["1", "2"])
def test_the_last_allowed_turn_says_so_and_names_no_other_step(serve, run, limit):
    endpoint = serve(*[reply(plan=["[Done] A", "[Pending] Check", "[Pending] Conclusion"])] * int(limit))
    run("--max-thoughts", limit)
    said = ["no thought is allowed after" in prompt.lower() for prompt in endpoint.prompts]
    assert said == [False] * (int(limit) - 1) + [True]
    text = turn(endpoint.prompts[-1])
    assert "this step" not in text and "first step" not in text and "not done" in text and "doubts" in text
    assert run("--max-thoughts", limit, "--show-prompt").out == endpoint.prompts[0]


@pytest.mark.parametrize("finish_reason", ["length", "abort"])
def test_a_reply_that_was_cut_is_asked_for_again_and_not_sent_back(serve, run, finish_reason):
    cut = reply("All of it.", solution="NEVER open the door.").split("he door")[0]
    endpoint = serve(reply(), completion(cut, finish_reason), reply(solution="42"), END)
    assert run("-q").out == "42\n"
    assert "was rejected" in turn(endpoint.prompts[2]) and len(endpoint.prompts) == 4
    assert "NEVER" not in endpoint.prompts[2] and "All of it" not in endpoint.prompts[2]


def test_a_rejection_holds_the_reason_and_the_reply_as_they_are(serve, run):
    bad = reply(plan=["[Odd] {step} {reason} {reply}", "[Pending] Conclusion"])
    endpoint = serve(bad, reply(solution="42"), END)
    assert run("-q").out == "42\n"
    text = turn(endpoint.prompts[1])
    assert "'{step} {reason} {reply}' is 'Odd'" in text and text.endswith(f"\n\n{bad}\n")
