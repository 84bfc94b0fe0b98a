"""A run is saved, resumed, redone from a thought on, and walked through. No run is ever overwritten."""

import os
import pathlib
import re
import shlex
import shutil
import signal

import pytest
import yaml

from tests.conftest import run_shell, saved_runs, start
from tests.loopback import RECORDINGS, completion, error, printed_trace, recorded, reply, silence

REPLIES = recorded("die")
TRACE = printed_trace("die")
END = reply(plan=["[Done] Conclusion"], more=False)


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
    thoughts = yaml.safe_load(path.read_text(encoding="utf-8"))["thoughts"]
    return [{key: value for key, value in thought.items() if key != "cost"} for thought in thoughts]


@pytest.mark.parametrize("answers, arguments, message", [
    ([*REPLIES[:2], error(401, "No.")], [], "401: No."),
    ([*REPLIES[:2], "One.", "Two.", "Three."], [], "gave up after 3 rejected replies"),
    (REPLIES[:3], ["--max-thoughts", "3"], "No solution after 3 thoughts"),
    (REPLIES[:1], ["--step"], "Stopped after Thought 1."),
    (REPLIES[:1], ["--run", "my run.yaml", "--model", "other"], "request 2 was not expected"),
])
def test_the_command_in_the_message_goes_on_as_if_nothing_had_happened(serve, run, answers, arguments, message):
    serve(*answers)
    stopped = run(*arguments)
    assert message in stopped.err and hint(stopped.err)[:2] == ["--resume", "--run"]
    assert stopped.status == (0 if arguments == ["--step"] else 1)
    serve(*REPLIES[len(re.findall(r"^Thought \d", stopped.out, re.M)) :])
    result = run(*hint(stopped.err))
    assert (result.status, result.out, result.err) == (0, TRACE, "")
    assert ("--model" in hint(stopped.err)) == ("--model" in arguments)
    assert len([*pathlib.Path().rglob("*.yaml")]) == 1


def test_the_command_keeps_the_limit_of_the_run_or_doubles_the_one_that_was_reached(serve, run):
    serve(*REPLIES[:1])
    assert hint(run("--max-thoughts", "5").err)[3:] == ["--max-thoughts", "5"]
    serve(*REPLIES[1:5])
    assert hint(run("--resume", "--max-thoughts", "5").err)[3:] == ["--max-thoughts", "10"]


def test_resume_takes_the_saved_run_that_was_written_last(serve, run):
    for problem in ("First", "Second"):
        serve(REPLIES[0])
        run("--problem", problem)
    first, second = saved_runs()
    pathlib.Path("runs/.#lock.yaml").symlink_to("nowhere")
    pathlib.Path("runs/later.txt").write_text("notes")
    assert "Second" in run("--resume", "--show-prompt").out
    os.utime(first)
    assert "First" in run("--resume", "--show-prompt").out
    assert "Second" in run("--resume", "--show-prompt", "--run", str(second)).out


def test_an_interrupted_run_has_printed_its_thoughts_and_is_resumed(serve, run):
    endpoint = serve(REPLIES[0], silence)
    process = start()
    endpoint.wait_for_request(2)
    os.set_blocking(process.stdout.fileno(), False)
    assert process.stdout.read().decode() == TRACE[: TRACE.index("Thought 2:")]
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=20)[1]
    assert process.returncode == 130 and err.startswith(b"Interrupted. To go on: ") and err.count(b"\n") == 1
    serve(*REPLIES[1:])
    assert run("--resume").out == TRACE


