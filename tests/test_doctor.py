"""The doctor finds each fault by the right check, and rebuilding mends what follows from the records."""

import json
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import chromadb
import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.storage.chroma import checksums
from langmem_tiers.testing import HashEmbedder

QUESTION = "Where are the robot and the violin?"


def user(content, message_id=None) -> Turn:
    return Turn(role="user", content=content, message_id=message_id)


def opened(folder, embedder=None) -> Memory:
    return Memory.open(folder, embedder=embedder or HashEmbedder(), background=False)


def problems(space) -> list[str]:
    return [finding.check for finding in space.doctor() if finding.level == "problem"]


def found(space) -> list[tuple]:
    candidates = space.recall(QUESTION, keep_receipt=False).receipt.candidates
    return [(each.drawer, dict(each.scores)) for each in candidates]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A healthy memory, closed: nine drawers stand and one is superseded."""
    with opened(tmp_path) as memory:
        alice = memory.user("alice")
        alice.track([user(f"The robot and violin {n} are in room {n}.", str(n)) for n in range(9)], session="s")
        alice.flush()
        alice.track([user("The robot has left.", "3")], session="s")
        alice.flush()
    return tmp_path


def sql(folder: Path, *statements: str) -> None:
    (file,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def in_chroma(folder: Path):
    """Chroma's own collection of the space, as another program would open it."""
    (file,) = folder.rglob("chroma.sqlite3")
    client = chromadb.PersistentClient(str(file.parent), settings=chromadb.Settings(anonymized_telemetry=False))
    return client, client.get_collection("drawers", embedding_function=None)


# Healthy


def test_a_healthy_space_has_no_problem_and_every_projection_was_looked_at(folder):
    with opened(folder) as memory:
        findings = memory.user("alice").doctor()
        assert {finding.level for finding in findings if finding.check != "sqlite"} == {"ok"}
        assert {finding.check for finding in findings} == {
            "sqlite",
            "records",
            "keyword index",
            "background",
            "vectors",
            "Chroma",
            "graph",
        }


def test_an_empty_space_has_no_problem(memory):
    assert problems(memory.user("nobody")) == []


def test_what_still_waits_is_a_note_and_no_problem(alice):
    alice.track([user("The robot is red.")], session="s")
    assert [finding.check for finding in alice.doctor() if finding.level == "note" and finding.check != "sqlite"] == [
        "background",
        "background",
    ]
    assert problems(alice) == []


def test_the_doctor_changes_nothing(folder):
    with opened(folder) as memory:
        alice = memory.user("alice")
        before = alice.stats(), alice.drawers(), alice.receipts()
        assert alice.doctor() == alice.doctor()
        assert (alice.stats(), alice.drawers(), alice.receipts()) == before


def test_without_an_embedder_vectors_are_not_looked_at(folder):
    with Memory.open(folder, embedder=None, background=False) as memory:
        checks = {finding.check for finding in memory.user("alice").doctor()}
        assert {"vectors", "Chroma"}.isdisjoint(checks)


def test_every_problem_says_what_mends_it(folder):
    sql(folder, "DELETE FROM keyword WHERE rowid = 2")
    with opened(folder) as memory:
        (problem,) = [finding for finding in memory.user("alice").doctor() if finding.level == "problem"]
        assert "rebuild" in problem.way_out
        assert "1 drawer is missing and 0 are too many" in problem.message


# Faults in what follows from the records


