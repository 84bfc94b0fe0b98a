"""A run is saved, resumed, started again from any of its thoughts, walked through, and edited by hand."""

import contextlib
import os
import resource
import shlex
import shutil
import signal
import sys
import textwrap
import time
from pathlib import Path

import pytest

import main
from tests.conftest import MAIN, ROOT, Run, all_files, run_python, saved_runs
from tests.replies import end, reply
from utils.errors import RunFailed
from utils.saved_run import load_run

INTERRUPTED_RUN = str(ROOT / "tests" / "interrupted_run.py")
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

REPLIES = [
    reply(1, "Work.", results={"Solve": "x = 2"}),
    reply(2, solution="It is 2."),
    reply(3, changes=[("2", "3")]),
    end(4, changes=[("", "Sure.")]),
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
    ("--resume half.yaml --after 1", 1),
    ("--resume half.yaml", 2),
])
def test_a_run_that_starts_from_another_has_a_file_of_its_own(command, whole, half, line, count):
    before = all_files()
    result = command(f"{line} --run new.yaml", REPLIES[count:])
    assert result.out == whole.out
    assert result.prompts == whole.prompts[count:]
    assert all_files() == {**before, Path("new.yaml"): before[Path("whole.yaml")]}


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


def test_a_single_thought_can_be_thought_anew(command, whole):
    step = command("--resume whole.yaml --after 2 --step", REPLIES[2:])
    assert step.prompts == [whole.prompts[2]]
    assert step.out in whole.out
    (path,) = saved_runs()
    assert count_thoughts(path) == 3


@pytest.mark.parametrize("line, variable, model", [
    ("--resume", "", "second"),
    ("--resume", "environment", "environment"),
    ("--resume --model third", "environment", "third"),
    ("--after 0", "", "second"),
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
    assert "of 1.yaml" in command("--resume --show-prompt").out
    assert "of 1.yaml" in command("--after 0 --show-prompt").out


def test_what_else_lies_in_the_folder_is_not_the_latest_run(command):
    os.mkdir("runs")
    write_run("mine.yaml", 1)
    write_run(".hidden.yaml", 2)
    write_run("note.txt", 2)
    os.symlink("nowhere", "runs/lock.yaml")
    os.mkdir("runs/folder.yaml")
    assert "of mine.yaml" in command("--resume --show-prompt").out


@pytest.mark.parametrize("line", ["--resume", "--after 0", "--show", "--resume -q"])
def test_where_no_run_is_named_one_line_says_first_which_was_taken(command, line):
    command("--step", REPLIES)
    command("--step --run later.yaml", REPLIES)
    with contextlib.redirect_stderr(sys.stdout):
        first_line = command(line).out.splitlines()[0]
    assert str(saved_runs()[0]) in first_line


def test_the_latest_run_is_named_although_it_cannot_be_read(command):
    os.mkdir("runs")
    Path("runs/killed.yaml").touch()
    first_line, last_line = command("--resume").err.splitlines()
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
    ("--run new.yaml", 0),
    ("--resume half.yaml", 2),
    ("--resume half.yaml --after 0", 0),
    ("--resume half.yaml --after 1 --run new.yaml", 1),
    ("--resume half.yaml --run 'a b.yaml'", 2),
])
def test_a_run_that_gets_no_thought_is_saved_and_can_be_resumed(command, whole, half, line, count):
    failed = command(line)
    assert failed.prompts == [whole.prompts[count]]
    assert command(hint(failed), REPLIES[count:]).out == whole.out
    assert count_thoughts(half) == 2 or "--resume half.yaml" == hint(failed)


def test_a_run_that_was_never_answered_is_the_latest_with_its_problem(command):
    prompts = command("--problem 'How many?'").prompts
    assert command("--resume --show-prompt").out == prompts[0]


def test_a_run_that_is_resumed_is_saved_in_the_bytes_that_were_read(command, half):
    edited = half.read_bytes().replace(b"\n", b"\r\n")
    half.write_bytes(edited)
    os.utime(half, (0, 0))
    command("--resume half.yaml")
    assert half.read_bytes() == edited
    assert half.stat().st_mtime > 0


