"""What thoughts cost: {"model": str, "requests": int, "seconds": float, "prompt_tokens": int, ...}, as far as known."""

from utils.plain_yaml import read_mapping, read_number, read_text

TOKEN_KEYS = ("prompt_tokens", "cached_tokens", "completion_tokens")
NUMBER_KEYS = ("requests", "seconds", *TOKEN_KEYS)
READERS = {"model": read_text, **dict.fromkeys(NUMBER_KEYS, read_number)}


def read_cost(node, name):
    """The cost of a saved thought in its YAML node. Raises InvalidThought."""
    return read_mapping(node, READERS, (), name)


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
