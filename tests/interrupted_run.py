"""Run the program again and again, and interrupt each run once, at another point.

    python tests/interrupted_run.py SIGNAL

Two replies solve a run. Run N happens in the new folder N, where it writes what it prints to `out` and `err`. A point
is where it is about to open, make, change, rename or remove a file there: the signal comes at the Nth point. How a run
ended is printed, one status a line. The last one is that of a run with less than N points, which nothing interrupts.
"""

import os
import signal
import sys

from main import main
from tests.replies import Model, end, reply

EVENTS = ("open", "os.mkdir", "os.chmod", "os.rename", "os.remove")


def interrupt_runs(signal_number):
    for number in range(1, 100):
        if os.fork() == 0:
            run_and_interrupt(number, signal_number)
        _, wait_status = os.wait()
        status = os.waitstatus_to_exitcode(wait_status)
        print(status, flush=True)
        if status == 0:
            break


def run_and_interrupt(number, signal_number):
    os.mkdir(str(number))
    os.chdir(str(number))
    folder = os.getcwd()
    points = []

    def hook(event, arguments):  # Python calls it before each of many events.
        if event in EVENTS and os.path.abspath(str(arguments[0])).startswith(folder):
            points.append(event)
            if len(points) == number:
                signal.raise_signal(signal_number)

    sys.stdout = open("out", "w", encoding="utf-8")
    sys.stderr = open("err", "w", buffering=1)
    sys.argv = ["main.py"]
    sys.addaudithook(hook)
    os._exit(main([], Model(replies())))


def replies():
    for text in [reply(1, solution="3"), end(2)]:
        print("A reply came.", flush=True)
        yield text


if __name__ == "__main__":
    interrupt_runs(signal.Signals[sys.argv[1]])
