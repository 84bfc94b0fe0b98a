"""Small text helpers."""

import re
import textwrap

# All but newline and tab, and what else a terminal or YAML cannot take. "\frac" in double quotes makes one.
CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def dedent(text):
    """The text without its common indentation and without blank lines around it."""
    return textwrap.dedent(text).strip("\n").rstrip()


def one_line(text):
    return " ".join(line.strip() for line in text.split("\n") if line.strip())


def quote(text):
    """The text, or its beginning, on one line and in quotes."""
    line = " ".join(str(text).split())
    return repr(line if len(line) <= 60 else f"{line[:60]}...")


def count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
