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
from tests.conftest import ROOT
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


@pytest.mark.parametrize("name", ["letter-3", "koushi-4"])
def test_every_word_of_a_run_is_there(terminal, name):
    terminal.run(*recorded(name), arguments=["--problem", recorded_problem(name)], columns=40)
    trace = "".join(recorded_trace(name).split())
    assert trace in "".join(terminal.screen.split())


@pytest.mark.parametrize("text, shown", [
    ("one two six seven eight nine four five ten", "one two\nsix seven\neight nine\nfour five\nten"),
    ("2. one two three", "2. one two\n   three"),
    ("a aaaaaaaaaaaaaaaaaaaa b", "a\naaaaaaaaaaaaaaaaaaaa\nb"),
    ("aaaaaaaaaaaaaaaaaaaa b", "aaaaaaaaaaaaaaaaaaaa\nb"),
])
def test_a_line_wraps_between_words_under_the_beginning_of_its_text(wrap, text, shown):
    assert wrap(text) == shown


@pytest.mark.parametrize("text, shown", [
    ("甲乙丙丁戊。己", "甲乙丙丁戊\n。己"),
    ("🚄🚄 ＡＢ 🚄", "🚄🚄 ＡＢ\n🚄"),
    ("“aa” × “b” c", "“aa” × “b”\nc"),
])
def test_a_wide_character_counts_two_columns_and_may_begin_a_line(wrap, text, shown):
    assert wrap(text) == shown


def test_a_combining_mark_takes_no_column(wrap):
    word = 8 * "e\u0301"
    assert wrap(f"{word} a b") == f"{word} a\nb"


def test_code_is_left_as_it_is(wrap):
    code = "````md\n```\na aaaaaa aaaaa\n````"
    assert wrap(f"{code}\na aaaaaa aaaaa") == f"{code}\na aaaaaa\naaaaa"


def test_a_step_wraps_under_its_description(terminal):
    plan = ["[Pending] Find", "  [Done] All pairs at once", "[Done] Solve", "[Pending] Conclusion"]
    terminal.run(reply(1, plan=plan, results={"Solve": "two of\nthem at once"}), columns=26)
    assert "\n    - [Done] All pairs at\n             once\n" in terminal.screen
    assert "\n  - [Done] Solve: two of\n           them at once\n" in terminal.screen


def test_every_line_of_a_change_has_its_sign_and_code_is_left_as_it_is(terminal):
    code = "```\na_long_name + a_long_name"
    change = (code, f"all that anybody asked for\n{code}")
    terminal.run(reply(1, solution=code), reply(2, changes=[change]), columns=26)
    removed = "  - ```\n  - a_long_name + a_long_name\n"
    added = "  + all that anybody asked\n    for\n  + ```\n  + a_long_name + a_long_name\n"
    assert f"Changes to the Solution:\n{removed}{added}" in terminal.screen


# The styles


def test_headings_are_bold_and_what_stands_below_them_is_plain(terminal):
    terminal.run(reply(1, solution="42"), end(2))
    bold = [line for line, style in terminal.styles.items() if style == BOLD]
    for heading in ("Thought 1", "Solution:", "Current Plan Status:", "=== FINAL SOLUTION ==="):
        assert any(line.startswith(heading) for line in bold)
    assert terminal.styles["Some work."] == PLAIN


def test_a_step_that_a_thought_did_not_change_is_dim(terminal):
    terminal.run(reply(1), reply(2, plan=["[Done] Solve", "[Done] Sum up", "[Pending] Conclusion"]))
    assert terminal.styles["- [Done] Solve"] == DIM
    assert terminal.styles["- [Done] Sum up"] == PLAIN


def test_a_step_that_needs_verification_stands_out_to_its_end(terminal):
    terminal.run(reply(1, plan=["[Verification Needed] Solve", "[Pending] Conclusion"]), columns=26)
    assert terminal.styles["Solve"] not in (PLAIN, BOLD, DIM)


def test_a_step_that_still_needs_verification_stands_out_too(terminal):
    plan = ["[Verification Needed] Solve", "[Pending] Conclusion"]
    terminal.run(reply(1, plan=plan), reply(2, plan=plan))
    assert terminal.styles["- [Verification Needed] Solve"] not in (PLAIN, BOLD, DIM)


def test_a_step_that_is_gone_stands_out(terminal):
    plan = ["[Done] Solve", "[Pending] Sum up", "[Pending] Conclusion"]
    terminal.run(reply(1, plan=plan), reply(2))
    assert terminal.styles["- removed: Sum up"] not in (PLAIN, BOLD, DIM)


