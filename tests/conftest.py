import collections
import faulthandler
import logging
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from main import main
from tests.loopback import Endpoint
from tests.replies import Model

MAIN = str(pathlib.Path(__file__).parents[1] / "main.py")
Run = collections.namedtuple("Run", "status out err prompts", defaults=[()])


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """None of the user's settings, an empty folder, hardly a wait between the client's tries, and none for ever."""
    for name in os.environ:
        if name.startswith(("OPENAI_", "NO_COLOR", "COLUMNS", "PYTHON")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("SSL_CERT_FILE", str(pathlib.Path(__file__).with_name("certificate.pem")))  # a small one
    monkeypatch.setenv("OPENAI_MODEL", "")
    monkeypatch.setattr(sys, "argv", ["main.py"])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup and a shell's & ignore it, also in children.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "sleep", lambda seconds, sleep=time.sleep: sleep(min(seconds, 0.01)))
    faulthandler.dump_traceback_later(120, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()
    for name in ("chain_of_thought", "openai._base_client"):
        logging.getLogger(name).handlers.clear()  # They write to a stream of this test.


@pytest.fixture
def serve(monkeypatch, request):
    """serve(*answers) starts an endpoint and points the client at it."""

    def start(*answers):
        endpoint = Endpoint(answers)
        request.addfinalizer(endpoint.close)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
        return endpoint

    return start


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
        return Run(status, *capsys.readouterr(), model.prompts if model else [])

    return run_main


def saved_runs():
    """The files in runs/, the oldest first."""
    return sorted(pathlib.Path("runs").glob("*"), key=lambda path: (path.stat().st_mtime_ns, path.stem))


def run_command(*command, input=None, **environment):
    done = subprocess.run(command, input=input, capture_output=True, timeout=60, env={**os.environ, **environment})
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_python(*arguments, **options):
    return run_command(sys.executable, *arguments, **options)


def run_shell(after, before=""):
    """`before python main.py after` in a shell, for redirections."""
    return run_command("sh", "-c", f'{before} "{sys.executable}" "{MAIN}" {after}')


def start(*arguments):
    return subprocess.Popen([sys.executable, MAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
