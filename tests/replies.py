"""Replies of a model, recorded or made up, and a function that answers with them."""

import pathlib

from utils.errors import RunFailed

RECORDINGS = pathlib.Path(__file__).parent / "recordings"

# Runs of a strong model, each named for its problem: koushi is a grid (in Japanese), machine and bughunt are code, in
# the planted ones an error stands in thoughts that are saved. The number is that of the run.
THREE_KEYS = ["die", "die-2", "intervals", "trains", "trains-2"]  # The cookbook's format, which has no solution.
WITH_SOLUTION = ["machine-3", "readme-3", "letter-3", "koushi-4", "bughunt-4d"]

PLAN = ["[Done] Solve", "[Pending] Conclusion"]
DONE = ["[Done] Solve", "[Done] Conclusion"]


def recorded(name):
    """The replies of a recorded run, in order."""
    paths = (RECORDINGS / name).glob("*.reply.txt")
    return [path.read_text(encoding="utf-8") for path in sorted(paths)]


def recorded_problem(name):
    path = RECORDINGS / name / "problem.txt"
    return path.read_text(encoding="utf-8").rstrip("\n")


def recorded_trace(name):
    """The trace of a recorded run as it must be; no part of this program wrote it."""
    return (RECORDINGS / name / "trace.txt").read_text(encoding="utf-8")


class Model:
    """A function from a prompt to a reply that answers with these replies, in order, and keeps the prompts.

    A reply may be a str or another value; an exception, which is raised; or a function, which is called and returns
    one of these.
    """

    def __init__(self, replies):
        self.replies = iter(replies)
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        reply = next(self.replies, RunFailed("The model has no more replies."))
        if callable(reply):
            reply = reply()
        if isinstance(reply, Exception):
            raise reply
        return reply


def reply(number, work="Some work.", plan=PLAN, more=True, **fields):
    """A model's reply, for the thought with this number: it evaluates the one before. fields: as for reply_of."""
    thinking = work
    if number > 1:
        thinking = f"Evaluation of Thought {number - 1}: Correct - x\n{work}"
    return reply_of(thinking, plan, more, **fields)


def reply_of(thinking, plan=PLAN, more=True, solution=None, changes=(), results={}, marks={}):
    """A model's reply with this thinking and nothing else in it.

    plan: lines such as "[Done] Solve", indented by two for a sub-step; changes: pairs (passage, new); results, marks:
    by the description of the step.
    """
    lines = literal("current_thinking", thinking)
    lines.append("planning:")
    lines += plan_lines(plan, results, marks)
    lines.append(f"next_thought_needed: {str(more).lower()}")
    lines += literal("solution", solution)
    if changes:
        lines += literal("solution_changes", blocks(*changes))
    return fenced("\n".join(lines))


def end(number, work="Some work.", plan=DONE, more=False, **fields):
    """A reply that ends the run."""
    return reply(number, work, plan, more, **fields)


def fenced(block):
    return f"```yaml\n{block}\n```\n"


def plan_lines(plan, results, marks):
    lines = []
    margin_before = ""
    for line in plan:
        text = line.lstrip(" ")
        margin = 2 * (len(line) - len(text)) * " "
        if len(margin) > len(margin_before):
            lines.append(f"{margin}sub_steps:")
        status, description = text[1:].split("] ")
        step = literal("description", description)
        step.append(f"status: {status}")
        step += literal("result", results.get(description))
        step += literal("mark", marks.get(description))
        lines.append(f"{margin}  - {step[0]}")
        lines += [f"{margin}    {other}" for other in step[1:]]
        margin_before = margin
    return lines


def literal(key, text):
    """The lines of a text as a block literal, none if it is None."""
    if text is None:
        return []
    lines = text.split("\n")
    return [f"{key}: |-", *(f"  {line}" for line in lines)]


def blocks(*changes):
    """The text of `solution_changes` for pairs (passage, new)."""
    texts = [f"<<<<<<< SEARCH\n{passage}\n=======\n{new}\n>>>>>>> REPLACE" for passage, new in changes]
    return "\n".join(texts)
