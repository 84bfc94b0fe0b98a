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

from utils.errors import RunFailed

STYLES = {"plain": "", "heading": "\033[1m", "unchanged": "\033[2m", "doubt": "\033[35m", "error": "\033[1;31m"}
ERASE = "\r" + " " * len("Thought 99: 99999 s") + "\r"  # In spaces, which every terminal knows.

# Chinese and Japanese, which wrap between characters, but not before closing punctuation or after opening.
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3220-\u9fff\uf900-\ufaff\uff10-\uff9f\U00020000-\U0003ffff"
CHUNK = re.compile(rf"\s*[（［｛「『【《〈“‘]*(?:[{CJK}][、。，．：；？！）］｝」』】》〉”’ー々]*|[^\s{CJK}]+)|\s+")
INDENT = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)])\s+(?:\[[^]]*\] )?)?")  # "  ", "  - ", "  12. ", "  - [Done] "
FENCE = re.compile(r"\s*(?:[-+] )?(`{3,})([^`]*)$")


def print_text(text):
    """Print to stdout at once. Raises RunFailed, with an empty message if the pipe was closed, as by `| head`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)
    except OSError as error:
        sys.stdout = None  # Python flushes it once more as it exits, and that must not fail again.
        is_closed = isinstance(error, BrokenPipeError)
        raise RunFailed("" if is_closed else f"The trace cannot be written: {error.strerror}.") from None


def is_terminal(stream):
    return hasattr(stream, "isatty") and stream.isatty()  # It may be None, or an object that can only write.


def print_trace(parts):
    """Print parts (text, style) of whole lines: wrapped and styled on a terminal, as they are elsewhere."""
    if not is_terminal(sys.stdout):
        print_text("".join(f"{text}\n" for text, _ in parts))
        return
    width = shutil.get_terminal_size().columns
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    lines = []
    for text, style in parts:
        begin = "" if is_plain else STYLES[style]
        lines += [f"{begin}{line}\033[0m\n" if begin and line else f"{line}\n" for line in wrap_text(text, width)]
    print_text("".join(lines))


def wrap_text(text, width):
    """The lines of a text, wrapped except those in code fences."""
    lines = []
    opening = None
    for line in text.split("\n"):
        fence = FENCE.match(line)
        lines += [line] if fence or opening else wrap_line(line, width)
        if fence and not opening:
            opening = fence[1]
        elif fence and fence[1].startswith(opening) and not fence[2].strip():
            opening = None
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


class LogHandler(logging.StreamHandler):
    """Logs to stderr. On a terminal it erases the status line, and shows control characters instead of sending them."""

    def format(self, record):
        message = super().format(record)
        if not is_terminal(sys.stderr):
            return message
        return ERASE + re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], message)


@contextlib.contextmanager
def status_line(text):
    """Show "text: N s" on stderr while the block runs, if it is a terminal and no pager may own the screen."""
    if not is_terminal(sys.stderr) or not sys.__stdout__ or stat.S_ISFIFO(os.fstat(1).st_mode):
        yield
        return
    start = time.monotonic()
    done = threading.Event()

    def tick():
        while not done.is_set():
            write_status(f"\r{text}: {time.monotonic() - start:.0f} s")
            done.wait(1)

    ticker = threading.Thread(target=tick, daemon=True)
    try:
        ticker.start()
        yield
    finally:
        done.set()
        if ticker.is_alive():
            ticker.join()
        write_status(ERASE)


def write_status(text):
    try:
        if sys.stderr:
            os.write(sys.stderr.fileno(), text.encode())
    except OSError:
        sys.stderr = None  # The terminal is gone. Python flushes it once more as it exits, and that must not fail.
