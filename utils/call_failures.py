"""What went wrong between the OpenAI client and the server, in one line for the user."""

import json
import os
import re
import urllib.parse

NO_KEY = (
    "OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or point OPENAI_BASE_URL at a server"
    " that needs no key (for Ollama: export OPENAI_BASE_URL=http://localhost:11434/v1)."
)
PROXIES = "(https?|all|no)_proxy"
ADVICE = {401: " Check OPENAI_API_KEY.", 404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL."}
WORDS = ("error", "message", "detail")  # The keys under which providers give a reason.
DEFAULT_BASE_URL = "https://api.openai.com/v1"


def base_url():
    """OPENAI_BASE_URL in its parts. Raises ValueError for one with which the client would fail only later."""
    url = urllib.parse.urlsplit(os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
    if url.scheme not in ("http", "https") or not url.hostname or url.port == 0 or url.fragment:
        raise ValueError
    url.hostname.encode("idna")
    return url


def address():
    """The base URL to show: without a password, even one with a slash in it, which looks like part of the path."""
    url = base_url()
    if "@" in url.path + url.query:
        return f"{url.scheme}://{url.hostname}"
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"


def variables_set(pattern):
    """The names of the variables that are set: no values, which may hold a password."""
    return ", ".join(sorted(name for name in os.environ if re.fullmatch(pattern, name, re.I) and os.environ[name]))


def proxy_hint():
    names = variables_set(PROXIES)
    return f" Proxy settings: {names} (hosts in NO_PROXY are reached without a proxy)." if names else ""


def describe_answer(status, body):
    """Why an answer is not a completion, in the provider's words where it has any. status: int; body: bytes."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<") and status in (200, 404):
        return f"{address()} is not an OpenAI-compatible API: it sent a web page. Check OPENAI_BASE_URL.{proxy_hint()}"
    if text.startswith("<"):
        return f"{address()} answered {status} with a web page: the server or a gateway failed.{proxy_hint()}"
    try:
        words, is_cut = find_words(json.loads(text)), False
    except (ValueError, RecursionError):
        words, is_cut = "", not text or text[0] in "{[" and text[-1] not in "}]"
    if status == 200 and is_cut:
        return f"The connection to {address()} was cut in the middle of the reply."
    beginning = " ".join((words or text)[:500].split()).rstrip(".")
    beginning = beginning.replace(os.environ.get("OPENAI_API_KEY") or "\0", "***")
    if status < 300 and not words:
        return f"The answer of {address()} ({status}) cannot be read. It begins: {beginning or '(it is empty)'}"
    advice = proxy_hint() if status == 407 else ADVICE.get(status, "")
    return f"{address()} answered {status}: {beginning or 'no reason given'}.{advice}"


def find_words(answer):
    """The text in an answer such as {"error": {"message": str}}, {"error": str} or {"detail": str}, else ""."""
    if isinstance(answer, dict):
        choices = answer["choices"] if isinstance(answer.get("choices"), list) else []
        errors = [choice.get("error") for choice in choices if isinstance(choice, dict)]
        return next(filter(None, map(find_words, [answer.get(key) for key in WORDS] + errors)), "")
    return answer.strip() if isinstance(answer, str) else ""
