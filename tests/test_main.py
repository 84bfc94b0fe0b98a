"""The command line, the process, and the use from Python."""

import contextlib
import io
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import types

import pytest

from flow import create_chain_of_thought_flow
from tests.conftest import MAIN, run_command, run_python, run_shell, start
from tests.loopback import completion, error, printed_trace, recorded, recorded_problem, reply

ROOT = pathlib.Path(MAIN).parent
REPLIES = recorded("die-2")
TRACE = printed_trace("die-2")
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # With it, Python can only write ASCII.


@pytest.mark.parametrize("variable, option, model", [("", [], "gpt-6-luna"), ("a", [], "a"), ("a", ["--model=b"], "b")])
def test_only_messages_and_the_chosen_model_are_sent(serve, run, monkeypatch, variable, option, model):
    endpoint = serve(*REPLIES)
    monkeypatch.setenv("OPENAI_MODEL", variable)
    run(*option)
    for request, prompt in zip(endpoint.requests, endpoint.prompts):
        assert request["path"] == "/v1/chat/completions"
        assert request["body"] == {"model": model, "messages": [{"role": "user", "content": prompt}]}


def test_the_problem_can_come_from_standard_input_and_with_the_line_ends_of_windows(run):
    prompt = run("--problem", "  Solve:\r\n    x² = 4", "--show-prompt").out
    assert "# Problem\n\n  Solve:\n    x² = 4\n\n# Thoughts" in prompt
    problem = "\ufeff  Solve:\r\n    x² = 4\n\n".encode()
    assert run_python(MAIN, "--problem", "-", "--show-prompt", input=problem, **ASCII) == (0, prompt, "")


@pytest.mark.parametrize("after, before, message", [("<&-", "", "Bad file"), ("", "printf '\\366' |", "UTF-8")])
def test_an_unreadable_standard_input_is_wrong_usage(after, before, message):
    result = run_shell(f"--problem - {after}", before)
    assert result.status == 2 and message in result.err.splitlines()[-1]


def test_an_interrupt_while_the_problem_is_typed_ends_the_program():
    with subprocess.Popen([sys.executable, MAIN, "--problem", "-"], stdin=-1, stderr=-1) as process:
        os.write(process.stdin.fileno(), b"x" * 100_000)  # More than a pipe holds, so that it is being read now.
        process.send_signal(signal.SIGINT)
        assert (process.communicate(timeout=60)[1], process.returncode) == (b"Interrupted.\n", 130)


def test_verbose_shows_turns_replies_tries_and_costs_once_but_never_the_key(serve, run):
    usage = {"prompt_tokens": 1812, "completion_tokens": 301, "prompt_tokens_details": {"cached_tokens": 768}}
    log = lambda handler: (logging.getLogger("httpx").warning("Theirs."), completion(REPLIES[0], usage=usage)(handler))
    endpoint = serve(log, error(503, "Busy."), "nonsense", *REPLIES[1:])
    result = run("-v", "--model", "some-model")
    assert (result.status, result.out) == (0, TRACE)
    turns = [prompt.split("# Your turn\n\n")[1] for prompt in endpoint.prompts]
    for text in [turns[0], turns[3], turns[4], *REPLIES]:
        assert result.err.count(text.strip()) == 1
    assert "# Rules" not in result.err and "Your last reply to this was rejected" in result.err
    tries = re.findall(r"^=== Thought (\d, try \d): the (?:turn|reply)", result.err, re.M)
    assert tries == ["1, try 1"] * 2 + ["2, try 1"] * 2 + ["2, try 2"] * 2 + ["3, try 1"] * 2
    cost = r"1 request, [\d.]+ seconds, 1,812 prompt tokens, 768 cached tokens, 301 completion tokens"
    assert re.search(rf"the reply \({cost} \(some-model\)\) ===", result.err)
    assert result.err.count("Retrying request") == 1 and "sk-local" not in result.err and "Theirs." not in result.err


@pytest.mark.parametrize("environment, encoding", [(ASCII, "utf-8"), ({"PYTHONIOENCODING": "ascii"}, "ascii")])
def test_a_pipe_gets_the_trace_in_utf_8_or_the_encoding_of_the_user(serve, run, environment, encoding):
    serve(*REPLIES)
    run()
    result = run_python(MAIN, "--resume", **environment)
    assert result == (0, TRACE.encode(encoding, "replace").decode(encoding), "")


@pytest.mark.parametrize("arguments", [[], ["--show-prompt"]])
def test_a_closed_pipe_ends_the_run_silently(arguments):
    with start(*arguments) as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 1)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_said():
    result = run_shell("> /dev/full")
    assert result.status == 1 and re.fullmatch(".*No space left on device.*\n", result.err)


@pytest.mark.parametrize("package", ["openai", "pocketflow", "yaml"])
def test_a_missing_package_is_named(package):
    code = f"import runpy, sys; sys.modules[{package!r}] = None; runpy.run_path({MAIN!r}, run_name='__main__')"
    result = run_python("-c", code, OPENAI_API_KEY="x")
    assert result.status == 1 and re.fullmatch(f".*{package}.*pip install -r requirements.txt.*\n", result.err)