@pytest.mark.parametrize("is_answered", [False, True])
@pytest.mark.parametrize("number", range(1, 7))
def test_what_was_printed_survives_a_kill_at_any_moment(serve, run, number, is_answered):
    def kill(handler):
        if is_answered:
            completion(REPLIES[number - 1])(handler)
        process.kill()

    serve(*REPLIES[: number - 1], kill)
    process = start("--run", "run.yaml")
    printed = len(re.findall(rb"^Thought \d", process.communicate(timeout=20)[0], re.M))
    path = pathlib.Path("run.yaml")
    saved = len(saved_thoughts(path)) if path.exists() else 0
    assert number - 1 <= printed <= saved <= number
    serve(*REPLIES[saved:])
    assert run("--run", "run.yaml", *(["--resume"] if saved else [])).out.endswith(TRACE[TRACE.index("Thought 1:") :])


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
    assert run("--resume", "3", "--step", "--model", "other").status == 0
    assert endpoint.prompts == [solved.prompts[3]] and endpoint.requests[0]["body"]["model"] == "other"
    old, new = map(saved_thoughts, saved_runs())
    assert old[:3] == new[:3] and (len(old), len(new)) == (6, 4) and new[3]["current_thinking"].endswith("Another thought.")


def test_a_run_redone_that_fails_at_once_leaves_no_file_and_says_how_to_try_again(solved, serve, run):
    (old,) = saved_runs()
    serve()
    assert hint(run("--resume", "2").err) == ["--resume", "2", "--run", str(old)]
    assert saved_runs() == [old]


def test_a_run_is_walked_through_with_a_hand_on_it(serve, run):
    endpoint = serve(*REPLIES)
    run("--step")
    for number in range(2, 7):
        (path,) = saved_runs()
        path.write_text(path.read_text().replace("thinking: |-\n", f"thinking: |-\n    By hand {number}.\n", 1))
        run("--resume", "--step")
        assert f"By hand {number}." in endpoint.prompts[number - 1]
    assert len(endpoint.prompts) == 6 and len(saved_runs()) == 1


def test_runs_that_begin_in_the_same_second_get_files_of_their_own(serve, run, monkeypatch):
    monkeypatch.setattr("time.strftime", lambda pattern: "20261121-101500.yaml")
    for problem in ("First", "Second"):
        serve(REPLIES[0])
        run("--problem", problem)
    saved = {path.name: yaml.safe_load(path.read_text())["problem"] for path in saved_runs()}
    assert saved == {"20261121-101500.yaml": "First", "20261121-101500-2.yaml": "Second"}


def test_processes_at_once_lose_no_thought(serve):
    serve(*[REPLIES[0]] * 6)
    processes = [start("--step", "--problem", f"Problem {number}") for number in range(6)]
    for process in processes:
        process.communicate(timeout=30)
    problems = {yaml.safe_load(path.read_text())["problem"] for path in saved_runs()}
    assert problems == {f"Problem {number}" for number in range(6)}


@pytest.mark.parametrize("change", ["by another run", "by hand"])
def test_a_run_that_was_changed_meanwhile_goes_on_in_another_file(serve, run, change):
    serve(REPLIES[0])
    run("--step", "--run", "a.yaml")
    path, other_path = pathlib.Path("a.yaml"), pathlib.Path("a-2.yaml")

    def meanwhile(handler):
        text = path.read_text()
        path.write_text(text + ("\n" if change == "by hand" else text[text.index("- thought") :]))
        completion(REPLIES[1])(handler)

    serve(meanwhile, *REPLIES[2:])
    result = run("--resume", "--run", "a.yaml")
    assert (result.status, result.out) == (0, TRACE) and "this run goes on in a-2.yaml" in result.err
    assert saved_thoughts(path)[0] == saved_thoughts(other_path)[0]
    assert len(saved_thoughts(other_path)) == 6 and len(saved_thoughts(path)) < 6


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(serve, run):
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    first = reply(thinking, ["[Pending] A", "[Pending] Conclusion"], solution="s", A="x: 2", marks={"A": "sign?"})
    serve(first, reply(changes=[("s", "t"), (None, "u")]), END)
    run("--problem", "  How\n\nmany?")
    text = saved_runs()[0].read_text(encoding="utf-8")
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n  current_thinking: |-\n")
    assert all(line in text for line in thinking.split("\n")) and '\\"' not in text
    assert "A\n    status: Pending\n    result: |-\n      x: 2\n    mark: |-\n      sign?\n" in text
    first, second = yaml.safe_load(text)["thoughts"][:2]
    assert first["current_thinking"] == thinking
    assert list(first) == ["thought_number", "current_thinking", "planning", "next_thought_needed", "solution", "cost"]
    assert second["solution_changes"] == [{"old": "s", "new": "t"}, {"new": "u"}]


