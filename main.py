"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import sys

if sys.version_info < (3, 10):
    sys.exit("Python 3.10 or later is needed; this is {}.{}.".format(*sys.version_info))

import argparse
import atexit
import contextlib
import errno
import functools
import io
import logging
import os
import pathlib
import shlex
import traceback

try:
    from flow import create_chain_of_thought_flow
    from nodes import MAX_THOUGHTS, ChainOfThoughtNode, build_prompt, format_turn
    from utils.call_llm import DEFAULT_MODEL, call_llm as call_openai
    from utils.cost import add_costs, format_cost, format_count
    from utils.errors import OutputFailed, RunFailed
    from utils.problem import add_to_problem, validate_problem
    from utils.saved_run import FOLDER, SavedRun, latest_path, load_run
    from utils.terminal import LogHandler, is_terminal, print_text, print_trace
    from utils.thought import delivered_solution, is_solved, last_thought
    from utils.trace import trace_run
except ModuleNotFoundError as error:
    sys.exit(f"{error}: activate the environment, or run pip install -r requirements.txt")

DEFAULT_PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)
LATEST = object()  # in the place of a path: the run in FOLDER that was written last

log = logging.getLogger("chain_of_thought")


def main(argv=None, call_llm=None):
    """Run the program and return its exit status. Raises SystemExit for --help and what argparse refuses.

    argv: the arguments, list of str (default: sys.argv[1:]); call_llm: a function from a prompt to a reply, as for a
    ChainOfThoughtNode, that is asked instead of the OpenAI client.
    """
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
        set_up_output(args.verbose)
        run = open_run(args, parser)
    except RunFailed as failure:  # The arguments ask for what cannot be done.
        log.error(failure)
        return 2
    except OSError as failure:
        log.error(f"{failure.filename or 'The current folder'}: {failure.strerror}.")
        return 2
    except KeyboardInterrupt:
        log.error("Interrupted.")
        return 130
    ask = call_llm or functools.partial(call_openai, model=args.model, default_model=run.model or DEFAULT_MODEL)
    node = ChainOfThoughtNode(args.max_thoughts, run.save, ask)
    try:
        status, message = act(args, run, node)
    except RunFailed as failure:
        status, message = 1, str(failure)
    except KeyboardInterrupt:
        status, message = 130, "Interrupted."
    except OutputFailed as failure:
        atexit.register(setattr, sys, "stdout", None)  # Python would try to write the rest as it exits.
        if args.show and failure.errno == errno.EPIPE:  # as in `--show | head`
            return 1
        status, message = 1, f"Standard output cannot be written: {failure.strerror}."
    except Exception:
        status, message = 1, f"{traceback.format_exc()}This exception ended the run."
    return finish(args, run, node, status, message)


# Before the run


def require_compatible_options(args, parser):
    """Raise RunFailed for options that contradict each other, and for a name under which no run would be found."""
    changed = {name for name, value in vars(args).items() if value != parser.get_default(name)}
    if args.show and changed - {"show", "after", "quiet"}:
        raise RunFailed("--show goes with --after and --quiet only; name its file right after it: --show FILE.")
    if "problem" in changed and changed & {"resume", "after", "add"}:
        raise RunFailed("--resume, --after and --add continue a saved problem, so leave out --problem.")
    if args.run and args.run.suffix != ".yaml":
        raise RunFailed(f"--run {args.run}: the name of a run must end with .yaml.")


def open_run(args, parser):
    """The SavedRun that the arguments begin with. Unless it is only looked at, it is saved. Raises RunFailed."""
    require_compatible_options(args, parser)
    if args.show:
        return load_run(find_file(args.show), args.after)
    if args.resume or args.add or args.after is not None:
        run = load_run_to_continue(args)
    else:
        run = SavedRun({"problem": args.problem})
    number = len(run.thoughts) + 1
    if number > args.max_thoughts:
        raise RunFailed(f"The next thought is Thought {number}, so --max-thoughts must be at least {number}.")
    if not args.show_prompt:
        run.save_first(args.run)
    return run


def load_run_to_continue(args):
    path = find_file(args.resume or LATEST)
    run = load_run(path, args.after)
    if args.add:
        add_to_problem(run.shared, "\n\n".join(args.add))
        return SavedRun(run.shared, run.model)  # a run of its own
    if is_solved(last_thought(run.thoughts)):
        raise RunFailed(f"{path} is solved: add --add TEXT or --after {len(run.thoughts) - 1}, or use --show instead.")
    return run


def find_file(path):
    """The path, or that of the LATEST run."""
    if path is LATEST:
        path = latest_path()
        log.warning(f"The latest run is {path}.")
    return path


# The run


def act(args, run, node):
    """Do what the arguments ask for. Returns the exit status, and what to tell the user or ""."""
    if args.show_prompt:
        prep_res = node.prep(run.shared)
        prompt = build_prompt(prep_res, format_turn(prep_res))
        print_text(prompt.removesuffix("\n"))
        return 0, ""
    with contextlib.redirect_stdout(io.StringIO() if args.quiet else sys.stdout):
        if not args.step or not run.thoughts:
            for texts in trace_run(run.shared["problem"], run.thoughts):
                print_trace(texts)
        if not args.show:
            thinking = node if args.step else create_chain_of_thought_flow(node)
            thinking.run(run.shared)
    last = last_thought(run.thoughts)
    solution = delivered_solution(last)
    if args.show:
        solution = solution or last["solution_so_far"]
    if args.quiet and solution:
        print_text(solution)
    return describe_end(args, run)


