"""The prompt, and the node that thinks with it."""

import logging
import time

from pocketflow import Node

from utils.call_llm import call_llm
from utils.cost import add_costs, format_cost
from utils.errors import InvalidThought, RunFailed
from utils.plan_format import format_plan_for_prompt, one_line
from utils.reply import read_reply
from utils.terminal import print_trace, status_line
from utils.thought import MAJOR, final_solution, find_verdicts, is_over, open_steps, solution_so_far
from utils.trace import format_last_thought, format_thoughts_for_prompt

# What every prompt begins with. Edit any sentence: this is plain text, and only three double quotes in a row end it.
INSTRUCTIONS = r"""You solve a problem one thought at a time. Each reply is one thought: it checks the one before it,
executes one step of the plan and returns the plan, updated. You cannot run code.

# Rules

Evaluate. From Thought 2 on, `current_thinking` begins with a check, written out, of the thought
before and what it wrote of the solution. Reread the problem condition by condition; take figures
from there. Test each result by what would fail if it were wrong: put it back in, derive or count it
another way, run code in your head with inputs not tried yet, search a text for gaps and
contradictions; for "all", "none" or "only one", show another way that nothing was missed. Going the
same way again is weak: only where nothing else is left, item by item; say so. Then, on its own
line: "Evaluation of Thought N: VERDICT - reason". VERDICT is one of
- Correct.
- Minor Issues: something is missing or badly put, but no result changes. Fix it in passing.
- Major Error: a result is wrong, or code would fail or do harm, there or in an older thought. Put
  it right in this thought; every step that changes gets its new `result` or is Pending again.
  Execute this turn's step too only if both fit in one reply, and never the Conclusion.

Execute the step that your turn names. Do the work; do not announce it. Name an earlier thought
instead of repeating it.

Plan. As few steps as the problem needs, each as much as one reply can do reliably: an easy problem
has one step and the Conclusion. Understanding, planning and checking are not steps. Return the
whole plan every time. The executed step becomes Done with a one-line `result`. A step left as it
was needs only its `description`, word for word, and its `status`: the rest is kept. A step too big
for one reply gets `sub_steps`; it becomes Done, with its own `result`, in the thought that finishes
the last of them. Reword, split, add or remove open steps at will.

Doubt. If thinking can settle it, make the step Verification Needed, with its `result` so far and a
`mark` that says why; the next thought settles it by other means. If not (a fact not given or not
surely known, an ambiguous word, something to be run), make the assumption closest to the problem.
Say so in the solution, only there, briefly, if a reading that the user could well have meant would
change the answer, or if it rests on memory alone.

Solution. `solution` is all that the user sees: the answer first, then as much reasoning as they
need; or the text they asked for (code, a letter), then only what they must know to use it. A length
asked for is that of the text alone. Code and the sections of a long text are written in order, each
with its step; anything else with the last step before the Conclusion. Write nothing twice:
`current_thinking` has the work in short notes (attempts, key values); the proof, table, text or
code itself stands only in the solution. A paragraph is one line. No answer, several, or a wrong
premise is an answer too: show why; an unasked repair gets a sentence.

Conclude. The last step is always described as `Conclusion`: the check of the whole solution. Change
only what is wrong or unclear, or asked for and missing. Executed, it is Done, without a `result`,
and `next_thought_needed` is false; before, it is true. If this thought finds a Major Error, it
stays Pending, to have the correction checked.

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

Later thoughts leave the solution alone, with no key for it, or change it by blocks, applied in
order: a passage copied exactly, indentation too, as short as is unique, and what replaces it. A
block without a passage adds to the end, after an empty line. A last thought could be:

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
solution_changes: |-
  <<<<<<< SEARCH
  The numbers are
  =======
  The only such numbers are
  >>>>>>> REPLACE
  <<<<<<< SEARCH
  =======
  A quadratic has no third root.
  >>>>>>> REPLACE
```
"""

