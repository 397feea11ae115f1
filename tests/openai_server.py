"""A server on this machine that speaks OpenAI's language, as far as chat and embeddings go, and fails on request."""

import json
import os
import signal
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from langmem_tiers.testing import HashEmbedder


@dataclass
class Fault:
    """What a request meets instead of an answer: a status with a body, after a while, cut off, or broken."""

    status: int = 500
    body: bytes = b'{"error": {"message": "The server had an error.", "type": "server_error"}}'
    headers: dict = field(default_factory=dict)
    seconds: float = 0
    cut_at: int | None = None


@dataclass
class OpenAIServer:
    """Answers with `reply`, a text or a function of the request; while there are `faults`, these come first.

    A reply that is an object is given as the request wants it: in words, by schema, or as a call of the tool.
    If it `interrupts`, a request is met as if somebody pressed Ctrl-C while it is answered.
    """

    reply: object = "Fine."
    faults: list = field(default_factory=list)
    unsupported: tuple = ()
    interrupts: bool = False
    requests: list = field(default_factory=list)
    url: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def fail(self, fault: Fault, times: int = 1) -> None:
        self.faults += [fault] * times

    def asked(self, path: str) -> list:
        """The bodies of the requests to a path."""
        return [body for where, body in self.requests if where.endswith(path)]


@contextmanager
def openai_server():
    """The server, while the block runs."""
    server = OpenAIServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.requests.append((self.path, body))
            if server.interrupts:
                server.interrupts = False
                os.kill(os.getpid(), signal.SIGINT)
                server.over.wait(5)
            fault = server.faults.pop(0) if server.faults else _refusal(server, body)
            if fault is not None:
                self._fail(fault)
            elif body.get("stream"):
                self._stream(_words(server, body))
            else:
                self._send(200, json.dumps(_answer(server, self.path, body)).encode())

        def _fail(self, fault):
            server.over.wait(fault.seconds)
            self._send(fault.status, fault.body, fault.headers, fault.cut_at)

        def _send(self, status, body, headers=None, cut_at=None):
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:cut_at])
            if cut_at is not None:
                self.close_connection = True

        def _stream(self, text):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for word in text.split(" "):
                self._event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": word + " "}}]})
            self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            self.wfile.write(b"data: [DONE]\n\n")

        def _event(self, told):
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "local", **told}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

        def handle(self):
            with suppress(ConnectionError):  # a client that waits no longer
                super().handle()

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    try:
        yield server
    finally:
        server.over.set()
        http.shutdown()
        http.server_close()
        thread.join()


def _refusal(server, body):
    """What servers say that lack a feature."""
    lacking = next((name for name in server.unsupported if name in body), None)
    return None if lacking is None else Fault(400, json.dumps({"error": {"message": f"no {lacking} here"}}).encode())


def _answer(server, path, body):
    if path.endswith("/embeddings"):
        given = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = HashEmbedder(32).embed_documents(given)
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, **_choice(server, body)}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def _choice(server, body):
    text = _words(server, body)
    if body.get("tools") and text.startswith("{"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        calls = [{"id": "c1", "type": "function", "function": function}]
        return {"message": {"role": "assistant", "content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}
    return {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


def _words(server, body):
    reply = server.reply(body) if callable(server.reply) else server.reply
    return reply if isinstance(reply, str) else json.dumps(reply)
