"""The README says what is so."""

import pathlib
import re

import pytest

import nodes
from tests.replies import Model, recorded

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def help_text(run):
    return " ".join(run("--help").out.split())


def test_the_sample_is_part_of_the_example_in_order(run):
    result = run("--show", str(ROOT / "docs" / "example.yaml"))
    assert (result.status, result.err, "python main.py --show docs/example.yaml\n" in README) == (0, "", True)
    place = 0
    sample = re.search(r"```text\n(.*?)```", README, re.DOTALL)[1]
    for part in re.split(r"\s*\[\.\.\.\]\s*", sample):
        place = result.out.index(part.strip(), place) + len(part.strip())


def test_every_option_is_explained_and_no_command_has_another(help_text):
    options = set(re.findall("--[a-z-]+", help_text)) - {"--help"}
    assert {"--problem", "--show", "--verbose"} < options
    assert all(re.search(rf"^\|.*`{option}\b", README, re.MULTILINE) for option in options)
    commands = " ".join(re.findall("^python main.py.*", README, re.MULTILINE))
    assert set(re.findall("--[a-z-]+", commands)) <= options


@pytest.mark.parametrize("option, default", [("--model", r"or ([\w.-]+)\)"), ("--max-thoughts", r"\(default: (\d+)\)")])
def test_a_default_is_that_of_the_help(help_text, option, default):
    default = re.search(f" {option} .*?{default}", help_text)[1]
    assert re.search(rf"^\| `{option} .*\(default: .*\b{default}\b", README, re.MULTILINE)


def test_every_file_is_in_the_table_of_files_and_every_link_leads_somewhere():
    files = {"main.py", "flow.py", "nodes.py", *(f"utils/{path.name}" for path in ROOT.glob("utils/[!_]*.py"))}
    assert set(re.findall(r"^\| \[(.*?)\]\(\1\) \|", README, re.MULTILINE)) == files
    assert all((ROOT / link).exists() for link in re.findall(r"\]\(([^)#:]+)\)", README))


def test_the_example_of_the_use_from_python_prints_the_trace_and_the_solution(monkeypatch, capsys):
    monkeypatch.setattr(nodes, "call_llm", Model(recorded("die-2")))
    namespace = {}
    exec(re.search(r"```python\n(.*?)```", README, re.DOTALL)[1], namespace)
    solution = namespace["shared"]["solution"]
    out = capsys.readouterr().out
    assert out.count(f"\n{solution}\n") == 2 and out.endswith(f"\n{solution}\n")
