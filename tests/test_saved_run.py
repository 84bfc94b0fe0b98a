"""A run is saved, resumed, started again from any of its thoughts, and walked through. No run is ever overwritten."""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import sys

import pytest
import yaml

from flow import create_chain_of_thought_flow
from tests.conftest import MAIN, run_command, run_python, saved_runs, start
from tests.loopback import completion, error, reply, silence
from utils.thought_format import format_run

PROBLEM, SOLUTION = "How many?", "It is 3.\n\nSure."
REPLIES = [
    reply("Work.", ["[Done] Solve", "[Pending] Write", "[Pending] Conclusion"], Solve="x = 2"),
    reply(plan=["[Done] Solve", "[Verification Needed] Write", "[Pending] Conclusion"], solution="It is 2."),
    reply(plan=["[Done] Solve", "[Done] Write", "[Pending] Conclusion"], changes=[("2", "3")], Write="corrected"),
    reply(plan=["[Done] Solve", "[Done] Write", "[Done] Conclusion"], changes=[(None, "Sure.")], more=False),
]
with contextlib.redirect_stdout(None):
    shared = {"problem": PROBLEM}
    create_chain_of_thought_flow(call_llm=lambda prompt, replies=iter(REPLIES): next(replies)).run(shared)
TRACE = "".join(f"{text}\n" for text, _ in format_run(PROBLEM, shared["thoughts"]))


@pytest.fixture
def solved(serve, run):
    """The endpoint of a solved run that is saved in runs/. It has the path of the run."""
    endpoint = serve(*REPLIES)
    run("--problem", PROBLEM)
    (endpoint.path,) = saved_runs()
    return endpoint


def run_and(act, place, replies, *arguments):
    """The program in a process that acts after the replies: before an "open runs/", say, or as it asks for one more."""
    code = f"""import os, re, resource, signal, sys, main
replies, acts = {replies!r}, [lambda: {act}]
main.call_llm = lambda *arguments, **options: replies.pop(0) if replies else acts.pop()()
def hook(event, values):
    if acts and not replies and re.match({place!r}, " ".join(map(str, (event, *values)))):
        acts.pop()()
sys.addaudithook(hook)
sys.exit(main.main({["--problem", PROBLEM, *arguments]!r}))"""
    return run_python("-c", code, PYTHONPATH=str(pathlib.Path(MAIN).parent))


def hint(err):
    """The arguments of the command that a message tells the user to paste."""
    return shlex.split(re.search(r"To continue: python main\.py (.*)", err)[1])


def saved_thoughts(path):
    thoughts = yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))["thoughts"]
    return [{key: value for key, value in thought.items() if key != "cost"} for thought in thoughts]


def replace_last(path, old, new):
    before, after = path.read_text(encoding="utf-8").rsplit(old, 1)
    path.write_bytes(f"{before}{new}{after}".encode("utf-8", "surrogateescape"))


