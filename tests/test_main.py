"""The command line, the process, and the use from Python."""

import contextlib
import io
import logging
import os
import pathlib
import re
import threading
import types

import pytest

from flow import create_chain_of_thought_flow
from tests.conftest import MAIN, run_python, run_shell, start
from tests.loopback import completion, error, printed_trace, recorded, recorded_problem, reply

ROOT = pathlib.Path(MAIN).parent
REPLIES = recorded("die-2")
TRACE = printed_trace("die-2")


@pytest.mark.parametrize("variable, option, model", [
    (None, [], "gpt-6-luna"), ("", [], "gpt-6-luna"), ("a", [], "a"), ("a", ["--model", "b"], "b")
])
def test_only_messages_and_the_chosen_model_are_sent(serve, run, monkeypatch, variable, option, model):
    endpoint = serve(*REPLIES)
    monkeypatch.delenv("OPENAI_MODEL") if variable is None else monkeypatch.setenv("OPENAI_MODEL", variable)
    run(*option)
    for request, prompt in zip(endpoint.requests, endpoint.prompts):
        assert request["path"] == "/v1/chat/completions"
        assert request["body"] == {"model": model, "messages": [{"role": "user", "content": prompt}]}


def test_the_problem_can_come_from_standard_input():
    problem = "\ufeff  Solve:\r\n    x² = 4\n\n".encode()
    result = run_python(MAIN, "--problem", "-", "--show-prompt", input=problem, LC_ALL="C")
    assert "# Problem\n\n  Solve:\n    x² = 4\n\n# Thoughts" in result.out


def test_an_unreadable_standard_input_is_wrong_usage():
    result = run_shell("--problem - <&-")
    assert result.status == 2 and "error: standard input: " in result.err


def test_bytes_that_are_not_utf_8_are_replaced(serve, run):
    endpoint = serve(*REPLIES)
    assert run("--problem", "a\udcffb").status == 0
    assert "\n\na?b\n\n" in endpoint.prompts[0]


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
    headings = re.findall(r"^=== Thought (\d, try \d: the (?:turn|reply))", result.err, re.M)
    tries = ["1, try 1", "2, try 1", "2, try 2", "3, try 1"]
    assert headings == [f"{one_try}: the {what}" for one_try in tries for what in ("turn", "reply")]
    cost = r"1 request, [\d.]+ seconds, 1,812 prompt tokens, 768 cached tokens, 301 completion tokens"
    assert re.search(rf"the reply \(some-model, {cost}\) ===", result.err)
    assert result.err.count("Retrying request") == 1
    assert result.err.splitlines()[-1].startswith("3 thoughts, saved in runs/")
    assert "sk-local" not in result.err


def test_what_other_packages_log_is_not_shown(serve, run):
    def answer_and_log(handler):
        logging.getLogger("httpx").warning("HTTP Request")
        completion(REPLIES[0])(handler)

    serve(answer_and_log)
    assert "HTTP Request" not in run("--step", "-v").err


@pytest.mark.parametrize("name, value, encoding", [("LC_ALL", "C", "utf-8"), ("PYTHONIOENCODING", "ascii", "ascii")])
def test_a_pipe_gets_the_trace_in_utf_8_or_the_encoding_of_the_user(serve, name, value, encoding):
    serve(*recorded("trains-2"))
    result = run_python(MAIN, "--problem", recorded_problem("trains-2"), **{name: value, "OPENAI_LOG": "debug"})
    trace = printed_trace("trains-2").encode(encoding, "replace").decode()
    assert (result.status, result.out, result.err) == (0, trace, "")


