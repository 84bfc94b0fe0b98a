"""The command line, the process, and the use from Python."""

import contextlib
import io
import logging
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import types

import pytest
from pocketflow import Flow, Node

import nodes
from flow import create_chain_of_thought_flow
from tests.conftest import MAIN, run_command, run_python, run_shell, saved_runs
from tests.loopback import completion, error
from tests.replies import Model, recorded, reply
from utils.errors import RunFailed

ROOT = pathlib.Path(MAIN).parent
EXAMPLE = str(ROOT / "docs" / "example.yaml")
REPLIES = recorded("die-2")
END = reply(plan=["[Done] Conclusion"], more=False, solution="42")
ODD = reply(plan=["[Odd] Solve", "[Pending] Conclusion"])
CALL_LLM = str(ROOT / "utils" / "call_llm.py")
RUN_MAIN = f"import runpy; sys.argv = ['main.py']; runpy.run_path({MAIN!r}, run_name='__main__')"
PATH = {"PYTHONPATH": str(ROOT)}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # With it, Python can only write ASCII.


@pytest.mark.parametrize("variable, option, model", [("", [], "gpt-6-luna"), ("a", [], "a"), ("a", ["--model=b"], "b")])
def test_only_messages_and_the_chosen_model_are_sent(serve, run, monkeypatch, variable, option, model):
    endpoint = serve(reply(), END)
    monkeypatch.setenv("OPENAI_MODEL", variable)
    assert run(*option).status == 0
    for request, prompt in zip(endpoint.requests, endpoint.prompts):
        assert request["path"] == "/v1/chat/completions"
        assert request["body"] == {"model": model, "messages": [{"role": "user", "content": prompt}]}


def test_the_problem_can_come_from_standard_input_and_with_the_line_ends_of_windows(run):
    prompt = run("--problem", "  Solve:\r\n    x² = 4", "--show-prompt").out
    assert "\n\n  Solve:\n    x² = 4\n\n" in prompt
    problem = "\ufeff  Solve:\r\n    x² = 4\n\n".encode()
    assert run_python(MAIN, "--problem", "-", "--show-prompt", input=problem, **ASCII)[:3] == (0, prompt, "")


@pytest.mark.parametrize("after, before, message", [("<&-", "", "Bad file"), ("", "printf '\\366' |", "UTF-8")])
def test_an_unreadable_standard_input_is_wrong_usage(after, before, message):
    result = run_shell(f"--problem - {after}", before)
    assert result.status == 2 and message in result.err.splitlines()[-1]


@pytest.mark.parametrize("arguments, named", [
    (["--problem", " \n"], "--problem"), (["--problem", "Gr\udcf6\udcdfe"], "UTF-8"), (["a problem"], "a problem"),
    (["--max-thoughts", "0"], "--max-thoughts"), (["--max-thoughts", "x"], "--max-thoughts"),
    (["-q", "--show-prompt"], "--quiet"),
])
def test_wrong_usage_says_what_is_wrong_and_neither_asks_nor_saves(run, arguments, named):
    result = run(*arguments, replies=[END])
    assert (result.status, result.out, result.prompts, os.listdir()) == (2, "", [], [])
    assert named in result.err.splitlines()[-1]


def test_an_interrupt_while_the_problem_is_typed_ends_the_program():
    with subprocess.Popen([sys.executable, MAIN, "--problem", "-"], stdin=-1, stderr=-1) as process:
        os.write(process.stdin.fileno(), b"x" * 100_000)  # More than a pipe holds, so that it is being read now.
        process.send_signal(signal.SIGINT)
        assert (process.communicate(timeout=60)[1].count(b"\n"), process.returncode) == (1, 130)


def test_the_prompt_is_shown_as_it_would_be_sent_and_nothing_is_asked_or_saved(run):
    shown = run("--problem", "x", "--show-prompt", replies=[END])
    assert (shown.status, shown.err, shown.prompts, os.listdir()) == (0, "", [], [])
    assert [shown.out] == run("--problem", "x", replies=[END]).prompts


@pytest.mark.parametrize("replies, status, out", [
    ([END.replace("42", "The answer:\n\n      42 ⚀")], 0, "The answer:\n\n    42 ⚀\n"),
    ([reply(solution="41")], 1, ""), ([reply(solution="41"), RunFailed("No.")], 1, ""),
])
def test_quiet_prints_the_solution_and_nothing_else_once_the_run_is_solved(run, replies, status, out):
    assert run("-q", "--max-thoughts", str(len(replies)), replies=replies)[:2] == (status, out)


