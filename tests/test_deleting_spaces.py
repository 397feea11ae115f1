"""Deleting a whole space while the memory is open: nothing of it is left, and nothing brings it back."""

import sys
import threading
import time

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import DatabaseLocked, ForgetChanged, MissingUser, StorageError
from langmem_tiers.testing import HashEmbedder
from tests import engines

CANARY = "kz77qx41"


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "langmem-tiers.toml").write_text('format = 1\n[spaces."users/alice".recall]\nlimit = 3\n')
    with Memory.open(folder, embedder=HashEmbedder()) as opened:
        opened.user("alice").track([Turn(role="user", content=f"My badge is {CANARY}.", message_id="a1")], session="s")
        opened.user("ben").track([Turn(role="user", content="I play the cello.", message_id="b1")], session="s")
        opened.flush()
        yield opened


def test_a_preview_deletes_nothing_and_makes_no_space(memory):
    assert memory.delete_user("alice").counts["drawers"] == 1
    assert not memory.delete_user("carla").exists
    assert memory.spaces() == ("users/alice", "users/ben")


def test_a_deleted_user_is_gone_from_every_file(memory):
    assert CANARY.encode() in engines.kept(memory.path)
    memory.delete_user("alice", confirm=memory.delete_user("alice").token)
    memory.flush()
    assert memory.spaces() == ("users/ben",)
    left = engines.kept(memory.path, gone=["users/alice"])
    assert CANARY.encode() not in left
    assert b"users/alice" not in left
    assert len(memory.user("ben").drawers()) == 1


@pytest.mark.folder
def test_each_other_space_is_looked_into_once(tmp_path):
    opened = []
    listening = [True]

    def hear(event, arguments):
        if event == "sqlite3.connect" and listening:
            opened.append(str(arguments[0]))

    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        for user in ("alice", "ben"):
            memory.user(user).track([Turn(role="user", content="I play the cello.")], session="s")
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        sys.addaudithook(hear)
        memory.delete_user("alice", confirm=True)
        listening.clear()
    assert len([each for each in opened if "users-ben" in each]) == 1


def test_closing_does_not_bring_a_deleted_user_back(tmp_path, memory):
    memory.user("alice").recall("What is my badge?")
    memory.delete_user("alice", confirm=True)
    memory.close()
    assert CANARY.encode() not in engines.kept(memory.path, gone=["users/alice"])
    assert not list(memory.path.rglob("*alice*"))


def test_what_is_said_later_begins_an_empty_space(memory):
    alice = memory.user("alice")
    memory.delete_user("alice", confirm=True)
    alice.track([Turn(role="user", content="I am new here.", message_id="a1")], session="s")
    memory.flush()
    assert [each.content for each in alice.drawers()] == ["I am new here."]
    assert "new" in alice.recall("Who is new here?").block


def test_what_another_space_showed_of_a_deleted_one_goes_too(memory):
    ben = memory.user("ben", fallbacks=["users/alice"])
    assert CANARY in ben.recall("Which badge is mine?", session="t", message_id="q1", threshold=0).block
    assert memory.delete_user("alice").traces == 1
    memory.delete_user("alice", confirm=True)
    assert CANARY.encode() not in engines.kept(memory.path)
    assert memory.user("ben").receipts() == ()


def test_a_token_stands_for_the_space_as_it_was(memory):
    token = memory.delete_user("alice").token
    memory.user("alice").track([Turn(role="user", content="And I sing.", message_id="a2")], session="s")
    with pytest.raises(ForgetChanged):
        memory.delete_user("alice", confirm=token)


def test_what_is_said_while_a_deletion_waits_is_not_deleted_with_a_token_from_before(memory):
    alice, token, told = memory.user("alice"), memory.delete_user("alice").token, []

    def delete():
        try:
            memory.delete_user("alice", confirm=token)
        except ForgetChanged as error:
            told.append(error)

    thread = threading.Thread(target=delete)
    with memory.use("users/alice"):
        thread.start()
        while not alice.context.closing():
            time.sleep(0.01)
        with Memory.open(memory.path, embedder=None, background=False) as other:
            other.user("alice").track([Turn(role="user", content="And I sing.", message_id="a2")], session="s")
    thread.join()
    assert told
    assert len(alice.drawers()) == 2


def test_two_deletions_of_one_space_wait_for_each_other(memory, monkeypatch):
    place = type(memory.user("alice").context.backend)
    usual, inside, most = place.delete, [], []

    def slowly(*given):
        inside.append(1)
        time.sleep(0.3)
        most.append(len(inside))
        usual(*given)
        inside.pop()

    monkeypatch.setattr(place, "delete", slowly)
    both = [threading.Thread(target=memory.delete_user, args=("alice",), kwargs={"confirm": True}) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert most == [1, 1]
    assert memory.spaces() == ("users/ben",)


@pytest.mark.folder
def test_a_space_that_another_process_has_open_is_not_deleted(memory):
    from filelock import FileLock

    folder = memory.path / "spaces"
    lock = FileLock(next(each for each in folder.iterdir() if "alice" in each.name) / "chroma.lock")
    memory.close()
    settings = (memory.path / "langmem-tiers.toml").read_text()
    with Memory.open(memory.path, embedder=None) as other, lock:
        with pytest.raises(DatabaseLocked):
            other.delete_user("alice", confirm=True)
        assert other.user("alice").context.settings.recall.limit == 3
    assert (memory.path / "langmem-tiers.toml").read_text() == settings


@pytest.mark.folder
@pytest.mark.parametrize("background", [False, True])
def test_a_space_that_another_process_deleted_is_told_once_and_then_begun_anew(memory, background):
    memory.close()
    with (
        Memory.open(memory.path, embedder=None, background=background) as there,
        Memory.open(memory.path, embedder=None, background=False) as other,
    ):
        alice = there.user("alice")
        assert CANARY in alice.recall("Which badge is mine?").block
        other.delete_user("alice", confirm=True)
        other.user("alice").graph.add_relation("Lena", "lives_in", "Porto")
        with pytest.raises(StorageError, match="was deleted since it was opened"):
            alice.graph.entities()
        assert {each.name for each in alice.graph.entities()} == {"Lena", "Porto"}
        alice.track([Turn(role="user", content="I am new here.", message_id="a1")], session="s")
        assert there.flush()
        assert CANARY not in alice.recall("Which badge is mine?").block
        assert [each.content for each in other.user("alice").drawers()] == ["I am new here."]


def test_whoever_works_with_a_space_is_waited_for(memory):
    entered, leave = threading.Event(), threading.Event()

    def work():
        with memory.use("users/alice"):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(10)
    threading.Timer(0.3, leave.set).start()
    memory.delete_user("alice", confirm=True)
    thread.join()
    assert memory.spaces() == ("users/ben",)


def test_nobody_is_no_user(memory):
    with pytest.raises(MissingUser):
        memory.delete_user("", confirm=True)


def test_the_settings_of_a_deleted_user_are_not_in_force_any_more(memory):
    assert memory.user("alice").context.settings.recall.limit == 3
    memory.delete_user("alice", confirm=True)
    assert memory.user("alice").context.settings.recall.limit != 3
