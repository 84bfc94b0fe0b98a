"""What only shows with a terminal, a pipe or a signal: the program as a process of its own."""

import os
import select
import signal
import subprocess
import sys

import pytest

from tests.loopback import RECORDINGS, completion, recorded, recorded_ends, recorded_problem

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")

ROOT = RECORDINGS.parent.parent
MAIN = [sys.executable, "main.py"]
TRACE = (RECORDINGS / "die" / "trace.txt").read_text(encoding="utf-8")
FIRST, LAST = recorded_ends("die")


def waiting(endpoint, answer):
    """The answer, once the endpoint is released."""

    def answer_later(handler):
        endpoint.released.wait()
        answer(handler)

    return answer_later


class Terminal:
    """A process whose stdout and stderr are one pseudo-terminal, and what it writes there."""

    def __init__(self, *arguments, **environment):
        self.reader, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [*MAIN, *arguments], cwd=ROOT, stdout=terminal, stderr=terminal, env={**os.environ, **environment}
        )
        os.close(terminal)
        self.written = b""

    def read_until(self, text):
        while text.encode() not in self.written:
            assert select.select([self.reader], [], [], 10)[0], f"{text!r} does not come"
            self.written += os.read(self.reader, 1024)

    def read_all(self):
        try:
            while chunk := os.read(self.reader, 1024):
                self.written += chunk
        except OSError:  # How Linux says that the other end is closed.
            pass
        os.close(self.reader)
        return self.process.wait()

    def screen(self):
        """The lines that a person sees: a carriage return lets what follows overwrite the line."""
        lines = []
        for raw in self.written.decode().replace("\r\n", "\n").split("\n"):
            line = ""
            for part in raw.split("\r"):
                line = part + line[len(part) :]
            lines.append(line.rstrip())
        return "\n".join(lines)


def test_the_status_line_counts_seconds_and_leaves_no_remnant(serve):
    endpoint = serve()
    endpoint.answers = [completion(FIRST), waiting(endpoint, completion(LAST))]
    terminal = Terminal()
    for seconds in (0, 1, 2):
        terminal.read_until(f"\rThinking thought 2: {seconds} s")
    endpoint.released.set()
    assert terminal.read_all() == 0
    assert "Thinking thought" not in terminal.screen()
    assert "\n--------------------------------------------------\n\nThought 2 (Conclusion):\n" in terminal.screen()


def test_the_status_line_is_gone_when_the_wait_ends_in_an_error(serve):
    serve()
    terminal = Terminal()
    assert terminal.read_all() == 1
    assert "\rThinking thought 1: 0 s" in terminal.written.decode()
    assert "Thinking thought" not in terminal.screen()
    assert "request 1 was not expected" in terminal.screen()


def test_the_status_line_is_gone_when_a_person_interrupts_the_wait(serve):
    endpoint = serve()
    endpoint.answers = [endpoint.silence]
    terminal = Terminal()
    endpoint.asked.acquire()
    terminal.read_until("\rThinking thought 1: 0 s")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.read_all() == 130
    assert "Thinking thought" not in terminal.screen()
    assert terminal.screen().endswith("\n\nInterrupted.\n")


def test_verbose_lines_and_the_status_line_do_not_mix(serve):
    serve(FIRST, LAST)
    terminal = Terminal("-v")
    assert terminal.read_all() == 0
    assert "Thinking thought" not in terminal.screen()
    assert "\n=== Prompt ===\nYou solve" in terminal.screen()


def test_no_status_line_goes_into_a_pipe(serve):
    serve(*recorded("die"))
    done = subprocess.run(MAIN, cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, TRACE, b"")


def test_each_thought_is_out_before_the_next_is_asked_for(serve):
    endpoint = serve()
    endpoint.answers = [completion(FIRST), waiting(endpoint, completion(LAST))]
    with subprocess.Popen(MAIN, cwd=ROOT, stdout=subprocess.PIPE) as process:
        endpoint.asked.acquire()
        endpoint.asked.acquire()
        os.set_blocking(process.stdout.fileno(), False)
        written = process.stdout.read()
        os.set_blocking(process.stdout.fileno(), True)
        endpoint.released.set()
        process.stdout.read()
    assert process.returncode == 0
    assert written == TRACE[: TRACE.index("Thought 2:")].encode()


def test_an_interrupt_ends_a_wait_at_once_with_a_short_line(serve):
    endpoint = serve()
    endpoint.answers = [completion(FIRST), endpoint.silence]
    process = subprocess.Popen(MAIN, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    endpoint.asked.acquire()
    endpoint.asked.acquire()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=5)
    assert (process.returncode, err) == (130, b"Interrupted.\n")
    assert out.decode() == TRACE[: TRACE.index("Thought 2:")]


@pytest.mark.parametrize("arguments", [[], ["--show-prompt"], ["-v"]])
def test_a_reader_that_stops_early_is_left_in_peace(serve, arguments):
    serve(*recorded("die"))
    process = subprocess.Popen([*MAIN, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 1
    assert "Error" not in err and "Traceback" not in err
    if "-v" not in arguments:
        assert err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_said(serve):
    serve(*recorded("die"))
    with open("/dev/full", "w") as full:
        done = subprocess.run(MAIN, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "The trace cannot be written: [Errno 28] No space left on device.\n"


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {}])
def test_what_cannot_be_encoded_is_replaced(serve, environment):
    endpoint = serve(*recorded("trains"))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", **environment}
    command = [*MAIN, "-v", "--problem", recorded_problem("trains").rstrip("\n")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True)
    expected = (RECORDINGS / "trains" / "trace.txt").read_text(encoding="utf-8").encode("ascii", "replace")
    assert (done.returncode, done.stdout) == (0, expected)
    assert recorded_problem("trains").rstrip("\n") in endpoint.prompts[0]
