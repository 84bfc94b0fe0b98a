"""call_llm(prompt) over the OpenAI client, which works with any OpenAI-compatible server."""

import json
import os
import pathlib
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # so that this file can be run on its own

from utils.call_failures import describe_answer, proxy_hint
from utils.errors import RunFailed

DEFAULT_MODEL = "gpt-6-luna"
REPLY_SECONDS = 3600  # A local model that reasons can take longer than the client's own ten minutes.
TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens")

# By what the finish_reason contains: some servers say "model_length" or "MAX_TOKENS".
CUT_OFF = "it was cut off at the model's output limit: write less in one reply, a long solution in sections"
FAULTS = {"content_filter": "it was stopped by a content filter", "length": CUT_OFF, "max_tokens": CUT_OFF}
BROKEN_OFF = ("abort", "error", "insufficient", "interrupt", "sensitive", "context_window")
FAULTS |= dict.fromkeys(BROKEN_OFF, "it was broken off by the server")


class Reply(str):
    """A model's reply. cost: a dict of its model and tokens; fault: why it cannot be a thought, or None."""

    cost = {}
    fault = None


def call_llm(prompt, model=None):
    """Send a prompt, str, as one user message and return a Reply. Raises RunFailed after the client's own retries."""
    model = model or os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL
    response = request_completion(prompt, model)
    try:
        return read_answer(json.loads(response.content), model)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise RunFailed(describe_answer(address(), response.status_code, response.content)) from None


def read_answer(answer, model):
    """The Reply in {"choices": [{"message": {"content": str}, "finish_reason": str}], "usage": {...}}."""
    choice = answer["choices"][0]
    message = choice["message"]
    content = message.get("content") or ""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content)
    if not content.strip() and (choice.get("error") or answer.get("error")):
        raise ValueError
    reply = Reply(content.encode("utf-8", "replace").decode("utf-8"))  # A lone surrogate cannot be encoded.
    reason = str(choice.get("finish_reason")).lower()
    reply.fault = next((fault for part, fault in FAULTS.items() if part in reason), None)
    if message.get("refusal"):
        reply.fault = f"it is a refusal: {message['refusal']}"
    reply.cost = {"model": model, **read_usage(answer.get("usage"))}
    return reply


def read_usage(usage):
    """The tokens, as far as the server reports them in whole numbers."""
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    counts = usage | (details if isinstance(details, dict) else {})
    return {key: counts[key] for key in TOKENS if type(counts.get(key)) is int}


def request_completion(prompt, model):
    """The server's answer. Raises RunFailed with the name of what is wrong, but not its value: it may be a password."""
    key = read_key()
    try:
        import openai  # Not at the top: it takes half a second, for which --help and --show-prompt need not wait.
    except ImportError as error:
        raise RunFailed(f"{error}: activate the environment, or run pip install -r requirements.txt") from None
    timeout = openai.Timeout(REPLY_SECONDS, connect=10)
    # What to check if a line below raises. The base URL is set apart, so that it is not blamed for other settings.
    suspects = f"SSL_CERT_FILE and the proxy settings.{proxy_hint()}"
    try:
        client = openai.OpenAI(api_key=key, base_url="http://localhost", timeout=timeout, max_retries=4)
        suspects = "OPENAI_BASE_URL, which should look like http://localhost:11434/v1."
        url = base_url()
        query = dict(urllib.parse.parse_qsl(url.query))
        client = client.with_options(base_url=url._replace(query="").geturl(), default_query=query)
        suspects = f"the OPENAI_ variables.{proxy_hint()}"
        # The raw answer, since a server may send what the client's own types do not allow for.
        create = client.chat.completions.with_raw_response.create
        return create(model=model, messages=[{"role": "user", "content": prompt}]).http_response
    except openai.APIStatusError as error:
        return error.response  # call_llm finds no choices in it, and says why.
    except openai.APIConnectionError as error:
        suspects = "OPENAI_BASE_URL, and that its server runs" if os.environ.get("OPENAI_BASE_URL") else "the network"
        failure = f"No answer from {address()} ({error.__cause__}). Check {suspects}.{proxy_hint()}"
    except Exception as error:
        failure = f"The OpenAI client failed ({type(error).__name__}). Check {suspects}"
    raise RunFailed(failure)


def read_key():
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        other = "OPENAI_BASE_URL to a server that needs no key, such as http://localhost:11434/v1 (Ollama)"
        raise RunFailed(f"OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or set {other}.")
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise RunFailed("OPENAI_API_KEY contains a space or another character that no key has. Set it again.")
    return key or "none"


def base_url():
    """OPENAI_BASE_URL in its parts. Raises ValueError."""
    url = urllib.parse.urlsplit(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    if url.scheme not in ("http", "https") or not url.hostname or url.fragment:
        raise ValueError
    url.hostname.encode("idna")  # Raises UnicodeError, a ValueError, for a name such as "a..b".
    return url


def address():
    """The base URL to show: without a password, even one with a slash in it, which looks like part of the path."""
    url = base_url()
    if "@" in url.path + url.query:
        return f"{url.scheme}://{url.hostname}"
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"


if __name__ == "__main__":
    try:
        reply = call_llm("Reply with one word: ready")
        print(reply.cost["model"], reply.fault or reply, sep=": ")
    except RunFailed as failure:
        sys.exit(str(failure))
