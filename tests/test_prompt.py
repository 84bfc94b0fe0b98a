"""What each prompt holds, and what its turn asks for."""

import itertools
import re
import textwrap

import pytest

import nodes
from tests.loopback import completion
from tests.replies import THREE_KEYS, WITH_SOLUTION
from tests.replies import end, recorded, recorded_problem, recorded_trace, reply, reply_of
from utils.call_llm import Reply
from utils.reply_reader import read_reply
from utils.thought import START, concludes, why_no_check


def history(prompt):
    """What stands between the instructions and the turn."""
    behind_instructions = prompt.removeprefix(nodes.INSTRUCTIONS)
    return behind_instructions.split("\n# Your turn\n")[0]


def turn(prompt):
    return prompt.split("\n# Your turn\n\n")[1]


# The prompts of recorded runs


@pytest.fixture(params=[*THREE_KEYS, *WITH_SOLUTION])
def recorded_run(run, request):
    """Each prompt of a recorded run, with the replies before it and their traces, which this program did not write."""
    replies = recorded(request.param)
    traces = recorded_trace(request.param).split("-" * 50)
    prompts = run("--problem", recorded_problem(request.param), replies=replies).prompts
    return [
        (prompt, replies[:number], traces[:number])
        for number, prompt in enumerate(prompts)
    ]


def test_every_prompt_holds_all_earlier_thoughts(recorded_run):
    for prompt, replies, _ in recorded_run:
        for text in replies:
            thinking = text.split("\nplanning:")[0].split(": |-\n")[1]
            assert textwrap.indent(thinking, "  ") in history(prompt)


def test_every_prompt_holds_each_line_of_the_earlier_plans_once(recorded_run):
    for prompt, _, traces in recorded_run:
        for trace in traces:
            heading, *lines = trace.split("\n\n")[-1].splitlines()
            for line in lines:
                assert history(prompt).count(f"\n  {line}\n") == 1


def test_every_turn_holds_the_present_plan_in_its_simplified_view(recorded_run):
    for prompt, replies, _ in recorded_run[1:]:
        steps = re.findall(r"description: \|-\n +(.*)\n +status: (.*)", replies[-1])
        for description, status in steps:
            assert f"- [{status}] {description}\n" in turn(prompt)


def test_the_thirtieth_prompt_holds_all_earlier_thoughts(run):
    replies = [reply(number, f"Work {number}.") for number in range(1, 30)]
    last_prompt = run(replies=replies).prompts[-1]
    for number in range(1, 30):
        assert f"    Work {number}.\n" in history(last_prompt)


def test_every_prompt_begins_with_almost_all_of_the_one_before(run):
    prompts = run(replies=recorded("die")).prompts
    for before, after in itertools.pairwise(prompts[1:]):
        assert history(after).startswith(history(before))


# The parts of a prompt


PLAN = """\
[Verification Needed] Solve
  [Done] Check
[Pending] Write
  [Pending] Check
[Pending] Conclusion"""

HISTORY = """

Thought 1:
  Thinking:
    First:

      x = 2
  Solution: written
  Plan Status After Thought 1:
    - [Verification Needed] Solve
      - [Done] Check
    - [Pending] Write
      - [Pending] Check
    - [Pending] Conclusion
--------------------
Thought 2:
  Thinking:
    Second.
  Solution: changed in 2 places
  Plan Status After Thought 2 (what changed):
      - [Done] Check

"""


@pytest.fixture
def prompts(run):
    """The prompts of a run whose first thought writes a solution, which the second one changes."""
    changed_plan = PLAN.replace("  [Pending]", "  [Done]")
    first = reply(1, "First:\n\n  x = 2", PLAN.splitlines(), solution="It is 41.")
    second = reply_of(
        "Second.",
        changed_plan.splitlines(),
        changes=[("41", "42"), ("", "So it is.")],
    )
    third = reply_of("Third.", changed_plan.splitlines(), solution="It is 43.")
    return run("--problem", "How many?", replies=[first, second, third]).prompts  # The fourth is not answered.