CUT = "UPDATE embeddings SET vector = substr(vector, 1, 40) WHERE text_hash = (SELECT min(text_hash) FROM embeddings)"
NAN = f"UPDATE embeddings SET vector = X'{struct.pack('<64f', *[float('nan')] * 64).hex()}' WHERE text_hash = "
NAN += "(SELECT text_hash FROM chunks WHERE drawer = 1)"
FAULTS = {
    "keyword row missing": ("keyword index", ["DELETE FROM keyword WHERE rowid = 2"]),
    "keyword rows missing": ("keyword index", ["DELETE FROM keyword"]),
    "keyword row too many": ("keyword index", ["INSERT INTO keyword (rowid, content) VALUES (999, 'ghost')"]),
    "superseded still indexed": ("keyword index", ["INSERT INTO keyword (rowid, content) VALUES (4, 'old')"]),
    "keyword index damaged": ("keyword index", ["DELETE FROM keyword_data WHERE id > 10"]),
    "keyword index with too many levels": (
        "keyword index",
        ["UPDATE keyword_data SET block = X'000000009F50000000' WHERE id = 10"],
    ),
    "keyword rows changed": ("keyword index", ["UPDATE keyword_content SET c0 = 'other words' WHERE id = 2"]),
    "keyword table gone": ("keyword index", ["DROP TABLE keyword"]),
    "vector cut": ("vectors", [CUT]),
    "vector not finite": ("vectors", [NAN]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_projection_is_found_by_its_check_and_mended_by_rebuilding(folder, fault):
    with opened(folder) as memory:
        healthy = found(memory.user("alice"))
    check, statements = FAULTS[fault]
    sql(folder, *statements)
    with opened(folder) as memory:
        alice = memory.user("alice")
        assert problems(alice) == [check]
        alice.rebuild()
        assert alice.flush()
        assert problems(alice) == []
        assert found(alice) == healthy


def test_vectors_that_are_gone_are_missed_and_made_again(folder):
    with opened(folder) as memory:
        healthy = found(memory.user("alice"))
    sql(folder, "DELETE FROM embeddings WHERE text_hash = (SELECT text_hash FROM chunks WHERE drawer = 1)")
    embedder = HashEmbedder()
    with opened(folder, embedder) as memory:
        alice = memory.user("alice")
        assert "vectors" in problems(alice)
        alice.rebuild()
        assert alice.flush()
        assert (problems(alice), found(alice), embedder.documents_embedded) == ([], healthy, 1)


@pytest.mark.parametrize("damage", [CUT, NAN])
def test_a_vector_that_can_not_be_used_does_not_keep_recall_from_the_others(folder, damage):
    sql(folder, damage)
    with opened(folder) as memory:
        recalled = memory.user("alice").recall(QUESTION, session="t", limit=20)
        assert len(recalled.items) >= 8


# Chroma


def test_vectors_swapped_in_chroma_are_found_and_mended_by_rebuilding(folder):
    client, collection = in_chroma(folder)
    collection.delete(ids=["1.0"])
    collection.add(ids=["999.0"], embeddings=[[1.0] * 64])
    client.close()
    (file,) = folder.rglob("chroma.sqlite3")  # as if it had been left so
    sql(folder, f"UPDATE facts SET value = '{json.dumps(checksums(file.parent))}' WHERE name = 'chroma.files'")
    with opened(folder) as memory:
        alice = memory.user("alice")
        (problem,) = [finding for finding in alice.doctor() if finding.level == "problem"]
        assert (problem.check, problem.message) == ("Chroma", "1 vector is missing and 1 is too many")
        alice.rebuild()
        assert problems(alice) == []


@pytest.mark.parametrize("fault", ["missing", "too many", "swapped"])
def test_a_chroma_folder_with_other_vectors_is_not_trusted_and_built_anew(folder, fault):
    client, collection = in_chroma(folder)
    if fault != "too many":
        collection.delete(ids=["1.0"])
    if fault != "missing":
        collection.add(ids=["999.0"], embeddings=[[1.0] * 64])
    client.close()
    with opened(folder) as memory:
        (chroma,) = [finding for finding in memory.user("alice").doctor() if finding.check == "Chroma"]
        assert (chroma.level, chroma.message) == ("ok", "9 vectors, as in the records")


def test_a_file_in_the_place_of_chroma_is_moved_aside(folder):
    (chroma,) = folder.glob("spaces/*/chroma")
    shutil.rmtree(chroma)
    chroma.write_text("x")
    with opened(folder) as memory:
        alice = memory.user("alice")
        before = found(alice)
        assert problems(alice) == []
        assert "Chroma: 9 vectors in a fresh folder" in alice.rebuild()
        assert found(alice) == before
    (aside,) = chroma.parent.glob("chroma.*.aside")
    assert (chroma.is_dir(), aside.read_text()) == (True, "x")


@pytest.mark.parametrize("name", ["graph.json", "chroma.lock"])
def test_a_folder_in_the_place_of_a_file_is_named_and_removing_it_mends_it(folder, name):
    (space,) = folder.glob("spaces/*/")
    (space / name).unlink(missing_ok=True)
    (space / name).mkdir()
    with opened(folder) as memory:
        alice = memory.user("alice")
        before = found(alice)
        (problem,) = [each for each in alice.doctor(deep=True) if each.level == "problem"]
        assert str(space / name) in f"{problem.message} {problem.way_out}"
        assert problem.way_out.startswith("Remove th")
        alice.rebuild()
        assert found(alice) == before
    (space / name).rmdir()
    with opened(folder) as memory:
        assert problems(memory.user("alice")) == []
        assert found(memory.user("alice")) == before


def test_a_chroma_folder_that_was_deleted_is_built_anew_without_a_word(folder, caplog):
    (chroma,) = folder.glob("spaces/*/chroma")
    shutil.rmtree(chroma)
    with opened(folder) as memory:
        (finding,) = [finding for finding in memory.user("alice").doctor() if finding.check == "Chroma"]
        assert (finding.level, finding.message) == ("ok", "9 vectors, as in the records")
    assert [record for record in caplog.records if "chroma" in record.getMessage()] == []


# Faults in the records themselves


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO chunks (space, drawer, ordinal, start, stop, text_hash) VALUES ('.', 999, 0, 0, 5, X'00')",
        "INSERT INTO turns (space, session, message_id, content_hash, drawer) VALUES ('.', 's', 'x', X'00', 999)",
        "UPDATE drawers SET room = 99 WHERE number = 2",
    ],
    ids=["chunk", "turn", "drawer"],
)
def test_a_row_that_belongs_to_nothing_is_a_fault_of_the_records_that_no_rebuilding_hides(folder, statement):
    sql(folder, statement)
    with opened(folder) as memory:
        alice = memory.user("alice")
        (problem,) = [finding for finding in alice.doctor() if finding.level == "problem"]
        assert (problem.check, "1 row b" in problem.message, "backup" in problem.way_out) == (
            "records",
            True,
            True,
        )
        alice.rebuild()
        assert problems(alice) == ["records"]


# Rebuilding


def test_rebuilding_a_healthy_space_changes_nothing_that_is_found_and_embeds_nothing(folder):
    embedder = HashEmbedder()
    with opened(folder, embedder) as memory:
        alice = memory.user("alice")
        before = found(alice), alice.drawers()
        assert len(alice.rebuild()) == 5
        assert alice.flush()
        assert ((found(alice), alice.drawers()), problems(alice)) == (before, [])
    assert embedder.documents_embedded == 0


def test_rebuilding_without_an_embedder_says_what_it_left_alone(folder):
    with Memory.open(folder, embedder=None, background=False) as memory:
        lines = memory.user("alice").rebuild()
    assert lines[:2] == ("statements: 10 drawers looked at", "keyword index: 9 drawers")
    assert "left alone" in lines[2]
