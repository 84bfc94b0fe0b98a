"""The README says what is so."""

import re

from tests.loopback import RECORDINGS, recorded_trace

README = (RECORDINGS.parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_sample_trace_stands_in_the_recorded_one_in_order():
    trace, place = recorded_trace("letter-3"), 0
    for part in re.search(r"```text\n(.*?)```", README, re.DOTALL)[1].split("[...]\n"):
        place = trace.index(part.rstrip("\n"), place) + len(part)


def test_every_option_is_explained(run):
    options = set(re.findall(r"--[a-z-]+", run("--help").out)) - {"--help"}
    assert len(options) == 8
    assert all(f"`{option}" in README for option in options)
