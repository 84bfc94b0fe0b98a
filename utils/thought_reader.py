"""Reading a thought: the keys that it may have, the rules for all thoughts, and what a reply may leave out of its plan.

A node is one of PyYAML, as in utils/plain_yaml.py.
"""

import collections
import copy
import re

from utils.cost import read_cost
from utils.errors import InvalidThought, quote
from utils.plain_yaml import read_choice, read_list, read_mapping, read_text
from utils.plan_format import walk
from utils.thought import DONE, STATUSES, add_what_follows, concludes, delivered_solution, evaluated_thoughts
from utils.thought import lacks_verdict, next_step

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


def read_thought(node, readers, number):
    """The thought in a YAML node, with the keys that are given. Raises InvalidThought.

    readers: those of the keys that may be there; number: that of the thought, int.
    """
    fields = read_mapping(node, readers, REQUIRED_KEYS, "the thought")
    written_number = fields.pop("thought_number", str(number))
    if written_number != str(number):
        raise InvalidThought(f"thought_number is {quote(written_number)}, not {number}")
    return {"thought_number": number, **fields}


def finish_thought(thought, before):
    """Hold a thought against the rules for all thoughts, and add what follows from it. Raises InvalidThought.

    before: the thought before it, or START.
    """
    check_evaluations(thought)
    check_plan(thought)
    if "solution" in thought and "solution_changes" in thought:
        raise InvalidThought("it has both solution and solution_changes")
    add_what_follows(thought, before)
    if concludes(thought) and not delivered_solution(thought):
        rule = "write the key solution, and, if another thought is allowed, leave the Conclusion Pending"
        raise InvalidThought(f"it ends the run without a solution; {rule}")


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


# What a reply may leave out of its plan


def complete_plan(plan, plan_before):
    """Give the steps of a plan what they had in the plan before and leave out now.

    A step is the one with its description below the same parents, or else the only one left with its description.
    """
    left = list(walk(plan_before))
    moved = []
    for new in walk(plan):  # It goes on into sub-steps that were just given back: they are no others'.
        same = [old for old in left if old.path == new.path]
        if same:
            left.remove(same[0])
            complete_step(new.step, same[0].step)
        else:
            moved.append(new)
    names = collections.Counter(path[-1] for _, path in left)
    for old, path in left:  # Parents stand before their sub-steps.
        namesakes = [new for new in moved if new.path[-1] == path[-1]]
        if namesakes and names[path[-1]] == 1:
            moved.remove(namesakes[0])
            given_back = complete_step(namesakes[0].step, old)
            names.subtract(path[-1] for _, path in walk(given_back))


def complete_step(step, before):
    """Give a step what it had before and leaves out, if its status is the same. Returns the sub-steps given back."""
    if step["status"] != before["status"]:
        return []
    kept = copy.deepcopy(before)
    if "result" in step:  # An old mark does not belong to a new result.
        kept.pop("mark", None)
    given_back = [] if "sub_steps" in step else kept.get("sub_steps", [])
    fields = {**kept, **step}
    step.clear()
    step.update({key: fields[key] for key in STEP_READERS if fields.get(key)})  # in this order, and no empty sub_steps
    return given_back