def test_what_changes_least_stands_first(prompts):
    parts = [nodes.INSTRUCTIONS, "\nHow many?\n", HISTORY, "\nIt is 42.", "\n# Your turn\n"]
    places = [prompts[2].index(part) for part in parts]
    assert places[0] == 0
    assert places == sorted(places)


def test_the_history_holds_each_thought_and_the_lines_of_its_plan_that_are_new(prompts):
    assert "\n\nNo previous thoughts yet.\n\n" in prompts[0]
    assert HISTORY in prompts[2]


def test_the_history_says_of_a_solution_that_it_was_written_anew(prompts):
    assert "\n    Third.\n  Solution: written anew\n" in prompts[3]


def test_the_history_says_of_a_plan_that_nothing_changed(prompts):
    assert "Thought 3 (what changed):\n    (nothing)\n" in prompts[3]


def test_the_solution_stands_in_the_prompt_once_with_all_changes_made(prompts):
    assert prompts[2].count("\n\nIt is 42.\n\nSo it is.\n") == 1
    assert "It is 41." not in history(prompts[2])


NASTY = 'Braces {x} {0} {{}} {number}, 100% %s $HOME \\n \\frac{1}{2}\n\n```yaml\n---\nkey: "value" # x\n```\n  end'


def test_what_the_instructions_the_problem_and_a_thought_say_cannot_break_the_prompt(run, monkeypatch):
    monkeypatch.setattr(nodes, "INSTRUCTIONS", f"{NASTY}\n")
    prompt = run("--problem", NASTY, replies=[reply(1, NASTY, solution=NASTY)]).prompts[1]
    thinking = textwrap.indent(NASTY, "    ")
    assert f"\n{thinking}\n" in prompt
    assert prompt.count(f"{NASTY}\n\n") == 3  # the instructions, the problem and the solution


# The sentences of a turn


def test_the_first_turn_has_nothing_before_its_sentences(run):
    [prompt] = run(replies=[]).prompts
    assert turn(prompt) == f"{nodes.TURN['first']}\n{nodes.TURN['every turn']}\n"


@pytest.fixture
def turns(run, monkeypatch):
    """turns(*replies) says of each turn of a run which sentences of TURN it has, and which step is filled in there."""
    for name in nodes.TURN:
        monkeypatch.setitem(nodes.TURN, name, f"<{name}: {{step}}>")

    def read_turns(*replies, limit="30"):
        prompts = run("--max-thoughts", limit, replies=replies).prompts
        return re.findall("<(.*)>\n<every turn", "".join(map(turn, prompts)))

    return read_turns


def test_the_turns_of_a_run_lead_from_a_plan_to_the_check_of_the_solution(turns):
    first, *others = turns(
        reply(1, plan=["[Pending] A", "[Pending] B", "[Pending] Conclusion"]),
        reply(2, plan=["[Done] A", "[Pending] B", "[Pending] Conclusion"]),
        reply(3),
        reply(4, solution="42"),
        end(5),
    )
    assert first.startswith("first:")
    assert others == ["step: A", "last step: B", "no solution: Conclusion", "conclusion: Conclusion"]


@pytest.mark.parametrize(
    "plan, asked",
    [
        ("[Done] A\n[Verification Needed] B\n[Pending] C\n[Pending] Conclusion", "step: B"),
        ("[Pending] Conclusion (a)\n[Pending] B\n[Pending] Conclusion", "step: Conclusion (a)"),
        ("[Pending] A\n  [Done] B\n  [Pending] C\n[Pending] Conclusion", "last step: C"),
        ("[Pending] A\n  [Done] B\n  [Done] C\n[Pending] Conclusion", "last step: A"),
        ("[Done] A\n[Pending] 3. **Conclusion**: all", "conclusion: 3. **Conclusion**: all"),
        ("[Done] A\n[Pending] Conclusion\n  [Pending] B\n  [Pending] C", "last step: B"),
        ("[Done] A\n[Pending] Conclusion\n  [Done] B\n  [Pending] C", "conclusion: C"),
        ("[Done] A\n[Done] Conclusion", "conclusion: Conclusion"),
    ],
)
def test_a_turn_names_the_first_open_step_or_the_conclusion(turns, plan, asked):
    first = reply(1, plan=plan.splitlines(), solution="42")
    assert turns(first)[1] == asked


