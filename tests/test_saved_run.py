"""A run is saved, resumed, started again from any of its thoughts, and walked through. No run is ever overwritten."""

import contextlib
import io
import os
import pathlib
import re
import shlex
import shutil
import sys
import time

import pytest
import yaml

from flow import create_chain_of_thought_flow
from tests.conftest import MAIN, run_python, saved_runs
from tests.replies import Model, reply
from utils.errors import RunFailed

PROBLEM, SOLUTION = "How many?", "It is 3.\n\nSure."
REPLIES = [
    reply("Work.", ["[Done] Solve", "[Pending] Write", "[Pending] Conclusion"], Solve="x = 2"),
    reply(plan=["[Done] Solve", "[Verification Needed] Write", "[Pending] Conclusion"], solution="It is 2."),
    reply(plan=["[Done] Solve", "[Done] Write", "[Pending] Conclusion"], changes=[("2", "3")], Write="corrected"),
    reply(plan=["[Done] Solve", "[Done] Write", "[Done] Conclusion"], changes=[("", "Sure.")], more=False),
]
with contextlib.redirect_stdout(io.StringIO()) as output:  # of a run in one go that is saved nowhere
    model = Model(REPLIES)
    create_chain_of_thought_flow(call_llm=model).run({"problem": PROBLEM})
TRACE, PROMPTS = f"🤔 Problem: {PROBLEM}\n\n{output.getvalue()}", model.prompts
TRACES = re.split(r"^(?=Thought \d)", TRACE, flags=re.M)  # the problem, and what each thought prints


@pytest.fixture
def solved(run):
    """The path of a solved run in runs/. A part of it, two thoughts, is unsolved.yaml."""
    run("--problem", PROBLEM, replies=REPLIES)
    pathlib.Path("unsolved.yaml").write_text(saved_runs()[0].read_text().split("- thought_number: 3")[0])
    return saved_runs()[0]


def run_child(code, *arguments):
    """A process in which `code` runs first, and can use main(), which answers and says so on stderr."""
    before = f"""import functools, itertools, os, re, resource, signal, sys, main
replies = iter({REPLIES!r})
ask = lambda prompt: print("REPLY", file=sys.stderr) or next(replies)
main = functools.partial(main.main, {["--problem", PROBLEM, *arguments]!r}, ask)
"""
    return run_python("-c", f"{before}{code}\nsys.exit(main())", PYTHONPATH=str(pathlib.Path(MAIN).parent))


def hint(err):
    """The arguments of the command that a message tells the user to paste."""
    return shlex.split(re.findall(r"python .*main\.py.*", err)[-1])[2:]


def saved_thoughts(path):
    thoughts = yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))["thoughts"]
    return [{key: value for key, value in thought.items() if key != "cost"} for thought in thoughts]


def replace_last(path, old, new):
    before, after = path.read_text(encoding="utf-8").rsplit(old, 1)
    path.write_bytes(f"{before}{new}{after}".encode("utf-8", "surrogateescape"))


def all_files():
    return {path: path.read_bytes() for path in pathlib.Path().rglob("*") if path.is_file()}


def interrupt():
    raise KeyboardInterrupt


def after(act, answer):
    """A reply that comes after something has happened."""
    return lambda: (act(), answer)[1]


def spoil():
    os.rename("runs", "away")
    pathlib.Path("runs").write_text("")


def repair():
    os.remove("runs")
    os.rename("away", "runs")


OPTIONS = ["--max-thoughts", "9", "--model", "big one"]


