"""Forgetting while other things go on: a killed process, a running agent, a model that is reading, another process."""

import json
import signal
import subprocess
import sys

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langmem_tiers import Memory, Turn
from langmem_tiers.forgetting import forget
from langmem_tiers.recall.pipeline import Recall
from langmem_tiers.testing import HashEmbedder, ScriptedChatModel
from tests import engines
from tests.graphing import chat_graph, run

CANARY = "kz77qx41"
SAID = f"My parcel carries {CANARY}."

KILLED = """
import os, signal, sys
from langmem_tiers import Memory
from langmem_tiers.forgetting import forget, purge
from langmem_tiers.testing import HashEmbedder

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

folder, stage = sys.argv[1:]
memory = Memory.open(folder, embedder=HashEmbedder(), background=False)
setattr(forget if stage == "finish" else purge, stage, die)
memory.user("alice").forget(messages="a1", confirm=True)
"""


def _is_left(memory):
    return CANARY.encode() in engines.kept(memory.path)


def _remember(alice):
    said = [Turn(role="user", content=SAID, message_id="a1"), Turn(role="user", content="I sing.", message_id="a2")]
    alice.track(said, session="s")


@pytest.mark.folder
@pytest.mark.parametrize("stage", ["finish", "_rows", "_chroma", "_file"])
def test_a_killed_process_has_forgotten_and_the_bytes_go_at_the_next_open(tmp_path, stage):
    folder = tmp_path / "memory"
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        _remember(memory.user("alice"))
        memory.flush()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder), stage], check=False)
    assert killed.returncode == -signal.SIGKILL
    with Memory.open(folder, embedder=HashEmbedder()) as memory:
        alice = memory.user("alice")
        assert [each.content for each in alice.drawers()] == ["I sing."]
        memory.flush()
        assert not _is_left(memory)
        assert "hold nothing of what was deleted" in str(alice.doctor())


def test_an_agent_that_runs_meanwhile_goes_on_and_does_not_store_it_again(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")

        def forgetting(messages):
            _remember_and_forget(alice)
            return "Noted."

        model = ScriptedChatModel(responses=[forgetting, "Gladly."])
        graph = chat_graph(memory, model, compiled={"checkpointer": InMemorySaver()})
        alice.track([Turn(role="user", content=SAID, message_id="m1")], session="friday")
        graph.invoke({"messages": [{"role": "user", "content": SAID, "id": "m1"}]}, run())
        graph.invoke({"messages": [{"role": "user", "content": "Do you sing?", "id": "m2"}]}, run())
        said = [each.content for each in alice.drawers(session="friday")]
        assert said == ["Noted.", "Do you sing?", "Gladly."]


def _remember_and_forget(alice):
    assert alice.forget(messages="m1", confirm=True).counts["drawers"] == 1


def test_what_a_model_read_meanwhile_is_not_kept(tmp_path):
    def forgetting(messages):
        memory.user("alice").forget(messages="a1", confirm=True)
        fact = {"content": f"The user has a parcel {CANARY}.", "kind": "fact", "quote": SAID, "turn": 1, "corrects": ""}
        found = {"topics": [CANARY], "subject": CANARY, "facts": [fact], "entities": [], "relations": []}
        return json.dumps({**found, "feedback": []})

    model = ScriptedChatModel(responses=[forgetting])
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False, model=model) as memory:
        alice = memory.user("alice")
        _remember(alice)
        alice.mine("s")
        memory.flush()
        assert CANARY not in str(alice.knowledge.search())
        assert alice.forget(messages="a2", confirm=True).bytes == "gone"
    assert not _is_left(memory)


@pytest.mark.folder
def test_with_chroma_open_in_another_process_the_bytes_go_later(tmp_path):
    from filelock import FileLock

    folder = tmp_path / "memory"
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        _remember(memory.user("alice"))
        memory.flush()
    lock = FileLock(next((folder / "spaces").iterdir()) / "chroma.lock")
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        with lock:
            assert alice.forget(messages="a1", confirm=True).bytes == "pending"
            assert CANARY not in str(alice.drawers())
        memory.flush()
        assert "hold nothing of what was deleted" in str(alice.doctor())


@pytest.mark.folder
def test_a_backup_that_still_holds_it_is_named(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)
        memory.backup(tmp_path / "copy.tar.gz")
        assert alice.forget(messages="a1", confirm=True).backups == (str(tmp_path / "copy.tar.gz"),)


def test_an_import_does_not_bring_it_back(tmp_path):
    exported = tmp_path / "said.jsonl"
    exported.write_text(json.dumps({"session": "s", "role": "user", "content": SAID, "at": "2026-03-01T18:00:00Z"}))
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        memory.import_file(exported, user="alice")
        alice = memory.user("alice")
        alice.forget(messages=alice.drawers()[0].number, confirm=True)
        memory.import_file(exported, user="alice")
        assert alice.drawers() == ()


