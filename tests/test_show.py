"""A saved run is looked at without a request, and wrong usage is refused before one."""

import os
import pathlib
import shlex
import shutil
import tempfile

import pytest

from tests.conftest import MAIN, all_files, run_python, saved_runs
from tests.replies import end, reply


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
    """look("--show -q") is `python main.py --show -q`. Nothing is asked, no file is changed."""

    def run_main(arguments):
        before = all_files()
        result = run(*shlex.split(arguments), replies=[])
        assert result.prompts == []
        assert all_files() == before
        return result

    return run_main


@pytest.fixture
def refuse(look):
    """refuse("--step --show") is the line that says what is wrong. Nothing is asked, printed or changed."""

    def refuse_arguments(arguments):
        result = look(arguments)
        assert result.status == 2
        assert result.out == ""
        return result.last_line

    return refuse_arguments


# --show


def test_a_solved_run_is_shown_as_it_was_printed(look, solved):
    shown = look(f"--show {saved_runs()[0]}")
    assert shown.status == 0
    assert shown.out == solved.out
    assert shown.err == ""


@pytest.mark.parametrize("number", [0, 2])
def test_the_first_thoughts_are_shown_as_they_were_printed(look, solved, number):
    shown = look(f"--show --after {number}")
    assert solved.out.startswith(shown.out)
    assert shown.out.count("\nThought ") == number


@pytest.mark.parametrize(
    "options, status, solution",
    [
        ("", 0, "It is 3.\n\n  Sure.\n"),
        ("--after 2", 1, "It is 2.\n\n  Sure.\n"),
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


def test_a_pipe_is_shown(solved):
    content = saved_runs()[0].read_bytes()
    assert run_python(MAIN, "--show", "/dev/stdin", input=content).out == solved.out


# Wrong usage


@pytest.mark.parametrize("options", ["--problem x", "--add x", "--run new.yaml", "--resume", "--step", "-v"])
def test_show_goes_with_no_other_option(refuse, unsolved, options):
    assert "--show" in refuse(f"--show unsolved.yaml {options}")


@pytest.mark.parametrize(
    "arguments, named",
    [
        ("--problem ' \n'", "--problem"),
        ("--problem 'a\x0cb'", r"'\x0c'"),
        ("--problem Gr\udcf6\udcdfe", "udcf6"),
        ("--resume --problem x", "--problem"),
        ("--after 1 --problem x", "--problem"),
        ("--max-thoughts 0", "--max-thoughts"),
        ("--resume unsolved.yaml --max-thoughts 2", "3"),
        ("--after -1", "--after"),
        ("--show unsolved.yaml --after 3", "--after 3"),
        ("--run empty.yaml", "--run"),
        ("--run new.yml", ".yaml"),
        ("--run no/folder.yaml", "no/folder.yaml"),
        ("--resume missing.yaml", "missing.yaml: No such file"),
        ("--show --resume missing.yaml -q", "--show FILE"),
        ("--resume runs --after 0", "runs: Is a directory"),
    ],
)
def test_what_is_wrong_is_named(refuse, unsolved, solved, arguments, named):
    pathlib.Path("empty.yaml").touch()
    assert named in refuse(arguments)


@pytest.mark.parametrize("arguments", ["--resume", "--show", "--after 0"])
def test_where_no_run_was_found_is_named(refuse, arguments, tmp_path):
    assert f"{tmp_path}/runs" in refuse(arguments)


@pytest.mark.parametrize("options", ["", "--show-prompt", "--after 3"])
def test_a_solved_run_is_not_resumed_but_shown_or_started_anew(refuse, solved, options):
    line = refuse(f"--resume {options}")
    assert "--show" in line
    assert "--after 2" in line
    assert "--add" in line


def test_a_problem_from_standard_input_that_is_not_utf_8_is_refused():
    refused = run_python(MAIN, "--problem", "-", input="Größe".encode("latin-1"))
    assert refused.status == 2
    assert "--problem" in refused.last_line
    assert "UTF-8" in refused.last_line
    assert all_files() == {}


@pytest.fixture
def without_rights(run, unsolved):
    """A user who may replace unsolved.yaml, but not write it, nor look into runs/. (Root may do everything.)"""
    run("--show", "unsolved.yaml")  # Loads what nobody else may read if Python is in root's home.
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy("unsolved.yaml", folder)
        os.chdir(folder)
        os.chmod("unsolved.yaml", 0o444)
        os.chmod(".", 0o777)
        os.mkdir("runs", mode=0)
        try:
            os.seteuid(user or 65534)
            yield
        except OSError:
            pytest.skip("cannot be anybody but root")
        finally:
            os.seteuid(user)


@pytest.mark.parametrize(
    "arguments, named",
    [
        ("", "--run"),
        ("--resume unsolved.yaml", "--run"),
        ("--show", "runs"),
        ("--after 0", "runs"),
    ],
)
def test_a_place_that_cannot_be_used_is_noticed_and_named(refuse, without_rights, arguments, named):
    assert named in refuse(arguments)
