"""What thoughts cost: {"model": str, "requests": int, "seconds": float, "prompt_tokens": int, ...}, as far as known."""

from utils.errors import refuse
from utils.plain_yaml import CONTROL_CHARACTER

TOKEN_KEYS = ("prompt_tokens", "cached_tokens", "completion_tokens")
NUMBER_KEYS = ("requests", "seconds", *TOKEN_KEYS)
READERS = {"model": str.strip, "requests": int, "seconds": float, **dict.fromkeys(TOKEN_KEYS, int)}


def keep_known(cost):
    """What can be added up and saved of the cost in a Reply: the name of the model, and whole numbers of tokens."""
    if not isinstance(cost, dict):
        return {}
    known = {key: cost[key] for key in TOKEN_KEYS if type(cost.get(key)) is int}  # but not True
    model = cost.get("model")
    if isinstance(model, str) and model.strip() and not CONTROL_CHARACTER.search(model):
        known["model"] = model
    return known


def read_cost(field):
    """The cost of a saved thought. field: its Field, as load_yaml returns it. Raises InvalidThought."""
    try:
        return {key: READERS[key](item.value) for key, item in field.value.items()}
    except (AttributeError, KeyError, TypeError, ValueError):  # The file may have been edited by hand.
        refuse(field.line, "cost cannot be read")


def add_costs(costs):
    """The sum of a list of costs, with the names of all their models."""
    total = {}
    models = [cost["model"] for cost in costs if "model" in cost]
    if models:
        total["model"] = ", ".join(dict.fromkeys(models))  # each name once
    for key in NUMBER_KEYS:
        numbers = [cost[key] for cost in costs if key in cost]
        if numbers:
            total[key] = round(sum(numbers), 1)
    return total


def format_cost(cost):
    """A cost, such as "2 requests, 31.4 seconds, 1,624 prompt tokens (gpt-6-luna)"."""
    numbers = [format_count(cost[key], key.replace("_", " ")) for key in NUMBER_KEYS if key in cost]
    text = ", ".join(numbers)
    if "model" in cost:
        text += f" ({cost['model']})"
    return text


def format_count(number, things):
    """Such as "1 thought", "1,624 prompt tokens" or "1.0 seconds". things: the plural noun."""
    digits = f"{number:,}"
    if digits == "1":
        things = things.removesuffix("s")
    return f"{digits} {things}"
