"""The prompt, and the node that thinks with it."""

import logging
import time

from pocketflow import Node

from utils.errors import InvalidThought, RunFailed
from utils.plan_format import format_plan_for_prompt, one_line
from utils.read_reply import read_reply
from utils.terminal import print_trace, status_line
from utils.thought import add_costs, final_solution, find_verdicts, is_conclusion, is_over, open_steps, solution_so_far
from utils.thought_format import count, format_cost, format_last_thought, format_thoughts_for_prompt

# What every prompt begins with. Edit any sentence: it is plain text that only three double quotes in a row can end.
INSTRUCTIONS = r"""You solve a problem one thought at a time. Each reply is one thought: it checks the one before it,
executes one step of the plan and returns the plan, updated. You cannot run code.

# Rules

Evaluate. From Thought 2 on, `current_thinking` begins with a check, written out, of the thought
before and of what it added to the solution. Reread the problem condition by condition and take
the figures from there. Test the results by other means than that thought used: put them back in,
derive them another way, search a text for what is missing; for "all", "none" or "only one", show
another way that nothing was missed. What has no such test (a count, rounded figures, code) is gone
through item by item or with inputs not tried yet. Recalculating is weak: say so. Rearranging the same
figures is no test. Say what is only remembered. Then, on a line of its own: "Evaluation of Thought N:
VERDICT - reason".
- Correct.
- Minor Issues: something is missing or badly put, but no result changes. Fix it in passing.
- Major Error: a result is wrong, or code would fail or do harm, there or in an older thought. Put it
  right in this thought; every step that changes gets its new `result` or is Pending again. Execute
  this turn's step too only if both fit in one reply, and never the Conclusion.

Execute one step, the one your turn names. Do the work; do not announce it. Name an earlier thought
instead of repeating it.

Plan. As few steps as the problem needs, each as much as one reply can do reliably: an easy problem
has one step and the Conclusion. Understanding, planning and checking a thought are not steps. Return
the whole plan every time. The executed step becomes Done with a one-line `result`. A step left as it
was needs only its `description`, word for word, and its `status`: the rest is kept. A step too big
for one reply gets `sub_steps`; it stays Pending until all are Done and then, in the same thought,
becomes Done with its own `result`. Reword, split, add or remove open steps at will.

Doubt. If thinking can settle it, make the step Verification Needed, with its `result` so far and a
`mark` that says why; the next thought settles it by other means. If not (a fact not given or not
surely remembered, an ambiguous word, something to be run), assume what departs least from the
problem. If another reading would change the answer, say so in the solution, once, briefly.

Solution. `solution` is all that the user sees: the answer first, then as much reasoning as they need;
or the text they asked for (code, a letter), then only what they must know to use it. Write it with
the last step before the Conclusion, not earlier; if it is too long for one reply, in sections, in
order, a step each. Write nothing twice: a proof, table, text or code stands only in the
solution; `current_thinking` has short notes of what leads there: attempts, dropped cases, key values.
A paragraph is one line. No answer, several, or a wrong premise is an answer too: show why; a repair
gets a sentence.

Conclude. The last step is always described as `Conclusion`: the check of the whole solution. Change
only what is wrong or unclear, or asked for and missing. Executed, it is Done, without a `result`,
and `next_thought_needed` is false; before, it is true. After a Major Error it stays Pending, so that
the next thought checks what was corrected.

Language: that of the problem, but the keys, the statuses, `Conclusion` and "Evaluation of Thought
N: Correct / Minor Issues / Major Error" are English.

# Reply format

Reply with one ```yaml block and nothing else. Every text is a block literal (`|-`): nothing in it
needs escaping, only indentation, code fences too. A second thought could be:

```yaml
current_thinking: |-
  Thought 1 factored. Put back in: $7^2 - 12 \cdot 7 + 35 = 0$.
  Evaluation of Thought 1: Correct - 7 solves the equation.

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

Later thoughts leave the solution alone or change it. `new` replaces `old`, a passage that is there
exactly once (line breaks and indentation aside), or takes it out if empty. Indent its further lines
as they should stand in the solution. Without `old`, it is added at the end after an empty line. A
last thought could be:

```yaml
current_thinking: |-
  7 + 5 = 12, 7 · 5 = 35. All pairs were asked for; that there is only one is not said.
  Evaluation of Thought 3: Minor Issues - it does not say that there is no other pair.
planning:
  - description: |-
      Solve
    status: Done
  - description: |-
      Conclusion
    status: Done
next_thought_needed: false
solution_changes:
  - old: |-
      The numbers are 7 and 5:
    new: |-
      The only such numbers are 7 and 5:
  - new: |-
      A quadratic has no third root.
```
"""