# Interrupts


def interrupted_runs(name, count):
    """The runs of tests/interrupted_run.py, one after another: this process goes to the folder of each."""
    folder = Path.cwd()
    *statuses, _ = run_python(INTERRUPTED_RUN, name, count).out.split()
    assert len(statuses) >= 2
    for number, status in enumerate(statuses, 1):
        os.chdir(folder / str(number))
        yield Run(int(status), read("out"), read("err"))


def count_saved_thoughts():
    runs = Path("runs").glob("[!.]*.yaml")
    return sum(map(count_thoughts, runs))


def test_a_kill_loses_no_thought_that_was_printed_or_followed_by_another(command):
    for killed in interrupted_runs("SIGKILL", "2"):
        assert killed.status == -signal.SIGKILL
        count = count_saved_thoughts()
        assert count >= killed.out.count("Some work.")
        assert count >= killed.out.count("A reply came.") - 1
        if count:
            assert command("--after 1", [end(2, solution="3")]).status == 0


@pytest.mark.parametrize("replies", ["0", "2"])
def test_ctrl_c_again_and_again_loses_no_thought_that_came_and_leaves_one_line(command, replies):
    for interrupted in interrupted_runs("SIGINT", replies):
        assert interrupted.status == 130
        assert interrupted.err.count("\n") == 1
        assert count_saved_thoughts() == interrupted.out.count("A reply came.")
        if "--" in interrupted.err:
            assert command(hint(interrupted), [end(2, solution="3")]).status == 0
        else:
            assert saved_runs() == []


def test_what_is_being_written_can_be_read_by_its_owner_only():
    modes = []
    for _ in interrupted_runs("SIGKILL", "2"):
        modes += [oct(path.stat().st_mode) for path in Path("runs").glob(".*.tmp")]
    assert modes[0].endswith("600")


def test_an_interrupt_writes_nothing_that_is_saved_already(command, half):
    edited = half.read_bytes().replace(b"\n", b"\r\n")
    half.write_bytes(edited)
    command("--resume half.yaml", [press_ctrl_c])
    assert half.read_bytes() == edited


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


def test_a_name_can_be_as_long_as_the_system_allows(command):
    path = 250 * "x" + ".yaml"
    command(f"--step --run {path}", REPLIES)
    assert count_thoughts(path) == 1


@pytest.mark.skipif(sys.platform == "darwin", reason="there, every locale can write every name")
def test_a_name_leaves_out_what_the_locale_cannot_write():
    run_python(MAIN, "--problem", "-", input="x² = Größe".encode(), **ASCII)
    (path,) = saved_runs()
    assert path.name.endswith("-x-gre.yaml")
    assert "x² = Größe" in read(path)


def test_a_file_keeps_its_mode(command, half):
    half.chmod(0o640)
    command("--resume half.yaml", REPLIES[2:])
    assert oct(half.stat().st_mode).endswith("640")


def test_a_link_stays_one(command, half):
    os.mkdir("links")
    os.symlink("../half.yaml", "links/link.yaml")
    command("--resume links/link.yaml", REPLIES[2:])
    assert os.path.islink("links/link.yaml")
    assert count_thoughts(half) == 4


def write_theirs():
    Path("a/b.yaml").write_text("theirs")


def delete_folder():
    shutil.rmtree("a")


def spoil_folder():
    os.rename("a", "away")
    Path("a").touch()


def repair_folder():
    os.remove("a")
    os.rename("away", "a")


@pytest.fixture
def meanwhile(command, whole):
    """meanwhile({1: act}) solves a run in a/b.yaml; something happens to it while REPLIES[1] is awaited."""

    def solve(acts, status=0):
        os.mkdir("a")
        replies = list(REPLIES)
        for number, act in acts.items():
            replies[number] = after(act, REPLIES[number])
        result = command("--run a/b.yaml", replies)
        assert result.status == status
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


