"""What only shows on a terminal: the layout, the styles, the line while a reply is awaited."""

import fcntl
import functools
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

import pytest

from tests.conftest import MAIN
from tests.loopback import completion, printed_trace, recorded, reply, silence
from utils.terminal import count_columns, wrap_text

REPLIES = recorded("die-2")
END = reply(plan=["[Done] Conclusion"], more=False)
BOLD, DIM, DOUBT, ERROR = "\033[1m", "\033[2m", "\033[35m", "\033[1;31m"
STYLE = re.compile("\033\\[[0-9;]*m")


class Terminal:
    """A process on a pseudo-terminal. pipe: a command that gets its stdout instead, as in `python main.py | cat`."""

    def __init__(self, *arguments, columns=80, pipe="", **environment):
        self.reader, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = ["sh", "-c", f'exec "$@" {pipe}', "sh", sys.executable, MAIN, *arguments]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, **streams)
        os.close(terminal)
        self.written = b""

    def read_until(self, text):
        while text.encode() not in self.written:
            assert select.select([self.reader], [], [], 20)[0], f"{text!r} does not come"
            self.written += os.read(self.reader, 1024)

    def end(self):
        """This, when the process has ended, with what it has written as text, and its exit status."""
        try:
            while select.select([self.reader], [], [], 20)[0] and (chunk := os.read(self.reader, 1024)):
                self.written += chunk
        except OSError:  # How Linux says that the other end is closed.
            pass
        os.close(self.reader)
        self.status, self.text = self.process.wait(20), self.written.decode()
        return self

    def screen(self):
        """The text that a person sees: a carriage return lets what follows overwrite the line."""
        overwrite = lambda line, part: part + line[len(part) :]
        lines = STYLE.sub("", self.text).replace("\r\n", "\n").split("\n")
        return "\n".join(functools.reduce(overwrite, line.split("\r")).rstrip() for line in lines)


@pytest.mark.parametrize("name, columns", [("die-2", 40), ("die-2", 120), ("trains-2", 60), ("intervals", 80)])
def test_a_trace_on_a_terminal_has_every_word_within_its_width(serve, name, columns):
    serve(*recorded(name))
    terminal = Terminal("--problem", printed_trace(name)[11:].split("\n")[0], columns=columns).end()
    assert terminal.status == 0
    *trace, last_line = terminal.screen().rstrip("\n").split("\n")
    assert re.fullmatch(rf"{len(recorded(name))} thoughts, saved in runs/\S+: gpt-6-luna, .* seconds", last_line)
    assert "".join("".join(trace).split()) == "".join(printed_trace(name).split())
    long = [line for line in trace if count_columns(line) > columns]
    assert all(line.strip() in printed_trace(name) for line in long)  # a formula without a blank, a line of code


@pytest.mark.parametrize("text, wrapped", [
    ("short", "short"),
    ("one two three four", "one two\nthree four"),
    ("  one two three", "  one two\n  three"),
    ("- one two three", "- one two\n  three"),
    ("2. one two three", "2. one two\n   three"),
    ("- [Done] a bb", "- [Done] a\n     bb"),
    ("a aaaaaaaaaaaaaaaaaaaa b", "a\naaaaaaaaaaaaaaaaaaaa\nb"),
    ("甲乙丙丁戊己", "甲乙丙丁戊\n己"),
    ("甲乙丙丁戊。己", "甲乙丙丁\n戊。己"),
    ("🚄🚄 🚄🚄 🚄", "🚄🚄 🚄🚄\n🚄"),
    *[(text, text) for text in ["e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301"]],  # as wide as ten
    ("```\none two three four\n```\none two three", "```\none two three four\n```\none two\nthree"),
    ("````md\n```\na aaaaaa aaaaa\n````\na aaaaaa aaaaa", "````md\n```\na aaaaaa aaaaa\n````\na aaaaaa\naaaaa"),
    ("  + ```\n    a aaaaaa aaaaa\n    ```", "  + ```\n    a aaaaaa aaaaa\n    ```"),
    ("  + one two three", "  + one\n    two\n    three"),
    ("a  b\n\n\tc", "a  b\n\n\tc"),
])
def test_a_text_wraps_between_words_under_its_own_beginning(text, wrapped):
    assert "\n".join(wrap_text(text, 10)) == wrapped


