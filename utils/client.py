"""The OpenAI client: what it returns for a prompt, and one line for whatever it raises."""

import json
import os
import re
import sys
import textwrap
import urllib.parse

DEFAULT_MODEL = "gpt-6-luna"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
REPLY_SECONDS = 3600  # A local model that reasons can take longer than the client's own ten minutes.
NO_KEY = (
    "OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or point OPENAI_BASE_URL at a server"
    " that needs no key (for Ollama: export OPENAI_BASE_URL=http://localhost:11434/v1)."
)
PROXIES = "(https?|all|no)_proxy"
ADVICE = {401: " Check OPENAI_API_KEY.", 404: " Check --model, OPENAI_MODEL and OPENAI_BASE_URL."}


class CallFailed(Exception):
    """There is no reply, though the client has tried again where that helps: what happened and what to do."""


def model():
    return os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL


def request_completion(prompt):
    """What the client returns for the prompt. Whatever it raises becomes a CallFailed."""
    with set_up_client() as client:
        import openai

        try:
            return client.chat.completions.create(model=model(), messages=[{"role": "user", "content": prompt}])
        except openai.APIStatusError as error:
            message = describe_answer(error.status_code, error.body)
        except openai.APIConnectionError as error:
            suspects = "OPENAI_BASE_URL and its server" if os.environ.get("OPENAI_BASE_URL") else "the network"
            message = f"No answer from {address()} ({error.__cause__}). Check {suspects}.{proxy_hint()}"
        except json.JSONDecodeError as error:
            message = describe_answer(200, error.doc)
        except Exception as error:
            message = f"The OpenAI client failed ({type(error).__name__}). Check the OPENAI_ variables.{proxy_hint()}"
        raise CallFailed(message)


def set_up_client():
    """The client. Raises CallFailed with the variable that is wrong, but not its value: it may hold a password."""
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        raise CallFailed(NO_KEY)
    if key and not re.fullmatch("[!-~]+", key):
        raise CallFailed("OPENAI_API_KEY contains a character that no key has, such as a space. Set it again.")
    try:
        import openai  # Not at the top: it takes half a second, for which --help and --show-prompt need not wait.

        timeout = openai.Timeout(REPLY_SECONDS, connect=10)
        client = openai.OpenAI(api_key=key or "none", base_url=DEFAULT_BASE_URL, timeout=timeout, max_retries=4)
    except Exception as error:
        reason = error if isinstance(error, ImportError) else type(error).__name__
        suspects = variables_set("ssl_cert_.*" if isinstance(error, OSError) else PROXIES) or "the installed packages"
        raise CallFailed(f"The OpenAI client cannot be set up ({reason}). Check {suspects}.") from None
    try:
        url = base_url()
        query = dict(urllib.parse.parse_qsl(url.query))
        return client.with_options(base_url=url._replace(query="").geturl(), default_query=query)
    except Exception:
        raise CallFailed("OPENAI_BASE_URL is not a valid address like http://localhost:11434/v1.") from None


def base_url():
    """The base URL in its parts. Raises ValueError for one with which the client would fail only later."""
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
    """Why an answer is no completion, in the provider's words where it has any. body: decoded JSON or a str."""
    if isinstance(body, dict) and body.get("message"):
        body = body["message"]
    words = textwrap.shorten(str(body or ""), 500).rstrip(".")
    if words.startswith("<") and status in (200, 404):
        return f"{address()} is not an OpenAI-compatible API: it sent a web page. Check OPENAI_BASE_URL.{proxy_hint()}"
    if words.startswith("<"):
        return f"{address()} answered {status} with a web page: the server or a gateway failed.{proxy_hint()}"
    if status == 200 and (not words or words[0] in "{["):
        return f"The connection to {address()} was cut in the middle of the reply."
    return f"{address()} answered {status}: {words or 'no reason given'}.{ADVICE.get(status, '')}"


def read_choice(completion):
    """The completion's choice. Raises CallFailed if the client let something else through."""
    choice = (getattr(completion, "choices", None) or [None])[0]
    error = getattr(choice, "error", None) or getattr(completion, "error", None)
    if error or not getattr(choice, "message", None):
        body = completion if isinstance(completion, str) else error or "no message"
        raise CallFailed(describe_answer(200, body))
    return choice


if __name__ == "__main__":
    try:
        print(model(), request_completion("Reply with one word: ready"), sep=": ")
    except CallFailed as failure:
        sys.exit(str(failure))
