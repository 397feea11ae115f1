"""The kinds of writing that are killed half-way: what each does, on a memory that holds something of everything.

Each does the same when it is run again, so that after a kill and a second run a memory must say what it says after one
run in peace. What it says is the state: a text for each slot, such as `document:MEMORY.md`. A number after `#` counts
the versions of what is written over and over.
"""

import json
import re
import tomllib
from collections import defaultdict
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import AlreadyThere
from langmem_tiers.integrations import TieredStore
from langmem_tiers.settings import DreamSettings, EpisodeSettings
from langmem_tiers.settings_file import set_value
from langmem_tiers.testing import FrozenClock, HashEmbedder

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SECRET_WORD = "zanzibarquux"
NAMES = ("Lena", "Tom", "Ana", "Ben", "Mia", "Paul", "Olga", "Rita")
TOWNS = ("Porto", "Bergen", "Lisbon", "Graz", "Oslo", "Turin", "Ghent", "Malmo")
ITEMS = ("memories", "alice")

WRITINGS = {}
WHOLE = {"dream", "undo", "forget", "merge", "restore", "delete space", "migrate", "delete entry", "store batch"}
"""What is done in one transaction or with one switch: after a kill all of it is there or nothing."""


def writing(act):
    """Registers a kind of writing under the name of its function."""
    WRITINGS[act.__name__.replace("_", " ")] = act
    return act


@contextmanager
def opened(place, *, background=False, days=1):
    """The memory of a round, some days after what is in it was said."""
    clock = FrozenClock(START)
    clock.tick(days * 86_400)
    settings = Settings(dream=DreamSettings(enabled=False), episodes=EpisodeSettings(ttl_days=3650))
    given = {"embedder": HashEmbedder(), "background": background, "clock": clock, "settings": settings}
    memory = Memory.open(place / "memory", **given)
    yield memory
    memory.close()


def said(number):
    """What the user says in a message of this number."""
    name, town = NAMES[number % 8], TOWNS[number * 3 % 8]
    kinds = (
        f"My friend {name} moved to {town}. We met there in room {number}.",
        f"I prefer tea number {number} to coffee.",
        f"{name} works at Company {number} in {town}.",
        f"Number {number} was a fine day; I walked for {number} hours.",
    )
    return kinds[number % 4]


def turns(first, stop, mark):
    """Messages with ids."""
    return [Turn(role="user", content=said(each), message_id=f"{mark}{each}") for each in range(first, stop)]


def fill(place):
    """The memory that all begin with."""
    with opened(place, days=0) as memory:
        alice = memory.user("alice")
        for session in range(3):
            alice.track(turns(session * 8, session * 8 + 8, "b"), session=f"base{session}", project="atlas")
        for fact in ("The user lives in Graz.", "The user prefers tea to coffee.", "The user hikes in the Alps."):
            alice.knowledge.save(fact, origin="user", evidence=[1])
        alice.knowledge.save(f"The user knows {SECRET_WORD}.", origin="user")
        alice.track([Turn(role="user", content=f"The word is {SECRET_WORD}.", message_id="secret")], session="secret")
        alice.graph.add_relation("user", "has_sister", "Lena")
        alice.graph.add_relation("Lena", "lives_in", "Porto")
        alice.graph.add_relation("Magdalena", "works_at", "Acme")
        alice.graph.add_relation("Magda", "lives_in", "Ghent")
        alice.documents.write("MEMORY.md", "# Notes\n\nThe kettle is red.")
        alice.identity.write("Name: Alice")
        alice.working.save("session/base0/plan", "Buy bread.", ttl_minutes=40_000)
        alice.tasks.start("Move house", id="move")
        TieredStore(memory).put(ITEMS, "base", {"text": "A stored item."})
        memory.user("bob").track(turns(0, 3, "o"), session="bob")
    with opened(place) as memory:
        memory.flush()


def state(place, *, days=1):
    """All that the memory says, by slot; what is there more than once is several texts."""
    found = defaultdict(list)
    with opened(place, days=days) as memory:
        for name in memory.spaces():
            for slot, text in _of_space(memory.space(name)):
                found[f"{name} {slot}"].append(text)
        store = TieredStore(memory)
        for item in store.search(ITEMS, limit=1000):
            found[f"item:{item.key}"].append(json.dumps(item.value))
    file = place / "memory" / "langmem-tiers.toml"
    for key, value in tomllib.loads(file.read_text()).get("recall", {}).items() if file.exists() else ():
        found[f"setting:{key}"].append(f"#{value}")
    return {slot: sorted(texts) for slot, texts in sorted(found.items())}


