"""Reading a thought: the keys that it may have, the rules for all thoughts, and what a reply may leave out of its plan.

A node is one of PyYAML, as in utils/plain_yaml.py.
"""

import copy
import re

from utils.cost import read_cost
from utils.errors import InvalidThought, quote
from utils.plain_yaml import read_choice, read_list, read_mapping, read_text
from utils.plan_format import walk
from utils.thought import DONE, STATUSES, concludes, delivered_by, evaluated_thoughts, lacks_verdict, next_step

# "Conclusion", "3. **Conclusion**", "Conclusion: check it", but not "Step 3: Conclusion" or "Conclusion of part (a)"
CONCLUSION = re.compile(r"[\W\d_]*conclusion\s*([^\w\s]|_|\Z)", re.IGNORECASE)


def read_status(node, name):
    return read_choice(node, name, STATUSES)


def read_flag(node, name):
    return read_choice(node, name, ("true", "false")) == "true"


def read_steps(node, name):
    required = ("description", "status")
    return [read_mapping(step, STEP_READERS, required, "a step") for step in read_list(node, name)]


STEP_READERS = {
    "description": read_text,
    "status": read_status,
    "result": read_text,
    "mark": read_text,
    "sub_steps": read_steps,
}

SAVED_READERS = {
    "thought_number": read_text,
    "cost": read_cost,
    "current_thinking": read_text,
    "planning": read_steps,
    "next_thought_needed": read_flag,
    "solution": read_text,
    "solution_changes": read_text,
}

REQUIRED_KEYS = ("current_thinking", "planning", "next_thought_needed")

# The prompt does not name thought_number, but a model may follow the headings of the thoughts.
REPLY_READERS = {key: read for key, read in SAVED_READERS.items() if key != "cost"}


def read_thought(node, readers, number, plan_before, solution_before):
    """Make a thought of its YAML node. Raises InvalidThought.

    readers: those of the keys that may be there; number: int, the thought's number; plan_before: list of steps, of
    which the thought may leave out what did not change; solution_before: str or None.
    """
    values = read_mapping(node, readers, REQUIRED_KEYS, "the thought")
    written_number = values.pop("thought_number", str(number))
    if written_number != str(number):
        raise InvalidThought(f"thought_number is {quote(written_number)}, not {number}")
    thought = {"thought_number": number, **values}
    complete_plan(thought["planning"], plan_before)
    check_evaluations(thought)
    check_plan(thought)
    check_solution(thought, solution_before)
    return thought


def check_evaluations(thought):
    """A thought that evaluates itself or a later one evaluates the one before it, too.

    Else its number is wrong: in a saved run, one before it may have been taken out by hand.
    """
    latest = max(evaluated_thoughts(thought), default=0)
    if latest >= thought["thought_number"] and lacks_verdict(thought):
        raise InvalidThought(f"it evaluates Thought {latest}, which does not come before it")


def check_plan(thought):
    """The plan ends with the Conclusion. While a step is open, the Conclusion is not Done, and the flag is true."""
    plan = thought["planning"]
    if not plan:
        raise InvalidThought("planning has no steps")
    last = plan[-1]
    if not CONCLUSION.match(last["description"]):
        shown = quote(last["description"])
        raise InvalidThought(f"the last step of the plan is {shown}; end the whole plan with Conclusion, in English")
    claims_to_conclude = not thought["next_thought_needed"] or last["status"] == DONE
    if claims_to_conclude and not concludes(thought):
        rule = "make it Done, or leave Conclusion Pending, and next_thought_needed true"
        raise InvalidThought(f"it ends the run, but the step {quote(next_step(plan))} is not Done; {rule}")


def check_solution(thought, solution_before):
    """A thought has `solution` or `solution_changes` or neither, the changes fit, and the run ends with a solution."""
    if "solution" in thought and "solution_changes" in thought:
        raise InvalidThought("it has both solution and solution_changes")
    solution = delivered_by(thought, solution_before)  # Raises InvalidThought if a change does not fit.
    if concludes(thought) and not solution:
        rule = "write the key solution, and, if another thought is allowed, leave the Conclusion Pending"
        raise InvalidThought(f"it ends the run without a solution; {rule}")


# What a reply may leave out of its plan


def complete_plan(plan, plan_before):
    """Give the steps of a plan what they had in the plan before and leave out now.

    A step is the one with its description below the same parents, or else the only one left with its description.
    """
    left = list(walk(plan_before))
    moved = []
    for step, path in walk(plan):  # It goes on into sub-steps that were just given back: they are no others'.
        same = [old for old in left if old.path == path]
        if same:
            left.remove(same[0])
            complete_step(step, same[0].step)
        else:
            moved.append((step, path[-1]))
    for step, name in moved:
        namesakes = [old for old in left if old.path[-1] == name]
        if len(namesakes) == 1:
            left.remove(namesakes[0])
            complete_step(step, namesakes[0].step)


def complete_step(step, before):
    """Give a step what it had before and leaves out, if its status is the same."""
    if step["status"] != before["status"]:
        return
    kept = copy.deepcopy(before)
    if "result" in step:  # An old mark does not belong to a new result.
        kept.pop("mark", None)
    fields = {**kept, **step}
    step.clear()
    step.update({key: fields[key] for key in STEP_READERS if fields.get(key)})  # in this order, and no empty sub_steps
