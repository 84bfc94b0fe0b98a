"""What went wrong between the OpenAI client and the server, in one line for the user."""

import json
import os
import re

OPENAI_URL = "https://api.openai.com/v1"
ADVICE = {401: " Check OPENAI_API_KEY.", 404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL."}
# Where providers give a reason: {"error": {"message": "No such model"}}, {"error": "Gone"}, {"detail": "Gone"}
REASON = re.compile(r'"(?:message|error|detail)"\s*:\s*"((?:[^"\\]|\\["\\/bfnrt]|\\u[\da-fA-F]{4})+)"')


def describe_answer(status, body):
    """Why an answer is not a completion, in the provider's words if it has any. status: int; body: bytes."""
    address = server_address()
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        if status in (200, 404):
            return f"{address} is not an OpenAI-compatible API: it sent a web page. Check OPENAI_BASE_URL."
        return f"{address} answered {status} with a web page: the server or a gateway failed."
    if status == 200 and (not text or (text[0] in "{[" and text[-1] not in "}]")):
        return f"The connection to {address} was cut in the middle of the reply."
    reason = REASON.search(text)
    shown = json.loads(f'"{reason[1]}"', strict=False) if reason else text
    key = os.environ.get("OPENAI_API_KEY", "")
    if len(key) >= 8:  # A shorter one, such as "ollama", is no secret.
        shown = shown.replace(key, "***")
    shown = " ".join(shown[:500].split()).rstrip(".")
    if status < 300 and not reason:
        return f"The answer from {address} ({status}) cannot be read. It begins: {shown or '(it is empty)'}"
    return f"{address} answered {status}: {shown or 'no reason given'}.{ADVICE.get(status, '')}"


def server_address():
    """The address that is asked, as it may be shown: without a password."""
    return re.sub("//.*@", "//", os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).split("?")[0]


def proxy_hint():
    """The names of the proxy variables that are set: no values, which may hold a password."""
    names = sorted(name for name in os.environ if name.lower().endswith("_proxy") and os.environ[name])
    return f" Proxy settings: {', '.join(names)}." if names else ""
