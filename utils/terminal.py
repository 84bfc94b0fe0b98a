"""The trace on a terminal: wrapped and styled. And the line that shows there while a reply is awaited."""

import contextlib
import logging
import os
import re
import shutil
import stat
import sys
import threading
import unicodedata

from utils.errors import RunFailed

STYLES = {"heading": "\033[1m", "unchanged": "\033[2m", "doubt": "\033[35m", "error": "\033[1;31m"}
ERASE = f"\r{' ' * 19}\r"  # as long as "Thought 99: 99999 s"; spaces work on every terminal

# Chinese and Japanese wrap between characters, but not before closing punctuation or after opening: "（甲）", "乙。"
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u30ff\u3220-\u9fff\uf900-\ufaff\uff10-\uff9f\U00020000-\U0003ffff"
CHUNK = re.compile(rf"\s*[（［｛「『【《〈“‘]*(?:[{CJK}][、。，．：；？！）］｝」』】》〉”’ー々]*|[^\s{CJK}]+)|\s+")
INDENT = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)])\s+(?:\[[^]]*\] )?)?")  # "  ", "  - ", "  12. ", "  - [Done] "
FENCE = re.compile(r"\s*(?:[-+] )?(`{3,})[^`]*$")  # "  ```python", "  + ```"


def print_text(text):
    """Print to stdout at once. Raises RunFailed, with an empty message if the pipe was closed, as by `| head`."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "replace").decode(encoding), end="", flush=True)
    except OSError as error:
        sys.stdout = None  # Python flushes it once more as it exits, and that must not fail again.
        message = "" if isinstance(error, BrokenPipeError) else f"The trace cannot be written: {error.strerror}."
        raise RunFailed(message) from None


def is_terminal(stream):
    return hasattr(stream, "isatty") and stream.isatty()  # It may be None, or an object that can only write.


def print_trace(parts):
    """Print parts (text, style) of whole lines: wrapped and styled on a terminal, as they are elsewhere."""
    for text, style in parts:
        laid_out = lay_out(text, style) if is_terminal(sys.stdout) else text
        print_text(f"{laid_out}\n")


def lay_out(text, style):
    """The text for a terminal: wrapped except in code fences, and in its style if the user wants styles."""
    lines = []
    opening = ""
    for line in text.split("\n"):
        fence = FENCE.match(line)
        lines += [line] if fence or opening else wrap_line(line)
        if fence and len(fence[1]) >= len(opening):  # A shorter one is a part of the code.
            opening = "" if opening else fence[1]
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or style == "plain":
        return "\n".join(lines)
    return "\n".join(f"{STYLES[style]}{line}\033[0m" for line in lines)


def wrap_line(line):
    """The line in pieces that fit on the terminal, broken between words. No piece can be narrower than a word."""
    width = shutil.get_terminal_size().columns
    line = line.expandtabs(4)
    indent = " " * min(count_columns(INDENT.match(line)[0]), width // 2)
    pieces = [""]
    for chunk in CHUNK.findall(line):
        if pieces[-1].strip() and count_columns(pieces[-1] + chunk.rstrip()) > width:
            pieces.append(indent + chunk.lstrip())
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
        if is_terminal(sys.stderr):
            message = ERASE + re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: repr(found[0])[1:-1], message)
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
    seconds = 0
    try:
        if not is_terminal(sys.stderr) or stat.S_ISFIFO(os.fstat(1).st_mode):
            return
        while not done.wait(1):
            seconds += 1
            os.write(sys.stderr.fileno(), f"\r{text}: {seconds} s".encode())
        os.write(sys.stderr.fileno(), ERASE.encode())
    except OSError:
        sys.stderr = None  # The terminal is gone. Python flushes it once more as it exits, and that must not fail.
