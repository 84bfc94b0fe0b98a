"""An OpenAI-compatible endpoint on loopback that answers as it is told and keeps what it was asked."""

import http.client
import json
import socketserver
import sys
import threading
import traceback


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
