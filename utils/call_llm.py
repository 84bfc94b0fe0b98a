"""call_llm(prompt) over the OpenAI client, which works with any OpenAI-compatible server."""

import json
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # so that this file can be run on its own

from utils.call_failures import OPENAI_URL, describe_answer, proxy_hint, server_address
from utils.cost import TOKEN_KEYS
from utils.errors import RunFailed, quote

DEFAULT_MODEL = "gpt-6-luna"

# By what the finish_reason contains: some servers say "model_length" or "MAX_TOKENS".
FAULTS = {
    "content_filter": "it was stopped by a content filter",
    "length|max_tokens": "it was cut off at the output limit; write less in one reply, a long solution in sections",
    "abort|error|insufficient|interrupt|sensitive|context_window": "it was broken off by the server",
}


class Reply(str):
    """A model's reply. cost: a dict of its model and tokens; fault: why it cannot be a thought, or None."""

    cost = {}
    fault = None


def call_llm(prompt, model=None, default_model=DEFAULT_MODEL):
    """Send a prompt, str, as one user message and return a Reply. Raises RunFailed after the client's own retries.

    The model is `model`, or else OPENAI_MODEL, or else default_model.
    """
    model = model or os.environ.get("OPENAI_MODEL") or default_model
    response = request_completion(prompt, model)
    try:
        return read_answer(json.loads(response.content), model)
    except Exception:  # A server may send anything.
        raise RunFailed(describe_answer(response.status_code, response.content) + proxy_hint()) from None


def request_completion(prompt, model):
    """The server's answer, a response of the client's. Raises RunFailed."""
    key = os.environ.get("OPENAI_API_KEY", "")
    url = os.environ.get("OPENAI_BASE_URL")
    if not key and not url:
        raise RunFailed(
            "OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or set OPENAI_BASE_URL to a server that"
            " needs no key, such as http://localhost:11434/v1 (Ollama)."
        )
    if re.search(r"\s", key):
        raise RunFailed("OPENAI_API_KEY contains white space. Set it again.")
    try:
        import openai  # Not at the top: it takes half a second, for which --help and --show need not wait.
    except ImportError as error:
        raise RunFailed(f"{error}: activate the environment, or run pip install -r requirements.txt") from None
    try:
        client = openai.OpenAI(
            api_key=key or "none",
            base_url=url or OPENAI_URL,
            timeout=openai.Timeout(3600, connect=10),  # A local model that reasons can take longer than ten minutes.
            max_retries=4,
        )
        # The raw answer, since a server may send what the client's own types do not allow for.
        return client.chat.completions.with_raw_response.create(
            model=model, messages=[{"role": "user", "content": prompt}]
        ).http_response
    except openai.APIStatusError as error:
        return error.response  # call_llm finds no choices in it, and says why.
    except openai.APIConnectionError as error:
        suspect = "OPENAI_BASE_URL (like http://localhost:11434/v1), and that its server runs" if url else "the network"
        failure = f"No answer from {server_address()} ({str(error.__cause__).rstrip('.')}). Check {suspect}."
    except Exception as error:  # Its text may hold a password.
        failure = f"The OpenAI client failed ({type(error).__name__}). Check OPENAI_BASE_URL and SSL_CERT_FILE."
    raise RunFailed(failure + proxy_hint())


def read_answer(answer, model):
    """The Reply in {"choices": [{"message": {"content": str}, "finish_reason": str}], "usage": {...}}."""
    choice = answer["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content)
    if not content.strip() and (choice.get("error") or answer.get("error")):
        raise ValueError  # call_llm says what the error is.
    reply = Reply(content.encode("utf-8", "replace").decode("utf-8"))  # A lone surrogate cannot be encoded.
    for pattern, fault in FAULTS.items():
        if re.search(pattern, str(choice.get("finish_reason")), re.IGNORECASE):
            reply.fault = fault
    if message.get("refusal"):
        reply.fault = f"it is a refusal: {quote(message['refusal'])}"
    reply.cost = {"model": model, **read_usage(answer.get("usage"))}
    return reply


def read_usage(usage):
    """The tokens, as far as the server reports them in whole numbers."""
    try:
        counts = {**usage, **(usage.get("prompt_tokens_details") or {})}
    except (TypeError, AttributeError):
        counts = {}
    return {key: counts[key] for key in TOKEN_KEYS if type(counts.get(key)) is int}


if __name__ == "__main__":
    try:
        reply = call_llm("Reply with one word: ready")
    except RunFailed as failure:
        sys.exit(str(failure))
    print(f"{reply.cost['model']}: {reply.fault or reply}")
