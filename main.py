"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import argparse
import logging
import os
import sys

from flow import create_chain_of_thought_flow
from nodes import MAX_THOUGHTS, ChainOfThoughtNode
from utils.call_llm import DEFAULT_MODEL, CallFailed, RejectedReply
from utils.read_reply import CONTROL_CHARACTER
from utils.status_line import ERASE_LINE

PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)

log = logging.getLogger("chain_of_thought")


def main(argv=None):
    """Run the program and return its exit status. argv: the arguments, list of str (default: sys.argv[1:])."""
    sys.stdout.reconfigure(errors="replace")
    try:
        args = parse_args(argv)
        log_to_stderr(args.verbose)
        if args.model:
            os.environ["OPENAI_MODEL"] = args.model
        shared = {"problem": args.problem, "thoughts": [], "current_thought_number": 0, "solution": None}
        if args.show_prompt:
            return show_prompt(shared, args.max_thoughts)
        return solve(shared, args.max_thoughts)
    except KeyboardInterrupt:
        log.error("Interrupted.")
        return 130
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            log.error("The trace cannot be written: %s.", error)
        # Python flushes standard output once more as it exits, and that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def solve(shared, max_thoughts):
    print(f"🤔 Problem: {shared['problem']}\n", flush=True)
    try:
        create_chain_of_thought_flow(max_thoughts).run(shared)
    except CallFailed as failure:
        log.error("%s", failure)
        return 1
    except RejectedReply as rejection:
        number = shared["current_thought_number"]
        log.error("Thought %d: every reply was rejected, the last because %s:\n%s", number, rejection, rejection.reply)
        return 1
    if shared["solution"] is None:
        log.error("No solution yet: the limit of thoughts is %d. Raise it with --max-thoughts.", max_thoughts)
        return 1
    return 0


def show_prompt(shared, max_thoughts):
    node = ChainOfThoughtNode(max_thoughts)
    print(node.build_prompt(node.prep(shared)), end="", flush=True)
    return 0


def parse_args(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--problem", metavar="TEXT", type=utf_8, default=PROBLEM, help="the problem; - reads it from standard input")
    add("--model", metavar="NAME", type=utf_8, help=f"the model (default: OPENAI_MODEL, else {DEFAULT_MODEL})")
    add("--max-thoughts", metavar="N", type=limit, default=MAX_THOUGHTS, help="stop after N (default: %(default)s)")
    add("--show-prompt", action="store_true", help="print the prompt of the first thought and stop")
    add("-v", "--verbose", action="store_true", help="show prompts, replies, seconds and tokens on stderr")
    args = parser.parse_args(argv)
    if args.problem == "-":
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
        args.problem = sys.stdin.read().rstrip("\n")
    if not __debug__:
        parser.error("replies are checked by assertions: run Python without -O and PYTHONOPTIMIZE")
    if not args.problem.strip():
        parser.error("the problem is blank")
    return args


def utf_8(argument):
    """The argument with replacements for bytes that are not UTF-8, as they cannot be sent."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def limit(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def log_to_stderr(verbose):
    handler = logging.StreamHandler()
    handler.setFormatter(TerminalFormatter("%(message)s"))
    handler.addFilter(logging.Filter(log.name))
    logging.basicConfig(handlers=[handler], force=True)
    log.setLevel(logging.DEBUG if verbose else logging.WARNING)


class TerminalFormatter(logging.Formatter):
    """Erases the status line before a message, and lets no control character of a reply act on the terminal."""

    def format(self, record):
        message = CONTROL_CHARACTER.sub(lambda found: repr(found[0])[1:-1], super().format(record))
        return ERASE_LINE + message if sys.stderr.isatty() else message


if __name__ == "__main__":
    sys.exit(main())
