"""The whole loop, through the real client over loopback."""

import io
import itertools
import os
import re
import subprocess
import sys
import warnings

import pytest

import nodes
from tests.loopback import RECORDINGS, completion, recorded, recorded_problem

ROOT = RECORDINGS.parent.parent


@pytest.mark.parametrize("name", ["die", "intervals", "trains"])
def test_a_recorded_run_prints_its_trace_to_the_letter(serve, run, name):
    replies = recorded(name)
    endpoint = serve(*replies)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run("--problem", recorded_problem(name).rstrip("\n"))
    assert result.out == (RECORDINGS / name / "trace.txt").read_text(encoding="utf-8")
    assert (result.status, result.err) == (0, "")
    assert len(endpoint.requests) == len(replies)


def test_every_prompt_begins_with_almost_all_of_the_one_before(serve, run):
    endpoint = serve(*recorded("die"))
    run()
    for before, after in itertools.pairwise(endpoint.prompts[1:]):
        assert after.startswith(before.split("\n\n# Your turn\n")[0])


def test_the_default_problem_is_about_the_die(serve, run):
    endpoint = serve(*recorded("die"))
    assert run().out.startswith(f"🤔 Problem: {recorded_problem('die')}\n")
    assert recorded_problem("die") in endpoint.prompts[0]


def test_the_problem_can_come_from_standard_input(run, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("  Solve:\n    x² = 4\n\n".encode()), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "# Problem\n\n  Solve:\n    x² = 4\n\n# Thoughts" in run("--problem", "-", "--show-prompt").out


def test_bytes_that_are_not_utf_8_are_replaced(serve, run, monkeypatch):
    endpoint = serve(*recorded("die"))
    monkeypatch.setenv("OPENAI_MODEL", "")
    assert run("--problem", "a\udcffb", "--model", "c\udcffd").status == 0
    assert "\n\na\ufffdb\n\n" in endpoint.prompts[0]
    assert endpoint.requests[0]["body"]["model"] == "c\ufffdd"


def test_the_model_of_the_command_line_goes_before_that_of_the_environment(serve, run, monkeypatch):
    endpoint = serve(*recorded("die"))
    monkeypatch.setenv("OPENAI_MODEL", "from-the-environment")
    run("--model", "from-the-command-line")
    assert {request["body"]["model"] for request in endpoint.requests} == {"from-the-command-line"}


@pytest.mark.parametrize("limit", ["1", "30"])
def test_show_prompt_prints_exactly_what_would_be_sent(serve, run, limit):
    endpoint = serve(*recorded("die"))
    run("--max-thoughts", limit)
    assert run("--max-thoughts", limit, "--show-prompt").out == endpoint.prompts[0]


def test_edited_instructions_reach_the_model_unchanged(serve, run, monkeypatch):
    text = 'Use {braces}, %s, 100%, $HOME and \\n or \\frac.\n\n```yaml\nkey: "{x}"\n```\n'
    monkeypatch.setattr(nodes, "INSTRUCTIONS", text)
    endpoint = serve(*recorded("die"))
    run()
    assert all(prompt.startswith(text) for prompt in endpoint.prompts)


def test_the_log_of_the_client_stays_off(serve):
    serve(*recorded("die"))
    environment = {**os.environ, "OPENAI_LOG": "debug"}
    done = subprocess.run([sys.executable, "main.py"], cwd=ROOT, env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_python_without_assertions_is_refused():
    done = subprocess.run([sys.executable, "-O", "main.py"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "-O" in done.stderr


def test_verbose_shows_prompts_replies_and_costs_but_never_the_key(serve, run):
    usage = {
        "prompt_tokens": 812,
        "completion_tokens": 301,
        "total_tokens": 1113,
        "prompt_tokens_details": {"cached_tokens": 768},
    }
    replies = recorded("die")
    endpoint = serve(completion(replies[0], usage=usage), *replies[1:])
    result = run("-v", "--model", "some-model")
    for text in endpoint.prompts + replies:
        assert text in result.err
    costs = re.findall(r"=== Reply \(some-model, \d+\.\d seconds, (.*)\) ===", result.err)
    assert costs == ["812 prompt tokens, 768 cached tokens, 301 completion tokens"] + ["tokens not reported"] * 5
    assert "sk-local" not in result.err
    assert "HTTP" not in result.err
    assert result.out == (RECORDINGS / "die" / "trace.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--problem", " \n"], "the problem is blank"),
        (["--max-thoughts", "0"], "'0' is not a whole number from 1 up"),
        (["--max-thoughts", "x"], "'x' is not a whole number from 1 up"),
        (["--max-thoughts", "2.5"], "'2.5' is not a whole number from 1 up"),
        (["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_done(serve, run, arguments, message):
    endpoint = serve()
    result = run(*arguments)
    assert (result.status, result.out, endpoint.requests) == (2, "", [])
    assert message in result.err


@pytest.mark.parametrize("arguments", [["--help"], ["--show-prompt"], ["--max-thoughts", "0"]])
def test_the_client_is_not_loaded_where_no_model_is_called(arguments):
    code = f"import sys, main\ntry: main.main({arguments})\nfinally: sys.exit('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "script, output",
    [
        ("plan_format.py", "- [Verification Needed] Solve the system (y looks wrong)"),
        ("read_reply.py", "{'current_thinking': 'It is 42.', "),
        ("call_llm.py", "gpt-6-luna: ready"),
    ],
)
def test_each_file_of_utils_can_be_tried_on_its_own(serve, script, output):
    serve("ready")
    done = subprocess.run([sys.executable, f"utils/{script}"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert output in done.stdout
