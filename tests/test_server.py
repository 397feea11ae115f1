"""`langgraph dev` serves what langgraph.json names: driven by the real SDK, in a process of its own, offline.

It runs where the development server is installed: `make test-server`.
"""

import asyncio
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from time import monotonic, sleep

import pytest

from langmem_tiers import Memory
from tests.graphing import said

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("langgraph_api") is None,
        reason="langgraph-cli[inmem] is not installed: make test-server",
    ),
]

ROOT = Path(__file__).parent.parent
FACT = "My name is Alice, I moved to Lisbon in March and I prefer tea to coffee."
QUESTION = "Which city did I move to?"
WAIT = 90
# A graph that blocks the event loop, to see that the server would notice.
BLOCKING = """
import time
from langgraph.graph import START, MessagesState, StateGraph

async def block(state: MessagesState) -> dict:
    time.sleep(0.01)
    return {}

graph = StateGraph(MessagesState).add_node(block).add_edge(START, "block").compile()
"""


class Server:
    """A development server, its log, and the folder of the memory that it serves."""

    def __init__(self, folder: Path) -> None:
        self.memory = folder / "memory"
        self.log = folder / "log.txt"
        self.address = f"http://127.0.0.1:{_free_port()}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*_command(), "--port", self.address.rpartition(":")[2]],
                cwd=folder,
                env=_environment(self.memory),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        """Come back when it answers."""
        end = monotonic() + WAIT
        while monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}/ok"):
                    return
            except OSError:
                sleep(0.2)
        pytest.fail(self.log.read_text())

    def kept(self) -> Memory:
        """The memory, opened by this process as well."""
        return Memory.open(self.memory, embedder=None, background=False)


class Talk:
    """Turns with the agent of a server."""

    def __init__(self, client) -> None:
        self.client = client

    async def say(self, text: str, *, thread: str | None = None, user: str = "alice") -> tuple[list, str, str]:
        """One turn: what the memory told, the reply, and the thread."""
        thread = thread or await self.thread()
        run = {"input": _asked(text), "context": {"user_id": user}, "stream_mode": ["custom", "values"]}
        parts = [part async for part in self.client.runs.stream(thread, "agent", **run)]
        told = [part.data for part in parts if part.event == "custom"]
        [*_, last] = [part.data for part in parts if part.event == "values"]
        return told, last["messages"][-1]["content"], thread

    async def thread(self) -> str:
        """A new thread."""
        return (await self.client.threads.create())["thread_id"]


def _asked(text):
    return {"messages": [{"role": "user", "content": text}]}


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _command():
    langgraph = Path(sys.executable).with_name("langgraph")
    return [str(langgraph), "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1"]


def _environment(memory):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LANGMEM_TIERS_", "LANGSMITH_"))}
    own = {"LANGMEM_TIERS_PATH": str(memory), "LANGSMITH_TRACING": "false", "NO_COLOR": "1"}
    return {**kept, **own, "PYTHONPATH": str(ROOT / "tests" / "offline"), "PYTHONIOENCODING": "utf-8"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of what langgraph.json names, in a folder of its own, and of a graph that blocks."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "server.py", folder / "examples")
    named = json.loads((ROOT / "langgraph.json").read_text())
    (folder / "blocking.py").write_text(BLOCKING)
    named["graphs"]["blocking"] = "./blocking.py:graph"
    (folder / "langgraph.json").write_text(json.dumps(named))
    started = Server(folder)
    try:
        started.wait()
        yield started
    finally:
        started.process.terminate()
        started.process.wait(WAIT)


@pytest.fixture
async def talk(server):
    """A client of the SDK."""
    from langgraph_sdk import get_client

    async with get_client(url=server.address) as client:
        yield Talk(client)


async def test_what_was_said_in_one_thread_is_recalled_in_another(talk):
    told, _, _ = await talk.say(FACT)
    assert [event["type"] for event in told] == ["memory_recalled", "memory_tracked", "memory_tracked"]
    told, reply, _ = await talk.say(QUESTION)
    assert told[0]["type"] == "memory_recalled"
    assert told[0]["items"] == 1
    assert FACT in reply


async def test_another_user_is_not_told(talk):
    await talk.say(FACT)
    told, reply, _ = await talk.say(QUESTION, user="bob")
    assert told[0]["items"] == 0
    assert "Lisbon" not in reply


async def test_a_thread_hears_of_what_was_mined_elsewhere(server, talk):
    _, _, thread = await talk.say(FACT, user="carol")
    with server.kept() as memory:
        assert sum(len(report.kept) for report in memory.user("carol").mine())
    told, _, _ = await talk.say("Thank you, that is all.", thread=thread, user="carol")
    [mined] = [event for event in told if event["type"] == "memory_mined"]
    assert mined["session"] == thread
    assert mined["kept"]


async def test_a_client_that_leaves_in_mid_stream_leaves_what_was_said(server, talk):
    thread = await talk.thread()
    run = {"input": _asked(FACT), "context": {"user_id": "dora"}, "stream_mode": ["custom"]}
    stream = talk.client.runs.stream(thread, "agent", **run, on_disconnect="cancel")
    async for part in stream:
        if part.event == "custom" and part.data["type"] == "memory_tracked":
            break
    await stream.aclose()
    with server.kept() as memory:
        assert said(memory.user("dora")) == [FACT]
    _, reply, _ = await talk.say("Thank you.", thread=thread, user="dora")
    assert reply


async def test_a_dream_tells_its_steps(talk):
    await talk.say(FACT, user="emil")
    run = talk.client.runs.stream(None, "dream", input={"user_id": "emil"}, stream_mode=["custom", "values"])
    parts = [part async for part in run]
    steps = [part.data["step"] for part in parts if part.event == "custom"]
    assert steps == ["gather", "consolidate", "preferences", "synthesize", "graph", "gate", "commit"]
    assert parts[-1].data["dream_report"]["space"] == "users/emil"


async def test_a_cron_has_every_memory_dream(server, talk):
    await talk.say(FACT, user="fritz")
    cron = await talk.client.crons.create("dream", schedule="* * * * *", input={"all": True})
    end = monotonic() + WAIT
    with server.kept() as memory:
        while not memory.user("fritz").dreams() and monotonic() < end:
            await asyncio.sleep(0.5)
        assert memory.user("fritz").dreams()
    await talk.client.crons.delete(cron["cron_id"])


async def test_nothing_of_that_blocked_the_event_loop(server, talk):
    """The last one: it looks at what the others left in the log."""
    await talk.say(QUESTION)
    assert "BlockingError" not in server.log.read_text()
    run = talk.client.runs.stream(None, "blocking", input=_asked("Hello."), stream_mode="values")
    assert "error" in [part.event async for part in run]
    assert "BlockingError" in server.log.read_text()
