"""What only shows on a terminal: the layout, the styles, and the line while a reply is awaited."""

import contextlib
import fcntl
import os
import re
import struct
import termios
import textwrap
import threading
import tty

import pytest

from main import main
from tests.loopback import error
from tests.replies import Model, end, recorded, recorded_problem, recorded_trace, reply, reply_of
from utils.call_llm import Reply

STATUS_LINE = r"Thought 1: \d"
PLAIN, BOLD, DIM = "", "1", "2"


class Terminal:
    """A pseudo-terminal for one run, and a thread that reads from it. text: all that it was sent."""

    def __init__(self):
        self.outside, inside = os.openpty()
        tty.setraw(inside)
        self.stream = open(inside, "w", encoding="utf-8")
        self.text = ""
        self.has_changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with open(self.outside, encoding="utf-8", newline="") as characters:
            while (character := characters.read(1)) != "\0":
                with self.has_changed:
                    self.text += character
                    self.has_changed.notify_all()

    def shows(self, pattern, within=30):
        """Wait for a text. Returns whether it came within these seconds."""
        with self.has_changed:
            return self.has_changed.wait_for(lambda: re.search(pattern, self.text), within)

    def hang_up(self):
        """Read what was sent, and be gone: whoever writes to the terminal now gets an error."""
        os.write(self.stream.fileno(), b"\0")
        self.reader.join()

    def run(self, *replies, arguments=("--problem", "How many?"), columns=80, stdout=None):
        """`python main.py arguments`, answered by these replies. stdout: a file, if not the terminal."""
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(self.stream, termios.TIOCSWINSZ, size)
        model = Model(replies) if replies else None
        stdout = stdout or self.stream
        own_stdout = os.dup(1)
        os.dup2(stdout.fileno(), 1)
        try:
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(self.stream):
                return main(list(arguments), model)
        finally:
            os.dup2(own_stdout, 1)
            os.close(own_stdout)
            if self.reader.is_alive():
                self.hang_up()

    @property
    def screen(self):
        """What a person sees in the end, styles aside."""
        text = re.sub("\033\\[[0-9;]*m", "", self.text)
        return "\n".join(map(overwrite, text.split("\n")))

    @property
    def styles(self):
        """The style in which each line was shown last."""
        styles = {}
        for style, text in re.findall("\033\\[([0-9;]*)m([^\033]*)", f"\033[0m{self.text}"):
            for line in text.split("\n"):
                styles[line.strip()] = style.lstrip("0")
        return styles


def overwrite(line):
    """The line as a terminal shows it: what stands behind a carriage return covers what stood there before."""
    shown = ""
    for part in line.split("\r"):
        shown = part + shown[len(part) :]
    return shown.rstrip()


@pytest.fixture
def terminal():
    terminal = Terminal()
    yield terminal
    with contextlib.suppress(OSError):  # It may have hung up.
        terminal.stream.close()


@pytest.fixture
def wrap(terminal):
    """wrap(text): how a text is shown in ten columns, beside the margin of two."""

    def show_thinking(text):
        terminal.run(reply(1, f"<\n{text}\n>"), columns=12)
        shown = re.search("  <\n(.*)\n  >", terminal.screen, re.DOTALL)[1]
        return textwrap.dedent(shown)

    return show_thinking


# The layout


@pytest.mark.parametrize("name, columns", [("letter-3", 40), ("koushi-4", 1)])
def test_every_word_of_a_run_is_there(terminal, name, columns):
    problem = recorded_problem(name)
    terminal.run(*recorded(name), arguments=["--run=x.yaml", "--problem", problem], columns=columns)
    trace = "".join(recorded_trace(name).split())
    assert trace in "".join(terminal.screen.split())


@pytest.mark.parametrize(
    "text, shown",
    [
        ("one two six seven eight nine four five ten", "one two\nsix seven\neight nine\nfour five\nten"),
        ("2. one two three", "2. one two\n   three"),
        ("one two-three", "one\ntwo-three"),
        ("a aaaaaaaaaaaaaaaaaaaa b", "a\naaaaaaaaaaaaaaaaaaaa\nb"),
        ("aaaaaaaaaaaaaaaaaaaa b", "aaaaaaaaaaaaaaaaaaaa\nb"),
        ("a甲乙丙丁戊。", "a甲乙丙丁\n戊。"),
        ("🚄🚄 ＡＢ 🚄", "🚄🚄 ＡＢ\n🚄"),
    ],
)
def test_a_line_wraps_between_words_or_wide_characters_under_its_text(wrap, text, shown):
    assert wrap(text) == shown


def test_code_is_left_as_it_is(wrap):
    code = "```\na aaaaaa aaaaa\n```"
    assert wrap(f"{code}\na aaaaaa aaaaa") == f"{code}\na aaaaaa\naaaaa"


def test_a_change_of_one_fence_leaves_no_later_thought_of_a_saved_run_unwrapped(run, terminal):
    first = reply(1, solution="a")
    second = reply(2, changes=[("a", "```\na")])
    third = reply(3, "Some words that are wrapped.")
    run("--run=x.yaml", replies=[first, second, third])
    terminal.run(arguments=["--show=x.yaml"], columns=20)
    assert "\n  Some words that\n  are wrapped.\n" in terminal.screen


@pytest.mark.parametrize("columns, shown", [(26, r" at\n {13}once\n"), (12, r"\n {1,8}once\n")])
def test_a_step_wraps_under_its_description_and_on_a_narrow_terminal_where_it_fits(terminal, columns, shown):
    plan = ["[Pending] Find", "  [Done] All pairs at once", "[Pending] Conclusion"]
    terminal.run(reply(1, plan=plan), columns=columns)
    assert re.search(shown, terminal.screen)


