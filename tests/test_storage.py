"""Storage: schema and migrations, folders that cannot be used, and databases that are locked, full or damaged."""

import logging
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    DiskFull,
    FolderNotWritable,
    InvalidInput,
    MemoryTiersError,
    MigrationFailed,
    NewerSchema,
    NotAMemoryFolder,
    StorageError,
)
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage import change_log, packed_text, seals
from langmem_tiers.storage.migrations import MIGRATIONS, Migration, migrate
from langmem_tiers.storage.schema import metadata
from langmem_tiers.storage.sqlite_file import SqliteFile
from langmem_tiers.testing import HashEmbedder
from tests.open_files import open_files

HASTY = Settings(storage=StorageSettings(busy_timeout=0.05))


def user(content, message_id=None) -> Turn:
    return Turn(role="user", content=content, message_id=message_id)


def reopened(folder, embedder=None, settings=None):
    return Memory.open(folder, embedder=embedder, settings=settings, background=False)


def filled(folder: Path) -> Path:
    """A memory with a bit of everything in `folder`; its database file."""
    with reopened(folder, HashEmbedder()) as memory:
        alice = memory.user("alice")
        for session in ("s", "t"):
            said = [user(f"The robot {n} is in Lisbon with Zoë 東京. " * 5, f"{n}") for n in range(12)]
            alice.track(said, session=session, project="Robots")
            alice.track([user(f"The robot was edited in {session}.", "3")], session=session)
        alice.flush()
        alice.recall("Where is the robot?", session="u", message_id="1")
    (database,) = folder.rglob("memory.db")
    return database


EVERYTHING = {
    "track": lambda space: space.track([user("A new robot.")], session="s"),
    "recall": lambda space: space.recall("Where is the new robot?", session="v"),
    "repeat": lambda space: space.recall("Where is the robot?", session="u", message_id="1"),
    "end_session": lambda space: space.end_session("t"),
    "flush": lambda space: space.flush(),
    "rebuild": lambda space: space.rebuild(),
    "drawer": lambda space: [space.drawer(number) for number in range(1, 26)],
    "pointer": lambda space: space.drawer("W-1/R-1/D-3"),
    "drawers": lambda space: space.drawers(),
    "sessions": lambda space: space.sessions(),
    "palace": lambda space: space.palace(),
    "receipts": lambda space: (space.receipts(), space.receipt(1)),
    "stats": lambda space: space.stats(),
    "doctor": lambda space: space.doctor(),
}
WRITING = ("track", "end_session", "flush", "rebuild", "doctor")
READING = ("repeat", "drawer", "pointer", "drawers", "sessions", "palace", "receipts", "stats")


# Schema and migrations


def test_every_table_says_what_it_is_for():
    assert [table.name for table in metadata.sorted_tables if not table.comment] == []


def test_every_key_starts_with_the_space():
    assert {next(iter(table.primary_key.columns)).name for table in metadata.sorted_tables} == {"space"}


@pytest.fixture
def database(tmp_path):
    opened = SqliteFile(tmp_path / "memory.db", StorageSettings())
    yield opened
    opened.close()


def pragma(path: Path, name: str) -> object:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]


def add_table(name: str) -> Migration:
    return Migration(f"add {name}", lambda connection: connection.exec_driver_sql(f"CREATE TABLE {name} (x)") and None)


def fail(connection) -> None:
    connection.exec_driver_sql("CREATE TABLE half (x)")
    connection.exec_driver_sql("INSERT INTO nowhere VALUES (1)")


LONGER = (*MIGRATIONS, add_table("second"), add_table("third"))


def test_a_fresh_file_gets_every_step_and_no_backup(database):
    assert migrate(database, LONGER) is None
    assert pragma(database.path, "user_version") == len(LONGER)
    with database.reading() as connection:
        names = connection.exec_driver_sql("SELECT name FROM migrations ORDER BY position").scalars().all()
    assert names == [migration.name for migration in LONGER]
    assert migrate(database, LONGER) is None