# The sentences that end every prompt. Only {number}, {before}, {step}, {reason} and {reply} are filled in; write any
# other brace twice.
CHECK = "This is Thought {number}. First check and evaluate Thought {before}."
TURN = {
    "first": "This is Thought 1. There is nothing to evaluate and no plan yet: make one. Then execute its first step.",
    "step": CHECK + " Then execute this step: {step}",
    "last step": CHECK + " Then execute this step: {step}\nOnly the Conclusion is left after it: complete the solution"
    " now.",
    "no solution": CHECK + " After any corrections, write the missing solution, and leave the Conclusion Pending for"
    " the next thought.",
    "conclusion": "This is Thought {number}. Execute this step: {step}\nCheck the whole solution: that is also the"
    " check of Thought {before}, and ends with its evaluation. If it is right, even after minor changes, set"
    " `next_thought_needed` to false. After a Major Error, correct it and leave the Conclusion Pending.",
    "limit": CHECK + " No thought is allowed after this one: execute the Conclusion now, even after a Major Error. Take"
    " out of the plan what can no longer be done; complete the solution, and say in it what was not done and which"
    " doubts are left. Set `next_thought_needed` to false.",
    "only thought": "This is Thought 1. No thought is allowed after this one: there is nothing to evaluate, so make a"
    " plan of what you can do now, do it, write the solution, and say in it what was not done and which doubts are"
    " left. The whole plan is Done, with the Conclusion, and `next_thought_needed` is false.",
    "rejection": "Your last reply to this was rejected: {reason}.\nThe format: one ```yaml block that begins with"
    " `current_thinking`; every text a block literal (`|-`) with all its lines indented, code fences too; the statuses"
    " Pending, Done and Verification Needed; no other keys; the whole plan, with `Conclusion` last; a passage to be"
    " changed copied exactly.",
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
    max_thoughts: the limit. save: None, or a function that is given the shared store after every thought. call_llm: a
    function from a prompt, str, to a reply, str or None, which may have a cost and a fault like the Reply in
    utils/call_llm.py; without one, call_llm of this module is asked.
    """

    def __init__(self, max_thoughts=MAX_THOUGHTS, save=None, call_llm=None):
        super().__init__()
        self.max_thoughts = max_thoughts
        self.save = save
        self.call_llm = call_llm

    def prep(self, shared):
        thoughts = shared.setdefault("thoughts", [])
        if final_solution(thoughts):
            raise ValueError("The problem in this shared store is solved already.")
        shared["solution"] = None
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
                if number < self.max_thoughts and is_over(thought) and MAJOR in find_verdicts(thought):
                    raise InvalidThought("a Major Error cannot end the run; leave the Conclusion Pending")
                return {**thought, "cost": add_costs(costs)}
            except InvalidThought as error:
                if attempt == TRIES:
                    raise RunFailed(
                        f"The last reply:\n{reply.strip() or '(it is empty)'}\n\nThought {number}: gave up after"
                        f" {TRIES} rejected replies, which took {format_cost(add_costs(costs))}. The last one: {error}."
                        " The model may not manage the format, or an edit of the prompt broke it: -v shows all three."
                    ) from None
                log.warning(f"Thought {number}: the reply was rejected: {error}. Asking again.")
                rejection = format_rejection(error, reply)

    def query(self, prep_res, turn, attempt):
        """The reply to a prompt that ends with this turn, and what it cost."""
        name = f"Thought {prep_res['current_thought_number']}"
        log.debug(f"=== {name}, try {attempt}: the turn ===\n{turn}")
        start = time.monotonic()
        with status_line(name):
            reply = (self.call_llm or call_llm)(build_prompt(prep_res, turn))  # looked up now: it may be replaced
        cost = {"requests": 1, "seconds": round(time.monotonic() - start, 1), **getattr(reply, "cost", {})}
        if reply is None:
            reply = ""
        if not isinstance(reply, str):
            raise TypeError(f"call_llm must return a str or None, not {type(reply).__name__}")
        log.debug(f"=== {name}, try {attempt}: the reply ({format_cost(cost)}) ===\n{reply}")
        return reply, cost

    def post(self, shared, prep_res, exec_res):
        thoughts = shared["thoughts"]
        thoughts.append(exec_res)
        shared["solution"] = final_solution(thoughts)
        if self.save:
            self.save(shared)
        number = exec_res["thought_number"]
        verdicts = find_verdicts(exec_res)
        if number > 1 and not verdicts:
            log.warning(f"Thought {number} does not evaluate Thought {number - 1}.")
        if is_over(exec_res):
            if MAJOR in verdicts:
                log.warning(f"Thought {number} ends the run after a Major Error: its correction was not checked.")
            if solution_so_far(thoughts) is None:
                log.warning(f"Thought {number} ends the run without a `solution`: its thinking is shown instead.")
        print_trace(format_last_thought(thoughts))
        return "end" if is_over(exec_res) or number >= self.max_thoughts else "continue"


def build_prompt(prep_res, turn):
    """The whole prompt of a thought. What changes least comes first, so that a prefix cache can serve it."""
    solution = f"# Solution so far\n\n{prep_res['solution_text']}\n\n" if prep_res["solution_text"] else ""
    thoughts = f"# Thoughts so far\n\n{prep_res['thoughts_text']}\n"
    return f"{INSTRUCTIONS}\n# Problem\n\n{prep_res['problem']}\n\n{thoughts}\n{solution}# Your turn\n\n{turn}\n"


def format_turn(prep_res, max_thoughts):
    """What the model is to do now: the plan, what to check, and which step to execute."""
    number, plan = prep_res["current_thought_number"], prep_res["last_plan_structure"]
    steps = open_steps(plan)  # The last of them is the Conclusion, or a part of it.
    if not plan:
        task = "only thought" if max_thoughts == 1 else "first"
    elif number >= max_thoughts:
        task = "limit"
    elif len(steps) > 1:
        task = "last step" if len(steps) == 2 else "step"
    else:
        task = "conclusion" if prep_res["solution_text"] else "no solution"
    step = one_line(steps[0]["description"]) if plan else ""
    turn = TURN[task].format(number=number, before=number - 1, step=step)
    return f"The plan:\n\n{prep_res['last_plan_text']}\n\n{turn}" if plan else turn


def format_rejection(reason, reply):
    """The end of the turn after a rejected reply, with the reply, unless it is empty or cannot be mended."""
    demand = "same reply" if reply.strip() and not getattr(reply, "fault", None) else "new reply"
    return f"\n\n{TURN['rejection']}\n{TURN[demand]}".format(reason=reason, reply=reply)
