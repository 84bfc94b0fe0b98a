"""The prompt and the node that thinks with it."""

# What every prompt begins with. Any text can stand here, except three double quotes in a row; the line that
# consists of them ends it.
INSTRUCTIONS = r"""You solve a hard problem one thought at a time. Each reply is one thought: it judges the thought
before it, executes one step of the plan and returns the whole plan, updated.

# Rules

Evaluate. From Thought 2 on, `current_thinking` begins with one line, "Evaluation of Thought N: "
and the verdict: Correct, or Minor Issues or Major Error with the reason. Repair errors before
anything else.

Execute one step: the first Pending one or, if it has sub-steps, its first Pending sub-step. Do the
work; do not announce it.

Return the whole plan every time. The executed step becomes Done with a concise `result`, or
Verification Needed with a `mark` that says why; then add a step that settles it and makes it Done.

Break a step that is too big into `sub_steps`. It stays Pending until they are all Done and then, in
the same thought, becomes Done with a `result` of its own.

Change the plan when an evaluation finds an error: correct the `result`, reopen the step or add steps.

Conclude. The plan's last step is always described as `Conclusion`, in English whatever the language
of the problem. Only the thought that executes it sets `next_thought_needed` to false. After its
evaluation line, its `current_thinking` is the complete answer for someone who has read nothing else.

Think in the language of the problem.

# Reply format

Reply with one ```yaml block like this and nothing else. Write every text (`current_thinking`,
`description`, `result`, `mark`) as a block literal (`|-`), where colons, quotes, backslashes, # and
LaTeX need no escaping. Indent a code fence inside a text like the text. `status` is Pending, Done or
Verification Needed.

```yaml
current_thinking: |-
  Evaluation of Thought 4: Minor Issues - it did not check $x = 2$; done below.

  From $x + y = 3$: $y = 1$. Check: $2 - 1 = 1$.
planning:
  - description: |-
      Set up the equations
    status: Verification Needed
    mark: |-
      "Difference" may mean y - x
  - description: |-
      Solve the equations
    status: Done
    result: |-
      x = 2, y = 1
    sub_steps:
      - description: |-
          Find x
        status: Done
        result: |-
          x = 2
      - description: |-
          Find y
        status: Done
        result: |-
          y = 1
  - description: |-
      Settle what "difference" means
    status: Pending
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
from utils.plan_format import format_plan, format_plan_for_prompt
from utils.read_reply import read_reply
from utils.status_line import status_line

MAX_THOUGHTS = 30
SUGGESTED_PLAN = [
    {"description": "Understand the problem", "status": "Pending"},
    {"description": "Develop a high-level plan", "status": "Pending"},
    {"description": "Conclusion", "status": "Pending"},
]

log = logging.getLogger("chain_of_thought")


class ChainOfThoughtNode(Node):
    """Thinks one thought at a time, until the plan is concluded or max_thoughts are thought.

    Shared store: "problem" str; "thoughts" list of thoughts; "current_thought_number" int, 0 before the
    first; "solution" str or None. A thought is what read_reply returns, with its "thought_number" int.
    """

    def __init__(self, max_thoughts=MAX_THOUGHTS, max_retries=3):
        super().__init__(max_retries)
        self.max_thoughts = max_thoughts
        self.rejection = None  # Why the last reply was rejected, for the next try: exec has no other memory.

    def prep(self, shared):
        shared["current_thought_number"] += 1
        thoughts = shared["thoughts"]
        return {
            "problem": shared["problem"],
            "thoughts_text": format_thoughts_for_prompt(thoughts),
            "last_plan_text": format_plan_for_prompt(thoughts[-1]["planning"] if thoughts else SUGGESTED_PLAN),
            "current_thought_number": shared["current_thought_number"],
            "is_first_thought": not thoughts,
        }

    def exec(self, prep_res):
        number = prep_res["current_thought_number"]
        if self.rejection:
            log.warning("Thought %d: a reply was rejected, asking again: %s.", number, self.rejection)
        try:
            with status_line(f"Thinking thought {number}"):
                reply = call_llm(self.build_prompt(prep_res))
            thought = read_or_reject(reply)
        except RejectedReply as rejection:
            self.rejection = rejection
            raise
        self.rejection = None
        return {"thought_number": number, **thought}

    def post(self, shared, prep_res, exec_res):
        shared["thoughts"].append(exec_res)
        print(format_thought(exec_res), flush=True)
        if not exec_res["next_thought_needed"]:
            shared["solution"] = exec_res["current_thinking"]
            return "end"
        return "continue" if exec_res["thought_number"] < self.max_thoughts else "end"

    def build_prompt(self, prep_res):
        """The whole prompt of a thought. prep_res: what prep returned.

        Each part changes less often than the next, so that a prompt begins with almost all of the one
        before it and a prefix cache can serve that.
        """
        parts = [
            INSTRUCTIONS,
            f"# Problem\n\n{prep_res['problem']}\n",
            f"# Thoughts so far\n\n{prep_res['thoughts_text']}\n",
            f"# Your turn\n\n{self.format_turn(prep_res)}\n",
        ]
        return "\n".join(parts)

    def format_turn(self, prep_res):
        number, plan_text = prep_res["current_thought_number"], prep_res["last_plan_text"]
        if prep_res["is_first_thought"]:
            turn = (
                "This is Thought 1: there is nothing to evaluate yet. A suggested plan:\n\n"
                f"{plan_text}\n\n"
                "Make the plan for this problem and execute its first step."
            )
        else:
            turn = (
                f"This is Thought {number}. The plan:\n\n"
                f"{plan_text}\n\n"
                f"Begin with the evaluation of Thought {number - 1}, then execute the first Pending step."
            )
        if number == self.max_thoughts:
            turn += " But this is the last thought there can be: execute the Conclusion now, whatever is Pending."
        if self.rejection:
            turn += f"\n\nYour last reply was rejected. Send the whole thought again, but mend this: {self.rejection}."
        return turn


def read_or_reject(reply):
    try:
        return read_reply(reply)
    except AssertionError as reason:
        raise RejectedReply(reason, reply) from None


def format_thoughts_for_prompt(thoughts):
    blocks = [
        f"Thought {thought['thought_number']}:\n"
        "  Thinking:\n"
        f"{textwrap.indent(dedent(thought['current_thinking']), '    ')}\n"
        f"  Plan Status After Thought {thought['thought_number']}:\n"
        f"{textwrap.indent(format_plan(thought['planning']), '    ')}"
        for thought in thoughts
    ]
    return f"\n{'-' * 20}\n".join(blocks) or "No previous thoughts yet."


def format_thought(thought):
    """A thought as the trace shows it, with the solution if it is the Conclusion."""
    thinking = dedent(thought["current_thinking"])
    if thought["next_thought_needed"]:
        title, plan_title, ending = "", "Current", f"{'-' * 50}\n"
    else:
        title, plan_title = " (Conclusion)", "Final"
        ending = f"\n=== FINAL SOLUTION ===\n{thinking}\n{'=' * 22}\n"
    return (
        f"Thought {thought['thought_number']}{title}:\n"
        f"{textwrap.indent(thinking, '  ')}\n\n"
        f"{plan_title} Plan Status:\n"
        f"{textwrap.indent(format_plan(thought['planning']), '  ')}\n"
        f"{ending}"
    )


def dedent(text):
    return textwrap.dedent(text).strip()