def test_an_older_file_is_backed_up_as_it_was_and_then_migrated(database):
    migrate(database, LONGER[:-1])
    with database.writing() as connection:
        connection.exec_driver_sql("INSERT INTO second VALUES (42)")
    backup = migrate(database, LONGER)
    assert backup.parent == database.path.parent
    with closing(sqlite3.connect(backup)) as old, database.reading() as new:
        assert old.execute("SELECT x FROM second").fetchall() == [(42,)]
        assert old.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'third'").fetchone() == (0,)
        assert new.exec_driver_sql("SELECT x FROM second").scalar() == 42
    assert (pragma(backup, "user_version"), pragma(database.path, "user_version")) == (len(LONGER) - 1, len(LONGER))


def test_an_older_file_that_many_open_at_once_is_backed_up_as_it_was_and_migrated_once(tmp_path):
    for attempt in range(10):
        path = tmp_path / str(attempt) / "memory.db"
        path.parent.mkdir()
        with closing(SqliteFile(path, StorageSettings())) as database:
            migrate(database, LONGER[:-2])

        def open_it(_, path=path) -> None:
            with closing(SqliteFile(path, StorageSettings())) as database:
                migrate(database, LONGER)

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(open_it, range(6)))
        (backup,) = path.parent.glob("*.bak")
        assert (pragma(backup, "user_version"), pragma(path, "user_version")) == (len(LONGER) - 2, len(LONGER))


def test_a_newer_file_is_refused_and_not_touched(tmp_path):
    file = filled(tmp_path / "m")
    for version in range(len(MIGRATIONS) + 1, len(MIGRATIONS) + 11):
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        before = file.read_bytes()
        with reopened(tmp_path / "m") as memory, pytest.raises(NewerSchema, match=str(version)):
            memory.user("alice").drawers()
        assert file.read_bytes() == before


def test_a_migration_that_fails_leaves_the_file_as_it_was(database):
    migrate(database)
    with pytest.raises(MigrationFailed, match="breaks") as caught:
        migrate(database, (*MIGRATIONS, Migration("breaks", fail)))
    assert isinstance(caught.value.__cause__, OperationalError | DatabaseDamaged)
    with database.reading() as connection:
        assert not connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").scalar()
    assert migrate(database) is None


def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path):
    file = filled(tmp_path / "m")
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = file.read_bytes()
    with reopened(tmp_path / "m") as memory, pytest.raises(NotAMemoryFolder, match="another program"):
        memory.user("alice").drawers()
    assert file.read_bytes() == before


def test_a_cursor_that_another_has_moved_meanwhile_is_left_where_it_is(database):
    migrate(database)
    moved = []
    for old, new in ((0, 5), (0, 3), (5, 9)):
        with database.writing() as connection:
            moved.append(change_log.move_cursor(connection, database.space, "file", old=old, new=new))
    with database.reading() as connection:
        assert (moved, change_log.cursor(connection, database.space, "file")) == ([True, False, True], 9)


# Folders


