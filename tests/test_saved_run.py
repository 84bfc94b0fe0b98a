"""A run is saved, resumed, started again from any of its thoughts, walked through, and edited by hand."""

import contextlib
import os
import resource
import shlex
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, Run, all_files, run_python, saved_runs
from tests.replies import end, reply

INTERRUPTED_RUN = str(ROOT / "tests" / "interrupted_run.py")

REPLIES = [
    reply(1, "Work.", results={"Solve": "x = 2"}),
    reply(2, solution="It is 2, as was shown above in two ways."),
    reply(3, changes=[("2", "3")]),
    end(4, changes=[("3", "3 indeed")]),
]


@pytest.fixture
def whole(command, clock):
    """A run that is solved in one go, in whole.yaml. (The clock stands still, so that files can be compared.)"""
    return command("--run whole.yaml", REPLIES)


@pytest.fixture
def half(command, clock):
    """The same run, stopped after two thoughts: the path of its file."""
    command("--run half.yaml --max-thoughts 2", REPLIES)
    return Path("half.yaml")


def read(path):
    return Path(path).read_text(encoding="utf-8")


def count_thoughts(path):
    return read(path).count("- thought_number: ")


def hint(result):
    """The command line, behind the program's name, that a message tells the user to paste."""
    behind_program = result.err.split("python main.py ")[-1]
    return behind_program.splitlines()[0]


def words(line):
    """The words of a command line, in any order."""
    return sorted(shlex.split(line))


def after(act, answer):
    """A reply that comes after something has happened."""

    def act_and_answer():
        act()
        return answer

    return act_and_answer


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


# Going on with a run


def test_a_resumed_run_ends_as_in_one_go_and_in_the_same_file(command, whole, half):
    result = command("--resume half.yaml", REPLIES[2:])
    assert result.status == 0
    assert result.out == whole.out
    assert result.err == ""
    assert result.prompts == whole.prompts[2:]
    assert read(half) == read("whole.yaml")


@pytest.mark.parametrize("line, count", [
    ("--resume whole.yaml --after 0", 0),
    ("--resume whole.yaml --after 3", 3),
    ("--resume half.yaml", 2),
])
def test_a_run_that_starts_from_another_has_a_file_of_its_own(command, whole, half, line, count):
    before = all_files()
    result = command(f"{line} --run new.yaml", REPLIES[count:])
    assert result.out == whole.out
    assert result.prompts == whole.prompts[count:]
    assert all_files() == {**before, Path("new.yaml"): before[Path("whole.yaml")]}


def test_a_run_that_starts_from_no_thought_of_another_has_a_file_of_its_own_in_the_folder_of_runs(command, whole):
    before = read("whole.yaml")
    command("--resume whole.yaml --after 0", REPLIES[:1])
    (path,) = saved_runs()
    assert count_thoughts(path) == 1
    assert read("whole.yaml") == before


def test_steps_print_a_run_bit_by_bit(command, whole):
    step = command("--step", REPLIES)
    steps = [step]
    for count in (1, 2, 3):
        step = command(hint(step), REPLIES[count:])
        steps.append(step)
    assert "".join(step.out for step in steps) == whole.out
    for step, prompt in zip(steps, whole.prompts):
        assert step.status == 0
        assert step.prompts == [prompt]


@pytest.mark.parametrize("line, variable, model", [
    ("--resume", "", "second"),
    ("--resume", "environment", "environment"),
    ("--resume --model third", "environment", "third"),
    ("--after 0", "", "second"),
    ("--add 'Why?'", "", "second"),
])
def test_a_run_keeps_its_last_model_unless_another_is_named(serve, command, monkeypatch, line, variable, model):
    endpoint = serve(REPLIES[0], "A rejected reply.", *REPLIES[1:])
    command("--step --model first", None)
    command("--step --model second --resume", None)
    monkeypatch.setenv("OPENAI_MODEL", variable)
    command(f"--step {line}", None)
    assert endpoint.requests[3]["body"]["model"] == model


# The latest run


def write_run(name, time_written):
    path = Path("runs", name)
    path.write_text(f"problem: The problem of {name}\nthoughts: []\n")
    os.utime(path, (0, time_written))


