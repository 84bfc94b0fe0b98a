"""Reading a model's reply: find its YAML, load it, check it."""

import re

import yaml

KEYS = ("current_thinking", "planning", "next_thought_needed")
STATUSES = ("Pending", "Done", "Verification Needed")

# What makes a terminal misbehave or cannot be sent: control characters but newline and tab, line and
# paragraph separators, bidirectional overrides, halves of surrogate pairs. "\frac" in double quotes makes one.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

THINK_PART = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
LAST_FENCE = re.compile(r"\s*`{3,}\s*\Z")  # also one that is indented or glued to the last line
FENCED_BLOCK = re.compile(r"^`{3,}[^\n]*\n(.*?)(?:^`{3,}[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
THINKING_KEY = re.compile(r"^current_thinking:", re.MULTILINE)
UNFENCED_BLOCK = re.compile(rf"^(?:{'|'.join(KEYS)}):.*?(?=^`{{3}}|\Z)", re.DOTALL | re.MULTILINE)


def read_reply(reply):
    """Read one thought from a model's reply; INSTRUCTIONS in nodes.py describes its format.

    reply: str, one YAML mapping, with or without a fence and words around it.
    Returns {"current_thinking": str, "planning": [step, ...], "next_thought_needed": bool}; a step is
    {"description": str, "status": str} with "result": str, "mark": str and "sub_steps": [step, ...] where given.
    Raises AssertionError with everything that is wrong, in clauses such as "planning is missing".
    """
    return read_thought(load_yaml(find_block(reply)))


def find_block(reply):
    """The YAML: the last fenced block with a thought in it or, without fences, all from the first key on."""
    text = THINK_PART.sub("", reply.replace("\r\n", "\n"))
    text = LAST_FENCE.sub("\n", text)
    blocks = [block for block in FENCED_BLOCK.findall(text) if THINKING_KEY.search(block)]
    blocks = blocks or UNFENCED_BLOCK.findall(text)
    assert blocks, "it has no YAML block"
    return blocks[-1]


class TextLoader(yaml.BaseLoader):
    """Leaves every value the text that was written. Refuses what a reply has no use for or cannot mean."""

    def compose_node(self, parent, index):
        assert not self.check_event(yaml.AliasEvent), "it has a YAML alias (*): write the text out in full"
        return super().compose_node(parent, index)

    def construct_scalar(self, node):
        escaped = node.style == '"' and "\t" in node.value
        assert not escaped, f'it has a tab in double quotes, as "\\theta" makes one ({node.value!r:.40}): use |-'
        return super().construct_scalar(node)


def load_yaml(block):
    """The block's value, made of dicts, lists and texts. block: str or bytes. Raises AssertionError."""
    try:
        return yaml.load(block, TextLoader)
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # The latter two for "\UFFFFFFFF" in double quotes.
        problem = " ".join(re.sub('in "<.*?>",', "in", str(error)).split())
        raise AssertionError(f"it is not valid YAML ({problem}); every text should be a block literal (|-)") from None
    except RecursionError:
        raise AssertionError("its YAML is nested too deep to read") from None


def read_thought(fields):
    """Check what load_yaml made of a thought. Returns and raises as read_reply does."""
    assert isinstance(fields, dict), "its YAML is not a mapping"
    faults = []
    thinking = read_text(fields.get("current_thinking"), "current_thinking", faults)
    planning = read_plan(fields.get("planning"), "planning", faults)
    flag = read_text(fields.get("next_thought_needed"), "next_thought_needed", faults).strip().lower()
    faults += [f"{key} is missing" for key in KEYS if is_nothing(fields.get(key))]
    if thinking and not thinking.strip():
        faults.append("current_thinking is blank")
    if flag not in ("true", "false", ""):
        faults.append(f"next_thought_needed is {flag!r:.40}, neither true nor false")
    if flag == "false" and planning and planning[-1]["status"] != "Done":
        faults.append("next_thought_needed is false, but the last step of the plan is not Done")
    assert not faults, "; ".join(faults)
    return {"current_thinking": thinking, "planning": planning, "next_thought_needed": flag == "true"}


def read_plan(plan, name, faults):
    if is_nothing(plan):
        return []
    if not isinstance(plan, list):
        faults.append(f"{name} is not a list of steps")
        return []
    return [read_step(step, faults) for step in plan]


def read_step(step, faults):
    fields = step if isinstance(step, dict) else {}
    description = read_text(fields.get("description"), "the description of a step", faults).strip()
    if not description:
        faults.append(f"a step has no description ({step!r:.80})")
    name = f"the step {description!r:.80}"
    status = read_text(fields.get("status"), f"the status of {name}", faults).strip()
    if status not in STATUSES:
        faults.append(f"{name} has the status {status!r:.40}, not Pending, Done or Verification Needed")
    optional = {
        "result": read_text(fields.get("result"), f"the result of {name}", faults).strip(),
        "mark": read_text(fields.get("mark"), f"the mark of {name}", faults).strip(),
        "sub_steps": read_plan(fields.get("sub_steps"), f"sub_steps of {name}", faults),
    }
    return {"description": description, "status": status, **{key: value for key, value in optional.items() if value}}


def read_text(value, name, faults):
    if is_nothing(value):
        return ""
    if not isinstance(value, str):
        faults.append(f"{name} is not a text")
        return ""
    found = CONTROL_CHARACTER.search(value)
    if found:
        faults.append(f"{name} has the control character {found[0]!r}, as double quotes make of LaTeX: use |-")
    return value


def is_nothing(value):
    return value in (None, "", "~", "null", "Null", "NULL", [])


if __name__ == "__main__":
    plan = "[{description: Conclusion, status: Done, result: 42}]"
    print(read_reply(f"```yaml\ncurrent_thinking: It is 42.\nplanning: {plan}\nnext_thought_needed: false\n```"))