def test_every_line_of_a_change_has_its_sign_and_code_is_left_as_it_is(terminal):
    change = ("42", "all that anybody asked for\n```\na_long_name + a_long_name\n```")
    terminal.run(reply(1, solution="42"), reply(2, changes=[change]), columns=26)
    added = "  + all that anybody asked\n    for\n  + ```\n  + a_long_name + a_long_name\n  + ```\n"
    assert f"\n\nChanges to the Solution:\n  - 42\n{added}" in terminal.screen


# The styles


@pytest.fixture
def styles(terminal):
    """The styles of a run that doubts a step, takes one out, adds one, and has all three verdicts."""
    first = ["[Done] Solve", "[Pending] Count", "[Pending] Sum up", "[Pending] Conclusion"]
    second = ["[Done] Solve", "[Verification Needed] Count", "[Pending] Conclusion"]
    third = ["[Done] Solve", "[Verification Needed] Count", "[Done] Add", "[Pending] Conclusion"]
    terminal.run(
        reply(1, plan=first),
        reply_of("Evaluation of Thought 1: Major Error", second),
        reply_of("Evaluation of Thought 1: minor issues", third),
        end(4),
    )
    return terminal.styles


@pytest.mark.parametrize(
    "line",
    [
        "Thought 3: Count",
        "Current Plan Status:",
        "Final Plan Status:",
        "Evaluation of Thought 3: Correct - x",
    ],
)
def test_a_heading_and_a_verdict_that_finds_no_fault_are_bold(styles, line):
    assert styles[line] == BOLD


def test_a_step_that_a_thought_did_not_change_is_dim_and_the_rest_is_plain(styles):
    assert styles["- [Done] Solve"] == DIM
    assert styles["- [Done] Add"] == PLAIN
    assert styles["Some work."] == PLAIN


@pytest.mark.parametrize(
    "line",
    [
        "- [Verification Needed] Count",
        "- removed: Sum up",
        "Evaluation of Thought 1: Major Error",
        "Evaluation of Thought 1: minor issues",
    ],
)
def test_a_doubt_a_loss_and_a_verdict_that_finds_a_fault_stand_out(styles, line):
    assert styles[line] not in (PLAIN, BOLD, DIM)


@pytest.mark.parametrize("name, value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_there_are_no_styles_where_none_are_wanted(terminal, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    terminal.run(reply(1))
    assert "Thought 1" in terminal.screen
    assert "\033" not in terminal.text


def test_what_a_change_takes_out_is_red_and_what_it_puts_there_is_green(terminal):
    terminal.run(reply(1, solution="It is 41."), reply(2, changes=[("41", "42")]))
    assert terminal.styles["- 41"].endswith("31")
    assert terminal.styles["+ 42"].endswith("32")


def test_a_pipe_is_laid_out_and_styled_where_that_is_forced(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    out = run("--problem", "x", replies=[reply(1, "Some words that are wrapped.")]).out
    assert "\n\033[1mThought 1:\033[0m\n  Some words that\n  are wrapped.\n" in out


# While a reply is awaited


def test_a_line_says_what_is_waited_for_and_how_long_until_the_reply_is_there(terminal, clock):
    def slow_reply():
        clock[0] += 75
        terminal.shows("Thought 1: 75 s")
        return reply(1)

    terminal.run(slow_reply)
    assert "Thought 1: 75 s" in terminal.text
    assert not re.search(STATUS_LINE, terminal.screen)


def test_there_is_no_such_line_beside_a_pager(terminal):
    def slow_reply():
        terminal.shows(STATUS_LINE, within=1.5)
        return reply(1)

    reader, writer = os.pipe()
    with open(reader), open(writer, "w") as pager:
        terminal.run(slow_reply, stdout=pager)
    assert not re.search(STATUS_LINE, terminal.text)


def test_a_message_takes_the_place_of_the_line(terminal, serve):
    def slow_down(handler):
        terminal.shows(STATUS_LINE)
        error(429, "Slow down.")(handler)

    serve(slow_down)
    terminal.run()
    assert "\nRetrying" in terminal.screen
    assert not re.search(STATUS_LINE, terminal.screen)


def test_an_interrupt_leaves_no_such_line_behind(terminal):
    def interrupt():
        assert terminal.shows(STATUS_LINE)
        raise KeyboardInterrupt

    assert terminal.run(interrupt) == 130
    assert not re.search(STATUS_LINE, terminal.screen)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_goes_on_into_its_file_when_the_terminal_is_gone(terminal, tmp_path):
    def hang_up():
        assert terminal.shows(STATUS_LINE)
        terminal.hang_up()
        return "nonsense"

    trace = tmp_path / "trace.txt"
    with trace.open("w") as file:
        assert terminal.run(hang_up, reply(1, solution="42"), end(2), stdout=file) == 0
    assert "=== FINAL SOLUTION ===\n42\n" in trace.read_text("utf-8")


# Messages


def test_a_message_shows_control_characters_instead_of_sending_them(terminal):
    bad_reply = "\033[2J\x9b3J\a\b\rno"
    terminal.run(bad_reply, bad_reply, bad_reply)
    assert re.search(r"2J\S+3J\S+no", terminal.screen)
    assert not re.search("\033\\[2J|\x9b|\a|\b|\rno", terminal.text)


def test_a_run_that_is_shown_ends_with_what_its_thoughts_took(run, terminal):
    first = Reply(reply(1), {"completion_tokens": 500})
    last = Reply(end(2), {"completion_tokens": 734})
    run("--run", "x.yaml", replies=[first, last])
    terminal.run(arguments=["--show", "x.yaml"])
    assert re.search("2 thoughts.*2 requests.*1,234 completion tokens.*\n$", terminal.screen)