def test_a_folder_of_something_else_is_refused_and_nothing_is_written(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(NotAMemoryFolder):
        reopened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("mark", ["", "{", "[]", '{"format": "x"}'])
def test_a_mark_that_can_not_be_read_is_no_memory(tmp_path, mark):
    (tmp_path / "langmem-tiers.json").write_text(mark)
    with pytest.raises((NotAMemoryFolder, NewerSchema)):
        reopened(tmp_path)


def test_a_folder_of_a_newer_layout_is_refused(tmp_path):
    (tmp_path / "langmem-tiers.json").write_text('{"format": 2}')
    with pytest.raises(NewerSchema):
        reopened(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotAMemoryFolder):
        reopened(tmp_path / "file")
    with pytest.raises(FolderNotWritable):
        reopened(tmp_path / "file" / "below")


def test_an_empty_folder_and_one_with_only_system_files_become_a_memory(tmp_path):
    (tmp_path / ".DS_Store").write_text("x")
    with reopened(tmp_path) as memory:
        assert memory.user("alice").track([user("hello there")], session="s").stored


def test_a_folder_that_can_not_be_made_is_a_named_error():
    with pytest.raises(StorageError):
        reopened("/proc/no/memory/here")


def test_a_path_that_is_too_long_for_sqlite_is_told_as_that(tmp_path):
    with reopened(tmp_path.joinpath(*["d" * 50] * 10)) as memory, pytest.raises(StorageError) as told:
        memory.user("alice").track([user("hello there")], session="s")
    assert type(told.value) is StorageError
    assert "the 504 bytes that SQLite can open" in told.value.message


def test_a_relative_path_in_a_directory_that_was_deleted_is_a_named_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    with reopened(tmp_path / "memory") as memory:
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        for ask in (reopened, memory.backup, memory.user("alice").export, lambda name: Memory.restore(name, name)):
            with pytest.raises(InvalidInput, match=r"cannot be 'some\.tar'.*begins at the root"):
                ask("some.tar")


def test_a_database_that_is_a_folder_is_a_named_error(tmp_path):
    file = filled(tmp_path)
    file.unlink()
    file.mkdir()
    with reopened(tmp_path) as memory, pytest.raises(FolderNotWritable):
        memory.user("alice").drawers()


def test_many_may_make_the_same_memory_at_once(tmp_path):
    for attempt in range(10):
        folder = tmp_path / str(attempt)

        def make(number: int, folder=folder) -> int:
            with reopened(folder) as memory:
                return len(memory.user("alice").track([user(f"hello {number}", str(number))], session="s").stored)

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(make, range(6))) == [1] * 6
        assert not list(folder.rglob("*.bak"))


def test_a_space_whose_mark_was_lost_is_listed_again_once_it_is_opened(tmp_path, caplog):
    filled(tmp_path)
    (mark,) = tmp_path.rglob("space.json")
    mark.write_text("")
    with reopened(tmp_path) as memory:
        assert memory.spaces() == ()
        assert len(memory.user("alice").drawers()) == 26
        assert memory.spaces() == ("users/alice",)
    assert "unreadable_space_mark_skipped" in caplog.text


def test_the_files_of_a_closed_space_under_another_memory_are_the_same_memories(tmp_path):
    filled(tmp_path / "here")
    with reopened(tmp_path / "there", HashEmbedder()) as memory:
        memory.user("bob").track([user("I am Bob.")], session="s")
    (source,) = (tmp_path / "here" / "spaces").iterdir()
    shutil.copytree(source, tmp_path / "there" / "spaces" / source.name)
    with reopened(tmp_path / "here", HashEmbedder()) as here, reopened(tmp_path / "there", HashEmbedder()) as there:
        assert there.spaces() == ("users/alice", "users/bob")
        assert there.user("alice").drawers() == here.user("alice").drawers()
        assert there.user("alice").palace() == here.user("alice").palace()
        assert replace(there.user("alice").stats(), folder="") == replace(here.user("alice").stats(), folder="")
        assert [each.level for each in there.user("alice").doctor() if each.level == "problem"] == []


# Locked


@contextmanager
def locked(file: Path):
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.parametrize("method", WRITING)
def test_while_another_holds_the_database_nothing_is_written_and_the_error_is_named(tmp_path, method):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder(), HASTY) as memory:
        alice = memory.user("alice")
        if method == "flush":
            alice.track([user("Not filed yet.")], session="s")
        before = alice.drawers(), alice.receipts(), alice.stats().log_position, alice.sessions()
        with locked(file), pytest.raises(DatabaseLocked) as caught:
            EVERYTHING[method](alice)
        assert isinstance(caught.value, TimeoutError)
        assert (alice.drawers(), alice.receipts(), alice.stats().log_position, alice.sessions()) == before
        EVERYTHING[method](alice)


