"""What only shows on a terminal: the layout, the styles, the line while a reply is awaited."""

import codecs
import collections
import fcntl
import functools
import os
import pathlib
import re
import select
import struct
import subprocess
import sys
import termios
import textwrap
import threading
import time
import tty
from contextlib import redirect_stderr, redirect_stdout

import pytest

from main import main
from tests.loopback import error
from tests.replies import Model, recorded, recorded_problem, reply

REPLIES = [reply(), reply(plan=["[Done] Solve", "[Done] Conclusion"], more=False, solution="42")]
CODE = " + ".join(["a_long_name"] * 9)
ACCENTED = "e\u0301"
STATUS_LINE = r"\rThought (\d): (\d+) s"
WIDE = "[\u3000-\u30ff\u3400-\u9fff\uff01-\uff60🤔]"


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

    def run(self, *arguments, replies=None, stdout=None):
        """The exit status of `python main.py arguments`, in this process. stdout: a descriptor, if not the terminal."""
        own_stdout = os.dup(1)
        os.dup2(stdout or self.writer, 1)
        try:
            with open(1, "w", closefd=False) as out, open(self.writer, "w", encoding="utf-8", closefd=False) as err:
                with redirect_stdout(out), redirect_stderr(err):
                    return main(list(arguments), replies and Model(replies))
        finally:
            os.dup2(own_stdout, 1)
            os.close(own_stdout)
            self.close()

    def screen(self):
        """The text that a person sees: a carriage return lets what follows overwrite the line."""
        overwrite = lambda line, part: part + line[len(part) :]
        lines = re.sub("\033\\[[0-9;]*m|\0", "", self.text).split("\n")
        return "\n".join(functools.reduce(overwrite, line.split("\r")).rstrip() for line in lines)


def let_time_pass(monkeypatch):
    """Whoever waits some seconds for an event waits three times in vain, and these seconds pass at once."""

    def wait(event, timeout=None, wait=threading.Event.wait):
        if timeout is None or ticks[event] == 3:
            return wait(event)
        ticks[event] += 1
        clock[0] += timeout

    clock, ticks = [0.0], collections.Counter()
    monkeypatch.setattr(threading.Event, "wait", wait)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])


@pytest.mark.parametrize("name, columns, setting", [
    ("letter-3", 50, "TERM=xterm"), ("koushi-4", 76, "TERM=xterm"),
    ("letter-3", 79, "TERM=dumb"), ("machine-3", 100, "NO_COLOR=yes"),
])
def test_a_trace_has_every_word_within_the_width_and_styles_if_wanted(run, monkeypatch, name, columns, setting):
    piped = run("--problem", recorded_problem(name), replies=recorded(name)).out
    monkeypatch.setenv(*setting.split("="))
    terminal = Terminal(columns)
    assert terminal.run("--problem", recorded_problem(name), replies=recorded(name)) == 0
    assert ("\033" in terminal.text) == (setting == "TERM=xterm")
    *trace, last_line = terminal.screen().rstrip("\n").split("\n")
    assert "2 thoughts" in last_line and "2 requests" in last_line and " runs/" in last_line
    assert "".join("".join(trace).split()) == "".join(piped.split())
    assert all(len(line + "".join(re.findall(WIDE, line))) <= columns for line in trace)


@pytest.mark.parametrize("text, lines", [
    ("one two three four", "one two|three four"),
    ("2. one two three", "2. one two|   three"),
    ("a aaaaaaaaaaaaaaaaaaaa b", "a|aaaaaaaaaaaaaaaaaaaa|b"),
    ("甲乙丙丁戊己甲乙丙丁。己", "甲乙丙丁戊|己甲乙丙|丁。己"),
    ("甲！甲！甲！甲甲（甲", "甲！甲！|甲！甲甲|（甲"),
    ("🚄🚄 🚄🚄 🚄", "🚄🚄 🚄🚄|🚄"),
    ("ＡＢ ＣＤ Ｅ", "ＡＢ ＣＤ|Ｅ"),
    ("“aa” × “b” c", "“aa” × “b”|c"),
    (f"{4 * ACCENTED} {5 * ACCENTED} a", f"{4 * ACCENTED} {5 * ACCENTED}|a"),
    ("````md\n```\na aaaaaa aaaaa\n````\na aaaaaa aaaaa", "````md|```|a aaaaaa aaaaa|````|a aaaaaa|aaaaa"),
])
def test_a_text_wraps_between_words_under_its_own_beginning(text, lines):
    terminal = Terminal(2 + 10)
    terminal.run("--step", replies=[reply(text)])
    shown = re.split("\nThought 1.*\n", terminal.screen())[1].split("\n\n")[0]
    assert textwrap.dedent(shown).split("\n") == lines.split("|")