def test_a_file_that_is_changed_while_it_is_read_is_left_and_the_run_goes_on_in_another(command, half, monkeypatch):
    def load_and_change(path, count):
        run = load_run(path, count)
        path.write_text("theirs")
        return run

    monkeypatch.setattr(main, "load_run", load_and_change)
    command("--resume half.yaml", REPLIES[2:])
    assert read("half.yaml") == "theirs"
    assert count_thoughts("half-2.yaml") == 4


def test_an_interrupt_when_a_file_has_just_been_replaced_is_one(command, monkeypatch):
    with monkeypatch.context() as patch:

        def replace_and_interrupt(path, target):
            patch.undo()
            path.replace(target)
            raise KeyboardInterrupt

        patch.setattr(Path, "replace", replace_and_interrupt)
        result = command("--run a.yaml", REPLIES)
    assert result.status == 130
    assert result.err.startswith("Interrupted.")
    assert count_thoughts("a.yaml") == 1


def test_a_file_that_is_gone_is_written_again(meanwhile):
    meanwhile({1: delete_folder})
    assert read("a/b.yaml") == read("whole.yaml")


def test_a_failing_save_is_said_at_once_and_again_at_the_end_of_a_run_that_is_solved(meanwhile):
    result = meanwhile({1: spoil_folder}, status=1)
    first_line, last_line = result.err.splitlines()
    assert "a/b.yaml" in first_line
    assert "Not saved: 3 thoughts" in last_line
    assert "--" not in last_line


def test_after_a_failing_save_the_next_one_saves_everything(meanwhile):
    meanwhile({1: spoil_folder, 2: repair_folder})
    assert read("a/b.yaml") == read("whole.yaml")


def test_a_file_that_is_gone_when_the_run_fails_is_written_again(command, whole):
    os.mkdir("a")
    failed = command("--run a/b.yaml", [REPLIES[0], after(delete_folder, RunFailed("No server."))])
    assert failed.err.startswith("No server. ")
    assert command(hint(failed), REPLIES[1:]).out == whole.out


def test_no_command_names_a_file_that_is_not_there(command):
    os.mkdir("a")
    failed = command("--run a/b.yaml", [REPLIES[0], after(spoil_folder, RunFailed("No server."))])
    assert failed.err == "No server.\n"


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


def test_a_disk_that_is_full_later_ends_a_step_with_status_1_and_leaves_what_is_saved(command):
    with full_disk():
        result = command("--step --problem x", REPLIES)
    assert result.status == 1
    assert "Work." in result.out
    said, last_line = result.err.splitlines()
    assert "File too large" in said
    assert "Not saved: 1 thought" in last_line
    assert command(hint(result), REPLIES).status == 0


def test_a_run_is_only_offered_for_printing_if_all_of_it_is_saved(command):
    with full_disk():
        result = command("--problem x --max-thoughts 2", REPLIES)
    assert "--show" not in result.err
    assert "Not saved: 2 thoughts" in result.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_solution_that_is_neither_saved_nor_printed_can_be_found_anew(command, monkeypatch):
    solved = end(1, solution="3")
    with full_disk(), monkeypatch.context() as patch:

        def fill_output():
            patch.setattr(sys, "stdout", open("/dev/full", "w"))
            return solved

        result = command("--problem x", [fill_output])
    assert "Not saved: 1 thought" in result.err
    assert "--show" not in result.err
    assert command(hint(result), [solved]).status == 0


# The YAML in it


def test_the_file_is_yaml_in_block_literals_that_a_person_can_read(command):
    thinking = 'Tab\there, trailing  \n\n  "indented": $\\frac12$ # 甲 🚄'
    plan = ["[Verification Needed] A", "[Pending] Conclusion"]
    thought = reply(1, thinking, plan, solution="s", results={"A": "x: 2"}, marks={"A": "sign?"})
    command("--run a.yaml --problem '  How\n\nmany?'", [thought, reply(2, changes=[("s", "t")])])
    text = read("a.yaml")
    assert text.startswith("problem: |2-\n    How\n\n  many?\nthoughts:\n- thought_number: 1\n")
    assert f"\n  current_thinking: |-\n{textwrap.indent(thinking, '    ')}\n  planning:\n" in text
    assert "\n    status: Verification Needed\n    result: |-\n      x: 2\n    mark: |-\n      sign?\n" in text
    assert "\n  next_thought_needed: true\n  solution: |-\n    s\n  cost:\n" in text
    assert "\n  solution_changes: |-\n    <<<<<<< SEARCH\n    s\n    =======\n" in text