@pytest.mark.parametrize("replies, arguments, status, message, kept", [
    ([*REPLIES[:2], RunFailed("No server.")], [], 1, "No server.", []),
    ([*REPLIES[:2], ValueError("mine")], OPTIONS, 1, "ValueError: mine", OPTIONS),
    ([*REPLIES[:2], interrupt], ["--quiet"], 130, "--quiet", ["--quiet"]),
    ([*REPLIES[:2], "One.", "Two.", "Three."], ["-v"], 1, "Three.", ["--verbose"]),
    (REPLIES[:1], ["--run", "my 'first' run.yaml", "--step", "-qv"], 0, "1", ["--step", "--quiet", "--verbose"]),
    (REPLIES[:2], ["--max-thoughts", "2"], 1, "2 thoughts", ["--max-thoughts", "4"]),
    (REPLIES[:1], ["--max-thoughts", "1", "--step"], 1, "1 thought", ["--max-thoughts", "2", "--step"]),
])
def test_the_command_in_a_message_continues_with_the_same_options(
    run, monkeypatch, replies, arguments, status, message, kept
):
    monkeypatch.setattr(sys, "argv", ["my program/main.py"])
    stopped = run("--problem", PROBLEM, *arguments, replies=replies)
    (path,) = all_files()
    assert stopped.status == status and message in stopped.err and "'my program/main.py'" in stopped.err
    assert sorted(hint(stopped.err)) == sorted(["--resume", str(path), *kept])
    again = run(*hint(stopped.err), replies=[RunFailed("No.")])
    assert len(again.prompts) == 1 and [*all_files()] == [path]
    assert sorted(hint(again.err)) == sorted(["--resume", str(path), *kept])


@pytest.mark.parametrize("failure, arguments, again", [
    (interrupt, [], None),
    (ValueError("mine"), ["--run", "new.yaml"], None),
    (interrupt, ["--after", "0", "--step"], ["--resume", "PATH", "--after", "0", "--step"]),
    (RunFailed("No."), ["--after", "1", "--run", "new"], ["--resume", "PATH", "--after", "1", "--run", "new"]),
    (ValueError("mine"), ["--resume", "unsolved.yaml", "--run", "a b"], ["--resume", "unsolved.yaml", "--run", "a b"]),
])
def test_a_start_without_a_thought_leaves_no_file_and_says_how_to_try_again(solved, run, failure, arguments, again):
    before = all_files()
    result = run(*arguments, replies=[failure])
    assert result.status in (1, 130) and all_files() == before
    assert "--resume" in result.err if again else "--resume" not in result.err
    assert not again or sorted(hint(result.err)) == sorted(str(solved) if word == "PATH" else word for word in again)


@pytest.mark.parametrize("latest, other", ["12", "21"])
def test_the_latest_run_is_the_one_that_was_written_last_whatever_its_name(run, latest, other):
    os.mkdir("runs")
    for second, name in enumerate([f"{other}.yaml", f"{latest}.yaml", f".{other}.yaml.99.tmp", "later.txt"]):
        pathlib.Path("runs", name).write_text(f"problem: Problem {name}\nthoughts: []\n")
        os.utime(f"runs/{name}", (0, second))
    pathlib.Path("runs/killed.yaml").touch()
    os.symlink("nowhere", "runs/.#lock.yaml")
    shown = lambda *arguments: re.search("# Problem\n\nProblem (.*).yaml\n", run(*arguments, "--show-prompt").out)[1]
    assert shown("--resume") == shown("--after", "0") == latest
    assert shown("--resume", f"runs/{other}.yaml") == shown("--resume", f"runs/{other}.yaml", "--after", "0") == other


@pytest.mark.parametrize("option, more", [("--resume", []), ("--after", ["0"]), ("--show", []), ("--resume", ["-q"])])
def test_which_run_was_taken_is_said_first_and_in_one_line_where_none_was_named(run, option, more):
    run("--problem", f"How\n\nmany {'words ' * 99}?", "--step", replies=REPLIES)
    (path,) = saved_runs()
    run("--run", "later.yaml", "--problem", "x", replies=REPLIES)
    with contextlib.redirect_stderr(sys.stdout):
        line, *_ = run(option, *more, replies=[lambda: print("asked") or RunFailed("No.")]).out.split("\n")
    assert str(path) in line and "How many words" in line and len(line) < 200
    named = ["--resume", str(path), "--after", "0"] if option == "--after" else [option, str(path), *more]
    assert "How many" not in run(*named, replies=[]).err


