"""Backups: made while others write, verified by opening them, put back whole or not at all."""

import hashlib
import io
import json
import random
import shutil
import stat
import subprocess
import tarfile
import threading
import time
import zipfile

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import (
    AlreadyThere,
    BackupDamaged,
    DatabaseDamaged,
    DatabaseLocked,
    DiskFull,
    FolderNotWritable,
    InvalidInput,
    MissingUser,
    NewerSchema,
    NotAMemoryFolder,
    UnknownSpace,
)
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.transfer import backup_files, backups, restoring
from tests.test_storage import small_disk

__all__ = ["small_disk"]

ENDINGS = ("", ".zip", ".tar.gz", ".tar")


def told(memory, user, *texts, session="monday"):
    turns = [Turn(role="user", content=text, message_id=f"{session}{place}") for place, text in enumerate(texts)]
    memory.user(user).track(turns, session=session)


def reopened(folder, **more):
    return Memory.open(folder, embedder=HashEmbedder(), background=False, **more)


@pytest.fixture
def grown(memory):
    """A memory with two users, settings and a prompt of its own."""
    told(memory, "alice", "My sister Anna lives in Lisbon.", "I work at Bosch.")
    told(memory, "bob", "I have a dog called Milo.")
    memory.user("alice").knowledge.save("The user prefers green tea.")
    memory.user("alice").documents.write("MEMORY.md", "The launch is on Friday.")
    (memory.path / "langmem-tiers.toml").write_text("[recall]\nlimit = 7\n")
    (memory.path / "directives").mkdir()
    (memory.path / "directives" / "dream.md").write_text("Dream well.")
    memory.flush()
    return memory


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_restored_memory_answers_as_the_one_that_was_backed_up(grown, tmp_path, ending):
    report = grown.backup(tmp_path / f"copy{ending}")
    assert report.spaces == ("users/alice", "users/bob")
    assert (report.rows["drawers"], report.left_out) == (3, ())
    restored = Memory.restore(report.path, tmp_path / "back")
    assert (restored.backup, restored.rows, restored.kept) == (report.id, report.rows, None)
    with reopened(tmp_path / "back") as back:
        back.flush()
        alice = back.user("alice")
        assert "Lisbon" in alice.recall("Where does my sister live?").block
        assert {each.level for each in alice.doctor()} <= {"ok", "note"}
        assert alice.documents.read("MEMORY.md").data == b"The launch is on Friday."
        assert back.settings.recall.limit == 7
    assert (tmp_path / "back" / "directives" / "dream.md").read_text() == "Dream well."


def test_nothing_is_embedded_again_after_a_restore(grown, tmp_path, clock):
    grown.backup(tmp_path / "copy.zip")
    Memory.restore(tmp_path / "copy.zip", tmp_path / "back")
    embedder = HashEmbedder()
    with Memory.open(tmp_path / "back", embedder=embedder, background=False, clock=clock) as back:
        back.flush()
    assert embedder.documents_embedded == 0


def test_the_vector_index_and_the_canary_are_in_no_restored_memory(grown, tmp_path):
    grown.backup(tmp_path / "copy")
    assert not [*(tmp_path / "copy").rglob("chroma*")]
    Memory.restore(tmp_path / "copy", tmp_path / "back")
    for folder in (grown.path, tmp_path / "back"):
        assert not any(b"canary:" in file.read_bytes() for file in folder.glob("spaces/*/memory.db"))


def test_only_the_owner_can_read_a_backup(grown, tmp_path):
    for ending in ENDINGS:
        grown.backup(tmp_path / f"copy{ending}")
    made = [each for each in tmp_path.glob("copy*") if each.name != "memory"]
    inside = [*made, *(tmp_path / "copy").rglob("*")]
    assert {stat.S_IMODE(each.stat().st_mode) & 0o077 for each in inside if each.is_file() or each in made} == {0}


def test_a_backup_of_one_user_holds_nobody_else(grown, tmp_path):
    report = grown.backup(tmp_path / "copy", users=["bob"])
    assert report.spaces == ("users/bob",)
    assert b"Lisbon" not in b"".join(each.read_bytes() for each in (tmp_path / "copy").rglob("memory.db"))


