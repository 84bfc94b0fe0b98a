"""call_llm(prompt) over the OpenAI client, which works with any OpenAI-compatible server."""

import contextlib
import json
import os
import re
import sys
import typing

sys.path.append(os.path.abspath(f"{__file__}/../.."))  # so that this file can be run on its own

from utils.call_failures import base_url, describe_answer, describe_no_answer, mask_key, proxy_hint
from utils.errors import RunFailed, quote

DEFAULT_MODEL = "gpt-6-luna"

# By what is found in the finish_reason: some servers say "model_length" or "MAX_TOKENS".
FAULTS = {
    "content_filter": "it was stopped by a content filter",
    "length|max_tokens": "it was cut off at the limit of output or context; write less in one, a long text in sections",
    "abort|error|insufficient|interrupt|sensitive|context_window": "it was broken off by the server",
}


class Reply(typing.NamedTuple):
    """A model's reply.

    text: str; cost: {"model": str, "prompt_tokens": int, "cached_tokens": int, "completion_tokens": int}, as far as
    known; fault: why it cannot be a thought, str or None.
    """

    text: str
    cost: dict = {}
    fault: str | None = None


def call_llm(prompt, model=None, default_model=DEFAULT_MODEL):
    """Send a prompt, str, as one user message and return a Reply. Raises RunFailed after the client's own retries.

    The model is `model`, or else OPENAI_MODEL, or else default_model.
    """
    model = model or os.environ.get("OPENAI_MODEL") or default_model
    response = send(prompt, model)
    if response.status_code == 200:
        with contextlib.suppress(Exception):  # A server may send anything.
            return read_answer(json.loads(response.content), model)
    raise RunFailed(describe_answer(response.status_code, response.content) + proxy_hint())


def send(prompt, model):
    """The server's answer to a prompt, an HTTP response of the client's. Raises RunFailed."""
    require_key()
    try:
        import openai  # Not at the top: it takes half a second, for which --help and --show need not wait.
    except ImportError as error:
        raise RunFailed(f"{error}: activate the environment, or run pip install -r requirements.txt.") from None
    try:
        # The raw answer, since a server may send what the client's own types do not allow for.
        create = create_client(openai).chat.completions.with_raw_response.create
        return create(model=model, messages=[{"role": "user", "content": prompt}]).http_response
    except ImportError as error:  # The client names a package that a proxy needs.
        failure = str(error)
    except openai.APIStatusError as error:
        return error.response  # call_llm says what is wrong with it.
    except openai.APIConnectionError as error:
        failure = describe_no_answer(error)
    except Exception as error:
        failure = f"The OpenAI client failed ({type(error).__name__}). Check OPENAI_BASE_URL and SSL_CERT_FILE."
    raise RunFailed(failure + proxy_hint())


def require_key():
    """Raise RunFailed if there is no key where one is needed, or one that cannot be sent."""
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        local_server = "OPENAI_BASE_URL to a server that needs none, such as http://localhost:11434/v1 (Ollama)"
        raise RunFailed(f"OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or set {local_server}.")
    if re.search(r"[^!-~]", key):
        raise RunFailed("OPENAI_API_KEY contains white space or a character that is not plain ASCII. Set it again.")


def create_client(openai):
    return openai.OpenAI(
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        base_url=base_url(),
        timeout=openai.Timeout(3600, connect=10),  # A local model that reasons can take longer than ten minutes.
        max_retries=4,
    )


def read_answer(answer, model):
    """The Reply in {"choices": [{"message": {"content": str}, "finish_reason": str}], "usage": {...}}."""
    choice = answer["choices"][0]
    content = read_content(choice["message"])
    if not content.strip() and (choice.get("error") or answer.get("error")):
        raise ValueError  # call_llm says what the error is.
    cost = {**read_usage(answer.get("usage")), "model": model}
    return Reply(content, cost, find_fault(choice))


def read_content(message):
    """The text of a message. Some servers send it in parts."""
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content)
    return content.encode(errors="replace").decode()  # A lone surrogate cannot be encoded.


def find_fault(choice):
    """Why the reply in this choice cannot be a thought, or None."""
    refusal = choice["message"].get("refusal")
    if refusal:
        return f"it is a refusal: {quote(mask_key(str(refusal)))}"
    finish_reason = str(choice.get("finish_reason"))
    for pattern, fault in FAULTS.items():
        if re.search(pattern, finish_reason, re.IGNORECASE):
            return fault
    return None


def read_usage(usage):
    """What the server reports of the tokens, as it reports it: the node keeps what it knows."""
    try:
        details = usage.get("prompt_tokens_details") or {}
        return {**usage, **details}
    except (TypeError, AttributeError):
        return {}


if __name__ == "__main__":
    try:
        reply = call_llm("Reply with one word: ready")
    except (RunFailed, KeyboardInterrupt) as failure:
        sys.exit(str(failure))
    print(f"{reply.cost['model']}: {reply.fault or reply.text}")