SIGNALS = """for number in itertools.count():
    os.mkdir(str(number))
    if not os.fork():
        os.chdir(str(number))
        os.dup2(os.open("out", os.O_CREAT | os.O_WRONLY), 1)
        os.dup2(os.open("err", os.O_CREAT | os.O_WRONLY), 2)
        counter = itertools.count()
        def send(frame, event, function):
            if event == "c_return" and function.__module__ in ("posix", "_io", "io"):
                if function.__name__ in {names} and next(counter) == number:
                    signal.raise_signal(signal.{signal})
        sys.setprofile(send)
        status = main()
        os._exit(status if next(counter) > number else 99)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    if status == 99: sys.exit()
    print(status, flush=True)"""
CALLS = ["open", "utime", "mkdir", "chmod", "link", "rename", "replace", "unlink", "remove"]


@pytest.mark.parametrize("name, status", [("SIGKILL", -9), ("SIGINT", 130)])
def test_whenever_a_signal_comes_no_printed_thought_is_lost_and_with_ctrl_c_none_that_came(run, name, status):
    """Run N, in the folder N, gets the signal at the end of its Nth call that may change a file."""
    done = run_child(SIGNALS.format(names=CALLS, signal=name), "--max-thoughts", "2")
    assert done.out.count("\n") >= 6 and set(done.out.split()) == {str(status)}
    for number in range(done.out.count("\n")):
        os.chdir(f"{number}")
        printed = pathlib.Path("out").read_text().count("Thought ")
        came = pathlib.Path("err").read_text().count("REPLY")
        names = sorted(os.listdir("runs")) if os.path.exists("runs") else []
        assert all(names[-1] in name for name in names)  # the run, and perhaps its temporary file
        saved = len(saved_thoughts(f"runs/{names[-1]}")) if names and os.path.getsize(f"runs/{names[-1]}") else 0
        assert printed <= saved <= came and (saved == came or name == "SIGKILL")
        assert saved == 0 or run("--resume", replies=REPLIES[saved:]).out == TRACE
        os.chdir("..")


@pytest.mark.parametrize("arguments, status, mine", [([], 0, ["-2.yaml"]), (["--run", "runs/mine.yaml"], 2, [])])
def test_a_file_that_another_process_makes_at_the_last_moment_is_left_alone(arguments, status, mine):
    code = """texts = ["theirs"]
def make(event, values):
    if event == "open" and texts and re.match(r"runs/[^.].*yaml$", str(values[0])):
        texts.pop() and open(values[0], "w").write("theirs")
os.mkdir("runs")
sys.addaudithook(make)"""
    assert run_child(code, "--step", *arguments).status == status
    theirs, *others = sorted(saved_runs(), key=lambda path: len(path.name))
    assert theirs.read_text() == "theirs" and [path.name.removeprefix(theirs.stem) for path in others] == mine


def test_a_full_disk_leaves_no_part_of_a_run_behind_and_ends_a_step_with_status_1():
    result = run_child("resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))", "--step")
    assert result.status == 1 and TRACES[1] in result.out and "File too large" in result.err
    assert set(all_files().values()) <= {b""} and "--resume" not in result.err


