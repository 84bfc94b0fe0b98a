import nodes
from flow import create_chain_of_thought_flow
from nodes import ChainOfThoughtNode

PENDING = [{"description": "Conclusion", "status": "Pending"}]


REPLY = """\
current_thinking: Some work.
planning: [{description: Conclusion, status: Pending}]
next_thought_needed: true
"""


def thought(number, thinking="Some work.", planning=PENDING, more=True):
    return {
        "thought_number": number,
        "current_thinking": thinking,
        "planning": planning,
        "next_thought_needed": more,
    }


def shared_store(*thoughts, problem="What is 6 times 7?"):
    return {
        "problem": problem,
        "thoughts": list(thoughts),
        "current_thought_number": len(thoughts),
        "solution": None,
    }


def prompt_for(*thoughts, problem="What is 6 times 7?", max_thoughts=30):
    node = ChainOfThoughtNode(max_thoughts)
    return node.build_prompt(node.prep(shared_store(*thoughts, problem=problem)))


# prep


def test_prep_before_the_first_thought():
    shared = shared_store()
    assert ChainOfThoughtNode().prep(shared) == {
        "problem": "What is 6 times 7?",
        "thoughts_text": "No previous thoughts yet.",
        "last_plan_text": (
            "- [Pending] Understand the problem\n- [Pending] Develop a high-level plan\n- [Pending] Conclusion"
        ),
        "current_thought_number": 1,
        "is_first_thought": True,
    }
    assert shared["current_thought_number"] == 1


def test_prep_after_one_thought():
    plan = [
        {"description": "Understand the problem", "status": "Done", "result": "what came out"},
        {
            "description": "Solve the system",
            "status": "Pending",
            "sub_steps": [{"description": "Set up the matrix", "status": "Pending"}],
        },
        {"description": "Conclusion", "status": "Pending"},
    ]
    prep_res = ChainOfThoughtNode().prep(shared_store(thought(1, "First line.\n\n  Indented line.", plan)))
    assert prep_res["thoughts_text"] == (
        "Thought 1:\n"
        "  Thinking:\n"
        "    First line.\n"
        "\n"
        "      Indented line.\n"
        "  Plan Status After Thought 1:\n"
        "    - [Done] Understand the problem: what came out\n"
        "    - [Pending] Solve the system\n"
        "      - [Pending] Set up the matrix\n"
        "    - [Pending] Conclusion"
    )
    assert prep_res["last_plan_text"] == (
        "- [Done] Understand the problem\n"
        "- [Pending] Solve the system\n"
        "  - [Pending] Set up the matrix\n"
        "- [Pending] Conclusion"
    )
    assert prep_res["is_first_thought"] is False


def test_prep_parts_several_thoughts_by_a_line_of_dashes():
    prep_res = ChainOfThoughtNode().prep(shared_store(thought(1, "One."), thought(2, "Two.")))
    assert prep_res["thoughts_text"] == (
        "Thought 1:\n"
        "  Thinking:\n"
        "    One.\n"
        "  Plan Status After Thought 1:\n"
        "    - [Pending] Conclusion\n"
        "--------------------\n"
        "Thought 2:\n"
        "  Thinking:\n"
        "    Two.\n"
        "  Plan Status After Thought 2:\n"
        "    - [Pending] Conclusion"
    )
    assert prep_res["current_thought_number"] == 3


# The prompt


def test_the_prompt_holds_its_parts_in_order():
    prompt = prompt_for(thought(1, "The work of thought one."))
    parts = [nodes.INSTRUCTIONS, "What is 6 times 7?", "The work of thought one.", "This is Thought 2."]
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    assert places[0] == 0


def test_the_first_turn_has_nothing_to_evaluate_and_suggests_a_plan():
    turn = prompt_for().split("# Your turn\n")[1]
    assert "nothing to evaluate" in turn
    assert "- [Pending] Develop a high-level plan\n" in turn
    assert "Evaluation of Thought" not in turn


def test_a_later_turn_asks_for_the_evaluation_of_the_thought_before():
    turn = prompt_for(thought(1), thought(2)).split("# Your turn\n")[1]
    assert "evaluation of Thought 2" in turn
    assert "- [Pending] Conclusion\n" in turn


NASTY_TEXT = (
    'Braces {x} {0} {{}}, 100% %s $HOME ${y} \\n \\frac{1}{2}\n\n```yaml\n---\nkey: "value" # no comment\n```\n  end'
)


