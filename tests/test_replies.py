"""The background beside replies that somebody waits for: it steps back for them, and goes on all the same."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from langmem_tiers import Memory, Turn, replies
from langmem_tiers.models.langchain_embedder import LangChainEmbedder
from langmem_tiers.testing import HashEmbedder

_LONG = 60.0


class Ordered(LangChainEmbedder):
    """A model in this process that notes what it is asked for in which order; queries wait until they may go on."""

    runs_here = True

    def __init__(self) -> None:
        super().__init__(HashEmbedder())
        self.order: list[str] = []
        self.asked, self.may_answer, self.embedded = threading.Event(), threading.Event(), threading.Event()

    def embed_query(self, text):
        self.order.append("begun")
        self.asked.set()
        assert self.may_answer.wait(_LONG)
        self.order.append("answered")
        return super().embed_query(text)

    def embed_documents(self, texts):
        self.order.append("documents")
        self.embedded.set()
        return super().embed_documents(texts)


@pytest.fixture
def patient(monkeypatch):
    """A function that sets for how many seconds the background gives way at most; it gives an event: that it does."""

    def of(seconds):
        gives_way, busy = threading.Event(), replies._Replies._busy

        def noted(self):
            gives_way.set()
            return busy(self)

        monkeypatch.setattr(replies._Replies, "_busy", noted)
        monkeypatch.setattr(replies, "LONGEST_WAY", seconds)
        return gives_way

    return of


def robots(first, last):
    return [Turn(role="user", content=f"The robot number {number} is red.") for number in range(first, last)]


@pytest.fixture
def recall(tmp_path):
    """A space while something is recalled in it, the embedder that this waits for, and what is recalled."""
    embedder = Ordered()
    with Memory.open(tmp_path, embedder=embedder) as memory, ThreadPoolExecutor(1) as thread:
        space = memory.user("alice")
        space.track(robots(0, 3), session="s")
        assert memory.flush(_LONG)
        embedder.order.clear()
        embedder.embedded.clear()
        recalled = thread.submit(space.recall, "What about the robot number 2?", session="other")
        assert embedder.asked.wait(_LONG)
        yield space, embedder, recalled
        embedder.may_answer.set()


def test_documents_are_embedded_after_a_recall_that_runs(recall, patient):
    gives_way = patient(_LONG)
    space, embedder, recalled = recall
    space.track(robots(3, 9), session="s")
    assert gives_way.wait(_LONG)
    embedder.may_answer.set()
    assert recalled.result(_LONG).items
    assert space.flush(_LONG)
    assert embedder.order == ["begun", "answered", "documents"]


def test_a_recall_that_takes_long_does_not_keep_documents_from_being_embedded(recall, patient):
    patient(0.01)
    space, embedder, recalled = recall
    space.track(robots(3, 9), session="s")
    assert embedder.embedded.wait(_LONG)
    assert not recalled.done()


def test_what_is_filed_gives_way_to_replies_turn_by_turn(tmp_path, monkeypatch):
    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        space = memory.user("alice")
        space.track(robots(0, 20), session="s")
        waited = []
        monkeypatch.setattr("langmem_tiers.replies._Replies._busy", lambda self: waited.append(self) or 0.0)
        assert space.flush()
        assert len(waited) > 20


def test_a_reply_does_not_wait_for_itself_nor_for_others(patient):
    patient(_LONG)
    with ThreadPoolExecutor(1) as other, replies.running():
        replies.give_way()
        with replies.running():
            replies.give_way()
        waiting = other.submit(replies.give_way)
        assert not waiting.done()
    waiting.result(_LONG)


def interrupting(line):
    """A trace function that interrupts the thread at this line of those that begin a reply."""
    lines = iter(range(line + 1))

    def trace(frame, event, _):
        if frame.f_code.co_filename == replies.__file__ and event == "line" and next(lines, None) == line:
            raise KeyboardInterrupt
        return trace

    return trace


def test_a_reply_that_is_interrupted_as_it_begins_is_over():
    before = sys.gettrace()
    interrupted = 0
    for line in range(20):
        reply = replies.running()
        sys.settrace(interrupting(line))
        try:
            reply.__enter__()
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            sys.settrace(before)
        if interrupted <= line:
            reply.__exit__(None, None, None)
    assert interrupted > 3
    with replies.running():
        assert replies.alone()
