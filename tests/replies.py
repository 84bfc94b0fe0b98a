"""Replies of a model, recorded or made up, and a function that answers with them."""

import pathlib

from utils.errors import RunFailed

RECORDINGS = pathlib.Path(__file__).parent / "recordings"


def recorded(name):
    """The replies of a recorded run, in order."""
    return [path.read_text(encoding="utf-8") for path in sorted((RECORDINGS / name).glob("*.reply.txt"))]


def recorded_problem(name):
    return (RECORDINGS / name / "problem.txt").read_text(encoding="utf-8").rstrip("\n")


def recorded_trace(name):
    """The trace of a recorded run as it must be; no part of this program wrote it."""
    return (RECORDINGS / name / "trace.txt").read_text(encoding="utf-8")


class Model:
    """A function from a prompt to a reply that answers with these replies, in order, and keeps the prompts.

    A reply may be a str; an exception, which is raised; or a function that is called and returns one of both.
    """

    def __init__(self, replies):
        self.replies = iter(replies)
        self.prompts = []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        reply = next(self.replies, RunFailed("The model has no more replies."))
        reply = reply() if callable(reply) else reply
        if isinstance(reply, Exception):
            raise reply
        return reply


EVALUATIONS = "\n".join(f"Evaluation of Thought {number}: Correct - x" for number in range(1, 6))
WORK = f"{EVALUATIONS}\nSome work."
PLAN = ("[Done] Solve", "[Pending] Conclusion")


def reply(thinking=WORK, plan=PLAN, more=True, solution=None, changes=(), marks={}, **results):
    """A model's reply.

    plan: lines like "[Done] Solve", indented by two for a sub-step; changes: pairs (passage, new); results and marks:
    by description.
    """
    lines, depth = [*literal("current_thinking", thinking), "planning:"], 0
    for line in plan:
        indent = len(line) - len(line.lstrip())
        status, description = line.strip()[1:].split("] ")
        step = [*literal("description", description), f"status: {status}"]
        step += literal("result", results.get(description)) + literal("mark", marks.get(description))
        lines += ["  " * indent + "sub_steps:"] if indent > depth else []
        lines += list_item(step, "  " * indent)
        depth = indent
    lines += [f"next_thought_needed: {str(more).lower()}", *literal("solution", solution)]
    lines += literal("solution_changes", blocks(*changes) if changes else None)
    return "\n".join(["```yaml", *lines, "```", ""])


def blocks(*changes):
    """The text of `solution_changes` for pairs (passage, new)."""
    return "\n".join(f"<<<<<<< SEARCH\n{passage}\n=======\n{new}\n>>>>>>> REPLACE" for passage, new in changes)


def literal(key, text):
    return [] if text is None else [f"{key}: |-", *[f"  {line}" for line in text.split("\n")]]


def list_item(lines, indent=""):
    return [f"{indent}  - {lines[0]}", *[f"{indent}    {line}" for line in lines[1:]]]
