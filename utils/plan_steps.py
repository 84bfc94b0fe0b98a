"""What a plan says about its steps: which are open, and which results a reply left out."""


def open_steps(plan):
    """The steps that are not Done, in the order of execution; one with open sub-steps is left to those.

    plan: a list of steps as in plan_format.py. The first of what is returned is the next step.
    """
    found = []
    for step in plan:
        inner = open_steps(step.get("sub_steps", []))
        found += inner or [step] * (step["status"] != "Done")
    return found


def is_concluded(thought):
    """Whether the run ends with this thought: it says so, or its plan leaves nothing to do."""
    return not thought["next_thought_needed"] or not open_steps(thought["planning"])


def keep_results(plan, plan_before):
    """The plan, with the results and marks that plan_before has and a reply need not repeat.

    A step that has the description, below the same parents, and the status that it had gets the result
    and the mark that it had, unless it comes with its own.
    """
    unmatched, completed = list(plan_before), []
    for step in plan:
        before = next((old for old in unmatched if words(old) == words(step)), None)
        if before:
            unmatched.remove(before)  # so that two steps of one description keep a result each
        else:
            before = {"status": None}
        unchanged = before["status"] == step["status"]
        kept = {key: before[key] for key in ("result", "mark") if unchanged and key in before}
        sub_steps = keep_results(step.get("sub_steps", []), before.get("sub_steps", []))
        completed.append({**kept, **step, **({"sub_steps": sub_steps} if sub_steps else {})})
    return completed


def words(step):
    return step["description"].split()


if __name__ == "__main__":
    before = [{"description": "Solve", "status": "Done", "result": "x = 2"}]
    after = [{"description": "Solve", "status": "Done"}, {"description": "Conclusion", "status": "Pending"}]
    print(keep_results(after, before), open_steps(after), sep="\n")
