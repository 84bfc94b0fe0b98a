"""What thoughts cost: {"model": str, "requests": int, "seconds": float, "prompt_tokens": int, ...}, as far as known."""

from utils.errors import InvalidThought

TOKEN_KEYS = ("prompt_tokens", "cached_tokens", "completion_tokens")
COST_READERS = {"model": str.strip, "requests": int, "seconds": float, **dict.fromkeys(TOKEN_KEYS, int)}


def read_cost(fields, name):
    """The cost of a saved thought. fields: what load_yaml made of it; name: what to call it in an InvalidThought."""
    try:
        return {key: COST_READERS[key](value) for key, value in fields.items()}
    except Exception:  # The file may have been edited by hand.
        raise InvalidThought(f"{name} cannot be read") from None


def add_costs(costs):
    """The sum of a list of costs, with the names of all their models."""
    total = {}
    for key in COST_READERS:
        values = [cost[key] for cost in costs if key in cost]
        if values:
            total[key] = ", ".join(dict.fromkeys(values)) if key == "model" else round(sum(values), 1)
    return total


def format_cost(cost):
    """A cost, such as "2 requests, 31.4 seconds, 1,624 prompt tokens (gpt-6-luna)"."""
    numbers = ", ".join(count(value, key.replace("_", " ")) for key, value in cost.items() if key != "model")
    return f"{numbers} ({cost['model']})" if "model" in cost else numbers


def count(number, things):
    """Such as "1 thought", "1,624 prompt tokens" or "1.0 seconds". things: the plural noun."""
    digits = f"{number:,}"
    return f"{digits} {things.removesuffix('s') if digits == '1' else things}"
