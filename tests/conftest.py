"""What every test finds: its own environment, a way to run the program, and an endpoint to ask."""

import faulthandler
import logging
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
import typing

import pytest

from main import main
from tests.loopback import Endpoint
from tests.replies import Model

ROOT = pathlib.Path(__file__).parents[1]
MAIN = str(ROOT / "main.py")
CERTIFICATE = ROOT / "tests" / "certificate.pem"  # The client loads a small one faster.


class Run(typing.NamedTuple):
    """How a run of the program ended, what it printed, and which prompts were asked."""

    status: int
    out: str
    err: str
    prompts: list = []

    @property
    def last_line(self):
        return self.err.splitlines()[-1]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """An empty folder, and none of the user's settings."""
    for name in list(os.environ):
        is_setting = name.startswith(("OPENAI_", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHON"))
        if is_setting or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(sys, "argv", ["main.py"])
    monkeypatch.chdir(tmp_path)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup and a shell's & ignore it, also in children.


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Hardly a wait between the client's tries, and no test that waits for ever."""
    sleep = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.01)))
    faulthandler.dump_traceback_later(120, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def no_old_handlers():
    """The handlers of a log write to a stream of their own test."""
    yield
    for name in ("chain_of_thought", "openai._base_client"):
        logging.getLogger(name).handlers.clear()


@pytest.fixture
def clock(monkeypatch):
    """A list whose only item is the time: every clock shows it."""
    now = [1000.0]
    for name in ("monotonic", "perf_counter", "time"):
        monkeypatch.setattr(time, name, lambda: now[0])
    return now


@pytest.fixture
def serve(monkeypatch, request):
    """serve(*answers) starts an endpoint and points the client at it."""

    def start_endpoint(*answers):
        endpoint = Endpoint(answers)
        request.addfinalizer(endpoint.close)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
        return endpoint

    return start_endpoint


@pytest.fixture
def run(capsys):
    """run(*arguments, replies=[...]) is `python main.py arguments`, in this process, with a function that answers.

    Without replies, the OpenAI client asks whatever `serve` has started.
    """

    def run_main(*arguments, replies=None):
        model = None if replies is None else Model(replies)
        try:
            status = main(list(arguments), model)
        except SystemExit as usage_error:
            status = usage_error.code
        out, err = capsys.readouterr()
        return Run(status, out, err, model.prompts if model else [])

    return run_main


@pytest.fixture
def command(run):
    """command("--step -q", replies) is `python main.py --step -q`. After the last reply, the model fails."""

    def run_line(line, replies=()):
        return run(*shlex.split(line), replies=replies)

    return run_line


def run_python(*arguments, input=None, **environment):
    """`python arguments`, in a process of its own."""
    command = [sys.executable, *arguments]
    return run_command(*command, input=input, **environment)


def run_command(*command, input=None, **environment):
    env = {**os.environ, **environment}
    done = subprocess.run(command, input=input, capture_output=True, timeout=60, env=env)
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def saved_runs():
    """The files in runs/, the oldest first."""
    paths = pathlib.Path("runs").glob("*")
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path.stem))


def all_files():
    """The content of every file in this folder and those below."""
    paths = pathlib.Path().rglob("*")
    return {path: path.read_bytes() for path in paths if path.is_file()}
