"""The prompt, and the node that thinks with it."""

# What every prompt begins with. Edit any sentence: it is plain text that only three double quotes in a row can end.
INSTRUCTIONS = r"""You solve a problem one thought at a time. Each reply is one thought: it checks the one before it,
executes a step of the plan and returns the plan, updated. You cannot run code.

# Rules

Evaluate. From Thought 2 on, `current_thinking` begins with a check, written out, of the thought
before it and of what that wrote of the solution. Compare the figures and conditions used with the
problem. Test the results by other means than it used: put them back in, derive them another way,
search a text for what is missing; for "all", "none" or "only one", show another way that nothing
was missed. If you only recalculate or add up the same figures, say that it is weak. Then, on a line
of its own: "Evaluation of Thought N: VERDICT - reason".
- Correct.
- Minor Issues: something is missing or badly put, but no result changes. Fix it in passing.
- Major Error: a result is wrong, there or in an older thought. Put it right in this thought; every
  step that changes gets its new `result` or is reopened. Execute this turn's step too only if both
  fit in one reply, and never the Conclusion.

Execute one step, the one your turn names. Do the work; do not announce it. Name an earlier thought
instead of repeating it.

Plan. As few steps as the problem needs, each as much as one reply can do reliably: an easy problem
has one step and the Conclusion. Understanding, planning and checking the thought before are not steps.
Return the whole plan every time. The executed step becomes Done with a concise `result`. A step
that this thought left as it was needs only its `description`, word for word, and its `status`:
result and mark are kept. A step too big for one reply gets `sub_steps`; it stays Pending until all
are Done and then, in the same thought, becomes Done with its own `result`. Reword, split, add or
remove open steps as you see fit.

Doubt. If thinking can settle it, make the step Verification Needed, with its `result` so far and a
`mark` that says why; the next thought settles it by other means. If not (a fact not given or only
remembered, an ambiguous word, something to be run), assume what departs least from the problem; say
so in result and solution, in a line, with what the likeliest other reading changes.

Solution. `solution` is all that the user sees: the answer first, then as much reasoning as they
need; or the text they asked for (code, a letter), with a short note of what they must know to use
it. Write it with the last step before the Conclusion, a long one in sections, each with its step. A
file stands in a fence longer than any inside it. Find the answer in `current_thinking`, in notes; a
proof, table or text is written out only once, in the solution. No answer, several, or a wrong
premise is an answer too.

Conclude. The last step is always described as `Conclusion`: the check of the whole solution. Change
only what is wrong, missing or misleading. Executed, it is Done, without a `result`, and
`next_thought_needed` is false; before, it is true. After a Major Error it stays Pending, so that
the next thought checks what was corrected.

Language: that of the problem, but the keys, the statuses, `Conclusion` and "Evaluation of Thought
N: Correct / Minor Issues / Major Error" are English.

# Reply format

Reply with one ```yaml block like this and nothing else. Every text is a block literal (`|-`):
nothing in it needs escaping, only indentation, code fences too.

```yaml
current_thinking: |-
  Thought 2 factored. Put back in: $7^2 - 12 \cdot 7 + 35 = 0$.
  Evaluation of Thought 2: Correct - 7 solves the equation.

  x was found before; now $y = 12 - 7 = 5$.
planning:
  - description: |-
      Solve
    status: Pending
    sub_steps:
      - description: |-
          Find x
        status: Done
      - description: |-
          Find y
        status: Verification Needed
        result: |-
          y = 5
        mark: |-
          Is there another pair?
  - description: |-
      Conclusion
    status: Pending
next_thought_needed: true
solution: |-
  The numbers are 7 and 5:

  ```json
  {"x": 7, "y": 5}
  ```
```

Later thoughts leave the solution alone or change it by `solution_changes`. `new` replaces `old`, a
passage that stands there once (line breaks and indentation aside), or takes it out if empty;
without `old`, it is added at the end, after an empty line:

```yaml
solution_changes:
  - old: |-
      The numbers are 7 and 5:
    new: |-
      The only such numbers are 7 and 5:
  - new: |-
      A quadratic has no third root.
```
"""