def _of_space(space):
    for each in space.drawers():
        yield f"drawer:{each.message_id}", each.content
    for found in space.knowledge.search(status="all", limit=10_000):
        yield f"entry:{found.entry.content}", f"{found.entry.status} {found.entry.category}"
    for entity in space.graph.entities(limit=10_000):
        yield f"entity:{entity.name}", entity.type
        for each in space.graph.timeline(entity.id).relations:
            if each.subject.id == entity.id:
                other = each.object.name if each.object else str(each.value)
                yield f"relation:{each.subject.name} {each.predicate} {other}", str(each.period)
    for merge in space.graph.merges():
        yield f"merge:{merge.source.name}", merge.target.name
    for each in space.documents.list():
        yield f"document:{each.path}", space.documents.read(each.path).content
    yield "identity", space.identity.read().text
    for each in space.working.list():
        yield f"working:{each.key}", space.working.get(each.key).value
    for each in space.tasks.list():
        yield f"task:{each.id}", f"{each.status} {each.state}"
    for each in space.archive.recent(1000):
        yield f"episode:{each.session}", each.summary


def acknowledged(found, slot, text):
    """Whether what was acknowledged is there, or a later version of it, and once; None stands for any text."""
    held = found.get(slot, [])
    if len(held) != 1 or text is None:
        return len(held) == 1
    number, acked = (re.search(r"#(\d+)$", each) for each in (held[0], text))
    later = number and acked and held[0].split("#")[0] == text.split("#")[0] and int(number[1]) >= int(acked[1])
    return held[0] == text or bool(later)


def readable(place):
    """The bytes of all files of the memory, to look for what must be gone."""
    return b"".join(each.read_bytes() for each in sorted((place / "memory").rglob("*")) if each.is_file())


# What is written. `ack` gets a slot and the text in it once the call has returned; after `ack.begin` come the kills.


@writing
def track(place, ack):
    with opened(place) as memory:
        alice = memory.user("alice")
        for first in range(100, 160, 2):
            alice.track(turns(first, first + 2, "t"), session=f"new{first // 20}")
            for each in range(first, first + 2):
                ack(f"users/alice drawer:t{each}", said(each))


@writing
def track_with_worker(place, ack):
    with opened(place, background=True) as memory:
        for first in range(100, 140, 2):
            memory.user("alice").track(turns(first, first + 2, "t"), session=f"new{first // 20}")
            ack(f"users/alice drawer:t{first}", said(first))
        memory.flush()


@writing
def mine(place, ack):
    with opened(place) as memory:
        memory.user("alice").mine()


@writing
def embed(place, ack):
    with opened(place) as memory:
        alice = memory.user("alice")
        alice.track(turns(200, 260, "e"), session="embedded")
        ack("users/alice drawer:e259", said(259))
        ack.begin()
        alice.flush()


@writing
def archive(place, ack):
    with opened(place) as memory:
        memory.user("alice").end_session("told")
        memory.flush()


def _dreamt(memory):
    return [each for each in memory.user("alice").dreams() if each.status == "applied"]


@writing
def dream(place, ack):
    with opened(place) as memory:
        if not _dreamt(memory):
            memory.user("alice").dream()


@writing
def undo(place, ack):
    with opened(place) as memory:
        alice = memory.user("alice")
        for report in _dreamt(memory):
            alice.undo_dream(report.id)


@writing
def graph(place, ack):
    with opened(place) as memory:
        graph = memory.user("alice").graph
        for number in range(8):
            graph.add_relation(f"Captain {number}", "owns", f"Boat {number}", valid_from="2024-05")
            ack(f"users/alice entity:Boat {number}", "other")
            (relation,) = graph.timeline(f"Captain {number}").relations
            graph.correct_relation(relation.id, valid_from="2024-06", valid_to="2025-01")
        graph.export(place / "graph.json")


@writing
def merge(place, ack):
    with opened(place) as memory:
        graph = memory.user("alice").graph
        if not graph.merges():
            graph.merge("Magda", "Magdalena")


@writing
def knowledge(place, ack):
    with opened(place) as memory:
        known = memory.user("alice").knowledge
        for number in range(12):
            text = f"The user keeps bees in hive {number}."
            slot = f"users/alice entry:{text}"
            entry = known.save(text, origin="user", category="hobbies").entry
            ack(slot, f"active {entry.category}")
            if number % 3 == 2:
                ack(slot, None)  # killed between the change and the next line, it is in either state
                known.deactivate(entry.id, origin="user")
                ack(slot, f"inactive {entry.category}")
                ack(slot, None)
                known.reactivate(entry.id, origin="user")
            ack(slot, f"active {entry.category}")


@writing
def delete_entry(place, ack):
    with opened(place) as memory:
        known = memory.user("alice").knowledge
        for found in known.search(substring=SECRET_WORD, status="all"):
            known.delete(found.entry.id, origin="user")


@writing
def import_(place, ack):
    with opened(place) as memory:
        memory.import_file(place / "import.jsonl", user="alice")


@writing
def rebuild(place, ack):
    with opened(place) as memory:
        ack.begin()
        memory.user("alice").rebuild()


@writing
def migrate(place, ack):
    with opened(place) as memory:
        memory.user("alice").stats()


@writing
def documents(place, ack):
    with opened(place) as memory:
        notes = memory.user("alice").documents
        for number in range(12):
            path = f"notes/{number % 3}.md"
            notes.write(path, f"Line of {number % 3}.\n" * 40 + f"Version #{number}")
            ack(f"users/alice document:{path}", f"Line of {number % 3}.\n" * 40 + f"Version #{number}")
            notes.write("gone.md", "x")
            notes.delete("gone.md")


