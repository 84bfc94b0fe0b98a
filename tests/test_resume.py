"""A run is kept, and gone on with."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
import yaml

from tests.conftest import MAIN
from tests.loopback import completion, error, recorded, recorded_trace, reply

REPLIES = recorded("die")
TRACE = recorded_trace("die")
KEPT = pathlib.Path("last_run.yaml")


@pytest.fixture
def kept(serve, run):
    """The endpoint of a whole run that is kept in last_run.yaml."""
    endpoint = serve(*REPLIES)
    run()
    return endpoint


@pytest.mark.parametrize(
    "answers, arguments, message",
    [
        pytest.param([*REPLIES[:2], error(401, "No.")], [], "401: No.", id="a call"),
        pytest.param([*REPLIES[:2], "One.", "Two.", "Three."], [], "gave up after 3 rejected replies", id="bad replies"),
        pytest.param(REPLIES[:2], ["--max-thoughts", "2"], "No solution by Thought 2", id="the limit"),
    ],
)
def test_a_failed_run_is_gone_on_with_as_if_nothing_had_happened(serve, run, answers, arguments, message):
    serve(*answers)
    failed = run(*arguments)
    assert failed.status == 1 and message in failed.err and "To go on: python main.py --resume" in failed.err
    endpoint = serve(*REPLIES[2:])
    result = run("--resume")
    assert (result.status, result.out, result.err) == (0, TRACE, "")
    assert len(endpoint.requests) == 4


def test_an_interrupted_run_is_gone_on_with(serve, run):
    endpoint = serve()
    endpoint.answers = [completion(REPLIES[0]), endpoint.silence]
    process = subprocess.Popen([sys.executable, MAIN], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    endpoint.wait_for_request(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, b"Interrupted. To go on: python main.py --resume\n")
    assert out.decode() == TRACE[: TRACE.index("Thought 2:")]
    serve(*REPLIES[1:])
    assert run("--resume").out == TRACE


def test_what_was_printed_survives_a_kill(serve, run):
    endpoint = serve()
    endpoint.answers = [completion(REPLIES[0]), completion(REPLIES[1]), endpoint.silence]
    process = subprocess.Popen([sys.executable, MAIN], stdout=subprocess.PIPE)
    endpoint.wait_for_request(3)
    process.kill()
    out = process.communicate(timeout=10)[0].decode()
    assert out == TRACE[: TRACE.index("Thought 3:")]
    serve(*REPLIES[2:])
    assert run("--resume").out == TRACE


@pytest.mark.parametrize("count", range(6))
def test_resume_with_a_number_sends_the_prompt_of_the_first_run_again(kept, serve, run, count):
    for _ in range(2):
        assert run("--resume", str(count), "--show-prompt").out == kept.prompts[count]
    endpoint = serve(*REPLIES[count:])
    result = run("--resume", str(count))
    assert (result.status, result.out) == (0, TRACE)
    assert endpoint.prompts == kept.prompts[count:]


def test_a_file_of_any_name_is_kept_and_named_in_the_message(serve, run):
    serve(REPLIES[0])
    failed = run("--keep", "my run.yaml")
    assert failed.err.endswith(" To go on: python main.py --resume --keep 'my run.yaml'\n")
    assert not KEPT.exists()
    serve(*REPLIES[1:])
    assert run("--keep", "my run.yaml", "--resume").out == TRACE


def test_a_run_resumed_with_a_number_that_fails_at_once_is_gone_on_with_from_there(kept, serve, run):
    before = KEPT.read_bytes()
    serve()
    assert run("--resume", "2").err.endswith(" To go on: python main.py --resume 2\n")
    assert KEPT.read_bytes() == before


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(serve, run):
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    serve(reply(thinking, Solve="x: 2"), reply(plan=["[Done] Conclusion"], more=False))
    run("--problem", "  How\n\nmany?")
    text = KEPT.read_text(encoding="utf-8")
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n  current_thinking: |-\n")
    assert all(line in text for line in thinking.split("\n")) and '\\"' not in text
    assert "  - description: |-\n      Solve\n    status: Done\n    result: |-\n      x: 2\n" in text
    assert yaml.safe_load(text)["thoughts"][0]["current_thinking"] == thinking


@pytest.mark.parametrize("problem", ["null", "no: 1\n", "\ta\r\nb", "\ufeffx", "Done", "- a\n\n\n", "x \n  \n y", "'\"\\n"])
def test_any_problem_survives_being_kept(serve, run, problem):
    endpoint = serve(REPLIES[0])
    run("--problem", problem)
    assert run("--resume", "0", "--show-prompt").out == endpoint.prompts[0]


def test_a_thought_changed_by_hand_changes_the_next_prompt(kept, run):
    KEPT.write_text(KEPT.read_text(encoding="utf-8").replace("216/431", "217/431"), encoding="utf-8")
    prompt = run("--resume", "5", "--show-prompt").out
    assert "217/431" in prompt and "216/431" not in prompt


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--resume"], "last_run.yaml: solved by Thought 6; to think that again, --resume 5"),
        (["--resume", "6"], "last_run.yaml: solved by Thought 6; to think that again, --resume 5"),
        (["--resume", "7"], "last_run.yaml: N must be between 0 and 6"),
        (["--resume", "-1"], "last_run.yaml: N must be between 0 and 6"),
        (["--resume", "2", "--problem", "x"], "so leave out --problem"),
        (["--resume", "2", "--max-thoughts", "2"], "--max-thoughts must be at least 3"),
        (["--resume", "2", "--keep", "other.yaml"], "other.yaml: No such file or directory"),
        (["--resume", "2", "--keep", "."], ".: Is a directory"),
    ],
)
def test_a_resume_that_cannot_be_is_wrong_usage(kept, run, arguments, message):
    before = KEPT.read_bytes()
    result = run(*arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err.splitlines()[-1]
    assert KEPT.read_bytes() == before and os.listdir() == ["last_run.yaml"]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("status: Done", "status: done", "in Thought 1, the step 'Understand the problem' has the status 'done'"),
        ("next_thought_needed", "more", "in Thought 1, next_thought_needed is missing"),
        ("problem: |-", "puzzle: |-", "it is not a kept run"),
        ("problem: |-", "problem: [", "it is not valid YAML"),
        ("problem: |-\n  You", "problem:\n  - You", "it is not a kept run: problem is missing or not a text"),
        ("problem: |-", "\0", "it is not valid YAML"),
    ],
)
def test_a_broken_file_is_wrong_usage(kept, run, old, new, message):
    KEPT.write_text(KEPT.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    before = KEPT.read_bytes()
    result = run("--resume", "2")
    assert result.status == 2
    assert f"last_run.yaml: {message}" in result.err.splitlines()[-1]
    assert KEPT.read_bytes() == before


def test_a_run_without_a_thought_leaves_the_file_alone(kept, serve, run):
    before = KEPT.read_bytes()
    serve()
    assert "--resume" not in run("--problem", "Another one").err
    assert KEPT.read_bytes() == before


@pytest.mark.parametrize("path", ["no/such/folder.yaml", ".", "", "pipe"])
def test_a_file_that_cannot_be_written_is_said_once_and_the_run_goes_on(serve, run, path):
    os.mkfifo("pipe")
    serve(*REPLIES)
    result = run("--keep", path)
    assert (result.status, result.out) == (0, TRACE)
    assert result.err.count("\n") == 1 and "cannot be kept" in result.err
    assert os.listdir() == ["pipe"] and pathlib.Path("pipe").is_fifo()
