"""call_llm(prompt) over the OpenAI client, which any OpenAI-compatible server answers."""

import logging
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # so that this file can be run on its own

from utils.client import CallFailed, model, read_choice, request_completion

log = logging.getLogger("chain_of_thought")


class RejectedReply(Exception):
    """A reply that is not a thought. str() gives the reason, a clause such as "it is empty".

    reply: str; fixable: bool, whether it is all there, so that the model can be shown it to fix.
    """

    def __init__(self, reason, reply, fixable=False):
        super().__init__(reason)
        self.reply = reply
        self.fixable = fixable


def call_llm(prompt):
    """Send a prompt as one user message and return the model's reply.

    prompt: str. OPENAI_MODEL, OPENAI_API_KEY and OPENAI_BASE_URL say who answers it.
    Returns the reply, str.
    Raises CallFailed when there is none, and RejectedReply when it is a refusal, cut off or empty.
    """
    log.debug("=== Prompt ===\n%s", prompt)
    start = time.monotonic()
    completion = request_completion(prompt)
    choice = read_choice(completion)
    reply = read_content(choice.message.content)
    cost = f"{time.monotonic() - start:.1f} seconds, {format_usage(completion.usage)}"
    log.debug("=== Reply (%s, %s) ===\n%s", model(), cost, reply)
    if choice.message.refusal:
        raise RejectedReply(f"it is a refusal: {choice.message.refusal!r:.300}", reply)
    if choice.finish_reason == "content_filter":
        raise RejectedReply("it was stopped by a content filter", reply)
    if choice.finish_reason == "length":
        raise RejectedReply("it was cut off at the model's output limit", reply)
    if not reply.strip():
        raise RejectedReply("it is empty", reply)
    return reply


def read_content(content):
    """The text of a message. content: str, None, or a list of parts such as {"type": "text", "text": str}."""
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return (content or "").encode("utf-8", "replace").decode("utf-8")  # Half a character cannot be sent back.


def format_usage(usage):
    if usage is None:
        return "tokens not reported"
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
    return f"{usage.prompt_tokens} prompt tokens, {cached} cached tokens, {usage.completion_tokens} completion tokens"


if __name__ == "__main__":
    try:
        print(model(), call_llm("Reply with one word: ready"), sep=": ")
    except (CallFailed, RejectedReply) as error:
        sys.exit(str(error))
