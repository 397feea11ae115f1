"""However anything is called, nothing is written elsewhere, and nobody gets the memory of another.

`make test` stores under 40 names, `make test-flips` under all 1,542.
"""

import os
from contextlib import suppress

import pytest
from langgraph.store.base import InvalidNamespaceError

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.integrations import TieredStore
from langmem_tiers.naming import folder_name, user_of, user_space
from tests.hostile_names import names

STORED = int(os.environ.get("HOSTILE_NAMES", "40"))


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """A memory deep in a folder, of which everything else can be looked at; the tests run beside it."""
    beside = tmp_path / "a" / "b" / "c" / "d"
    (beside / "here").mkdir(parents=True)
    monkeypatch.chdir(beside / "here")
    with Memory.open(beside / "memory", embedder=None, background=False) as opened:
        yield opened


def files_outside(tmp_path, *folders):
    """All that is in the folder of the test, except in some folders."""
    found = (each for each in tmp_path.rglob("*") if not each.is_dir())
    return [each for each in found if not any(each.is_relative_to(folder) for folder in folders)]


def test_each_of_1542_names_has_a_space_and_a_folder_of_its_own_or_is_refused():
    spaces = {}
    for name in names():
        with suppress(MemoryTiersError):
            spaces[name] = user_space(name)
    assert len(names()) == len(set(names())) == 1542
    assert len(spaces) > 1300
    assert len({folder_name(each).casefold() for each in spaces.values()}) == len(spaces)
    assert all(user_of(space) == name for name, space in spaces.items())


def test_users_whose_names_look_alike_have_memories_of_their_own(tmp_path, memory):
    accepted = {}
    for number, name in enumerate(names(STORED)):
        with suppress(MemoryTiersError):
            memory.user(name).track([Turn(role="user", content=f"My box has number {number}.")], session=name)
            accepted[name] = number
    for name, number in accepted.items():
        space = memory.user(name)
        assert [each.content for each in space.drawers()] == [f"My box has number {number}."], name
        assert {each.text for each in space.search("What number has my box?")} <= {f"My box has number {number}."}
    assert set(memory.spaces()) == {user_space(each) for each in accepted}
    assert {each.name for each in (memory.path / "spaces").iterdir()} == {folder_name(each) for each in memory.spaces()}
    assert files_outside(tmp_path, memory.path) == []


# Everything else that has a name, and the name back.
DOORS = {
    "session": lambda space, name: space.track([Turn(role="user", content="Hello.")], session=name),
    "message": lambda space, name: space.track([Turn(role="user", content="Hello.", message_id=name)], session="s"),
    "speaker": lambda space, name: space.track([Turn(role="user", content="Hello!", speaker=name)], session="s"),
    "project": lambda space, name: space.track([Turn(role="user", content="Hi.")], session="p", project=name),
    "agent": lambda space, name: space.of_agent(name).knowledge.save(f"The agent {name!a} knows this."),
    "note": lambda space, name: space.documents.write(name, f"Called {name!a}."),
    "file": lambda space, name: space.documents.write_file(name, b"\x00"),
    "category": lambda space, name: space.knowledge.save(f"In {name!a}.", category=name, tags=[name]),
    "working": lambda space, name: space.working.save(f"session/{name}", "x", ttl_minutes=60),
    "entity": lambda space, name: space.graph.add_entity(name, type="place"),
    "task": lambda space, name: space.tasks.start(name, id=name),
    "space": lambda space, name: space.memory.space(name, fallbacks=()).knowledge.save("Of a space."),
    "store": lambda space, name: TieredStore(space.memory).put((name, name), name, {"x": 1}),
}


def test_no_name_of_anything_becomes_a_path(tmp_path, memory):
    alice = memory.user("alice")
    for name in names(STORED):
        for write in DOORS.values():
            with suppress(MemoryTiersError, InvalidNamespaceError):
                write(alice, name)
    alice.flush()
    out = tmp_path / "a" / "b" / "out"
    out.mkdir()
    alice.documents.export_folder(out / "notes")
    alice.sync(out / "synced")
    for kind in ("all.json", "memory.md", "entries"):
        alice.export(out / kind)
    alice.graph.export(out / "graph.json")
    memory.backup(out / "backup")
    assert files_outside(tmp_path, memory.path, out) == []
    assert len(alice.documents.list()) == len(files_outside(out / "notes"))
    known = {folder_name(each) for each in memory.spaces()}
    assert {each.name for each in (memory.path / "spaces").iterdir()} == known
