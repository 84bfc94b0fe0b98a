"""What went wrong between the OpenAI client and the server, in one line for the user."""

import contextlib
import json
import os

# What to check, by the status of an answer.
ADVICE = {
    401: " Check OPENAI_API_KEY.",
    404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL.",
}

# The same where the answer is a web page.
NO_API = " It is not an OpenAI-compatible API."
PAGE_ADVICE = {200: f"{NO_API} Check OPENAI_BASE_URL.", 401: ADVICE[401], 404: NO_API + ADVICE[404]}

# Where providers give a reason: {"error": {"message": "No such model"}}, {"error": "Gone"}, {"detail": "Gone"},
# {"choices": [{"error": {"message": "Gone"}}]}
REASON_KEYS = ("error", "message", "detail", "choices")


def describe_answer(status, body):
    """Why an answer is not a completion, in the provider's words if it has any. status: int; body: bytes."""
    server = server_address()
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        advice = PAGE_ADVICE.get(status, " The server, or a gateway in front of it, failed.")
        return f"{server} answered {status} with a web page.{advice}"
    if status == 200 and is_cut(text):
        return f"The connection to {server} was cut in the middle of the reply, or the answer is empty."
    reason = None
    with contextlib.suppress(ValueError, RecursionError):
        reason = next(find_reasons(json.loads(text)), None)
    shown = shorten(reason or text)
    if status < 300 and not reason:
        return f"The answer from {server} ({status}) cannot be read. It begins: {shown}"
    return f"{server} answered {status}: {shown or 'no reason given'}.{ADVICE.get(status, '')}"


def describe_no_answer(error):
    """Why there is no answer at all. error: the client's, which has its cause."""
    cause = str(error.__cause__).rstrip(".")
    suspect = "the network"
    if os.environ.get("OPENAI_BASE_URL"):
        suspect = "OPENAI_BASE_URL (like http://localhost:11434/v1), and that its server runs"
    return f"No answer from {server_address()} ({cause}). Check {suspect}."


def is_cut(text):
    """Whether a text is the beginning of an answer: nothing, or an object or a list without its end."""
    return not text or (text[0] in "{[" and text[-1] not in "}]")


def find_reasons(value):
    """Yield the texts under the REASON_KEYS of a parsed answer."""
    if isinstance(value, str) and value:
        yield value
    if isinstance(value, list):
        for item in value:
            yield from find_reasons(item)
    if isinstance(value, dict):
        for key in REASON_KEYS:
            yield from find_reasons(value.get(key))


def shorten(text):
    """The text on one line, or its beginning, without the key."""
    words = mask_key(text)[:500].split()
    return " ".join(words).rstrip(".")


def mask_key(text):
    key = os.environ.get("OPENAI_API_KEY", "")
    if len(key) < 8:  # Such as "ollama": it is no secret.
        return text
    return text.replace(key, "***")


def base_url():
    return os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"


def server_address():
    """The address that is asked, as it may be shown: without a password and without a query."""
    scheme, separator, rest = base_url().partition("://")
    if not separator:
        scheme, rest = "", scheme
    host_and_path = rest.rpartition("@")[2]
    return scheme + separator + host_and_path.partition("?")[0]


def proxy_hint():
    """The names of the proxy variables that are set: no values, which may hold a password."""
    names = [name for name in os.environ if name.lower().endswith("_proxy") and os.environ[name]]
    if not names:
        return ""
    return f" Proxy settings: {', '.join(sorted(names))}."
