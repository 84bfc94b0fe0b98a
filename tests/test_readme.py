"""The README says what is so."""

import re
import sys
import types

import pytest

from tests.conftest import ROOT
from tests.replies import Model, end, reply
from utils.errors import RunFailed


@pytest.fixture
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def help_text(run):
    return run("--help").out


def options_in(lines):
    return set(re.findall("--[a-z][a-z-]+", "\n".join(lines)))


def code_blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_sample_is_a_part_of_the_example(run, readme):
    trace = run("--show", str(ROOT / "docs/example.yaml")).out
    [sample] = code_blocks(readme, "text")
    place = 0
    for part in sample.split("[...]"):
        text = part.strip()
        place = trace.index(text, place) + len(text)


def test_every_option_is_in_the_table(readme, help_text):
    first_cells = re.findall(r"^\| (`-.*?) \|", readme, re.MULTILINE)
    assert options_in(first_cells) == options_in([help_text]) - {"--help"}


def test_no_command_has_an_option_that_is_unknown(readme, help_text):
    commands = re.findall("python main.py.*|`--.*?`", readme)
    assert options_in(commands) <= options_in([help_text])


def test_every_default_of_the_help_is_that_of_the_table(readme, help_text):
    for default in re.findall(r"\(default:[^)]*?([\w.-]+)\)", help_text):
        assert re.search(rf"\(default: .*\b{default}`?\) \|", readme)


def test_every_file_of_the_program_is_in_the_table_of_files(readme):
    modules = [path.name for path in ROOT.glob("utils/[!_]*.py")]
    for name in ["flow.py", "nodes.py", "main.py", *(f"utils/{module}" for module in modules)]:
        assert f"| [{name}]({name}) |" in readme


def test_every_link_leads_somewhere(readme):
    headings = re.findall("^#+ (.*)", readme, re.MULTILINE)
    sections = ["#" + heading.lower().replace(" ", "-") for heading in headings]
    for link in re.findall(r"\]\((?!https:)(.*?)\)", readme):
        assert link in sections or (ROOT / link).exists()


# The examples in Python


@pytest.fixture
def execute(readme, capsys):
    """execute(part) executes the example with this part alone, and is what it prints. my_client answers."""

    def execute_example(part):
        [example] = [block for block in code_blocks(readme, "python") if part in block]
        model = Model([end(1, solution="It is 3.")])
        exec(example, {"my_client": types.SimpleNamespace(ask=model)})
        return capsys.readouterr().out

    return execute_example


def test_the_example_of_a_flow_prints_the_trace_and_the_solution(execute, serve):
    serve(end(1, solution="It is 3."))
    out = execute("create_chain_of_thought_flow()")
    assert "=== FINAL SOLUTION ===" in out
    assert out.endswith("\n\nIt is 3.\n")


def test_the_example_that_saves_a_run_saves_one_that_can_be_resumed(execute, serve, run):
    serve(reply(1), "Prose.", "Prose.", "Prose.")
    with pytest.raises(RunFailed):
        execute("run.save_first()")
    assert run("--resume", replies=[end(2, solution="It is 3.")]).status == 0


def test_the_example_of_another_provider_asks_it(execute):
    assert "=== FINAL SOLUTION ===\nIt is 3.\n" in execute("ChainOfThoughtNode(call_llm=ask)")


def test_the_script_takes_the_options_of_the_command_line(execute, capsys):
    sys.argv.append("--quiet")
    with pytest.raises(SystemExit, match="0"):
        execute("main(call_llm=ask)")
    assert capsys.readouterr().out == "It is 3.\n"
