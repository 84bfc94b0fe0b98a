"""call_llm(prompt) over the OpenAI client, which any OpenAI-compatible server answers."""

import json
import logging
import os
import re
import sys
import textwrap
import time

DEFAULT_MODEL = "gpt-6-luna"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
ADVICE = {401: "Check OPENAI_API_KEY.", 404: "Check --model, OPENAI_MODEL and OPENAI_BASE_URL."}

log = logging.getLogger("chain_of_thought")


class CallFailed(BaseException):
    """There is no reply: what happened and what to do.

    Not an Exception, because PocketFlow runs a node again after any of those, and the client has
    already tried again where that helps.
    """


class RejectedReply(AssertionError):
    """A reply that is not a thought: the reason, in words for the model and the user, and the reply."""

    def __init__(self, reason, reply):
        super().__init__(reason)
        self.reply = reply


def call_llm(prompt):
    """Send a prompt as one user message and return the model's reply.

    prompt: str. OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL say who answers it.
    Returns the reply, str.
    Raises CallFailed when there is none, and RejectedReply when it is a refusal, cut off or empty.
    """
    check_environment()
    log.debug("=== Prompt ===\n%s", prompt)
    start = time.monotonic()
    completion = create_completion(prompt)
    seconds = time.monotonic() - start
    reply, refusal, finish_reason = read_completion(completion)
    log.debug("=== Reply (%s, %.1f seconds, %s) ===\n%s", model(), seconds, format_usage(completion.usage), reply)
    if refusal:
        raise RejectedReply(f"it is a refusal: {refusal!r:.300}", reply)
    if finish_reason == "content_filter":
        raise RejectedReply("it was stopped by a content filter", reply)
    if finish_reason == "length":
        raise RejectedReply("it was cut off at the model's output limit: write a shorter one", reply)
    if not isinstance(reply, str) or not reply.strip():
        raise RejectedReply("it is empty or not a text", reply)
    return reply


def model():
    return os.environ.get("OPENAI_MODEL") or DEFAULT_MODEL


def base_url():
    return os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL


def address():
    """The base URL without the password that may stand in it."""
    return re.sub("//.*@", "//", base_url())


def check_environment():
    key = os.environ.get("OPENAI_API_KEY")
    if not key and not os.environ.get("OPENAI_BASE_URL"):
        raise CallFailed(
            "OPENAI_API_KEY is not set. Set it (export OPENAI_API_KEY=...), or point OPENAI_BASE_URL at a server"
            " that needs no key (for Ollama: export OPENAI_BASE_URL=http://localhost:11434/v1)."
        )
    if key and not re.fullmatch("[!-~]+", key):
        raise CallFailed("OPENAI_API_KEY has a character in it that no key has, such as a space: set it again.")
    if not re.fullmatch(r"https?://([^\s/@]+@)?(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?(/[!-~]*)?", base_url(), re.IGNORECASE):
        raise CallFailed(f"OPENAI_BASE_URL is {address()!r}, not an address like http://localhost:11434/v1.")


def create_completion(prompt):
    import openai  # Not at the top: it takes half a second that --help and --show-prompt need not wait.

    try:
        with openai.OpenAI(api_key=os.environ.get("OPENAI_API_KEY") or "none", base_url=base_url()) as client:
            return client.chat.completions.create(model=model(), messages=[{"role": "user", "content": prompt}])
    except openai.APIStatusError as error:
        words, advice = provider_words(error.body), ADVICE.get(error.status_code, "")
        message = f"{address()} answered {error.status_code}: {words}. {advice}".rstrip()
    except openai.APIConnectionError as error:
        message = f"No answer from {address()} ({error.__cause__}). Check that address, and that its server runs."
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        message = f"{address()} did not answer in JSON, so it is not an OpenAI-compatible API. Check OPENAI_BASE_URL."
    except (ImportError, OSError, ValueError) as error:
        message = f"The OpenAI client does not work ({error}). Check the proxy, certificate and OPENAI_ variables."
    raise CallFailed(message)


def read_completion(completion):
    try:
        choice = completion.choices[0]
        return choice.message.content or "", choice.message.refusal, choice.finish_reason
    except (AttributeError, LookupError, TypeError):
        words = provider_words(completion if isinstance(completion, str) else getattr(completion, "error", None))
        raise CallFailed(f"{address()} sent no chat completion: {words}. Check OPENAI_BASE_URL.") from None


def provider_words(body):
    """The provider's own words, on one line. body: a dict, a str or whatever else it sent."""
    if isinstance(body, dict) and body.get("message"):
        body = body["message"]
    words = textwrap.shorten(str(body or "it gives no reason"), 500).rstrip(".")
    return "a page of HTML, not an answer of an OpenAI-compatible API" if words.startswith("<") else words


def format_usage(usage):
    details = getattr(usage, "prompt_tokens_details", None)
    counts = {
        "prompt": getattr(usage, "prompt_tokens", None),
        "cached": getattr(details, "cached_tokens", None),
        "completion": getattr(usage, "completion_tokens", None),
    }
    known = [f"{count} {name} tokens" for name, count in counts.items() if count is not None]
    return ", ".join(known) or "tokens not reported"


if __name__ == "__main__":
    try:
        print(model(), call_llm("Reply with one word: ready"), sep=": ")
    except (CallFailed, RejectedReply) as error:
        sys.exit(str(error))
