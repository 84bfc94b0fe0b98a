"""What only shows on a terminal: the layout, the styles, the line while a reply is awaited."""

import fcntl
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

from tests.conftest import MAIN, saved_runs
from tests.loopback import completion, recorded, recorded_trace, reply
from utils.terminal import count_columns, wrap_text

REPLIES = recorded("die-2")
END = reply(plan=["[Done] Conclusion"], more=False)
STYLE = re.compile("\033\\[[0-9;]*m")


class Terminal:
    """A process on a pseudo-terminal. pipe: a command that gets its stdout instead, as in `python main.py | cat`."""

    def __init__(self, *arguments, columns=80, pipe="", **environment):
        self.reader, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        command = [sys.executable, MAIN, *arguments]
        if pipe:
            command = ["sh", "-c", f'"$@" {pipe}', "sh", *command]
        environment = {**os.environ, **environment}
        self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
        os.close(terminal)
        self.written = b""

    def read_until(self, text):
        while text.encode() not in self.written:
            assert select.select([self.reader], [], [], 20)[0], f"{text!r} does not come"
            self.written += os.read(self.reader, 1024)

    def read_all(self):
        try:
            while select.select([self.reader], [], [], 20)[0] and (chunk := os.read(self.reader, 1024)):
                self.written += chunk
        except OSError:  # How Linux says that the other end is closed.
            pass
        os.close(self.reader)
        return self.process.wait(20)

    def screen(self):
        """The text that a person sees: a carriage return lets what follows overwrite the line."""
        lines = []
        for raw in STYLE.sub("", self.written.decode()).replace("\r\n", "\n").split("\n"):
            line = ""
            for part in raw.split("\r"):
                line = part + line[len(part) :]
            lines.append(line.rstrip())
        return "\n".join(lines)


def without_closing_line(screen):
    return re.sub(r"\d+ thoughts?, saved in .*\n", "", screen)


def unwrapped(text):
    return re.sub(r"\s+", "", text)


# The layout


@pytest.mark.parametrize("name, columns", [("die-2", 40), ("die-2", 120), ("trains-2", 60), ("intervals", 80), ("readme-3", 72)])
def test_a_trace_on_a_terminal_has_every_word_within_its_width(serve, name, columns):
    serve(*recorded(name))
    terminal = Terminal("--problem", recorded_trace(name)[11:].split("\n")[0], columns=columns)
    assert terminal.read_all() == 0
    screen = without_closing_line(terminal.screen())
    assert unwrapped(screen) == unwrapped(recorded_trace(name))
    long = [line for line in screen.split("\n") if count_columns(line) > columns]
    assert all(line.strip() in recorded_trace(name) for line in long)  # a formula without a blank, a line of code


@pytest.mark.parametrize(
    "text, wrapped",
    [
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
        ("e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301"),
        ("```\none two three four\n```\none two three", "```\none two three four\n```\none two\nthree"),
        ("````md\n```\na aaaaaa aaaaa\n````\na aaaaaa aaaaa", "````md\n```\na aaaaaa aaaaa\n````\na aaaaaa\naaaaa"),
        ("  + ```\n    a aaaaaa aaaaa\n    ```", "  + ```\n    a aaaaaa aaaaa\n    ```"),
        ("  + one two three", "  + one\n    two\n    three"),
        ("a  b\n\n\tc", "a  b\n\n\tc"),
    ],
)
def test_a_text_wraps_between_words_under_its_own_beginning(text, wrapped):
    assert "\n".join(wrap_text(text, 10)) == wrapped


def test_the_lines_of_a_plan_wrap_under_the_description(serve):
    serve(reply(plan=["[Done] Solve", "  [Verification Needed] " + "word " * 7 + "end", "[Pending] Conclusion"]))
    terminal = Terminal("--max-thoughts", "1", columns=60)
    terminal.read_all()
    assert f"\n    - [Verification Needed]{' word' * 6}\n{' ' * 27} word end\n" in terminal.screen()


# The styles

BOLD, DIM, DOUBT, ERROR = "\033[1m", "\033[2m", "\033[35m", "\033[1;31m"


