"""What is sent to a Chroma server: to one in front of which a proxy asks for a password."""

from __future__ import annotations

import json
import socket
import threading
import time
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import numpy as np
import pytest

from langmem_tiers.errors import InvalidInput, ServerUnreachable
from langmem_tiers.storage import chroma_client
from langmem_tiers.storage.chroma_client import ChromaServer, Named, Place

COLLECTION = {
    "id": str(uuid4()),
    "name": "shard",
    "tenant": "default_tenant",
    "database": "default_database",
    "dimension": None,
    "metadata": None,
    "configuration_json": {},
    "version": 0,
    "log_position": 0,
}
ANSWERS = {
    "heartbeat": {"nanosecond heartbeat": 1},
    "identity": {"user_id": "", "tenant": "default_tenant", "databases": ["default_database"]},
    "pre-flight-checks": {"max_batch_size": 1000, "supports_base64_encoding": True},
    "default_tenant": {"name": "default_tenant"},
    "default_database": {"id": str(uuid4()), "name": "default_database", "tenant": "default_tenant"},
    "collections": COLLECTION,
    COLLECTION["name"]: COLLECTION,
    "upsert": {},
    "query": {"ids": [["mark:1.0"]], "distances": [[0.5]]},
    "get": {"ids": ["mark:2.0"], "embeddings": [[1.0, 0.0, 0.0, 0.0]], "include": ["embeddings"]},
}


@pytest.fixture
def asked():
    """The paths that the server was asked for."""
    return []


@pytest.fixture
def guarded(asked):
    """The port of a server that answers as Chroma's does, but only to alice with her password."""

    class Guarded(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            asked.append(self.path)
            told = self.headers.get("authorization", "").removeprefix("Basic ")
            knows = b64decode(told) == b"alice:s@cret"
            answer = ANSWERS[self.path.rpartition("/")[2]] if knows else {"error": "Unauthorized"}
            body = json.dumps(answer).encode()
            self.send_response(200 if knows else 401)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("path", ["", "/", "/api/v2", "/a/b", "/a%20b/", "/a/b/api/v2/"])
def test_every_request_goes_below_the_path_of_the_address(guarded, asked, path):
    server = ChromaServer(f"http://alice:s%40cret@127.0.0.1:{guarded}{path}")
    below = path.rstrip("/").removesuffix("/api/v2")
    assert server.where == f"http://127.0.0.1:{guarded}{below}"
    place = server.begin("shard")
    server.upsert(place, "mark", Named(["1.0"], np.eye(1, 4, dtype=np.float32)))
    assert server.query(place, np.ones((1, 4), np.float32), 1) == [[("mark:1.0", 0.5)]]
    server.close()
    assert len(asked) > 4
    assert [each for each in asked if not each.startswith(f"{below}/api/v2/")] == []


@pytest.mark.parametrize("more", ["?tenant=a", "/x#y"])
def test_an_address_with_more_than_a_path_is_refused(more):
    with pytest.raises(InvalidInput, match="cannot be read"):
        ChromaServer(f"http://127.0.0.1:8000{more}")


def test_user_and_password_of_the_address_go_with_every_request_and_into_no_message(guarded):
    server = ChromaServer(f"http://alice:s%40cret@127.0.0.1:{guarded}")
    assert server.where == f"http://127.0.0.1:{guarded}"
    server.ask()
    place = server.begin("shard")
    server.upsert(place, "mark", Named(["1.0"], np.eye(1, 4, dtype=np.float32)))
    assert server.query(place, np.ones((1, 4), np.float32), 1) == [[("mark:1.0", 0.5)]]
    server.close()


def test_a_wrong_password_is_a_server_that_does_not_answer(guarded):
    server = ChromaServer(f"http://alice:guessed@127.0.0.1:{guarded}")
    with pytest.raises(ServerUnreachable) as caught:
        server.ask()
    assert "guessed" not in str(caught.value)
    server.close()


def test_after_waiting_for_a_silent_server_in_vain_the_background_does_not_wait_again_at_once(monkeypatch):
    monkeypatch.setattr(chroma_client, "_LONGEST", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
        server = ChromaServer(f"http://127.0.0.1:{silent.getsockname()[1]}")
        took = []
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(ServerUnreachable):
                server.holds(Place("shard", str(uuid4())))
            took.append(time.monotonic() - began)
        server.close()
    assert took[1] < 0.3 < took[0]


def test_a_vector_that_no_search_reaches_is_sent_again_eight_times_and_then_told_of(
    guarded, asked, monkeypatch, caplog
):
    monkeypatch.setitem(ANSWERS, "shard", COLLECTION | {"metadata": {"deleted_from": True}})
    server = ChromaServer(f"http://alice:s%40cret@127.0.0.1:{guarded}")
    place = Place(COLLECTION["name"], COLLECTION["id"])
    server.upsert(place, "mark", Named(["1.0"], np.eye(1, 4, dtype=np.float32)))
    assert (_upserts(asked), caplog.text) == (1, "")
    server.upsert(place, "mark", Named(["2.0"], np.eye(1, 4, dtype=np.float32)))
    server.close()
    assert _upserts(asked) == 1 + 9
    (told,) = caplog.records
    assert (told.event, told.collection, told.count) == ("vectors_not_reached", "shard", 1)


def _upserts(asked):
    return sum(each.endswith("/upsert") for each in asked)