def test_it_does_the_same_isolated_without_assertions_and_without_standard_error(serve):
    endpoint = serve(reply(plan=["[Odd] Solve", "[Pending] Conclusion"]), *REPLIES)
    result = run_command("sh", "-c", f'"{sys.executable}" -I -O "{MAIN}" -v 2>&-')
    assert (result.status, result.out, len(endpoint.requests)) == (0, TRACE, 4)


def test_help_and_wrong_usage_and_the_prompt_do_not_load_the_client():
    code = "import sys, main\nfor option in ('--help', '--show-prompt', '--after=x'):\n try: main.main([option])"
    code += "\n except SystemExit: pass\nsys.exit('openai' in sys.modules)"
    result = run_python("-c", code, PYTHONPATH=str(ROOT))
    assert result.status == 0 and "default: 30" in " ".join(result.out.split()) and "This is Thought 1." in result.out


def test_the_call_can_be_tried_on_its_own(serve):
    serve("ready")
    assert run_python(ROOT / "utils" / "call_llm.py", OPENAI_MODEL="mine") == (0, "mine: ready\n", "")


@pytest.mark.parametrize("options, trace", [([], TRACE), (["--step"], TRACE[: TRACE.index("Thought 2:")])])
def test_another_provider_is_one_function_in_main(run, monkeypatch, options, trace):
    environment, asked = dict(os.environ), []
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setattr("main.call_llm", lambda prompt, model: asked.append(model) or REPLIES[len(asked) - 1])
    result = run("-v", "--model", "theirs", *options)
    assert (result.status, result.out, set(asked), dict(os.environ)) == (0, trace, {"theirs"}, environment)
    assert re.search(r"took \d requests?, [\d.]+ seconds\.", result.err.splitlines()[-1])


@pytest.mark.parametrize("call_llm, failure, message", [
    (lambda prompt, model: open("no/such/file"), OSError, "no/such/file"), (lambda *_, **__: 42, TypeError, "not int")
])
def test_what_a_function_that_answers_does_wrong_is_shown_as_it_is(run, monkeypatch, call_llm, failure, message):
    monkeypatch.setattr("main.call_llm", call_llm)
    with pytest.raises(failure, match=message):
        run()


@pytest.mark.parametrize("failure, message", [(error(401, "No."), "No."), ("nonsense", "Thought 2: gave up after 3")])
def test_a_flow_needs_only_a_problem_and_can_be_run_again_after_a_failure(serve, capsys, failure, message):
    shared = {"problem": recorded_problem("die")}
    serve(REPLIES[0], *[failure] * 3)
    with pytest.raises(Exception, match=message):
        create_chain_of_thought_flow().run(shared)
    serve(*REPLIES[1:])
    create_chain_of_thought_flow().run(shared)
    assert set(shared) == {"problem", "thoughts", "current_thought_number", "solution"}
    assert shared["solution"].startswith("**Answer: the probability") and shared["current_thought_number"] == 3
    assert f"🤔 Problem: {shared['problem']}\n\n{capsys.readouterr().out}" == TRACE and os.listdir() == []


def answer_from(replies):
    """A call_llm of another provider."""
    replies = iter(replies)
    return lambda prompt: next(replies)


@pytest.mark.parametrize("limits, count, replies, message", [
    ([], 30, [reply()] * 99, "limit of 30 thoughts is reached"),
    ([1], 1, REPLIES, "limit of 1 thought is reached"),
    ([3], 3, REPLIES, "solved already"),
])
def test_a_flow_that_has_ended_does_not_continue(limits, count, replies, message):
    shared = {"problem": "x"}
    create_chain_of_thought_flow(*limits, call_llm=answer_from(replies)).run(shared)
    assert (len(shared["thoughts"]), bool(shared["solution"])) == (count, "solved" in message)
    with pytest.raises(ValueError, match=message):
        create_chain_of_thought_flow(*limits, call_llm=answer_from([])).run({**shared, "solution": None})


def test_what_standard_output_cannot_encode_is_replaced_in_a_flow_too():
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "ascii")) as out:
        create_chain_of_thought_flow(1, call_llm=answer_from([reply("甲")])).run({"problem": "x"})
        assert b"\n  ?\n" in out.buffer.getvalue()


def test_a_flow_runs_in_a_thread_with_any_function_any_stdout_and_saves_before_it_prints(caplog):
    caplog.set_level("DEBUG", "chain_of_thought")
    shared, written, saved = {"problem": "x"}, [], []
    save = lambda shared: saved.append((len(shared["thoughts"]), "".join(written).count("Plan Status:")))
    write_only = types.SimpleNamespace(write=written.append, flush=lambda: None)
    with contextlib.redirect_stdout(write_only), contextlib.redirect_stderr(write_only):
        flow = create_chain_of_thought_flow(save=save, call_llm=answer_from([None, *REPLIES]))
        thread = threading.Thread(target=flow.run, args=(shared,))
        thread.start()
        thread.join(60)
    assert "".join(written) == TRACE.split("\n\n", 1)[1] and saved == [(1, 0), (2, 1), (3, 2)]
    assert "it is empty" in caplog.text and all(text in caplog.text for text in REPLIES)
    assert [thought["cost"]["requests"] for thought in shared["thoughts"]] == [2, 1, 1]