@pytest.mark.parametrize("is_repaired", [False, True])
def test_a_failing_save_is_said_once_and_the_run_goes_on(run, is_repaired):
    last = after(repair, REPLIES[3]) if is_repaired else REPLIES[3]
    result = run("-v", "--problem", PROBLEM, replies=[REPLIES[0], after(spoil, REPLIES[1]), REPLIES[2], last])
    assert (result.status, result.out, len(re.findall("File exists|Not a directory", result.err))) == (0, TRACE, 1)
    assert "4 thoughts" in result.err.splitlines()[-1] and ("runs/" in result.err.splitlines()[-1]) == is_repaired


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("act, is_changed", [
    (lambda: pathlib.Path("a/b.yaml").write_text("theirs"), True),
    (lambda: os.rename("a/b.yaml", "moved.yaml"), False),
    (lambda: os.remove("a/b.yaml"), False),
    (lambda: shutil.rmtree("a"), False),
])
def test_a_file_that_is_changed_meanwhile_is_left_and_one_that_is_gone_is_written_again(run, count, act, is_changed):
    os.mkdir("a")
    replies = [*REPLIES[:count], after(act, REPLIES[count]), *REPLIES[count + 1 :]]
    result = run("-v", "--problem", PROBLEM, "--run", "a/b.yaml", replies=replies)
    path = "a/b-2.yaml" if is_changed else "a/b.yaml"
    assert (result.status, result.out, len(saved_thoughts(path))) == (0, TRACE, 4)
    assert f"{path}," in result.err.splitlines()[-1]
    assert not is_changed or pathlib.Path("a/b.yaml").read_text() == "theirs" and "a/b.yaml " in result.err


def test_what_another_writes_to_the_file_of_a_run_that_fails_is_left_alone(run):
    act = lambda: pathlib.Path("mine.yaml").write_text("theirs")
    run("--run", "mine.yaml", replies=[after(act, RunFailed("No."))])
    assert pathlib.Path("mine.yaml").read_text() == "theirs"


def test_a_run_that_fails_when_its_folder_is_gone_says_why_it_failed(run):
    result = run(replies=[after(spoil, RunFailed("No server."))])
    assert result.status == 1 and "No server." in result.err


def test_a_file_keeps_its_mode_and_a_link_stays_one(run):
    run("--step", "--run", "mine.yaml", replies=REPLIES)
    pathlib.Path("ordinary").touch()
    assert os.stat("mine.yaml").st_mode == os.stat("ordinary").st_mode
    os.chmod("mine.yaml", 0o640)
    os.mkdir("links")
    os.symlink("../mine.yaml", "links/link.yaml")
    run("--resume", "links/link.yaml", replies=REPLIES[1:])
    assert os.path.islink("links/link.yaml") and os.listdir("links") == ["link.yaml"]
    assert oct(os.stat("mine.yaml").st_mode)[-3:] == "640" and len(saved_thoughts("mine.yaml")) == 4


@pytest.mark.parametrize("problem, words", [
    ("How many integers from 1 to 100?", "-how-many-integers-from-1-to"),
    ("../Größe: ΣΑΣ\n1.5_m", "-größe-σας-1-5-m"),
    ("几" * 40, "-" + "几" * 30),
    ("?!", ""),
])
def test_a_run_is_named_by_its_time_and_the_first_words_of_its_problem(run, problem, words):
    before = time.strftime("%Y%m%d-%H%M%S")
    run("--step", "--problem", problem, replies=REPLIES)
    name = saved_runs()[0].name
    assert before <= name[:15] <= time.strftime("%Y%m%d-%H%M%S") and name[15:] == f"{words}.yaml"


@pytest.mark.parametrize("arguments, count", [
    (["--after", "0"], 0),
    (["--after", "2", "--run", "new.yaml"], 2),
    (["--resume", "old.yaml", "--after", "3"], 3),
    (["--resume", "unsolved.yaml", "--run", "new.yaml"], 2),
])
def test_a_run_that_starts_from_another_has_the_same_prompts_and_its_own_file(solved, run, arguments, count):
    shutil.copy(solved, "old.yaml")
    before = all_files()
    assert run(*arguments, "--show-prompt").out == PROMPTS[count] and all_files() == before
    result = run(*arguments, replies=REPLIES[count:])
    assert (result.status, result.out, result.prompts) == (0, TRACE, PROMPTS[count:])
    ((new, _),) = all_files().items() - before.items()
    assert len(all_files()) == 4 and saved_thoughts(new) == saved_thoughts(solved)
    assert str(new.parent) == ("." if "--run" in arguments else "runs")