def test_headings_stand_out_and_unchanged_lines_stand_back_also_when_resumed(serve):
    serve(
        reply(plan=["[Done] A", "[Pending] Solve", "[Pending] Conclusion"]),
        reply("A check.\nEvaluation of Thought 1: Major Error", ["[Verification Needed] A", "[Pending] Conclusion"]),
        reply("A check.\n**Evaluation of Thought 2: Minor Issues** - no\nx", ["[Done] A", "[Done] Conclusion"]),
    )
    terminal = Terminal().end()
    for styled_line in (
        f"{BOLD}Thought 1:",
        f"{BOLD}Current Plan Status:",
        f"{ERROR}  Evaluation of Thought 1: Major Error",
        f"{DOUBT}  - [Verification Needed] A",
        f"{DIM}  - [Pending] Conclusion",
        f"{DOUBT}  **Evaluation of Thought 2: Minor Issues** - no",
        f"{BOLD}=== FINAL SOLUTION ===",
    ):
        assert f"{styled_line}\033[0m\r\n" in terminal.text
    assert all(f"\n{line}\r\n" in terminal.text for line in ("  A check.", "  - [Pending] Solve", "  - [Done] A"))
    assert Terminal("--resume").end().text.count(DIM) == terminal.text.count(DIM)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_can_be_without_styles(serve, environment):
    serve(*REPLIES)
    terminal = Terminal(columns=60, **environment).end()
    assert terminal.status == 0
    assert "\033" not in terminal.text
    assert terminal.screen().startswith("🤔 Problem: You keep rolling a fair die until you roll\nthree, four,")


def test_the_status_line_counts_seconds_fits_and_leaves_nothing_behind(serve):
    def answer_later(handler):
        endpoint.released.wait(30)
        completion(END)(handler)

    endpoint = serve(REPLIES[0], answer_later)
    terminal = Terminal(columns=20)
    for seconds in (0, 1, 2):
        terminal.read_until(f"\rThought 2: {seconds} s")
    endpoint.released.set()
    assert terminal.end().status == 0
    assert not re.search(r"Thought 2: \d", terminal.screen())
    assert f"\n{'-' * 50}\n\nThought 2\n(Conclusion):\n" in terminal.screen()


def test_the_status_line_is_gone_after_an_interrupt(serve):
    serve(silence)
    terminal = Terminal()
    terminal.read_until("\rThought 1: 0 s")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end().status == 130
    assert terminal.screen().endswith("\n\nInterrupted.\n")


def test_verbose_lines_and_the_status_line_do_not_mix(serve):
    serve(*REPLIES)
    terminal = Terminal("-v", columns=500).end()
    assert terminal.status == 0
    assert not re.search(r"Thought \d: \d", terminal.screen())
    assert "\n=== Thought 1, try 1: the turn ===\nThis is Thought 1." in terminal.screen()


@pytest.mark.parametrize("pipe, has_line", [("| cat", False), ("> trace.txt", True), ("2>&1 | cat", False)])
def test_no_status_line_draws_over_a_pager(serve, pipe, has_line):
    serve(*REPLIES)
    terminal = Terminal(pipe=pipe).end()
    assert ("\rThought 1: 0 s" in terminal.text) == has_line
    out = open("trace.txt", encoding="utf-8").read() if has_line else terminal.screen()
    assert printed_trace("die-2").rstrip("\n") in re.sub(r"\d thoughts, saved in .*\n", "", out)


def test_control_characters_of_a_reply_are_shown_on_a_terminal_not_sent(serve):
    serve(*["\033[2Jno"] * 3)
    terminal = Terminal().end()
    assert "\\x1b[2Jno" in terminal.screen() and "\033[2J" not in terminal.text
