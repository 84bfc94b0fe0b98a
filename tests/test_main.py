"""The command line, the process, and the use from Python."""

import contextlib
import io
import logging
import os
import pathlib
import re
import subprocess
import sys
import threading

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


def test_verbose_shows_turns_replies_tries_and_costs_once_but_never_the_key(serve, run):
    usage = {"prompt_tokens": 1812, "completion_tokens": 301, "total_tokens": 2113}
    usage["prompt_tokens_details"] = {"cached_tokens": 768}
    endpoint = serve(completion(REPLIES[0], usage=usage), error(503, "Busy."), "nonsense", *REPLIES[1:])
    result = run("-v", "--model", "some-model")
    assert (result.status, result.out) == (0, TRACE)
    turns = [prompt.split("# Your turn\n\n")[1] for prompt in endpoint.prompts]
    for text in [turns[0], turns[3], turns[4], *REPLIES]:
        assert result.err.count(text.strip()) == 1
    assert "# Rules" not in result.err and "Your last reply to this was rejected" in result.err
    headings = re.findall(r"^=== Thought (\d), try (\d): the (turn|reply)", result.err, re.M)
    assert headings == [(n, k, what) for n, k in (("1", "1"), ("2", "1"), ("2", "2"), ("3", "1")) for what in ("turn", "reply")]
    cost = r"1 request, [\d.]+ seconds, 1,812 prompt tokens, 768 cached tokens, 301 completion tokens"
    assert re.search(rf"the reply \(some-model, {cost}\) ===", result.err)
    assert result.err.count("Retrying request") == 1
    assert result.err.splitlines()[-1].startswith("3 thoughts, saved in runs/")
    assert "sk-local" not in result.err


@pytest.mark.parametrize("option", [[], ["-v"]])
def test_what_other_packages_log_is_not_shown(serve, run, option):
    def answer_and_log(handler):
        logging.getLogger("httpx").warning("HTTP Request")
        completion(REPLIES[0])(handler)

    serve(answer_and_log)
    assert "HTTP Request" not in run("--step", *option).err


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


def test_python_without_assertions_checks_as_much(serve):
    serve(reply(plan=["[Odd] Solve", "[Pending] Conclusion"]), *REPLIES)
    result = run_process(python=["-O"])
    assert (result.status, result.out) == (0, TRACE) and "is 'Odd'" in result.err


def test_without_standard_error_the_run_is_the_same(serve):
    endpoint = serve("nonsense", *REPLIES)
    command = f'"{sys.executable}" "{MAIN}" -v 2>&-'
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, timeout=30)
    assert (done.returncode, done.stdout.decode(), len(endpoint.requests)) == (0, TRACE, 4)


def test_the_messages_go_nowhere_where_python_has_no_standard_error(serve):
    serve(*REPLIES)
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.stderr = None; import main; sys.exit(main.main([]))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=30)
    assert (done.returncode, done.stdout.decode()) == (0, TRACE)


@pytest.mark.parametrize("arguments", [["--help"], ["--show-prompt"], ["--max-thoughts", "0"]])
def test_the_client_is_not_loaded_where_no_model_is_called(arguments):
    code = f"import sys, main\ntry: main.main({arguments})\nfinally: sys.exit('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=30)
    assert done.returncode == 0


def test_the_call_can_be_tried_on_its_own(serve):
    serve("ready")
    script = ROOT / "utils" / "call_llm.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "gpt-6-luna: ready\n", "")


# From Python


def test_the_flow_needs_only_a_problem(serve, capsys):
    serve(*REPLIES)
    shared = {"problem": recorded_problem("die")}
    create_chain_of_thought_flow().run(shared)
    assert set(shared) == {"problem", "thoughts", "current_thought_number", "solution"}
    assert shared["solution"].startswith("**Answer: the probability") and shared["current_thought_number"] == 3
    assert f"🤔 Problem: {shared['problem']}\n\n{capsys.readouterr().out}" == TRACE
    assert os.listdir() == []


@pytest.mark.parametrize("failure", [error(401, "No."), "nonsense"])
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


def answer_from(replies):
    """A call_llm of another provider."""
    replies = iter(replies)
    return lambda prompt: next(replies)


def test_any_function_can_answer(capsys, caplog):
    shared = {"problem": recorded_problem("die")}
    with caplog.at_level("DEBUG", "chain_of_thought"):
        create_chain_of_thought_flow(call_llm=answer_from(REPLIES)).run(shared)
    assert shared["solution"] and capsys.readouterr().out in TRACE
    assert "cost" not in shared["thoughts"][0]
    assert all(reply in caplog.text for reply in REPLIES)


def test_what_a_function_that_answers_raises_is_shown_as_what_it_is(run, monkeypatch):
    def call_llm(prompt):
        raise ConnectionResetError("my own connection")

    monkeypatch.setattr("main.create_chain_of_thought_flow", lambda *a: create_chain_of_thought_flow(*a, call_llm=call_llm))
    with pytest.raises(ConnectionResetError, match="my own connection"):
        run()


def test_a_solved_problem_is_not_thought_on():
    shared = {"problem": "x"}
    create_chain_of_thought_flow(call_llm=answer_from(REPLIES)).run(shared)
    shared["solution"] = None
    with pytest.raises(ValueError, match="solved already"):
        create_chain_of_thought_flow(call_llm=answer_from([])).run(shared)
    assert len(shared["thoughts"]) == 3


def test_a_flow_at_its_limit_does_not_go_on():
    shared = {"problem": "x"}
    create_chain_of_thought_flow(1, call_llm=answer_from(REPLIES)).run(shared)
    with pytest.raises(ValueError, match="limit of 1 thought is reached"):
        create_chain_of_thought_flow(1, call_llm=answer_from([])).run(shared)
    assert len(shared["thoughts"]) == 1 and shared["solution"] is None


def test_what_standard_output_cannot_encode_is_replaced_in_a_flow_too():
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "ascii")) as out:
        create_chain_of_thought_flow(1, call_llm=answer_from([reply("甲")])).run({"problem": "x"})
        assert b"\n  ?\n" in out.buffer.getvalue()


class WriteOnly:
    """All that an object in the place of standard output needs."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_the_flow_runs_in_a_thread_with_a_stdout_that_can_only_write():
    with contextlib.redirect_stdout(WriteOnly()) as out, contextlib.redirect_stderr(WriteOnly()):
        flow = create_chain_of_thought_flow(call_llm=answer_from(REPLIES))
        thread = threading.Thread(target=flow.run, args=({"problem": "x"},))
        thread.start()
        thread.join(20)
    assert out.text == TRACE.split("\n\n", 1)[1]


def test_a_thought_is_saved_before_it_is_printed(capsys):
    printed = []
    save = lambda shared: printed.append((len(shared["thoughts"]), capsys.readouterr().out[:10]))
    create_chain_of_thought_flow(save=save, call_llm=answer_from(REPLIES)).run({"problem": "x"})
    assert printed == [(1, ""), (2, "Thought 1:"), (3, "Thought 2:")]
