"""Random use of a memory by two processes, with kills, reopenings, exports and restores: it holds what a model holds.

The model is a few dictionaries of what must be found word for word and of what must be gone. `make test-life` makes
longer runs.
"""

import os
import re
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import MergeRefused
from langmem_tiers.settings import DreamSettings, KnowledgeSettings, MiningSettings
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.life.second_process import SecondProcess

RUNS = int(os.environ.get("LIFE_RUNS", "4"))
STEPS = int(os.environ.get("LIFE_STEPS", "20"))
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
PLACES = st.integers(0, 1000)
SESSIONS = st.sampled_from(["monday", "tuesday", "wednesday"])
KEYS = st.sampled_from(["session/s/plan", "session/s/list", "patrol/p/state"])
PATHS = st.sampled_from(["MEMORY.md", "memory/a.md", "b.txt"])
THINGS = ("kettle", "ladder", "violin", "anchor", "lantern", "saddle")
BY_HAND = Settings(
    dream=DreamSettings(enabled=False),
    mining=MiningSettings(enabled=False),
    knowledge=KnowledgeSettings(enrich=False),
)


def opened(folder, clock):
    return Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock, settings=BY_HAND)


class Life(RuleBasedStateMachine):
    """A user's memory in this process and in another one, and what they must say."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="life-"))
        self.folder = self.place / "memory"
        self.clock = FrozenClock(START)
        self.memory = opened(self.folder, self.clock)
        self.other = SecondProcess.shared()
        self.abandoned = []
        self.count = 0
        self.messages, self.entries, self.aside = {}, {}, {}
        self.relations, self.documents, self.scratch, self.tasks = {}, {}, {}, {}
        self.identity, self.gone = "", set()

    def teardown(self):
        try:
            self.require_whole()
        finally:
            self.other.drop(self.folder)
            self.memory.close()
            for each in self.abandoned:
                each.close()
            shutil.rmtree(self.place)

    @property
    def alice(self):
        return self.memory.user("alice")

    def text(self, about="keeps"):
        """A text of which nothing else has the word."""
        self.count += 1
        self.clock.tick(60)
        return f"The user {about} the {THINGS[self.count % 6]} of word{self.count}x."

    def drawn(self, held, place):
        names = sorted(held)
        return names[place % len(names)] if names else None

    # Messages.

    @rule(session=SESSIONS, many=st.integers(1, 3))
    def track(self, session, many):
        turns = [Turn(role="user", content=self.text(), message_id=f"m{self.count}") for _ in range(many)]
        report = self.alice.track(turns, session=session)
        assert len(report.stored) == many
        assert self.alice.track(turns, session=session).stored == ()
        self.messages |= {turn.message_id: (turn.content, session) for turn in turns}

    @rule(place=PLACES)
    def recall(self, place):
        if name := self.drawn(self.messages, place):
            content, _ = self.messages[name]
            word = re.search(r"word\d+x", content)[0]
            found = self.alice.recall(f"What of {word}?", session="asking", window=(), threshold=0, keep_receipt=False)
            assert content in [each.drawer.content for each in found.items]

    @rule(place=PLACES)
    def recall_what_is_gone(self, place):
        if word := self.drawn(self.gone, place):
            found = self.alice.recall(f"What of {word}?", session="asking", threshold=0, keep_receipt=False)
            assert word not in found.block

    @rule(place=PLACES, whole=st.booleans())
    def forget(self, place, whole):
        if name := self.drawn(self.messages, place):
            session = self.messages[name][1]
            chosen = {"session": session} if whole else {"messages": name}
            preview = self.alice.forget(**chosen)
            self.alice.forget(**chosen, confirm=preview.token)
            going = {each for each, (_, where) in self.messages.items() if where == session} if whole else {name}
            for each in going:
                self.gone.add(re.search(r"word\d+x", self.messages.pop(each)[0])[0])

    # What is known.

    @rule()
    def save(self):
        entry = self.alice.knowledge.save(said := self.text("owns"), origin="user").entry
        self.entries[entry.id] = said

    @rule(place=PLACES)
    def update(self, place):
        if name := self.drawn(self.entries, place):
            said = self.text("sold")
            self.alice.knowledge.update(name, content=said, origin="user")
            self.entries[name] = said

    @rule(place=PLACES, back=st.booleans())
    def deactivate(self, place, back):
        if back and (name := self.drawn(self.aside, place)):
            self.alice.knowledge.reactivate(name, origin="user")
            self.entries[name] = self.aside.pop(name)
        elif not back and (name := self.drawn(self.entries, place)):
            self.alice.knowledge.deactivate(name, origin="user")
            self.aside[name] = self.entries.pop(name)

    @rule(place=PLACES)
    def delete(self, place):
        if name := self.drawn(self.entries, place):
            said = self.entries.pop(name)
            self.alice.knowledge.delete(name, origin="user")
            self.gone.add(re.search(r"word\d+x", said)[0])

    @rule(place=PLACES)
    def search(self, place):
        if name := self.drawn(self.entries, place):
            word = re.search(r"word\d+x", self.entries[name])[0]
            assert self.entries[name] in [each.entry.content for each in self.alice.knowledge.search(word)]

    # The graph.

    @rule(place=st.integers(0, 5), predicate=st.sampled_from(["owns", "likes"]))
    def relate(self, place, predicate):
        self.count += 1
        made = self.alice.graph.add_relation(
            f"Captain {place}", predicate, f"Boat word{self.count}x", valid_from="2020"
        ).relation
        self.relations[made.id] = f"Boat word{self.count}x"

    @rule(place=PLACES)
    def withdraw(self, place):
        if name := self.drawn(self.relations, place):
            self.alice.graph.delete_relation(name)
            del self.relations[name]

    @rule(place=PLACES)
    def correct(self, place):
        if name := self.drawn(self.relations, place):
            said = self.relations.pop(name)
            made = self.alice.graph.correct_relation(name, valid_from="2021", valid_to="2023")
            self.relations[made.id] = said

    @rule(one=st.integers(0, 5), two=st.integers(0, 5), back=st.booleans())
    def merge(self, one, two, back):
        graph = self.alice.graph
        names = [f"Captain {one}", f"Captain {two}"]
        known = [graph.entity(each) for each in names]
        if all(known) and known[0].id != known[1].id:
            try:
                merged = graph.merge(known[0].id, known[1].id)
            except MergeRefused:
                return
            if back:
                graph.unmerge(merged.id)

    # Notes, scratch space, tasks, identity.

    @rule(path=PATHS, gone=st.booleans())
    def document(self, path, gone):
        if gone:
            assert self.alice.documents.delete(path) == (self.documents.pop(path, None) is not None)
        else:
            self.documents[path] = self.alice.documents.write(path, self.text("wrote")).content

    @rule(key=KEYS, gone=st.booleans())
    def work(self, key, gone):
        if gone:
            assert self.alice.working.delete(key) == (self.scratch.pop(key, None) is not None)
        else:
            self.scratch[key] = self.text("plans")
            self.alice.working.save(key, self.scratch[key], ttl_minutes=30_000)

    @rule(place=PLACES, over=st.booleans())
    def task(self, place, over):
        name = self.drawn({each for each, status in self.tasks.items() if status == "open"}, place)
        if over and name:
            self.alice.tasks.complete(name, summary=self.text("did"))
            self.tasks[name] = "completed"
        else:
            self.count += 1
            self.tasks[self.alice.tasks.start(f"Task {self.count}", id=f"t{self.count}").id] = "open"

    @rule()
    def write_identity(self):
        self.identity = self.alice.identity.write(self.text("is")).text

    # Dreams.

    @rule()
    def dream(self):
        """What a dream did is taken back, and leaves no trace in what is known."""
        report = self.alice.dream()
        if report.status == "applied":
            self.alice.undo_dream(report.id)

    # A hostile day.

    @rule(how=st.sampled_from(["close", "abandon"]))
    def reopen(self, how):
        """Closed, or dropped as it is: the files stay open until the end, as those of a process that hangs."""
        if how == "close":
            self.memory.close()
        else:
            self.abandoned.append(self.memory)
        self.memory = opened(self.folder, self.clock)

    @rule(session=SESSIONS, dies=st.none() | st.integers(0, 200))
    def elsewhere(self, session, dies):
        """Another process tracks, saves and writes, and is killed while it goes on."""
        message, entry, note = self.text(), self.text("owns"), self.text("wrote")
        name = f"m{self.count}"
        told = self.other.work(
            self.folder,
            self.clock(),
            dies=dies,
            session=session,
            message=[name, message],
            entry=entry,
            note=["b.txt", note],
        )
        self.messages[name] = (message, session)
        self.entries[told] = entry
        self.documents["b.txt"] = note

    @rule()
    def flush(self):
        assert self.alice.flush()
        assert self.alice.stats().pending == 0

    @rule()
    def export(self):
        """Another memory that is made of the export is equal, unless nothing was ever stored."""
        if not self.count:
            return
        file = self.place / "export.json.gz"
        self.alice.export(file, force=True)
        with opened(self.place / f"copy{self.count}", self.clock) as copy:
            copy.import_file(file, user="alice")
            assert copy.user("alice").fingerprint() == self.alice.fingerprint()
        shutil.rmtree(self.place / f"copy{self.count}", ignore_errors=True)

    @rule()
    def restore(self):
        """The memory goes on as its own backup, restored."""
        if not self.memory.spaces():
            return
        self.count += 1
        backup, new = self.place / f"backup{self.count}.tar", self.place / f"restored{self.count}"
        self.memory.backup(backup)
        Memory.restore(backup, new, clock=self.clock)
        before = self.alice.fingerprint()
        self.other.drop(self.folder)
        self.memory.close()
        self.folder, self.memory = new, opened(new, self.clock)
        assert self.alice.fingerprint() == before

    # What must be so.

    def require_whole(self):
        alice = self.alice
        assert {each.message_id: each.content for each in alice.drawers()} == {
            name: content for name, (content, _) in self.messages.items()
        }
        assert len(alice.drawers()) == len(self.messages)
        for status, held in (("active", self.entries), ("inactive", self.aside)):
            found = [each.entry for each in alice.knowledge.search(status=status, limit=10_000)]
            # The wordings before an update are kept, and asked for by the entry that followed them.
            assert {each.id: each.content for each in found if each.reason != "updated"} == held
        assert {name: alice.graph.relation(name).object.name for name in self.relations} == self.relations
        assert {each.path: alice.documents.read(each.path).content for each in alice.documents.list()} == self.documents
        assert {each.key: alice.working.get(each.key).value for each in alice.working.list()} == self.scratch
        assert {each.id: each.status for each in alice.tasks.list(limit=10_000)} == self.tasks
        assert alice.identity.read().text == self.identity
        assert alice.flush()
        assert [each.message for each in alice.doctor() if each.level == "problem"] == []


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=RUNS,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate),  # to make a failing run shorter takes many times as long as to find it
)
