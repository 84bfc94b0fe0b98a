"""The prompt, and the node that thinks with it."""

import logging
import re
import time

from pocketflow import Node

from utils.call_llm import Reply, call_llm
from utils.cost import add_costs, format_cost
from utils.errors import InvalidThought, RejectedReply, RunFailed
from utils.history import format_history
from utils.plan_format import format_plan_for_prompt
from utils.problem import validate_problem
from utils.reply_reader import read_reply
from utils.terminal import print_trace, status_line
from utils.thought import concludes, delivered_solution, is_solved, lacks_verdict, last_thought, next_step, open_steps
from utils.thought import run_stops
from utils.trace import trace_thought

# What every prompt begins with. Edit any sentence: this is plain text, and only three double quotes in a row end it.
INSTRUCTIONS = r"""You solve a problem one thought at a time. Each reply is one thought: it checks the one before it,
executes one step of the plan, and returns the updated plan. You cannot run code.

# Rules

Evaluate. From Thought 2 on, `current_thinking` begins with a written check of the thought before
and of what it wrote of the solution. Reread the problem condition by condition; take figures from
it, not from the thought. Test each result, claim and example in a way that would fail if it were
wrong: put it back in, derive or count it another way, trace code or a plan with untried inputs,
interrupted and repeated, search a text for gaps and hold its new parts against the old ones. For
"all", "none" or "only one", show in another way that nothing was missed. Claim no check that is not
written out; of many alike, name those that you made. Say of each flaw whom it hurts and how; the
worst decides, as it stood before your fix. Then on its own line:
"Evaluation of Thought N: VERDICT - reason". VERDICT is
- Correct
- Major Error: a part of what was asked for is missing and has no step left, or whoever relies on the
  solution gets a wrong result or comes to harm, however small the fix, in whichever thought. Code or
  a plan that fails on an allowed input does harm, unless nobody will meet it and the solution warned
  of it. Fix the error; every step that changes gets its new `result` or is Pending again. Then
  execute this turn's step, too, if it fits and is not the Conclusion.
- Minor Issues: all else. Fix it in passing.

Execute the step that your turn names. Do the work; do not announce it.

Plan. Make as few steps as the problem needs, each as much as one reply can do reliably: an easy
problem, or a few short questions together, make one step and the Conclusion. No step but the
Conclusion is for understanding, planning or checking your own work. Return the whole plan every
time. The executed step becomes Done and gets a `result` of one line. A step left as it was needs
only its `description`, word for word, and its `status`: the rest is kept. A step too big for one
reply gets `sub_steps`; it becomes Done, with its own `result`, with the last of them. You may
reword, split, add or remove open steps.

Doubt. If thinking can settle a doubt, make the step Verification Needed, with its `result` so far
and a `mark` that says why; the next thought settles it by other means. If thinking cannot (a fact
is not given or not surely known, a word is ambiguous, code would have to run), make the assumption
closest to the problem. Mention it, in a sentence and in the solution only, if the user could well
have meant something else and the answer would change. Mention also what you only remember, if the
answer depends on it, and a flaw that you left.

Solution. `solution` is all that the user sees: the answer first, then as much of the reasoning as
they need. If they asked for a text (code, a letter), it is that text, then only what they must know
to use it; such notes do not count towards a length asked for. Write code, the sections of a long
text and the answers to long questions in order, each with its step, and anything else with the last
step before the Conclusion. Write nothing out twice: `current_thinking` holds notes, the solution
alone the full proof, table, text or code. Write each paragraph as one line. No extras, only what
was asked for and what makes it safe. That a problem has no answer, several, or a wrong premise is
an answer too: show why. Do not repair the problem unless asked to.

Conclude. The last step is always described as `Conclusion`: the check of the whole solution. Change
only what is wrong, misleading or missing. The thought that executes it makes it Done, without a
`result`, and sets `next_thought_needed` to false; every other sets it to true. After a Major Error,
or if this thought makes over a quarter of the solution new, the Conclusion stays Pending.

Language. Write in the language of the problem. Only the keys, statuses, `Conclusion`, "Evaluation
of Thought N" and VERDICT are English.

# Reply format

Reply with one ```yaml block and nothing else. Every text is a block literal (`|-`): nothing in it
needs escaping, but all its lines are indented, code fences and markers too. A second thought could
be:

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

Later thoughts have no key for the solution unless it changes. If most of it does, they write it
anew, whole, as `solution`; else they change it by blocks, applied in order: each has a passage,
copied exactly with its indentation, long enough to be unique, and what replaces it, or nothing. A
block without a passage adds its text at the end, after an empty line. A last thought could be:

```yaml
current_thinking: |-
  7 + 5 = 12, 7 · 5 = 35. All pairs were asked for.
  Evaluation of Thought 3: Minor Issues - it does not say why there is no other pair.
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
  The only numbers are
  >>>>>>> REPLACE
  <<<<<<< SEARCH
  =======
  No third root exists.
  >>>>>>> REPLACE
```
"""

