"""Run the program again and again, and interrupt each run at another point.

    python tests/interrupted_run.py SIGNAL COUNT

A run gets COUNT replies, and two solve it. Run N happens in the new folder N, where it writes what it prints to `out`
and `err`. A point is where it is about to open, make, change, rename or remove a file there: the signal comes at the
Nth point, and again at every later one and whenever `err` is flushed. How a run ended is printed, one status a line.
The last one is that of a run with less than N points, which nothing interrupts: 0, or 1 for want of a reply.
"""

import os
import signal
import sys

from main import main
from tests.replies import Model, end, reply

EVENTS = ("open", "os.mkdir", "os.chmod", "os.rename", "os.remove")


def interrupt_runs(signal_number, count):
    for number in range(1, 100):
        process = os.fork()
        if process == 0:
            run_and_interrupt(number, signal_number, count)
        _, wait_status = os.waitpid(process, 0)
        status = os.waitstatus_to_exitcode(wait_status)
        print(status, flush=True)
        if status in (0, 1):
            break


def run_and_interrupt(number, signal_number, count):
    os.mkdir(str(number))
    os.chdir(str(number))
    folder = os.getcwd()
    points = []

    def send_if_reached():
        if len(points) >= number:
            signal.raise_signal(signal_number)

    def hook(event, arguments):  # Python calls it before each of many events.
        if event in EVENTS and os.path.abspath(str(arguments[0])).startswith(folder):
            points.append(event)
            send_if_reached()

    sys.stdout = open("out", "w", encoding="utf-8")
    sys.stderr = open("err", "w", encoding="utf-8", buffering=1)
    sys.stderr.flush = send_if_reached
    sys.argv = ["main.py"]
    sys.addaudithook(hook)
    os._exit(main([], Model(replies(count))))


def replies(count):
    for text in [reply(1), end(2, solution="3")][:count]:
        print("A reply came.", flush=True)
        yield text


if __name__ == "__main__":
    interrupt_runs(signal.Signals[sys.argv[1]], int(sys.argv[2]))
