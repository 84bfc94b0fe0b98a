"""call_llm(prompt) over the OpenAI client, which works with any OpenAI-compatible server."""

import json
import os
import pathlib
import sys
import time
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # so that this file can be run on its own

from utils.call_failures import NO_KEY, PROXIES, address, base_url, describe_answer, proxy_hint, variables_set
from utils.cost import UNITS
from utils.errors import RunFailed

DEFAULT_MODEL = "gpt-6-luna"
REPLY_SECONDS = 3600  # A local model that reasons can take longer than the client's own ten minutes.
FILTERED = "it was stopped by a content filter"
CUT_OFF = "it was cut off at the model's output limit: write less in one reply, a long solution in sections"
# By what the finish_reason contains: some servers say "model_length" or "MAX_TOKENS".
FAULTS = {"content_filter": FILTERED, "length": CUT_OFF, "max_tokens": CUT_OFF}


class Reply(str):
    """A model's reply. cost: a dict as in utils/cost.py; fault: why it cannot be a thought, a clause, or None."""


def call_llm(prompt, model=None):
    """Send a prompt, str, as one user message and return a Reply. Raises RunFailed after the client's own retries."""
    model = model or os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL
    start = time.monotonic()
    status, body = request_completion(prompt, model)
    cost = {"model": model, "requests": 1, "seconds": round(time.monotonic() - start, 1)}
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        reply = Reply(read_content(choice["message"].get("content")))
        reply.cost = {**cost, **read_usage(answer.get("usage"))}
        reason = str(choice.get("finish_reason")).lower()
        reply.fault = next((FAULTS[part] for part in FAULTS if part in reason), None)
        if choice["message"].get("refusal"):
            reply.fault = f"it is a refusal: {choice['message']['refusal']}"
        is_readable = not (choice.get("error") or answer.get("error"))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        is_readable = False
    if not is_readable:
        raise RunFailed(describe_answer(status, body))
    return reply


def read_content(content):
    """The text of a message. content: str, None, or a list of parts such as {"type": "text", "text": str}."""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return (content or "").encode("utf-8", "replace").decode("utf-8")  # A lone surrogate cannot be encoded.


def read_usage(usage):
    usage = {} if usage is None else usage  # Not `or {}`, which would let an empty list pass.
    counts = {**usage, **(usage.get("prompt_tokens_details") or {})}
    return {key: counts[key] for key in UNITS if isinstance(counts.get(key), int)}


def request_completion(prompt, model):
    """The status and the body of the server's answer, int and bytes. Whatever the client raises becomes a RunFailed."""
    with set_up_client() as client:
        import openai

        message = {"role": "user", "content": prompt}
        try:
            # The raw answer, since a server may send what the client's own types do not allow for.
            answer = client.chat.completions.with_raw_response.create(model=model, messages=[message]).http_response
            return answer.status_code, answer.content
        except openai.APIStatusError as error:
            failure = describe_answer(error.status_code, error.response.content)
        except openai.APIConnectionError as error:
            suspects = "OPENAI_BASE_URL and its server" if os.environ.get("OPENAI_BASE_URL") else "the network"
            failure = f"No answer from {address()} ({error.__cause__}). Check {suspects}.{proxy_hint()}"
        except Exception as error:
            failure = f"The OpenAI client failed ({type(error).__name__}). Check the OPENAI_ variables.{proxy_hint()}"
        raise RunFailed(failure)


def set_up_client():
    """The client. Raises RunFailed with the variable that is wrong, but not its value: it may hold a password."""
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        raise RunFailed(NO_KEY)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise RunFailed("OPENAI_API_KEY contains a space or another character that a key cannot have. Set it again.")
    try:
        import openai  # Not at the top: it takes half a second, for which --help and --show-prompt need not wait.

        # Without the user's base URL at first: what fails here is not its fault.
        timeout = openai.Timeout(REPLY_SECONDS, connect=10)
        client = openai.OpenAI(api_key=key or "none", base_url="http://localhost", timeout=timeout, max_retries=4)
    except Exception as error:
        reason = error if isinstance(error, ImportError) else type(error).__name__
        suspects = variables_set("ssl_cert_.*" if isinstance(error, OSError) else PROXIES) or "the installed packages"
        raise RunFailed(f"The OpenAI client cannot be set up ({reason}). Check {suspects}.") from None
    try:
        url = base_url()
        query = dict(urllib.parse.parse_qsl(url.query))
        return client.with_options(base_url=url._replace(query="").geturl(), default_query=query)
    except Exception:
        raise RunFailed("OPENAI_BASE_URL is not a valid address like http://localhost:11434/v1.") from None


if __name__ == "__main__":
    try:
        reply = call_llm("Reply with one word: ready")
        print(reply.cost["model"], reply.fault or reply, sep=": ")
    except RunFailed as failure:
        sys.exit(str(failure))