# The sentences that every prompt ends with. Only {number}, {before} and {step} are filled in.
TURN = {
    "first thought": "This is Thought 1. There is nothing to evaluate and no plan yet: make one.",
    "later thought": "This is Thought {number}. First check and evaluate Thought {before}.",
    "first step": "Then execute its first step.",
    "step": "Then execute this step: {step}",
    "last step": "Then execute this step: {step}\nOnly the Conclusion is left after it: complete the solution now.",
    "no solution": "After any corrections, write the missing solution, and leave the Conclusion Pending for the next"
    " thought.",
    "conclusion": "Then execute this step: {step}\nChecking the whole solution also serves as that evaluation. If the"
    " solution holds, even after minor changes, set `next_thought_needed` to false.",
    "limit": "No thought is allowed after this one: execute the Conclusion now, whatever else is open. Complete the"
    " solution as well as you can, make the Conclusion Done and set `next_thought_needed` to false.",
}

import logging
import textwrap

from pocketflow import Node

from utils.call_llm import call_llm
from utils.cost import add_costs, format_cost
from utils.errors import NotAThought, RunFailed
from utils.plan_format import compare_plans, format_plan_for_prompt
from utils.plan_steps import is_conclusion, keep_results, open_steps
from utils.read_reply import read_reply
from utils.solution import EVALUATION, find_solution, is_over, solution_so_far
from utils.terminal import lay_out, print_text, status_line
from utils.text import count, one_line
from utils.trace_format import format_last_thought

MAX_THOUGHTS = 30
TRIES = 3

log = logging.getLogger("chain_of_thought")


class ChainOfThoughtNode(Node):
    """Thinks one thought at a time, until the problem is solved or the limit is reached.

    Shared store: "problem" str; "thoughts" list of thoughts; "current_thought_number" int; "solution" str or
    None. Only "problem" need be given. A thought is what read_reply returns, with its "thought_number" int and,
    where it is known, its "cost" as in utils/cost.py.
    save: a function that is given the shared store after every thought.
    call_llm: a function from a prompt, str, to a reply, str, which may have a cost and a fault as in utils/call_llm.py.
    """

    def __init__(self, max_thoughts=MAX_THOUGHTS, save=None, call_llm=call_llm):
        super().__init__()
        self.max_thoughts = max_thoughts
        self.save = save
        self.call_llm = call_llm

    def prep(self, shared):
        thoughts = shared.setdefault("thoughts", [])
        shared["solution"] = find_solution(thoughts)
        if shared["solution"] is not None:
            raise ValueError("The problem in this shared store is solved already.")
        if len(thoughts) >= self.max_thoughts:
            raise ValueError(f"The limit of {count(self.max_thoughts, 'thought')} is reached.")
        shared["current_thought_number"] = len(thoughts) + 1
        last_plan = thoughts[-1]["planning"] if thoughts else []
        return {
            "problem": shared["problem"],
            "thoughts_text": format_thoughts_for_prompt(thoughts),
            "last_plan_structure": last_plan,
            "last_plan_text": format_plan_for_prompt(last_plan),
            "solution_text": solution_so_far(thoughts),
            "current_thought_number": shared["current_thought_number"],
            "is_first_thought": not thoughts,
        }

    def exec(self, prep_res):
        """Ask until a reply is a thought, each time with what was wrong with the last one."""
        number, costs, rejection, reply = prep_res["current_thought_number"], [], None, ""
        for attempt in range(1, TRIES + 1):
            turn = format_turn(prep_res, self.max_thoughts, rejection, reply)
            log.debug("=== Thought %d, try %d: the turn ===\n%s", number, attempt, turn)
            with status_line(f"Thought {number}"):
                reply = self.call_llm(build_prompt(prep_res, turn))
            costs.append(getattr(reply, "cost", {}))
            log.debug("=== Thought %d, try %d: the reply (%s) ===\n%s", number, attempt, format_cost(costs[-1]), reply)
            try:
                thought = read_reply(reply, prep_res["solution_text"], number >= self.max_thoughts)
                return complete_thought(thought, prep_res, add_costs(costs))
            except NotAThought as reason:
                rejection = str(reason)
            if attempt < TRIES:
                log.warning("Thought %d: the reply was rejected: %s. Asking again.", number, rejection)
        raise RunFailed(
            f"The last reply:\n{reply}\n\nThought {number}: gave up after {TRIES} rejected replies, the last because"
            f" {rejection}. The model may not manage the format, or an edit of the prompt broke it: -v shows all three."
        )

    def post(self, shared, prep_res, exec_res):
        thoughts = shared["thoughts"]
        thoughts.append(exec_res)
        shared["solution"] = find_solution(thoughts)
        if self.save:
            self.save(shared)
        print_text(lay_out(format_last_thought(thoughts)))
        return "end" if is_over(exec_res) or len(thoughts) >= self.max_thoughts else "continue"