# The sentences that end every prompt: plain text, too. {number}, {before} and {step} are filled in where they stand.
TURN = {
    "first": r"""This is Thought 1. There is nothing to evaluate and no plan yet: make one. Then execute its first
step. If only the Conclusion is left after that step, write the solution now.""",
    "step": r"""This is Thought {number}. First check and evaluate Thought {before}. Then execute this step: {step}""",
    "last step": r"""This is Thought {number}. First check and evaluate Thought {before}. Then execute this step: {step}
Only the Conclusion is left after it: the solution must now answer the whole problem.""",
    "no solution": r"""This is Thought {number}. First check and evaluate Thought {before}. After any corrections, write
the missing `solution`, and leave the Conclusion Pending for the next thought.""",
    "conclusion": r"""This is Thought {number}. Execute this step: {step}
First check the whole solution, most of all what no thought has checked yet, and its parts against each other, and
evaluate Thought {before} by that check: one more thought is cheap, a wrong solution is not. If the solution is right,
even after minor changes, set `next_thought_needed` to false. After a Major Error, correct it and leave the Conclusion
Pending; also if this thought makes over a quarter of the solution new.""",
    "limit": r"""This is Thought {number}, and no thought is allowed after it. First check and evaluate Thought
{before}. Then execute what fits of the plan into this reply, beginning with this step: {step}
The Conclusion, which is the check of the whole solution, is executed now in any case, even after a Major Error or if
over a quarter of the solution is new. Take out of the plan what can no longer be done. The solution answers as much of
the problem as it can; say in it what was not done and which doubts are left, if any. Set `next_thought_needed` to
false.""",
    "only thought": r"""This is Thought 1. No thought is allowed after this one, and there is nothing to evaluate. Make
a plan of what you can do now, do it, and write the solution. Say in it what was not done and which doubts are left, if
any. The whole plan is Done, with the Conclusion, and `next_thought_needed` is false.""",
    "every turn": r"""End with the closing fence.""",
}

# What follows after a rejected reply. {reason} and {reply} are filled in.
REJECTION = {
    "reason": r"""Your last reply to this was rejected: {reason}.
The format: one block that begins with the fence ```yaml and the key `current_thinking`, and ends with the fence ```;
every text a block literal (`|-`) with all its lines indented, code fences and markers too; the statuses Pending, Done
and Verification Needed; no other keys; the whole plan, with `Conclusion` last; a passage to be changed copied
exactly.""",
    "new reply": r"""Write a new reply.""",
    "same reply": r"""Send the whole reply again with that corrected. The rejected reply:

{reply}""",
}

MAX_THOUGHTS = 30

log = logging.getLogger("chain_of_thought")