def test_the_latest_run_is_the_one_that_was_written_last_whatever_its_name(command):
    os.mkdir("runs")
    write_run("1.yaml", 2)
    write_run("2.yaml", 1)
    write_run(".hidden.yaml", 3)
    write_run("note.txt", 3)
    os.symlink("nowhere", "runs/lock.yaml")
    os.mkdir("runs/folder.yaml")
    assert "of 1.yaml" in command("--resume --show-prompt").out


@pytest.mark.parametrize("line", ["--resume", "--after 0", "--show", "--add x -q"])
def test_where_no_run_is_named_one_line_says_which_was_taken_before_it_is_read(command, line):
    os.mkdir("runs")
    Path("runs/killed.yaml").touch()
    first_line, last_line = command(line).err.splitlines()
    assert "runs/killed.yaml" in first_line
    assert last_line.startswith("runs/killed.yaml: ")


# How to go on


@pytest.mark.parametrize("given, kept", [
    ("--max-thoughts 9 --model 'big one'", "--max-thoughts 9 --model 'big one'"),
    ("--step -qv", "--step --quiet --verbose"),
    ("--max-thoughts 1", "--max-thoughts 2"),
])
def test_the_command_in_a_message_goes_on_with_the_same_options(command, given, kept):
    stopped = command(given, REPLIES[:1])
    (path,) = saved_runs()
    assert words(hint(stopped)) == words(f"--resume {path} {kept}")
    assert len(command(hint(stopped)).prompts) == 1


def test_the_command_in_a_message_can_be_pasted_whatever_the_names(command, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["my program/main.py"])
    result = command("--run 'my first run.yaml'", REPLIES[:1])
    assert "python 'my program/main.py' --resume 'my first run.yaml'\n" in result.err


@pytest.mark.parametrize("line, count", [
    ("", 0),
    ("--resume half.yaml", 2),
    ("--resume half.yaml --after 1", 1),
    ("--resume half.yaml --run 'a b.yaml'", 2),
])
def test_a_run_that_gets_no_thought_is_saved_and_can_be_resumed(command, whole, half, line, count):
    failed = command(line)
    assert failed.prompts == [whole.prompts[count]]
    assert command(hint(failed), REPLIES[count:]).out == whole.out


def test_a_run_that_is_resumed_is_saved_at_once_in_the_bytes_that_were_read(command, half):
    edited = half.read_bytes().replace(b"\n", b"\r\n")
    half.write_bytes(edited)
    os.utime(half, (0, 0))
    command("--resume half.yaml", [press_ctrl_c])
    assert half.read_bytes() == edited
    assert half.stat().st_mtime > 0


# Interrupts


def interrupted_runs(name):
    """The runs of tests/interrupted_run.py, one after another: this process goes to the folder of each."""
    folder = Path.cwd()
    *statuses, last_status = run_python(INTERRUPTED_RUN, name).out.split()
    assert len(statuses) > 9
    assert last_status == "0"
    for number, status in enumerate(statuses, 1):
        os.chdir(folder / str(number))
        yield Run(int(status), read("out"), read("err"))


def count_saved_thoughts():
    runs = Path("runs").glob("[!.]*.yaml")
    return sum(map(count_thoughts, runs))


def test_a_kill_loses_no_thought_that_was_printed_or_followed_by_another(command):
    for killed in interrupted_runs("SIGKILL"):
        assert killed.status == -signal.SIGKILL
        count = count_saved_thoughts()
        assert count >= killed.out.count("Some work.")
        assert count >= killed.out.count("A reply came.") - 1
        if count:
            assert command("--after 1", [end(2)]).status == 0


def test_ctrl_c_loses_no_thought_that_came_and_leaves_one_line_and_no_other_file(command):
    for interrupted in interrupted_runs("SIGINT"):
        count = interrupted.out.count("A reply came.")
        assert interrupted.status == 130
        assert interrupted.err.count("\n") == 1
        assert count_saved_thoughts() == count
        assert list(Path().rglob(".*")) == []
        if saved_runs():
            continued = command(hint(interrupted), [reply(1, solution="3"), end(2)][count:])
            assert continued.status == 0


def test_what_is_being_written_can_be_read_by_its_owner_only():
    modes = []
    for _ in interrupted_runs("SIGKILL"):
        modes += [oct(path.stat().st_mode) for path in Path("runs").glob(".*.tmp")]
    assert modes[0].endswith("00")  # of the folder around it


# The file of a run


