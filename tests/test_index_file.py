"""The file that the index in memory begins with: the same answers with and without it, however it is damaged or old."""

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from langmem_tiers import Memory, RecallSettings, Settings, Turn
from langmem_tiers.errors import LinkRefused
from langmem_tiers.testing import FrozenClock, HashEmbedder

WORDS = "robot garden violin harbour bakery mountain kettle lantern saddle orchard compass velvet".split()  # noqa: SIM905
SETTINGS = Settings(recall=RecallSettings(trivial_words=0, recency_weight=0))
QUESTIONS = ("the robot and the violin in the orchard", "a kettle from the bakery", "which compass was on the mountain")
MANY = 300
CLOCK = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))


def said(start: int, stop: int, words=WORDS) -> list[Turn]:
    drawn = np.random.default_rng(start)
    texts = (f"{' '.join(drawn.choice(words, 5))} {number}" for number in range(start, stop))
    return [Turn(role="user", content=text, message_id=text.rpartition(" ")[2]) for text in texts]


@contextmanager
def opened(folder: Path, user="alice", **options):
    chosen = {"embedder": HashEmbedder(), "background": False, "settings": SETTINGS, "clock": CLOCK, **options}
    with Memory.open(folder, **chosen) as memory:
        yield memory.user(user)


def grow(folder: Path, start=0, stop=MANY, session="s", **options) -> None:
    with opened(folder, **options) as space:
        space.track(said(start, stop), session=session)
        space.flush()


def index(folder: Path) -> Path:
    (found,) = folder.rglob("index-*.bin")
    return found


def answers(space) -> list:
    found = [space.recall(each, keep_receipt=False, limit=8) for each in QUESTIONS]
    return [(each.block, {channel for one in each.receipt.candidates for channel in one.scores}) for each in found]


def asked(folder: Path, **options) -> list:
    with opened(folder, **options) as space:
        return answers(space)


def from_records(folder: Path) -> list:
    """The answers of the same memory without its file."""
    bare = folder.with_name(f"{folder.name}-bare")
    shutil.rmtree(bare, ignore_errors=True)
    shutil.copytree(folder, bare)
    for each in bare.rglob("index-*.bin"):
        each.unlink()
    return asked(bare)


