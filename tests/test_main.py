"""The command line, the process, and the use from Python."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys

import pytest

from flow import create_chain_of_thought_flow
from tests.conftest import MAIN, run_process
from tests.loopback import completion, error, recorded, recorded_problem, recorded_trace, reply

ROOT = pathlib.Path(MAIN).parent
REPLIES = recorded("die-2")
TRACE = recorded_trace("die-2")


def test_nothing_is_sent_but_model_and_messages(serve, run):
    endpoint = serve(*REPLIES)
    run("--model", "some-model")
    assert endpoint.requests[0]["path"] == "/v1/chat/completions"
    message = {"role": "user", "content": endpoint.prompts[0]}
    assert endpoint.requests[0]["body"] == {"model": "some-model", "messages": [message]}


@pytest.mark.parametrize(
    "variable, option, sent", [(None, [], "gpt-6-luna"), ("", [], "gpt-6-luna"), ("a", [], "a"), ("a", ["--model", "b"], "b")]
)
def test_the_model_is_that_of_the_option_then_of_the_environment(serve, run, monkeypatch, variable, option, sent):
    endpoint = serve(*REPLIES)
    monkeypatch.setenv("OPENAI_MODEL", variable or "") if variable is not None else None
    run(*option)
    assert {request["body"]["model"] for request in endpoint.requests} == {sent}


def test_the_default_problem_is_the_one_about_the_die(serve, run):
    endpoint = serve(*REPLIES)
    assert run().out.startswith(f"🤔 Problem: {recorded_problem('die')}\n\n")
    assert recorded_problem("die") in endpoint.prompts[0]


def test_the_problem_can_come_from_standard_input():
    result = run_process("--problem", "-", "--show-prompt", input="\ufeff  Solve:\r\n    x² = 4\n\n".encode(), LC_ALL="C")
    assert "# Problem\n\n  Solve:\n    x² = 4\n\n# Thoughts" in result.out


@pytest.mark.parametrize("redirection", ["<&-", "0>/dev/null"])
def test_an_unreadable_standard_input_is_wrong_usage(redirection):
    command = f'"{sys.executable}" "{MAIN}" --problem - {redirection}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "error: standard input: " in done.stderr


def test_bytes_that_are_not_utf_8_are_replaced(serve, run):
    endpoint = serve(*REPLIES)
    assert run("--problem", "a\udcffb").status == 0
    assert "\n\na?b\n\n" in endpoint.prompts[0]


@pytest.mark.parametrize("limit", ["1", "30"])
def test_show_prompt_prints_exactly_what_would_be_sent(serve, run, limit):
    endpoint = serve(*REPLIES)
    run("--max-thoughts", limit)
    assert run("--max-thoughts", limit, "--show-prompt").out == endpoint.prompts[0]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--problem", " \n"], "the problem is blank"),
        (["--max-thoughts", "0"], "--max-thoughts must be at least 1"),
        (["--max-thoughts", "2.5"], "invalid int value: '2.5'"),
        (["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_done(serve, run, arguments, message):
    endpoint = serve()
    result = run(*arguments)
    assert (result.status, result.out, endpoint.requests, os.listdir()) == (2, "", [], [])
    assert message in result.err


def test_verbose_shows_prompts_replies_tries_and_costs_but_never_the_key(serve, run):
    usage = {"prompt_tokens": 812, "completion_tokens": 301, "total_tokens": 1113}
    usage["prompt_tokens_details"] = {"cached_tokens": 768}
    endpoint = serve(completion(REPLIES[0], usage=usage), error(503, "Busy."), "nonsense", *REPLIES[1:])
    result = run("-v", "--model", "some-model")
    assert (result.status, result.out) == (0, TRACE)
    for text in [*endpoint.prompts, *REPLIES, "nonsense"]:
        assert text in result.err
    assert re.findall(r"=== (Thought \d, try \d) ===", result.err) == [f"Thought {n}" for n in ("1, try 1", "2, try 1", "2, try 2", "3, try 1")]
    costs = re.findall(r"=== Reply \(some-model, \d+\.\d seconds, (.*)\) ===", result.err)
    assert costs == ["812 prompt tokens, 768 cached tokens, 301 completion tokens"] + ["tokens not reported"] * 3
    assert result.err.count("Retrying request") == 1
    assert "sk-local" not in result.err


# The process


def test_a_pipe_gets_the_trace_in_utf_8_and_nothing_else(serve):
    serve(*recorded("trains-2"))
    result = run_process("--problem", recorded_problem("trains-2"), LC_ALL="C", OPENAI_LOG="debug")
    assert (result.status, result.out, result.err) == (0, recorded_trace("trains-2"), "")


def test_what_an_encoding_of_the_user_lacks_is_replaced(serve):
    serve(*recorded("trains-2"))
    result = run_process("-v", "--problem", recorded_problem("trains-2"), PYTHONIOENCODING="ascii")
    assert (result.status, result.out) == (0, recorded_trace("trains-2").encode("ascii", "replace").decode())


def test_each_thought_is_out_before_the_next_is_asked_for(serve):
    endpoint = serve()
    endpoint.answers = [completion(REPLIES[0]), endpoint.silence]
    with subprocess.Popen([sys.executable, MAIN], stdout=subprocess.PIPE) as process:
        endpoint.wait_for_request(2)
        os.set_blocking(process.stdout.fileno(), False)
        written = process.stdout.read()
        process.kill()
    assert written.decode() == TRACE[: TRACE.index("Thought 2:")]


@pytest.mark.parametrize("arguments", [[], ["--show-prompt"]])
def test_a_closed_pipe_ends_the_run_silently(serve, arguments):
    serve(*REPLIES)
    process = subprocess.Popen([sys.executable, MAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert (process.stderr.read(), process.wait(30)) == (b"", 1)
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_said(serve):
    serve(*REPLIES)
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, MAIN], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (1, "The trace cannot be written: No space left on device.\n")


@pytest.mark.parametrize("package", ["openai", "pocketflow", "yaml"])
def test_a_missing_package_is_named(package):
    code = f"import importlib.util as u, runpy, sys; find = u.find_spec; u.find_spec = lambda n: None if n == {package!r} else find(n); runpy.run_path({MAIN!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and package in done.stderr and "pip install -r requirements.txt" in done.stderr


def test_it_runs_isolated_from_its_folder():
    assert run_process("--show-prompt", python=["-I"]).status == 0


def test_python_without_assertions_is_refused():
    result = run_process(python=["-O"])
    assert result.status == 2 and "-O" in result.err


@pytest.mark.parametrize("arguments", [["--help"], ["--show-prompt"], ["--max-thoughts", "0"]])
def test_the_client_is_not_loaded_where_no_model_is_called(arguments):
    code = f"import sys, main\ntry: main.main({arguments})\nfinally: sys.exit('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=30)
    assert done.returncode == 0


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "utils").glob("[a-z]*.py")))
def test_each_file_of_utils_can_be_tried_on_its_own(serve, script):
    serve("ready")
    done = subprocess.run([sys.executable, ROOT / "utils" / script], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gpt-6-luna: ready\n") or script != "call_llm.py" and done.stdout


# From Python


def test_the_flow_needs_only_a_problem(serve, capsys):
    serve(*REPLIES)
    shared = {"problem": recorded_problem("die")}
    create_chain_of_thought_flow().run(shared)
    assert set(shared) == {"problem", "thoughts", "current_thought_number", "solution"}
    assert shared["solution"].startswith("**Answer: the probability") and shared["current_thought_number"] == 3
    assert f"🤔 Problem: {shared['problem']}\n\n{capsys.readouterr().out}" == TRACE
    assert os.listdir() == []


@pytest.mark.parametrize("failure", [error(401, "No."), "nonsense", reply(plan=["[Odd] Solve"])])
def test_a_failed_flow_raises_an_exception_and_can_be_run_again(serve, failure):
    shared = {"problem": recorded_problem("die")}
    serve(REPLIES[0], *[failure] * 3)
    with pytest.raises(Exception) as raised:
        create_chain_of_thought_flow().run(shared)
    assert "No." in str(raised.value) or "Thought 2: gave up after 3 rejected replies" in str(raised.value)
    serve(*REPLIES[1:])
    create_chain_of_thought_flow().run(shared)
    assert [thought["thought_number"] for thought in shared["thoughts"]] == [1, 2, 3]
    assert shared["solution"]


def test_the_trace_goes_where_standard_output_is_redirected_to(serve):
    serve(*REPLIES)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        create_chain_of_thought_flow().run({"problem": "x"})
    assert out.getvalue() == TRACE.split("\n\n", 1)[1]


def test_a_thought_is_kept_before_it_is_printed(serve, capsys):
    serve(*REPLIES)
    printed = []
    keep = lambda shared: printed.append((len(shared["thoughts"]), capsys.readouterr().out[:10]))
    create_chain_of_thought_flow(keep=keep).run({"problem": "x"})
    assert printed == [(1, ""), (2, "Thought 1:"), (3, "Thought 2:")]