def test_sub_steps_that_are_kept_are_written_out_in_each_thought(command):
    first = reply(1, plan=["[Pending] Solve", "  [Done] Part", "  [Pending] Rest", "[Pending] Conclusion"])
    second = reply(2, plan=["[Pending] Solve", "[Pending] Conclusion"])
    prompts = command("--run a.yaml", [first, second]).prompts
    assert read("a.yaml").count(" Part\n") == 2
    assert command("--resume a.yaml --show-prompt").out == prompts[2]


@pytest.mark.parametrize("problem", [
    "null",
    "\ta",
    "\ufeffx",
    "- a\n\n\n",
    "\tp\n# 2",
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
    "!A &b *c",
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


@pytest.mark.parametrize("old, new, place, named", [
    ("status: Done", "status: Finished", "Thought 4: ", "'Finished'"),
    ("It is 2", "It is 7", "Thought 3: ", "'2'"),
    ("cost:\n    requests: 1\n    seconds: 0.0", "cost: little", "Thought 4: ", "cost"),
])
def test_a_fault_of_a_thought_is_said_with_its_number_and_harms_no_start_before(
    command, whole, refuse, old, new, place, named
):
    edit(old, new)
    message = refuse("--resume whole.yaml")
    assert message.startswith(f"whole.yaml: {place}")
    assert named in message
    assert f"--after {int(place[8]) - 1}." in message
    assert command("--resume whole.yaml --after 2 --step", REPLIES[2:]).status == 0


TEXT = "    Some work."  # the last line of a text that is indented by four
RESULT = "result: |-\n      x = 2"
STATUS = "    status: Done"
LAST_STEP = f"- description: |-\n      Conclusion\n{STATUS}"
SLIPS = {
    "a space too few": (TEXT, "   Some work.", "indent"),
    "two spaces too few": (TEXT, "  Some work.", "indent"),
    "two spaces too few, like a key": (TEXT, "  Some work: done.", "indent"),
    "a space too few, with a colon at its end": (TEXT, "   def f(x):", "'def f(x):'"),
    "a space too few, before a heading": (TEXT, "   Some work.\n    # Heading", "'Some work.'"),
    "a first line with a space too few": ("      x = 2", "     x = 2\n      y = 1", "two spaces"),
    "a heading at the margin": (TEXT, "# Some work", "'# Some work'"),
    "a tab": (TEXT, "\tSome work.", "spaces"),
    "Latin-1": ("work", "w\udcf6rk", "UTF-8"),
    "backslashes in double quotes": (RESULT, 'result: "$\\xcancel{5}$"', "|-"),
    "lines without a sign": ("|-\n      x = 2", "'x = 2\n      y = 1'", "|-"),
    "a line with a colon below its key": (RESULT, "result:\n      x: 2", "'Solve' is not a text; a text is a block"),
    "a line of the problem at the margin": ("thoughts:", "Note: x.\nthoughts:", "'Note: x.'"),
    "a key that is spelt wrongly": ("thoughts:", "thougths:", "'thougths'"),
    "a key of a thought that is spelt wrongly": ("planning:", "planing:", "'planing'"),
    "a comment": ("thoughts:", "# planted\nthoughts:", "# planted"),
    "a key given twice": ("thoughts:", "problem: x\nthoughts:", "'problem'"),
    "another number": ("thought_number: 4", "thought_number: 7", "Thought 4"),
    "no space behind a key": (STATUS, "    status:Done", "'status:Done' is neither a key, such as `status: Done`"),
    "a space before a colon": (STATUS, "    status : Done", "such as `status: Done`"),
    "a capital letter in a key": (STATUS, "    Status: Done", "such as `status: Done`"),
    "quotes around a key": (STATUS, '    "status": Done', "such as `status: Done`"),
    "a no-break space": (STATUS, "    status:\xa0Done", r"'status:\xa0Done'"),
    "a key that has slipped": (STATUS, "     status: Done", "'status: Done' begins in a column in which no key begins"),
    "a step that is too deep": (f"  {LAST_STEP}", f"   {LAST_STEP}", "begins in a column in which no item"),
    "a note before a key": ("    result: |-", "    todo: x\n     result: |-", "has a value, but the next line is"),
    "a colon in a value": (RESULT, "result: 148: that is it", "leave 'result: 148: that is it' as it is"),
    "a step without its first key": (LAST_STEP, "  status: Done", "'status' is given twice"),
    "a first line that is deeper": ("      x = 2", "         x = 2\n      y = 1", "|2-"),
}


@pytest.mark.parametrize("old, new, named", SLIPS.values(), ids=SLIPS)
def test_a_slip_of_the_hand_is_said_with_its_line_and_what_to_write(whole, refuse, old, new, named):
    line = edit(old, new)
    message = refuse("--resume whole.yaml")
    assert f"line {line}: " in message
    assert named in message


def test_a_key_too_far_left_is_named_where_its_columns_are_missed(whole, refuse):
    line = edit("  planning:", "planning:")
    message = refuse("--resume whole.yaml")
    assert f"line {edit('  next_thought_needed', '  next_thought_needed')}: " in message
    assert f"since line {line}" in message


@pytest.mark.parametrize("old, new, key, named", [
    (LAST_STEP, "- Conclusion", "- Conclusion", "the step 'Conclusion' must have the keys description, status"),
    ("    status: Done\n  next", "  next", "- description: |-\n      Conclusion", "status of the step 'Conclusion'"),
    ("  next_thought_needed: false\n", "", "- thought_number: 4", "next_thought_needed"),
])
def test_what_is_missing_is_said_with_the_line_of_the_key_that_lacks_it(whole, refuse, old, new, key, named):
    edit(old, new)
    line = edit(key, key)
    message = refuse("--resume whole.yaml")
    assert f"whole.yaml: Thought 4: line {line}: " in message
    assert named in message
    assert "{" not in message


def test_a_thought_that_was_taken_out_is_noticed_at_the_next(whole, refuse):
    text = read("whole.yaml")
    start, end = text.index("- thought_number: 2"), text.index("- thought_number: 3")
    Path("whole.yaml").write_text(text[:start] + text[end:])
    message = refuse("--resume whole.yaml")
    assert "Thought 2" in message
    assert "thought_number is '3'" in message
    assert "--after 1" in message


def test_a_thought_behind_one_that_ends_the_run_is_refused(run, whole, refuse):
    text = read("whole.yaml")
    copy = text.partition("- thought_number: 4")[2]
    Path("whole.yaml").write_text(f"{text}- thought_number: 5{copy}")
    message = refuse("--show whole.yaml")
    assert f"Thought 5: line {text.count(chr(10)) + 1}: " in message
    assert "--after 4" in message
    assert run("--show", "whole.yaml", "--after", "4").out == whole.out


@pytest.mark.parametrize("old, new", [
    ("problem:", "my_note: x\nproblem:"),
    ("problem: |-\n  You", "problem:\n  - You"),
])
def test_a_file_that_is_no_run_is_refused(whole, refuse, old, new):
    edit(old, new)
    refuse("--resume whole.yaml --after 1")


def test_a_file_that_exists_is_never_overwritten(whole, refuse):
    assert "--run" in refuse("--run whole.yaml")


def test_a_folder_is_no_run_whatever_else_is_given(command, refuse):
    command("--step", REPLIES)
    refuse("--resume runs")
    refuse("--resume runs --after 1 --show-prompt")


def test_a_pipe_is_no_run_to_go_on_with(refuse, half):
    reader, writer = os.pipe()
    os.write(writer, half.read_bytes())
    os.close(writer)
    refuse(f"--resume /dev/fd/{reader} --run new.yaml")
    os.close(reader)