# The sentences that every prompt ends with. Only {number}, {before}, {step}, {reason} and {reply} are filled in.
TURN = {
    "first step": "This is Thought 1. There is nothing to evaluate and no plan yet: make one. Then execute its first"
    " step.",
    "step": "This is Thought {number}. First check and evaluate Thought {before}. Then execute this step: {step}",
    "last step": "This is Thought {number}. First check and evaluate Thought {before}. Then execute this step: {step}\n"
    "Only the Conclusion is left after it: complete the solution now.",
    "no solution": "This is Thought {number}. First check and evaluate Thought {before}. After any corrections, write"
    " the missing solution, and leave the Conclusion Pending for the next thought.",
    "conclusion": "This is Thought {number}. Execute this step: {step}\nCheck the whole solution: that is also the"
    " check of Thought {before}, and ends with its evaluation. If the solution is right, even after minor changes,"
    " set `next_thought_needed` to false.",
    "limit": "This is Thought {number}. First check and evaluate Thought {before}. No thought is allowed after this"
    " one: execute the Conclusion now. Take out of the plan what can no longer be done; complete the solution, and"
    " say in it what was not done and which doubts are left. Set `next_thought_needed` to false.",
    "only thought": "This is Thought 1. No thought is allowed after this one: there is nothing to evaluate, so make a"
    " plan of what you can do now, do it, write the solution, and say in it what was not done and which doubts are"
    " left. The whole plan is Done, with the Conclusion, and `next_thought_needed` is false.",
    "rejection": "Your last reply to this was rejected: {reason}.",
    "new reply": "Write a new reply.",
    "same reply": "Send the whole reply again with that corrected. The rejected reply:\n\n{reply}",
}

MAX_THOUGHTS = 30
TRIES = 3

log = logging.getLogger("chain_of_thought")


