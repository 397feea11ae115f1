"""Whatever comes over standard input, the MCP server answers the next good request."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = str(Path(sys.executable).with_name("langmem-tiers"))
WAIT = 60
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def _call(**changed):
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search_memory", "arguments": {}}}
    return json.dumps({**asked, **changed}).encode()


def _with_id(raw):
    return b'{"jsonrpc":"2.0","method":"ping","id":' + raw + b"}"


GARBAGE = {
    "no JSON": b"hello?",
    "nothing": b"",
    "white space": b" \t \r",
    "HTTP": b"POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n{}",
    "Content-Length, as language servers have it": b"Content-Length: 40\r\n\r\n" + _with_id(b"1"),
    "half a message": b'{"jsonrpc":"2.0","id":1,"meth',
    "the other half": b'od":"ping"}',
    "two messages on a line": b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}',
    "a message over two lines": b'{"jsonrpc":"2.0",\n"id":1,"method":"ping"}',
    "bytes of no text": bytes(range(256)).replace(b"\n", b"") * 20,
    "UTF-16": '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16").replace(b"\n", b""),
    "a mark of byte order": b"\xef\xbb\xbf" + _with_id(b"1"),
    "nulls": b"\0" * 10_000,
    "a control character in a string": b'{"jsonrpc":"2.0","id":"a\x01b","method":"ping"}',
    "half a character": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "half a character as argument": _call(params={"name": "search_memory", "arguments": {"query": "\ud800"}}),
    "half a character as tool": _call(params={"name": "\ud800", "arguments": {}}),
    "a null character as argument": _call(params={"name": "search_memory", "arguments": {"query": "a\0b"}}),
    "a terminal's orders": b"\x1b]0;title\x07\x1b[2J",
    "an array of nothing": b"[]",
    "a batch": b"[" + _with_id(b"1") + b"," + _with_id(b"2") + b"]",
    "a number": b"42",
    "a string": b'"ping"',
    "null": b"null",
    "an empty object": b"{}",
    "no version": b'{"id":1,"method":"ping"}',
    "another version": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "no method": b'{"jsonrpc":"2.0","id":1}',
    "a method that is a number": b'{"jsonrpc":"2.0","id":1,"method":5}',
    "a method of nobody": b'{"jsonrpc":"2.0","id":1,"method":"drop/everything"}',
    "a method of Python": b'{"jsonrpc":"2.0","id":1,"method":"__class__"}',
    "a method of another message": b'{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{}}',
    "a long method": b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 1_000_000 + b'"}',
    "id NaN": _with_id(b"NaN"),
    "id Infinity": _with_id(b"-Infinity"),
    "id null": _with_id(b"null"),
    "id true": _with_id(b"true"),
    "id of a fraction": _with_id(b"1.5"),
    "id of a list": _with_id(b"[1]"),
    "id of an object": _with_id(b'{"a":1}'),
    "id below nothing": _with_id(b"-1"),
    "id of 400 digits": _with_id(b"9" * 400),
    "id of 100,000 digits": _with_id(b"9" * 100_000),
    "id of an exponent": _with_id(b"1e400"),
    "id of a long text": _with_id(b'"' + b"x" * 1_000_000 + b'"'),
    "the same id twice": _with_id(b"5") + b"\n" + _with_id(b"5"),
    "params that are a list": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}',
    "params that are a text": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}',
    "no params": b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    "arguments NaN": _call(params={"name": "search_memory", "arguments": {"limit": float("nan")}}),
    "arguments that are a list": _call(params={"name": "search_memory", "arguments": [1]}),
    "an argument of a huge number": _call(
        params={"name": "search_memory", "arguments": {"query": "x", "limit": 10**300}}
    ),
    "keys twice": b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}',
    "a prototype": _call(__proto__={"a": 1}),
    "nested 100,000 deep": b"[" * 100_000,
    "arguments nested 10,000 deep": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
    + b"[" * 10_000
    + b"]" * 10_000
    + b"}}",
    "an answer that nobody asked for": b'{"jsonrpc":"2.0","id":1,"result":{}}',
    "an error that nobody asked for": b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}',
    "an answer and an error": b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-1,"message":"x"}}',
    "a cancellation of nothing": b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}',
    "hello again": json.dumps({**HELLO, "id": 3}).encode(),
    "hello of no version": json.dumps({**HELLO, "id": 4, "params": {}}).encode(),
    "a line of 20 MB": b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 20_000_000 + b'"}',
    "a line of 20 MB of opened brackets": b"[" * 20_000_000,
    "500 at once": b"\n".join(_with_id(str(number).encode()) for number in range(1000, 1500)),
}


class Server:
    """A server as a process; `ask` writes lines and waits for the answer to a good request behind them."""

    def __init__(self, folder, environment, errors):
        command = [SCRIPT, "--path", str(folder), "--user", "alice", "--embedder", "none", "mcp"]
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
        self.asked, self.rest = 0, b""
        self._write(json.dumps(HELLO).encode() + b"\n")
        self.answer("hello")
        self._write(json.dumps(READY).encode() + b"\n")

    def ask(self, garbage):
        """The answer to the good request that follows."""
        self.asked += 1
        name = f"good {self.asked}"
        good = {"jsonrpc": "2.0", "id": name, "method": "tools/call"}
        good["params"] = {"name": "list_memory_categories", "arguments": {}}
        self._write(garbage + b"\n" + json.dumps(good).encode() + b"\n")
        return self.answer(name)

    def answer(self, name):
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            *lines, self.rest = self.rest.split(b"\n")
            for place, line in enumerate(lines):
                told = json.loads(line)
                assert told["jsonrpc"] == "2.0"
                if told.get("id") == name:
                    self.rest = b"\n".join([*lines[place + 1 :], self.rest])
                    return told
            self._read(0.5)
        return None

    def _write(self, told):
        """Write, and read meanwhile: else both sides might wait for each other."""
        os.set_blocking(self.process.stdin.fileno(), False)
        while told:
            _, writable, _ = select.select([], [self.process.stdin], [], 0.1)
            self._read(0)
            if writable:
                told = told[os.write(self.process.stdin.fileno(), told[:65_536]) :]

    def _read(self, seconds):
        if select.select([self.process.stdout], [], [], seconds)[0]:
            self.rest += os.read(self.process.stdout.fileno(), 1_000_000)

    def memory(self):
        """Its memory in use, in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.skipif(sys.platform == "win32", reason="pipes there cannot be waited for")
def test_of_all_garbage_none_keeps_the_next_good_request_from_its_answer(tmp_path, offline_environment):
    with (tmp_path / "errors.txt").open("wb") as errors:
        server = Server(tmp_path / "memory", offline_environment, errors)
        try:
            first = server.ask(b"")
            assert "result" in first
            held = server.memory() if sys.platform == "linux" else 0
            unanswered = [
                name
                for name, garbage in GARBAGE.items()
                if (server.ask(garbage) or {}).get("result") != first["result"]
            ]
            assert unanswered == []
            assert len(GARBAGE) >= 60
            if sys.platform == "linux":
                assert server.memory() - held < 100
            server.process.stdin.close()
            assert server.process.wait(timeout=WAIT) == 0
        finally:
            server.process.kill()
            server.process.stdout.close()
            server.process.wait()
    told = (tmp_path / "errors.txt").read_bytes()
    assert b"Traceback" not in told
    assert not set(told) & set(range(32)) - {10}
