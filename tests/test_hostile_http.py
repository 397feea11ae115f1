"""MCP over HTTP, attacked by somebody on the same machine and by pages in the user's browser.

Each hostile request would save a memory if it were let through: without what is wrong in it, it does.
"""

import json
import re
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import httpx2
import pytest

from langmem_tiers.integrations import connections
from langmem_tiers.integrations.addresses import Addresses
from langmem_tiers.integrations.mcp import mcp_server, transport
from langmem_tiers.integrations.serving import LOOPBACK, MOST_BODY, bound, http_server

TOKEN = "a-token-for-the-tests"
# The package `mcp` leaves streams to the garbage collector when a client has gone.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
WAIT = 60
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
SAVE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "save_memory", "arguments": {"content": "The user prefers EvilVPN."}},
    }
).encode()


@contextmanager
def _serving(space):
    """The port of the server that `run_http` would run, in a thread of this process."""
    ready = threading.Event()
    with bound(0) as listener:
        port = listener.getsockname()[1]
        addresses = Addresses.of_server(LOOPBACK, port)
        server = http_server(transport.guarded(mcp_server(space), addresses=addresses, token=TOKEN), ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert ready.wait(WAIT)
        yield port
        server.should_exit = True
        thread.join(WAIT)


@pytest.fixture
def port(alice):
    with _serving(alice) as port:
        yield port


def _headers(port, **changed):
    names = {
        "Host": f"127.0.0.1:{port}",
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **changed,
    }
    return {name: value for name, value in names.items() if value is not None}


def _open_session(port):
    url = f"http://127.0.0.1:{port}/mcp"
    told = httpx2.post(url, headers=_headers(port), json=HELLO)
    assert told.status_code == 200
    id_ = told.headers["mcp-session-id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert httpx2.post(url, headers=_headers(port, **{"Mcp-Session-Id": id_}), json=ready).status_code == 202
    return id_


class Requests:
    """Requests as bytes, each right but for what is named."""

    def __init__(self, port, session):
        self.port = port
        self.right = {**_headers(port), "Mcp-Session-Id": session, "Content-Length": str(len(SAVE))}

    def of(self, *more, line="POST /mcp HTTP/1.1", body=SAVE, **changed):
        """One request: `more` are further lines of its head; a header that is None is left out."""
        changed = {name.replace("_", "-"): value for name, value in changed.items()}
        told = {name: value for name, value in {**self.right, **changed}.items() if value is not None}
        lines = [line, *(f"{name}: {value}" for name, value in told.items()), *more]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def hosts(self):
        port = self.port
        for host in (
            "evil.example",
            f"evil.example:{port}",
            f"127.0.0.1:{port}.evil.example",
            f"127.0.0.1.evil.example:{port}",
            f"localhost.evil.example:{port}",
            f"evil.localhost:{port}",
            f"localhost.:{port}",
            "127.0.0.1",
            "127.0.0.1:1",
            f"127.0.0.1:0{port}",
            f"0.0.0.0:{port}",
            f"127.1:{port}",
            f"127.0.0.2:{port}",
            f"2130706433:{port}",
            f"0x7f000001:{port}",
            f"[::1]:{port}",
            f"[::ffff:127.0.0.1]:{port}",
            f"user@127.0.0.1:{port}",
            f"127.0.0.1:{port}@evil.example",
            "",
        ):
            yield f"host {host}", self.of(Host=host), 421
        yield "two hosts", self.of("Host: evil.example"), 400
        yield "no host", self.of(Host=None), 400
        yield "no host in HTTP/1.0", self.of(line="POST /mcp HTTP/1.0", Host=None), 421

    def origins(self):
        port = self.port
        for origin in (
            "null",
            "http://evil.example",
            f"https://127.0.0.1:{port}",
            f"http://127.0.0.1:{port}.evil.example",
            f"http://localhost.evil.example:{port}",
            "http://127.0.0.1",
            "http://localhost:3000",
            f"http://127.0.0.1:{port}/",
            f"HTTP://127.0.0.1:{port}",
            f"http://user@127.0.0.1:{port}",
            f"http://[::1]:{port}",
            "file://",
            "chrome-extension://abcdefghijklmnop",
            "",
        ):
            yield f"origin {origin}", self.of(Origin=origin), 403
        yield "two origins", self.of("Origin: http://evil.example", Origin=f"http://127.0.0.1:{port}"), 403

    def tokens(self):
        for told in (
            None,
            "",
            "Bearer",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Bearer {TOKEN.upper()}",
            f"Bearer {TOKEN} {TOKEN}",
            f"Bearer {TOKEN},",
            f"Basic {TOKEN}",
            f"Bearer:{TOKEN}",
            TOKEN,
            "Bearer \xe9\xe8\xff",
        ):
            yield f"token {told}", self.of(Authorization=told), 401
        yield "two tokens", self.of(f"Authorization: Bearer {TOKEN}"), 401
        yield "token in a cookie", self.of(f"Cookie: token={TOKEN}", Authorization=None), 401
        address = f"POST /mcp?token={TOKEN}&access_token={TOKEN} HTTP/1.1"
        yield "token in the address", self.of(line=address, Authorization=None), 401

    def shapes(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            yield f"type {kind}", self.of(Content_Type=kind), 400
        for method, status in (("PUT", 405), ("PATCH", 405), ("TRACE", 405), ("OPTIONS", 405)):
            yield f"method {method}", self.of(line=f"{method} /mcp HTTP/1.1"), status
        yield "another path", self.of(line="POST /mcp/../mcp HTTP/1.1"), 404
        yield "a session of nobody", self.of(Mcp_Session_Id="0" * 32), 404
        yield "two lengths", self.of("Content-Length: 5"), 400
        yield "a length below nothing", self.of(Content_Length="-1"), 400
        yield "a length and chunks", self.of("Transfer-Encoding: chunked, identity"), 400
        yield "packed in an unknown way", self.of("Transfer-Encoding: gzip", Content_Length=None), 400
        yield "chunks of no size", self.of("Transfer-Encoding: chunked", Content_Length=None, body=b"zz\r\n"), 400
        yield "a body that is too large", self.of(Content_Length=str(10**10), body=b""), 413
        streamed = b"".join(b"10000\r\n" + b"x" * 65_536 + b"\r\n" for _ in range(MOST_BODY // 65_536 + 1))
        endless = self.of("Transfer-Encoding: chunked", Content_Length=None, body=streamed)
        yield "a body that is too large in chunks", endless, 413
        yield "a head that is too large", self.of("X: " + "x" * 100_000), 400
        yield "many headers", self.of(*(f"X-{number}: x" for number in range(5_000))), 400
        yield "a null in a header", self.of("X: a\0b"), 400
        yield "a folded line", self.of(" folded", "X: x", Host=f"127.0.0.1:{self.port}\r\n .evil.example"), 400
        yield "the address of a proxy", self.of(line="CONNECT evil.example:443 HTTP/1.1", body=b""), 404
        yield "no HTTP", b"GARBAGE\r\n\r\n", 400
        yield "HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421
        yield "TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40 + b"\r\n\r\n", 400
        cut = SAVE[:-1]
        yield "a body cut off", self.of(Content_Length=str(len(cut)), body=cut), 400
        yield "a body with a lying length", self.of(Content_Length=str(len(SAVE) - 20)), 400
        yield "a body nested deep", self.of(Content_Length="100000", body=b"[" * 100_000), 400

    def all(self):
        yield from self.hosts()
        yield from self.origins()
        yield from self.tokens()
        yield from self.shapes()


def _status(port, told):
    """The status of the answer to some bytes; None if there is none."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        with suppress(ConnectionError):  # it was refused before all was sent
            client.sendall(told)
        answer = b""
        try:
            while b"\r\n" not in answer and (piece := client.recv(4096)):
                answer += piece
        except ConnectionError:
            return None
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found.group(1)) if found else None


def test_of_hostile_requests_each_is_refused_with_its_status_and_nothing_changes(alice, port):
    requests = Requests(port, _open_session(port))
    table = list(requests.all())
    before = alice.stats().log_position
    answers = [(name, expected, _status(port, told)) for name, told, expected in table]
    assert "\n".join(str(each) for each in answers if each[1] != each[2]) == ""
    assert len(table) >= 60
    assert alice.stats().log_position == before
    assert _status(port, requests.of()) == 200
    assert _status(port, requests.of(Host=f"LocalHost:{port}", Origin=f"http://localhost:{port}")) == 200
    deadline = time.monotonic() + WAIT
    while not alice.knowledge.search() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [each.entry.content for each in alice.knowledge.search()] == ["The user prefers EvilVPN."]


def _is_dropped(client, *, within):
    """Whether the server ends a connection in time."""
    client.settimeout(within)
    try:
        while client.recv(65_536):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


@pytest.fixture
def hurried(monkeypatch):
    """The time limits, made short."""
    for name in connections.SECONDS_FOR:
        monkeypatch.setitem(connections.SECONDS_FOR, name, 1.5)


def _dripping(head, *, seconds):
    """Sends a byte now and then, so that something always comes."""

    def drip(client):
        end = time.monotonic() + seconds
        for byte in head:
            if time.monotonic() > end:
                return
            try:
                client.sendall(bytes([byte]))
            except OSError:
                return
            time.sleep(0.05)

    return drip


def test_clients_that_take_their_time_are_dropped_and_others_served_meanwhile(hurried, alice, port):
    requests = Requests(port, _open_session(port))
    whole = requests.of()
    slow = {
        "nothing is sent": (b"", b""),
        "the head comes by bytes": (b"POST /mcp HTTP/1.1\r\n", b"X: " + b"x" * 400),
        "the head of a second request comes by bytes": (
            requests.of(line="POST /nowhere HTTP/1.1"),
            b"POST /mcp HTTP/1.1\r\nX: " + b"x" * 400,
        ),
        "the body comes by bytes": (whole[: -len(SAVE)], SAVE + b" " * 400),
        "the body never comes": (whole[: -len(SAVE)], b""),
        "chunks come by bytes": (
            requests.of("Transfer-Encoding: chunked", Content_Length=None, body=b"1\r\n"),
            b"x" * 400,
        ),
        "a body is refused, and still comes": (requests.of(Host="evil.example")[: -len(SAVE)], b"x" * 400),
    }
    with ExitStack() as open_:
        clients = {}
        for name, (first, then) in slow.items():
            client = open_.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT))
            client.sendall(first)
            threading.Thread(target=_dripping(then, seconds=WAIT), args=(client,), daemon=True).start()
            clients[name] = client
        assert _status(port, requests.of()) == 200
        dropped = {name: _is_dropped(client, within=WAIT / 2) for name, client in clients.items()}
        assert dropped == dict.fromkeys(slow, True)


def test_a_client_that_does_not_read_is_dropped(hurried, alice, port, caplog):
    caplog.set_level("INFO")
    requests = Requests(port, _open_session(port))
    listing = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.settimeout(0.2)
        deadline = time.monotonic() + WAIT
        asked = requests.of(Content_Length=str(len(listing)), body=listing)
        while "waited_for=reading" not in caplog.text and time.monotonic() < deadline:
            try:
                client.sendall(asked)
            except TimeoutError:
                continue
            except OSError:
                break
    assert "http_client_dropped waited_for=reading" in caplog.text
    assert _status(port, requests.of()) == 200


def test_there_are_only_so_many_connections_requests_and_sessions(monkeypatch, alice):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 12)
    monkeypatch.setattr(connections, "MOST_REQUESTS", 8)
    monkeypatch.setattr(transport, "MOST_SESSIONS", 3)
    with _serving(alice) as port, ExitStack() as open_:
        url = f"http://127.0.0.1:{port}/mcp"
        sessions = [httpx2.post(url, headers=_headers(port), json=HELLO).status_code for _ in range(5)]
        idle = [open_.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT)) for _ in range(10)]
        busy = _status(port, Requests(port, "x").of())
        idle += [open_.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT)) for _ in range(10)]
        dropped = sum(_is_dropped(client, within=WAIT) for client in idle[-8:])
        for client in idle:
            client.close()
        deadline = time.monotonic() + WAIT
        while (free := _status(port, Requests(port, "x").of())) != 404 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert free == 404
    assert sessions == [200, 200, 200, 503, 503]
    assert busy == 503
    assert dropped == 8


def test_there_is_no_option_to_listen_elsewhere(capsys):
    from langmem_tiers.cli.main import main

    for option in ("--host", "--listen-anywhere", "--bind"):
        with pytest.raises(SystemExit) as left:
            main(["--user", "alice", "mcp", "--http", option, "0.0.0.0"])
        assert left.value.code == 2
    assert "No such option" in capsys.readouterr().err
