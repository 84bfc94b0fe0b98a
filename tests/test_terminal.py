"""What only shows on a terminal: the layout, the styles, the line while a reply is awaited."""

import codecs
import fcntl
import functools
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import time
import tty
from contextlib import redirect_stderr, redirect_stdout

import pytest

from main import main
from tests.conftest import MAIN
from tests.loopback import completion, error, printed_trace, recorded, recorded_problem, reply
from utils.terminal import count_columns, wrap_text

REPLIES = recorded("die-2")
END = reply(plan=["[Done] Conclusion"], more=False, solution="42")
CODE = " + ".join(["a_long_name"] * 9)
BOLD, DIM, DOUBT, ERROR, PLAIN = "\033[1m", "\033[2m", "\033[35m", "\033[1;31m", "\033[0m"
STATUS_LINE = r"\rThought \d: \d+ s"


class Terminal:
    """A pseudo-terminal for one run. text: what has been written to it."""

    def __init__(self, columns=80):
        self.reader, self.writer = os.openpty()
        tty.setraw(self.writer)
        fcntl.ioctl(self.writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.text, self.thread = "", threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        decoder = codecs.getincrementaldecoder("utf-8")()
        while not self.text.endswith("\0"):
            self.text += decoder.decode(os.read(self.reader, 1024))

    def close(self):
        os.write(self.writer, b"\0")
        self.thread.join(60)
        os.close(self.writer)
        os.close(self.reader)

    def wait_for(self, pattern):
        assert any(re.search(pattern, self.text) or time.sleep(0.01) for _ in range(6000)), self.text

    def answer_after(self, pattern, answer):
        return lambda handler: self.wait_for(pattern) or answer(handler)

    def run(self, *arguments):
        """The exit status of `python main.py arguments` on this terminal, but in this process."""
        own_stdout = os.dup(1)
        os.dup2(self.writer, 1)
        try:
            with open(1, "w", encoding="utf-8", closefd=False) as out, redirect_stdout(out), redirect_stderr(out):
                return main(list(arguments))
        finally:
            os.dup2(own_stdout, 1)
            os.close(own_stdout)
            self.close()

    def run_shell(self, redirection):
        command = ["sh", "-c", f'exec "{sys.executable}" "{MAIN}" {redirection}']
        return subprocess.run(command, stdout=self.writer, stderr=self.writer, timeout=60).returncode

    def screen(self):
        """The text that a person sees: a carriage return lets what follows overwrite the line."""
        overwrite = lambda line, part: part + line[len(part) :]
        lines = re.sub("\033\\[[0-9;]*m|\0", "", self.text).split("\n")
        return "\n".join(functools.reduce(overwrite, line.split("\r")).rstrip() for line in lines)


@pytest.mark.parametrize("name, columns, setting", [
    ("letter-3", 40, "TERM=xterm"), ("koushi-4", 60, "TERM=xterm"),
    ("bughunt-4d", 80, "TERM=dumb"), ("machine-3", 120, "NO_COLOR=1"),
])
def test_a_trace_has_every_word_within_the_width_and_styles_if_wanted(serve, monkeypatch, name, columns, setting):
    serve(*recorded(name))
    monkeypatch.setenv(*setting.split("="))
    terminal = Terminal(columns)
    assert terminal.run("--problem", recorded_problem(name)) == 0
    assert ("\033" in terminal.text) == (setting == "TERM=xterm")
    *trace, last_line = terminal.screen().rstrip("\n").split("\n")
    assert re.fullmatch(rf"{len(recorded(name))} thoughts, saved in runs/.* seconds?.*gpt-6-luna.*", last_line)
    assert "".join("".join(trace).split()) == "".join(printed_trace(name).split())
    # A line may only be longer if it is a line of code, or a formula without a blank.
    assert all(count_columns(line) <= columns or line.strip() in printed_trace(name) for line in trace)


@pytest.mark.parametrize("text, wrapped", [
    ("one two three four", "one two\nthree four"),
    ("2. one two three", "2. one two\n   three"),
    ("- [Done] a bb", "- [Done] a\n     bb"),
    ("a aaaaaaaaaaaaaaaaaaaa b", "a\naaaaaaaaaaaaaaaaaaaa\nb"),
    ("甲乙丙丁戊己甲乙丙丁。己", "甲乙丙丁戊\n己甲乙丙\n丁。己"),
    ("🚄🚄 🚄🚄 🚄", "🚄🚄 🚄🚄\n🚄"),
    ("````md\n```\na aaaaaa aaaaa\n````\na aaaaaa aaaaa", "````md\n```\na aaaaaa aaaaa\n````\na aaaaaa\naaaaa"),
    ("  + ```\n    a aaaaaa aaaaa\n    ```", "  + ```\n    a aaaaaa aaaaa\n    ```"),
])
def test_a_text_wraps_between_words_under_its_own_beginning(text, wrapped):
    assert "\n".join(wrap_text(text, 10)) == wrapped


def test_headings_stand_out_unchanged_lines_stand_back_and_code_stays_as_it_is(serve):
    serve(
        reply(f"```\n{CODE}\n```", ["[Done] A", "[Pending] Solve", "[Pending] Conclusion"]),
        reply("A check.\nEvaluation of Thought 1: Major Error", ["[Verification Needed] A", "[Pending] Conclusion"]),
        reply("**Evaluation of Thought 2: Minor Issues** - no\nx", ["[Done] A", "[Done] Conclusion"], False, "x"),
    )
    terminal = Terminal()
    assert terminal.run() == 0
    for style, lines in (
        (BOLD, ["Thought 1:", "Current Plan Status:", "=== FINAL SOLUTION ==="]),
        (DOUBT, ["  - [Verification Needed] A", "  **Evaluation of Thought 2: Minor Issues** - no"]),
        (ERROR, ["  Evaluation of Thought 1: Major Error"]), (DIM, ["  - [Pending] Conclusion"]),
    ):
        assert all(f"{style}{line}{PLAIN}\n" in terminal.text for line in lines)
    assert all(f"\n  {line}\n" in terminal.text for line in ("A check.", CODE, "- [Pending] Solve", "- [Done] A"))


def test_the_status_line_counts_seconds_and_leaves_nothing_behind(serve):
    terminal = Terminal(columns=20)
    serve(REPLIES[0], terminal.answer_after(r"\rThought 2: [1-9]\d* s", completion(END)))
    assert terminal.run() == 0
    assert f"\n{'-' * 50}\n\nThought 2\n(Conclusion):\n" in terminal.screen() and " " * 20 not in terminal.text


def test_messages_take_the_place_of_the_status_line_and_show_control_characters(serve):
    terminal = Terminal()
    serve(terminal.answer_after(STATUS_LINE, error(429, "Slow.")), *["\033[2Jno"] * 3)
    assert terminal.run() == 1
    assert re.search(r"^Retrying .* in [\d.]+ seconds", terminal.screen(), re.MULTILINE)
    assert "\n\\x1b[2Jno" in terminal.screen() and "\033[2J" not in terminal.text


def test_an_interrupt_as_the_status_line_starts_leaves_nothing_behind(monkeypatch):
    def start_and_interrupt(thread):
        started.append(thread)
        start(thread)
        terminal.wait_for(STATUS_LINE)
        raise KeyboardInterrupt

    terminal, start, started = Terminal(), threading.Thread.start, []
    monkeypatch.setattr(threading.Thread, "start", start_and_interrupt)
    assert (terminal.run(), started[0].is_alive()) == (130, False)
    assert terminal.screen().endswith("\n\nInterrupted.\n")


def test_no_status_line_draws_over_a_pager(serve):
    serve(*REPLIES)
    terminal = Terminal()
    assert terminal.run_shell("| cat") == 0
    terminal.close()
    assert "3 thoughts, saved" in terminal.screen() and not re.search(STATUS_LINE, terminal.text)


def test_a_run_goes_on_into_its_file_when_the_terminal_is_gone(serve):
    terminal = Terminal()
    hang_up = lambda handler: terminal.close() or completion(REPLIES[0])(handler)
    serve(terminal.answer_after(STATUS_LINE, hang_up), "nonsense", *REPLIES[1:])
    assert terminal.run_shell("> trace.txt") == 0
    assert open("trace.txt", encoding="utf-8").read() == printed_trace("die-2")
