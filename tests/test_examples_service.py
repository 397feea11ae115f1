"""The example of a service for many users: who sees what, clients that leave, and how it ends."""

import asyncio
import importlib.util
import json
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, closing
from functools import partial
from uuid import uuid4

import httpx
import pytest

from langmem_tiers import Memory
from langmem_tiers.integrations import OfflineResponder
from langmem_tiers.paths import is_address
from langmem_tiers.testing import ScriptedChatModel
from tests import engines
from tests.graphing import FACT, QUESTION, said
from tests.test_workers import address  # noqa: F401 - a fixture

pytest.importorskip("fastapi", reason="FastAPI is not installed")

ANSWER = "On the warm radiator, as every winter."
WAIT = 60


@pytest.fixture
def service(root, tmp_path):
    """Runs the service with a model in this process; its app and a client."""
    spec = importlib.util.spec_from_file_location("fastapi_service", root / "examples" / "fastapi_service.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    @asynccontextmanager
    async def serve(model, place=tmp_path / "memory"):
        app = module.service(str(place), model, background=not is_address(str(place)))
        reached = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")
        async with app.router.lifespan_context(app), reached as client:
            yield app, client

    return serve


@pytest.fixture
def kept(tmp_path):
    """What was said to and by the service, once it has ended."""

    def read(user="alice"):
        with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
            return said(memory.user(user))

    return read


def _of(token):
    return {"Authorization": f"Bearer {token}"}


async def _say(client, text, *, thread="monday", token="alice-token"):
    answer = await client.post(f"/chat/{thread}", json={"text": text}, headers=_of(token))
    assert answer.status_code == 200
    return _events(answer.text)


def _events(text):
    """The kinds and data of server-sent events."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


def _reply(events):
    return "".join(data for kind, data in events if kind == "token")


async def test_a_reply_comes_in_pieces_beside_what_the_memory_does(service, kept):
    async with service(ScriptedChatModel(responses=[ANSWER])) as (_, client):
        events = await _say(client, FACT)
    told = [data["type"] for kind, data in events if kind == "memory"]
    assert told == ["memory_recalled", "memory_tracked", "memory_tracked"]
    assert len([kind for kind, _ in events if kind == "token"]) == len(ANSWER.split())
    assert _reply(events) == ANSWER
    assert kept() == [FACT, ANSWER]


async def test_users_who_name_a_thread_alike_are_apart(service):
    model = ScriptedChatModel(responses=[ANSWER])
    async with service(model) as (_, client):
        await _say(client, FACT)
        await _say(client, QUESTION, token="bob-token")
        assert FACT not in str(model.requests[-1])
        await _say(client, QUESTION)
        assert FACT in str(model.requests[-1])


@pytest.mark.folder
async def test_a_user_whose_space_another_process_holds_keeps_nobody_else_waiting(service, tmp_path):
    async with service(OfflineResponder()) as (_, client):
        for token in ("alice-token", "bob-token"):
            await _say(client, FACT, token=token)
        [database] = tmp_path.glob("memory/spaces/users-alice-*/memory.db")
        with closing(sqlite3.connect(database, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            waiting = [asyncio.create_task(_say(client, QUESTION, thread=f"t{number}")) for number in range(20)]
            await asyncio.sleep(0.5)
            async with asyncio.timeout(3):
                assert FACT in _reply(await _say(client, QUESTION, thread="friday", token="bob-token"))
            assert not any(each.done() for each in waiting)
            another.execute("ROLLBACK")
        assert all(FACT in _reply(each) for each in await asyncio.gather(*waiting))


async def test_half_a_character_is_refused_and_not_repeated(service):
    async with service(ScriptedChatModel(responses=[ANSWER])) as (_, client):
        headers = {**_of("alice-token"), "Content-Type": "application/json"}
        answer = await client.post("/chat/monday", content=b'{"text": "half \\ud800"}', headers=headers)
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "text"])


async def test_another_thread_of_the_user_is_recalled(service):
    async with service(OfflineResponder()) as (_, client):
        await _say(client, FACT)
        assert FACT in _reply(await _say(client, QUESTION, thread="friday"))


async def test_a_body_that_is_too_large_or_never_ends_is_refused_and_nothing_stored(service, kept, monkeypatch):
    async def endless():
        for _ in range(30):
            yield b"x" * 10_000

    async def stuck():
        yield b'{"text": "'
        await asyncio.sleep(WAIT)

    async with service(ScriptedChatModel(responses=[ANSWER])) as (app, client):
        post = partial(client.post, "/chat/monday", headers=_of("alice-token"))
        answers = [await post(content=body) for body in (b'{"text": "' + b"x" * 200_000, endless())]
        bounded = app.user_middleware[0].cls
        monkeypatch.setitem(bounded.__call__.__globals__, "BODY_SECONDS", 0.2)
        answers.append(await post(content=stuck()))
    assert [answer.status_code for answer in answers] == [413, 413, 408]
    assert kept() == []


@pytest.mark.parametrize("headers", [{}, _of("no-token"), {"Authorization": "alice-token"}])
async def test_without_a_token_that_is_known_nothing_is_stored(headers, service, kept):
    async with service(ScriptedChatModel(responses=[ANSWER])) as (_, client):
        answer = await client.post("/chat/monday", json={"text": FACT, "user_id": "alice"}, headers=headers)
    assert answer.status_code == 401
    assert kept() == []


async def test_a_model_that_fails_ends_the_stream_with_an_error_and_the_question_is_stored(service, kept, caplog):
    async with service(ScriptedChatModel(responses=[RuntimeError("down")])) as (_, client):
        events = await _say(client, FACT)
    assert events[-1] == ("error", "The reply failed. Please try again.")
    assert "reply_failed thread=alice/monday" in caplog.text
    assert kept() == [FACT]


async def test_a_client_that_leaves_takes_no_reply_away(service, kept):
    asked, let_go = threading.Event(), threading.Event()

    def waiting(_messages):
        asked.set()
        assert let_go.wait(WAIT)
        return ANSWER

    async with service(ScriptedChatModel(responses=[waiting])) as (app, _):
        leaving = asyncio.create_task(_post_and_leave(app, FACT, left=asked))
        await asyncio.wait_for(leaving, WAIT)
        assert len(app.state.replies) == 1
        let_go.set()
    assert kept() == [FACT, ANSWER]


async def _post_and_leave(app, text, *, left):
    """A request whose client is gone once `left` is set, in the words of ASGI."""
    body = iter([{"type": "http.request", "body": json.dumps({"text": text}).encode(), "more_body": False}])

    async def receive():
        for message in body:
            return message
        await asyncio.to_thread(left.wait, WAIT)
        return {"type": "http.disconnect"}

    async def send(_message):
        pass

    headers = [(b"authorization", b"Bearer alice-token"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/chat/monday", "query_string": b"", "headers": headers}
    await app({**scope, "asgi": {"version": "3.0", "spec_version": "2.3"}}, receive, send)


async def _ready(client):
    assert (await client.get("/health")).json() == {"alive": True}
    answer = await client.get("/ready")
    return answer.status_code, answer.json()


@pytest.mark.folder
async def test_it_is_ready_while_the_memory_can_be_read(service, tmp_path, caplog):
    async with service(ScriptedChatModel(responses=[ANSWER])) as (_, client):
        assert await _ready(client) == (200, {"records": True, "vectors": True})
        (tmp_path / "memory").rename(tmp_path / "away")
        assert not caplog.records
        assert await _ready(client) == (503, {"records": False, "vectors": True})
        assert [each.message.partition(" ")[0] for each in caplog.records] == ["not_answering"]
        (tmp_path / "away").rename(tmp_path / "memory")
        assert (await _ready(client))[0] == 200


@pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server")
async def test_on_a_database_another_process_goes_on_with_the_thread(service, address, monkeypatch):  # noqa: F811
    pytest.importorskip("langgraph.checkpoint.postgres", reason="langgraph-checkpoint-postgres is not installed")
    monkeypatch.setenv("LANGMEM_TIERS_STORAGE__CHROMA", "http://127.0.0.1:1")
    thread = uuid4().hex
    async with service(ScriptedChatModel(responses=[ANSWER]), address) as (_, client):
        await _say(client, FACT, thread=thread)
        assert await _ready(client) == (200, {"records": True, "vectors": False})
    async with service(ScriptedChatModel(responses=[ANSWER]), address) as (app, client):
        await _say(client, QUESTION, thread=thread)
        state = await app.state.agent.aget_state({"configurable": {"thread_id": f"alice/{thread}"}})
        assert [each.content for each in state.values["messages"]] == [FACT, ANSWER, QUESTION, ANSWER]
        assert said(app.state.memory.user("alice")) == [FACT, ANSWER, QUESTION, ANSWER]
        await app.state.agent.store.aput((thread,), "theme", {"is": "dark"})
        assert (await app.state.agent.store.aget((thread,), "theme")).value == {"is": "dark"}


@pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server")
async def test_processes_that_begin_with_a_new_database_at_once_all_serve(service, address):  # noqa: F811
    pytest.importorskip("langgraph.checkpoint.postgres", reason="langgraph-checkpoint-postgres is not installed")

    # LangGraph's tables are beside those of the memory then, and new for this test.
    place = f"{address}&options=-csearch_path%3D{address.partition('?schema=')[2]}"

    async def begin(number):
        named = [place, place.replace("postgresql://", "postgres://")][number % 2]
        async with service(ScriptedChatModel(responses=[ANSWER]), named) as (_, client):
            await _say(client, FACT, thread=str(number))
            return (await _ready(client))[0]

    assert await asyncio.gather(*map(begin, range(4))) == [200] * 4
    async with service(ScriptedChatModel(responses=[ANSWER]), place) as (app, _):
        threads = [{"configurable": {"thread_id": f"alice/{number}"}} for number in range(4)]
        assert all([(await app.state.agent.aget_state(each)).values for each in threads])


@pytest.mark.folder
def test_on_a_request_to_terminate_it_ends_with_all_that_was_said(root, tmp_path, offline_environment, kept):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [root / "examples" / "fastapi_service.py", "--path", tmp_path / "memory", "--port", port]
    process = subprocess.Popen(
        [sys.executable, *map(str, command)], env=offline_environment, stderr=subprocess.PIPE, text=True
    )
    try:
        for line in process.stderr:
            if "Uvicorn running" in line:
                break
        chat = {"url": f"http://127.0.0.1:{port}/chat/monday", "headers": _of("alice-token"), "timeout": WAIT}
        with httpx.stream("POST", **chat, json={"text": FACT}) as answer:
            next(answer.iter_text())
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=WAIT)
    finally:
        process.kill()
    assert process.returncode in {0, -signal.SIGTERM}
    assert "Application shutdown complete" in log
    assert kept() == [FACT]
