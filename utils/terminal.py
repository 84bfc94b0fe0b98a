"""The trace on a terminal: wrapped and styled. And the line that shows there while a reply is awaited."""

import contextlib
import logging
import os
import re
import shutil
import stat
import sys
import threading
import time
import unicodedata

PLAIN, HEADING, UNCHANGED, DOUBT, ERROR = "", "\033[1m", "\033[2m", "\033[35m", "\033[1;31m"
RESET = "\033[0m"
ERASE = "\r" + 19 * " " + "\r"  # Of the status line: spaces, which every terminal knows.

CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# Chinese and Japanese, which wrap between characters, but not before closing punctuation or after opening.
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3220-\u9fff\uf900-\ufaff\uff10-\uff9f\U00020000-\U0003ffff"
CHUNK = re.compile(rf"\s*[（［｛「『【《〈“‘]*(?:[{CJK}][、。，．：；？！）］｝」』】》〉”’ー々]*|[^\s{CJK}]+)|\s+")
# "  ", "  - ", "  12. ", "  - [Verification Needed] "
INDENT = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)])\s+)?(?:\[(?:Pending|Done|Verification Needed)\] )?")


def lay_out(parts):
    """The trace as it is printed. parts: list of (text, style), each text of one or more whole lines.

    To a terminal: wrapped to its width and styled (no styles with NO_COLOR or TERM=dumb). Else: the texts.
    """
    if not sys.stdout or not sys.stdout.isatty():
        return "\n".join(text for text, _ in parts)
    width = shutil.get_terminal_size().columns
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    lines = [(line, style) for text, style in parts for line in wrap_text(text, width)]
    return "\n".join(line if plain or not (style and line) else f"{style}{line}{RESET}" for line, style in lines)


def wrap_text(text, width):
    """The lines of a text, wrapped but for those in code fences."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        lines += [line] if fenced or fence else wrap_line(line, width)
        fenced ^= fence
    return lines


def wrap_line(line, width):
    """The line in pieces of at most width columns, broken between words. No piece can be narrower than a word."""
    if count_columns(line) <= width:
        return [line]
    line = line.expandtabs(4)
    indent = count_columns(INDENT.match(line)[0])
    pieces = [""]
    for chunk in CHUNK.findall(line):
        if pieces[-1].strip() and count_columns(pieces[-1] + chunk.rstrip()) > width:
            pieces.append(" " * min(indent, width // 2) + chunk.lstrip())
        else:
            pieces[-1] += chunk
    return pieces


def count_columns(text):
    """How wide a terminal shows the text: Chinese, Japanese and emoji take two columns, combining marks none."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


class LogFormatter(logging.Formatter):
    """For a log on a terminal: erases the status line, and shows control characters instead of sending them."""

    def format(self, record):
        message = super().format(record)
        if not sys.stderr.isatty():
            return message
        return ERASE + CONTROL_CHARACTER.sub(lambda found: repr(found[0])[1:-1], message)


@contextlib.contextmanager
def status_line(text):
    """Show "text: N s" on stderr while the block runs, if it is a terminal and no pager may own the screen."""
    if not sys.stderr.isatty() or stat.S_ISFIFO(os.fstat(1).st_mode):
        yield
        return
    done = threading.Event()
    ticker = threading.Thread(target=tick, args=(text, done), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()


def tick(text, done):
    start = time.monotonic()
    while not done.is_set():
        print(f"\r{text}: {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)
        done.wait(1)
    print(ERASE, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with status_line("Trying it out"):
        time.sleep(3)
    print(lay_out([("A heading", HEADING), ("  - [Pending] " + "A line that is wrapped. " * 9, UNCHANGED)]))