def test_a_kept_result_stands_behind_its_description(serve, run):
    serve(reply(Solve="x = 2"), reply())
    run("--max-thoughts", "2")
    assert saved_runs()[0].read_text().count("Solve\n    status: Done\n    result: |-\n      x = 2\n") == 2


@pytest.mark.parametrize("text", [
    "null", "\ta\r\nb", "\ufeffx", "Done", "- a\n\n\n", "x \n  \n y", "\tp\x0c\n# 2", "\ta\x0c\\theta", "a\x85\u2028b"
])
def test_any_problem_survives_being_saved(serve, run, text):
    endpoint = serve(REPLIES[0])
    run("--problem", text)
    assert run("--resume", "0", "--show-prompt").out == endpoint.prompts[0]


@pytest.mark.parametrize("text", [
    "\ufeffa\tb\ufeff", "null", "# x\n#", "a: b\n\n  c", "'x", "  12\n+ 5", "Done", "!A &b *c", "\u00a0x\u3000"
])
def test_any_thought_survives_being_saved(serve, run, text):
    first = reply("x", solution="x").replace("|-\n  x", "|2-\n  " + text.replace("\n", "\n  "))
    endpoint = serve(first)
    run("--step")
    assert text.strip("\u3000") in run("--resume", "--show-prompt").out.replace("\n    ", "\n")
    assert len(endpoint.requests) == 1


def test_a_solution_changed_by_hand_is_what_is_continued(serve, run):
    endpoint = serve(reply(solution="It is 41."), END)
    run("--step")
    (path,) = saved_runs()
    path.write_text(path.read_text().replace("It is 41.", "It is 42."))
    assert run("--resume").out.endswith("\nIt is 42.\n======================\n\n") and "It is 42." in endpoint.prompts[1]


def test_a_run_that_was_put_into_the_folder_is_resumed(run):
    pathlib.Path("runs").mkdir()
    shutil.copy(RECORDINGS / "planted-debt.yaml", "runs")
    assert "This is Thought 3." in run("--resume", "--show-prompt").out


