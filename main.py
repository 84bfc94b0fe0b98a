"""Solve a hard problem with a structured chain of thought, and print the trace as it grows."""

import argparse
import contextlib
import functools
import io
import logging
import os
import pathlib
import shlex
import signal
import sys
import traceback

try:
    from flow import create_chain_of_thought_flow
    from nodes import MAX_THOUGHTS, ChainOfThoughtNode, build_prompt, format_turn
    from utils.call_llm import DEFAULT_MODEL, call_llm as call_openai
    from utils.cost import add_costs, format_cost, format_count
    from utils.errors import RunFailed, quote
    from utils.saved_run import FOLDER, SavedRun, latest_path, load_run
    from utils.terminal import LogHandler, is_terminal, print_text, print_trace
    from utils.thought import final_solution, solution_so_far
    from utils.trace import trace_run
except ModuleNotFoundError as error:
    if error.name not in ("pocketflow", "yaml"):
        raise  # a bug in one of our own modules
    sys.exit(f"{error.name} is not installed: activate the environment, or run pip install -r requirements.txt")
except KeyboardInterrupt:
    sys.exit(130)

DEFAULT_PROBLEM = (
    "You keep rolling a fair die until you roll three, four, five in that order consecutively on three rolls."
    " What is the probability that you roll the die an odd number of times?"
)
LATEST = object()  # in the place of a path: the run in FOLDER that was written last

log = logging.getLogger("chain_of_thought")


def main(argv=None, call_llm=None):
    """Run the program and return its exit status. Raises SystemExit for --help and unknown options, as argparse does.

    argv: the arguments, list of str (default: sys.argv[1:]); call_llm: a function from a prompt, str, to a reply, str,
    that is asked instead of the OpenAI client.
    """
    args = build_parser().parse_args(argv)
    set_up_output(args.verbose)
    with one_interrupt():
        try:
            status = run_program(args, call_llm)
            drop_unwritten_output()
            return status
        except RunFailed as failure:  # before it began: the arguments ask for what cannot be done
            log.error(failure)
            return 2
        except KeyboardInterrupt:
            log.error("Interrupted.")
            return 130


def run_program(args, call_llm):
    """From the arguments to the exit status. Raises RunFailed before it asks, prints or saves anything."""
    run = open_run(args)
    ask_openai = functools.partial(call_openai, model=args.model, default_model=run.model or DEFAULT_MODEL)
    node = ChainOfThoughtNode(args.max_thoughts, run.save, call_llm or ask_openai)
    try:
        if args.show is None and not args.show_prompt:
            run.open_file(args.run)
        status, message = act(args, run, node)
        finish(args, run, node, message)
        return status
    except KeyboardInterrupt:
        finish(args, run, node, "Interrupted.")
        return 130


# Before the run


def open_run(args):
    """The SavedRun that the arguments begin with."""
    if args.show is not None:
        check_options_of_show(args)
        return load(args, args.show)
    if args.resume is not None or args.after is not None:
        run = load(args, args.resume or LATEST)
    else:
        problem = DEFAULT_PROBLEM if args.problem is None else read_problem(args.problem)
        run = SavedRun({"problem": problem, "thoughts": []})
    check_that_it_can_go_on(args, run)
    return run


def check_options_of_show(args):
    options = {**vars(args), "show": None, "after": None, "quiet": False}
    if options != vars(build_parser().parse_args([])):
        raise RunFailed("--show goes with --after and --quiet only.")


def load(args, path):
    """The SavedRun in the file at path, or in that of the LATEST."""
    if args.problem is not None:
        raise RunFailed("--resume and --after continue a saved problem, so leave out --problem.")
    if path is not LATEST:
        return load_run(path, args.after, is_shown=args.show is not None)
    path = latest_path()
    run = load_run(path, args.after)
    log.warning(f"The latest run is {path}: {quote(run.shared['problem'])}")
    return run


def read_problem(argument):
    """The problem, str; "-" is standard input."""
    try:
        if argument == "-":
            argument = open(0, encoding="utf-8-sig", closefd=False).read().rstrip("\n")
        argument.encode()  # Raises UnicodeError for bytes that are not UTF-8.
    except (OSError, UnicodeError) as error:
        raise RunFailed(f"--problem cannot be read: {error}. It must be UTF-8, and so must the locale.") from None
    if not argument.strip():
        raise RunFailed("--problem is blank.")
    return argument.replace("\r\n", "\n")


def check_that_it_can_go_on(args, run):
    number = len(run.thoughts)
    if final_solution(run.thoughts):
        file = shlex.quote(str(run.source))
        raise RunFailed(f"The run is solved: use --show {file}, or --resume {file} --after {number - 1}.")
    if number >= args.max_thoughts:
        raise RunFailed(f"--max-thoughts must be at least {number + 1}.")


# The run


def act(args, run, node):
    """Do what the arguments ask for. Returns the exit status, and what to tell the user or ""."""
    try:
        if args.show_prompt:
            return show_prompt(run, node)
        if args.show is not None:
            return show(args, run)
        return think(args, run, node)
    except RunFailed as failure:
        return 1, str(failure)
    except Exception:
        return 1, f"{traceback.format_exc()}This exception ended the run."


def show_prompt(run, node):
    prep_res = node.prep(run.shared)
    turn = format_turn(prep_res, node.max_thoughts)
    print_text(build_prompt(prep_res, turn))
    return 0, ""


