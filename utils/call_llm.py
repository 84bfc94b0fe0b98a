"""call_llm(prompt) over the OpenAI client, which works with any OpenAI-compatible server."""

import os
import sys
import typing

from utils.cost import TOKEN_KEYS, format_cost
from utils.errors import RunFailed, quote
from utils.failures import LARGER_CONTEXT, base_url, mask_key, require_key
from utils.failures import describe_failure, describe_odd_answer, describe_silence, describe_status

DEFAULT_MODEL = "gpt-6-luna"


class Reply(typing.NamedTuple):
    """A model's reply.

    text: str; cost: {"model": str, "prompt_tokens": int, "cached_tokens": int, "completion_tokens": int}, as far as
    known, and nothing else; fault: why it cannot be a thought, str or None.
    """

    text: str
    cost: dict = {}
    fault: str | None = None


def call_llm(prompt, model=None, default_model=DEFAULT_MODEL):
    """Send a prompt, str, as one user message and return a Reply. Raises RunFailed after the client's own retries.

    The model is `model`, or else OPENAI_MODEL, or else default_model.
    """
    model = model or os.environ.get("OPENAI_MODEL") or default_model
    require_key()
    completion = send(prompt, model)
    try:
        return read_completion(completion, model)
    except (AttributeError, LookupError, TypeError):  # A server can send anything.
        raise RunFailed(describe_odd_answer(completion)) from None


def send(prompt, model):
    """The client's completion for a prompt, or what else it makes of the server's answer. Raises RunFailed."""
    try:
        import openai  # Not at the top: it takes half a second, for which --help and --show need not wait.
    except ImportError as error:
        raise RunFailed(f"{error}: activate the environment, or run pip install -r requirements.txt.") from None
    try:
        client = openai.OpenAI(
            api_key=os.environ.get("OPENAI_API_KEY") or "none",
            base_url=base_url(),
            timeout=openai.Timeout(3600, connect=10),  # A local model that reasons can take longer than ten minutes.
            max_retries=4,
        )
        return client.chat.completions.create(model=model, messages=[{"role": "user", "content": prompt}])
    except openai.APIStatusError as error:
        raise RunFailed(describe_status(error)) from None
    except openai.APIConnectionError as error:
        raise RunFailed(describe_silence(error)) from None
    except Exception as error:
        raise RunFailed(describe_failure(error)) from None


def read_completion(completion, model):
    """The Reply in a completion. Raises RunFailed if there is none, or what odd content raises."""
    choice = completion.choices[0]
    text = read_content(choice.message.content)
    if not text.strip() and (choice.model_extra.get("error") or completion.model_extra.get("error")):
        raise RunFailed(describe_odd_answer(completion))
    cost = {"model": model, **read_usage(completion.usage)}
    return Reply(text, cost, find_fault(choice, text, cost))


def read_content(content):
    """The text of a message. Some servers send it in parts."""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content)
    return (content or "").encode(errors="replace").decode()  # A lone surrogate cannot be encoded.


def read_usage(usage):
    """The numbers of tokens in what the server reports, which may be anything."""
    try:
        reported = {**dict(usage), **dict(usage.prompt_tokens_details or {})}
    except (AttributeError, TypeError, ValueError):
        return {}
    return {key: reported[key] for key in TOKEN_KEYS if type(reported.get(key)) is int}  # but not True


def find_fault(choice, text, cost):
    """Why the reply in this choice cannot be a thought, or None. Raises RunFailed if no other try would be one."""
    finish_reason = str(choice.finish_reason).lower()  # Some servers say "model_length" or "MAX_TOKENS".
    tokens = format_cost({key: cost[key] for key in TOKEN_KEYS if key in cost}) or "no tokens"
    if choice.message.refusal:
        return f"it is a refusal: {quote(mask_key(choice.message.refusal))}"
    if "content_filter" in finish_reason:
        return "it was stopped by a content filter"
    if "length" in finish_reason or "max_tokens" in finish_reason:
        if not text.strip():
            raise RunFailed(f"The reply was cut off before it began (the server counted {tokens}). {LARGER_CONTEXT}")
        limit = f"the limit of output or context (the server counted {tokens})"
        return f"it was cut off at {limit}; write less in one reply, a long text in sections"
    if not text.strip() and cost.get("completion_tokens"):
        return f"it is empty, and all went into reasoning: the server counted {tokens}"
    return None


if __name__ == "__main__":
    try:
        reply = call_llm("Reply with one word: ready")
    except RunFailed as failure:
        sys.exit(str(failure))
    print(f"{reply.cost['model']}: {reply.fault or reply.text}")
