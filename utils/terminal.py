"""Printing: the trace, wrapped and styled on a terminal, and the line that shows there while a reply is awaited."""

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

from utils.errors import RunFailed, show_unprintable

STYLES = {"bold": "\033[1m", "dim": "\033[2m", "magenta": "\033[35m", "red": "\033[1;31m"}
ERASE = "\r" + 19 * " " + "\r"  # as long as "Thought 99: 99999 s"; spaces work on every terminal

INDENT = re.compile(r"\s*((?:[-*+•]|\d+[.)])\s+(\[[^]]*\] )?)?")  # "  ", "  - ", "  12. ", "  - [Done] "
CODE_FENCE = re.compile(r"\s*(?:[-+] )?(`{3,})[^`]*$")  # "  ```python", "  + ```"


def is_terminal(stream):
    return hasattr(stream, "isatty") and stream.isatty()  # It may be None, or an object that can only write and flush.


# Printing


class PipeClosed(Exception):
    """Nobody reads any more what is printed, as behind `| head`."""


def print_text(text):
    """Print to stdout at once. Raises PipeClosed, or RunFailed if the text cannot be written."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    printable = text.encode(encoding, "replace").decode(encoding)
    try:
        print(printable, end="", flush=True)
    except BrokenPipeError:
        raise PipeClosed from None
    except OSError as error:
        raise RunFailed(f"The output cannot be written: {error.strerror}.") from None


def print_trace(blocks):
    """Print blocks of the trace, [[(line, style), ...], ...]: on a terminal wrapped and styled, elsewhere not."""
    for block in blocks:
        lines = [line for line, _ in block]
        if is_terminal(sys.stdout):
            lines = lay_out(block)
        print_text("\n".join(lines) + "\n")


# Laying out for a terminal


def lay_out(block):
    """The lines of a block for a terminal: wrapped, except in code fences, and in their styles, if these are wanted."""
    lines = []
    open_fence = ""
    for line, style in block:
        is_code = open_fence or CODE_FENCE.match(line)
        pieces = [line] if is_code else wrap_line(line)
        lines += [add_style(piece, style) for piece in pieces]
        open_fence = fence_after(line, open_fence)
    return lines


def fence_after(line, open_fence):
    """The fence that is open after a line, such as "```", or "" outside of code."""
    found = CODE_FENCE.match(line)
    if found and not open_fence:
        return found[1]
    if found and len(found[1]) >= len(open_fence):  # A shorter one is a part of the code.
        return ""
    return open_fence


def add_style(line, style):
    if style == "plain" or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return line
    return f"{STYLES[style]}{line}\033[0m"


def wrap_line(line):
    """The line in pieces that fit on the terminal, if its words do: the later ones begin under its text."""
    width = shutil.get_terminal_size().columns
    line = line.expandtabs(4)
    indent_width = count_columns(INDENT.match(line)[0])
    indent = min(indent_width, width // 2) * " "
    pieces = []
    piece = ""
    for chunk in split_line(line):
        is_too_long = count_columns(piece + chunk.rstrip()) > width
        if is_too_long and piece.strip():
            pieces.append(piece)
            piece = indent + chunk.lstrip()
        else:
            piece += chunk
    return [*pieces, piece]


def split_line(line):
    """The line in chunks, cut wherever it may be broken: before spaces, and before a wide character."""
    chunks = [""]
    for character in line:
        is_place_to_break = character.isspace() or columns_of(character) == 2
        if is_place_to_break and chunks[-1].strip():
            chunks.append(character)
        else:
            chunks[-1] += character
    return chunks


def count_columns(text):
    """How wide a terminal shows the text."""
    return sum(columns_of(character) for character in text)


def columns_of(character):
    """How wide a terminal shows it: Chinese, Japanese and emoji take two columns, combining marks none."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 2
    return 1


# Messages, and the status line


class LogHandler(logging.StreamHandler):
    """Logs to stderr. On a terminal it erases the status line, and shows control characters instead of sending them."""

    def format(self, record):
        message = super().format(record)
        if not is_terminal(sys.stderr):
            return message
        return ERASE + show_unprintable(message)


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
        terminal = sys.stderr.fileno()
        while not done.wait(1):
            seconds = round(time.monotonic() - start)
            os.write(terminal, f"\r{text}: {seconds} s".encode())
        os.write(terminal, ERASE.encode())