@writing
def identity(place, ack):
    with opened(place) as memory:
        for number in range(15):
            memory.user("alice").identity.write(f"Name: Alice #{number}")
            ack("users/alice identity", f"Name: Alice #{number}")


@writing
def store(place, ack):
    with opened(place) as memory:
        items = TieredStore(memory)
        for number in range(20):
            items.put(ITEMS, f"k{number}", {"text": f"Item {number}."})
            ack(f"item:k{number}", json.dumps({"text": f"Item {number}."}))
            items.put(ITEMS, "gone", {"text": "x"})
            items.delete(ITEMS, "gone")


@writing
def store_batch(place, ack):
    from langgraph.store.base import PutOp

    with opened(place) as memory:
        TieredStore(memory).batch([PutOp(ITEMS, f"k{number}", {"text": f"Item {number}."}) for number in range(20)])


@writing
def working(place, ack):
    with opened(place) as memory:
        scratch = memory.user("alice").working
        for number in range(20):
            key = f"session/s/{number % 4}"
            scratch.save(key, f"Value #{number}", ttl_minutes=40_000)
            ack(f"users/alice working:{key}", f"Value #{number}")


@writing
def tasks(place, ack):
    with opened(place) as memory:
        every = memory.user("alice").tasks
        for number in range(6):
            if every.get(f"t{number}") is None:
                every.start(f"Task {number}", id=f"t{number}", state="begun")
            ack(f"users/alice task:t{number}", "open begun")
        if every.get("move").status == "open":
            every.complete("move", summary="We moved house in March.")


@writing
def forget(place, ack):
    with opened(place) as memory:
        alice = memory.user("alice")
        ack.begin()
        if "secret" in {each.session for each in alice.sessions()}:
            preview = alice.forget(session="secret")
            alice.forget(session="secret", confirm=preview.token)


@writing
def delete_space(place, ack):
    with opened(place) as memory:
        if "users/bob" in memory.spaces():
            memory.delete_user("bob", confirm=True)


@writing
def close(place, ack):
    with opened(place, background=True) as memory:
        memory.user("alice").track(turns(300, 340, "c"), session="last")
        ack("users/alice drawer:c339", said(339))
        ack.begin()


@writing
def backup(place, ack):
    with opened(place) as memory:
        ack.begin()
        for name in ("copy", "copy.tar.gz"):
            try:
                memory.backup(place / name)
            except AlreadyThere:
                Memory.restore(place / name, place / f"tried-{name}")


@writing
def restore(place, ack):
    Memory.restore(place / "earlier.tar", place / "memory", force=True, clock=FrozenClock(START))


@writing
def export(place, ack):
    with opened(place) as memory:
        for name in ("all.json.gz", "memory.md", "entries"):
            memory.user("alice").export(place / name, force=True)
        memory.import_file(place / "all.json.gz", user="carol")


@writing
def sync(place, ack):
    with opened(place) as memory:
        memory.user("alice").sync(place / "folder", confirm_deletions=True)


@writing
def settings(place, ack):
    for number in range(2, 30):
        set_value(place / "memory", ("recall", "limit"), number)
        ack("setting:limit", f"#{number}")


# What is there before: the filled memory, and what some kinds need beside it.


def prepare(name, place):
    """What a kind of writing needs beside the filled memory."""
    if name in PREPARED:
        PREPARED[name](place)


def _lines(place):
    at = "2026-01-05T10:00:00+00:00"
    lines = [{"session": f"old{each // 20}", "role": "user", "content": said(each), "at": at} for each in range(80)]
    (place / "import.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))


def _told(place):
    """Something that is not mined yet."""
    with opened(place) as memory:
        memory.user("alice").track(turns(500, 516, "m"), session="told")


def _dreamt_of(place):
    dream(place, None)


def _archived(place):
    """An earlier copy, and what was done since."""
    with opened(place) as memory:
        memory.backup(place / "earlier.tar")
        memory.user("alice").track(turns(400, 410, "r"), session="since")


def _older(place):
    """The tables as an earlier version left them."""
    import sqlite3

    for file in (place / "memory").glob("spaces/*/memory.db"):
        with closing(sqlite3.connect(file)) as connection:
            for table in ("tasks", "working_entries"):
                connection.execute(f"DROP TABLE {table}")
            connection.execute("DELETE FROM migrations WHERE position >= 8")
            connection.execute("PRAGMA user_version=8")
            connection.commit()


def _synced(place):
    """A folder in step, then edited on both sides."""
    with opened(place) as memory:
        alice = memory.user("alice")
        alice.sync(place / "folder")
        alice.knowledge.save("The user sings in a choir.", origin="user")
        (place / "folder" / "identity.md").write_text("Name: Alice of Graz\n")
        (place / "folder" / "notes" / "new.md").write_text("A new note.")


PREPARED = {
    "import ": _lines,
    "mine": _told,
    "archive": _told,
    "undo": _dreamt_of,
    "restore": _archived,
    "migrate": _older,
    "sync": _synced,
}
