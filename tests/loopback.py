"""An OpenAI-compatible endpoint on loopback that answers as it is told and keeps what it was asked."""

import http.client
import json
import socketserver
import sys
import threading
import traceback


def completion(reply, finish_reason="stop", usage=None, **message):
    """The answer that brings a reply. message: what else the message has."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": reply, **message}}
    return json_answer({"object": "chat.completion", "choices": [choice], "usage": usage})


def error(status, message, code=None):
    return json_answer({"error": {"message": message, "type": "error", "code": code}}, status)


def json_answer(value, status=200):
    return http_answer(json.dumps(value), status)


def http_answer(body, status=200, content_type="application/json", length=None):
    """An answer as it goes over the wire. length: a header in the place of the right Content-Length."""
    data = body.encode("utf-8", "surrogateescape")
    head = [
        f"HTTP/1.1 {status} Whatever",
        f"Content-Type: {content_type}",
        "Connection: close",
        length or f"Content-Length: {len(data)}",
    ]
    message = "\r\n".join([*head, "", ""]).encode() + data
    return lambda handler: handler.wfile.write(message)


def silence(handler):
    """An answer that does not come until the endpoint is closed."""
    handler.server.is_closing.wait(60)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        path = self.rfile.readline().decode().split()[1]
        headers = http.client.parse_headers(self.rfile)
        body = json.loads(self.rfile.read(int(headers["Content-Length"])))
        answer = self.server.take({"path": path, "headers": headers, "body": body})
        answer(self)


class Endpoint(socketserver.ThreadingTCPServer):
    """Answers request N with answer N: a str is a model's reply, a function writes to the handler."""

    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = iter(answers)
        self.requests = []
        self.is_asked = threading.Condition()
        self.is_closing = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, args=[0.01]).start()

    @property
    def prompts(self):
        return [request["body"]["messages"][0]["content"] for request in self.requests]

    def take(self, request):
        """Keep a request. Returns its answer, a function."""
        with self.is_asked:
            self.requests.append(request)
            self.is_asked.notify_all()
            answer = next(self.answers, error(400, "This request was not expected."))
        return completion(answer) if isinstance(answer, str) else answer

    def wait_for_request(self, number):
        with self.is_asked:
            assert self.is_asked.wait_for(lambda: len(self.requests) >= number, timeout=60)

    def handle_error(self, *_):
        traceback.print_exc(file=sys.__stderr__)  # A test may look at sys.stderr.

    def close(self):
        self.is_closing.set()
        self.shutdown()
        self.server_close()
