"""The two exceptions of a run, and how a text is quoted in their messages."""


class RunFailed(Exception):
    """The run cannot begin or continue. str() says in whole sentences what happened and what to do.

    A call_llm of your own can raise it, too, to end the run with that line instead of a traceback.
    """


class InvalidThought(Exception):
    """A reply, or a part of a saved run, is not a valid thought. str() says why: "planning has no steps"."""


def quote(text):
    """The text, or its beginning, on one line and in quotes, for a message."""
    line = " ".join(text.split())
    if len(line) > 60:
        line = f"{line[:60]}..."
    return f"'{line}'"