class ChainOfThoughtNode(Node):
    """Thinks one thought at a time, until one has checked the solution or the run stops without a check.

    run_stops, in utils/thought.py, says when: next_thought_needed decides nothing, though it cannot be false while a
    step is open.

    Shared store: "problem" str; "thoughts" list of thoughts, as in utils/thought.py; "current_thought_number" int;
    "solution" str, or None until the run ends with one. Only "problem" need be given.

    max_thoughts: the limit. save: None, or a function that is given the shared store after every thought. call_llm: a
    function from a prompt, str, to the reply: a str, None if it is empty, or a Reply, as in utils/call_llm.py.
    max_retries, wait: as for any Node; only a rejected reply is asked for again.

    The attribute costs lists what each reply took, as in utils/cost.py, the rejected ones included.
    """

    def __init__(self, max_thoughts=MAX_THOUGHTS, save=None, call_llm=call_llm, max_retries=3, wait=0):
        super().__init__(max_retries, wait)
        self.max_thoughts = max_thoughts
        self.save = save
        self.call_llm = call_llm
        self.costs = []  # Only appended to: a flow runs a copy of the node, which shares this list.

    def prep(self, shared):
        validate_problem(shared["problem"])
        thoughts = shared.setdefault("thoughts", [])
        before = last_thought(thoughts)
        if is_solved(before):
            raise ValueError("The problem in this shared store is solved already.")
        number = len(thoughts) + 1
        shared["current_thought_number"] = number
        shared["solution"] = None
        self.rejection = None  # of the try before
        self.first_cost = len(self.costs)  # of this thought
        return {
            "problem": shared["problem"],
            "thoughts_text": format_history(thoughts),
            "thought_before": before,
            "last_plan_structure": before["planning"],
            "last_plan_text": format_plan_for_prompt(before["planning"]),
            "solution_text": before["solution_so_far"],
            "current_thought_number": number,
            "is_first_thought": number == 1,
            "is_last_allowed": number >= self.max_thoughts,
        }

    def exec(self, prep_res):
        """Ask once, and read the reply. PocketFlow calls this again after an exception, up to max_retries times."""
        try:
            return self.think(prep_res)
        except RejectedReply as rejection:
            self.rejection = rejection
            name = f"Thought {prep_res['current_thought_number']}"
            log.warning(f"{name}: reply {self.cur_retry + 1} of {self.max_retries} was rejected: {rejection}.")
            raise
        except Exception:
            self.cur_retry = self.max_retries - 1  # No other try: the client has repeated its request, a bug stays one.
            raise

    def think(self, prep_res):
        """The thought in the reply to the prompt. Raises RejectedReply if there is none."""
        reply = self.ask(prep_res)
        try:
            thought = read_reply(reply, prep_res["thought_before"], prep_res["is_last_allowed"])
        except InvalidThought as error:
            raise RejectedReply(reply, str(error)) from None
        return {**thought, "cost": self.cost_so_far()}

    def ask(self, prep_res):
        """The Reply to the prompt, which says what was wrong with the reply before it, if that was rejected."""
        turn = format_turn(prep_res, self.rejection)
        name = f"Thought {prep_res['current_thought_number']}"
        log.debug(f"=== {name}, try {self.cur_retry + 1}: the turn ===\n{turn}")
        start = time.monotonic()
        with status_line(name):
            answer = self.call_llm(build_prompt(prep_res, turn))
        seconds = round(time.monotonic() - start, 1)
        reply = make_reply(answer, seconds)
        self.costs.append(reply.cost)
        log.debug(f"=== {name}, try {self.cur_retry + 1}: the reply ({format_cost(reply.cost)}) ===\n{reply.text}")
        return reply

    def exec_fallback(self, prep_res, exc):
        """PocketFlow calls this with the exception of the last try."""
        if isinstance(exc, RejectedReply):
            number = prep_res["current_thought_number"]
            raise RunFailed(describe_rejections(number, exc, self.max_retries, self.cost_so_far())) from None
        raise exc

    def cost_so_far(self):
        """What the thought in progress has taken, over all its tries."""
        return add_costs(self.costs[self.first_cost :])

    def post(self, shared, prep_res, exec_res):
        before = prep_res["thought_before"]
        stops = run_stops(exec_res, before, prep_res["is_last_allowed"])
        shared["thoughts"].append(exec_res)
        if stops:
            shared["solution"] = delivered_solution(exec_res)
        if self.save:
            self.save(shared)  # before it is printed: what is on the screen is in the file
        print_trace(trace_thought(exec_res, before))
        warn_if_not_evaluated(exec_res)
        return "end" if stops else "continue"


