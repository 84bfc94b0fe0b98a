"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import argparse
import contextlib
import functools
import importlib.util
import io
import logging
import os
import pathlib
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python -I` and PYTHONSAFEPATH leave it out.
for package in ("pocketflow", "yaml"):
    if not importlib.util.find_spec(package):
        sys.exit(f"{package} is not installed: activate the environment, or run pip install -r requirements.txt")

from flow import create_chain_of_thought_flow
from nodes import MAX_THOUGHTS, ChainOfThoughtNode, build_prompt, format_turn
from utils.call_llm import DEFAULT_MODEL, call_llm
from utils.errors import RunFailed
from utils.saved_run import FOLDER, SavedRun, latest_path, load_run
from utils.terminal import LogHandler, is_terminal, print_text, print_trace
from utils.thought import add_costs, final_solution
from utils.thought_format import count, format_cost, format_run

DEFAULT_PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)

log = logging.getLogger("chain_of_thought")


def main(argv=None):
    """Run the program and return its exit status. argv: the arguments, list of str (default: sys.argv[1:])."""
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
        set_up_output(args.verbose)
        shared, saved_run, old_model = open_run(args, parser)
    except RunFailed as failure:
        parser.exit(2, f"{failure}\n")
    except KeyboardInterrupt:
        parser.exit(130, "Interrupted.\n")
    ask = functools.partial(call_llm, model=args.model or os.environ.get("OPENAI_MODEL") or old_model)
    thoughts = shared["thoughts"]
    count_before = len(thoughts)
    try:
        status, message = think(args, shared, saved_run.save, ask)
    except RunFailed as failure:
        status, message = 1, str(failure)
    except KeyboardInterrupt:
        status, message = 130, "Interrupted."
        if len(thoughts) > count_before:
            saved_run.save(shared)  # once more, in case saving was interrupted
    if message:
        log.error("%s%s", message, how_to_continue(args, len(thoughts), saved_run))
    if len(thoughts) > count_before and (args.verbose or is_terminal(sys.stderr)):
        place = "not saved" if saved_run.has_failed else f"saved in {saved_run.path}"
        cost = format_cost(add_costs([thought.get("cost", {}) for thought in thoughts]))
        log.warning("%s, %s, took %s.", count(len(thoughts), "thoughts"), place, cost)
    return status


def think(args, shared, save, ask):
    """Do what the arguments ask for. Returns the exit status, and what to tell the user or ""."""
    thoughts = shared["thoughts"]
    if args.show_prompt:
        prep_res = ChainOfThoughtNode(args.max_thoughts, save, ask).prep(shared)
        print_text(build_prompt(prep_res, format_turn(prep_res, args.max_thoughts)))
        return 0, ""
    is_solved = final_solution(thoughts) is not None
    with contextlib.redirect_stdout(io.StringIO()) if args.quiet else contextlib.nullcontext():
        if is_solved or not args.step or not thoughts:
            print_trace(format_run(shared["problem"], thoughts))
        if not is_solved:
            start = ChainOfThoughtNode if args.step else create_chain_of_thought_flow
            start(args.max_thoughts, save, ask).run(shared)
    solution = final_solution(thoughts)
    if solution is not None:
        if args.quiet:
            print_text(f"{solution}\n")
        return 0, ""
    if len(thoughts) >= args.max_thoughts:
        return 1, f"No solution after {count(args.max_thoughts, 'thoughts')}."
    return 0, f"Stopped after Thought {len(thoughts)}."


def open_run(args, parser):
    """The shared store to begin with, its SavedRun, and the model of the old run, str or None. Raises RunFailed."""
    if args.max_thoughts < 1 or (args.after or 0) < 0:
        parser.error("--max-thoughts must be at least 1, and --after at least 0")
    if args.run and os.path.exists(args.run):
        parser.error(f"{args.run} already exists; continue it with --resume, or name a new file")
    if args.run and not os.path.isdir(args.run.parent):
        parser.error(f"{args.run} is in a folder that does not exist")
    if args.resume is None and args.after is None:
        return {"problem": args.problem or DEFAULT_PROBLEM, "thoughts": []}, SavedRun(args.run), None
    if args.problem:
        parser.error("--resume and --after continue a saved problem, so leave out --problem")
    path = pathlib.Path(args.resume) if isinstance(args.resume, str) else latest_path()
    if not path:
        parser.error(f"there is no run in {FOLDER}/ to resume")
    shared, model, content = load_run(path, args.after)
    number = len(shared["thoughts"])
    is_solved = final_solution(shared["thoughts"]) is not None
    if is_solved and (args.run or args.after is not None or args.show_prompt):
        parser.error(f"Thought {number} ends the run; use --after {number - 1} or less")
    if args.max_thoughts <= number and not is_solved:
        parser.error(f"--max-thoughts must be at least {number + 1}: {path} has {count(number, 'thoughts')}")
    if args.run or args.after is not None:
        return shared, SavedRun(args.run, old_path=path), model
    return shared, SavedRun(path, content), model


def how_to_continue(args, number, saved_run):
    """The end of a message: the command that continues after Thought `number`, or "" if nothing is saved."""
    options = {"--resume": saved_run.old_path, "--after": args.after, "--run": args.run}
    if saved_run.content:
        options = {"--resume": saved_run.path}
    if not options["--resume"]:
        return ""
    limit = args.max_thoughts if number < args.max_thoughts else 2 * args.max_thoughts
    options |= {"--model": args.model, "--max-thoughts": None if limit == MAX_THOUGHTS else limit}
    words = [str(word) for option in options.items() if option[1] is not None for word in option]
    return " To continue: python " + shlex.join([sys.argv[0], *words])


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--problem", metavar="TEXT", type=read_problem, help="the problem; - reads it from standard input")
    add("--model", metavar="NAME", help=f"the model (default: OPENAI_MODEL, the resumed run's, or {DEFAULT_MODEL})")
    limit_help = "stop after N thoughts (default: %(default)s)"
    add("--max-thoughts", metavar="N", type=int, default=MAX_THOUGHTS, help=limit_help)
    add("--run", metavar="FILE", type=pathlib.Path, help=f"save the run in this new file (default: one in {FOLDER}/)")
    add("--resume", metavar="FILE", nargs="?", const=True, help=f"continue this run (default: the latest in {FOLDER}/)")
    add("--after", metavar="N", type=int, help="start a new run from the first N thoughts of a saved run")
    add("--step", action="store_true", help="think one thought and stop")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-q", "--quiet", action="store_true", help="print the solution and nothing else")
    output.add_argument("--show-prompt", action="store_true", help="print the prompt of the next thought and stop")
    add("-v", "--verbose", action="store_true", help="show the end of each prompt, each reply and its cost on stderr")
    return parser


def read_problem(argument):
    try:
        if argument == "-":
            with open(0, encoding="utf-8-sig", closefd=False) as stdin:
                argument = stdin.read().rstrip("\n")
        if argument.strip():
            argument.encode()  # Raises UnicodeError for bytes that are not UTF-8.
            return argument.replace("\r\n", "\n")
    except UnicodeError:
        raise argparse.ArgumentTypeError("it is not UTF-8")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"standard input: {error.strerror}")
    raise argparse.ArgumentTypeError("it must not be blank")


def set_up_output(verbose):
    """A file or a pipe gets UTF-8; stderr shows our messages and, if verbose, turns and replies."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # A notebook has something else there.
        has_encoding = sys.stdout.isatty() or "PYTHONIOENCODING" in os.environ
        sys.stdout.reconfigure(encoding=None if has_encoding else "utf-8")
    client_log = logging.getLogger("openai._base_client")  # It says that it waits, and for how long.
    handler = LogHandler()
    handler.addFilter(lambda record: record.name in (log.name, client_log.name))
    logging.basicConfig(handlers=[handler], format="%(message)s", force=True)
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)
    client_log.setLevel(logging.INFO if verbose or is_terminal(sys.stderr) else logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
