"""The trace of recorded runs, to the letter."""

import pytest

from tests.loopback import recorded, recorded_problem, recorded_trace
from utils.plan_format import format_plan, format_plan_for_prompt

THREE_KEYS = ["die", "die-2", "intervals", "trains", "trains-2"]  # The cookbook's format, which has no solution.
RECORDINGS = [*THREE_KEYS, "machine-3", "readme-3", "letter-3", "koushi-4", "bughunt-4d"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_prints_its_trace_to_the_letter(serve, run, name):
    replies = recorded(name)
    endpoint = serve(*replies)
    result = run("--problem", recorded_problem(name))
    assert result.out == recorded_trace(name)
    assert (result.status, len(endpoint.requests)) == (0, len(replies))
    assert len(result.err.splitlines()) == (name in THREE_KEYS)


def test_a_plan_is_one_line_per_step_with_results_and_marks_or_in_its_simplified_view():
    sub_step = {"description": "Find\n x", "status": "Verification Needed", "result": "x = 2", "mark": "why?"}
    plan = [{"description": "Solve", "status": "Pending", "sub_steps": [sub_step]}]
    assert format_plan(plan) == "- [Pending] Solve\n  - [Verification Needed] Find x: x = 2 (why?)"
    assert format_plan_for_prompt(plan) == "- [Pending] Solve\n  - [Verification Needed] Find x"