def test_steps_print_a_run_bit_by_bit(run):
    results = [run("--step", "--problem", PROBLEM, "--run", "mine.yaml", replies=REPLIES)]
    for count in (1, 2, 3):
        results.append(run(*hint(results[-1].err), replies=REPLIES[count:]))
    assert [result.out for result in results] == [TRACES[0] + TRACES[1], *TRACES[2:]]
    assert [result.prompts for result in results] == [[prompt] for prompt in PROMPTS]
    assert [result.status for result in results] == [0, 0, 0, 0] and results[3].err == ""
    again = run("--resume", "mine.yaml", "--after", "2", "--step", replies=REPLIES[2:])
    assert (again.out, again.prompts) == (TRACES[3], [PROMPTS[2]])
    assert hint(again.err) == ["--resume", str(saved_runs()[0]), "--step"]


def test_quiet_prints_the_solution_to_the_letter_and_nothing_else(run):
    stopped = run("-q", "--problem", PROBLEM, "--run", "mine.yaml", "--max-thoughts", "2", replies=REPLIES)
    assert (stopped.status, stopped.out) == (1, "")
    assert run("--resume", "mine.yaml", "--quiet", replies=REPLIES[2:])[:3] == (0, f"{SOLUTION}\n", "")


@pytest.mark.parametrize("again", [["--resume"], ["--after", "1"]])
@pytest.mark.parametrize("option, variable, model", [([], "", "b"), ([], "c", "c"), (["--model", "d"], "c", "d")])
def test_a_run_keeps_its_last_model_unless_another_is_named(serve, run, monkeypatch, again, option, variable, model):
    endpoint = serve(*REPLIES[:2], REPLIES[1])
    run("--step", "--model", "a")
    run("--resume", "--step", "--model", "b")
    monkeypatch.setenv("OPENAI_MODEL", variable)
    run(*again, "--step", *option)
    assert [request["body"]["model"] for request in endpoint.requests] == ["a", "b", model]


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(run):
    plan = ["[Pending] A", "[Pending] Conclusion"]
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    replies = [reply(thinking, plan, solution="s", A="x: 2", marks={"A": "sign?"}), reply(plan=plan, changes=["st"])]
    run("--problem", "  How\n\nmany?", "--run", "a", "--max-thoughts", "2", replies=replies)
    text = pathlib.Path("a").read_text(encoding="utf-8")
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n  current_thinking: |-\n")
    assert all(line in text for line in thinking.split("\n")) and '\\"' not in text
    assert text.count("A\n    status: Pending\n    result: |-\n      x: 2\n    mark: |-\n      sign?\n") == 2
    assert "  solution_changes: |-\n    <<<<<<< SEARCH\n    s\n    =======\n    t\n    >>>>>>> REPLACE\n" in text
    keys = ["thought_number", "current_thinking", "planning", "next_thought_needed", "solution", "cost"]
    assert list(yaml.safe_load(text)["thoughts"][0]) == keys


@pytest.mark.parametrize("problem", [
    "null", "\ta\rb", "\ufeffx", "- a\n\n\n", "x \n  \n y", "\tp\x0c\n# 2", "a " * 99 + "\x0c\\theta", "\x85\u2028b",
    "\n  x\n   ", "\x7f\"quoted\" 'x' \\n\\\n\n", "\x0c" + "wide 甲🚄 " * 30 + "\n\n", "a\n---\n...\n%TAG",
])
def test_any_problem_survives_being_saved(run, problem):
    (prompt,) = run("--problem", problem, "--step", replies=REPLIES).prompts
    assert problem in prompt and run("--after", "0", "--show-prompt").out == prompt


@pytest.mark.parametrize("text", [
    "\ufeffa\tb\ufeff", "null", "# x\n#", "a: b\n\n  c", "'x", "  12\n+ 5", "Done", "!A &b *c", "\u00a0x\u3000",
    "x  \n\n\t y\\", "---\n...", "|-\n  x", "- x\n-", "true",
])
def test_any_thought_survives_being_saved(run, text):
    literal = "|2-\n  " + text.replace("\n", "\n  ")
    replies = [reply("x", solution="x", Solve=text.lstrip(" ")).replace("|-\n  x", literal), reply()]
    prompt = run("--max-thoughts", "3", replies=replies).prompts[1]
    assert f"\n{text.rstrip()}" in prompt and run("--after", "1", "--show-prompt").out == prompt


