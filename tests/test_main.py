"""The command line, the process, and the use from Python."""

import contextlib
import io
import os
import pathlib
import shlex
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from pocketflow import Flow, Node

import nodes
from flow import create_chain_of_thought_flow
from nodes import ChainOfThoughtNode
from tests.conftest import MAIN, run_command, run_python
from tests.loopback import completion, error
from tests.replies import Model, end, reply
from utils.call_llm import Reply
from utils.errors import InvalidThought, RunFailed

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # Python expects only ASCII then.
ODD = reply(1, plan=["[Odd] Conclusion"])
FIRST = reply(1, solution="42")
LAST = end(2)
SOLVED = [FIRST, LAST]

# A program of the user's own, whose function gives a bad reply and two good ones.
SCRIPT = """
import sys
from main import main
from tests.replies import Model, end, reply
answers = [reply(1, plan=["[Odd] Conclusion"]), reply(1, solution="42"), end(2)]
sys.exit(main(call_llm=Model(answers)))
"""


@pytest.fixture
def trace(run):
    """The trace of a run that is saved in x.yaml."""
    return run("--run", "x.yaml", replies=SOLVED).out


@pytest.fixture
def closed_pipe():
    """A file that writes to a pipe whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    with contextlib.suppress(BrokenPipeError), open(writer, "w") as stream:
        yield stream


@pytest.fixture
def shared():
    return {"problem": "x"}


def hint(result):
    """The words of the command that the last line on stderr tells the user to paste."""
    return shlex.split(result.last_line.partition("python ")[2])


def flow_of(*replies, **arguments):
    """A flow whose node is given these arguments, and a function that answers so."""
    node = ChainOfThoughtNode(call_llm=Model(replies), **arguments)
    return create_chain_of_thought_flow(node)


# The arguments


def test_the_problem_can_come_from_standard_input_in_any_locale():
    typed = "\ufeff  Solve:\r\n    x² = 4\r\n\r\n".encode()
    result = run_python(MAIN, "--problem=-", "--show-prompt", input=typed, **ASCII)
    assert "\n\n  Solve:\n    x² = 4\n\n# " in result.out


def test_a_problem_may_have_the_line_breaks_of_windows(run):
    assert "\n\na\nb\n\n" in run("--problem", "a\r\nb", "--show-prompt").out


def test_an_interrupt_while_the_problem_is_typed_ends_the_program():
    command = [sys.executable, MAIN, "--problem=-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.write(process.stdin.fileno(), b"x" * 100_000)  # More than a pipe holds, so it is being read now.
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.count(b"\n") == 1


def test_the_prompt_is_shown_as_it_would_be_sent_and_nothing_is_saved(run):
    shown = run("--show-prompt").out
    assert os.listdir() == []
    sent = run(replies=SOLVED).prompts
    assert "fair die" in shown
    assert shown == sent[0]
    assert run("--after=1", "--show-prompt").out == sent[1]
    assert run("--max-thoughts=1", "--show-prompt").out != shown


def test_quiet_prints_the_solution_to_the_letter_and_nothing_else(run):
    solution = "The answer:\n\n      42 ⚀"
    first = reply(1, solution=solution)
    assert run("-q", replies=[first, LAST]).out == f"{solution}\n"


def test_quiet_prints_nothing_of_a_run_that_is_not_solved_nor_what_a_function_prints(run):
    def print_and_answer():
        sys.stdout.write("Asking ...")
        return FIRST

    assert run("-q", "--max-thoughts=1", replies=[print_and_answer]).out == ""


def test_verbose_shows_the_turn_the_try_and_the_reply(run):
    replies = [FIRST, "Prose.", LAST]
    result = run("-v", replies=replies)
    turn = result.prompts[2].partition("# Your turn\n\n")[2]
    for shown in [turn, *replies, "Thought 2, try 2"]:
        assert shown.strip() in result.err
    assert nodes.INSTRUCTIONS not in result.err


def test_verbose_shows_what_a_request_cost_but_never_the_key(serve, run):
    usage = {"prompt_tokens": 1812, "prompt_tokens_details": {"cached_tokens": 768}}
    first = completion(FIRST, usage=usage)
    last = completion(LAST, usage=usage)
    serve(error(503, "Busy."), first, last)
    err = run("-v").err
    for shown in ["Retrying", "gpt-6-luna", "1,812", "768"]:
        assert shown in err
    assert "sk-local" not in err


# The process


def test_a_pipe_gets_utf_8_in_any_locale(trace):
    assert run_python(MAIN, "--show", "x.yaml", **ASCII).out == trace


def test_in_the_encoding_that_the_user_asks_for_only_what_it_does_not_have_is_replaced(run, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "cp437")
    stream = io.TextIOWrapper(io.BytesIO(), "cp437")
    with contextlib.redirect_stdout(stream):
        run("--problem", "Größe 几", replies=[])
    assert stream.buffer.getvalue().decode("cp437").startswith("? Problem: Größe ?\n")


@pytest.fixture
def full_disk():
    """A file on a disk that is full."""
    if not os.path.exists("/dev/full"):
        pytest.skip("only Linux has /dev/full")
    with contextlib.suppress(OSError), open("/dev/full", "w") as stream:
        yield stream


@pytest.mark.parametrize("output, said", [("closed_pipe", 0), ("full_disk", 1)])
def test_a_run_that_is_shown_where_nothing_can_be_printed_says_so_in_a_line_unless_a_pipe_was_closed(
    trace, request, output, said
):
    command = [sys.executable, MAIN, "--show", "x.yaml"]
    stdout = request.getfixturevalue(output)
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == said


@pytest.mark.parametrize("output", ["closed_pipe", "full_disk"])
def test_where_nothing_can_be_printed_a_run_ends_before_more_is_asked(run, monkeypatch, request, output):
    monkeypatch.setattr(sys, "stdout", request.getfixturevalue(output))
    result = run(replies=SOLVED)
    assert result.status == 1
    assert result.prompts == []
    assert "--resume" in result.last_line


def test_a_program_that_calls_main_keeps_its_standard_output(run, monkeypatch, closed_pipe):
    monkeypatch.setattr(sys, "stdout", closed_pipe)
    assert run(replies=SOLVED).status == 1
    assert sys.stdout is closed_pipe


def test_an_older_python_is_told_so_before_anything_is_imported():
    code = f"import runpy, sys; sys.version_info = (3, 9, 6); runpy.run_path({MAIN!r}, run_name='__main__')"
    result = run_python("-X", "importtime", "-c", code)
    assert result.status == 1
    assert "Python 3.10 or later is needed" in result.last_line
    assert "pocketflow" not in result.err


def run_without(module):
    """The program in a process where this module is missing."""
    code = f"import runpy, sys; sys.modules[{module!r}] = None; runpy.run_path({MAIN!r}, run_name='__main__')"
    return run_python("-c", code, OPENAI_API_KEY="sk-local")


@pytest.mark.parametrize("package", ["pocketflow", "yaml", "openai"])
def test_a_missing_package_is_named(package):
    err = run_without(package).err
    assert package in err
    assert "requirements.txt" in err


@pytest.mark.parametrize("option", ["--help", "--show-prompt", "--show=x.yaml", "--after=x"])
def test_what_asks_nothing_does_not_load_the_client(trace, option):
    assert "openai" not in run_python("-X", "importtime", MAIN, option).err


# The client, or a function of the user's own


def test_only_a_message_and_the_chosen_model_are_sent(serve, run, monkeypatch):
    endpoint = serve(FIRST)
    monkeypatch.setenv("OPENAI_MODEL", "a")
    run("--step", "--model", "b")
    message = {"role": "user", "content": run("--show-prompt").out}
    [request] = endpoint.requests
    assert request["body"] == {"model": "b", "messages": [message]}


def test_a_function_that_answers_needs_no_client_and_the_process_stays_as_it_is(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    environment = dict(os.environ)
    assert run("--model", "theirs", replies=SOLVED).err == ""
    assert dict(os.environ) == environment
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_script_of_ones_own_has_the_options_and_is_named_in_the_hints():
    pathlib.Path("own.py").write_text(SCRIPT)
    command = hint(run_python("own.py", "--step"))
    assert command[0] == "own.py"
    assert run_python(*command).out.startswith("Thought 2")


def test_without_assertions_and_standard_error_a_run_is_the_same(trace):
    pathlib.Path("own.py").write_text(SCRIPT)
    result = run_command("sh", "-c", '"$0" -O own.py -v 2>&-', sys.executable)
    assert result.status == 0
    assert result.out == trace


@pytest.fixture
def fail(run):
    """fail(answer) is what stderr says if that is the second answer; its last line is how to continue."""

    def fail_then_continue(answer):
        result = run(replies=[FIRST, answer])
        assert result.status == 1
        _, *arguments = hint(result)
        assert run(*arguments, replies=[LAST]).status == 0
        return result.err

    return fail_then_continue


def test_a_function_can_end_the_run_with_a_line(fail):
    assert fail(RunFailed("Their line.")).startswith("Their line.")


@pytest.mark.parametrize(
    "answer, said",
    [
        (OSError("Their disk is full"), "OSError: Their disk is full"),
        (BrokenPipeError("Their pipe"), "BrokenPipeError: Their pipe"),
        (AssertionError("Their bug"), "AssertionError: Their bug"),
        (InvalidThought("Their word"), "InvalidThought: Their word"),
        (42, "int"),
        (Reply(b"bytes"), "bytes"),
    ],
)
def test_anything_else_that_a_function_raises_is_shown_with_its_traceback(fail, answer, said):
    err = fail(answer)
    assert err.startswith("Traceback")
    assert said in err


# The use from Python


def test_a_flow_needs_only_a_problem_and_prints_the_trace(serve, capsys, trace, shared):
    serve(*SOLVED)
    create_chain_of_thought_flow().run(shared)
    assert set(shared) == {"problem", "thoughts", "current_thought_number", "solution"}
    assert trace.endswith("\n\n" + capsys.readouterr().out)
    assert os.listdir() == ["x.yaml"]


def test_a_flow_that_failed_can_be_run_again_and_goes_on(shared):
    with pytest.raises(OSError):
        flow_of(FIRST, OSError("No server.")).run(shared)
    flow_of(LAST).run(shared)
    assert len(shared["thoughts"]) == 2


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_a_node_asks_as_often_as_pocketflow_is_told_to(shared, tries):
    node = ChainOfThoughtNode(call_llm=Model(tries * [ODD]), max_retries=tries)
    with pytest.raises(RunFailed, match=f"{tries} rejected"):
        node.run(shared)
    assert len(node.costs) == tries


def test_a_node_that_is_run_again_knows_nothing_of_an_old_rejection(shared):
    model = Model([ODD, FIRST, LAST])
    node = ChainOfThoughtNode(call_llm=model)
    node.run(shared)
    node.run(shared)
    assert "rejected" not in model.prompts[2]


def test_a_run_that_stops_below_its_limit_without_a_solution_does_not_speak_of_the_limit(run, monkeypatch):
    monkeypatch.setattr(nodes, "run_stops", Mock(return_value=True))  # for a reason of the user's own
    result = run(replies=[reply(1)])
    assert result.status == 1
    assert result.err.startswith("Stopped after 1 thought.")


def test_a_thought_says_what_the_solution_is_so_far_and_why_it_is_no_check(shared):
    flow_of(FIRST, end(2, changes=[("42", "43")]), end(3)).run(shared)
    facts = [(thought["solution_so_far"], thought["why_no_check"]) for thought in shared["thoughts"]]
    assert facts[0] == ("42", "no solution stood before it")
    assert facts[1] == ("43", "more than a quarter of the solution is new")
    assert facts[2] == ("43", "")


def test_after_a_first_thought_that_failed_the_solution_is_none(shared):
    shared["solution"] = "that of another problem"
    with pytest.raises(RunFailed):
        flow_of(None, ODD, "Prose.").run(shared)
    assert shared["solution"] is None


def test_a_solved_problem_is_not_thought_on(shared):
    flow_of(LAST).run(shared)
    with pytest.raises(Exception, match="solved"):
        flow_of().run(shared)


def test_a_node_thinks_30_thoughts_in_a_flow_of_ones_own(shared):
    replies = 40 * [reply(1, solution="41")]
    node = ChainOfThoughtNode(call_llm=Model(replies))
    node - "continue" >> node
    node - "end" >> Node()
    Flow(start=node).run(shared)
    assert len(shared["thoughts"]) == 30
    assert shared["solution"] is None


@pytest.mark.parametrize("limit", [1, 2])
def test_with_as_many_thoughts_as_the_limit_or_more_one_more_is_thought_and_it_is_the_last(shared, limit):
    with pytest.raises(RunFailed):
        flow_of(reply(1), reply(2)).run(shared)
    flow_of(reply(3), reply(4), max_thoughts=limit).run(shared)
    assert len(shared["thoughts"]) == 3


class Output:
    """A standard output that can do no more than write and flush."""

    written = flushed = ""

    def write(self, text):
        self.written += text

    def flush(self):
        self.flushed = self.written


def test_a_thought_is_saved_then_printed_then_the_next_is_asked_for(shared):
    output = Output()
    is_printed = []

    def look(*_):
        is_printed.append("Thought 1" in output.flushed)
        return LAST

    with contextlib.redirect_stdout(output):
        flow_of(FIRST, look, save=look).run(shared)
    assert is_printed[:2] == [False, True]  # when Thought 1 is saved, and when the next is asked for


def test_the_command_line_needs_no_more_of_standard_output(run):
    with contextlib.redirect_stdout(Output()) as output:
        run("--step", replies=[FIRST])
    assert "Thought 1" in output.flushed


def test_a_flow_runs_in_a_thread(shared):
    with ThreadPoolExecutor() as pool:
        pool.submit(flow_of(*SOLVED).run, shared).result()
    assert shared["solution"] == "42"


@pytest.mark.parametrize("problem", [" \n", "a\x0cb", "a\r\nb", "\ud83d"])
def test_a_problem_that_could_not_be_saved_is_refused_by_name(problem):
    with pytest.raises(ValueError, match="problem"):
        flow_of(LAST).run({"problem": problem})


# The log


def test_a_message_shows_control_characters_instead_of_sending_them_into_a_pipe_too(run):
    bad_reply = "\033[2J\x9b3J\a\tno"
    err = run(replies=[bad_reply, bad_reply, bad_reply]).err
    assert "\\x1b[2J\\x9b3J\\x07\tno" in err
    assert "\033" not in err


def test_with_a_handler_of_the_root_logger_everything_is_said_once(run, caplog):
    err = run("--step", replies=[FIRST]).err
    assert err.count("\n") == 1
    assert caplog.records == []


# The cost


@pytest.fixture
def take(clock):
    """take(seconds, text, model=...) is a reply that takes so long and names its model."""

    def make_reply(seconds, text, **cost):
        def answer():
            clock[0] += seconds
            return Reply(text, cost)

        return answer

    return make_reply


def test_a_thought_and_the_node_have_the_costs_of_all_replies_the_rejected_ones_too(take, shared):
    rejected = take(0.1, ODD)
    last = take(0.2, LAST, model="small")
    node = ChainOfThoughtNode(call_llm=Model([FIRST, rejected, last]))
    create_chain_of_thought_flow(node).run(shared)
    _, thought = shared["thoughts"]
    assert thought["cost"] == {"model": "small", "requests": 2, "seconds": 0.3}
    assert node.costs[2]["seconds"] == 0.2


def test_the_last_line_sums_up_the_run_and_what_it_took(run, take):
    rejected = take(0.1, ODD, model="small")
    first = take(0.9, FIRST, model="large")
    replies = [rejected, first, LAST]
    line = run("-v", "--run=x.yaml", replies=replies).last_line
    for shown in ["2 thoughts", "x.yaml", "3 requests", " 1.0 seconds", "small", "large"]:
        assert shown in line


def test_the_last_line_does_not_count_what_the_run_began_with(run, trace):
    assert "1 request" in run("--resume=x.yaml", "--after=1", "-v", replies=[LAST]).last_line
