"""What a plan says about its steps: which are open, and which results a reply left out."""

STEP_KEYS = ("description", "status", "result", "mark", "sub_steps")


def open_steps(plan):
    """The steps that are not Done, the next one first; open sub-steps stand in for their parent."""
    found = []
    for step in plan:
        open_sub_steps = open_steps(step.get("sub_steps", []))
        if open_sub_steps:
            found += open_sub_steps
        elif step["status"] != "Done":
            found.append(step)
    return found


def is_conclusion(step):
    return step["description"].lower().startswith("conclusion")


def keep_results(plan, plan_before):
    """The plan; a step with unchanged parents, description and status and no result keeps its old result and mark."""
    unmatched, completed = list(plan_before), []
    for step in plan:
        before = next((old for old in unmatched if words(old) == words(step)), {})
        if before:
            unmatched.remove(before)  # so that two steps of one description keep a result each
        is_unchanged = before.get("status") == step["status"] and "result" not in step
        kept = {key: before[key] for key in ("result", "mark") if is_unchanged and key in before}
        fields = {**kept, **step}
        if "sub_steps" in step:
            fields["sub_steps"] = keep_results(step["sub_steps"], before.get("sub_steps", []))
        completed.append({key: fields[key] for key in STEP_KEYS if key in fields})
    return completed


def words(step):
    return step["description"].split()
