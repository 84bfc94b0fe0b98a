"""What replies cost: a dict of "model", str, and the numbers of UNITS, each where it is known."""

from utils.text import count

UNITS = ("requests", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens")


def add_costs(costs):
    """The sum of a list of costs, with the names of all their models."""
    models = dict.fromkeys(cost["model"] for cost in costs if "model" in cost)
    total = {"model": ", ".join(models)} if models else {}
    for key in UNITS:
        numbers = [cost[key] for cost in costs if key in cost]
        total.update({key: round(sum(numbers), 1)} if numbers else {})
    return total


def format_cost(cost):
    """A cost as text, such as "gpt-6-luna, 2 requests, 31.4 seconds, 1,624 prompt tokens"."""
    numbers = [count(cost[key], key.replace("_", " ")[:-1]) for key in UNITS if key in cost]
    return ", ".join([cost["model"], *numbers] if "model" in cost else numbers) or "cost unknown"
