"""The prompt and the node that thinks with it."""

# What every prompt begins with. Edit any sentence: it is plain text, and only three double quotes in a row end it.
INSTRUCTIONS = r"""You solve a hard problem one thought at a time. Each reply is one thought: it evaluates the one
before it, executes one step of the plan and returns the plan, updated. Nothing can be run.

# Rules

Evaluate. From Thought 2 on, `current_thinking` begins with one line, "Evaluation of Thought N:
VERDICT - reason"; a check that needs room follows below. The verdicts:
- Correct: say what you checked and how, by other means than that thought used: put the result back
  in, get it another way, reread the problem, search a text for what is missing. If you only
  recalculated, say so.
- Minor Issues: wrong or missing, but nothing else changes. Fix it in passing, also in the `result`.
- Major Error: a result is wrong. Put it right in this thought; the step gets its new `result` or,
  failing that, is reopened. Execute this turn's step too only if both fit.
Claim no check that you do not write out. Name an error in an older thought in the same line.

Execute one step, the one your turn names. Do the work; do not announce it. Write code, tables and
long texts in full; the `result` names the thought that holds them. Nothing evaluates the
Conclusion, so what it delivers must already stand in a thought.

Plan. Use as few steps as the problem needs, each bringing the answer closer, each as big as one
reply can do reliably: an easy problem has one step and the Conclusion. Understanding, planning and
checking the thought before are not steps. Return the whole plan every time. The executed step
becomes Done with a concise `result`. A step you left as it was needs only its `description`, word
for word, and its `status`: its result and mark are kept. A step too big for a reply gets
`sub_steps`; it stays Pending until all are Done and then, in the same thought, becomes Done with
its own `result`. Reword, split, add or remove open steps where that is better.

Doubt. If thinking can settle it, make the step Verification Needed, with its `result` so far and a
`mark` that says why; the next thought settles it by other means. If not (a fact not given,
something to be run), assume what departs least from the problem, and say so in result and answer.

Conclude. The last step is always described as `Conclusion`; executed, it is Done and needs no
`result`. Only the thought that executes it sets `next_thought_needed` to false. Its
`current_thinking` is the evaluation and its check, with no blank line in them, then a blank line
and the complete answer for someone who has seen neither thoughts nor plan: the answer first, then
as much reasoning as they need, and nothing unchecked (a check in this evaluation counts). If the
evaluation finds a Major Error that changes the answer, put that right first; the Conclusion waits.
No answer, several, or a wrong premise is an answer too.

Language: that of the problem. Only the keys, statuses, `Conclusion` and "Evaluation of Thought N:
Correct / Minor Issues / Major Error" are in English.

# Reply format

Reply with one ```yaml block like this, from `current_thinking` to `next_thought_needed`, and
nothing else. Every text is a block literal (`|-`), in which nothing needs escaping (colons, quotes,
LaTeX), only indentation, code fences too.

```yaml
current_thinking: |-
  Evaluation of Thought 2: Correct - put back in: $2 + 1 = 3$, $2 - 1 = 1$.

  A doubt: does "differ by 1" mean $x > y$? The file:

  ```yaml
  x: 2
  y: 1
  ```
planning:
  - description: |-
      Set up the equations
    status: Verification Needed
    result: |-
      x + y = 3, x - y = 1
    mark: |-
      Assumes x > y
  - description: |-
      Solve them
    status: Done
    sub_steps:
      - description: |-
          Find x
        status: Done
      - description: |-
          Find y
        status: Done
  - description: |-
      Write the file
    status: Done
    result: |-
      See Thought 3
  - description: |-
      Conclusion
    status: Pending
next_thought_needed: true
```
"""

import logging
import textwrap

from pocketflow import Node

from utils.call_llm import RejectedReply, call_llm
from utils.plan_format import compare_plans, format_plan_for_prompt, one_line
from utils.plan_steps import is_concluded, keep_results, open_steps
from utils.read_reply import read_reply
from utils.terminal import lay_out, status_line
from utils.trace_format import dedent, find_solution, format_thought

MAX_THOUGHTS = 30

log = logging.getLogger("chain_of_thought")


