"""The README says what is so."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_sample_is_part_of_the_example_in_order(run):
    result = run("--resume", str(ROOT / "docs" / "example.yaml"))
    assert (result.status, result.err) == (0, "")
    place = 0
    sample = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]
    for part in re.split(r"\s*\[\.\.\.\]\s*", sample):
        place = result.out.index(part.strip(), place) + len(part.strip())


def test_every_option_is_explained(run):
    options = set(re.findall(r"--[a-z-]+", run("--help").out)) - {"--help"}
    assert len(options) == 10
    assert all(f"`{option}" in README for option in options)


def test_every_file_is_in_the_table_of_files():
    files = [path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.py"), *ROOT.glob("utils/[!_]*.py")]]
    assert len(files) > 3
    assert all(f"| [{file}]({file}) |" in README for file in files)
