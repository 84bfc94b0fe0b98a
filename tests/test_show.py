"""A saved run is looked at without a request, and wrong usage is refused before one."""

import os
import pathlib
import shlex
import shutil
import tempfile

import pytest

from tests.conftest import MAIN, all_files, run_python, saved_runs
from tests.replies import end, reply


def snapshot():
    """What every file holds, and when it and each folder changed last."""
    times = {path: path.lstat().st_mtime_ns for path in pathlib.Path().rglob("*")}
    return times, all_files()


@pytest.fixture
def solved(run):
    """A solved run of three thoughts, the latest in runs/, as it was printed."""
    first = reply(1)
    second = reply(2, solution="It is 2.\n\n  Sure.\n")
    third = end(3, changes=[("It is 2.", "It is 3.")])
    return run("--problem", "How many?", replies=[first, second, third])


@pytest.fixture
def unsolved(run):
    """A run of two thoughts in unsolved.yaml, as it was printed."""
    return run("--run", "unsolved.yaml", "--max-thoughts", "2", replies=[reply(1), reply(2)])


@pytest.fixture
def look(run):
    """look("--show -q") is `python main.py --show -q`. Nothing is asked, no file is touched."""

    def run_main(arguments):
        before = snapshot()
        result = run(*shlex.split(arguments), replies=[])
        assert result.prompts == []
        assert snapshot() == before
        return result

    return run_main


@pytest.fixture
def refuse(look):
    """refuse("--step --show") is the line that says what is wrong. Nothing is asked, printed or touched."""

    def refuse_arguments(arguments):
        result = look(arguments)
        assert result.status == 2
        assert result.out == ""
        return result.last_line

    return refuse_arguments


@pytest.fixture
def pipe(solved):
    """The path of a pipe that holds a solved run, as `<(cat run.yaml)` gives it."""
    reading, writing = os.pipe()
    os.write(writing, saved_runs()[0].read_bytes())
    os.close(writing)
    yield f"/dev/fd/{reading}"
    os.close(reading)


# --show


def test_a_solved_run_is_shown_as_it_was_printed(look, solved):
    shown = look("--show")
    assert shown.status == 0
    assert shown.out == solved.out


@pytest.mark.parametrize("number", [0, 2, 3])
def test_the_first_thoughts_are_shown_as_they_were_printed(look, solved, number):
    shown = look(f"--show --after {number}")
    assert solved.out.startswith(shown.out)
    assert shown.out.count("\nThought ") == number


@pytest.mark.parametrize(
    "options, status, solution",
    [
        ("", 0, "It is 3.\n\n  Sure.\n"),
        ("--after 2", 1, "It is 2.\n\n  Sure.\n"),
        ("--after 1", 1, ""),
    ],
)
def test_quiet_shows_the_solution_as_far_as_it_is_written(look, solved, options, status, solution):
    shown = look(f"--show {options} -q")
    assert shown.status == status
    assert shown.out == solution


@pytest.mark.parametrize("options", ["", "-q"])
def test_one_line_says_that_a_run_is_not_finished(look, unsolved, options):
    shown = look(f"--show unsolved.yaml {options}")
    assert shown.status == 1
    assert shown.err.count("\n") == 1
    assert "2 thoughts" in shown.err


def test_one_line_says_which_run_was_taken(look, solved):
    shown = look("--show")
    assert shown.err.count("\n") == 1
    assert str(saved_runs()[0]) in shown.err


def test_of_a_solved_run_that_was_named_nothing_is_said(look, solved):
    assert look(f"--show {saved_runs()[0]}").err == ""


def test_a_pipe_is_shown_and_a_link_to_it_stays(look, solved, pipe):
    pathlib.Path("link").symlink_to(pipe)
    assert look("--show link").out == solved.out


@pytest.mark.parametrize(
    "options",
    [
        "--problem x",
        "--model x",
        "--max-thoughts 9",
        "--run new.yaml",
        "--resume unsolved.yaml",
        "--step",
        "--show-prompt",
        "-v",
    ],
)
def test_show_goes_with_no_other_option(refuse, unsolved, options):
    assert "--show" in refuse(f"--show unsolved.yaml {options}")


# Wrong usage