def test_the_last_allowed_turn_asks_for_the_end_and_names_the_next_step(turns):
    first = reply(1, plan=["[Pending] A", "[Pending] B", "[Pending] Conclusion"], solution="42")
    assert turns(first, limit="2")[1] == "limit: A"


@pytest.mark.parametrize("limit", ["2", "30"])
@pytest.mark.parametrize(
    "plan",
    [
        "[Pending] Do this\n[Pending] Rest\n[Pending] Conclusion",
        "[Pending] Do this\n[Pending] Conclusion",
        "[Pending] Conclusion: Do this",
        "[Done] Conclusion: Do this",
    ],
)
def test_the_sentences_of_a_turn_name_the_step_that_the_plan_before_them_shows(run, plan, limit):
    first = reply(1, plan=plan.splitlines(), solution="42")
    prompts = run("--max-thoughts", limit, replies=[first]).prompts
    assert turn(prompts[1]).count("Do this") == 2


def test_the_only_turn_asks_for_everything(turns):
    [only_turn] = turns(end(1, solution="42"), limit="1")
    assert only_turn.startswith("only thought:")


def test_a_turn_has_its_values_filled_in_once_on_one_line_and_any_other_brace_is_a_brace(run, monkeypatch):
    monkeypatch.setitem(nodes.TURN, "last step", "{like this} {} {0} {{x}} { %s: {number} after {before}: {step}!")
    first = reply(1, plan=["[Pending] Do:\n- {number}\n\n  {step}", "[Pending] Conclusion"])
    prompts = run(replies=[first]).prompts
    assert "\n{like this} {} {0} {{x}} { %s: 2 after 1: Do: - {number} {step}!\n" in turn(prompts[1])


# After a rejection


def test_a_rejected_reply_is_sent_back_as_it_is_with_the_reason(run, monkeypatch):
    monkeypatch.setitem(nodes.REJECTION, "reason", "No {like this}: {reason}!")
    bad = reply(1, plan=["[Pending] {step} {reason} {reply}"])
    first, second = run(replies=[bad]).prompts
    added = second.removeprefix(first.rstrip("\n"))
    assert added.startswith("\n\nNo {like this}: ")
    assert added.count("{step} {reason} {reply}") == 2  # in the reason and in the reply
    assert added.count(bad) == 1


def test_a_turn_tells_of_the_last_rejection_and_of_none_of_an_earlier_thought(run):
    odd = reply(1, plan=["[Odd] Conclusion"])
    weird = reply(1, plan=["[Weird] Conclusion"])
    prompts = run(replies=[odd, weird, reply(1)]).prompts
    *_, last_try, next_thought = map(turn, prompts)
    assert last_try.count("Weird") == 2  # in the reason and in the reply
    assert "Odd" not in last_try
    assert "Weird" not in next_thought


def test_a_reply_that_is_cut_off_or_empty_is_not_sent_back(serve, run, monkeypatch):
    monkeypatch.setitem(nodes.REJECTION, "new reply", "Write anew.")
    endpoint = serve(completion("Zwölf Wor", "length"), " \n")
    run()
    first, second, third = endpoint.prompts
    assert second.endswith("\nWrite anew.\n")
    assert third.endswith("\nWrite anew.\n")
    assert "Zwölf" not in second


# The examples in INSTRUCTIONS


def test_every_example_in_the_instructions_can_be_read_as_a_reply_and_the_last_is_a_check():
    blocks = re.findall(r"(?ms)^```\w*\n.*?^```$", nodes.INSTRUCTIONS)
    examples = [block for block in blocks if "planning" in block]
    assert len(examples) >= 2
    before = START
    for example in examples:
        before = {**before, "thought_number": 3}  # The last one evaluates Thought 3.
        thought = read_reply(Reply(example), before, is_last_allowed=False)
        before = thought
    assert concludes(thought)
    assert why_no_check(thought, {**thought, "thought_number": 3}) == ""
