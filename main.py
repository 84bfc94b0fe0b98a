"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import argparse
import contextlib
import logging
import os
import pathlib
import shlex
import sys
import traceback

try:
    from flow import create_chain_of_thought_flow
    from nodes import MAX_THOUGHTS, ChainOfThoughtNode, build_prompt, format_turn
    from utils.call_llm import DEFAULT_MODEL, call_llm as ask_openai
    from utils.cost import add_costs, count, format_cost
    from utils.errors import RunFailed, quote
    from utils.saved_run import FOLDER, SavedRun, latest_path, load_run
    from utils.terminal import LogHandler, is_terminal, print_text, print_trace
    from utils.thought import final_solution, solution_so_far
    from utils.trace import format_run
except ModuleNotFoundError as error:
    sys.exit(f"{error.name} is not installed: activate the environment, or run pip install -r requirements.txt")
except KeyboardInterrupt:
    sys.exit(130)

DEFAULT_PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)

log = logging.getLogger("chain_of_thought")


def main(argv=None, call_llm=None):
    """Run the program and return its exit status. Raises SystemExit for wrong usage and --help, as argparse does.

    argv: the arguments, list of str (default: sys.argv[1:]); call_llm: a function from a prompt, str, to a reply, str,
    that is asked instead of the OpenAI client.
    """
    parser = build_parser()
    run = None
    try:
        args = parser.parse_args(argv)
        set_up_output(args.verbose)
        run = open_run(args, parser)
        ask = call_llm or (lambda prompt: ask_openai(prompt, args.model, run.model or DEFAULT_MODEL))
        status, message = act(args, run, ask)
    except RunFailed as failure:
        status, message = 1 if run else 2, str(failure)  # Without a run, a file could not be read: wrong usage.
    except KeyboardInterrupt:
        status, message = 130, "Interrupted."
    except Exception:
        status, message = 1, f"{traceback.format_exc()}This exception ended the run."
    if run:
        run.close()
        message = message and message + how_to_continue(args, parser, run)
    if message:
        log.error(message)
    if run and len(run.thoughts) > run.count_before:
        place = "not saved" if run.has_failed else f"saved in {run.path}"
        cost = format_cost(add_costs([thought.get("cost", {}) for thought in run.thoughts]))
        log.info(f"{count(len(run.thoughts), 'thoughts')}, {place}, took {cost}.")
    return status


def open_run(args, parser):
    """The SavedRun that the arguments begin with, with its file, if they will save anything. Raises RunFailed."""
    given = {name for name, value in vars(args).items() if value != parser.get_default(name)}
    if args.show and given - {"show", "after", "quiet"}:
        parser.error("--show goes with --after and --quiet only")
    if not given & {"show", "resume", "after"}:
        run = SavedRun({"problem": args.problem or DEFAULT_PROBLEM, "thoughts": []})
    elif args.problem:
        parser.error("--resume and --after continue a saved problem, so leave out --problem")
    else:
        chosen = args.show or args.resume or FOLDER
        args.resume = latest_path() if chosen == FOLDER else chosen  # how_to_continue names it.
        run = load_run(args.resume, args.after)
        if chosen == FOLDER:
            log.warning(f"The latest run is {args.resume}: {quote(run.shared['problem'])}")
    if args.show:
        return run
    number = len(run.thoughts)
    if final_solution(run.thoughts):
        parser.error(f"the run is solved: use --show {args.resume}, or --resume {args.resume} --after {number - 1}")
    if number >= args.max_thoughts:
        parser.error(f"--max-thoughts must be at least {number + 1}: the run begins with {count(number, 'thoughts')}")
    if not args.show_prompt:
        try:
            run.open_file(args.run)
        except OSError as error:
            parser.error(f"{error.filename}: {error.strerror}; name a new file to save the run in with --run FILE")
    return run


