"""A saved run is looked at without a request; what cannot be paid for, saved or meant is refused before one."""

import contextlib
import os
import pathlib

import pytest

from tests.test_saved_run import PROBLEM, REPLIES, SOLUTION, TRACES, all_files, solved


def stamps():
    return {path: (os.stat(path).st_mtime_ns, content) for path, content in all_files().items()}


@pytest.mark.parametrize("file, after, status, count, solution", [
    ([], [], 0, 4, f"{SOLUTION}\n"),
    ([], ["--after", "4"], 0, 4, f"{SOLUTION}\n"),
    ([], ["--after", "3"], 1, 3, "It is 3.\n"),
    (["unsolved.yaml"], [], 1, 2, "It is 2.\n"),
    (["unsolved.yaml"], ["--after", "1"], 1, 1, ""),
    (["unsolved.yaml"], ["--after", "0"], 1, 0, ""),
])
def test_show_prints_what_there_is_and_asks_and_changes_nothing(solved, run, file, after, status, count, solution):
    before = stamps()
    shown, quiet = (run("--show", *file, *after, *option, replies=REPLIES) for option in ([], ["-q"]))
    assert (shown.status, shown.out) == (status, "".join(TRACES[: count + 1]))
    assert (quiet.status, quiet.out) == (status, solution)
    assert shown.err.count("\n") == quiet.err.count("\n") == status + (not file)
    assert "--resume" not in shown.err and shown.prompts == quiet.prompts == [] and stamps() == before


@pytest.mark.parametrize("options", [
    ["--problem", "x"], ["--model", "x"], ["--max-thoughts", "9"], ["--run", "new.yaml"], ["--resume"], ["--step"],
    ["--resume", "unsolved.yaml"], ["--show-prompt"], ["-v"], ["--after", "5"], ["--after", "x"],
])
def test_show_with_any_other_option_is_wrong_usage(solved, run, options):
    before = stamps()
    result = run("--show", *options, replies=REPLIES)
    assert (result.status, result.out, result.prompts, stamps()) == (2, "", [], before)


@pytest.mark.parametrize("arguments, parts", [
    (["--problem", " \n"], ["--problem"]),
    (["--problem", "Gr\udcf6\udcdfe"], ["UTF-8"]),
    (["--max-thoughts", "0"], ["--max-thoughts"]),
    (["--after", "-1"], ["--after"]),
    (["--quiet", "--show-prompt"], ["--show-prompt"]),
    (["--run", "mine.yaml"], ["mine.yaml", "--run"]),
    (["--run", "no/such/folder.yaml"], ["no/such/folder.yaml", "--run"]),
    (["--resume", "unsolved.yaml", "--run", "mine.yaml"], ["mine.yaml", "--run"]),
    (["--resume", "unsolved.yaml", "--problem", "x"], ["--problem"]),
    (["--resume", "other.yaml"], ["other.yaml"]),
    (["--resume", "mine.yaml"], ["mine.yaml"]),
    (["--resume", "empty.yaml"], ["empty.yaml"]),
    (["--resume", "unsolved.yaml", "--max-thoughts", "2"], ["--max-thoughts", "2"]),
    (["--after", "3", "--max-thoughts", "3"], ["--max-thoughts", "3"]),
    (["--after", "4"], ["--show", "--after 3"]),
    (["--after", "5"], ["5"]),
    *[(["--resume", *more], ["--show", "--after 3"]) for more in ([], ["--step"], ["--show-prompt"], ["--run", "new"])],
])
def test_wrong_usage_is_said_before_a_request_and_changes_nothing(solved, run, arguments, parts):
    pathlib.Path("mine.yaml").write_text("mine")
    pathlib.Path("empty.yaml").touch()
    before = stamps()
    result = run(*arguments, replies=REPLIES)
    assert (result.status, result.out, result.prompts, stamps()) == (2, "", [], before)
    assert all(part in result.err.splitlines()[-1] for part in parts)


def test_a_solved_run_of_one_thought_can_only_be_started_again_from_its_beginning(run):
    run("--problem", PROBLEM, replies=[REPLIES[3].replace("solution_changes: |-", "solution: |-")])
    assert "--after 0" in run("--resume").err and "less" not in run("--resume").err


@pytest.mark.parametrize("option", ["--resume", "--show", "--after=0"])
def test_without_a_saved_run_there_is_nothing_to_continue(run, option):
    assert "runs/" in run(option).err and os.listdir() == []


def test_an_empty_file_name_is_not_the_latest_run(run):
    run("--problem", PROBLEM, "--step", replies=REPLIES)
    result = run("--show", "", replies=REPLIES)
    assert (result.status, result.out, result.prompts) == (2, "", [])


def test_a_file_in_the_place_of_the_folder_is_noticed_before_a_request(run):
    pathlib.Path("runs").write_text("")
    result = run(replies=REPLIES)
    assert (result.status, result.prompts) == (2, []) and "--run" in result.err.splitlines()[-1]
    assert run("--show-prompt").status == 0


@pytest.mark.parametrize("arguments, parts", [
    ([], ["error", "--run"]), (["--run", "b.yaml"], ["b.yaml", "--run"]), (["--resume", "a.yaml"], ["error", "--run"]),
    (["--show", "a.yaml"], ["2 thoughts"]),
])
def test_a_folder_that_can_only_be_read_is_noticed_before_a_request_and_harms_no_look(run, arguments, parts):
    run("--run", "a.yaml", "--max-thoughts", "2", replies=REPLIES)
    os.chmod(".", 0o555)
    user = os.geteuid()
    with contextlib.ExitStack() as stack:
        stack.callback(os.chmod, ".", 0o755)
        with contextlib.suppress(OSError):
            os.seteuid(user or 65534)  # Root may write everywhere.
            stack.callback(os.seteuid, user)
        if os.access(".", os.W_OK, effective_ids=True):
            pytest.skip("cannot be anybody but root")
        result = run(*arguments, replies=REPLIES)
    assert result.prompts == [] and all(part in result.err.splitlines()[-1] for part in parts)