@pytest.mark.skipif(sys.getfilesystemencoding() != "utf-8", reason="a name in any script needs UTF-8")
@pytest.mark.parametrize("problem, name", [
    ("How many integers from 1 to 100?", "-how-many-integers-from-1-to.yaml"),
    ("../Größe: ΣΑΣ\n1.5_m", "-größe-σας-1-5-m.yaml"),
    ("几" * 40, "-几几几几几几几几几几几几几几几几几几几几几几几几几几几几几几.yaml"),
])
def test_a_run_is_named_by_its_time_and_the_first_words_of_its_problem(run, problem, name):
    run("--step", "--problem", problem, replies=REPLIES)
    (path,) = saved_runs()
    assert path.name[len("20261121-101500") :] == name


def test_a_name_that_is_taken_is_left_alone(command):
    os.mkdir("runs")
    now = int(time.time())
    for second in range(now, now + 60):
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(second))
        os.symlink("theirs", f"runs/{stamp}-x.yaml")  # It seems to be free until one tries to create it.
    command("--step --problem x", REPLIES)
    (path,) = Path("runs").glob("*-x-2.yaml")
    assert count_thoughts(path) == 1


def test_a_file_keeps_its_mode_and_a_link_stays_one(command, half):
    half.chmod(0o640)
    os.mkdir("links")
    os.symlink("../half.yaml", "links/link.yaml")
    command("--resume links/link.yaml", REPLIES[2:])
    assert os.path.islink("links/link.yaml")
    assert count_thoughts(half) == 4
    assert oct(half.stat().st_mode).endswith("640")


def write_theirs():
    Path("a/b.yaml").write_text("theirs")


def delete_file():
    os.remove("a/b.yaml")


def leave_link_to_nothing():
    os.remove("a/b.yaml")
    os.symlink("c.yaml", "a/b.yaml")


def spoil_folder():
    os.rename("a", "away")
    Path("a").touch()


def repair_folder():
    os.remove("a")
    os.rename("away", "a")


@pytest.fixture
def meanwhile(command, whole):
    """meanwhile({1: act}) solves a run in a/b.yaml; something happens to it while REPLIES[1] is awaited."""

    def solve(acts):
        os.mkdir("a")
        replies = list(REPLIES)
        for number, act in acts.items():
            replies[number] = after(act, REPLIES[number])
        result = command("--run a/b.yaml", replies)
        assert result.status == 0
        assert result.out == whole.out
        return result

    return solve


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_that_is_changed_meanwhile_is_left_and_the_run_goes_on_in_another(meanwhile, number):
    result = meanwhile({number: write_theirs})
    assert read("a/b.yaml") == "theirs"
    assert read("a/b-2.yaml") == read("whole.yaml")
    assert "a/b.yaml" in result.err
    assert "a/b-2.yaml" in result.err


@pytest.mark.parametrize("act", [delete_file, leave_link_to_nothing])
def test_a_file_that_is_gone_is_written_again(meanwhile, act):
    meanwhile({1: act})
    assert read("a/b.yaml") == read("whole.yaml")


def test_after_a_failing_save_the_next_one_saves_everything(meanwhile):
    meanwhile({1: spoil_folder, 2: repair_folder})
    assert read("a/b.yaml") == read("whole.yaml")