@pytest.mark.parametrize("arguments", [[], ["--show-prompt"]])
def test_a_closed_pipe_ends_the_run_silently(serve, arguments):
    serve(*REPLIES)
    with start(*arguments) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait(30)) == (b"", 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_said(serve):
    serve(*REPLIES)
    result = run_shell("> /dev/full")
    assert (result.status, result.err) == (1, "The trace cannot be written: No space left on device.\n")


@pytest.mark.parametrize("package", ["openai", "pocketflow", "yaml"])
def test_a_missing_package_is_named(package):
    hide = f"import importlib.util as u; find = u.find_spec; u.find_spec = lambda n: n != {package!r} and find(n)"
    result = run_python("-c", f"{hide}; import runpy; runpy.run_path({MAIN!r})")
    assert result.status == 1
    assert result.err.count("\n") == 1 and package in result.err and "pip install -r requirements.txt" in result.err


def test_it_does_the_same_isolated_from_its_folder_and_without_assertions(serve):
    serve(reply(plan=["[Odd] Solve", "[Pending] Conclusion"]), *REPLIES)
    result = run_python("-I", "-O", MAIN)
    assert (result.status, result.out) == (0, TRACE) and "is 'Odd'" in result.err


def test_without_standard_error_the_run_is_the_same(serve):
    endpoint = serve("nonsense", *REPLIES)
    result = run_shell("-v 2>&-")
    assert (result.status, result.out, len(endpoint.requests)) == (0, TRACE, 4)


@pytest.mark.parametrize("arguments", [["--help"], ["--show-prompt"], ["--max-thoughts", "0"]])
def test_the_client_is_not_loaded_where_no_model_is_called(arguments):
    code = f"import sys, main\ntry: main.main({arguments})\nfinally: sys.exit('openai' in sys.modules)"
    assert run_python("-c", code, PYTHONPATH=str(ROOT)).status == 0


def test_the_call_can_be_tried_on_its_own(serve):
    serve("ready")
    assert run_python(ROOT / "utils" / "call_llm.py") == (0, "gpt-6-luna: ready\n", "")


def test_the_flow_needs_only_a_problem(serve, capsys):
    serve(*REPLIES)
    shared = {"problem": recorded_problem("die")}
    create_chain_of_thought_flow().run(shared)
    assert set(shared) == {"problem", "thoughts", "current_thought_number", "solution"}
    assert shared["solution"].startswith("**Answer: the probability") and shared["current_thought_number"] == 3
    assert f"🤔 Problem: {shared['problem']}\n\n{capsys.readouterr().out}" == TRACE
    assert os.listdir() == []


@pytest.mark.parametrize("failure, message", [(error(401, "No."), "No."), ("nonsense", "Thought 2: gave up after 3")])
def test_a_failed_flow_raises_an_exception_and_can_be_run_again(serve, failure, message):
    shared = {"problem": recorded_problem("die")}
    serve(REPLIES[0], *[failure] * 3)
    with pytest.raises(Exception, match=message):
        create_chain_of_thought_flow().run(shared)
    serve(*REPLIES[1:])
    create_chain_of_thought_flow().run(shared)
    assert [thought["thought_number"] for thought in shared["thoughts"]] == [1, 2, 3]
    assert shared["solution"]


def answer_from(replies):
    """A call_llm of another provider."""
    replies = iter(replies)
    return lambda prompt: next(replies)


def test_what_a_function_that_answers_raises_is_shown_as_what_it_is(run, monkeypatch):
    def call_llm(prompt):
        raise ConnectionResetError("my own connection")

    flow = lambda *arguments: create_chain_of_thought_flow(*arguments, call_llm=call_llm)
    monkeypatch.setattr("main.create_chain_of_thought_flow", flow)
    with pytest.raises(ConnectionResetError, match="my own connection"):
        run()


@pytest.mark.parametrize("limit, message", [(3, "solved already"), (1, "limit of 1 thought is reached")])
def test_a_flow_that_has_ended_does_not_go_on(limit, message):
    shared = {"problem": "x"}
    create_chain_of_thought_flow(limit, call_llm=answer_from(REPLIES)).run(shared)
    assert bool(shared["solution"]) == (limit == 3)
    shared["solution"] = None
    with pytest.raises(ValueError, match=message):
        create_chain_of_thought_flow(limit, call_llm=answer_from([])).run(shared)
    assert len(shared["thoughts"]) == limit


def test_what_standard_output_cannot_encode_is_replaced_in_a_flow_too():
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "ascii")) as out:
        create_chain_of_thought_flow(1, call_llm=answer_from([reply("甲")])).run({"problem": "x"})
        assert b"\n  ?\n" in out.buffer.getvalue()


def test_a_flow_with_any_function_runs_in_a_thread_with_a_stdout_that_can_only_write(caplog):
    caplog.set_level("DEBUG", "chain_of_thought")
    shared, written = {"problem": "x"}, []
    write_only = types.SimpleNamespace(write=written.append, flush=lambda: None)
    with contextlib.redirect_stdout(write_only), contextlib.redirect_stderr(write_only):
        flow = create_chain_of_thought_flow(call_llm=answer_from(REPLIES))
        thread = threading.Thread(target=flow.run, args=(shared,))
        thread.start()
        thread.join(20)
    assert "".join(written) == TRACE.split("\n\n", 1)[1]
    assert "cost" not in shared["thoughts"][0] and all(reply in caplog.text for reply in REPLIES)


def test_a_thought_is_saved_before_it_is_printed(capsys):
    printed = []
    save = lambda shared: printed.append((len(shared["thoughts"]), capsys.readouterr().out[:10]))
    create_chain_of_thought_flow(save=save, call_llm=answer_from(REPLIES)).run({"problem": "x"})
    assert printed == [(1, ""), (2, "Thought 1:"), (3, "Thought 2:")]
