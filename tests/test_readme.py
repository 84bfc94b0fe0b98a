"""The README says what is so."""

import re

from tests.loopback import RECORDINGS

README = (RECORDINGS.parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_sample_trace_stands_in_the_recorded_one_in_order():
    sample = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]
    trace = (RECORDINGS / "die" / "trace.txt").read_text(encoding="utf-8")
    place = 0
    for part in sample.split("[...]\n"):
        place = trace.index(part.rstrip("\n"), place) + len(part)


def test_every_option_is_explained(run):
    options = re.findall(r"--[a-z-]+", run("--help").out)
    assert {"--problem", "--model", "--max-thoughts", "--show-prompt", "--verbose"} <= set(options)
    assert all(f"`{option}" in README for option in options if option != "--help")


def test_the_paragraphs_of_the_prompt_that_are_named_are_there():
    from nodes import INSTRUCTIONS

    table = README.split("where it comes from |")[1].split("\n\n")[0]
    named = re.findall(r'"([^"]+)"', table)
    assert len(named) == 7
    assert all(name in INSTRUCTIONS for name in named)