def all_files():
    return {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize("arguments, message", [
    (["--problem", " \n"], "the problem is blank"),
    (["--max-thoughts", "0"], "--max-thoughts must be at least 1"),
    (["--max-thoughts", "2.5"], "invalid int value: '2.5'"),
    (["--run", "mine.yaml"], "mine.yaml exists already"),
    (["--run", "/dev/null"], "/dev/null exists already"),
    (["--run", "no/such/folder.yaml"], "is in a folder that does not exist"),
    (["--resume", "6"], "Thought 6 ends the run: use --resume 5 or lower"),
    (["--resume", "7"], "--resume 7: runs/"),
    (["--resume", "-1"], "--resume -1: runs/"),
    (["--resume", "--show-prompt"], "Thought 6 ends the run: use --resume 5 or lower"),
    (["--resume", "--max-thoughts", "0"], "--max-thoughts must be at least 1"),
    (["--resume", "2", "--problem", "x"], "leave out --problem"),
    (["--resume", "2", "--max-thoughts", "2"], "--max-thoughts must be at least 3: the saved run already has 2"),
    (["--resume", "2", "--run", "other.yaml"], "other.yaml: No such file or directory"),
    (["--resume", "2", "--run", "."], ".: Is a directory"),
])
def test_wrong_usage_is_said_and_changes_nothing(solved, run, arguments, message):
    pathlib.Path("mine.yaml").write_text("mine")
    before = all_files()
    result = run(*arguments)
    assert (result.status, result.out, all_files(), len(solved.requests)) == (2, "", before, 6)
    assert message in result.err.splitlines()[-1]


def test_without_a_saved_run_there_is_nothing_to_resume(run):
    result = run("--resume")
    assert result.status == 2 and "there is no run in runs/" in result.err and os.listdir() == []


@pytest.mark.parametrize("old, new, message", [
    ("status: Done", "status: done", "Thought 1: the status of the step 'Understand the problem' is 'done'"),
    ("next_thought_needed", "more", "Thought 1: next_thought_needed is missing"),
    ("problem: |-", "puzzle: |-", "it is not a saved run"),
    ("problem: |-", "problem: [", "it is not valid YAML"),
    ("problem: |-\n  You", "problem:\n  - You", "it is not a saved run"),
    ("\n- thought_number: 2", "\n# planted\n- thought_number: 2", "YAML would ignore the comment '# planted'"),
    ("\n- thought_number: 2", "\n  thought_number: 2", "the key 'thought_number' is given twice"),
    ("requests: 1", "requests: many", "Thought 1: its cost"),
    ("requests: 1", 'requests: "[1]"', "Thought 1: its cost"),
    ("next_thought_needed: true", "next_thought_needed: false", "Thought 2: the thought before it ends the run"),
    ("You", "\udce9", "'utf-8' codec can't decode"),
])
def test_a_broken_file_is_wrong_usage(solved, run, old, new, message):
    (path,) = saved_runs()
    text = path.read_text(encoding="utf-8").replace(old, new, 1)
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    before = path.read_bytes()
    result = run("--resume", "2")
    assert result.status == 2 and message in result.err.splitlines()[-1]
    assert path.read_bytes() == before


def test_a_folder_that_can_no_longer_be_written_is_said_once_and_the_run_goes_on(serve, run):
    def remove_the_folder(handler):
        shutil.rmtree("runs")
        pathlib.Path("runs").write_text("")
        completion(REPLIES[1])(handler)

    serve(REPLIES[0], remove_the_folder, *REPLIES[2:])
    result = run("-v")
    assert (result.status, result.out, result.err.count("cannot be saved in runs/")) == (0, TRACE, 1)
    assert "6 thoughts, not saved: " in result.err.splitlines()[-1]


def test_a_full_disk_leaves_no_part_of_a_file_behind(serve):
    serve(*REPLIES)
    result = run_shell("> /dev/null", before='ulimit -f 1; trap "" XFSZ;')
    assert (result.status, saved_runs()) == (0, []) and "cannot be saved" in result.err


def with_usage(reply, prompt_tokens, completion_tokens, **details):
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens, "prompt_tokens_details": details}
    return completion(reply, usage=usage)


def test_the_cost_of_all_tries_is_saved_and_summed_up_over_a_resumed_run(serve, run):
    serve(with_usage("nonsense", 100, 10, cached_tokens=64), with_usage(REPLIES[0], 200, 20))
    run("--step")
    cost = yaml.safe_load(saved_runs()[0].read_text())["thoughts"][0]["cost"]
    assert list(cost) == ["model", "requests", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens"]
    assert [cost[key] for key in cost if key != "seconds"] == ["gpt-6-luna", 2, 300, 64, 30]
    endpoint = serve(with_usage(REPLIES[1], 1000, 100), *REPLIES[2:])
    last_line = run("--resume", "-v").err.splitlines()[-1]
    total = r"gpt-6-luna, 7 requests, [\d.]+ seconds, 1,300 prompt tokens, 64 cached tokens, 130 completion tokens"
    assert re.fullmatch(rf"6 thoughts, saved in {saved_runs()[0]}: {total}", last_line)
    assert "prompt_tokens" not in endpoint.prompts[-1]