def show(args, run):
    final = final_solution(run.thoughts)
    solution = final or solution_so_far(run.thoughts)
    if not args.quiet:
        print_trace(trace_run(run.shared["problem"], run.thoughts))
    elif solution:
        print_text(f"{solution}\n")
    if final:
        return 0, ""
    thoughts = format_count(len(run.thoughts), "thoughts")
    return 1, f"Not finished after {thoughts}: the solution is missing or not checked."


def think(args, run, node):
    with contextlib.redirect_stdout(io.StringIO()) if args.quiet else contextlib.nullcontext():
        if not args.step or not run.thoughts:
            print_trace(trace_run(run.shared["problem"], run.thoughts))
        if args.step:
            node.run(run.shared)
        else:
            create_chain_of_thought_flow(node).run(run.shared)
    run.close()  # This saves it, if the last save has failed.
    solution = final_solution(run.thoughts)
    if args.quiet and solution:
        print_text(f"{solution}\n")
    if args.step and run.last_save_failed:
        return 1, "The thought is not saved."
    if solution:
        return 0, ""
    if len(run.thoughts) >= node.max_thoughts:
        return 1, describe_limit(run)
    return 0, f"Stopped after Thought {len(run.thoughts)}."


# After the run


def finish(args, run, node, message):
    """Save what is not saved yet, say the message and how to go on, and sum up."""
    run.close()
    if message:
        log.error(message + how_to_continue(args, run))
    if node.costs:
        log.info(sum_up(run, node.costs))


def describe_limit(run):
    message = f"The limit of {format_count(len(run.thoughts), 'thoughts')} is reached."
    if solution_so_far(run.thoughts) and run.is_saved():
        return f"The solution so far may not be checked. To print it: {show_command(run)} -q\n{message}"
    return message


def how_to_continue(args, run):
    """The end of a message: a command that can be pasted, or "" if there is nothing to go on with."""
    if args.show is not None or args.show_prompt:
        return ""
    if run.content and final_solution(run.thoughts):
        return f" To print the run: {show_command(run)}"
    if run.content:
        words = ["--resume", str(run.path)]
    elif run.source:
        words = ["--resume", str(run.source)]
        if args.after is not None:
            words += ["--after", str(args.after)]
        if args.run:
            words += ["--run", str(args.run)]
    else:
        return ""
    return " To continue: " + command(words + options_of_run(args, run))


def show_command(run):
    return command(["--show", str(run.path)])


def command(words):
    return shlex.join(["python", sys.argv[0], *words])


def options_of_run(args, run):
    words = []
    if args.model:
        words += ["--model", args.model]
    limit = args.max_thoughts
    if len(run.thoughts) >= limit:
        limit *= 2  # With the same limit, nothing would be thought.
    if limit != MAX_THOUGHTS:
        words += ["--max-thoughts", str(limit)]
    for option in ("step", "quiet", "verbose"):
        if getattr(args, option):
            words.append(f"--{option}")
    return words


def sum_up(run, costs):
    """Such as: 2 thoughts, saved in runs/x.yaml. This took 3 requests, 61.2 seconds (gpt-6-luna)."""
    thoughts = format_count(len(run.thoughts), "thoughts")
    if run.is_saved():
        thoughts += f", saved in {run.path}"
    elif run.has_unsaved_thoughts():
        thoughts += ", not saved"
    return f"{thoughts}. This took {format_cost(add_costs(costs))}."


# The process


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--problem", metavar="TEXT", help="the problem; - reads it from standard input")
    add("--model", metavar="NAME", help=f"the model (default: OPENAI_MODEL, the resumed run's, or {DEFAULT_MODEL})")
    add("--max-thoughts", metavar="N", type=int, default=MAX_THOUGHTS, help="N thoughts at most (default: %(default)s)")
    add("--run", metavar="FILE", type=pathlib.Path, help=f"save the run in this new file (default: one in {FOLDER}/)")
    saved_run = {"metavar": "FILE", "nargs": "?", "type": pathlib.Path, "const": LATEST}
    add("--resume", **saved_run, help=f"continue this run (default: the latest in {FOLDER}/)")
    add("--after", metavar="N", type=int, help="start a new run from the first N thoughts of a saved run")
    add("--step", action="store_true", help="think one thought and stop")
    add("--show", **saved_run, help=f"print this saved run (default: the latest in {FOLDER}/) and stop")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("-q", "--quiet", action="store_true", help="print the solution and nothing else")
    output.add_argument("--show-prompt", action="store_true", help="print the prompt of the next thought and stop")
    add("-v", "--verbose", action="store_true", help="show the end of each prompt, each reply and its cost on stderr")
    return parser


def set_up_output(verbose):
    """A file or a pipe gets UTF-8; stderr shows our messages and, if verbose, turns and replies."""
    if not is_terminal(sys.stdout) and "PYTHONIOENCODING" not in os.environ:
        with contextlib.suppress(AttributeError):  # A notebook has another stdout.
            sys.stdout.reconfigure(encoding="utf-8")
    client_log = logging.getLogger("openai._base_client")  # It says that it waits, and for how long.
    log.handlers = client_log.handlers = [LogHandler()]
    level = logging.INFO if verbose or is_terminal(sys.stderr) else logging.WARNING
    client_log.setLevel(level)
    log.setLevel(logging.DEBUG if verbose else level)


@contextlib.contextmanager
def one_interrupt():
    """Within this block, the first Ctrl-C raises KeyboardInterrupt, and any other is ignored."""

    def interrupt(*_):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # Behind nohup, it is ignored.
        signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def drop_unwritten_output():
    """Send what could not be written to a pipe or a terminal nowhere: Python would try once more as it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
