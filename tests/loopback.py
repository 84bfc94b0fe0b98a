"""An OpenAI-compatible endpoint on loopback that answers as it is told and keeps what it was asked."""

import http.server
import json
import pathlib
import threading

RECORDINGS = pathlib.Path(__file__).parent / "recordings"


def recorded(name):
    """The replies of a recorded run, in order."""
    return [path.read_text(encoding="utf-8") for path in sorted((RECORDINGS / name).glob("*.reply.txt"))]


def recorded_ends(name):
    """The first and the last reply of a recorded run: a run of two thoughts."""
    replies = recorded(name)
    return replies[0], replies[-1]


def recorded_problem(name):
    return (RECORDINGS / name / "problem.txt").read_text(encoding="utf-8")


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

    def silence(self, handler):
        """An answer that does not come until the endpoint is released or closed."""
        self.released.wait()
        handler.close_connection = True

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