def act(args, run, ask):
    """Do what the arguments ask for. Returns the exit status, and what to tell the user or ""."""
    thoughts = run.thoughts
    node = ChainOfThoughtNode(args.max_thoughts, run.save, ask)
    if args.show_prompt:
        prep_res = node.prep(run.shared)
        print_text(build_prompt(prep_res, format_turn(prep_res, args.max_thoughts)))
        return 0, ""
    with contextlib.redirect_stdout(None) if args.quiet else contextlib.nullcontext():
        if not args.step or not thoughts:
            print_trace(format_run(run.shared["problem"], thoughts))
        if args.step:
            node.run(run.shared)
        elif not args.show:
            create_chain_of_thought_flow(args.max_thoughts, run.save, ask).run(run.shared)
    solution = final_solution(thoughts)
    text = solution or (args.show and solution_so_far(thoughts))
    if args.quiet and text:
        print_text(f"{text}\n")
    if args.step and run.has_failed:
        return 1, "The thought is not saved."
    if solution:
        return 0, ""
    if args.show:
        return 1, f"Not finished after {count(len(thoughts), 'thoughts')}: the solution is missing or not checked."
    if len(thoughts) >= args.max_thoughts:
        return 1, f"No solution after {count(args.max_thoughts, 'thoughts')}."
    return 0, f"Stopped after Thought {len(thoughts)}."


def how_to_continue(args, parser, run):
    """The end of a message: the command that continues the run, or "" if there is no saved run to continue."""
    options = {**vars(args), "problem": None}
    if run.content:
        options.update(resume=run.path, after=None, run=None)
    if args.show or not options["resume"]:
        return ""
    if len(run.thoughts) >= args.max_thoughts:
        options["max_thoughts"] *= 2
    words = ["python", sys.argv[0]]
    for name, value in options.items():
        if value != parser.get_default(name):
            words.append(f"--{name.replace('_', '-')}")
            words += [] if value is True else [str(value)]
    return f" To continue: {shlex.join(words)}"


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--problem", metavar="TEXT", type=read_problem, help="the problem; - reads it from standard input")
    add("--model", metavar="NAME", help=f"the model (default: OPENAI_MODEL, the resumed run's, or {DEFAULT_MODEL})")
    add("--max-thoughts", metavar="N", type=int, default=MAX_THOUGHTS, help="N thoughts at most (default: %(default)s)")
    add("--run", metavar="FILE", type=pathlib.Path, help=f"save the run in this new file (default: one in {FOLDER}/)")
    saved_run = {"metavar": "FILE", "nargs": "?", "type": pathlib.Path, "const": FOLDER}  # the latest in it
    add("--resume", **saved_run, help=f"continue this run (default: the latest in {FOLDER}/)")
    add("--after", metavar="N", type=int, help="start a new run from the first N thoughts of a saved run")
    add("--step", action="store_true", help="think one thought and stop")
    add("--show", **saved_run, help=f"print this saved run (default: the latest in {FOLDER}/) and stop")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-q", "--quiet", action="store_true", help="print the solution and nothing else")
    output.add_argument("--show-prompt", action="store_true", help="print the prompt of the next thought and stop")
    add("-v", "--verbose", action="store_true", help="show the end of each prompt, each reply and its cost on stderr")
    return parser


def read_problem(argument):
    try:
        if argument == "-":
            argument = open(0, encoding="utf-8-sig", closefd=False).read().rstrip("\n")
        argument.encode()  # Raises UnicodeError for bytes that are not UTF-8.
    except (OSError, UnicodeError) as error:
        raise argparse.ArgumentTypeError(f"it cannot be read as UTF-8: {error}")
    if not argument.strip():
        raise argparse.ArgumentTypeError("it is blank")
    return argument.replace("\r\n", "\n")


def set_up_output(verbose):
    """A file or a pipe gets UTF-8; stderr shows our messages and, if verbose, turns and replies."""
    if not is_terminal(sys.stdout) and "PYTHONIOENCODING" not in os.environ:
        with contextlib.suppress(AttributeError):  # A notebook has another stdout.
            sys.stdout.reconfigure(encoding="utf-8")
    client_log = logging.getLogger("openai._base_client")  # It says that it waits, and for how long.
    log.handlers = client_log.handlers = [LogHandler()]
    client_log.setLevel(logging.INFO if verbose or is_terminal(sys.stderr) else logging.WARNING)
    log.setLevel(logging.DEBUG if verbose else client_log.level)


if __name__ == "__main__":
    sys.exit(main())
