"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import argparse
import importlib.util
import io
import logging
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # `python -I` and PYTHONSAFEPATH leave it out.
for package in ("openai", "pocketflow", "yaml"):
    if not importlib.util.find_spec(package):
        sys.exit(f"{package} is not installed: activate the environment, or run pip install -r requirements.txt")

from flow import create_chain_of_thought_flow
from nodes import MAX_THOUGHTS, ChainOfThoughtNode, build_prompt
from utils.call_llm import RejectedReply
from utils.client import DEFAULT_MODEL, CallFailed
from utils.kept_run import DEFAULT_PATH, KeptRun
from utils.terminal import LogFormatter, lay_out
from utils.trace_format import format_run

PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)

ALL = object()

log = logging.getLogger("chain_of_thought")


def main(argv=None):
    """Run the program and return its exit status. argv: the arguments, list of str (default: sys.argv[1:])."""
    set_up_stdout()
    kept_run = None
    try:
        args, shared, kept_run = parse_args(argv)
        log_to_stderr(args.verbose)
        if args.show_prompt:
            print(build_prompt(ChainOfThoughtNode().prep(shared), args.max_thoughts), end="", flush=True)
            return 0
        return solve(shared, kept_run, args.max_thoughts)
    except KeyboardInterrupt:
        log.error("Interrupted.%s", kept_run.how_to_go_on() if kept_run else "")
        return 130
    except BrokenPipeError:
        pass
    except OSError as error:
        log.error("The trace cannot be written: %s.%s", error.strerror, kept_run.how_to_go_on())
    # Python flushes standard output once more as it exits, and that must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


def solve(shared, kept_run, max_thoughts):
    print(lay_out(format_run(shared["problem"], shared["thoughts"])), flush=True)
    try:
        create_chain_of_thought_flow(max_thoughts, keep=kept_run.save).run(shared)
    except CallFailed as failure:
        log.error("%s%s", failure, kept_run.how_to_go_on())
        return 1
    except RejectedReply as rejection:
        log.error("%s%s\nThat reply:\n%s", rejection, kept_run.how_to_go_on(), rejection.reply)
        return 1
    if shared["solution"] is None:
        more = f"--max-thoughts {2 * max_thoughts}"
        hint = kept_run.how_to_go_on(more) or f" Try {more}."
        log.error("No solution by Thought %d, the last that --max-thoughts allows.%s", max_thoughts, hint)
        return 1
    return 0


def parse_args(argv):
    """The arguments, the shared store to begin with, and where the run is kept. Wrong usage exits with 2."""
    parser = build_parser()
    args = parser.parse_args(argv)
    if not __debug__:
        parser.error("replies are checked by assertions: run Python without -O and PYTHONOPTIMIZE")
    if args.resume is not None and args.problem is not None:
        parser.error("--resume goes on with the kept problem, so leave out --problem")
    kept_run = KeptRun(args.keep)
    try:
        if args.resume is None:
            shared = {"problem": read_problem(args.problem), "thoughts": []}
        else:
            shared = kept_run.load(None if args.resume is ALL else args.resume)
    except OSError as error:
        parser.error(f"{'standard input' if args.resume is None else args.keep}: {error.strerror}")
    except AssertionError as fault:
        parser.error(f"{args.keep}: {fault}")
    if not shared["problem"].strip():
        parser.error("the problem is blank")
    if args.max_thoughts <= len(shared["thoughts"]):
        parser.error(f"--max-thoughts must be at least {len(shared['thoughts']) + 1} here")
    if args.model:
        os.environ["OPENAI_MODEL"] = args.model
    return args, shared, kept_run


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", metavar="TEXT", help="the problem; - reads it from standard input")
    parser.add_argument("--model", metavar="NAME", help=f"the model (default: OPENAI_MODEL, or else {DEFAULT_MODEL})")
    parser.add_argument("--max-thoughts", metavar="N", type=int, default=MAX_THOUGHTS, help="default: %(default)s")
    parser.add_argument("--keep", metavar="FILE", default=DEFAULT_PATH, help="keep the run here (default: %(default)s)")
    help = "go on from the kept run, or from its first N thoughts"
    parser.add_argument("--resume", metavar="N", type=int, nargs="?", const=ALL, help=help)
    parser.add_argument("--show-prompt", action="store_true", help="print the prompt of the next thought and stop")
    parser.add_argument("-v", "--verbose", action="store_true", help="show prompts, replies and costs on stderr")
    return parser


def read_problem(argument):
    if argument is None:
        return PROBLEM
    if argument != "-":
        return argument.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    with open(0, encoding="utf-8-sig", errors="replace", closefd=False) as stdin:
        return stdin.read().rstrip("\n")


def set_up_stdout():
    """Replace what cannot be encoded. A file or a pipe gets UTF-8 unless PYTHONIOENCODING says otherwise."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # A notebook has something else there.
        own_encoding = sys.stdout.isatty() or "PYTHONIOENCODING" in os.environ
        sys.stdout.reconfigure(encoding=None if own_encoding else "utf-8", errors="replace")


def log_to_stderr(verbose):
    """Show the messages and, if verbose, prompts, replies and the client's retries; nothing else of the client's log."""
    client_log = logging.getLogger("openai._base_client")
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter("%(message)s"))
    handler.addFilter(lambda record: record.name in (log.name, client_log.name))
    logging.basicConfig(handlers=[handler], force=True)
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)
    client_log.setLevel(logging.INFO if verbose else logging.WARNING)


if __name__ == "__main__":
    sys.exit(main())
