"""An OpenAI-compatible endpoint on loopback that answers as it is told and keeps what it was asked."""

import http.client
import json
import socketserver
import sys
import threading
import traceback


def completion(reply, finish_reason="stop", usage=None, **others):
    """The answer that brings a reply. others: what else the message has."""
    message = {"role": "assistant", "content": reply, **others}
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    return json_answer({"object": "chat.completion", "choices": [choice], "usage": usage})


def error(status, message, code=None):
    reason = {"message": message, "type": "error", "code": code}
    return json_answer({"error": reason}, status)


def json_answer(value, status=200):
    return http_answer(json.dumps(value), status)


def http_answer(body, status=200, length=None):
    """An answer as it goes over the wire. length: a header in the place of the right Content-Length."""
    data = body.encode("utf-8", "surrogateescape")
    head = [
        f"HTTP/1.1 {status} Whatever",
        "Content-Type: application/json",
        "Connection: close",
        length or f"Content-Length: {len(data)}",
    ]
    message = "\r\n".join([*head, "", ""]).encode() + data
    return lambda handler: handler.wfile.write(message)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()  # "POST /v1/chat/completions HTTP/1.1"
        headers = http.client.parse_headers(self.rfile)
        length = int(headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        answer = self.server.take({"headers": headers, "body": body})
        answer(self)


class Endpoint(socketserver.ThreadingTCPServer):
    """Answers request N with answer N: a str is a model's reply, a function writes to the handler."""

    daemon_threads = True

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = iter(answers)
        self.requests = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        threading.Thread(target=self.serve_forever, args=[0.01]).start()

    @property
    def prompts(self):
        return [request["body"]["messages"][0]["content"] for request in self.requests]

    def take(self, request):
        """Keep a request. Returns its answer, a function."""
        self.requests.append(request)
        answer = next(self.answers, error(400, "This request was not expected."))
        return completion(answer) if isinstance(answer, str) else answer

    def handle_error(self, *_):
        traceback.print_exc(file=sys.__stderr__)  # A test may look at sys.stderr.

    def close(self):
        self.shutdown()
        self.server_close()