def test_verbose_shows_turns_replies_tries_and_costs_once_but_never_the_key(serve, run):
    usage = {"prompt_tokens": 1812, "completion_tokens": 301, "prompt_tokens_details": {"cached_tokens": 768}}
    log = lambda handler: (logging.getLogger("httpx").warning("Theirs."), completion(REPLIES[0], usage=usage)(handler))
    prompts = serve(log, error(503, "Busy."), "nonsense", *REPLIES[1:]).prompts
    result = run("-v", "--model", "some-model", "--problem", "x")
    assert (result.status, result.out) == (0, run("--problem", "x", replies=REPLIES).out)
    turns = [prompt.split("# Your turn\n\n")[1] for prompt in prompts]
    assert turns[3].startswith(turns[2].strip()) and nodes.INSTRUCTIONS not in result.err
    assert all(result.err.count(text.strip()) == 1 for text in [turns[0], turns[3], turns[4], *REPLIES])
    tries = re.findall(r"Thought (\d, try \d)", result.err)
    assert tries[::2] == tries[1::2] == ["1, try 1", "2, try 1", "2, try 2", "3, try 1"]
    cost = r"1 request, [\d.]+ seconds, 1,812 prompt .* 768 cached .* 301 completion .*some-model"
    assert re.search(cost, result.err) and "1812" not in prompts[4] and "1,812" not in prompts[4]
    assert re.search(rf"3 thoughts.*{saved_runs()[0]}.*4 requests.*1,812", result.err.splitlines()[-1])
    assert result.err.count("Retrying request") == 1 and "sk-local" not in result.err and "Theirs." not in result.err


@pytest.mark.parametrize("environment, encoding", [(ASCII, "utf-8"), ({"PYTHONIOENCODING": "ascii"}, "ascii")])
def test_a_pipe_gets_the_trace_in_utf_8_or_the_encoding_of_the_user(run, environment, encoding):
    expected = run("--show", EXAMPLE).out.encode(encoding, "replace").decode(encoding)
    assert run_python(MAIN, "--show", EXAMPLE, **environment)[:3] == (0, expected, "")


@pytest.mark.parametrize("arguments", [["--show", EXAMPLE, "-q"], []])
def test_a_closed_pipe_ends_the_program_silently_before_anything_is_asked(serve, arguments):
    prompts = serve(END).prompts
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as stdout:
        done = subprocess.run([sys.executable, MAIN, *arguments], stdout=stdout, stderr=-1, timeout=60)
    assert (done.stderr, done.returncode, prompts, saved_runs()) == (b"", 1, [], [])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_is_said():
    result = run_shell("> /dev/full")
    assert result.status == 1 and re.fullmatch(".*No space left on device.*\n", result.err)


@pytest.mark.parametrize("package", ["pocketflow", "yaml"])
def test_a_missing_package_is_named(package):
    result = run_python("-c", f"import sys; sys.modules[{package!r}] = None\n{RUN_MAIN}", **PATH)
    assert result.status == 1 and re.fullmatch(f".*{package}.*pip install -r requirements.txt.*\n", result.err)


def test_an_interrupt_while_the_program_loads_leaves_no_traceback():
    finder = "class Finder:\n def find_spec(name, *_): name == 'yaml' and signal.raise_signal(signal.SIGINT)"
    result = run_python("-c", f"import signal, sys\n{finder}\nsys.meta_path.insert(0, Finder)\n{RUN_MAIN}", **PATH)
    assert result.status == 130 and "Traceback" not in result.err


def test_it_does_the_same_without_assertions_and_without_standard_error(run):
    code = f"main(['-v'], Model([{ODD!r}, *recorded('die-2')]))"
    pathlib.Path("own.py").write_text(f"from main import main\nfrom tests.replies import Model, recorded\n{code}")
    result = run_command("sh", "-c", f'"{sys.executable}" -O own.py 2>&-', **PATH)
    assert (result.status, result.out) == (0, run(replies=REPLIES).out)


def test_what_asks_nothing_does_not_load_the_client():
    options = [["--help"], ["--show-prompt"], ["--after=x"], ["--show", EXAMPLE], ["--resume=no.yaml"]]
    code = f"import sys, main\nfor options in {options}:\n try: main.main(options)\n except SystemExit: pass\n"
    result = run_python("-c", f"{code}sys.exit('openai' in sys.modules)", **PATH)
    assert result.status == 0 and "--max-thoughts" in result.out and "Five fillings are needed" in result.out


def test_the_call_can_be_tried_on_its_own(serve):
    serve("ready")
    assert run_python(CALL_LLM, OPENAI_MODEL="mine")[:3] == (0, "mine: ready\n", "")
    result = run_python(CALL_LLM, OPENAI_BASE_URL="", OPENAI_API_KEY="")
    assert (result.status, result.out) == (1, "") and re.fullmatch(".*OPENAI_API_KEY is not set.*\n", result.err)


