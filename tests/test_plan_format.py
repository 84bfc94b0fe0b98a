import pytest

from utils.plan_format import format_plan, format_plan_for_prompt

PLAN = [
    {"description": "Understand the problem", "status": "Done", "result": "what came out"},
    {
        "description": "Solve the system",
        "status": "Verification Needed",
        "mark": "the third row looks wrong",
        "sub_steps": [
            {
                "description": "Redo the third row",
                "status": "Pending",
                "sub_steps": [{"description": "Find its sign", "status": "Pending"}],
            }
        ],
    },
    {"description": "Conclusion", "status": "Pending"},
]


def test_the_full_view_shows_results_and_marks_and_nests_sub_steps():
    assert format_plan(PLAN) == (
        "- [Done] Understand the problem: what came out\n"
        "- [Verification Needed] Solve the system (the third row looks wrong)\n"
        "  - [Pending] Redo the third row\n"
        "    - [Pending] Find its sign\n"
        "- [Pending] Conclusion"
    )


def test_the_simplified_view_leaves_results_and_marks_out():
    assert format_plan_for_prompt(PLAN) == (
        "- [Done] Understand the problem\n"
        "- [Verification Needed] Solve the system\n"
        "  - [Pending] Redo the third row\n"
        "    - [Pending] Find its sign\n"
        "- [Pending] Conclusion"
    )


@pytest.mark.parametrize("field", ["description", "result", "mark"])
def test_a_text_of_several_lines_prints_as_one(field):
    step = {"description": "Solve", "status": "Done", field: "first line\n  second line\n\nthird line\n"}
    assert "first line second line third line" in format_plan([step])
    assert "\n" not in format_plan([step])


def test_blanks_within_a_line_are_kept():
    assert format_plan([{"description": "x =  1\t(aligned)", "status": "Done"}]) == "- [Done] x =  1\t(aligned)"