@pytest.mark.parametrize(("users", "error"), [(["zoe"], UnknownSpace), ([""], MissingUser), ("bob", InvalidInput)])
def test_users_that_are_not_there_are_an_error_and_nothing_is_made(grown, tmp_path, users, error):
    with pytest.raises(error):
        grown.backup(tmp_path / "copy", users=users)
    assert not [*tmp_path.glob("*copy*")]


def test_an_empty_memory_can_be_backed_up_and_restored(memory, tmp_path):
    assert memory.backup(tmp_path / "copy.tar.gz").spaces == ()
    Memory.restore(tmp_path / "copy.tar.gz", tmp_path / "back")
    with reopened(tmp_path / "back") as back:
        assert back.spaces() == ()


def test_what_was_acknowledged_before_is_in_a_backup_made_while_four_threads_write(tmp_path):
    acknowledged, lost, over = set(), [], threading.Event()

    def write(name):
        for number in range(10_000):
            if over.is_set():
                return
            told(memory, "alice", f"Turn {name} {number}.", session=f"{name}-{number}")
            acknowledged.add(f"Turn {name} {number}.")

    with reopened(tmp_path / "memory") as memory:
        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for place in range(5):
            while len(acknowledged) < 10 * (place + 1):
                time.sleep(0.005)
            before = set(acknowledged)
            memory.backup(tmp_path / f"copy{place}.tar")
            lost.append(before)
        over.set()
        for thread in threads:
            thread.join()
    assert len(lost[-1]) > 0
    for place, before in enumerate(lost):
        Memory.restore(tmp_path / f"copy{place}.tar", tmp_path / f"back{place}")
        with reopened(tmp_path / f"back{place}") as back:
            held = {each.content for each in back.user("alice").drawers()}
            assert before <= held
            assert back.user("alice").doctor()[1].level == "ok"


# What is there already


def test_a_target_that_is_there_is_never_overwritten(grown, tmp_path):
    (tmp_path / "notes.zip").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    for name in ("notes.zip", "folder"):
        with pytest.raises(AlreadyThere):
            grown.backup(tmp_path / name)
    assert (tmp_path / "notes.zip").read_text() == "mine"


def test_a_backup_in_the_memory_itself_is_refused(grown):
    with pytest.raises(InvalidInput, match="the memory itself"):
        grown.backup(grown.path / "copy.zip")


def test_a_memory_is_not_replaced_unless_it_is_forced_and_is_then_kept_beside(grown, tmp_path):
    grown.backup(tmp_path / "copy.zip")
    told(grown, "alice", "Said after the backup.", session="tuesday")
    grown.close()
    with pytest.raises(AlreadyThere):
        Memory.restore(tmp_path / "copy.zip", grown.path)
    report = Memory.restore(tmp_path / "copy.zip", grown.path, force=True)
    with reopened(grown.path) as back, reopened(report.kept) as before:
        assert len(back.user("alice").drawers()) == 2
        assert len(before.user("alice").drawers()) == 3


def test_a_memory_that_is_open_is_not_replaced(grown, tmp_path):
    grown.backup(tmp_path / "copy.zip")
    with pytest.raises(DatabaseLocked):
        Memory.restore(tmp_path / "copy.zip", grown.path, force=True)
    assert len(grown.user("alice").drawers()) == 2


def test_a_memory_that_is_opened_while_a_backup_is_unpacked_is_not_replaced(grown, tmp_path, clock):
    grown.backup(tmp_path / "copy.zip")
    grown.close()
    with restoring.prepared(tmp_path / "copy.zip", grown.path, force=True) as ready, reopened(grown.path) as memory:
        told(memory, "alice", "Said meanwhile.", session="tuesday")
        with pytest.raises(DatabaseLocked):
            restoring.switch(ready, grown.path, tmp_path / "copy.zip", clock)
    with reopened(grown.path) as memory:
        assert len(memory.user("alice").drawers()) == 3


