"""Printing: the trace, wrapped and styled on a terminal, and the line that shows there while a reply is awaited."""

import contextlib
import logging
import os
import re
import shutil
import stat
import sys
import textwrap
import threading
import time
import unicodedata

from utils.errors import OutputFailed, show_unprintable

STYLES = {"bold": "\033[1m", "dim": "\033[2m", "magenta": "\033[35m", "red": "\033[1;31m", "green": "\033[1;32m"}
ERASE = "\r" + 19 * " " + "\r"  # as long as "Thought 99: 99999 s"; spaces work on every terminal

INDENT = re.compile(r"\s*((?:[-*+•]|\d+[.)])\s+(\[[^]]*\] )?)?")  # "  ", "  - ", "  12. ", "  - [Done] "
CODE_FENCE = re.compile(r"\s*([-+] )?```[^`]*$")  # "  ```python", "  + ```"
WRAPPING = {"replace_whitespace": False, "break_long_words": False, "break_on_hyphens": False}
SECOND_COLUMN = "\x0b"  # after each wide character while a line is wrapped: textwrap counts it, and may break at it


def is_terminal(stream):
    return hasattr(stream, "isatty") and stream.isatty()  # It may be None, or an object that can only write and flush.


# Printing


def print_text(text):
    """Print to stdout at once. What cannot be encoded is replaced. Raises OutputFailed."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding
        print_text(text.encode(encoding, "replace").decode(encoding))
    except OSError as error:
        raise OutputFailed(*error.args) from error


def print_trace(texts):
    """Print texts of the trace, (text, style): wrapped and styled on a terminal, or if FORCE_COLOR asks for it."""
    if is_terminal(sys.stdout) or os.environ.get("FORCE_COLOR"):
        lines = lay_out(texts)
    else:
        lines = (text for text, _ in texts)
    for line in lines:
        print_text(line)


def lay_out(texts):
    """Yield the lines of texts for a terminal: wrapped, except in code, and in their styles, if these are wanted."""
    is_code = False
    for text, style in texts:
        for line in text.split("\n"):
            pieces = [line] if is_code else wrap_line(line)
            if CODE_FENCE.match(line):
                is_code = not is_code
            for piece in pieces:
                yield add_style(piece, style)


def wrap_line(line):
    """The line in pieces that fit on the terminal, if its words do: the later ones begin under its text."""
    width = max(shutil.get_terminal_size().columns, 2)
    start = INDENT.match(line)[0]
    text = line.removeprefix(start)
    marked = "".join(c + SECOND_COLUMN if is_wide(c) else c for c in text)
    if marked != text:
        width -= 1  # The mark after the last character of a piece is dropped.
    indent = " " * min(len(start), width // 2)
    pieces = textwrap.wrap(marked, width, initial_indent=start, subsequent_indent=indent, **WRAPPING)
    return [piece.replace(SECOND_COLUMN, "") for piece in pieces] or [start]


def is_wide(character):
    """Whether a terminal shows it in two columns, as Chinese, Japanese and emoji."""
    return unicodedata.east_asian_width(character) in ("W", "F")


def add_style(line, style):
    if style == "plain" or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return line
    return f"{STYLES[style]}{line}\033[0m"


# Messages, and the status line


class LogHandler(logging.StreamHandler):
    """Logs to stderr. It shows control characters instead of sending them, and erases the status line on a terminal."""

    def format(self, record):
        message = show_unprintable(super().format(record))
        if is_terminal(sys.stderr):
            message = ERASE + message
        return message


@contextlib.contextmanager
def status_line(text):
    """Show "text: N s" on stderr while the block runs, if it is a terminal and no pager may own the screen."""
    done = threading.Event()
    ticker = threading.Thread(target=show_seconds, args=(text, done), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()


def show_seconds(text, done):
    start = time.monotonic()
    with contextlib.suppress(OSError):  # The terminal may be gone.
        stdout_is_pipe = stat.S_ISFIFO(os.fstat(1).st_mode)  # of the process: with -q, sys.stdout is no file
        if stdout_is_pipe or not is_terminal(sys.stderr):
            return
        while not done.wait(1):
            seconds = round(time.monotonic() - start)
            os.write(sys.stderr.fileno(), f"\r{text}: {seconds} s".encode())
        os.write(sys.stderr.fileno(), ERASE.encode())