def test_a_verdict_that_finds_no_fault_is_bold(terminal):
    terminal.run(reply(1), reply(2))
    assert terminal.styles["Evaluation of Thought 1: Correct - x"] == BOLD


@pytest.mark.parametrize("verdict", ["Major Error", "minor issues", "**Minor Issues**"])
def test_a_verdict_that_finds_a_fault_stands_out(terminal, verdict):
    evaluation = f"Evaluation of Thought 1: {verdict}"
    terminal.run(reply(1), reply_of(f"A check.\n{evaluation}\nSome work."))
    assert terminal.styles[evaluation] not in (PLAIN, BOLD, DIM)
    assert terminal.styles["Some work."] == PLAIN


@pytest.mark.parametrize("name, value", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_there_are_no_styles_where_none_are_wanted(terminal, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    terminal.run(reply(1))
    assert "Thought 1" in terminal.screen
    assert "\033" not in terminal.text


# While a reply is awaited


def test_after_a_second_a_line_says_what_is_waited_for_until_the_reply_is_there(terminal):
    def slow_reply():
        terminal.shows(STATUS_LINE)
        return reply(1)

    terminal.run(slow_reply)
    assert re.search(r"Thought 1: \d\D", terminal.text)  # a number below ten
    assert not re.search(STATUS_LINE, terminal.screen)


def test_the_line_says_for_how_many_seconds(terminal, clock):
    def slow_reply():
        clock[0] += 75
        assert terminal.shows("Thought 1: 75")
        return end(1)

    assert terminal.run(slow_reply) == 0


def test_there_is_no_such_line_beside_a_pager(terminal):
    def slow_reply():
        assert not terminal.shows(".", within=1.5)
        return end(1)

    reader, writer = os.pipe()
    with open(reader), open(writer, "w") as pager:
        assert terminal.run(slow_reply, stdout=pager) == 0


def test_a_message_takes_the_place_of_the_line(terminal, serve):
    def slow_down(handler):
        terminal.shows(STATUS_LINE)
        error(429, "Slow down.")(handler)

    serve(slow_down)
    terminal.run()
    assert re.search("^Retrying .* seconds", terminal.screen, re.M)
    assert not re.search(STATUS_LINE, terminal.screen)


def test_an_interrupt_leaves_no_such_line_behind(terminal):
    def interrupt():
        assert terminal.shows(STATUS_LINE)
        raise KeyboardInterrupt

    threads = threading.active_count()
    assert terminal.run(interrupt) == 130
    assert not re.search(STATUS_LINE, terminal.screen)
    assert threading.active_count() < threads  # The terminal has none any more, and nobody goes on counting.


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_goes_on_into_its_file_when_the_terminal_is_gone(terminal, tmp_path):
    def hang_up():
        assert terminal.shows(STATUS_LINE)
        terminal.hang_up()
        return "nonsense"

    trace = tmp_path / "trace.txt"
    with trace.open("w") as file:
        assert terminal.run(hang_up, end(1, solution="42"), stdout=file) == 0
    assert "=== FINAL SOLUTION ===\n42\n" in trace.read_text("utf-8")


# Messages


def test_a_message_shows_control_characters_instead_of_sending_them(terminal):
    bad_reply = "\033[2J\x9b3J\a\b\rno"
    assert terminal.run(bad_reply, bad_reply, bad_reply) == 1
    assert re.search(r"2J\S+3J\S+no", terminal.screen)
    assert not re.search("\033\\[2J|\x9b|\a|\b|\rno", terminal.text)


def test_a_run_that_is_shown_ends_with_what_its_thoughts_took(run, terminal):
    replies = ["nonsense", Reply(reply(1), {"completion_tokens": 500}), Reply(end(2), {"completion_tokens": 734})]
    run("--run", "x.yaml", replies=replies)
    terminal.run(arguments=["--show", "x.yaml"])
    assert re.search("2 thoughts.*3 requests.*1,234 completion tokens.*\n$", terminal.screen)


def test_of_thoughts_whose_cost_is_unknown_nothing_is_said(terminal):
    terminal.run(arguments=["--show", str(ROOT / "docs/example.yaml")])
    assert terminal.screen.endswith("\n======================\n\n")


def test_a_run_ends_with_where_it_is_and_what_it_took(terminal):
    terminal.run("nonsense", reply(1), end(2))
    assert re.search("2 thoughts.*runs/.*3 requests.*\n$", terminal.screen)
