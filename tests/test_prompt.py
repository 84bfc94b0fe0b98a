"""What each prompt holds."""

import re
import textwrap

import pytest
import yaml

import nodes
from tests.loopback import completion
from tests.replies import recorded, recorded_problem, reply
from tests.test_trace import RUNS
from utils.errors import InvalidThought
from utils.reply import read_reply

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


@pytest.mark.parametrize("name", RUNS)
def test_every_prompt_holds_all_earlier_thoughts_and_the_present_plan(run, name):
    replies, problem = recorded(name), recorded_problem(name)
    prompts = run("--problem", problem, replies=replies).prompts
    thoughts = [yaml.safe_load(text.removeprefix("```yaml\n").rstrip().removesuffix("```")) for text in replies]
    for number, prompt in enumerate(prompts):
        history = prompt.split("\n# Your turn\n")[0]
        assert f"\n\n{problem}\n\n" in history
        for thought in thoughts[:number]:
            assert f"  Thinking:\n{textwrap.indent(thought['current_thinking'], '    ')}\n" in history
            assert all(history.count(f"\n    {line}{rest}") == 1 for line, rest in plan_lines(thought["planning"]))
        plan = plan_lines(thoughts[number - 1]["planning"]) if number else []
        assert "\n".join(line for line, _ in plan) in turn(prompt)
    assert len(prompts) == len(thoughts)


def test_every_prompt_begins_with_almost_all_of_the_one_before(run):
    prompts = run(replies=recorded("die")).prompts
    for before, after in zip(prompts[1:], prompts[2:]):
        assert after.startswith(before.split("\n\n# Your turn\n")[0])


def test_the_examples_in_the_instructions_are_valid_replies_one_after_the_other():
    plan, solution = [], None
    examples = re.findall(r"^```yaml\ncurrent_thinking.*?^```$", nodes.INSTRUCTIONS, re.MULTILINE | re.DOTALL)
    for number, example in enumerate(examples, 2):
        thought = read_reply(example, number, plan, solution)
        plan, solution = thought["planning"], thought.get("solution", solution)


def test_what_instructions_problem_thought_and_solution_contain_cannot_break_the_prompt(run, monkeypatch):
    monkeypatch.setattr(nodes, "INSTRUCTIONS", f"{NASTY_TEXT}\n")
    prompt = run("--problem", NASTY_TEXT, replies=[reply(NASTY_TEXT, solution=NASTY_TEXT), END]).prompts[1]
    before, behind_instructions, behind_problem, behind_solution = prompt.split(NASTY_TEXT)
    assert f"  Thinking:\n{textwrap.indent(NASTY_TEXT, '    ')}\n" in behind_problem
    assert all(text[:2] == text[-2:] == "\n\n" for text in (behind_instructions, behind_problem))
    assert before == "" and behind_solution.startswith("\n\n# Your turn\n\n")