@pytest.mark.parametrize(
    "arguments, named",
    [
        ("--problem ' \n'", "--problem"),
        ("--problem 'a\x0cb'", r"'\x0c'"),
        ("--problem 'a\rb'", r"'\r'"),
        ("--problem Gr\udcf6\udcdfe", "UTF-8"),
        ("--resume --problem x", "--problem"),
        ("--after 1 --problem x", "--problem"),
        ("--max-thoughts 0", "--max-thoughts"),
        ("--after 2 --max-thoughts 2", "--max-thoughts"),
        ("--resume unsolved.yaml --max-thoughts 2", "3"),
        ("--after -1", "--after"),
        ("--show unsolved.yaml --after 3", "--after 3"),
        ("--quiet --show-prompt", "--show-prompt"),
        ("--run empty.yaml", "--run"),
        ("--run new.yml", ".yaml"),
        ("--run no/folder.yaml", "no/folder.yaml"),
        ("--resume missing.yaml", "missing.yaml"),
        ("--show empty.yaml", "empty.yaml"),
        ("--show runs", "runs"),
    ],
)
def test_what_is_wrong_is_named(refuse, unsolved, solved, arguments, named):
    pathlib.Path("empty.yaml").touch()
    assert named in refuse(arguments)


@pytest.mark.parametrize("arguments", ["--resume", "--show", "--after 0"])
def test_where_no_run_was_found_is_named(refuse, arguments, tmp_path):
    assert f"{tmp_path}/runs" in refuse(arguments)


@pytest.mark.parametrize("arguments", ["--show", "--after 0", "--run new.yaml"])
def test_in_a_folder_that_is_gone_one_line_says_so(run, arguments):
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    result = run(*shlex.split(arguments), replies=[])
    assert result.status == 2
    assert result.err.count("\n") == 1


def test_an_empty_name_is_not_that_of_the_latest_run(refuse, solved):
    refuse("--show ''")
    refuse("--resume '' --after 1")


@pytest.mark.parametrize("options", ["", "--show-prompt", "--after 3"])
def test_a_solved_run_is_not_resumed_but_shown_or_started_anew(refuse, solved, options):
    line = refuse(f"--resume {options}")
    assert "--show" in line
    assert "--after 2" in line
    assert "--add" in line


@pytest.mark.parametrize("options", ["", "--after 0", "--show-prompt"])
def test_neither_a_folder_nor_a_pipe_is_resumed(refuse, pipe, options):
    assert "runs:" in refuse(f"--resume runs {options}")
    assert pipe in refuse(f"--resume {pipe} {options}")


def test_a_problem_from_standard_input_that_is_not_utf_8_is_refused():
    refused = run_python(MAIN, "--problem", "-", input="Größe".encode("latin-1"))
    assert refused.status == 2
    assert "--problem" in refused.last_line
    assert all_files() == {}


def test_a_file_in_the_place_of_the_folder_hinders_a_run_but_not_its_prompt(refuse, look):
    pathlib.Path("runs").touch()
    assert "--run" in refuse("")
    assert look("--show-prompt").status == 0


# Folders that cannot be used


@pytest.fixture
def without_rights(run, unsolved):
    """A user who may read unsolved.yaml, but neither write beside it nor look into runs/. (Root may do everything.)"""
    run("--show", "unsolved.yaml")  # Loads what nobody else may read if Python is in root's home.
    user = os.geteuid()
    os.mkdir("runs", mode=0)
    os.chmod(".", 0o555)
    try:
        os.seteuid(user or 65534)
        yield
    except OSError:
        pytest.skip("cannot be anybody but root")
    finally:
        os.seteuid(user)
        os.chmod(".", 0o755)
        os.chmod("runs", 0o755)


@pytest.mark.parametrize("arguments", ["", "--run new.yaml", "--resume unsolved.yaml"])
def test_a_folder_that_cannot_be_written_is_noticed(refuse, without_rights, arguments):
    assert "--run" in refuse(arguments)


@pytest.fixture
def read_only(unsolved):
    """The path of a run that may only be read, in a folder where everybody may replace it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = shutil.copy("unsolved.yaml", folder)
        os.chmod(path, 0o444)
        yield path


def test_a_file_that_may_not_be_written_is_not_resumed(refuse, read_only, without_rights):
    assert "--run" in refuse(f"--resume {read_only}")


@pytest.mark.parametrize("arguments", ["--show", "--after 0", "--show runs/old.yaml"])
def test_a_folder_that_cannot_be_read_is_named(refuse, without_rights, arguments):
    assert "runs" in refuse(arguments)


def test_a_run_in_a_folder_that_can_only_be_read_is_shown(look, without_rights, unsolved):
    assert look("--show unsolved.yaml").out == unsolved.out