def describe_end(args, run):
    """How the run has ended, in the form that act returns."""
    last = last_thought(run.thoughts)
    if delivered_solution(last):
        reason = last["why_no_check"]
        message = f"The solution of Thought {len(run.thoughts)} is not checked: {reason}." if reason else ""
        return 0, message
    if args.show:
        return 1, f"Not finished after {run.length}."
    if len(run.thoughts) < args.max_thoughts:
        return int(not args.step), f"Stopped after {run.length}."
    message = f"The limit of {run.length} is reached."
    if last["solution_so_far"] and not run.unsaved_count:
        message = f"The solution so far may be unchecked. To print it: {command('--show', run.path, '-q')}\n{message}"
    return 1, message


# After the run


def finish(args, run, node, status, message):
    """Save what is not saved yet, say how the run has ended and how to go on, and sum up. Returns the exit status."""
    if run.unsaved_count:
        run.save(run.shared)
    if run.unsaved_count:
        status = status or 1
        count = format_count(run.unsaved_count, "thoughts")
        message += f" Not saved: {count}, to be thought again when the run is continued."
    if message:
        log.warning(f"{message} {how_to_go_on(args, run)}".strip())
    sum_up(args, run, node)
    return status


def how_to_go_on(args, run):
    """A command that can be pasted, or "" for a run that was only looked at."""
    if args.show or not run.path:
        return ""
    if is_solved(last_thought(run.thoughts)) and not run.unsaved_count:
        return "To print the run: " + command("--show", run.path)
    return "To continue: " + command("--resume", run.path, *options_of_run(args, run))


def command(*words):
    return shlex.join(["python", sys.argv[0], *map(str, words)])


def options_of_run(args, run):
    options = []
    if args.model:
        options += ["--model", args.model]
    limit = args.max_thoughts
    if len(run.thoughts) >= limit:
        limit *= 2  # With the same limit, nothing would be thought.
    if limit != MAX_THOUGHTS:
        options += ["--max-thoughts", limit]
    return options + [f"--{name}" for name in ("step", "quiet", "verbose") if vars(args)[name]]


def sum_up(args, run, node):
    """Log such as: 2 thoughts, saved in runs/x.yaml. This took 3 requests, 61.2 seconds (gpt-6-luna)."""
    costs = node.costs
    if args.show:
        costs = [thought["cost"] for thought in run.thoughts if "cost" in thought]
    summary = run.length
    if run.path and not run.unsaved_count:
        summary += f", saved in {run.path}"
    if costs:
        log.info(f"{summary}. This took {format_cost(add_costs(costs))}.")


# The process


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__, epilog="The key is read from OPENAI_API_KEY; see README.md.")
    add = parser.add_argument
    words = {"metavar": "TEXT", "type": read_words}
    add("--problem", **words, default=DEFAULT_PROBLEM, help="the problem; - reads it from standard input")
    add("--model", metavar="NAME", help=f"the model (default: OPENAI_MODEL, the resumed run's, or {DEFAULT_MODEL})")
    add("--max-thoughts", metavar="N", type=int, default=MAX_THOUGHTS, help="N thoughts in all (default: %(default)s)")
    add("--run", metavar="FILE", type=pathlib.Path, help=f"save in FILE (default: in {FOLDER}/, or the one resumed)")
    saved_run = {"metavar": "FILE", "nargs": "?", "type": pathlib.Path, "const": LATEST}
    add("--resume", **saved_run, help=f"continue the run in FILE (default: the latest in {FOLDER}/)")
    add("--after", metavar="N", type=int, help="take only the first N thoughts of the saved run, to show or continue")
    add("--add", **words, action="append", help="say this to the saved run in a new run; - reads standard input")
    add("--step", action="store_true", help="think one thought and stop")
    add("--show", **saved_run, help=f"print the run in FILE (default: the latest in {FOLDER}/) and stop")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-q", "--quiet", action="store_true", help="print the solution and nothing else")
    output.add_argument("--show-prompt", action="store_true", help="print the prompt of the next thought and stop")
    add("-v", "--verbose", action="store_true", help="show the end of each prompt, each reply and its cost on stderr")
    return parser


def read_words(argument):
    """The user's words, str: an argument or, if that is "-", standard input."""
    try:
        if argument == "-":
            argument = sys.stdin.buffer.read().decode("utf-8-sig", "surrogateescape").rstrip()
        words = argument.replace("\r\n", "\n")
        validate_problem(words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(error) from None
    return words


def set_up_output(verbose):
    """A file or a pipe gets UTF-8; stderr shows our messages, the client's, and, if verbose, turns and replies."""
    if not is_terminal(sys.stdout) and "PYTHONIOENCODING" not in os.environ:
        with contextlib.suppress(AttributeError):  # A notebook has another stdout.
            sys.stdout.reconfigure(encoding="utf-8")
    client_log = logging.getLogger("openai._base_client")  # It says that it waits, and for how long.
    log.handlers = client_log.handlers = [LogHandler()]
    log.propagate = client_log.propagate = False  # The root logger may have a handler, too.
    level = logging.INFO if verbose or is_terminal(sys.stderr) else logging.WARNING
    client_log.setLevel(level)
    log.setLevel(logging.DEBUG if verbose else level)


if __name__ == "__main__":
    sys.exit(main())
