"""An OpenAI-compatible endpoint on loopback that answers as it is told and keeps what it was asked."""

import http.server
import json
import pathlib
import threading

RECORDINGS = pathlib.Path(__file__).parent / "recordings"


def recorded(name):
    """The replies of a recorded run, in order."""
    return [path.read_text(encoding="utf-8") for path in sorted((RECORDINGS / name).glob("*.reply.txt"))]


def recorded_problem(name):
    return (RECORDINGS / name / "problem.txt").read_text(encoding="utf-8").rstrip("\n")


def recorded_trace(name):
    """The trace of a recorded run as it must be; no part of this program wrote it."""
    return (RECORDINGS / name / "trace.txt").read_text(encoding="utf-8")


EVALUATIONS = "\n".join(f"Evaluation of Thought {number}: Correct - x" for number in range(1, 6))
WORK = f"{EVALUATIONS}\nSome work."


def reply(thinking=WORK, plan=("[Done] Solve", "[Pending] Conclusion"), more=True, solution=None, changes=(), marks={}, **results):
    """A model's reply.

    plan: lines like "[Done] Solve", indented by two for a sub-step; results and marks: by description;
    changes: pairs (old, new), old being None for an addition.
    """
    lines = [*literal("current_thinking", thinking), "planning:"]
    depth = 0
    for line in plan:
        indent = len(line) - len(line.lstrip())
        status, description = line.strip()[1:].split("] ")
        pad = "  " * indent
        if indent > depth:
            lines.append(f"{pad}sub_steps:")
        depth = indent
        step = [*literal("description", description), f"status: {status}"]
        step += literal("result", results.get(description)) + literal("mark", marks.get(description))
        lines += [f"{pad}  - {step[0]}", *[f"{pad}    {line}" for line in step[1:]]]
    lines.append(f"next_thought_needed: {str(more).lower()}")
    lines += literal("solution", solution) + (["solution_changes:"] if changes else [])
    for old, new in changes:
        change = literal("old", old) + literal("new", new)
        lines += [f"  - {change[0]}", *[f"    {line}" for line in change[1:]]]
    return "\n".join(["```yaml", *lines, "```", ""])


def literal(key, text):
    return [] if text is None else [f"{key}: |-", *[f"  {line}" for line in text.split("\n")]]


def completion(reply, finish_reason="stop", refusal=None, usage=None):
    """The answer to a request as the API gives it."""
    message = {"role": "assistant", "content": reply, "refusal": refusal}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "recorded",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        "usage": usage,
    }
    return http_answer(json.dumps(body))


def error(status, message, code=None):
    return http_answer(json.dumps({"error": {"message": message, "type": "error", "code": code}}), status)


def http_answer(body, status=200, content_type="application/json"):
    def answer(handler):
        data = body.encode("utf-8", "surrogateescape")
        head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n"
        handler.wfile.write(head.encode() + data)

    return answer


def dropped_connection(handler):
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"id":')
    handler.close_connection = True


def cut_body(handler):
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{"id": "x", "cho')
    handler.close_connection = True


class Endpoint:
    """Answers request N with answer N: a str is a model's reply, a callable writes to the handler."""

    def __init__(self, answers):
        self.answers = [completion(answer) if isinstance(answer, str) else answer for answer in answers]
        self.requests = []
        self.released = threading.Event()
        self.asked = threading.Semaphore(0)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler_class())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def handler_class(endpoint):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append({"path": self.path, "headers": self.headers, "body": body})
                number = len(endpoint.requests)
                endpoint.asked.release()
                unexpected = error(400, f"request {number} was not expected")
                answer = endpoint.answers[number - 1] if number <= len(endpoint.answers) else unexpected
                answer(self)

        return Handler

    @property
    def prompts(self):
        return [request["body"]["messages"][0]["content"] for request in self.requests]

    def wait_for_request(self, number):
        """Return when the endpoint has been asked so often."""
        while len(self.requests) < number:
            assert self.asked.acquire(timeout=20), f"request {number} does not come"

    def silence(self, handler):
        """An answer that does not come until the endpoint is released or closed."""
        self.released.wait(30)
        handler.close_connection = True

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(30)