def _once(monkeypatch, owner, stage, happens, *, after=False):
    """Have something happen once, right before or after a stage."""
    usual = getattr(owner, stage)

    def with_it(*given):
        monkeypatch.setattr(owner, stage, usual)
        if not after:
            happens()
        done = usual(*given)
        if after:
            happens()
        return done

    monkeypatch.setattr(owner, stage, with_it)


def test_a_recall_between_the_plan_and_the_deletion_leaves_nothing(tmp_path, monkeypatch):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)

        def meanwhile():
            assert CANARY in alice.recall("What does my parcel carry?", session="t", threshold=0).block
            alice.golden.add(f"What does {CANARY} go with?", expects="parcel")

        _once(monkeypatch, forget, "_planned", meanwhile, after=True)
        assert alice.forget(messages="a1", confirm=True).counts["receipts"] == 1
        assert not _is_left(memory)


@pytest.mark.parametrize("reader", ["alice", "ben"])
def test_a_recall_in_flight_while_something_is_forgotten_stores_nothing(tmp_path, monkeypatch, reader):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)
        space = memory.user(reader, fallbacks=[] if reader == "alice" else [alice.name])
        _once(monkeypatch, Recall, "_keep", lambda: alice.forget(messages="a1", confirm=True))
        receipt = space.recall("What does my parcel carry?", session="t", threshold=0).receipt
        assert (receipt.number, space.receipts()) == (0, ())
        assert "deleted during this recall" in receipt.notes[-1]
        memory.flush()
        assert not _is_left(memory)


def _damaged(memory, name):
    (folder,) = [each for each in (memory.path / "spaces").iterdir() if name in each.name]
    kept = {each.name: each.read_bytes() for each in folder.glob("memory.db*")}
    for each in folder.glob("memory.db*"):
        each.unlink()
    (folder / "memory.db").write_bytes(b"garbage" * 1000)
    return folder, kept


@pytest.mark.folder
def test_a_damaged_space_does_not_keep_another_from_forgetting(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)
        ben = memory.user("ben", fallbacks=[alice.name])
        assert CANARY in ben.recall("What does my parcel carry?", session="t", threshold=0).block
    folder, kept = _damaged(memory, "ben")
    with Memory.open(memory.path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        receipt = alice.forget(messages="a1", confirm=True)
        assert receipt.bytes == "pending"
        assert "users/ben" in receipt.elsewhere[-1]
        assert not _is_left(memory)
        assert "still show what was forgotten" in str(alice.doctor())
        (folder / "memory.db").unlink()
        for name, held in kept.items():
            (folder / name).write_bytes(held)
        memory.flush()
        assert not _is_left(memory)
        assert "hold nothing of what was deleted" in str(alice.doctor())


@pytest.mark.folder
def test_a_damaged_space_does_not_keep_a_user_from_being_deleted(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        for name in ("alice", "ben"):
            _remember(memory.user(name))
    _damaged(memory, "ben")
    with Memory.open(memory.path, embedder=None, background=False) as memory:
        receipt = memory.delete_user("alice", confirm=memory.delete_user("alice").token)
        assert (receipt.counts["drawers"], receipt.bytes) == (2, "pending")
        assert "users/ben" in receipt.elsewhere[-1]
        assert memory.spaces() == ("users/ben",)


def test_receipts_of_another_space_go_for_the_note_that_is_forgotten_and_for_no_other(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)
        alice.documents.write("a.md", f"My parcel carries {CANARY}.\n")
        alice.documents.write("data.md", "The zeppelin is repainted every March.\n")
        ben = memory.user("ben", fallbacks=[alice.name])
        assert "zeppelin" in ben.recall("When is the zeppelin repainted?", session="t", threshold=0).block
        assert CANARY in ben.recall("What does my parcel carry?", session="u", threshold=0).block
        alice.forget(messages="a1", confirm=True)
        assert [each.session for each in ben.receipts()] == ["t"]


@pytest.mark.folder
def test_what_is_forgotten_while_another_space_is_rewritten_is_still_to_be_erased_there(tmp_path, monkeypatch):
    from langmem_tiers.storage import purging
    from langmem_tiers.storage.sqlite_file import SqliteFile as Database

    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        alice = memory.user("alice")
        _remember(alice)
        ben = memory.user("ben", fallbacks=[alice.name])
        assert CANARY in ben.recall("What does my parcel carry?", session="t", threshold=0).block
        with memory.use(ben.name) as store:

            def meanwhile():
                with store.writing() as connection:
                    purging.request(connection, store.key, at=1)

            _once(monkeypatch, Database, "rewrite", meanwhile, after=True)
            alice.forget(messages="a1", confirm=True)
            with store.reading() as connection:
                assert purging.is_pending(connection, store.key)
