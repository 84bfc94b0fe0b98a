import dataclasses
import logging
import time

import pytest

from main import main
from tests.loopback import Endpoint


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """Nothing of the user's own settings, and no waiting between the client's tries."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_LOG", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.fixture
def serve(monkeypatch):
    """serve(*answers) starts an endpoint and points the client at it."""
    endpoints = []

    def start(*answers):
        endpoint = Endpoint(answers)
        endpoints.append(endpoint)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-local")
        return endpoint

    yield start
    for endpoint in endpoints:
        endpoint.close()


@dataclasses.dataclass
class Run:
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """run(*arguments) is `python main.py arguments`, in this process."""

    def run_main(*arguments):
        try:
            status = main(list(arguments))
        except SystemExit as usage_error:
            status = usage_error.code
        return Run(status, *capsys.readouterr())

    yield run_main
    logging.getLogger().handlers.clear()
