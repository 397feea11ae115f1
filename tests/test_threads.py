"""Asynchronous calls work in threads of the package's own, of which there are enough for others while some wait."""

import asyncio
import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import ContextVar
from time import monotonic, sleep

import pytest
from source_tree import library

from langmem_tiers import Memory, Settings, StorageSettings, Turn
from langmem_tiers.errors import DatabaseLocked, MemoryClosed
from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations import TieredStore, memory_tools
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from langmem_tiers.threads import to_thread
from tests.graphing import FACT, QUESTION, ask, remember, run, said

WAIT = 30


@pytest.fixture
def holding(tmp_path):
    """Has another connection hold the write lock of a user's space during a block."""

    @contextmanager
    def held(user):
        [database] = tmp_path.glob(f"memory/spaces/users-{user}-*/memory.db")
        with closing(sqlite3.connect(database, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            yield
            another.execute("ROLLBACK")

    return held


def _space(memory):
    return lambda user, number: memory.user(user).atrack([Turn(role="user", content=FACT)], session=f"s{number}")


def _agent(memory):
    agent = memory_agent(ScriptedChatModel(responses=["Fine."]), memory, on_error="raise")
    return lambda user, number: agent.ainvoke(ask(), run(user, f"{user}{number}"))


def _tool(memory):
    [save] = [each for each in memory_tools(memory) if each.name == "save_memory"]
    return lambda user, number: save.ainvoke({"content": f"The box {number} is full."}, run(user, f"{user}{number}"))


def _store(memory):
    store = TieredStore(memory)
    return lambda user, number: store.aput(("users", user), f"k{number}", {"is": number})


@pytest.mark.folder
@pytest.mark.parametrize("calls", [_space, _agent, _tool, _store])
async def test_a_user_whose_space_another_process_holds_keeps_nobody_else_waiting(calls, memory, holding):
    for user in ("alice", "bob"):
        remember(memory.user(user), FACT)
    call = calls(memory)
    await call("alice", 0)
    await call("bob", 0)
    with holding("alice"):
        waiting = [asyncio.create_task(call("alice", number)) for number in range(1, 9)]
        await asyncio.sleep(0.3)
        async with asyncio.timeout(2):
            await call("bob", 1)
        assert not any(each.done() for each in waiting)
    await asyncio.gather(*waiting)


async def test_what_a_host_does_in_the_threads_of_the_event_loop_holds_up_nothing(alice):
    remember(alice, FACT)
    done = threading.Event()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    busy = asyncio.create_task(asyncio.to_thread(done.wait, WAIT))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(WAIT / 2):
        assert FACT in (await alice.arecall(QUESTION, session="s")).block
    done.set()
    assert await busy


@pytest.mark.folder
def test_what_has_begun_is_stored_though_its_caller_and_the_event_loop_are_gone(tmp_path, clock, holding):
    async def leave(space):
        task = asyncio.create_task(space.atrack([Turn(role="user", content=FACT)], session="s"))
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    opened = {"embedder": HashEmbedder(), "background": False, "clock": clock}
    with Memory.open(tmp_path / "memory", **opened) as memory:
        remember(memory.user("alice"), "My name is Alice.")
        with holding("alice"):
            asyncio.run(leave(memory.user("alice")))
            memory.close()
    until = monotonic() + WAIT
    with Memory.open(tmp_path / "memory", **opened) as memory:
        while FACT not in said(memory.user("alice"), "s") and monotonic() < until:
            sleep(0.05)
        assert FACT in said(memory.user("alice"), "s")


async def test_a_call_sees_the_context_variables_of_its_caller():
    asking = ContextVar("asking")
    asking.set("alice")
    assert await to_thread(asking.get) == "alice"


@pytest.mark.folder
async def test_a_memory_that_is_closed_with_async_does_not_hold_up_the_event_loop(tmp_path, clock, holding):
    async with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock) as memory:
        remember(alice := memory.user("alice"), FACT)
        assert await memory.aflush()
        with holding("alice"):
            assert FACT in (await alice.arecall(QUESTION, session="s")).block  # its receipt waits for the lock
            closing = asyncio.create_task(memory.aclose())
            await asyncio.sleep(0.3)
            assert not closing.done()
        await closing
    with pytest.raises(MemoryClosed):
        alice.recall(QUESTION)


class _OfATenant(HashEmbedder):
    """An embedder that looks up on whose behalf it is called, as one with a key for each tenant does."""

    def __init__(self, tenant):
        super().__init__()
        self._tenant = tenant
        self.called_for = []

    def _count(self, **counts):
        self.called_for.append((*counts, self._tenant.get("nobody")))
        super()._count(**counts)


async def test_an_embedder_sees_the_context_variables_of_whoever_recalls_or_flushes(tmp_path, clock):
    tenant = ContextVar("tenant")
    embedder = _OfATenant(tenant)
    with Memory.open(tmp_path / "memory", embedder=embedder, background=False, clock=clock) as memory:
        tenant.set("acme")
        remember(memory.user("alice"), FACT)
        assert await to_thread(memory.flush)
        await memory.user("alice").arecall(QUESTION)
        memory.user("alice").recall("Where is the key?")
    assert {*embedder.called_for} == {("documents", "acme"), ("queries", "acme")}


def test_event_loops_in_several_threads_share_them(alice):
    remember(alice, FACT)

    async def recall(session):
        calls = (alice.arecall(QUESTION, session=f"{session}-{number}") for number in range(10))
        return [FACT in recalled.block for recalled in await asyncio.gather(*calls)]

    with ThreadPoolExecutor(4) as loops:
        assert all(all(found) for found in loops.map(lambda name: asyncio.run(recall(name)), "abcd"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    assert asyncio.run(to_thread(os.getpid)) == os.getpid()
    child = os.fork()
    if child == 0:
        here = asyncio.run(asyncio.wait_for(to_thread(os.getpid), WAIT))
        os._exit(7 if here == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_nothing_in_the_library_takes_the_threads_of_the_event_loop():
    assert [name for name, path in library().items() if "asyncio.to_thread(" in path.read_text()] == []


@pytest.mark.folder
def test_a_memory_that_is_closed_while_another_process_has_the_lock_waits_for_its_usage_once(
    tmp_path, clock, holding, caplog
):
    settings = Settings(storage=StorageSettings(busy_timeout=0.1))
    opened = {"embedder": HashEmbedder(), "background": False, "clock": clock, "settings": settings}
    memory = Memory.open(tmp_path / "memory", **opened)
    remember(memory.user("alice"), FACT)
    memory.user("alice").recall(QUESTION, keep_receipt=False)
    with holding("alice"), pytest.raises(DatabaseLocked):
        memory.close()
    assert caplog.text.count("usage_not_booked") == 1
