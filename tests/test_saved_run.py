"""A run is saved, resumed, redone from a thought on, and walked through. No run is ever overwritten."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading

import pytest
import yaml

from tests.conftest import MAIN, run_process, saved_runs
from tests.loopback import RECORDINGS, completion, error, recorded, recorded_problem, recorded_trace, reply

REPLIES = recorded("die")
TRACE = recorded_trace("die")


@pytest.fixture
def solved(serve, run):
    """The endpoint of a solved run that is saved in runs/."""
    endpoint = serve(*REPLIES)
    run()
    return endpoint


def hint(err):
    """The arguments of the command that a message tells the user to paste."""
    return shlex.split(re.search(r"To go on: python main\.py (.*)", err)[1])


def saved_thoughts(path):
    return [
        {key: value for key, value in thought.items() if key != "cost"}
        for thought in yaml.safe_load(path.read_text(encoding="utf-8"))["thoughts"]
    ]


# Going on


@pytest.mark.parametrize(
    "answers, arguments, message",
    [
        pytest.param([*REPLIES[:2], error(401, "No.")], [], "401: No.", id="a call"),
        pytest.param([*REPLIES[:2], "One.", "Two.", "Three."], [], "gave up after 3 rejected replies", id="bad replies"),
        pytest.param(REPLIES[:3], ["--max-thoughts", "3"], "No solution after 3 thoughts", id="the limit"),
        pytest.param(REPLIES[:1], ["--step"], "Stopped after Thought 1.", id="one step"),
        pytest.param(REPLIES[:1], ["--run", "my run.yaml", "--model", "other"], "request 2 was not expected", id="options"),
    ],
)
def test_the_command_in_the_message_goes_on_as_if_nothing_had_happened(serve, run, answers, arguments, message):
    serve(*answers)
    stopped = run(*arguments)
    count = stopped.out.count("Thought ") and len(re.findall(r"^Thought \d", stopped.out, re.M))
    assert message in stopped.err and hint(stopped.err)[:2] == ["--resume", "--run"]
    assert stopped.status == (0 if arguments == ["--step"] else 1)
    endpoint = serve(*REPLIES[count:])
    result = run(*hint(stopped.err))
    assert (result.status, result.out, result.err) == (0, TRACE, "")
    assert endpoint.requests[0]["body"]["model"] == ("other" if "--model" in arguments else "gpt-6-luna")
    assert len([*pathlib.Path().rglob("*.yaml")]) == 1


def test_the_command_keeps_the_limit_of_the_run_or_doubles_the_one_that_was_reached(serve, run):
    serve(REPLIES[0])
    assert hint(run("--max-thoughts", "5").err)[3:] == ["--max-thoughts", "5"]
    serve(*REPLIES[1:5])
    assert hint(run("--resume", "--max-thoughts", "5").err)[3:] == ["--max-thoughts", "10"]


def test_resume_takes_the_run_that_was_written_last(serve, run):
    serve(REPLIES[0])
    run("--problem", "First")
    serve(REPLIES[0])
    run("--problem", "Second")
    first, second = saved_runs()
    assert "Second" in run("--resume", "--show-prompt").out
    os.utime(first)
    assert "First" in run("--resume", "--show-prompt").out
    assert "Second" in run("--resume", "--show-prompt", "--run", str(second)).out


def start(*arguments):
    return subprocess.Popen([sys.executable, MAIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_an_interrupted_run_is_resumed(serve, run):
    endpoint = serve()
    endpoint.answers = [completion(REPLIES[0]), endpoint.silence]
    process = start()
    endpoint.wait_for_request(2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and err.startswith(b"Interrupted. To go on: ") and err.count(b"\n") == 1
    assert out.decode() == TRACE[: TRACE.index("Thought 2:")]
    serve(*REPLIES[1:])
    assert run("--resume").out == TRACE


def test_what_was_printed_survives_a_kill_at_any_moment(serve, run):
    for number in range(12):
        endpoint = serve(*REPLIES)
        process = start("--run", f"{number}.yaml")
        endpoint.wait_for_request(1 + number % 6)
        threading.Event().wait(number * 0.004)
        process.kill()
        out = process.communicate(timeout=20)[0].decode()
        printed = len(re.findall(r"^Thought \d", out, re.M))
        path = pathlib.Path(f"{number}.yaml")
        saved = len(saved_thoughts(path)) if path.exists() else 0
        assert printed <= saved <= printed + 1
        if saved:
            serve(*REPLIES[saved:])
            assert run("--resume", "--run", str(path)).out == TRACE


# Redoing


@pytest.mark.parametrize("count", range(6))
def test_resume_with_a_number_is_a_run_of_its_own_with_the_same_prompts(solved, serve, run, count):
    before = saved_runs()[0].read_bytes()
    assert run("--resume", str(count), "--show-prompt").out == solved.prompts[count]
    endpoint = serve(*REPLIES[count:])
    result = run("--resume", str(count))
    assert (result.status, result.out, endpoint.prompts) == (0, TRACE, solved.prompts[count:])
    old, new = saved_runs()
    assert old.read_bytes() == before and saved_thoughts(new) == saved_thoughts(old)


def test_one_thought_is_redone_by_another_model_and_both_runs_stay(solved, serve, run):
    endpoint = serve(reply("Evaluation of Thought 3: Correct - x\nAnother thought."))
    result = run("--resume", "3", "--step", "--model", "other")
    assert (result.status, endpoint.requests[0]["body"]["model"], len(endpoint.requests)) == (0, "other", 1)
    assert endpoint.prompts[0] == solved.prompts[3]
    old, new = saved_runs()
    assert saved_thoughts(old)[:3] == saved_thoughts(new)[:3]
    assert len(saved_thoughts(old)) == 6 and saved_thoughts(new)[3]["current_thinking"].endswith("Another thought.")


def test_a_run_redone_that_fails_at_once_leaves_no_file_and_says_how_to_try_again(solved, serve, run):
    (old,) = saved_runs()
    serve()
    assert hint(run("--resume", "2").err) == ["--resume", "2", "--run", str(old)]
    assert saved_runs() == [old]
    serve()
    assert "To go on" not in run("--problem", "Another one").err
    assert saved_runs() == [old]


def test_a_run_is_walked_through_with_a_hand_on_it(serve, run):
    endpoint = serve(*REPLIES)
    run("--step")
    for number in range(2, 7):
        (path,) = saved_runs()
        path.write_text(path.read_text(encoding="utf-8").replace("thinking: |-\n", f"thinking: |-\n    By hand {number}.\n", 1))
        run("--resume", "--step")
        assert f"By hand {number}." in endpoint.prompts[number - 1]
    assert len(endpoint.prompts) == 6 and len(saved_runs()) == 1


def test_a_step_with_the_last_allowed_thought_has_no_solution(serve, run):
    serve(REPLIES[0])
    result = run("--step", "--max-thoughts", "1")
    assert result.status == 1 and "No solution after 1 thought." in result.err


# No run is overwritten


def test_runs_that_begin_in_the_same_second_get_files_of_their_own(serve, run, monkeypatch):
    monkeypatch.setattr("time.strftime", lambda pattern: "20261121-101500.yaml")
    for problem in ("First", "Second", "Third"):
        serve(REPLIES[0])
        run("--problem", problem)
    assert [path.name for path in saved_runs()] == ["20261121-101500.yaml", "20261121-101500-2.yaml", "20261121-101500-3.yaml"]
    assert ["First", "Second", "Third"] == [yaml.safe_load(path.read_text())["problem"] for path in saved_runs()]


def test_processes_at_once_lose_no_thought(serve):
    endpoint = serve(*[REPLIES[0]] * 6)
    processes = [start("--step", "--problem", f"Problem {number}") for number in range(6)]
    assert [process.wait(30) for process in processes] == [0] * 6
    problems = {yaml.safe_load(path.read_text())["problem"] for path in saved_runs()}
    assert problems == {f"Problem {number}" for number in range(6)} and len(endpoint.requests) == 6
    for process in processes:
        process.communicate()


@pytest.mark.parametrize("change", ["by another run", "by hand"])
def test_a_run_that_was_changed_meanwhile_goes_on_in_another_file(serve, run, change):
    serve(REPLIES[0])
    run("--step", "--run", "a.yaml")
    path = pathlib.Path("a.yaml")

    def meanwhile(handler):
        path.write_text(path.read_text() + ("\n" if change == "by hand" else path.read_text()[path.read_text().index("- thought") :]))
        completion(REPLIES[1])(handler)

    serve(meanwhile, *REPLIES[2:])
    result = run("--resume", "--run", "a.yaml")
    assert (result.status, result.out) == (0, TRACE) and "this run goes on in a-2.yaml" in result.err
    assert saved_thoughts(path)[0] == saved_thoughts(pathlib.Path("a-2.yaml"))[0]
    assert len(saved_thoughts(pathlib.Path("a-2.yaml"))) == 6 and len(saved_thoughts(path)) < 6


@pytest.mark.parametrize("path", ["a.yaml", ".", "pipe", "/dev/null"])
def test_an_existing_file_is_not_written_by_a_new_run(serve, run, path):
    pathlib.Path("a.yaml").write_text("mine")
    os.mkfifo("pipe")
    endpoint = serve()
    result = run("--run", path)
    assert (result.status, result.out, endpoint.requests) == (2, "", [])
    assert f"{path} exists already" in result.err and pathlib.Path("a.yaml").read_text() == "mine"


# The file


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(serve, run):
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    first = reply(thinking, ["[Pending] Solve", "[Pending] Conclusion"], solution="s", Solve="x: 2", marks={"Solve": "sign?"})
    serve(first, reply(changes=[("s", "t"), (None, "u")]), reply(plan=["[Done] Conclusion"], more=False))
    run("--problem", "  How\n\nmany?")
    text = saved_runs()[0].read_text(encoding="utf-8")
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n  current_thinking: |-\n")
    assert all(line in text for line in thinking.split("\n")) and '\\"' not in text
    step = "  - description: |-\n      Solve\n    status: Pending\n    result: |-\n      x: 2\n    mark: |-\n      sign?\n"
    assert step in text
    first, second = yaml.safe_load(text)["thoughts"][:2]
    assert first["current_thinking"] == thinking
    assert list(first) == ["thought_number", "current_thinking", "planning", "next_thought_needed", "solution", "cost"]
    assert second["solution_changes"] == [{"old": "s", "new": "t"}, {"new": "u"}]


def test_a_kept_result_stands_behind_its_description(serve, run):
    serve(reply(Solve="x = 2"), reply())
    run("--max-thoughts", "2")
    assert saved_runs()[0].read_text().count("Solve\n    status: Done\n    result: |-\n      x = 2\n") == 2


PROBLEMS = ["null", "no: 1\n", "\ta\r\nb", "\ufeffx", "Done", "- a\n\n\n", "x \n  \n y", "'\"\\n", "\tpage 1\x0c\n# 2", "\ta\x0c\\theta", "a\x85\u2028b"]


@pytest.mark.parametrize("text", PROBLEMS)
def test_any_problem_survives_being_saved(serve, run, text):
    endpoint = serve(REPLIES[0])
    run("--problem", text)
    assert run("--resume", "0", "--show-prompt").out == endpoint.prompts[0]


@pytest.mark.parametrize("text", ["\ufeffa\tb\ufeff", "null", "# x\n#", "a: b\n\n  c", "'x", "  12\n+ 5", "Done", "!A &b *c", "\u00a0x\u3000"])
def test_any_thought_survives_being_saved(serve, run, text):
    first = reply(text, solution=text) if text != "  12\n+ 5" else reply("x", solution="x").replace("|-\n  x", "|2-\n    12\n  + 5")
    endpoint = serve(first)
    run("--step")
    assert text.strip("\u3000") in run("--resume", "--show-prompt").out.replace("\n    ", "\n")
    assert len(endpoint.requests) == 1


def test_a_solution_changed_by_hand_is_what_is_continued(serve, run):
    endpoint = serve(reply(solution="It is 41."), reply(plan=["[Done] Conclusion"], more=False))
    run("--step")
    (path,) = saved_runs()
    path.write_text(path.read_text().replace("It is 41.", "It is 42."))
    assert run("--resume").out.endswith("\nIt is 42.\n======================\n\n")
    assert "It is 42." in endpoint.prompts[1]


def test_a_run_that_was_put_into_the_folder_is_resumed(run):
    pathlib.Path("runs").mkdir()
    shutil.copy(RECORDINGS / "planted-debt.yaml", "runs")
    assert "This is Thought 3." in run("--resume", "--show-prompt").out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--resume", "6"], "Thought 6 ends the run: use --resume 5 or lower"),
        (["--resume", "7"], "--resume 7: runs/"),
        (["--resume", "-1"], "--resume -1: runs/"),
        (["--resume", "--show-prompt"], "Thought 6 ends the run: use --resume 5 or lower"),
        (["--resume", "--max-thoughts", "0"], "--max-thoughts must be at least 1"),
        (["--resume", "2", "--problem", "x"], "leave out --problem"),
        (["--resume", "2", "--max-thoughts", "2"], "--max-thoughts must be at least 3: the saved run already has 2 thoughts"),
        (["--resume", "2", "--run", "other.yaml"], "other.yaml: No such file or directory"),
        (["--resume", "2", "--run", "."], ".: Is a directory"),
        (["--run", "no/such/folder.yaml"], "is in a folder that does not exist"),
    ],
)
def test_wrong_usage_of_a_saved_run_changes_no_file(solved, run, arguments, message):
    before = saved_runs()[0].read_bytes()
    result = run(*arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err.splitlines()[-1]
    assert [path.read_bytes() for path in saved_runs()] == [before] and os.listdir() == ["runs"]


def test_without_a_saved_run_there_is_nothing_to_resume(run):
    result = run("--resume")
    assert result.status == 2 and "there is no run in runs/" in result.err and os.listdir() == []


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("status: Done", "status: done", "Thought 1: the status of the step 'Understand the problem' is 'done'"),
        ("next_thought_needed", "more", "Thought 1: next_thought_needed is missing"),
        ("problem: |-", "puzzle: |-", "it is not a saved run"),
        ("problem: |-", "problem: [", "it is not valid YAML"),
        ("problem: |-\n  You", "problem:\n  - You", "it is not a saved run"),
        ("problem: |-", "\0", "it is not valid YAML"),
        ("\n- thought_number: 2", "\n# planted\n- thought_number: 2", "YAML would ignore the comment '# planted'"),
        ("\n- thought_number: 2", "\n  thought_number: 2", "the key 'thought_number' is given twice"),
        ("\n- thought_number: 2", "\nthought_number: 2", "YAML would join the lines"),
        ("requests: 1", "requests: many", "Thought 1: its cost"),
        ("requests: 1", 'requests: "[1]"', "Thought 1: its cost"),
        ("next_thought_needed: true", "next_thought_needed: false", "Thought 2: the thought before it ends the run"),
    ],
)
def test_a_broken_file_is_wrong_usage(solved, run, old, new, message):
    (path,) = saved_runs()
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    before = path.read_bytes()
    result = run("--resume", "2")
    assert result.status == 2 and f"{path}: {message}" in result.err.splitlines()[-1]
    assert path.read_bytes() == before


def test_a_run_that_can_no_longer_be_saved_does_not_say_that_it_is(serve, run):
    def remove_the_folder(handler):
        shutil.rmtree("runs")
        pathlib.Path("runs").write_text("")
        completion(REPLIES[1])(handler)

    serve(REPLIES[0], remove_the_folder, *REPLIES[2:])
    assert "6 thoughts, not saved: " in run("-v").err.splitlines()[-1]


def test_a_folder_that_cannot_be_written_is_said_once_and_the_run_goes_on(serve, run):
    pathlib.Path("runs").write_text("")
    serve(*REPLIES)
    result = run()
    assert (result.status, result.out) == (0, TRACE)
    assert result.err.count("\n") == 1 and "cannot be saved in runs/" in result.err
    assert os.listdir() == ["runs"]


def test_only_a_saved_run_is_taken_for_the_latest(solved, run):
    pathlib.Path("runs/.#lock.yaml").symlink_to("nowhere")
    pathlib.Path("runs/later.txt").write_text("notes")
    assert run("--resume").out == TRACE


def test_a_file_that_is_not_utf_8_is_refused(solved, run):
    (path,) = saved_runs()
    path.write_bytes(path.read_bytes() + b"\xe9")
    result = run("--resume")
    assert result.status == 2 and "'utf-8' codec can't decode" in result.err


def test_a_full_disk_leaves_no_part_of_a_file_behind(serve):
    serve(*REPLIES)
    command = f'ulimit -f 1; trap "" XFSZ; "{sys.executable}" "{MAIN}" > /dev/null'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and "cannot be saved" in done.stderr
    assert not [path for path in saved_runs() if path.suffix == ".tmp"]


# What a run costs


def usage(prompt, completion_tokens, cached=None):
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": prompt, "completion_tokens": completion_tokens, **details}


def test_the_cost_of_all_tries_is_saved_and_summed_up_over_a_resumed_run(serve, run):
    serve(completion("nonsense", usage=usage(100, 10, 64)), completion(REPLIES[0], usage=usage(200, 20)))
    run("--step")
    cost = yaml.safe_load(saved_runs()[0].read_text())["thoughts"][0]["cost"]
    assert list(cost) == ["model", "requests", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens"]
    assert [cost[key] for key in cost if key != "seconds"] == ["gpt-6-luna", 2, 300, 64, 30]
    endpoint = serve(completion(REPLIES[1], usage=usage(1000, 100, 0)), *REPLIES[2:])
    last_line = run("--resume", "-v").err.splitlines()[-1]
    assert re.fullmatch(
        rf"6 thoughts, saved in {saved_runs()[0]}: gpt-6-luna, 7 requests, [\d.]+ seconds, 1,300 prompt tokens,"
        " 64 cached tokens, 130 completion tokens",
        last_line,
    )
    assert "prompt_tokens" not in endpoint.prompts[-1]