@contextlib.contextmanager
def full_disk():
    """Here, no file can have more than 99 bytes: not even one that pytest writes, so for no longer than it takes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (99, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_noticed_before_anything_is_asked_and_leaves_no_part_of_a_run(command):
    with full_disk():
        result = command("--step", REPLIES)
    assert result.status == 2
    assert result.prompts == []
    assert "File too large" in result.err
    assert "--run" in result.err
    assert all_files() == {}


@pytest.mark.parametrize("options, unsaved", [
    ("--step", "1 thought,"),
    ("--max-thoughts 2", "2 thoughts,"),
    ("", "4 thoughts,"),
])
def test_a_disk_that_is_full_later_leaves_a_run_that_can_be_continued(command, options, unsaved):
    with full_disk():
        result = command(f"--problem x {options}", REPLIES)
    assert result.status == 1
    assert "Work." in result.out
    said, *_, last_line = result.err.splitlines()
    assert "File too large" in said
    assert f"Not saved: {unsaved}" in last_line
    assert "--show" not in result.err
    assert command(hint(result), REPLIES).prompts[0] == result.prompts[0]


# The YAML in it


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(command, clock):
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    plan = ["[Verification Needed] A", "[Pending] Conclusion"]
    thought = reply(1, thinking, plan, solution="s", results={"A": "x: 2"}, marks={"A": "sign?"})
    command("--run a.yaml --problem '  How\n\nmany?'", [thought, reply(2, changes=[("s", "t")])])
    text = read("a.yaml")
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n  cost:\n")
    indented_thinking = textwrap.indent(thinking, "    ")
    assert f"\n    seconds: 0.0\n  current_thinking: |-\n{indented_thinking}\n  planning:\n" in text
    assert "\n    status: Verification Needed\n    result: |-\n      x: 2\n    mark: |-\n      sign?\n" in text
    assert "\n  next_thought_needed: true\n  solution: |-\n    s\n- thought_number: 2\n" in text
    changes = "<<<<<<< SEARCH\n    s\n    =======\n    t\n    >>>>>>> REPLACE"
    assert text.endswith(f"\n  next_thought_needed: true\n  solution_changes: |-\n    {changes}\n")


@pytest.mark.parametrize("problem", [
    "null",
    "\ufeffx",
    "- a\n\n\n",
    "\tp\n# 2",
    "\u3000\n p",
    "wide 甲🚄 wide 甲🚄 wide 甲🚄 wide 甲🚄 wide 甲🚄 wide 甲🚄 wide 甲🚄 \\theta",
    "\n  x\n   ",
    "\"quoted\" 'x' \\n\\\n\n",
    "a\n---\n...\n%TAG",
])
def test_any_problem_survives_being_saved(run, problem):
    (prompt,) = run("--step", "--run", "a.yaml", "--problem", problem, replies=REPLIES).prompts
    assert problem in prompt
    assert run("--resume", "a.yaml", "--after", "0", "--show-prompt").out == prompt


@pytest.mark.parametrize("text", [
    "\ufeffa\tb\ufeff",
    "Done",
    "# x\n#",
    "a: b\n\n  c",
    "  12\n+ 5",
    "x  \n\n\t y\\",
    "---\n...",
    "|-\n  x",
])
def test_any_thought_survives_being_saved(command, text):
    indented_text = textwrap.indent(text, "  ")
    thought = reply(1, solution="TEXT").replace("|-\n  TEXT", f"|2-\n{indented_text}")
    prompts = command("", [thought]).prompts
    assert f"\n{text}\n" in prompts[1]
    assert command("--after 1 --show-prompt").out == prompts[1]


# Edited by hand


@pytest.mark.parametrize("old, new", [
    ("\n", "\r\n"),
    ("problem:", "\ufeffproblem:"),
    ("|-\n", "|-  \n"),
])
def test_what_an_editor_does_to_a_file_does_not_matter(command, whole, half, old, new):
    text = read(half).replace(old, new)
    half.write_bytes(text.encode())
    assert command("--resume half.yaml", REPLIES[2:]).out == whole.out


def edit(old, new):
    """Change the last `old` in whole.yaml. Returns the number of its line."""
    before, after = read("whole.yaml").rsplit(old, 1)
    Path("whole.yaml").write_text(before + new + after, encoding="utf-8", errors="surrogateescape")
    return before.count("\n") + 1


@pytest.fixture
def refuse(command):
    """refuse(line) is a command that asks nothing and changes nothing. Returns its message, which is one line."""

    def run_refused(line):
        before = all_files()
        result = command(line, REPLIES)
        assert result.status == 2
        assert result.out == ""
        assert result.prompts == []
        assert result.err.count("\n") == 1
        assert all_files() == before
        return result.err

    return run_refused


TEXT = "    Some work."  # the last line of a text that is indented by four
LITERAL = "|-\n      x = 2"
STATUS = "    status: Done"
LAST_STEP = f"- description: |-\n      Conclusion\n{STATUS}"
SLIPS = {
    "a space too few": (TEXT, "   Some work.", "indent"),
    "two spaces too few": (TEXT, "  Some work.", "indent"),
    "two spaces too few, like a key": (TEXT, "  Some work: done.", "'Some work'"),
    "a first line with a space too few": (LITERAL, "|-\n     x = 2\n      y = 1", "two spaces"),
    "a tab": (TEXT, "\tSome work.", "at a tab"),
    "backslashes in double quotes": (LITERAL, '"$\\xcancel{5}$"', "at a backslash"),
    "a colon in a second line": (LITERAL, "x\n      y: 1", "|-"),
    "a comment in a value of two lines": (LITERAL, "x # lost\n      y", "#"),
    "a key that is spelt wrongly": ("planning:", "planing:", "'planing'"),
    "a key given twice": ("thoughts:", "problem: x\nthoughts:", "'problem'"),
    "a key that has slipped": (STATUS, "     status: Done", "indent"),
    "no space behind a key": (STATUS, "    status:Done", "indent"),
    "a step without its first key": (LAST_STEP, "  status: Done", "'status'"),
}


@pytest.mark.parametrize("old, new, named", SLIPS.values(), ids=SLIPS)
def test_a_slip_of_the_hand_is_said_with_its_line_or_the_next_and_in_plain_words(whole, refuse, old, new, named):
    line = edit(old, new)
    place, reason = refuse("--show whole.yaml").split("line ")[1].split(": ", 1)
    assert int(place) in (line, line + 1)
    assert named in reason
    assert "expected" not in reason


@pytest.mark.parametrize("old, new, number, named", [
    (STATUS, "    status: Finished", 4, "'Finished'"),
    (f"{STATUS}\n  next", "  next", 4, "status"),
    (LAST_STEP, "- Conclusion", 4, "description"),
    ("  next_thought_needed: false\n", "", 4, "next_thought_needed"),
    ("cost:\n    requests: 1\n    seconds: 0.0", "cost: little", 4, "cost"),
    ("thought_number: 4", "thought_number: 7", 4, "'7'"),
    ("It is 2", "It is 7", 3, "'2'"),
])
def test_a_fault_of_a_thought_is_said_with_its_number_and_a_way_out(command, whole, refuse, old, new, number, named):
    edit(old, new)
    message = refuse("--show whole.yaml")
    assert message.startswith(f"whole.yaml: Thought {number}: ")
    assert named in message
    assert f"--after {number - 1}" in message
    assert command(f"--resume whole.yaml --after {number - 1} --show-prompt").status == 0


@pytest.mark.parametrize("thought", ["x", "[x]", "{x: y}"])
def test_what_is_not_taken_need_not_be_a_thought(command, whole, thought):
    Path("whole.yaml").write_text(f"{read('whole.yaml')}- {thought}\n")
    assert command("--resume whole.yaml --after 3 --show-prompt").status == 0


def test_a_fault_of_the_first_thought_has_no_way_out_but_to_mend_it(command, refuse):
    command("--run one.yaml", REPLIES[:1])
    Path("one.yaml").write_text(read("one.yaml").replace("Pending", "Odd"))
    message = refuse("--show one.yaml")
    assert "Thought 1: " in message
    assert "--after" not in message


def test_a_thought_that_was_taken_out_is_noticed_at_the_next_also_if_that_has_its_number(whole, refuse):
    text = read("whole.yaml")
    start, end = text.index("- thought_number: 3"), text.index("- thought_number: 4")
    rest = text[end:].replace("thought_number: 4", "thought_number: 3")
    Path("whole.yaml").write_text(text[:start] + rest)
    message = refuse("--show whole.yaml")
    assert "Thought 3: " in message
    assert "--after 2" in message


def test_a_thought_behind_one_that_has_solved_the_problem_is_taken(command, whole):
    text = read("whole.yaml")
    copy = text.partition("- thought_number: 4")[2].replace("Thought 3", "Thought 4")
    Path("whole.yaml").write_text(f"{text}- thought_number: 5{copy}")
    shown = command("--show whole.yaml")
    assert shown.status == 0
    assert shown.out.startswith(whole.out)
    assert "=== FINAL SOLUTION ===\nIt is 3 indeed indeed, as was shown" in shown.out


@pytest.mark.parametrize("old, new, named", [
    ("problem:", "my_note: x\nproblem:", "my_note"),
    ("thoughts:", "thoughts: &a", "'&'"),
    ("You", "You w\udcf6rk", "line 2: it has '\\udcf6'; write it in UTF-8"),
])
def test_a_file_that_is_no_run_is_refused(whole, refuse, old, new, named):
    edit(old, new)
    assert named in refuse("--resume whole.yaml --after 1")
