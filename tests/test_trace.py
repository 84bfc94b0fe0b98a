"""The trace of recorded runs, to the letter."""

import warnings

import pytest

from tests.conftest import saved_runs
from tests.loopback import recorded, recorded_problem, recorded_trace

RECORDINGS = ["die", "die-2", "intervals", "trains", "trains-2", "machine-3", "readme-3", "letter-3"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_prints_its_trace_to_the_letter(serve, run, name):
    replies = recorded(name)
    endpoint = serve(*replies)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("--problem", recorded_problem(name))
    assert result.out == recorded_trace(name)
    assert (result.status, result.err, len(endpoint.requests)) == (0, "", len(replies))


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_solved_run_prints_the_same_trace_again_without_a_request_or_a_key(serve, run, monkeypatch, name):
    endpoint = serve(*recorded(name))
    first = run("--problem", recorded_problem(name))
    before = saved_runs()[0].read_bytes()
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")
    again = run("--resume", "--step", "--max-thoughts", "1")
    assert (again.status, again.out, again.err) == (0, first.out, "")
    assert len(endpoint.requests) == len(recorded(name)) and saved_runs()[0].read_bytes() == before