def rows_read(folder: Path) -> int:
    """How many vectors a first recall reads from the database: the file spares it those."""
    (database,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE embeddings SET vector = zeroblob(8)")
        connection.commit()
    with opened(folder) as space:
        scored = [each.scores for each in space.recall(QUESTIONS[0], keep_receipt=False).receipt.candidates]
    return sum("vector" in each for each in scored)


def findings(space, **how) -> list[tuple[str, str]]:
    return [(each.level, each.message) for each in space.doctor(**how) if each.check == "index file"]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A memory with a file, and its answers without it."""
    folder = tmp_path_factory.mktemp("grown") / "memory"
    grow(folder)
    return folder, from_records(folder)


@pytest.fixture
def memory(grown, tmp_path):
    """A copy of it."""
    shutil.copytree(grown[0], tmp_path / "memory")
    return tmp_path / "memory"


# What it is good for


def test_an_opening_takes_the_vectors_and_facts_from_the_file_and_gives_the_same_answers(grown, memory):
    assert asked(memory) == grown[1]
    assert rows_read(memory) > 10
    index(memory).unlink()
    assert rows_read(memory) == 0


def test_what_was_said_after_the_file_was_written_is_found_too(memory):
    written = index(memory).read_bytes()
    grow(memory, MANY, MANY + 40, session="later")
    assert index(memory).read_bytes() == written
    assert asked(memory) == from_records(memory)
    with opened(memory) as space:
        found = space.recall(said(MANY, MANY + 40)[-1].content, keep_receipt=False).receipt.candidates
        assert {"keyword", "vector"} == set(next(each.scores for each in found if each.drawer == MANY + 40))


def test_it_is_written_anew_when_much_has_changed_and_a_small_space_has_none(memory, tmp_path):
    written = index(memory).read_bytes()
    grow(memory, MANY, 2 * MANY, session="later")
    assert index(memory).read_bytes() != written
    assert asked(memory) == from_records(memory)
    grow(tmp_path / "small", 0, 20)
    assert list((tmp_path / "small").rglob("index-*.bin")) == []


def test_revised_and_reinstated_messages_are_as_in_the_records(memory):
    with opened(memory) as space:
        answers(space)
        changed = Turn(role="user", content="the velvet lantern of the robot orchard", message_id="7")
        space.track([changed], session="s")
        space.flush()
        assert answers(space) == from_records(memory)
        space.track(said(0, MANY)[7:8], session="s")
        space.flush()
        assert answers(space) == from_records(memory)
    assert asked(memory) == from_records(memory)


def test_keywords_only_has_a_file_of_its_own(memory):
    with opened(memory, embedder=None) as space:
        space.flush()
        before = answers(space)
    assert len(list(memory.rglob("index-*.bin"))) == 2
    assert asked(memory, embedder=None) == before


def test_before_the_model_can_be_had_the_file_holds_facts_without_vectors(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # where no model is
    with Memory.open(tmp_path / "memory", background=False, settings=SETTINGS, clock=CLOCK) as memory:
        alice = memory.user("alice")
        alice.track(said(0, MANY), session="s")
        memory.flush()
        written = index(tmp_path).stat().st_mtime_ns
        memory.flush()
        assert index(tmp_path).stat().st_mtime_ns == written
        assert {each.level for each in alice.doctor(deep=True) if each.check == "index file"} == {"ok"}


def test_stats_count_it_and_backups_leave_it_out(memory, tmp_path):
    with Memory.open(memory, embedder=HashEmbedder(), background=False) as whole:
        assert whole.user("alice").stats().index_bytes == index(memory).stat().st_size
        whole.backup(tmp_path / "backup")
    assert list((tmp_path / "backup").rglob("index-*")) == []


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_only_the_owner_can_read_it(memory):
    assert index(memory).stat().st_mode & 0o777 == 0o600


# What is not believed


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def garbled(file: Path) -> None:
    file.write_bytes(os.urandom(file.stat().st_size))


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def of_another_version(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"langmem-tiers index 1", b"langmem-tiers index 9"))


@pytest.mark.parametrize("damage", [cut, emptied, garbled, a_folder, of_another_version])
def test_a_damaged_file_is_not_used_doctor_says_so_and_rebuild_makes_it_anew(grown, memory, damage, caplog):
    file = index(memory)
    damage(file)
    with caplog.at_level(logging.WARNING), opened(memory) as space:
        assert answers(space) == grown[1]
        assert "index_file_refused" in caplog.text
        assert [level for level, _ in findings(space)] == ["problem"]
        if file.is_file():
            space.rebuild()
            assert [level for level, _ in findings(space)] == ["ok"]
    if file.is_file():
        assert asked(memory) == from_records(memory)
        assert rows_read(memory) > 10


def test_no_flipped_bit_changes_an_answer(grown, memory):
    file = index(memory)
    whole = file.read_bytes()
    for place in [*np.random.default_rng(1).integers(0, len(whole), 20).tolist(), 3, 40, 4096, len(whole) - 1]:
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        assert asked(memory) == grown[1], place


def test_doctor_finds_a_flipped_bit_in_a_vector_when_it_looks_deep(memory):
    file = index(memory)
    whole = bytearray(file.read_bytes())
    whole[whole.index(vector(said(0, MANY)[150].content)) + 4] ^= 1
    file.write_bytes(whole)
    with opened(memory) as space:
        assert [level for level, _ in findings(space)] == ["ok"]
        assert "problem" in [level for level, _ in findings(space, deep=True)]


def vector(text: str) -> bytes:
    return np.rint(np.array(HashEmbedder().embed_documents([text])[0], np.float32) * 32_767).astype(np.int16).tobytes()


def test_a_file_of_another_space_or_memory_is_not_believed(memory, tmp_path):
    grow(tmp_path / "other", 500, 500 + MANY)
    expected = asked(memory)
    shutil.copy(index(tmp_path / "other"), index(memory))
    assert asked(memory) == expected


def test_an_older_file_and_a_file_newer_than_the_records_are_not_believed(memory, tmp_path):
    old_file, old_records = index(memory).read_bytes(), tmp_path / "old.db"
    (database,) = memory.rglob("memory.db")
    shutil.copy(database, old_records)
    expected = asked(memory)
    grow(memory, MANY, 2 * MANY, session="later")
    file, new_records, then = index(memory), database.read_bytes(), asked(memory)
    new_file = file.read_bytes()
    file.write_bytes(old_file)
    with opened(memory) as space:
        assert answers(space) == then
        assert [level for level, _ in findings(space)] == ["problem"]
    file.write_bytes(new_file)
    database.write_bytes(old_records.read_bytes())
    assert asked(memory) == expected
    assert new_records != old_records.read_bytes()


def test_a_link_in_its_place_is_refused(memory, tmp_path):
    file = index(memory)
    file.rename(tmp_path / "elsewhere.bin")
    file.symlink_to(tmp_path / "elsewhere.bin")
    with pytest.raises(LinkRefused), opened(memory) as space:
        answers(space)


def test_where_it_cannot_be_written_the_rest_goes_on(tmp_path, caplog):
    grow(tmp_path, 0, 20)
    (space,) = (tmp_path / "spaces").iterdir()
    with opened(tmp_path) as alice:
        alice.track(said(20, MANY), session="s")
        taken = next(iter(alice.context.open().__enter__().index_file.path for _ in (1,)))
        taken.mkdir()
        with caplog.at_level(logging.WARNING):
            assert alice.flush()
        assert "index_file_not_written" in caplog.text
        assert len(alice.recall(QUESTIONS[0], keep_receipt=False).items) > 3
    assert space.is_dir()


# What is deleted


def bytes_in(folder: Path, wanted: bytes) -> list[str]:
    return [each.name for each in folder.rglob("*") if each.is_file() and wanted in each.read_bytes()]


def test_what_is_forgotten_is_in_no_file_and_found_by_nobody_who_has_the_old_one_mapped(memory):
    secret = said(0, MANY)[42].content
    with opened(memory) as other, opened(memory) as space:
        space.track([Turn(role="user", content="the marzipan lives here", speaker="Zuleika")], session="canary")
        space.track(said(MANY, 2 * MANY), session="later")
        space.flush()
        assert answers(other) == answers(space)
        hidden = (vector(secret), vector("Zuleika: the marzipan lives here"), b"Zuleika", b"canary")
        assert all(index(memory).name in bytes_in(memory, each) for each in hidden)
        half = index(memory).with_name(f".{index(memory).name}.killed")
        shutil.copy(index(memory), half)
        space.forget(messages=[43], confirm=True)
        space.forget(session="canary", confirm=True)
        assert [bytes_in(memory, each) for each in hidden] == [[], [], [], []]
        assert 43 not in [item.drawer.number for item in other.recall(secret, keep_receipt=False, limit=20).items]
        space.flush()
        assert index(memory).is_file()
        assert [bytes_in(memory, each) for each in hidden] == [[], [], [], []]
    assert asked(memory) == from_records(memory)


# Several processes


def in_process(folder: Path, code: str, environment) -> subprocess.Popen:
    script = f"""
        import sys, time
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from tests.test_index_file import *
        folder = Path({str(folder)!r})
    """
    whole = textwrap.dedent(script) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", whole], env=environment, stdout=subprocess.PIPE, text=True)


def test_a_process_that_has_an_older_file_mapped_sees_what_another_one_writes(memory, offline_environment):
    with opened(memory) as space:
        answers(space)
        with in_process(memory, "grow(folder, MANY, 2 * MANY, session='later')", offline_environment) as done:
            assert done.wait(120) == 0
        assert answers(space) == from_records(memory)


def test_killed_while_it_is_written_nothing_is_lost_and_the_next_process_writes_it(tmp_path, offline_environment):
    code = """
        import numpy as np
        signs = np.packbits
        def slow(*given, **how):
            print("writing", flush=True)
            time.sleep(60)
        with opened(folder) as space:
            space.track(said(0, MANY), session="s")
            space.context.embedder
            import langmem_tiers.storage.index_file as module
            module.IndexWriter.finish = slow
            space.flush()
    """
    with in_process(tmp_path / "memory", code, offline_environment) as process:
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)
    assert list((tmp_path / "memory").rglob("index-*.bin")) == []
    (left,) = (tmp_path / "memory").rglob(".index-*")
    os.utime(left, (time.time() - 3600,) * 2)
    with opened(tmp_path / "memory") as space:
        space.flush()
        assert answers(space) == from_records(tmp_path / "memory")
    assert index(tmp_path / "memory").is_file()
    assert list((tmp_path / "memory").rglob(".index-*")) == []