@pytest.mark.parametrize("edit", [
    lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    lambda text: re.sub("(planning:|[|]-)\n", r"\1  \n", text).replace("It is 2.", "It is 2. \t"),
])
def test_what_an_editor_does_to_a_file_does_not_matter(solved, run, edit):
    solved.write_bytes(edit(solved.read_text(encoding="utf-8")).encode())
    assert run("--show").out.replace("2. \t", "2.") == TRACE
    assert run("--after", "3", replies=REPLIES[3:]).out.replace("2. \t", "2.") == TRACE


@pytest.mark.parametrize("old, new, message", [
    ("status: Done", "status: Finished", "Thought 4: .*'Conclusion'.*'Finished'"),
    ("    status: Done", "    status: Done\n    reslut: x", "Thought 4: .*'reslut'"),
    ("changes: |-", "changes:\n  - |-", "Thought 4: .*solution_changes"),
    ("It is 2", "It is 7", "Thought 3: .*'2'.* 0 "),
    ("requests: 1", "requests: many", "Thought 4: .*cost"),
    ("requests: 1", "model: [a]", "Thought 4: .*cost"),
    ("problem: |-", "my_note: x\nproblem: |-", ".*saved run"),
    ("problem: |-\n  How", "problem:\n  - How", ".*saved run"),
    ("thoughts:\n", "thoughts:\n[\n", "line [45]: .*YAML"),
    ("thoughts:", "# planted\nthoughts:", "line 3: .*'# planted'"),
    ("thoughts:", "problem: x\nthoughts:", "line 3: .*'problem'"),
    ("|-\n  How many?", r'"2 \neq 3"', "line 1: .*neq"),
    ("How", "\udce9", "line 2: "),
])
def test_a_fault_in_a_saved_run_is_said_with_its_place_and_harms_no_start_before(solved, serve, run, old, new, message):
    replace_last(solved, old, new)
    before, endpoint = all_files(), serve(reply())
    result = run("--resume")
    assert (result.status, result.out, all_files()) == (2, "", before)
    assert re.match(f"{solved}: {message}", result.err) and result.err.count("\n") == 1
    assert run("--after", "2", "--step").status == (0 if "Thought" in message else 2)
    assert all(request["body"]["model"] == "gpt-6-luna" for request in endpoint.requests)


class Priced(str):
    cost = {"model": "small", "prompt_tokens": 500, "cached_tokens": 64, "completion_tokens": 10}


def test_the_cost_of_all_tries_is_saved_and_summed_up_over_a_resumed_run(run, monkeypatch):
    clock = iter(range(99))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) * 31.4)  # from one look at the clock to the next
    run("--step", replies=[Priced("nonsense"), Priced(REPLIES[0])])
    cost = yaml.safe_load(saved_runs()[0].read_text())["thoughts"][0]["cost"]
    assert list(cost) == ["model", "requests", "seconds", "prompt_tokens", "cached_tokens", "completion_tokens"]
    assert list(cost.values()) == ["small", 2, 62.8, 1000, 128, 20]
    err = run("--resume", "-v", replies=[*map(Priced, REPLIES[1:3]), REPLIES[3]]).err
    for part in ("4 thoughts", f"{saved_runs()[0]}", "5 requests", "157", "2,000", "256", "40", "small"):
        assert part in err.splitlines()[-1]


def test_giving_up_on_a_thought_says_what_its_replies_took(run):
    result = run("--step", replies=[*map(Priced, ["One.", "Two.", "Three."])])
    assert all(part in result.err for part in ("3 requests", "1,500", "192", "30 ", "small"))