def test_a_nasty_problem_goes_into_the_prompt_unchanged():
    assert f"\n\n{NASTY_TEXT}\n\n" in prompt_for(problem=NASTY_TEXT)


def test_a_nasty_thought_goes_into_the_prompt_unchanged_but_for_its_indentation():
    indented = "\n".join(f"    {line}" if line else "" for line in NASTY_TEXT.split("\n"))
    assert f"  Thinking:\n{indented}\n" in prompt_for(thought(1, NASTY_TEXT))


def test_only_the_last_allowed_thought_is_told_to_conclude():
    notice = "this is the last thought"
    assert notice not in prompt_for(thought(1), max_thoughts=3)
    assert notice in prompt_for(thought(1), thought(2), max_thoughts=3)


# exec


def test_exec_returns_the_thought_with_its_number_and_keeps_off_the_shared_store(monkeypatch):
    monkeypatch.setattr(nodes, "call_llm", lambda prompt: REPLY)
    node, shared = ChainOfThoughtNode(), shared_store()
    prep_res = node.prep(shared)
    assert node.exec(prep_res) == thought(1)
    assert shared == shared_store() | {"current_thought_number": 1}


def test_a_rejection_is_forgotten_with_its_thought(monkeypatch):
    replies, prompts = iter(["nonsense", REPLY, REPLY]), []
    monkeypatch.setattr(nodes, "call_llm", lambda prompt: prompts.append(prompt) or next(replies))
    node, shared = ChainOfThoughtNode(max_retries=3), shared_store()
    for _ in range(2):
        node.run(shared)
    assert ["was rejected" in prompt for prompt in prompts] == [False, True, False]


# post


def test_post_prints_a_thought_and_continues(capsys):
    shared = shared_store()
    plan = [
        {"description": "Understand the problem", "status": "Done", "result": "what came out"},
        {
            "description": "Solve the system",
            "status": "Verification Needed",
            "mark": "the third row looks wrong",
            "sub_steps": [{"description": "Redo the third row", "status": "Pending"}],
        },
        {"description": "Conclusion", "status": "Pending"},
    ]
    new = thought(1, "\n    The work of the step,\n   \n      in as many lines as it has.  \n\n", plan)
    assert ChainOfThoughtNode().post(shared, {}, new) == "continue"
    assert capsys.readouterr().out == (
        "Thought 1:\n"
        "  The work of the step,\n"
        "\n"
        "    in as many lines as it has.\n"
        "\n"
        "Current Plan Status:\n"
        "  - [Done] Understand the problem: what came out\n"
        "  - [Verification Needed] Solve the system (the third row looks wrong)\n"
        "    - [Pending] Redo the third row\n"
        "  - [Pending] Conclusion\n"
        "--------------------------------------------------\n"
        "\n"
    )
    assert shared["thoughts"] == [new]
    assert shared["solution"] is None


def test_post_prints_the_conclusion_and_ends(capsys):
    shared = shared_store(thought(1))
    done = [{"description": "Conclusion", "status": "Done", "result": "the answer"}]
    new = thought(2, "Evaluation of Thought 1: Correct\nThe answer.", done, more=False)
    assert ChainOfThoughtNode().post(shared, {}, new) == "end"
    assert capsys.readouterr().out == (
        "Thought 2 (Conclusion):\n"
        "  Evaluation of Thought 1: Correct\n"
        "  The answer.\n"
        "\n"
        "Final Plan Status:\n"
        "  - [Done] Conclusion: the answer\n"
        "\n"
        "=== FINAL SOLUTION ===\n"
        "Evaluation of Thought 1: Correct\n"
        "The answer.\n"
        "======================\n"
        "\n"
    )
    assert shared["solution"] == "Evaluation of Thought 1: Correct\nThe answer."


def test_post_ends_without_a_solution_at_the_thought_limit():
    shared = shared_store(thought(1))
    assert ChainOfThoughtNode(max_thoughts=2).post(shared, {}, thought(2)) == "end"
    assert shared["solution"] is None


# The flow


def test_the_flow_loops_on_one_node_that_gets_three_tries():
    node = create_chain_of_thought_flow(max_thoughts=5).start_node
    assert node.successors["continue"] is node
    assert (node.max_thoughts, node.max_retries) == (5, 3)
