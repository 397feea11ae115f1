"""What recall does while a model that runs in this process embeds the query, and what it must not do."""

import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import ContextVar
from itertools import count
from time import monotonic, sleep

import onnxruntime
import pytest
from langchain_core.messages import HumanMessage
from meanings import user

from langmem_tiers import Memory
from langmem_tiers.errors import EmbeddingUnavailable
from langmem_tiers.graphs import recall_node
from langmem_tiers.models import threads
from langmem_tiers.models.langchain_embedder import LangChainEmbedder
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.models.threads import SpareThreads, leaving
from langmem_tiers.testing import HashEmbedder

ROBOT = "What about the robot?"
WHO = ContextVar("who", default="nobody")


class Here(LangChainEmbedder):
    """A model that runs in this process, and says something each time it is asked."""

    runs_here = True

    def __init__(self, asked: Callable[[], object] = lambda: None) -> None:
        super().__init__(HashEmbedder())
        self.asked = asked

    def embed_query(self, text):
        self.asked()
        return super().embed_query(text)


@pytest.fixture
def alice(tmp_path):
    """A function that opens a space with an embedder, closed after the test."""
    memories = []

    def of(embedder):
        memories.append(Memory.open(tmp_path / "memory", embedder=embedder, background=False))
        space = memories[-1].user("alice")
        space.track([user("The robot is red.")], session="s")
        space.flush()
        return space

    yield of
    for memory in memories:
        memory.close()


def test_the_query_is_embedded_in_one_of_a_few_threads_that_end_with_the_memory(alice):
    threads = set()
    space = alice(Here(lambda: threads.add(threading.current_thread())))
    with ThreadPoolExecutor(16) as callers:
        found = list(callers.map(lambda number: space.recall(ROBOT, session=f"t{number}"), range(64)))
    assert all(each.items and not each.receipt.notes for each in found)
    own = {thread for thread in threads if thread.name.startswith("langmem-tiers-query")}
    assert 1 <= len(own) <= os.cpu_count()
    space.memory.close()
    assert not any(thread.is_alive() for thread in own)


def test_the_model_sees_the_callers_context(alice):
    seen = []
    space = alice(Here(lambda: seen.append(WHO.get())))
    WHO.set("the caller")
    space.recall(ROBOT, session="t")
    assert seen == ["the caller"]


def is_left(folder):
    """Whether nobody reads an earlier moment any more, after a while: then SQLite's log can be emptied."""
    (database,) = folder.glob("memory/spaces/*/memory.db")
    until = monotonic() + 10
    with closing(sqlite3.connect(database)) as connection:
        while (busy := connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]) and monotonic() < until:
            sleep(0.01)
    return not busy


@pytest.mark.folder
def test_no_snapshot_is_kept_while_the_model_takes_long_and_what_is_stored_meanwhile_is_found(alice, tmp_path):
    free = []

    def slowly():
        space.track([user("The robot broke today.")], session="s")
        free.append(is_left(tmp_path))

    space = alice(Here(slowly))
    recalled = space.recall(ROBOT, session="t", threshold=0)
    assert free == [True]
    assert {item.drawer.content for item in recalled.items} == {"The robot is red.", "The robot broke today."}


@pytest.mark.folder
def test_what_another_recall_of_the_session_shows_while_the_model_takes_long_is_not_shown_again(alice, tmp_path):
    others, asked = [], count()

    def slowly():
        if next(asked) == 0:  # not when the others ask
            others.append(space.recall("Is the robot red?", session="other"))
            assert is_left(tmp_path)
            others.append(space.recall("Is the robot red?", session="t"))
            assert is_left(tmp_path)  # it began to read after that, or has left: the model took long

    space = alice(Here(slowly))
    recalled = space.recall(ROBOT, session="t")
    assert [bool(each.items) for each in (*others, recalled)] == [True, True, False]


def test_a_model_that_fails_leaves_the_words(alice):
    def fail():
        raise EmbeddingUnavailable("The model has no memory left.")

    recalled = alice(Here(fail)).recall(ROBOT, session="t")
    assert [item.drawer.content for item in recalled.items] == ["The robot is red."]
    assert recalled.receipt.notes == ("vectors: The model has no memory left.",)


def test_a_bug_of_a_model_reaches_the_caller(alice):
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        alice(Here(fail)).recall(ROBOT, session="t")


def test_the_model_begins_before_the_spaces_are_opened_and_is_asked_once(tmp_path):
    begun, asked, waited = threading.Event(), [], []

    def roles(caller, space):
        if asks:
            waited.append(begun.wait(60))
        return "leader"

    def embeds():
        asked.append(True)
        begun.set()

    asks, config = False, {"configurable": {"user_id": "alice", "thread_id": "friday"}}
    with Memory.open(tmp_path / "m", embedder=Here(embeds), roles=roles, background=False) as memory:
        memory.space("teams/robots").track([user("The robot is red.")], session="s")
        memory.flush()
        node, asks = recall_node(memory, fallbacks=["teams/robots"]), True
        found = node.invoke({"messages": [HumanMessage(ROBOT, id="q")]}, config)
    assert "The robot is red." in found["memory_blocks"]["q"]
    assert waited
    assert all(waited)
    assert asked == [True]


@pytest.fixture
def spare():
    """A thread that waits for something to do; nobody takes the interpreter from who computes."""
    usual, few = sys.getswitchinterval(), SpareThreads(1, "spare")
    few.begin(lambda: None).result()
    sys.setswitchinterval(60)
    yield few
    sys.setswitchinterval(usual)
    few.close()


def test_what_is_computed_without_the_interpreter_begins_before_the_caller_goes_on(spare):
    order, free = [], threading.Event()

    def call():
        order.append("call")
        leaving()
        assert free.wait(60)

    computing = spare.begin_computing(call)
    order.append("caller")
    free.set()
    computing.result()
    assert order == ["call", "caller"]


@pytest.mark.model
def test_the_default_model_says_that_it_leaves_the_interpreter(spare, monkeypatch):
    order, free, model = [], threading.Event(), MiniLM()
    model.prepare()
    run = onnxruntime.InferenceSession.run

    def noted(*given):
        free.wait(5)
        order.append("computed")
        return run(*given)

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", noted)
    monkeypatch.setattr(threads, "_TURN", 60)
    computing = spare.begin_computing(lambda: model.embed_query(ROBOT))
    order.append("caller")
    free.set()
    computing.result()
    assert order == ["caller", "computed"]
