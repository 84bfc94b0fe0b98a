"""Reading a model's reply: find its YAML, load it, check it."""

import re

import yaml

STATUSES = ("Pending", "Done", "Verification Needed")

# Control characters but newline and tab, and what else an escape in double quotes can make of LaTeX:
# a line or paragraph separator of "\Lambda" or "\Phi", half a surrogate pair of "\ud800".
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# <think>...</think>, <think>... without an end, ...</think> without a beginning (as some servers send it)
THINK_PART = re.compile(
    r"(\A\s*|^)<think>.*?(</think>|\Z)|\A.*(^</think>|</think>[ \t]*\n*(?=```|current_thinking:))",
    re.DOTALL | re.MULTILINE,
)
# ```yaml, ```YML
TAGGED_FENCE = re.compile(r"^`{3,}[ \t]*ya?ml[ \t]*\n", re.IGNORECASE | re.MULTILINE)
# ``` with something behind it, so that it is not the closing fence
PLAIN_FENCE = re.compile(r"^`{3,}[ \t]*\n(?=.*\S)", re.DOTALL | re.MULTILINE)
FIRST_KEY = re.compile(r"^(?=(current_thinking|planning|next_thought_needed):)", re.MULTILINE)
UP_TO_LAST_FENCE = re.compile(r"(.*)^`{3,}[ \t]*$", re.DOTALL | re.MULTILINE)


def read_reply(reply):
    """Read one thought from a model's reply; INSTRUCTIONS in nodes.py describes its format.

    reply: str, one YAML mapping, with or without a fence and words around it.
    Returns {"current_thinking": str, "planning": [step, ...], "next_thought_needed": bool}; a step is
    {"description": str, "status": str} with "result": str, "mark": str and "sub_steps": [step, ...] where given.
    Raises AssertionError with what the model has to mend.
    """
    thought = load_yaml(find_block(reply))
    assert isinstance(thought, dict), "it has no YAML mapping with current_thinking, planning and next_thought_needed"
    for key in ("current_thinking", "planning", "next_thought_needed"):
        assert key in thought, f"{key} is missing"
    thinking, flag = thought["current_thinking"], thought["next_thought_needed"]
    assert type(thinking) is str and thinking.strip(), "current_thinking is blank or not a text"
    assert isinstance(flag, bool), f"next_thought_needed is {flag!r:.40}: write true or false, without quotes"
    check_characters(thinking, "current_thinking")
    planning = read_plan(thought["planning"], "planning")
    assert planning, "planning is empty: return the whole plan"
    return {"current_thinking": thinking, "planning": planning, "next_thought_needed": flag}


def find_block(reply):
    text = THINK_PART.sub("", reply.replace("\r\n", "\n"))
    opening = TAGGED_FENCE.search(text) or PLAIN_FENCE.search(text) or FIRST_KEY.search(text)
    text = text[opening.end() :] if opening else text
    closed = UP_TO_LAST_FENCE.match(text)
    return closed[1] if closed else text


class Number(str):
    """A number or a date as the model wrote it: YAML would make 750 of 12:30, and 8 of 010."""


class ReplyLoader(yaml.SafeLoader):
    """A SafeLoader without aliases, by which a plan could contain itself, and without tags."""

    def compose_node(self, parent, index):
        event = self.peek_event()
        is_alias = isinstance(event, yaml.AliasEvent)
        assert not is_alias, f"it has a YAML alias (*{event.anchor}): write the text out, as a block literal (|-)"
        assert event.tag is None, f"it has a YAML tag ({event.tag!r}): leave it out"
        return super().compose_node(parent, index)


for kind in ("int", "float", "timestamp"):
    ReplyLoader.add_constructor(f"tag:yaml.org,2002:{kind}", lambda loader, node: Number(node.value))


def load_yaml(block):
    try:
        return yaml.load(block, ReplyLoader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # The latter two for "\UFFFFFFFF" in double quotes.
        problem = " ".join(str(error).replace('in "<unicode string>",', "in").split())
        raise AssertionError(f"it is not valid YAML ({problem}): write every text as a block literal (|-)") from None
    except RecursionError:
        raise AssertionError("its YAML is nested too deep to read") from None


def read_plan(plan, name):
    assert isinstance(plan, list), f"{name} is not a list of steps"
    return [read_step(step) for step in plan]


def read_step(step):
    assert isinstance(step, dict), f"a step of the plan is {step!r:.80}: write a mapping with description and status"
    description = read_text(step.get("description"), "the description of a step")
    assert description, f"a step of the plan has no description: {step!r:.80}"
    name = f"the step {description!r:.80}"
    status = read_text(step.get("status"), f"the status of {name}")
    assert status in STATUSES, f"{name} has the status {status!r:.40}: write Pending, Done or Verification Needed"
    optional = {
        "result": read_text(step.get("result"), f"the result of {name}"),
        "mark": read_text(step.get("mark"), f"the mark of {name}"),
        "sub_steps": read_plan(step.get("sub_steps") or [], f"sub_steps of {name}"),
    }
    return {"description": description, "status": status, **{key: value for key, value in optional.items() if value}}


def read_text(value, name):
    if value is None:
        return ""
    assert isinstance(value, str), f"{name} is not a text: write it as a block literal (|-)"
    check_characters(value, name)
    return str(value).strip()


def check_characters(text, name):
    found = CONTROL_CHARACTER.search(text)
    assert not found, f"{name} has the control character {found[0]!r}: write it as a block literal (|-), without quotes"


if __name__ == "__main__":
    plan = "[{description: Conclusion, status: Done, result: 42}]"
    print(read_reply(f"```yaml\ncurrent_thinking: It is 42.\nplanning: {plan}\nnext_thought_needed: false\n```"))