def all_files():
    return {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize("answers, arguments, message, options", [
    ([*REPLIES[:2], error(401, "No.")], [], "401: No.", []),
    ([*REPLIES[:2], "One.", "Two.", "Three."], [], "gave up after 3 rejected replies", []),
    (REPLIES[:2], ["--max-thoughts", "2"], "No solution after 2 thoughts", ["--max-thoughts", "4"]),
    (REPLIES[:1], ["--max-thoughts", "1", "--step"], "No solution after 1 thought", ["--max-thoughts", "2"]),
    (REPLIES[:1], ["--max-thoughts", "9", "--step"], "Stopped after Thought 1", ["--max-thoughts", "9"]),
    (REPLIES[:1], ["--run", "my run.yaml", "--model", "big one"], "request 2 was not", ["--model", "big one"]),
])
def test_the_command_in_a_message_continues_as_if_nothing_happened(serve, run, answers, arguments, message, options):
    serve(*answers)
    stopped = run("--problem", PROBLEM, *arguments)
    (path,) = all_files()
    command = ["--resume", str(path), *options]
    assert stopped.status == ("Stopped" not in message) and message in stopped.err and hint(stopped.err) == command
    serve()
    assert hint(run(*command).err) == command
    serve(*REPLIES[stopped.out.count("\nThought ") :])
    assert run(*command, "--max-thoughts", "4") == (0, TRACE, "") and [*all_files()] == [path]


def test_the_command_can_be_pasted_into_a_shell_whatever_spaces_are_in_its_paths(serve, run, monkeypatch):
    os.mkdir("my runs")
    os.symlink(pathlib.Path(MAIN).parent, "my program")
    monkeypatch.setattr(sys, "argv", ["my program/main.py"])
    serve(*REPLIES)
    stopped = run("--problem", PROBLEM, "--step", "--run", "my runs/the first.yaml")
    command = stopped.err[stopped.err.index("python ") :]
    assert run_command("sh", "-c", f'python() {{ "{sys.executable}" "$@"; }}; {command}') == (0, TRACE, "")


def test_a_start_that_fails_at_once_makes_no_file_and_says_how_to_try_again(solved, serve, run):
    before, again = all_files(), ["--resume", str(solved.path), "--after", "0"]
    serve()
    assert "To continue" not in run().err
    assert hint(run("--after", "0").err) == again
    assert hint(run("--after", "0", "--run", "new.yaml").err) == [*again, "--run", "new.yaml"]
    assert run_and("signal.raise_signal(signal.SIGINT)", "while Thought 1 is awaited", []).err == "Interrupted.\n"
    assert all_files() == before


@pytest.mark.parametrize("latest, other", ["12", "21"])
def test_the_latest_run_is_the_one_that_was_written_last_whatever_its_name(run, latest, other):
    os.mkdir("runs")
    for time, name in enumerate([f"{other}.yaml", f"{latest}.yaml", f".{other}.yaml.99.tmp", "later.txt"]):
        pathlib.Path("runs", name).write_text(f"problem: Problem {name}\nthoughts: []\n")
        os.utime(f"runs/{name}", (0, time))
    os.symlink("nowhere", "runs/.#lock.yaml")
    shown = lambda *arguments: re.search("# Problem\n\nProblem (.*).yaml\n", run(*arguments, "--show-prompt").out)[1]
    assert shown("--resume") == shown("--after", "0") == latest
    assert shown("--resume", f"runs/{other}.yaml") == shown("--resume", f"runs/{other}.yaml", "--after", "0") == other


def test_an_interrupted_run_has_printed_its_thoughts_and_is_resumed(serve, run):
    endpoint = serve(REPLIES[0], silence)
    process = start("--problem", PROBLEM)
    endpoint.wait_for_request(2)
    os.set_blocking(process.stdout.fileno(), False)
    assert process.stdout.read().decode() == TRACE[: TRACE.index("Thought 2:")]
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and err.startswith(b"Interrupted. To continue: ") and err.count(b"\n") == 1
    serve(*REPLIES[1:])
    assert run("--resume").out == TRACE


@pytest.mark.parametrize("name, place, count, printed, saved", [
    ("SIGKILL", "open runs/", 2, 1, 1),
    ("SIGKILL", "os.rename runs/", 2, 1, 1),
    ("SIGKILL", "os.rename runs/", 4, 3, 3),
    ("SIGKILL", "while Thought 4 is awaited", 3, 3, 3),
    ("SIGINT", "os.mkdir runs", 1, 0, 1),
    ("SIGINT", "os.rename runs/", 1, 0, 1),
    ("SIGINT", "open runs/", 2, 1, 2),
])
def test_a_kill_loses_no_printed_thought_and_ctrl_c_none_that_came(serve, run, name, place, count, printed, saved):
    stopped = run_and(f"signal.raise_signal(signal.{name})", place, REPLIES[:count])
    assert (stopped.status, stopped.out.count("\nThought ")) == (130 if name == "SIGINT" else -9, printed)
    serve(*REPLIES[saved:])
    assert run("--resume") == (0, TRACE, "")
    assert len(os.listdir("runs")) == (2 if stopped.status == -9 and "rename" in place else 1)


def test_a_file_that_another_process_makes_at_the_last_moment_is_left_alone():
    act, place = "open('mine.yaml', 'w').write('theirs')", r"\S+ (\S+ )?mine\.yaml\b"
    assert run_and(act, place, REPLIES[:1], "--step", "--run", "mine.yaml").status == 0
    assert pathlib.Path("mine.yaml").read_text() == "theirs" and len(saved_thoughts("mine-2.yaml")) == 1


def test_a_full_disk_leaves_no_part_of_a_file_behind():
    result = run_and("resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))", "open runs/", REPLIES[:1], "--step")
    assert (result.status, os.listdir("runs")) == (0, []) and "cannot be saved in runs/" in result.err


@pytest.mark.parametrize("is_repaired", [False, True])
def test_a_folder_that_cannot_be_written_is_said_once_and_the_run_goes_on(serve, run, is_repaired):
    spoil = lambda handler: (os.rename("runs", "away"), open("runs", "x").close(), completion(REPLIES[1])(handler))
    repair = lambda handler: (os.remove("runs"), os.rename("away", "runs"), completion(REPLIES[3])(handler))
    serve(REPLIES[0], spoil, REPLIES[2], repair if is_repaired else REPLIES[3])
    result = run("-v", "--problem", PROBLEM)
    assert (result.status, result.out, result.err.count("cannot be saved in runs/")) == (0, TRACE, 1)
    place = f"saved in {saved_runs()[0]}" if is_repaired else "not saved"
    assert result.err.splitlines()[-1].startswith(f"4 thoughts, {place}, took 4 requests")


def test_a_run_that_another_run_or_a_hand_changes_meanwhile_continues_in_another_file(serve, run):
    change = lambda handler: (replace_last(path, "Work.", "Another."), completion(REPLIES[1])(handler))
    serve(REPLIES[0], change, *REPLIES[2:])
    path = pathlib.Path("a.yaml")
    run("--problem", PROBLEM, "--step", "--run", "a.yaml")
    result = run("--resume", "a.yaml")
    assert (result.status, result.out) == (0, TRACE) and "a-2.yaml" in result.err
    assert saved_thoughts(path)[0]["current_thinking"] == "Another." and len(saved_thoughts("a-2.yaml")) == 4


@pytest.mark.parametrize("arguments, count", [
    (["--after", "0"], 0),
    (["--after", "1"], 1),
    (["--after", "2", "--run", "new.yaml"], 2),
    (["--resume", "old.yaml", "--after", "3"], 3),
    (["--resume", "unsolved.yaml", "--run", "new.yaml"], 2),
])
def test_a_run_that_starts_from_another_has_the_same_prompts_and_its_own_file(solved, serve, run, arguments, count):
    shutil.copy(solved.path, "old.yaml")
    pathlib.Path("unsolved.yaml").write_text(solved.path.read_text().split("- thought_number: 3")[0])
    before = all_files()
    assert run(*arguments, "--show-prompt").out == solved.prompts[count]
    endpoint = serve(*REPLIES[count:])
    assert run(*arguments) == (0, TRACE, "") and endpoint.prompts == solved.prompts[count:]
    ((new, _),) = all_files().items() - before.items()
    assert len(all_files()) == 4 and saved_thoughts(new) == saved_thoughts(solved.path)
    assert str(new.parent) == ("." if "--run" in arguments else "runs")


def test_steps_print_a_run_bit_by_bit(serve, run):
    serve(*REPLIES, REPLIES[2])
    steps = [run("--step", "--problem", PROBLEM), *(run("--resume", "--step") for _ in REPLIES[1:])]
    assert "".join(step.out for step in steps) == TRACE
    assert [(step.status, "To continue" in step.err) for step in steps] == [(0, True)] * 3 + [(0, False)]
    (old,), again = saved_runs(), run("--after", "2", "--step")
    assert again.out == steps[2].out and {old, pathlib.Path(hint(again.err)[1])} == {*saved_runs()}


def test_a_solved_run_is_printed_again_without_a_key(solved, run, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    before = all_files()
    for options in ([], ["--max-thoughts", "1"], ["--step"]):
        assert run("--resume", *options) == (0, TRACE, "") and all_files() == before


def test_quiet_prints_the_solution_to_the_letter_and_nothing_else(serve, run):
    serve(*REPLIES)
    unsolved = run("-q", "--max-thoughts", "2")
    assert (unsolved.status, unsolved.out) == (1, "") and hint(unsolved.err)
    assert run("--resume", "--quiet") == run("--resume", "-q") == (0, f"{SOLUTION}\n", "")


@pytest.mark.parametrize("again", [["--resume"], ["--after", "1"]])
@pytest.mark.parametrize("option, variable, model", [([], "", "b"), ([], "c", "c"), (["--model", "d"], "c", "d")])
def test_a_run_keeps_its_last_model_unless_another_is_named(serve, run, monkeypatch, again, option, variable, model):
    endpoint = serve(*REPLIES[:2], REPLIES[1])
    run("--step", "--model", "a")
    run("--resume", "--step", "--model", "b")
    monkeypatch.setenv("OPENAI_MODEL", variable)
    run(*again, "--step", *option)
    assert [request["body"]["model"] for request in endpoint.requests] == ["a", "b", model]


def test_what_a_hand_has_changed_is_what_continues(serve, run):
    endpoint = serve(*REPLIES)
    run("--max-thoughts", "2")
    (path,) = saved_runs()
    replace_last(path, "Work.", "By hand.")
    replace_last(path, "It is 2.", "It may be 2.")
    assert "\nIt may be 3.\n" in run("--resume").out and saved_runs() == [path]
    assert "By hand." in endpoint.prompts[2] and "\nIt may be 2.\n" in endpoint.prompts[2]


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(serve, run):
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    plan = ["[Pending] A", "[Pending] Conclusion"]
    serve(reply(thinking, plan, solution="s", A="x: 2", marks={"A": "sign?"}), reply(plan=plan, changes=[("s", "t")]))
    run("--problem", "  How\n\nmany?", "--max-thoughts", "2")
    text = saved_runs()[0].read_text(encoding="utf-8")
    assert re.fullmatch(r"\d{8}-\d{6}\.yaml", saved_runs()[0].name)
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n  current_thinking: |-\n")
    assert all(line in text for line in thinking.split("\n")) and '\\"' not in text
    assert text.count("A\n    status: Pending\n    result: |-\n      x: 2\n    mark: |-\n      sign?\n") == 2
    first, second = yaml.safe_load(text)["thoughts"]
    assert first["current_thinking"] == thinking and second["solution_changes"] == [{"old": "s", "new": "t"}]
    assert list(first) == ["thought_number", "current_thinking", "planning", "next_thought_needed", "solution", "cost"]


@pytest.mark.parametrize("text", [
    "null", "\ta\rb", "\ufeffx", "- a\n\n\n", "x \n  \n y", "\tp\x0c\n# 2", "a " * 99 + "\x0c\\theta", "\x85\u2028b"
])
def test_any_problem_survives_being_saved(serve, run, text):
    endpoint = serve(REPLIES[0])
    run("--problem", text)
    assert run("--after", "0", "--show-prompt").out == endpoint.prompts[0]


@pytest.mark.parametrize("text", [
    "\ufeffa\tb\ufeff", "null", "# x\n#", "a: b\n\n  c", "'x", "  12\n+ 5", "Done", "!A &b *c", "\u00a0x\u3000"
])
def test_any_thought_survives_being_saved(serve, run, text):
    endpoint = serve(reply("x", solution="x").replace("|-\n  x", "|2-\n  " + text.replace("\n", "\n  ")))
    run("--step")
    prompt = run("--resume", "--show-prompt").out.replace("\n    ", "\n")
    assert text.strip("\u3000") in prompt and len(endpoint.requests) == 1


@pytest.mark.parametrize("arguments, message", [
    (["--problem", " \n"], "blank"),
    (["--problem", "Gr\udcf6\udcdfe"], "UTF-8"),
    (["--max-thoughts", "0"], "--max-thoughts must be at least 1"),
    (["--run", "mine.yaml"], "mine.yaml already exists"),
    (["--run", "no/such/folder.yaml"], "is in a folder that does not exist"),
    (["--resume", "--run", "mine.yaml"], "mine.yaml already exists"),
    (["--resume", "--problem", "x"], "leave out --problem"),
    (["--resume", "--show-prompt"], "Thought 4 ends the run; use --after 3 or less"),
    (["--resume", "other.yaml"], "other.yaml: No such file or directory"),
    (["--resume", "mine.yaml"], "mine.yaml: it is not a saved run"),
    (["--after", "2", "--max-thoughts", "2"], "--max-thoughts must be at least 3"),
    (["--after", "4"], "Thought 4 ends the run; use --after 3 or less"),
    (["--after", "5"], "Thought 5"),
    (["--after", "-1"], "--after"),
    (["--quiet", "--show-prompt"], "not allowed with"),
])
def test_wrong_usage_is_said_and_changes_nothing(solved, run, arguments, message):
    pathlib.Path("mine.yaml").write_text("mine")
    before = all_files()
    result = run(*arguments)
    assert (result.status, result.out, all_files(), len(solved.requests)) == (2, "", before, 4)
    assert message in result.err.splitlines()[-1]


def test_without_a_saved_run_there_is_nothing_to_resume(run):
    assert "there is no run in runs/" in run("--resume").err and os.listdir() == []


@pytest.mark.parametrize("old, new, message", [
    ("status: Done", "status: Finished", "Thought 4: the status of the step 'Conclusion' is 'Finished'"),
    ("corrected\n", "corrected\n    reslut: x\n", "Thought 4: the key 'reslut' of the step 'Write' is unknown"),
    ("  planning:", "  my_note: x\n  planning:", "Thought 4: the key 'my_note' is unknown"),
    ("  - old:", "  - odl:", "Thought 3: the key 'odl'"),
    ("It is 2", "It is 7", "Thought 3: the passage '2' occurs 0 times"),
    ("needed: true", "needed: false", "Thought 3: next_thought_needed is false, but the step 'Conclusion' is not Done"),
    ("status: Pending", "status: Done", "Thought 4: the thought before it ends the run"),
    ("      Conclusion", "      End", "Thought 4: the last step of the plan is 'End', not the Conclusion\\.$"),
    ("requests: 1", "requests: many", "Thought 4: .*cost"),
    ("requests: 1", "my_note: 1", "Thought 4: .*cost"),
    ("model: |-\n      gpt-6-luna", "model: [a]", "Thought 4: .*cost"),
    ("- thought_number: 4\n", "- nothing\n- thought_number: 4\n", "Thought 4"),
    ("problem: |-", "my_note: x\nproblem: |-", "it is not a saved run"),
    ("problem: |-\n  How", "problem:\n  - How", "it is not a saved run"),
    ("thoughts:\n", "thoughts:\n[\n", "line 5: it is not valid YAML"),
    ("thoughts:", "# planted\nthoughts:", "line 3: YAML would ignore the comment '# planted'"),
    ("thoughts:", "problem: x\nthoughts:", "line 3: the key 'problem' is given twice"),
    ("How", "\udce9", "line 2: it is not UTF-8"),
])
def test_a_fault_in_a_saved_run_is_said_with_its_place_and_harms_no_start_before(solved, serve, run, old, new, message):
    replace_last(solved.path, old, new)
    before, endpoint = all_files(), serve(reply())
    result = run("--resume")
    assert (result.status, result.out, all_files()) == (2, "", before)
    assert re.match(f"{solved.path}: {message}", result.err) and result.err.count("\n") == 1
    assert run("--after", "2", "--step").status == (0 if "Thought" in message else 2)
    assert all(request["body"]["model"] == "gpt-6-luna" for request in endpoint.requests)


def test_the_cost_of_all_tries_is_saved_and_summed_up_over_a_resumed_run(serve, run):
    usage = {"prompt_tokens": 500, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 64}}
    serve(*(completion(text, usage=usage) for text in ("nonsense", *REPLIES[:2])), *REPLIES[2:])
    run("--step", "--model", "small")
    cost = yaml.safe_load(saved_runs()[0].read_text())["thoughts"][0]["cost"]
    assert list(cost) == ["model", "requests", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens"]
    assert [cost[key] for key in cost if key != "seconds"] == ["small", 2, 1000, 128, 20]
    last_line = run("--resume", "-v", "--model", "big").err.splitlines()[-1]
    total = r"5 requests, [\d.]+ seconds, 1,500 prompt tokens, 192 cached tokens, 30 completion tokens \(small, big\)"
    assert re.match(f"4 thoughts, saved in {saved_runs()[0]}, took {total}", last_line)
