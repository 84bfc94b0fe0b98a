"""call_llm(prompt) over the OpenAI client, which works with any OpenAI-compatible server."""

import json
import os
import re
import sys
import typing

from utils.cost import TOKEN_KEYS
from utils.errors import RunFailed, quote

DEFAULT_MODEL = "gpt-6-luna"

# What to check, by the status of an answer.
ADVICE = {
    401: " Check OPENAI_API_KEY.",
    404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL, which often ends with /v1.",
}

NO_COMPLETION = "answered, but sent no completion"


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
    except (AttributeError, IndexError, KeyError, TypeError, RecursionError):  # A server can send anything.
        raise RunFailed(describe_answer(NO_COMPLETION, str(completion))) from None


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
    except ImportError as error:  # It names a package that a proxy needs, and how to install it.
        failure = str(error)
    except openai.APIStatusError as error:
        failure = describe_error(error)
    except openai.APIConnectionError as error:
        cause = str(error.__cause__).rstrip(".")
        failure = f"No answer from {server_address()} ({cause}). Check the network, proxy settings and OPENAI_BASE_URL."
    except json.JSONDecodeError as error:
        failure = describe_answer(NO_COMPLETION, error.doc)
    except UnicodeDecodeError as error:
        failure = describe_answer(NO_COMPLETION, str(error))
    except Exception as error:
        suspects = "OPENAI_BASE_URL, SSL_CERT_FILE and proxy settings"
        failure = f"The OpenAI client failed ({type(error).__name__}). Check {suspects}."
    raise RunFailed(failure)


def require_key():
    """Raise RunFailed if there is no key where one is needed, or one that cannot be sent."""
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        local_server = "OPENAI_BASE_URL to a server that needs none, such as http://localhost:11434/v1 (Ollama)"
        raise RunFailed(f"OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or set {local_server}.")
    if re.search(r"[^!-~]", key):
        raise RunFailed("OPENAI_API_KEY contains white space or a character that is not plain ASCII. Set it again.")


# Reading an answer


def read_completion(completion, model):
    """The Reply in a completion. Raises RunFailed, or what odd content raises, if it holds none."""
    choice = completion.choices[0]
    content = read_content(choice.message.content)
    error = choice.model_extra.get("error") or completion.model_extra.get("error")
    if error and not content.strip():
        raise RunFailed(describe_answer(NO_COMPLETION, str(completion)))
    cost = {"model": model, **read_usage(completion.usage)}
    return Reply(content, cost, find_fault(choice))


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


def find_fault(choice):
    """Why the reply in this choice cannot be a thought, or None."""
    if choice.message.refusal:
        return f"it is a refusal: {quote(mask_key(choice.message.refusal))}"
    finish_reason = str(choice.finish_reason).lower()  # Some servers say "model_length" or "MAX_TOKENS".
    if "content_filter" in finish_reason:
        return "it was stopped by a content filter"
    if "length" in finish_reason or "max_tokens" in finish_reason:
        return "it was cut off at the limit of output or context; write less in one reply, a long text in sections"
    return None


# What went wrong, in one line for the user


def describe_error(error):
    """Why the server refused, in the provider's words if it has any. error: the client's APIStatusError."""
    status = error.status_code
    words = find_words(error)
    if status >= 500 and words.lstrip().startswith("<"):
        words = "a gateway in front of it failed"
    return describe_answer(f"answered {status}", words) + ADVICE.get(status, "")


def find_words(error):
    """The reason in {"message": "No such model"}, {"error": "Gone"}, {"detail": "Gone"} or "Gone", or the answer."""
    reason = error.body
    if isinstance(reason, dict):
        reason = reason.get("message") or reason.get("error") or reason.get("detail")
    return str(reason or error.response.text)


def describe_answer(what, text):
    """Such as "http://localhost/v1 answered 404: No such model." what: "answered 404"; text: what it said."""
    beginning = mask_key(text)[:500]
    words = " ".join(beginning.split()).rstrip(".") or "nothing"
    if words.startswith("<"):
        words = "a web page. Check OPENAI_BASE_URL"
    return f"{server_address()} {what}: {words}."


def mask_key(text):
    key = os.environ.get("OPENAI_API_KEY", "")
    if len(key) < 8:  # Such as "ollama": it is no secret.
        return text
    return text.replace(key, "***")


def base_url():
    return os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"


def server_address():
    """The address that is asked, as it may be shown: without a password and without a query."""
    without_password = re.sub(r"^(\w+://)?.*@", r"\1", base_url())  # "http://user:password@host" becomes "http://host"
    return without_password.partition("?")[0]


if __name__ == "__main__":
    try:
        reply = call_llm("Reply with one word: ready")
    except RunFailed as failure:
        sys.exit(str(failure))
    print(f"{reply.cost['model']}: {reply.fault or reply.text}")
