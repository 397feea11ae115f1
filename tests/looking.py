"""Says what damaged memories serve: a process that forks for each, so that one that hangs or crashes harms no other.

It reads a folder and a number of seconds from each line, and answers with a line of JSON.
"""

import json
import os
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

LATER = datetime(2026, 3, 2, 10, tzinfo=UTC)
QUESTIONS = [
    "Where does my violin stand?",
    "What do you know about Lena?",
    "Where does my sister Lena live?",
    "What is my favourite colour?",
    "What did we say about the kayak and the varnish?",
]


class Look:
    """What a memory serves through its doors; an error by name is an answer, any other one is none."""

    def __init__(self, memory):
        self.memory, self.alice = memory, memory.user("alice")
        self.served, self.errors, self.problems = {}, [], []

    def all(self):
        """Every door once."""
        alice = self.alice
        self._serve("blocks", self._blocks)
        self._serve("search", lambda: [each.text for asked in QUESTIONS for each in alice.search(asked)])
        self._serve("drawers", lambda: [each.content for each in alice.drawers()])
        self._serve("entries", lambda: [each.content for each in self._entries()])
        self._serve("quotes", lambda: [one.quote for each in self._entries() for one in each.evidence])
        self._serve("identity", lambda: [alice.identity.read().text])
        self._serve("documents", lambda: [alice.documents.read(each.path).content for each in alice.documents.list()])
        self._serve("episodes", lambda: [text for each in alice.archive.recent(100) for text in _texts(each)])
        self._serve("working", lambda: [alice.working.get(each.key).value for each in alice.working.list()])
        self._serve("palace", lambda: [each.line for each in self._previews()])
        self._serve("items", lambda: [text for each in self._items() for text in each.value.values()])
        self._serve("receipts", lambda: [alice.receipt_block(each.number) for each in alice.receipts()])
        self._serve("graph", self._graph)
        self._serve("work", self._work)
        self._serve("doctor", self._doctor)
        return {"served": self.served, "errors": self.errors, "problems": self.problems}

    def _serve(self, kind, read):
        from langmem_tiers.errors import MemoryTiersError

        try:
            self.served[kind] = read()
        except MemoryTiersError as error:
            self.errors.append([kind, type(error).__name__, str(error)[:300]])

    def _blocks(self):
        again = [self.alice.recall(each, session="asked", message_id=each).block for each in QUESTIONS]
        return again + [self.alice.recall(each, session="new").block for each in QUESTIONS]

    def _entries(self):
        return self.alice.knowledge.page(limit=1000, status="all").entries

    def _previews(self):
        browse = self.alice.browse
        shelves = [room for wing in browse.wings() for room in browse.rooms(wing.number, limit=1000)]
        return [each for room in shelves for each in browse.drawers(room.number, limit=1000)]

    def _items(self):
        from langmem_tiers.integrations import TieredStore

        store = TieredStore(self.memory)
        return [store.get(("memories", "alice"), "tea"), *store.search(("memories",), query="tea")]

    def _graph(self):
        edges = self.alice.graph.networkx().edges(data=True)
        names = [each.name for each in self.alice.graph.entities(limit=1000)]
        return names + [str(sorted(map(str, data.items()))) for _, _, data in edges]

    def _work(self):
        from langmem_tiers import Turn

        self.alice.track([Turn(role="user", content="My cousin Bruno repairs the old kayak.")], session="later")
        self.alice.flush()
        return []

    def _doctor(self):
        found = self.alice.doctor(deep=True)
        self.problems += [[each.check, each.message, each.way_out] for each in found if each.level == "problem"]
        return []


def _texts(episode):
    return episode.summary, episode.abstract, *episode.topics


def look(folder):
    """What the memory in a folder serves, or why it could not be opened."""
    from langmem_tiers import Memory
    from langmem_tiers.errors import MemoryTiersError
    from langmem_tiers.testing import FrozenClock, HashEmbedder

    seen = {"served": {}, "errors": [], "problems": []}
    try:
        with Memory.open(folder, embedder=HashEmbedder(), background=False, clock=FrozenClock(LATER)) as memory:
            seen = Look(memory).all()
    except MemoryTiersError as error:
        seen["errors"].append(["open or close", type(error).__name__, str(error)[:300]])
    return seen


def _answer(folder, seconds):
    """In a fork: what it saw, how it crashed, or that it did not come to an end."""
    report = Path(f"{folder}.json")
    child = os.fork()
    if not child:
        errors = os.open(f"{folder}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(errors, 2)
        report.write_text(json.dumps(look(folder)))
        os._exit(0)
    until = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"hang": seconds}
        time.sleep(0.01)
    code = os.waitstatus_to_exitcode(ended[1])
    if code:
        return {"crash": code, "stderr": Path(f"{folder}.err").read_text()[-3000:]}
    return json.loads(report.read_text())


if __name__ == "__main__":
    import chromadb  # noqa: F401

    import langmem_tiers.maintenance.doctor
    import langmem_tiers.recall.pipeline  # noqa: F401

    for line in sys.stdin:
        given, limit = line.rsplit(maxsplit=1)
        print(json.dumps(_answer(given, float(limit))), flush=True)