@pytest.mark.parametrize("method", READING)
def test_while_another_holds_the_database_it_can_be_read(tmp_path, method):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder(), HASTY) as memory, locked(file):
        EVERYTHING[method](memory.user("alice"))


def test_while_another_process_holds_the_database_recall_answers_and_its_receipt_follows(tmp_path):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder(), Settings(storage=StorageSettings(busy_timeout=60))) as memory:
        alice = memory.user("alice")
        before = alice.receipts()
        with locked(file):
            found = alice.recall("Where is the robot?", session="w")
            assert "robot" in found.block
            assert alice.receipts() == before
        assert found.receipt.number == 1 + max(each.number for each in before)
        assert alice.receipts()[1:] == before


def test_while_another_holds_the_database_for_too_long_recall_answers_without_a_receipt(tmp_path):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder(), HASTY) as memory:
        alice = memory.user("alice")
        before = alice.receipts()
        with locked(file):
            found = alice.recall("Where is the robot?", session="w")
            assert "robot" in found.block
            assert (found.receipt.number, alice.receipts()) == (0, before)
        assert "no receipt was kept: " in found.receipt.notes[-1]
        again = alice.recall("Where is the robot?", session="w")
        assert (again.block, again.receipt.number) == (
            found.block,
            1 + max((each.number for each in before), default=0),
        )


@pytest.mark.parametrize("method", ["track", "drawers", "rebuild"])
def test_ctrl_c_while_sqlite_hashes_a_text_is_ctrl_c_and_leaves_everything_as_it_was(tmp_path, method):
    filled(tmp_path)
    interruptions = []

    def interrupt(frame, event, _):
        if event == "call" and frame.f_code.co_filename == seals.__file__ and "digest" in frame.f_code.co_name:
            interruptions.append(frame.f_code.co_name)
            signal.raise_signal(signal.SIGINT)

    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        before = alice.drawers(), alice.stats().log_position
        try:
            sys.setprofile(interrupt)
            with pytest.raises(KeyboardInterrupt):
                EVERYTHING[method](alice)
        finally:
            sys.setprofile(None)
        assert interruptions
        assert (alice.drawers(), alice.stats().log_position) == before
        EVERYTHING[method](alice)


def interrupt_the_commit(event):
    """What raises KeyboardInterrupt within the next commit of a change: before ("c_call") or after ("c_return") it."""

    def interrupt(frame, happened, called):
        if happened == event and frame.f_code.co_name == "do_commit" and called.__name__ == "commit" and writes(frame):
            signal.raise_signal(signal.SIGINT)

    return interrupt


def writes(frame):
    """Whether it was called, however far above, by `SqliteFile.writing`."""
    code = SqliteFile.writing.__wrapped__.__code__
    return frame is not None and (frame.f_code is code or writes(frame.f_back))


@pytest.mark.parametrize("method", ["track", "recall", "rebuild"])
@pytest.mark.parametrize("event", ["c_call", "c_return"])
def test_ctrl_c_within_a_commit_is_ctrl_c_and_the_next_write_works(tmp_path, method, event):
    filled(tmp_path)
    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        drawers = len(alice.drawers())
        try:
            sys.setprofile(interrupt_the_commit(event))
            with pytest.raises(KeyboardInterrupt):
                EVERYTHING[method](alice)
        finally:
            sys.setprofile(None)
        kept = int(method == "track" and event == "c_return")
        assert len(alice.drawers()) == drawers + kept
        EVERYTHING[method](alice)
        alice.track([user("After it.")], session="s")
        assert alice.drawers()[-1].content == "After it."
        assert not [each for each in alice.doctor() if each.level == "problem"]


