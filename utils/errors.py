"""The two exceptions of a run, the same whoever answers the prompts."""


class RunFailed(Exception):
    """The run cannot go on. str() says in whole sentences what happened and what to do."""


class NotAThought(Exception):
    """A text is no thought. str() says why, in clauses such as "planning is missing"."""