def test_headings_stand_out_and_unchanged_lines_stand_back(serve):
    serve(
        reply(plan=["[Done] Set up", "[Pending] Solve", "[Pending] Conclusion"]),
        reply("A check.\nEvaluation of Thought 1: Major Error - no", ["[Verification Needed] Set up", "[Pending] Conclusion"]),
        reply("A check.\n**Evaluation of Thought 2: Minor Issues** - no\nx", ["[Done] Set up", "[Done] Conclusion"], more=False),
    )
    terminal = Terminal()
    terminal.read_all()
    written = terminal.written.decode()
    for style, line in [
        (BOLD, "Thought 1:"),
        (BOLD, "Current Plan Status:"),
        (ERROR, "  Evaluation of Thought 1: Major Error - no"),
        (DOUBT, "  - [Verification Needed] Set up"),
        (DIM, "  - [Pending] Conclusion"),
        (DOUBT, "  **Evaluation of Thought 2: Minor Issues** - no"),
        (BOLD, "=== FINAL SOLUTION ==="),
    ]:
        assert f"{style}{line}\033[0m\r\n" in written
    assert "\n  A check.\r\n" in written
    assert "\n  - [Pending] Solve\r\n" in written and "\n  - [Done] Conclusion\r\n" in written


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_can_be_without_styles(serve, environment):
    serve(*REPLIES)
    terminal = Terminal(columns=60, **environment)
    assert terminal.read_all() == 0
    assert "\033" not in terminal.written.decode()
    assert terminal.screen().startswith("🤔 Problem: You keep rolling a fair die until you roll\nthree, four,")


# The line while a reply is awaited


def waiting(endpoint, answer):
    """The answer, once the endpoint is released."""

    def answer_later(handler):
        endpoint.released.wait(30)
        answer(handler)

    return answer_later


def test_the_status_line_counts_seconds_fits_and_leaves_nothing_behind(serve):
    endpoint = serve()
    endpoint.answers = [completion(REPLIES[0]), waiting(endpoint, completion(END))]
    terminal = Terminal(columns=20)
    for seconds in (0, 1, 2):
        terminal.read_until(f"\rThought 2: {seconds} s")
    endpoint.released.set()
    assert terminal.read_all() == 0
    assert not re.search(r"Thought 2: \d", terminal.screen())
    assert f"\n{'-' * 50}\n\nThought 2\n(Conclusion):\n" in terminal.screen()


def test_the_status_line_is_gone_after_an_error(serve):
    serve()
    terminal = Terminal()
    assert terminal.read_all() == 1
    assert "\rThought 1: 0 s" in terminal.written.decode()
    assert "Thought 1: 0 s" not in terminal.screen() and "request 1 was not expected" in terminal.screen()


def test_the_status_line_is_gone_after_an_interrupt(serve):
    endpoint = serve()
    endpoint.answers = [endpoint.silence]
    terminal = Terminal()
    endpoint.wait_for_request(1)
    terminal.read_until("\rThought 1: 0 s")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.read_all() == 130
    assert terminal.screen().endswith("\n\nInterrupted.\n")


def test_a_resumed_run_dims_what_was_the_same_before(serve):
    plan = ["[Done] Set up", "[Pending] Conclusion"]
    serve(reply(plan=plan), reply(plan=plan))
    Terminal("--max-thoughts", "2").read_all()
    terminal = Terminal("--resume", "--max-thoughts", "3")
    terminal.read_all()
    written = terminal.written.decode()
    assert written.count("\n  - [Done] Set up\r\n") == 1 and written.count(f"\n{DIM}  - [Done] Set up\033[0m\r\n") == 1


def test_the_last_line_on_a_terminal_sums_up_what_the_run_took(serve):
    serve(*[completion(reply, usage={"prompt_tokens": 500, "completion_tokens": 50}) for reply in REPLIES])
    terminal = Terminal()
    assert terminal.read_all() == 0
    last_line = terminal.screen().rstrip("\n").split("\n")[-1]
    cost = r"gpt-6-luna, 3 requests, [\d.]+ seconds, 1,500 prompt tokens, 150 completion tokens"
    assert re.fullmatch(rf"3 thoughts, saved in {saved_runs()[0]}: {cost}", last_line)


def test_verbose_lines_and_the_status_line_do_not_mix(serve):
    serve(*REPLIES)
    terminal = Terminal("-v", columns=500)
    assert terminal.read_all() == 0
    assert not re.search(r"Thought \d: \d", terminal.screen())
    assert "\n=== Thought 1, try 1: the turn ===\nThis is Thought 1." in terminal.screen()


@pytest.mark.parametrize("pipe, has_line", [("| cat", False), ("> trace.txt", True), ("2>&1 | cat", False)])
def test_no_status_line_draws_over_a_pager(serve, pipe, has_line):
    serve(*REPLIES)
    terminal = Terminal(pipe=pipe)
    terminal.read_all()
    assert ("\rThought 1: 0 s" in terminal.written.decode()) == has_line
    out = open("trace.txt", encoding="utf-8").read() if has_line else terminal.screen()
    assert without_closing_line(f"{out.rstrip()}\n").rstrip() == recorded_trace("die-2").rstrip()


def test_control_characters_of_a_reply_are_shown_on_a_terminal_not_sent(serve):
    serve(*["\033[2Jno"] * 3)
    terminal = Terminal()
    terminal.read_all()
    assert "\\x1b[2Jno" in terminal.screen() and "\033[2J" not in terminal.written.decode()
