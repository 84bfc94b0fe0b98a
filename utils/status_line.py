"""A line on the terminal that says what is being waited for, and for how long."""

import contextlib
import sys
import threading
import time

# Spaces, not an escape sequence: every terminal knows them.
ERASE_LINE = "\r" + 30 * " " + "\r"


@contextlib.contextmanager
def status_line(text):
    """Show "text: N s" on stderr while the block runs, if stderr is a terminal.

    text: str, short enough for the line to fit in 30 columns.
    """
    if not sys.stderr.isatty():
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
    write(f"\r{text}: 0 s")
    while not done.wait(1):
        write(f"\r{text}: {time.monotonic() - start:.0f} s")
    write(ERASE_LINE)


def write(text):
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    with status_line("Trying the status line"):
        time.sleep(3)