def warn_if_not_evaluated(thought):
    """Log that a thought has no verdict on the one before. (If it concludes, the trace says why it is no check.)"""
    number = thought["thought_number"]
    if lacks_verdict(thought) and not concludes(thought):
        log.warning(f'Thought {number} has no verdict such as "Evaluation of Thought {number - 1}: Correct".')


def build_prompt(prep_res, turn):
    """The whole prompt of a thought. What changes least comes first, so that a prefix cache can serve it."""
    problem = f"# Problem\n\n{prep_res['problem']}\n"
    thoughts = f"# Thoughts so far\n\n{prep_res['thoughts_text']}\n"
    solution = ""
    if prep_res["solution_text"]:
        solution = f"# Solution so far\n\n{prep_res['solution_text']}\n\n"
    return f"{INSTRUCTIONS}\n{problem}\n{thoughts}\n{solution}# Your turn\n\n{turn}\n"


def format_turn(prep_res, rejection=None):
    """What the model is to do now: the plan, what to check, which step to execute, and what it has to correct."""
    number = prep_res["current_thought_number"]
    step = next_step(prep_res["last_plan_structure"])
    values = {"{number}": str(number), "{before}": str(number - 1), "{step}": step}
    sentences = f"{TURN[choose_task(prep_res)]}\n{TURN['every turn']}"
    turn = fill_in(sentences, values)
    if not prep_res["is_first_thought"]:
        turn = f"The plan:\n\n{prep_res['last_plan_text']}\n\n{turn}"
    if rejection:
        turn += format_rejection(rejection)
    return turn


def choose_task(prep_res):
    """The key in TURN of what a thought has to do."""
    if prep_res["is_first_thought"]:
        return "only thought" if prep_res["is_last_allowed"] else "first"
    if prep_res["is_last_allowed"]:
        return "limit"
    steps_left = len(open_steps(prep_res["last_plan_structure"]))  # The last is the Conclusion, or a sub-step of it.
    if steps_left > 2:
        return "step"
    if steps_left == 2:
        return "last step"
    return "conclusion" if prep_res["solution_text"] else "no solution"


def fill_in(sentences, values):
    """The sentences with each placeholder replaced. values: {"{step}": str, ...}. Any other brace stays a brace."""
    return re.sub(r"\{\w+\}", lambda found: values.get(found[0], found[0]), sentences)


def make_reply(answer, seconds):
    """The Reply in what call_llm has returned after so many seconds: a Reply, a str, or None."""
    if isinstance(answer, str | None):
        answer = Reply(answer or "")
    if not isinstance(answer, Reply):
        raise TypeError(f"call_llm must return a str, None or a Reply, not {type(answer).__name__}")
    return answer._replace(cost={**answer.cost, "requests": 1, "seconds": seconds})


def is_whole(reply):
    """Whether a rejected reply can be mended: it is not empty, and was not cut off or refused."""
    return bool(reply.text.strip()) and not reply.fault


def format_rejection(rejection):
    """The end of the turn after a rejected reply, with the reply if it can be mended. rejection: a RejectedReply."""
    demand = "same reply" if is_whole(rejection.reply) else "new reply"
    sentences = f"\n\n{REJECTION['reason']}\n{REJECTION[demand]}"
    return fill_in(sentences, {"{reason}": str(rejection), "{reply}": rejection.reply.text})


def describe_rejections(number, rejection, tries, cost):
    """Why no thought came of several replies, with the last one and what was wrong with it: for the user."""
    shown = rejection.reply.text.strip() or "(it is empty)"
    took = format_cost(cost)
    text = f"The last reply:\n{shown}\n\nThought {number}: gave up after {tries} rejected replies, which took {took}."
    text += f" The last one: {rejection}."
    if is_whole(rejection.reply):  # Of another, the reason says all.
        text += " The model may be unable to keep to the format, or an edited prompt broke it: -v shows every reply."
    return text