def test_a_step_wraps_under_its_description_and_code_in_a_change_not_at_all():
    terminal = Terminal(26)
    plan = ["[Pending] Find", "  [Done] All pairs at once", "[Pending] Conclusion"]
    change = reply(changes=[("42", f"```\n{CODE}\n```\nall that anybody asked for")], Solve="two of\nthem")
    terminal.run(replies=[reply(plan=plan, solution="42"), change.replace("Solve", "All pairs at once")])
    assert "\n    - [Done] All pairs at\n             once\n" in terminal.screen()
    assert "\n  - [Done] All pairs at\n           once: two of\n           them\n" in terminal.screen()
    assert f"\n  + ```\n    {CODE}\n    ```\n    all that anybody asked\n    for\n" in terminal.screen()


def test_headings_stand_out_unchanged_lines_stand_back_and_code_stays_as_it_is():
    terminal = Terminal()
    assert terminal.run(replies=[
        reply(f"```\n{CODE}\n```", ["[Done] A", "[Pending] Solve", "[Pending] Conclusion"]),
        reply("A check.\nEvaluation of Thought 1: Major Error", ["[Verification Needed] A", "[Pending] Conclusion"]),
        reply("**Evaluation of Thought 2: Minor Issues** - no\nx", ["[Done] A", "[Done] Conclusion"], False, "42"),
    ]) == 0
    styles = collections.defaultdict(set)
    for style, line in re.findall("^(?:\r *\r)?(?:\033\\[([0-9;]+)m)?(.*?)(?:\033\\[0m)?$", terminal.text, re.M):
        styles[line].add(style)
    assert all(styles[line] == {"1"} for line in ("Thought 1:", "Current Plan Status:", "=== FINAL SOLUTION ==="))
    assert styles["  - [Pending] Conclusion"] == {"", "2"}  # new in the first plan, unchanged in the second
    assert all(styles[line] == {""} for line in ("  A check.", f"  {CODE}", "  - [Pending] Solve", "  - [Done] A"))
    said = ["  Evaluation of Thought 1: Major Error", "  **Evaluation of Thought 2: Minor Issues** - no"]
    assert all(styles[line] and not styles[line] & {"", "1", "2"} for line in [*said, "  - [Verification Needed] A"])


@pytest.mark.parametrize("stdout, seconds", [("terminal", "123"), ("file", "123"), ("pipe", "")])
def test_the_status_line_counts_every_second_and_leaves_nothing_behind(run, monkeypatch, stdout, seconds):
    piped = run(replies=REPLIES).out
    let_time_pass(monkeypatch)
    terminal = Terminal(20)
    reader, writer = os.pipe() if stdout == "pipe" else [os.open("trace", os.O_CREAT | os.O_RDWR) for _ in range(2)]
    assert terminal.run(replies=REPLIES, stdout=None if stdout == "terminal" else writer) == 0
    assert re.findall(STATUS_LINE, terminal.text) == [(number, second) for number in "12" for second in seconds]
    assert not re.search(r"\d s$", terminal.screen(), re.M) and " " * 20 not in terminal.text
    shown = terminal.screen() if stdout == "terminal" else os.read(reader, 10_000).decode()
    assert shown.split()[: len(piped.split())] == piped.split() and "2 thoughts" in terminal.screen()
    os.close(reader)
    os.close(writer)


def test_messages_take_the_place_of_the_status_line_and_show_control_characters(serve, monkeypatch):
    let_time_pass(monkeypatch)
    terminal = Terminal()
    slow = lambda handler: terminal.wait_for("Thought 1: 3 s") or error(429, "Slow.")(handler)
    serve(slow, *["\033[2J\x9b2J\a\b\rno"] * 3)
    assert terminal.run() == 1
    assert re.search(r"^Retrying .* [\d.]+ seconds", terminal.screen(), re.M)
    assert re.search(r"^\S+\[2J\S+2J\S+no$", terminal.screen(), re.M)
    assert not re.search("\033\\[2J|\x9b|\a|\b|\rno", terminal.text)


def test_an_interrupt_leaves_no_status_line_behind(monkeypatch):
    def interrupt():
        terminal.wait_for("Thought 1: 3 s")
        raise KeyboardInterrupt

    let_time_pass(monkeypatch)
    threads, terminal = threading.active_count(), Terminal()
    assert (terminal.run(replies=[interrupt]), threading.active_count()) == (130, threads)
    assert re.search(r"\n\n\D*nterrupt\D*\n$", terminal.screen())


def run_until_the_terminal_is_gone():
    let_time_pass(pytest.MonkeyPatch())
    hang_up, replies = select.poll(), iter(["nonsense", *REPLIES])
    hang_up.register(2, 0)
    return main([], lambda prompt: hang_up.poll() and next(replies))


def test_a_run_goes_on_into_its_file_when_the_terminal_is_gone(run):
    piped, terminal = run(replies=REPLIES).out, Terminal()
    code = "import sys, tests.test_terminal as test; sys.exit(test.run_until_the_terminal_is_gone())"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1])}
    with open("trace.txt", "w") as file:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=file, stderr=terminal.writer, env=environment)
    terminal.wait_for(STATUS_LINE)
    terminal.close()
    assert process.wait(60) == 0
    assert pathlib.Path("trace.txt").read_text(encoding="utf-8") == piped