def test_a_folder_of_something_else_is_never_replaced(grown, tmp_path):
    grown.backup(tmp_path / "copy.zip")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(NotAMemoryFolder):
        Memory.restore(tmp_path / "copy.zip", tmp_path / "photos", force=True)
    assert [each.name for each in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


def test_restoring_one_user_leaves_the_others_as_they_are(grown, tmp_path):
    grown.backup(tmp_path / "copy.zip", users=["bob"])
    told(grown, "bob", "Said after the backup.", session="tuesday")
    told(grown, "alice", "Alice said this after the backup.", session="tuesday")
    grown.close()
    report = Memory.restore(tmp_path / "copy.zip", grown.path, force=True)
    assert report.carried == ("users/alice",)
    with reopened(grown.path) as back:
        assert [len(back.user(name).drawers()) for name in ("alice", "bob")] == [3, 1]


# A restore that is killed

RESTORE = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from sqlalchemy import Engine, event
from langmem_tiers import Memory

steps = []

def step(name):
    steps.append(name)
    if len(steps) == {kill}:
        os.kill(os.getpid(), signal.SIGKILL)

def audit(name, arguments):
    if name in ("os.rename", "shutil.rmtree") or (name == "open" and str(arguments[0]).endswith("memory.db")):
        step(f"{{name}} {{Path(os.fsdecode(arguments[0])).name[:9]}}")

sys.addaudithook(audit)
event.listen(Engine, "commit", lambda _: step("commit"))
Memory.restore({backup!r}, {target!r}, force=True, clock=lambda: datetime(2026, 4, 1, tzinfo=UTC))
print("\\n".join(steps))
"""


@pytest.fixture(scope="module")
def replaced(tmp_path_factory, warm_python):
    """A backup of one user, the memory as it became since, and the steps of a restore that is not killed."""
    place = tmp_path_factory.mktemp("replaced")
    with reopened(place / "memory") as memory:
        told(memory, "alice", "My sister Anna lives in Lisbon.", "My locker is zqwx77.", "I work at Bosch.")
        memory.user("alice").knowledge.save("The user has the locker zqwx77.", evidence=[2])
        told(memory, "bob", "I have a dog called Milo.")
        memory.backup(place / "alice.tar", users=["alice"])
        told(memory, "alice", "Said after the backup.", session="tuesday")
        told(memory, "bob", "Bob, after the backup.", session="tuesday")
        memory.user("alice").forget(messages="monday1", confirm=True)
    shutil.copytree(place / "memory", place / "tried")
    done = restored_by(warm_python, place, place / "tried", kill=0)
    assert done.returncode == 0, done.stderr
    return place, done.stdout.splitlines()


def restored_by(python, place, target, *, kill):
    script = target.with_name("restore.py")
    script.write_text(RESTORE.format(kill=kill, backup=str(place / "alice.tar"), target=str(target)))
    return python.run(script)


def known_to(folder):
    """What a memory knows, and whether it is sound."""
    with reopened(folder) as memory:
        memory.flush()
        users = [memory.user(name) for name in ("alice", "bob")]
        assert {each.level for user in users for each in user.doctor()} <= {"ok", "note"}
        entries = [[each.entry.content for each in user.knowledge.search(limit=50)] for user in users]
        return [[each.content for each in user.drawers()] for user in users], entries


BEFORE_IT = ["My sister Anna lives in Lisbon.", "I work at Bosch."]
AFTER_IT = [[*BEFORE_IT, "Said after the backup."], ["I have a dog called Milo.", "Bob, after the backup."]]
# Of the steps of a restore: the last ones, which move the folders, and as many of the others.
LAST, OTHERS = 3, 3


@pytest.mark.parametrize("number", range(LAST + OTHERS))
def test_a_restore_that_is_killed_is_done_by_the_next_one_and_nothing_is_mixed(replaced, tmp_path, warm_python, number):
    place, steps = replaced
    assert [each.split()[0] for each in steps[-3:]] == ["os.rename", "os.rename", "shutil.rmtree"]
    switched = number == 0  # only the draft is left to be removed
    kill = len(steps) - number if number < LAST else 1 + (number - LAST) * (len(steps) - LAST) // OTHERS
    target = tmp_path / "memory"
    shutil.copytree(place / "memory", target)
    assert restored_by(warm_python, place, target, kill=kill).returncode != 0
    assert known_to(target)[0] == ([BEFORE_IT, AFTER_IT[1]] if switched else AFTER_IT)
    report = Memory.restore(place / "alice.tar", target, force=True)
    assert (report.carried, report.forgotten["message"]) == (("users/bob",), 1)
    (alice, bob), entries = known_to(target)
    assert (alice, bob, entries) == (BEFORE_IT, AFTER_IT[1], known_to(place / "tried")[1])
    assert not [each for each in target.rglob("*") if each.is_file() and b"zqwx77" in each.read_bytes()]
    with reopened(target) as memory:
        told(memory, "alice", "My sister Anna lives in Lisbon.", "My locker is zqwx77.")
        assert [each.content for each in memory.user("alice").drawers()] == BEFORE_IT
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    assert {each.kind for each in backups.known(target)} == {"backup", "before_restore"}


# What was forgotten since


def test_what_was_deleted_after_the_backup_is_deleted_in_the_restored_memory_too(grown, tmp_path):
    alice = grown.user("alice")
    alice.graph.add_relation("Anna", "lives in", "Lisbon")
    alice.graph.add_relation("Ben", "works at", "Bosch")
    alice.documents.write("memory/2026-03-01.md", "A secret plan.")
    grown.backup(tmp_path / "copy.zip")
    [tea] = [each.entry for each in alice.knowledge.search("tea") if "tea" in each.entry.content]
    alice.knowledge.delete(tea.id, origin="user")
    alice.documents.delete("memory/2026-03-01.md")
    alice.graph.delete_entity("Ben")
    alice.forget(messages=(2,), confirm=True)
    grown.close()
    report = Memory.restore(tmp_path / "copy.zip", grown.path, force=True)
    assert set(report.forgotten) >= {"entry", "document", "entity", "message"}
    with reopened(grown.path) as back:
        alice = back.user("alice")
        assert not [each for each in alice.knowledge.search("tea") if "tea" in each.entry.content]
        assert alice.documents.read("memory/2026-03-01.md") is None
        assert [each.content for each in alice.drawers()] == ["My sister Anna lives in Lisbon."]
        told(back, "alice", "My sister Anna lives in Lisbon.", "I work at Bosch.")
        assert len(alice.drawers()) == 1
        assert "Ben" not in {each.name for each in alice.graph.entities()}
        assert "Anna" in {each.name for each in alice.graph.entities()}


@pytest.mark.parametrize("settings", ["enabled = false\n", '[spaces."users/alice"]\nenabled = false\n'])
def test_what_was_deleted_goes_also_where_the_restored_settings_turn_the_memory_off(grown, tmp_path, settings):
    [tea] = grown.user("alice").knowledge.search("tea")
    file = grown.path / "langmem-tiers.toml"
    file.write_text(settings)
    grown.backup(tmp_path / "copy.zip")
    file.unlink()
    grown.user("alice").knowledge.delete(tea.entry.id, origin="user")
    grown.user("alice").forget(messages=(2,), confirm=True)
    grown.close()
    report = Memory.restore(tmp_path / "copy.zip", grown.path, force=True)
    assert set(report.forgotten) >= {"entry", "message"}
    assert file.read_text() == settings
    file.unlink()
    with reopened(grown.path) as back:
        assert back.user("alice").knowledge.get(tea.entry.id) is None
        assert [each.content for each in back.user("alice").drawers()] == ["My sister Anna lives in Lisbon."]


def test_a_damaged_memory_is_replaced_and_the_report_names_what_could_not_be_looked_up(grown, tmp_path):
    grown.backup(tmp_path / "copy.zip")
    grown.close()
    for file in grown.path.glob("spaces/users-bob*/memory.db"):
        file.write_bytes(b"no database " * 1000)
    report = Memory.restore(tmp_path / "copy.zip", grown.path, force=True)
    assert report.unread == ("users/bob",)
    with reopened(grown.path) as back:
        assert len(back.user("bob").drawers()) == 1


def test_a_damaged_space_is_left_out_and_named_and_the_others_are_backed_up(grown, tmp_path):
    grown.close()
    for file in grown.path.glob("spaces/users-bob*/memory.db"):
        file.write_bytes(b"no database " * 1000)
    with reopened(grown.path) as memory:
        report = memory.backup(tmp_path / "copy.zip")
        assert [each.space for each in report.left_out] == ["users/bob"]
        with pytest.raises(DatabaseDamaged):
            memory.backup(tmp_path / "bob.zip", users=["bob"])
    assert not (tmp_path / "bob.zip").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_spaces_after_one_with_damaged_pages_are_backed_up(grown, tmp_path, ending):
    told(grown, "alice", *(f"Line {place} of a long story." * 20 for place in range(300)), session="story")
    grown.close()
    [file] = grown.path.glob("spaces/users-alice*/memory.db")
    pages = bytearray(file.read_bytes())
    for place in range(60 * 4096, len(pages), 7 * 4096):
        pages[place : place + 200] = b"\xff" * 200
    file.write_bytes(pages)
    with reopened(grown.path) as memory:
        report = memory.backup(tmp_path / f"copy{ending}")
    assert ([each.space for each in report.left_out], report.spaces) == (["users/alice"], ("users/bob",))
    assert Memory.restore(report.path, tmp_path / "back").spaces == ("users/bob",)


@pytest.mark.parametrize("name", ["my prompt.md", "dream.v2.md", "träume: nachts.md", "x" * 100 + ".md"])
def test_a_prompt_may_be_called_anything_and_is_restored(grown, tmp_path, name):
    (grown.path / "directives" / name).write_text("Dream well.")
    grown.backup(tmp_path / "copy.zip")
    Memory.restore(tmp_path / "copy.zip", tmp_path / "back")
    assert (tmp_path / "back" / "directives" / name).read_text() == "Dream well."


def test_a_backup_that_could_not_be_restored_is_an_error_when_it_is_made(grown, tmp_path):
    (grown.path / "directives" / "two\nlines.md").write_text("Dream well.")
    with pytest.raises(BackupDamaged, match="no file of a memory"):
        grown.backup(tmp_path / "copy.zip")
    assert not (tmp_path / "copy.zip").exists()


# The list of backups


def test_the_memory_knows_its_backups_with_time_and_spaces(grown, tmp_path, clock):
    first = grown.backup(tmp_path / "one.zip")
    clock.tick(60)
    grown.backup(tmp_path / "two", users=["bob"])
    (tmp_path / "one.zip").unlink()
    one, two = backups.known(grown.path)
    assert (one.id, one.path, one.at, one.there) == (first.id, tmp_path / "one.zip", first.at, False)
    assert (two.spaces, two.kind, two.there) == (("users/bob",), "backup", True)


def test_a_restored_memory_knows_the_copies_that_hold_its_past(grown, tmp_path):
    grown.backup(tmp_path / "copy.zip")
    grown.close()
    kept = Memory.restore(tmp_path / "copy.zip", grown.path, force=True).kept
    held = {each.path: each.kind for each in backups.known(grown.path)}
    assert held == {tmp_path / "copy.zip": "backup", kept: "before_restore"}
    Memory.restore(tmp_path / "copy.zip", tmp_path / "new")
    assert [each.path for each in backups.known(tmp_path / "new")] == [tmp_path / "copy.zip"]


def test_a_copy_made_before_a_migration_is_among_them(grown):
    [file] = grown.path.glob("spaces/users-bob*/memory.db")
    shutil.copyfile(file, file.with_name("memory.db.schema-3.bak"))
    assert [(each.kind, each.spaces) for each in backups.known(grown.path)] == [("before_migration", ("users/bob",))]


# Damaged, foreign and hostile backups


def state(folder):
    """A hash of every row of every space of a memory."""
    with reopened(folder) as memory:
        made = {}
        for name in memory.spaces():
            with memory.use(name) as store, store.reading() as connection:
                tables = [row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_schema ORDER BY 1")]
                kept = [table for table in tables if table in ("drawers", "entries", "documents", "embeddings")]
                rows = [connection.exec_driver_sql(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in kept]
                made[name] = hashlib.sha256(repr(rows).encode()).hexdigest()
        return made


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_flipped_byte_is_refused_or_changes_nothing(grown, tmp_path, ending):
    path = grown.backup(tmp_path / f"copy{ending}").path
    wanted = state_of_copy(path, tmp_path / "whole")
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    rng = random.Random(7)
    refused = 0
    for trial in range(12):
        file = files[trial % len(files)]
        data = bytearray(file.read_bytes())
        place = rng.randrange(len(data))
        data[place] ^= 1 << rng.randrange(8)
        whole = file.read_bytes()
        file.write_bytes(data)
        try:
            Memory.restore(path, tmp_path / f"back{trial}")
        except (BackupDamaged, NewerSchema):
            refused += 1
            assert not (tmp_path / f"back{trial}").exists()
        else:  # such as a byte of the padding in a tar file
            assert state(tmp_path / f"back{trial}") == wanted
        file.write_bytes(whole)
    assert refused >= (12 if path.is_dir() else 1)


def state_of_copy(path, folder):
    Memory.restore(path, folder)
    return state(folder)


@pytest.mark.parametrize("ending", ENDINGS[1:])
def test_a_backup_that_is_cut_off_is_refused(grown, tmp_path, ending):
    path = grown.backup(tmp_path / f"copy{ending}").path
    whole = path.read_bytes()
    for share in (0, 0.1, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(BackupDamaged):
            Memory.restore(path, tmp_path / "back")
    assert not [*tmp_path.glob("*back*")]


def test_what_is_no_backup_is_refused(grown, tmp_path):
    (tmp_path / "text").write_text("Hello")
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "text", tmp_path / "empty", tmp_path / "nowhere", grown.path):
        with pytest.raises(BackupDamaged):
            Memory.restore(path, tmp_path / "back")


def resealed(folder, change):
    """A backup in a folder whose manifest was changed by somebody who knows how to seal it."""
    file = folder / "backup.json"
    held = json.loads(file.read_text())
    del held["checksum"]
    change(held)
    sealed = hashlib.blake2b(json.dumps(held, sort_keys=True).encode(), digest_size=32).hexdigest()
    file.write_text(json.dumps({**held, "checksum": sealed}))


def set_path(path):
    return lambda held: held["files"].append({"path": path, "bytes": 1, "blake2b": "0" * 64})


@pytest.mark.parametrize(
    "change",
    [
        set_path("../outside.md"),
        set_path("/etc/passwd"),
        set_path("directives/../../outside.md"),
        set_path("./outside.md"),
        set_path("C:/outside.md"),
        set_path("directives/two\nlines.md"),
        set_path("spaces/users-eve-1/memory.db"),
        set_path("C:\\outside.md"),
        set_path("a/b.md\0"),
        set_path("x" * 5000),
        lambda held: held["spaces"][0].update(folder="../../outside"),
        lambda held: held["spaces"][0].update(name="users/eve"),
        lambda held: held["spaces"][0].update(canary="0" * 32),
        lambda held: held["spaces"][0]["rows"].update(drawers=99),
        lambda held: held["spaces"].append(held["spaces"][0]),
        lambda held: held["files"].pop(),
        lambda held: held["files"][0].update(bytes=-1),
        lambda held: held["files"][0].update(bytes=1 << 62),
        lambda held: held.update(spaces="all"),
        lambda held: held.update(made_at=7),
        lambda held: held.update(more="x"),
    ],
)
def test_a_manifest_that_was_made_to_harm_is_refused(grown, tmp_path, change):
    grown.backup(tmp_path / "copy")
    resealed(tmp_path / "copy", change)
    with pytest.raises(BackupDamaged):
        Memory.restore(tmp_path / "copy", tmp_path / "in" / "back")
    assert not (tmp_path / "outside.md").exists()
    assert not (tmp_path / "in" / "back").exists()


@pytest.mark.parametrize("change", [lambda held: held.update(schema=9999), lambda held: held.update(version=9)])
def test_a_backup_of_a_newer_version_is_named(grown, tmp_path, change):
    grown.backup(tmp_path / "copy")
    resealed(tmp_path / "copy", change)
    with pytest.raises(NewerSchema, match="this"):
        Memory.restore(tmp_path / "copy", tmp_path / "back")


def test_links_devices_and_bombs_in_an_archive_are_refused(grown, tmp_path):
    grown.backup(tmp_path / "copy")
    link = tmp_path / "link.tar"
    with tarfile.open(link, "w") as made:
        for file in sorted((tmp_path / "copy").rglob("*")):
            info = made.gettarinfo(file, file.relative_to(tmp_path / "copy").as_posix())
            if file.name == "memory.db":
                info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0
                made.addfile(info)
            elif file.is_file():
                made.addfile(info, io.BytesIO(file.read_bytes()))
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("backup.json", (tmp_path / "copy" / "backup.json").read_bytes())
        made.writestr("langmem-tiers.json", b"\0" * (200 << 20))
    for path in (link, bomb):
        with pytest.raises(BackupDamaged):
            Memory.restore(path, tmp_path / "back")
    assert not [*tmp_path.glob("*back*")]


def test_a_link_in_the_folder_of_a_backup_is_refused(grown, tmp_path):
    grown.backup(tmp_path / "copy")
    [file] = (tmp_path / "copy" / "spaces").glob("users-bob*/memory.db")
    file.rename(tmp_path / "elsewhere.db")
    file.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(BackupDamaged):
        Memory.restore(tmp_path / "copy", tmp_path / "back")


# Disks


def test_a_full_disk_is_named_and_leaves_nothing(memory, small_disk):
    told(memory, "alice", *(f"Robot {number} " * 2000 for number in range(60)))
    for ending in ("", ".tar"):
        with pytest.raises(DiskFull):
            memory.backup(small_disk / f"copy{ending}")
    assert [*small_disk.iterdir()] == []
    assert backups.known(memory.path) == ()


def test_a_disk_too_small_to_restore_to_is_named_and_leaves_nothing(memory, small_disk, tmp_path):
    told(memory, "alice", *(f"Robot {number} " * 2000 for number in range(60)))
    memory.backup(tmp_path / "copy.tar.gz")
    with pytest.raises(DiskFull):
        Memory.restore(tmp_path / "copy.tar.gz", small_disk / "back")
    assert [*small_disk.iterdir()] == []


def test_a_read_only_target_is_named(grown, small_disk, tmp_path):
    grown.backup(tmp_path / "copy.zip")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(FolderNotWritable):
        grown.backup(small_disk / "copy.zip")
    with pytest.raises(FolderNotWritable):
        Memory.restore(tmp_path / "copy.zip", small_disk / "back")


def test_a_killed_backup_leaves_no_canary_for_ever(grown, tmp_path, clock):
    from langmem_tiers.storage import facts

    with grown.use("users/bob") as store, store.writing() as connection:
        facts.put(connection, store.key, "canary:left", str(int(clock().timestamp() * 1000)).zfill(15))
    clock.tick(2 * 24 * 60 * 60)
    grown.backup(tmp_path / "copy.zip")
    with grown.use("users/bob") as store, store.reading() as connection:
        assert facts.get(connection, store.key, "canary:left") is None


def test_the_names_of_this_machine_are_not_in_a_tar_file(grown, tmp_path):
    grown.backup(tmp_path / "copy.tar")
    with tarfile.open(tmp_path / "copy.tar") as made:
        assert {(each.uname, each.gname, each.uid) for each in made} == {("", "", 0)}


def test_the_manifest_counts_every_row(grown, tmp_path):
    grown.backup(tmp_path / "copy")
    manifest = backup_files.read_manifest(tmp_path / "copy")
    assert [each.rows["drawers"] for each in manifest.spaces] == [2, 1]
    assert {each.path.rpartition("/")[2] for each in manifest.files} == {
        *("memory.db", "space.json", "langmem-tiers.json", "langmem-tiers.toml", "dream.md")
    }


# The commands


@pytest.fixture
def run(grown, tmp_path, capsys, monkeypatch):
    """Runs a command line on the memory; gives exit code, output and errors."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    grown.close()

    def command(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", "memory", "--embedder", "none", *map(str, arguments)])
        told = capsys.readouterr()
        return left.value.code, told.out, told.err

    return command


def test_the_commands_back_up_list_and_restore(run, tmp_path):
    code, out, _ = run("backup", "copy.tar.gz")
    assert (code, "2 spaces, 3 messages" in out, "Verified" in out) == (0, True, True)
    code, out, _ = run("backup", "--list", "--json")
    assert [each["path"] for each in json.loads(out)] == [str(tmp_path / "copy.tar.gz")]
    code, _, err = run("restore", "copy.tar.gz")
    assert (code, "--force" in err) == (1, True)
    code, out, _ = run("restore", "copy.tar.gz", "--force")
    assert (code, "is kept in" in out) == (0, True)


def test_the_command_backs_up_one_user(run):
    code, out, _ = run("--user", "bob", "backup", "bob.zip", "--json")
    assert (code, json.loads(out)["spaces"]) == (0, ["users/bob"])
    code, _, err = run("--user", "bop", "backup", "bop.zip")
    assert (code, "It has: alice, bob" in err) == (1, True)


def test_restoring_to_a_new_place_says_that_forgotten_things_are_back(run, tmp_path):
    run("backup", "copy.zip")
    with pytest.raises(SystemExit):
        main(["--path", "elsewhere", "restore", "copy.zip"])
    assert (tmp_path / "elsewhere" / "langmem-tiers.json").exists()


@pytest.mark.parametrize("words", [("backup",), ("restore", "nowhere.zip"), ("backup", "memory/copy.zip")])
def test_a_mistake_is_one_line_on_standard_error(run, words):
    code, out, err = run(*words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "Traceback" not in err


KILLED_BACKUP = """
import os, signal
from langmem_tiers import Memory

with Memory.open({folder!r}, embedder=None, background=False) as memory:
    memory.backup({target!r}, advance=lambda *_: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_what_a_killed_backup_left_goes_with_the_next_one_under_any_name(grown, tmp_path, warm_python):
    script = tmp_path / "backup.py"
    script.write_text(KILLED_BACKUP.format(folder=str(grown.path), target=str(tmp_path / "monday.tar.gz")))
    assert warm_python.run(script).returncode != 0
    (left,) = tmp_path.glob(".monday.tar.gz.*")
    assert (left / "memory.db").stat().st_size
    with backups.draft(tmp_path / "tuesday.tar") as at_work:
        (at_work / "made").write_text("Somebody is making it.")
        grown.backup(tmp_path / "wednesday.tar.gz")
        assert (at_work / "made").exists()
    assert not left.exists()


@pytest.mark.parametrize("held", [[], ["made", "moved_away"], ["memory.db", "thesis.tex"]])
def test_what_may_be_needed_is_not_taken_for_what_a_killed_backup_left(grown, tmp_path, held):
    other = tmp_path / ".other.0123abcd"
    other.mkdir()
    for name in ["draft.lock", *held]:
        (other / name).write_text("x")
    grown.backup(tmp_path / "copy.tar")
    assert len([*other.iterdir()]) == 1 + len(held)


def test_no_draft_is_left_behind(grown, tmp_path):
    for ending in ENDINGS:
        grown.backup(tmp_path / f"copy{ending}")
        Memory.restore(tmp_path / f"copy{ending}", tmp_path / f"back{ending}")
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]
