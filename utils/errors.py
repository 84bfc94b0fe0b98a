"""The exceptions of a run, and how their messages quote a text."""

import re


class RunFailed(Exception):
    """The run cannot begin or continue. str() says in whole sentences what happened and what to do.

    A call_llm of your own can raise it, too, to end the run with that line instead of a traceback.
    """


class InvalidThought(Exception):
    """A reply, or a part of a saved run, is not a valid thought. str() says why: "planning has no steps"."""


class RejectedReply(Exception):
    """A reply, as in utils/call_llm.py, holds no valid thought. str() says why, as for InvalidThought."""

    def __init__(self, reply, reason):
        super().__init__(reason)
        self.reply = reply


class OutputFailed(OSError):
    """Standard output cannot be written: nobody reads the pipe any more, or the disk is full."""


def quote(text):
    """The text, or its beginning, on one line and in quotes, for a message."""
    line = re.sub(r"[ \t\n]+", " ", text).strip(" ")
    if len(line) > 60:
        line = f"{line[:60]}..."
    return f"'{show_unprintable(line)}'"


def show_unprintable(text):
    """The text with what a terminal would obey or would not show, such as a no-break space, written as \\xa0."""
    shown = (c if c.isprintable() or c in "\n\t" else repr(c).strip("'") for c in text)
    return "".join(shown)