class ChainOfThoughtNode(Node):
    """Thinks one thought at a time, until the plan is concluded or max_thoughts are thought.

    Shared store: "problem" str; "thoughts" list of thoughts; "current_thought_number" int; "solution" str or
    None. Only "problem" need be given. A thought is what read_reply returns, with its "thought_number" int.
    keep: a function that is given the shared store after every thought.
    """

    def __init__(self, max_thoughts=MAX_THOUGHTS, keep=None, max_retries=3):
        super().__init__(max_retries)
        self.max_thoughts = max_thoughts
        self.keep = keep

    def prep(self, shared):
        thoughts = shared.setdefault("thoughts", [])
        shared.setdefault("solution", None)
        shared["current_thought_number"] = len(thoughts) + 1
        return {
            "problem": shared["problem"],
            "thoughts_text": format_thoughts_for_prompt(thoughts),
            "last_plan_structure": last_plan(thoughts),
            "last_plan_text": format_plan_for_prompt(last_plan(thoughts)),
            "current_thought_number": shared["current_thought_number"],
            "is_first_thought": not thoughts,
        }

    def exec(self, prep_res):
        """Think, and raise only a rejected reply: PocketFlow runs exec again after any exception.

        Another try would not mend anything else, so that is returned, for post to raise.
        """
        try:
            return self.think(prep_res)
        except RejectedReply as rejection:
            prep_res.setdefault("rejections", []).append(rejection)
            raise
        except Exception as failure:
            return failure

    def think(self, prep_res):
        number, rejections = prep_res["current_thought_number"], prep_res.get("rejections", [])
        if rejections:
            log.warning("Thought %d: the reply was rejected: %s. Asking again.", number, rejections[-1])
        log.debug("=== Thought %d, try %d ===", number, len(rejections) + 1)
        with status_line(f"Thought {number}"):
            reply = call_llm(build_prompt(prep_res, self.max_thoughts))
        try:
            thought = read_reply(reply)
        except AssertionError as reason:
            raise RejectedReply(reason, reply, fixable=True) from None
        planning = keep_results(thought["planning"], prep_res["last_plan_structure"])
        return {"thought_number": number, **thought, "planning": planning}

    def exec_fallback(self, prep_res, exc):
        number, tries = prep_res["current_thought_number"], len(prep_res["rejections"])
        raise RejectedReply(f"Thought {number}: gave up after {tries} rejected replies. The last one: {exc}.", exc.reply)

    def post(self, shared, prep_res, exec_res):
        if isinstance(exec_res, Exception):
            raise exec_res
        plan_before = last_plan(shared["thoughts"])
        shared["thoughts"].append(exec_res)
        shared["solution"] = find_solution(exec_res)
        if self.keep:
            self.keep(shared)
        print(lay_out(format_thought(exec_res, plan_before)), flush=True)
        is_over = is_concluded(exec_res) or exec_res["thought_number"] >= self.max_thoughts
        return "end" if is_over else "continue"


def build_prompt(prep_res, max_thoughts):
    """The whole prompt of a thought. prep_res: what prep returned.

    Each part changes less often than the next, so that a prompt begins with almost all of the one
    before it and a prefix cache can serve that.
    """
    parts = [
        INSTRUCTIONS,
        f"# Problem\n\n{prep_res['problem']}\n",
        f"# Thoughts so far\n\n{prep_res['thoughts_text']}\n",
        f"# Your turn\n\n{format_turn(prep_res, max_thoughts)}\n",
    ]
    return "\n".join(parts)


def format_thoughts_for_prompt(thoughts):
    """All thoughts in full, each with the lines of its plan that the plan before did not have."""
    blocks, plan_before = [], []
    for thought in thoughts:
        number, lines = thought["thought_number"], compare_plans(thought["planning"], plan_before)
        new_lines = "\n".join(line for line, is_new in lines if is_new) or "(nothing)"
        blocks.append(
            f"Thought {number}:\n"
            "  Thinking:\n"
            f"{textwrap.indent(dedent(thought['current_thinking']), '    ')}\n"
            f"  Plan Status After Thought {number}{' (what changed)' if plan_before else ''}:\n"
            f"{textwrap.indent(new_lines, '    ')}"
        )
        plan_before = thought["planning"]
    return f"\n{'-' * 20}\n".join(blocks) or "No previous thoughts yet."


def format_turn(prep_res, max_thoughts):
    number, rejections = prep_res["current_thought_number"], prep_res.get("rejections")
    steps = open_steps(prep_res["last_plan_structure"])
    if prep_res["is_first_thought"]:
        turn = "This is Thought 1. There is nothing to evaluate and no plan yet: make one and execute its first step."
    else:
        step = one_line(steps[0]["description"]) if steps else "Conclusion"
        turn = (
            f"The plan:\n\n{prep_res['last_plan_text']}\n\nThis is Thought {number}. "
            f"Begin with the evaluation of Thought {number - 1}. Then execute this step: {step}"
        )
        if len(steps) <= 1:
            turn += (
                "\nNo other step is open: write the complete answer, return the whole plan after it and set"
                " `next_thought_needed` to false."
            )
    if number >= max_thoughts:
        turn += (
            "\n\nNo thought is allowed after this one. Execute the Conclusion now, whatever else is open: answer as well"
            " as you can, make the Conclusion Done and set `next_thought_needed` to false."
        )
    if rejections:
        turn += format_rejection(rejections[-1])
    return turn


def format_rejection(rejection):
    text = f"\n\nYour last reply to this was rejected: {rejection}."
    if not rejection.fixable:
        return f"{text} Write another one."
    return f"{text} Send the whole reply again with that put right. The rejected reply:\n\n{rejection.reply}"


def last_plan(thoughts):
    return thoughts[-1]["planning"] if thoughts else []
