"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import argparse
import importlib.util
import io
import logging
import os
import pathlib
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python -I` and PYTHONSAFEPATH leave it out.
for package in ("openai", "pocketflow", "yaml"):
    if not importlib.util.find_spec(package):
        sys.exit(f"{package} is not installed: activate the environment, or run pip install -r requirements.txt")

from flow import create_chain_of_thought_flow
from nodes import MAX_THOUGHTS, ChainOfThoughtNode, build_prompt, format_turn
from utils.call_llm import DEFAULT_MODEL
from utils.cost import add_costs, format_cost
from utils.errors import NotAThought, RunFailed
from utils.saved_run import FOLDER, SavedRun, latest_path, load_run
from utils.solution import find_solution
from utils.terminal import LogFormatter, is_terminal, lay_out, print_text
from utils.text import count
from utils.trace_format import format_run

PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)
ALL = object()  # What --resume is without a number.

log = logging.getLogger("chain_of_thought")


def main(argv=None):
    """Run the program and return its exit status. argv: the arguments, list of str (default: sys.argv[1:])."""
    parser = build_parser()
    args = parser.parse_args(argv)
    set_up_output(args.verbose)
    if args.model:
        os.environ["OPENAI_MODEL"] = args.model
    try:
        shared, saved_run = open_run(args)
    except OSError as error:
        parser.error(f"{error.filename or 'standard input'}: {error.strerror}")
    except NotAThought as fault:
        parser.error(f"{args.run}: {fault}")
    except ValueError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        parser.exit(130, "Interrupted.\n")
    thoughts, count_before = shared["thoughts"], len(shared["thoughts"])
    try:
        status, message = think(args, shared, saved_run)
    except RunFailed as failure:
        status, message = 1, str(failure)
    except KeyboardInterrupt:
        status, message = 130, "Interrupted."
    if message:
        log.error("%s%s", message, how_to_go_on(args, shared, saved_run))
    if len(thoughts) > count_before and (args.verbose or is_terminal(sys.stderr)):
        place = "not saved" if saved_run.has_failed else f"saved in {saved_run.path}"
        cost = format_cost(add_costs([thought.get("cost", {}) for thought in thoughts]))
        log.warning("%s, %s: %s", count(len(thoughts), "thought"), place, cost)
    return status


def think(args, shared, saved_run):
    """Do what the arguments ask for. Returns the exit status, and what to tell the user or ""."""
    thoughts, limit = shared["thoughts"], args.max_thoughts
    if args.show_prompt:
        prep_res = ChainOfThoughtNode(limit).prep(shared)
        print_text(build_prompt(prep_res, format_turn(prep_res, limit)))
        return 0, ""
    print_text(lay_out(format_run(shared["problem"], thoughts)))
    if find_solution(thoughts) is None:
        start = ChainOfThoughtNode if args.step else create_chain_of_thought_flow
        start(limit, saved_run.save).run(shared)
    if find_solution(thoughts) is not None:
        return 0, ""
    if len(thoughts) >= limit:
        return 1, f"No solution after {count(limit, 'thought')}."
    return 0, f"Stopped after Thought {len(thoughts)}."


def open_run(args):
    """The shared store to begin with, and the SavedRun of it. Raises OSError, or ValueError for wrong usage."""
    if args.resume is None:
        shared, saved_run = {"problem": read_problem(args.problem), "thoughts": []}, SavedRun(args.run)
        require(not args.run or not args.run.exists(), f"{args.run} exists already: add --resume to go on with it")
        require(not args.run or args.run.parent.is_dir(), f"{args.run} is in a folder that does not exist")
    else:
        require(args.problem is None, "--resume continues a saved problem, so leave out --problem")
        args.run = args.run or latest_path()
        require(args.run, f"there is no run in {FOLDER}/ to resume")
        shared, saved_run = load_run(args.run)
    thoughts = shared["thoughts"]
    if args.resume not in (None, ALL):
        found = f"{args.run} has {count(len(thoughts), 'thought')}; --run names another"
        require(0 <= args.resume <= len(thoughts), f"--resume {args.resume}: {found}")
        del thoughts[args.resume :]
        saved_run = SavedRun()
    number, is_solved = len(thoughts), find_solution(thoughts) is not None
    goes_on = args.show_prompt or args.resume is not ALL
    require(shared["problem"].strip(), "the problem is blank")
    require(not (is_solved and goes_on), f"Thought {number} ends the run: use --resume {number - 1} or lower")
    so_far = f": the saved run already has {count(number, 'thought')}" if number else ""
    least = 1 if is_solved else number + 1
    require(args.max_thoughts >= least, f"--max-thoughts must be at least {least}{so_far}")
    return shared, saved_run


def require(condition, reason):
    if not condition:
        raise ValueError(reason)


def read_problem(argument):
    if argument is None:
        return PROBLEM
    if argument != "-":
        return argument.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    with open(0, encoding="utf-8-sig", errors="replace", closefd=False) as stdin:
        return stdin.read().rstrip("\n")


def how_to_go_on(args, shared, saved_run):
    """The end of a message: the command that goes on with this run, or "" if nothing of it is saved."""
    limit = args.max_thoughts * (2 if len(shared["thoughts"]) >= args.max_thoughts else 1)
    if not saved_run.content and args.resume is None:
        return ""
    arguments = ["--run", saved_run.path] if saved_run.content else [args.resume, "--run", args.run]
    arguments += ["--model", args.model] if args.model else []
    arguments += ["--max-thoughts", limit] if limit != MAX_THOUGHTS else []
    return " To go on: python " + shlex.join(map(str, [sys.argv[0], "--resume", *arguments]))


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", metavar="TEXT", help="the problem; - reads it from standard input")
    parser.add_argument("--model", metavar="NAME", help=f"the model (default: OPENAI_MODEL, or else {DEFAULT_MODEL})")
    parser.add_argument("--max-thoughts", metavar="N", type=int, default=MAX_THOUGHTS, help="default: %(default)s")
    file_help = f"save the run in this file (default: a new one in {FOLDER}/)"
    parser.add_argument("--run", metavar="FILE", type=pathlib.Path, help=file_help)
    resume_help = "go on with the latest run or the one in FILE; with N, from its first N thoughts, as a new run"
    parser.add_argument("--resume", metavar="N", type=int, nargs="?", const=ALL, help=resume_help)
    parser.add_argument("--step", action="store_true", help="think one thought and stop")
    parser.add_argument("--show-prompt", action="store_true", help="print the prompt of the next thought and stop")
    parser.add_argument("-v", "--verbose", action="store_true", help="show prompt ends, replies and costs on stderr")
    return parser


def set_up_output(verbose):
    """stdout replaces what it cannot encode; stderr shows our messages and, if verbose, turns, replies and retries."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # A notebook has something else there.
        own_encoding = sys.stdout.isatty() or "PYTHONIOENCODING" in os.environ  # Else a file or a pipe gets UTF-8.
        sys.stdout.reconfigure(encoding=None if own_encoding else "utf-8", errors="replace")
    client_log = logging.getLogger("openai._base_client")
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("%(message)s"))
    handler.addFilter(lambda record: record.name in (log.name, client_log.name))
    logging.basicConfig(handlers=[handler], force=True)
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)
    client_log.setLevel(logging.INFO if verbose else logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
