"""What went wrong between the OpenAI client and the server, in one line for the user."""

import json
import os
import re

ADVICE = {401: " Check OPENAI_API_KEY.", 404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL."}
REASON = re.compile(r'"(?:message|error|detail)"\s*:\s*("(?:[^"\\]|\\.)+")')  # where providers give a reason


def describe_answer(address, status, body):
    """Why an answer is not a completion, in the provider's words if it has any. status: int; body: bytes."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<") and status in (200, 404):
        return f"{address} is not an OpenAI-compatible API: it sent a web page. Check OPENAI_BASE_URL.{proxy_hint()}"
    if text.startswith("<"):
        return f"{address} answered {status} with a web page: the server or a gateway failed.{proxy_hint()}"
    if status == 200 and (not text or (text[0] in "{[" and text[-1] not in "}]")):
        return f"The connection to {address} was cut in the middle of the reply."
    reason = find_reason(text)
    shown = reason or text
    key = os.environ.get("OPENAI_API_KEY", "")
    if len(key) >= 8:  # A shorter one, such as "ollama", is no secret.
        shown = shown.replace(key, "***")
    shown = " ".join(shown[:500].split()).rstrip(".")
    if status < 300 and not reason:
        return f"The answer from {address} ({status}) cannot be read. It begins: {shown or '(it is empty)'}"
    advice = proxy_hint() if status == 407 else ADVICE.get(status, "")
    return f"{address} answered {status}: {shown or 'no reason given'}.{advice}"


def find_reason(text):
    found = REASON.search(text)
    try:
        return json.loads(found[1]).strip() if found else ""
    except ValueError:
        return ""


def proxy_hint():
    """The names of the proxy variables that are set: no values, which may hold a password."""
    names = (name for name in os.environ if re.fullmatch("(https?|all|no)_proxy", name, re.I) and os.environ[name])
    settings = ", ".join(sorted(names))
    return f" Proxy settings: {settings} (hosts in NO_PROXY are reached without a proxy)." if settings else ""