def complete_thought(thought, prep_res, cost):
    """The thought as it goes into the shared store, with what its plan need not repeat."""
    number = prep_res["current_thought_number"]
    if number > 1 and str(number - 1) not in EVALUATION.findall(thought["current_thinking"]):
        log.warning("Thought %d does not evaluate Thought %d.", number, number - 1)
    planning = keep_results(thought["planning"], prep_res["last_plan_structure"])
    return {"thought_number": number, **thought, "planning": planning, **({"cost": cost} if cost else {})}


def build_prompt(prep_res, turn):
    """The whole prompt of a thought. What changes least stands first, so that a prefix cache can serve it."""
    solution = f"# Solution so far\n\n{prep_res['solution_text']}\n\n" if prep_res["solution_text"] else ""
    thoughts = f"# Thoughts so far\n\n{prep_res['thoughts_text']}\n"
    return f"{INSTRUCTIONS}\n# Problem\n\n{prep_res['problem']}\n\n{thoughts}\n{solution}# Your turn\n\n{turn}\n"


def format_thoughts_for_prompt(thoughts):
    """All thoughts in full, each with the lines of its plan that the plan before did not have."""
    blocks, plan_before = [], []
    for thought in thoughts:
        number, changes = thought["thought_number"], thought.get("solution_changes")
        lines = [line for line, is_new in compare_plans(thought["planning"], plan_before) if is_new] or ["(nothing)"]
        block = [f"Thought {number}:", "  Thinking:", textwrap.indent(thought["current_thinking"], "    ")]
        block += ["  Solution: written"] if "solution" in thought else []
        block += [f"  Solution: changed in {count(len(changes), 'place')}"] if changes else []
        block += [f"  Plan Status After Thought {number}{' (what changed)' if plan_before else ''}:"]
        blocks.append("\n".join(block + [f"    {line}" for line in lines]))
        plan_before = thought["planning"]
    return f"\n{'-' * 20}\n".join(blocks) or "No previous thoughts yet."


def format_turn(prep_res, max_thoughts, rejection=None, reply=""):
    """What the model is to do now. rejection: what was wrong with its last reply, or None; reply: that reply."""
    number, steps = prep_res["current_thought_number"], open_steps(prep_res["last_plan_structure"])
    step = one_line(steps[0]["description"]) if steps else ""
    task = "limit" if number >= max_thoughts else choose_task(steps, prep_res["solution_text"])
    begin = TURN["first thought" if prep_res["is_first_thought"] else "later thought"]
    plan = "" if prep_res["is_first_thought"] else f"The plan:\n\n{prep_res['last_plan_text']}\n\n"
    turn = f"{begin} {TURN[task]}".replace("{number}", str(number)).replace("{before}", str(number - 1))
    turn = plan + turn.replace("{step}", step)
    if not rejection:
        return turn
    turn += f"\n\nYour last reply to this was rejected: {rejection}."
    if not reply.strip() or getattr(reply, "fault", None):
        return f"{turn} Write another one."
    return f"{turn} Send the whole reply again with that put right. The rejected reply:\n\n{reply}"


def choose_task(steps, solution):
    """Which sentence of TURN fits the open steps of the plan and the solution so far."""
    if not steps:
        return "first step"
    if is_conclusion(steps[0]):
        return "conclusion" if solution else "no solution"
    return "last step" if all(is_conclusion(step) for step in steps[1:]) else "step"