def test_a_memory_closed_while_another_holds_the_database_is_whole_when_it_is_opened_again(tmp_path):
    file = filled(tmp_path)
    memory = reopened(tmp_path, HashEmbedder(), HASTY)
    memory.user("alice").track([user("A late robot.", "late")], session="s")
    memory.flush()
    with locked(file), suppress(DatabaseLocked):
        memory.close()
    with reopened(tmp_path, HashEmbedder()) as memory:
        assert memory.flush()
        chroma = [finding for finding in memory.user("alice").doctor() if finding.check == "Chroma"]
        assert [(finding.level, finding.message) for finding in chroma] == [("ok", "25 vectors, as in the records")]


def test_a_memory_that_cannot_note_how_it_was_closed_leaves_no_file_of_any_space_open(tmp_path):
    memory = reopened(tmp_path, HashEmbedder(), HASTY)
    for name in ("alice", "bob"):
        memory.user(name).track([user("A robot.")], session="s")
    memory.flush()
    assert open_files(tmp_path)
    first, second = tmp_path.rglob("memory.db")
    with locked(first), locked(second), pytest.raises(DatabaseLocked):
        memory.close()
    assert open_files(tmp_path) == []


@pytest.mark.parametrize("mode", ["BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_whoever_opens_a_space_while_another_makes_it_waits_its_turn(database, mode):
    with closing(sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)) as other:
        other.execute(mode)
        other.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        finish = threading.Timer(0.2, other.execute, ["ROLLBACK"])
        finish.start()
        assert migrate(database) is None
        finish.join()
    assert pragma(database.path, "journal_mode") == "wal"


# Full and read-only


FULL = textwrap.dedent("""
    import resource, sys
    from langmem_tiers import Memory, Turn
    from langmem_tiers.errors import StorageError
    memory = Memory.open(sys.argv[1], embedder=None, background=False)
    alice = memory.user("alice")
    alice.track([Turn(role="user", content="The first robot.", message_id="0")], session="s")
    if sys.argv[2] == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
    acknowledged = 1
    try:
        for number in range(1, 2000):
            turn = Turn(role="user", content=f"robot {number} " * 500, message_id=str(number))
            acknowledged += len(alice.track([turn], session="s").stored)
    except StorageError as error:
        print(type(error).__name__, acknowledged)
    print(len(alice.drawers()), alice.doctor()[1].level)
""")


def run_until_full(folder: Path, environment, how: str) -> list[str]:
    command = [sys.executable, "-c", FULL, str(folder), how]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    return done.stdout.split()


def test_a_write_that_fails_on_the_way_is_named_and_loses_nothing_acknowledged(tmp_path, offline_environment):
    pytest.importorskip("resource")
    error, acknowledged, held, level = run_until_full(tmp_path / "m", offline_environment, "limit")
    assert (error, held, level) == ("StorageError", acknowledged, "ok")
    with reopened(tmp_path / "m") as memory:
        assert len(memory.user("alice").drawers()) == int(acknowledged)


@contextmanager
def mounted(size: str):
    """A file system of its own, where this process may mount one.

    It is not below pytest's folders, which pytest could not remove while it is mounted, and a process beside this one
    takes it away at the end of its input: also when this one is killed.
    """
    disk = Path(tempfile.mkdtemp(prefix="langmem-tiers-disk-"))
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], capture_output=True, check=False
    )
    if not made or made.returncode:
        disk.rmdir()
        pytest.skip("this process may not mount a file system")
    with subprocess.Popen(
        ["/bin/sh", "-c", 'cat; umount -l "$1" && rmdir "$1"', "unmount", disk],
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as unmounting:
        yield disk
    assert unmounting.returncode == 0, f"{disk} is still mounted"


@pytest.fixture
def small_disk():
    """A file system of one megabyte."""
    with mounted("1m") as disk:
        yield disk


def test_a_full_disk_is_named_and_loses_nothing_acknowledged(small_disk, offline_environment):
    error, acknowledged, held, level = run_until_full(small_disk / "m", offline_environment, "disk")
    assert (error, held, level) == ("DiskFull", acknowledged, "ok")
    with reopened(small_disk / "m") as memory:
        assert len(memory.user("alice").drawers()) == int(acknowledged)


def test_a_full_disk_refuses_a_new_memory_by_name(small_disk):
    (small_disk / "ballast").write_bytes(b"x" * (1 << 20))
    with pytest.raises(DiskFull):
        reopened(small_disk / "m")


@pytest.mark.parametrize("method", ["track", "end_session", "recall"])
def test_a_read_only_memory_is_named(small_disk, method):
    with reopened(small_disk / "m") as memory:
        memory.user("alice").track([user("The robot is red.")], session="t")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with reopened(small_disk / "m") as memory, pytest.raises(FolderNotWritable):
        EVERYTHING[method](memory.user("alice"))
    with pytest.raises(FolderNotWritable):
        reopened(small_disk / "new")


# Damaged


def only_named_errors(folder: Path) -> set[str]:
    """Call every method on the memory; the names of the errors, all of them this package's own."""
    met = set()
    with reopened(folder, HashEmbedder()) as memory:
        for method in EVERYTHING.values():
            try:
                method(memory.user("alice"))
            except MemoryTiersError as error:
                met.add(type(error).__name__)
    return met


def test_a_file_that_is_no_database_is_not_left_open(tmp_path):
    filled(tmp_path).write_bytes(b"garbage" * 1000)
    with reopened(tmp_path) as memory, pytest.raises(DatabaseDamaged) as held:
        memory.user("alice").drawers()
    assert open_files(tmp_path) == []
    assert held.value.way_out


@pytest.mark.parametrize("text", [b"garbage" * 1000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_named_by_every_method(tmp_path, text):
    file = filled(tmp_path)
    file.write_bytes(text)
    with reopened(tmp_path, HashEmbedder()) as memory:
        for method in EVERYTHING.values():
            with pytest.raises(DatabaseDamaged):
                method(memory.user("alice"))


def test_a_database_cut_short_is_named(tmp_path):
    file = filled(tmp_path)
    file.write_bytes(file.read_bytes()[: 20 * 4096 + 100])
    assert "DatabaseDamaged" in only_named_errors(tmp_path)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_bytes_are_flipped_no_foreign_error_comes_through(tmp_path, caplog, seed):
    caplog.set_level(logging.CRITICAL)
    file = filled(tmp_path)
    content, drawn = bytearray(file.read_bytes()), random.Random(seed)
    page = drawn.randrange(len(content) // 4096) * 4096
    if seed % 3:
        for _ in range(60):
            content[drawn.randrange(len(content))] = drawn.randrange(256)
    else:
        content[page : page + 4096] = drawn.randbytes(4096)
    file.write_bytes(content)
    only_named_errors(tmp_path)


def test_a_receipt_that_can_not_be_read_is_skipped_and_the_others_are_not(tmp_path, caplog):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder()) as memory:
        memory.user("alice").recall("Where is the robot now?", session="u", message_id="2")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE receipts SET body = '{', shown = '[' WHERE number = 1")
    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        assert [receipt.number for receipt in alice.receipts()] == [2]
        assert alice.receipt(1) is None
        assert alice.recall("Where is the robot?", session="u", message_id="1").receipt.verdict != "repeated"
    assert "unreadable_receipt_skipped" in caplog.text


def test_receipts_take_a_third_of_their_room_and_those_of_older_versions_are_read_and_forgotten(tmp_path):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder()) as memory:
        before = memory.user("alice").receipts()
    with closing(sqlite3.connect(file)) as connection, connection:
        packed_text.register(connection)
        sizes = "SELECT length(body), length(CAST(unpacked(body) AS BLOB)) FROM receipts"
        (packed, whole), *_ = connection.execute(sizes).fetchall()
        connection.execute("UPDATE receipts SET body = unpacked(body)")
    assert packed * 3 < whole
    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        assert alice.receipts() == before
        alice.forget(messages=before[0].candidates[0].drawer, confirm=True)
        assert alice.receipts() == ()


@pytest.mark.parametrize("damage", ["substr(body, 1, 40)", "zeroblob(400)", "CAST('{' AS BLOB)", "NULL || body", "42"])
def test_a_packed_receipt_that_can_not_be_read_is_skipped(tmp_path, caplog, damage):
    file = filled(tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"UPDATE receipts SET body = coalesce({damage}, x'00')")
    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        assert (alice.receipts(), alice.receipt(1)) == ((), None)
    assert "unreadable_receipt_skipped" in caplog.text


def test_stats_say_what_the_bytes_on_disk_are_for(tmp_path):
    filled(tmp_path)
    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        alice.graph.add_entity("Lisbon", type="place")
        memory.flush()
    with reopened(tmp_path, HashEmbedder()) as memory:
        alice = memory.user("alice")
        before = alice.stats(by_kind=True)
        files = [each.stat().st_size for each in Path(before.folder).rglob("*") if each.is_file()]
        assert sum(before.bytes_by_kind.values()) == sum(files)
        assert before.bytes_by_kind["graph"] == (Path(before.folder) / "graph.json").stat().st_size
        assert {kind for kind, size in before.bytes_by_kind.items() if not size} <= {"index file"}
        alice.track([user(f"The violin {n} is in Porto. " * 20, f"n{n}") for n in range(200)], session="s")
        alice.flush()
        after = alice.stats(by_kind=True)
        assert after.bytes_by_kind["text"] > before.bytes_by_kind["text"] + 200 * 500
        assert after.bytes_by_kind["vectors"] > before.bytes_by_kind["vectors"] + 200 * 128
        assert alice.stats().bytes_by_kind == {}


def test_rebuild_gives_the_room_of_dropped_receipts_back_to_the_disk(tmp_path):
    file = filled(tmp_path)
    sizes = [file.stat().st_size]

    def after(change, settings=None):
        with reopened(tmp_path, HashEmbedder(), settings) as memory:
            change(memory.user("alice"))
        sizes.append(file.stat().st_size)

    def ask(space):
        for number in range(64):
            space.recall(f"Where is the robot {number}?", session=f"v{number}")

    after(rebuilt)
    after(ask)
    after(ask, Settings(storage=StorageSettings(receipts_kept=1)))
    after(rebuilt)
    filled_once, compact, asked, dropped, at_last = sizes
    assert compact <= filled_once
    assert at_last < dropped
    assert at_last - compact < (asked - compact) / 2
    assert pragma(file, "freelist_count") == 0


def rebuilt(space) -> str:
    """Rebuild a space; what the line about the database file says."""
    (line,) = [line for line in space.rebuild() if line.startswith("database file: ")]
    assert space.flush()
    return line


def test_rebuild_says_what_keeps_the_file_from_getting_smaller_at_once(tmp_path):
    file = filled(tmp_path)
    with reopened(tmp_path, HashEmbedder(), HASTY) as memory, closing(sqlite3.connect(file)) as other:
        other.isolation_level = None
        alice = memory.user("alice")
        other.execute("BEGIN")
        (messages,) = other.execute("SELECT count(*) FROM drawers").fetchone()
        line = rebuilt(alice)
        assert "smaller once another process has ended what it reads" in line
        assert other.execute("SELECT count(*) FROM drawers").fetchone() == (messages,)
        other.execute("COMMIT")
        assert "without free pages" in rebuilt(alice)
        assert len(other.execute("SELECT * FROM drawers").fetchall()) == messages


def test_on_a_full_disk_rebuild_leaves_the_file_as_it_is_and_takes_no_room(tmp_path):
    with mounted("32m") as disk:
        wide = HashEmbedder(4096)
        with reopened(disk / "m", wide) as memory:
            alice = memory.user("alice")
            alice.track([user(f"The robot {n} is here.", f"{n}") for n in range(300)], session="s")
            alice.flush()
        (file,) = disk.rglob("memory.db")
        ballast = disk / "ballast"
        with reopened(disk / "m") as memory:
            alice = memory.user("alice")
            rebuilt(alice)  # the index file is without vectors from here on
            size, before = file.stat().st_size, alice.drawers()
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free - size // 2))
            assert "its free pages stay in it (The disk is full" in rebuilt(alice)
            assert shutil.disk_usage(disk).free > size // 4
            alice.track([user("The robot is still heard.")], session="s")
            assert alice.drawers()[:-1] == before
            ballast.unlink()
            assert "without free pages" in rebuilt(alice)
            assert [each.check for each in alice.doctor() if each.level == "problem"] == []


def index_pages(file: Path, *first: str) -> int:
    """The pages of the keyword index's data, after some commands to it; nothing is changed."""
    with closing(sqlite3.connect(file)) as connection:
        for command in first:
            connection.execute("INSERT INTO keyword (keyword) VALUES (?)", (command,))
        (pages,) = connection.execute("SELECT count(*) FROM dbstat WHERE name = 'keyword_data'").fetchone()
    return pages


def test_the_keyword_index_is_merged_once_there_are_many_messages(tmp_path):
    places, things = ("Lisbon", "Porto", "Faro", "Braga"), ("robot", "violin", "cat")
    words = [f"{place} {thing}" for place in places for thing in things]
    with reopened(tmp_path) as memory:
        alice = memory.user("alice")
        for session in range(25):
            said = [f"{words[n % 12]} {n * session} was seen in {words[n % 7]} {n + session}" for n in range(24)]
            alice.track([user(each, f"{session}.{n}") for n, each in enumerate(said)], session=f"s{session}")
        alice.flush()
        assert alice.recall("Lisbon robot 5").items
        assert [each for each in alice.doctor() if each.level == "problem"] == []
    (file,) = tmp_path.rglob("memory.db")
    assert index_pages(file) <= index_pages(file, "optimize") * 1.25


@pytest.mark.parametrize("chosen", ["FULL", "NORMAL"])
def test_only_what_may_be_lost_is_not_synced_and_only_with_an_empty_log(tmp_path, chosen):
    settings = Settings(storage=StorageSettings(synchronous=chosen))
    full, normal, off = (2, 1000), (1, 1000), (0, 0)
    with Memory.open(tmp_path, embedder=None, background=False, settings=settings) as memory:
        memory.user("alice").track([Turn(role="user", content="The robot is red.")])
    memory = Memory.open(tmp_path, embedder=None, background=False, settings=settings)
    with memory, memory.use("users/alice") as store:
        kept = [_synced(store, durable=durable) for durable in (False, False, True, False, True)]
    durable = full if chosen == "FULL" else normal
    assert kept == [off, normal, durable, normal, durable]


def _synced(store, *, durable):
    """How far a commit waits for the disk, and after how many pages of its log these are folded into the file."""
    with store.writing(durable=durable) as connection:
        change_log.reset_cursor(connection, store.key, "test", 1)
        pragmas = ("synchronous", "wal_autocheckpoint")
        return tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas)


@pytest.mark.parametrize("named", ["mysql://app@db.internal/memories", " sqlite:///memories.db", "http://db.internal"])
def test_an_address_of_another_kind_of_server_is_refused_and_makes_no_folder(named, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="A memory cannot be on"):
        Memory.open(named)
    monkeypatch.setenv("LANGMEM_TIERS_PATH", named)
    with pytest.raises(InvalidInput, match="A memory cannot be on"):
        Memory.open()
    with pytest.raises(SystemExit) as left:
        main(["--path", named, "stats"])
    assert (left.value.code, "Name a folder" in capsys.readouterr().err) == (2, True)
    assert not [*tmp_path.iterdir()]