def test_another_provider_is_one_function_and_only_without_it_the_client_is_needed(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    environment = dict(os.environ)
    step = run("--model", "theirs", "--step", replies=REPLIES)
    assert (step.status, len(step.prompts), run("--resume", "-v", replies=REPLIES[1:]).status) == (0, 1, 0)
    assert dict(os.environ) == environment
    assert re.fullmatch(".*openai.*pip install -r requirements.txt.*\n", run("--problem", "x").err)


@pytest.mark.parametrize("answer, status, said, is_traceback", [
    (RunFailed("Their line."), 1, "Their line.", False),
    (OSError(28, "No space left on their device"), 1, "No space left on their device", True),
    (AssertionError("Their bug."), 1, "AssertionError: Their bug.", True),
    (lambda: 42, 1, "not int", True),
    (lambda: signal.raise_signal(signal.SIGINT), 130, "Interrupted", False),
])
def test_when_a_function_that_answers_fails_the_last_line_is_how_to_continue(run, answer, status, said, is_traceback):
    result = run("--max-thoughts", "9", replies=[REPLIES[0], answer])
    *above, last_line = result.err.splitlines()
    assert (result.status, said in result.err) == (status, True)
    assert (result.err.startswith("Traceback"), bool(above)) == (is_traceback, is_traceback)
    command = shlex.split(last_line[last_line.index("python ") :])
    assert command == ["python", "main.py", "--max-thoughts", "9", "--resume", str(saved_runs()[0])]
    assert run(*command[2:], replies=REPLIES[1:]).status == 0


@pytest.mark.parametrize("failures", [[RunFailed("No.")], [OSError("No.")], [ODD, None, "No."]])
def test_a_flow_needs_only_a_problem_and_can_be_run_again_until_it_is_solved(run, capsys, failures):
    trace = run("--problem", "x", "--run", "x.yaml", replies=REPLIES).out
    shared = {"problem": "x"}
    with pytest.raises(Exception, match=r"No\."):
        create_chain_of_thought_flow(call_llm=Model([REPLIES[0], *failures])).run(shared)
    create_chain_of_thought_flow(call_llm=Model(REPLIES[1:])).run(shared)
    assert set(shared) == {"problem", "thoughts", "current_thought_number", "solution"}
    assert shared["solution"].startswith("**Answer: the probability") and shared["current_thought_number"] == 3
    assert trace.partition("\n\n")[2] == capsys.readouterr().out and os.listdir() == ["x.yaml"]
    with pytest.raises(Exception, match="solved"):
        create_chain_of_thought_flow(call_llm=Model([END])).run(shared)


def test_a_node_without_arguments_asks_the_call_llm_of_nodes_for_at_most_30_thoughts(monkeypatch):
    shared, model = {"problem": "x"}, Model([reply(solution="42")] * 99)
    monkeypatch.setattr(nodes, "call_llm", model)
    node = nodes.ChainOfThoughtNode()
    node - "continue" >> node
    node - "end" >> Node()
    Flow(start=node).run(shared)
    assert (len(model.prompts), len(shared["thoughts"]), shared["solution"]) == (30, 30, None)


def test_what_standard_output_cannot_encode_is_replaced_in_a_flow_too():
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "ascii")) as out:
        create_chain_of_thought_flow(1, call_llm=Model([reply("甲")])).run({"problem": "x"})
        assert b"\n  ?\n" in out.buffer.getvalue()


def test_a_flow_runs_in_a_thread_with_a_stdout_that_can_only_write_and_saves_then_prints_then_asks(run, caplog):
    trace = run("--problem", "x", replies=REPLIES).out
    caplog.set_level("DEBUG", "chain_of_thought")
    written, flushed, log = [], [], []
    count = lambda texts: "".join(texts).count("] Conclusion")
    save = lambda shared: log.append(("save", len(shared["thoughts"]), count(written)))
    model = Model([lambda text=text: log.append(("ask", count(flushed))) or text for text in REPLIES])
    write_only = types.SimpleNamespace(write=written.append, flush=lambda: flushed.extend(written[len(flushed) :]))
    with contextlib.redirect_stdout(write_only), contextlib.redirect_stderr(write_only):
        thread = threading.Thread(target=create_chain_of_thought_flow(3, save, model).run, args=[{"problem": "x"}])
        thread.start()
        thread.join(60)
    assert trace.partition("\n\n")[2] == "".join(written)
    assert log == [("ask", 0), ("save", 1, 0), ("ask", 1), ("save", 2, 1), ("ask", 2), ("save", 3, 2)]
    assert all(text in caplog.text for text in REPLIES)


class PricedReply(str):
    cost = {"model": "theirs", "prompt_tokens": 5}


def test_the_node_counts_the_requests_and_measures_the_seconds_of_any_function(monkeypatch):
    shared, now = {"problem": "x"}, [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    after = lambda seconds, text: lambda: now.__setitem__(0, now[0] + seconds) or text
    model = Model([after(2.5, ODD), after(60, PricedReply(reply())), after(0.5, END)])
    create_chain_of_thought_flow(call_llm=model).run(shared)
    assert [thought["cost"] for thought in shared["thoughts"]] == [
        {"model": "theirs", "requests": 2, "seconds": 62.5, "prompt_tokens": 5}, {"requests": 1, "seconds": 0.5}
    ]
