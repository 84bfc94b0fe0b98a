"""The two exceptions of a run, whoever answers its prompts."""


class RunFailed(Exception):
    """The run cannot continue. str() says in whole sentences what happened and what to do."""


class InvalidThought(Exception):
    """A reply, or a part of a saved run, is not a valid thought.

    reason: str, a clause such as "planning is missing"; advice: str, what a model is to write instead, or "".
    str() is both.
    """

    def __init__(self, reason, advice=""):
        super().__init__(f"{reason}: {advice}" if advice else reason)
        self.reason = reason


def quote(text):
    """The text, or its beginning, on one line and in quotes, for a reason."""
    line = " ".join(str(text).split())
    return repr(line if len(line) <= 60 else f"{line[:60]}...")
