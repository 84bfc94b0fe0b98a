"""What went wrong on the way to the model, in one line for the user."""

import json
import os
import re

from utils.errors import RunFailed

LARGER_CONTEXT = "The server needs a larger context: see README.md."

# What to check, by the status of an answer.
ADVICE = {
    401: " Check OPENAI_API_KEY.",
    404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL, which often ends with /v1.",
}

NO_COMPLETION = "answered, but sent no completion"


def require_key():
    """Raise RunFailed if there is no key where one is needed, or one that cannot be sent."""
    key = os.environ.get("OPENAI_API_KEY", "")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        local_server = "OPENAI_BASE_URL to a server that needs none, such as http://localhost:11434/v1 (Ollama)"
        raise RunFailed(f"OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or set {local_server}.")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise RunFailed("OPENAI_API_KEY contains white space or a character that is not plain ASCII. Set it again.")


def describe_status(error):
    """Why the server refused, in the provider's words if it has any. error: the client's APIStatusError."""
    status = error.status_code
    words = find_words(error.body) or error.response.text
    if status >= 500 and words.lstrip().startswith("<"):
        words = "a gateway in front of it failed"
    advice = ADVICE.get(status, "")
    if status == 400 and "context" in words:
        advice = f" {LARGER_CONTEXT}"
    return describe_answer(f"answered {status}", words) + advice


def describe_silence(error):
    """Why no answer came. error: the client's APIConnectionError."""
    cause = str(error.__cause__).rstrip(".")
    return f"No answer from {server_address()} ({cause}). Check the network, proxy settings and OPENAI_BASE_URL."


def describe_failure(error):
    """What went wrong, for any other exception that making the client, or sending, has raised."""
    if isinstance(error, json.JSONDecodeError):
        return describe_answer(NO_COMPLETION, error.doc)
    if isinstance(error, UnicodeDecodeError):
        return describe_answer(NO_COMPLETION, str(error))
    if isinstance(error, ImportError):  # It names a package that a proxy needs, and how to install it.
        return str(error)
    suspects = "OPENAI_BASE_URL, SSL_CERT_FILE and proxy settings"
    return f"The OpenAI client failed ({type(error).__name__}). Check {suspects}."


def describe_odd_answer(completion):
    """What a server has sent instead of a completion: the words of its error, or what the client has made of it."""
    try:
        words = find_words(completion.model_extra["error"])
    except (AttributeError, KeyError):
        words = ""
    return describe_answer(NO_COMPLETION, words or str(completion))


def find_words(reason):
    """The reason in {"message": "No such model"}, {"error": "Gone"}, {"detail": "Gone"} or "Gone", or ""."""
    if isinstance(reason, dict):
        reason = reason.get("message") or reason.get("error") or reason.get("detail")
    return str(reason or "")


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