def test_the_history_holds_each_line_of_a_plan_once_and_tells_equal_steps_apart(run):
    plans = [
        ("[Pending] Solve", "  [Pending] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
        ("[Pending] Solve", "  [Done] Check", "[Pending] Write", "  [Pending] Check", "[Pending] Conclusion"),
        ("[Done] Solve", "  [Done] Check", "[Pending] Write", "  [Done] Check", "[Pending] Conclusion"),
    ]
    prompt = run(replies=[*[reply(plan=plan) for plan in (*plans, plans[2])], END]).prompts[4]
    assert re.findall(r"Plan Status After (.*):\n((?:    .*\n)+)", prompt) == [
        ("Thought 1", "".join(f"    {line.replace('[', '- [')}\n" for line in plans[0])),
        ("Thought 2 (what changed)", "      - [Done] Check\n"),
        ("Thought 3 (what changed)", "    - [Done] Solve\n      - [Done] Check\n"),
        ("Thought 4 (what changed)", "    (nothing)\n"),
    ]


def test_the_solution_is_in_the_prompt_once_as_it_is_after_all_changes(run):
    changed, changed_again = reply(changes=[("41", "42"), ("", "So it is.")]), reply(changes=[("So", "Yes")])
    prompts = run(replies=[reply(solution="It is 41."), changed, reply(), changed_again, END]).prompts
    assert [prompt.count("It is 4") for prompt in prompts] == [0, 1, 1, 1, 1]
    assert "\n\nIt is 42.\n\nYes it is.\n\n# Your turn" in prompts[4]
    notes = re.findall(r"\n  Solution: (.*)\n  Plan Status After Thought \d", prompts[4])
    assert notes == ["written", "changed in 2 places", "changed in 1 place"]


@pytest.fixture
def names_only(monkeypatch):
    """Each text of TURN is its name and what is filled in, so that no test depends on its words."""
    for name in nodes.TURN:
        monkeypatch.setitem(nodes.TURN, name, f"<{name}: {{number}}, {{before}}, {{step}}>")


def tasks(prompt):
    return re.findall("<(.*)>", turn(prompt))


@pytest.mark.usefixtures("names_only")
@pytest.mark.parametrize("plan, solution, step, task", [
    (["[Done] A", "[Pending] B", "[Pending] C", "[Pending] Conclusion"], None, "B", "step"),
    (["[Verification Needed] A", "[Pending] B", "[Pending] Conclusion"], None, "A", "step"),
    (["[Pending] Conclusion (a)", "[Pending] B", "[Pending] Conclusion"], "42", "Conclusion (a)", "step"),
    (["[Pending] {step} {0}", "[Pending] {reason}", "[Pending] Conclusion"], None, "{step} {0}", "step"),
    (["[Done] A", "[Pending] B", "[Pending] Conclusion"], "42", "B", "last step"),
    (["[Pending] A", "  [Done] B", "  [Pending] C", "[Pending] Conclusion"], None, "C", "last step"),
    (["[Pending] A", "  [Done] B", "  [Done] C", "[Pending] Conclusion"], None, "A", "last step"),
    (["[Pending] A:\n- B\n\n  C", "[Pending] Conclusion"], None, "A: - B C", "last step"),
    (["[Done] A", "[Pending] Conclusion"], None, "Conclusion", "no solution"),
    (["[Done] A", "[Pending] Conclusion"], "42", "Conclusion", "conclusion"),
    (["[Done] A", "[Pending] 3. **Conclusion**: all"], "42", "3. **Conclusion**: all", "conclusion"),
])
def test_a_turn_asks_for_the_next_step_of_the_plan_and_names_it_on_one_line(run, plan, solution, step, task):
    prompt = run(replies=[reply(plan=plan, solution=solution, B="x = 2"), END]).prompts[1]
    assert tasks(prompt) == [f"{task}: 2, 1, {step}"]
    assert f"] {step}\n" in turn(prompt) and "x = 2" not in turn(prompt)  # The plan is there in its simplified view.


@pytest.mark.usefixtures("names_only")
@pytest.mark.parametrize("limit, plan, asked", [
    (1, ["[Pending] A", "[Pending] Conclusion"], ["only thought: 1, 0, "]),
    (2, ["[Pending] A", "[Pending] Conclusion"], ["first: 1, 0, ", "limit: 2, 1, A"]),
    (2, ["[Pending] Conclusion"], ["first: 1, 0, ", "limit: 2, 1, Conclusion"]),
])
def test_the_last_allowed_turn_asks_for_the_end(run, limit, plan, asked):
    prompts = run("--max-thoughts", str(limit), replies=[reply(plan=plan, solution="42")] * limit).prompts
    assert [task for prompt in prompts for task in tasks(prompt)] == asked
    assert "[Pending]" not in turn(prompts[0])


def test_a_rejection_gives_the_reason_the_reminder_and_the_reply_as_they_are(run):
    bad = reply(plan=["[Odd] {step} {reason} {reply}", "[Pending] Conclusion"])
    with pytest.raises(InvalidThought, match="'{step} {reason} {reply}'.*'Odd'") as fault:
        read_reply(bad)
    result = run("-q", replies=[bad, reply(plan=["[Weird] A", "[Pending] Conclusion"]), reply(solution="42"), END])
    first, second, third, next_thought = map(turn, result.prompts)
    assert second.startswith(first.rstrip("\n")) and third.startswith(first.rstrip("\n"))
    assert nodes.TURN["rejection"].format(reason=fault.value) in second
    assert nodes.TURN["same reply"].format(reply=bad) in second
    assert "'Weird'" in third and "Odd" not in third + next_thought and "Weird" not in next_thought
    assert str(fault.value) in result.err and result.out == "42\n"


CUT = reply("All of it.", solution="NEVER open the door.").split("he door")[0]


@pytest.mark.parametrize("answer", [completion(CUT, "length"), completion(CUT, "abort"), completion(" \n")])
def test_a_reply_that_is_cut_or_empty_is_asked_for_again_and_not_sent_back(serve, run, answer):
    prompts = serve(reply(), answer, reply(solution="42"), END).prompts
    assert run("-q").out == "42\n"
    assert prompts[2].startswith(prompts[1].rstrip("\n")) and nodes.TURN["new reply"] in turn(prompts[2])
    assert "NEVER" not in prompts[2] and "All of it" not in prompts[2] and len(prompts) == 4