class ChainOfThoughtNode(Node):
    """Thinks one thought at a time, until the problem is solved or the limit is reached.

    Shared store: "problem" str; "thoughts" list of thoughts, as in utils/thought.py; "current_thought_number" int;
    "solution" str or None. Only "problem" need be given.
    save: None, or a function that is given the shared store after every thought. call_llm: a function from a prompt,
    str, to a reply, str, which may have a cost and a fault like the Reply in utils/call_llm.py.
    """

    def __init__(self, max_thoughts, save, call_llm):
        super().__init__()
        self.max_thoughts = max_thoughts
        self.save = save
        self.call_llm = call_llm

    def prep(self, shared):
        thoughts = shared.setdefault("thoughts", [])
        shared["solution"] = final_solution(thoughts)
        if shared["solution"] is not None:
            raise ValueError("The problem in this shared store is solved already.")
        if len(thoughts) >= self.max_thoughts:
            raise ValueError(f"The limit of {count(self.max_thoughts, 'thoughts')} is reached.")
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
        """Ask until a reply is a valid thought, each time with what was wrong with the last one."""
        number = prep_res["current_thought_number"]
        turn = format_turn(prep_res, self.max_thoughts)
        rejection = ""
        costs = []
        for attempt in range(1, TRIES + 1):
            reply, cost = self.query(prep_res, turn + rejection, attempt)
            costs.append(cost)
            try:
                thought = read_reply(reply, number, prep_res["last_plan_structure"], prep_res["solution_text"])
                return {**thought, "cost": add_costs(costs)}
            except InvalidThought as error:
                reason = str(error)
            rejection = format_rejection(reason, reply)
            if attempt < TRIES:
                log.warning("Thought %d: the reply was rejected: %s. Asking again.", number, reason)
        raise RunFailed(
            f"The last reply:\n{reply}\n\nThought {number}: gave up after {TRIES} rejected replies; the last one:"
            f" {reason}. The model may not manage the format, or an edit of the prompt broke it: -v shows all three."
        )

    def query(self, prep_res, turn, attempt):
        """The reply to a prompt that ends with this turn, and what it cost."""
        name = f"Thought {prep_res['current_thought_number']}"
        log.debug("=== %s, try %d: the turn ===\n%s", name, attempt, turn)
        start = time.monotonic()
        with status_line(name):
            reply = self.call_llm(build_prompt(prep_res, turn))
        cost = {"requests": 1, "seconds": round(time.monotonic() - start, 1)}
        reply = "" if reply is None else reply
        if not isinstance(reply, str):
            raise TypeError(f"call_llm must return a str or None, not {type(reply).__name__}")
        cost.update(getattr(reply, "cost", None) or {})
        log.debug("=== %s, try %d: the reply (%s) ===\n%s", name, attempt, format_cost(cost), reply)
        return reply, cost

    def post(self, shared, prep_res, exec_res):
        number = exec_res["thought_number"]
        thoughts = shared["thoughts"]
        thoughts.append(exec_res)
        shared["solution"] = final_solution(thoughts)
        if self.save:
            self.save(shared)
        if number > 1 and str(number - 1) not in dict(find_verdicts(exec_res["current_thinking"])):
            log.warning("Thought %d does not evaluate Thought %d.", number, number - 1)
        if is_over(exec_res) and solution_so_far(thoughts) is None:
            log.warning("Thought %d ends the run without a `solution`: its thinking is shown instead.", number)
        print_trace(format_last_thought(thoughts))
        return "end" if is_over(exec_res) or len(thoughts) >= self.max_thoughts else "continue"


def build_prompt(prep_res, turn):
    """The whole prompt of a thought. What changes least comes first, so that a prefix cache can serve it."""
    solution = f"# Solution so far\n\n{prep_res['solution_text']}\n\n" if prep_res["solution_text"] else ""
    thoughts = f"# Thoughts so far\n\n{prep_res['thoughts_text']}\n"
    return f"{INSTRUCTIONS}\n# Problem\n\n{prep_res['problem']}\n\n{thoughts}\n{solution}# Your turn\n\n{turn}\n"


def format_turn(prep_res, max_thoughts):
    """What the model is to do now: the plan, what to check, and which step to execute."""
    number = prep_res["current_thought_number"]
    steps = open_steps(prep_res["last_plan_structure"])
    turn = TURN[choose_task(steps, prep_res["solution_text"], number, max_thoughts)]
    turn = turn.replace("{number}", str(number)).replace("{before}", str(number - 1))
    turn = turn.replace("{step}", one_line(steps[0]["description"]) if steps else "")
    return turn if prep_res["is_first_thought"] else f"The plan:\n\n{prep_res['last_plan_text']}\n\n{turn}"


def choose_task(steps, solution, number, max_thoughts):
    """The key of TURN that fits the open steps of the plan and the solution so far."""
    if number >= max_thoughts:
        return "only thought" if number == 1 else "limit"
    if number == 1:
        return "first step"
    if is_conclusion(steps[0]):
        return "conclusion" if solution else "no solution"
    return "last step" if all(is_conclusion(step) for step in steps[1:]) else "step"


def format_rejection(reason, reply):
    """The end of the turn after a rejected reply, with the reply, unless it is empty or cannot be mended."""
    is_repairable = reply.strip() and not getattr(reply, "fault", None)
    rejection = TURN["rejection"].replace("{reason}", reason)
    demand = TURN["same reply" if is_repairable else "new reply"].replace("{reply}", reply)
    return f"\n\n{rejection} {demand}"
