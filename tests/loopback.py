"""An OpenAI-compatible endpoint on loopback that answers as it is told and keeps what it was asked."""

import contextlib
import functools
import http.client
import json
import pathlib
import socketserver
import sys
import threading
import traceback

from flow import create_chain_of_thought_flow
from utils.thought_format import format_run

RECORDINGS = pathlib.Path(__file__).parent / "recordings"


def recorded(name):
    """The replies of a recorded run, in order."""
    return [path.read_text(encoding="utf-8") for path in sorted((RECORDINGS / name).glob("*.reply.txt"))]


def recorded_problem(name):
    return (RECORDINGS / name / "problem.txt").read_text(encoding="utf-8").rstrip("\n")


def recorded_trace(name):
    """The trace of a recorded run as it must be; no part of this program wrote it."""
    return (RECORDINGS / name / "trace.txt").read_text(encoding="utf-8")


@functools.cache
def printed_trace(name):
    """The trace as the program prints it today, for tests of anything but its words."""
    shared, replies = {"problem": recorded_problem(name)}, iter(recorded(name))
    with contextlib.redirect_stdout(None):
        create_chain_of_thought_flow(call_llm=lambda prompt: next(replies)).run(shared)
    return "".join(f"{text}\n" for text, _ in format_run(shared["problem"], shared["thoughts"]))


EVALUATIONS = "\n".join(f"Evaluation of Thought {number}: Correct - x" for number in range(1, 6))
WORK = f"{EVALUATIONS}\nSome work."
PLAN = ("[Done] Solve", "[Pending] Conclusion")


def reply(thinking=WORK, plan=PLAN, more=True, solution=None, changes=(), marks={}, **results):
    """A model's reply. plan: lines like "[Done] Solve", indented by two for a sub-step; results and marks: by
    description; changes: pairs (old, new), old being None for an addition."""
    lines, depth = [*literal("current_thinking", thinking), "planning:"], 0
    for line in plan:
        indent = len(line) - len(line.lstrip())
        status, description = line.strip()[1:].split("] ")
        step = [*literal("description", description), f"status: {status}"]
        step += literal("result", results.get(description)) + literal("mark", marks.get(description))
        lines += ["  " * indent + "sub_steps:"] if indent > depth else []
        lines += list_item(step, "  " * indent)
        depth = indent
    lines += [f"next_thought_needed: {str(more).lower()}", *literal("solution", solution)]
    changed = [list_item(literal("old", old) + literal("new", new)) for old, new in changes]
    lines += sum(changed, ["solution_changes:"]) if changes else []
    return "\n".join(["```yaml", *lines, "```", ""])


def literal(key, text):
    return [] if text is None else [f"{key}: |-", *[f"  {line}" for line in text.split("\n")]]


def list_item(lines, indent=""):
    return [f"{indent}  - {lines[0]}", *[f"{indent}    {line}" for line in lines[1:]]]


def completion(reply, finish_reason="stop", refusal=None, usage=None):
    message = {"role": "assistant", "content": reply, "refusal": refusal}
    choices = [{"index": 0, "finish_reason": finish_reason, "message": message}]
    return http_answer(json.dumps({"object": "chat.completion", "choices": choices, "usage": usage}))


def error(status, message, code=None):
    return http_answer(json.dumps({"error": {"message": message, "type": "error", "code": code}}), status)


def http_answer(body, status=200, content_type="application/json", cut_by=None):
    """cut_by: a header in the place of the right Content-Length."""
    data = body.encode("utf-8", "surrogateescape")
    length = cut_by or f"Content-Length: {len(data)}"
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\nConnection: close\r\n{length}\r\n\r\n"
    return lambda handler: handler.wfile.write(head.encode() + data)


def silence(handler):
    """An answer that does not come until the endpoint is closed."""
    handler.server.released.wait(60)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        path, headers = self.rfile.readline().decode().split()[1], http.client.parse_headers(self.rfile)
        body = json.loads(self.rfile.read(int(headers["Content-Length"])))
        self.server.prompts.append(body["messages"][0]["content"])
        self.server.requests.append({"path": path, "headers": headers, "body": body})
        number = len(self.server.requests)
        self.server.asked.release()
        (next(self.server.answers, None) or error(400, f"request {number} was not expected"))(self)


class Endpoint(socketserver.ThreadingTCPServer):
    """Answers request N with answer N: a str is a model's reply, a callable writes to the handler."""

    daemon_threads = True
    handle_error = lambda *arguments: traceback.print_exc(file=sys.__stderr__)  # A test may look at sys.stderr.

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = iter([completion(answer) if isinstance(answer, str) else answer for answer in answers])
        self.requests, self.prompts = [], []
        self.released, self.asked = threading.Event(), threading.Semaphore(0)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, args=[0.01]).start()

    def wait_for_request(self, number):
        while len(self.requests) < number:
            assert self.asked.acquire(timeout=60), f"request {number} does not come"

    def close(self):
        self.released.set()
        self.shutdown()
        self.server_close()
