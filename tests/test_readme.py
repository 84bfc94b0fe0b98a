"""README.md, docs/guide.md and docs/design.md say what is so."""

import pathlib
import re
import sys
import types

import pytest

from tests.conftest import ROOT
from tests.replies import Model, end, reply


def read(path):
    return path.read_text(encoding="utf-8")


PAGES = [ROOT / "README.md", ROOT / "docs/guide.md", ROOT / "docs/design.md"]
README, GUIDE, DESIGN = map(read, PAGES)
COMMANDS = re.findall(r"python main\.py ([^#)>`\n]*)", README + GUIDE)
SOLVED = [reply(1, solution="It is 3."), end(2)]


def options_in(text):
    return set(re.findall("--[a-z][a-z-]+", text))


def code_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README + GUIDE, re.DOTALL | re.MULTILINE)


def test_the_sample_is_a_part_of_the_example(run):
    trace = run("--show", str(ROOT / "docs/example.yaml")).out
    [sample] = code_blocks("text")
    parts = [re.escape(part.strip()) for part in sample.split("[...]")]
    assert re.search(".*".join(parts), trace, re.DOTALL)


def test_the_table_has_every_option_and_every_default(run):
    help_text = run("--help").out
    first_cells = re.findall(r"^\| (`-.*?) \|", README, re.MULTILINE)
    assert options_in(str(first_cells)) == options_in(help_text) - {"--help"}
    for default in re.findall(r"\(default: [^)]*?([\w.-]+)\)", help_text):
        assert re.search(rf"\(default: .*\b{default}`?\) \|", README)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_no_command_is_wrong_usage(command, arguments):
    for name in ["runs/latest.yaml", *re.findall(r"--(?:resume|show) (\S+\.yaml)", arguments)]:
        pathlib.Path(name).parent.mkdir(exist_ok=True)
        command(f"--run {name}", map(reply, [1, 2, 3, 4]))
    assert command(arguments).status != 2


def test_every_file_of_utils_is_in_the_table_of_files():
    for path in ROOT.glob("utils/[!_]*.py"):
        assert f"| [utils/{path.name}](../utils/{path.name}) |" in DESIGN


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    for name, section in re.findall(r"\]\((?!https:)([^#)]*)#?(.*?)\)", read(page)):
        text = read(page.parent / (name or page.name))
        title = section.replace("-", " ")
        assert not section or f"# {title}\n" in text.lower()


# The examples in Python


def execute(part):
    """Execute the example with this part alone. my_client answers."""
    [example] = [block for block in code_blocks("python") if part in block]
    exec(example, {"my_client": types.SimpleNamespace(ask=Model(SOLVED))})


@pytest.mark.parametrize("part", ["create_chain_of_thought_flow()", "ChainOfThoughtNode(call_llm=ask)"])
def test_the_examples_of_a_flow_print_the_solution(part, serve, capsys):
    serve(*SOLVED)
    execute(part)
    assert "=== FINAL SOLUTION ===\nIt is 3.\n" in capsys.readouterr().out


def test_the_example_that_saves_a_run_saves_one_that_can_be_shown(serve, run):
    serve(*SOLVED)
    execute("run.save_first()")
    assert run("--show").status == 0


def test_the_script_takes_the_options_of_the_command_line(capsys):
    sys.argv.append("--quiet")
    with pytest.raises(SystemExit, match="0"):
        execute("main(call_llm=ask)")
    assert capsys.readouterr().out == "It is 3.\n"
