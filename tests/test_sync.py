"""A folder of Markdown files that follows a space, and that the space follows."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import DiskFull, FolderNotWritable, InvalidInput, NotASyncFolder, SyncInProgress
from langmem_tiers.records import Authority
from langmem_tiers.settings import PrivacySettings
from langmem_tiers.sync import folder as folders
from langmem_tiers.sync import plan
from langmem_tiers.sync.front_matter import MARKER, parse

SECRET = "AKIAIOSFODNN7EXAMPLB"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Where the files are to be."""
    return tmp_path / "files"


def _tea(alice):
    return alice.knowledge.save("The user prefers tea.", category="drinks", tags=["tea"], origin="user").entry


def _files(folder):
    found = (each for each in folder.rglob("*") if each.is_file() and folders._OWN not in each.parts)
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def _entry_file(folder):
    (found,) = (folder / "knowledge").rglob("*.md")
    return found


def _edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def _reasons(report):
    return {each.path: each.reason for each in report.problems}


def _words(alice, **filters):
    return {each.entry.content for each in alice.knowledge.search(limit=100, **filters)}


# What is written.


def test_identity_entries_and_notes_are_written(alice, folder):
    entry = _tea(alice)
    alice.identity.write("## Name\nAlice")
    alice.documents.write("memory/2026-03-02.md", "The launch moved.\r\n")
    report = alice.sync(folder)
    name = f"knowledge/drinks/the-user-prefers-tea-{entry.id}.md"
    files = _files(folder)
    assert files.keys() == {"identity.md", name, "notes/memory/2026-03-02.md"}
    assert files["identity.md"] == b"## Name\nAlice\n"
    assert files["notes/memory/2026-03-02.md"] == b"The launch moved.\r\n"
    assert parse(files[name].decode()).body == "The user prefers tea."
    assert report.settled


def test_a_second_sync_writes_nothing(alice, folder):
    _tea(alice)
    alice.sync(folder)
    before = {each: each.stat().st_mtime_ns for each in folder.rglob("*") if each.name != "lock"}
    report = alice.sync(folder)
    assert (report.to_folder, report.to_memory, report.unchanged) == ((), (), 1)
    assert {each: each.stat().st_mtime_ns for each in folder.rglob("*") if each.name != "lock"} == before


def test_two_folders_of_one_memory_have_the_same_bytes(alice, folder, tmp_path):
    _tea(alice)
    alice.sync(folder)
    alice.sync(tmp_path / "other")
    assert _files(folder) == _files(tmp_path / "other")


def test_a_file_quotes_what_its_entry_rests_on_and_that_is_not_read_back(alice, folder):
    alice.track([Turn(role="user", content="I'd rather have tea,\n<b>always</b>.", message_id="1")], session="monday")
    alice.knowledge.save("The user prefers tea.", evidence=[1])
    alice.sync(folder)
    text = _entry_file(folder).read_text()
    assert 'evidence: ["§W-001/R-01/D-001"]' in text
    assert "> §W-001/R-01/D-001, 2026-03-02: I'd rather have tea, \\<b>always\\</b>." in text
    _edit(_entry_file(folder), "rather have", "never have")
    assert alice.sync(folder).to_memory == ()


def test_a_sentence_that_holds_the_marker_is_kept_whole(alice, folder):
    alice.knowledge.save(f"One.\n{MARKER}\nTwo.", origin="user")
    alice.sync(folder)
    assert parse(_entry_file(folder).read_text()).body == f"One.\n{MARKER}\nTwo."
    assert alice.sync(folder).unchanged == 1


@pytest.mark.parametrize("tag", ["no", "null", "1e5", "a: b", "#x", "é", "\U0001f600\x07", '"', "\\", "{", "\u2028y"])
def test_every_tag_comes_back_as_it_was(alice, folder, tag):
    entry = alice.knowledge.save("The user prefers tea.", tags=[tag], project="null", origin="user").entry
    alice.sync(folder)
    file = parse(_entry_file(folder).read_text())
    assert (file.id, file.tags, file.project) == (entry.id, entry.tags, "null")
    assert alice.sync(folder).unchanged == 1


# What is taken over.


def test_an_edited_sentence_is_a_correction_by_the_user(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    _edit(_entry_file(folder), "prefers tea", "prefers coffee")
    report = alice.sync(folder)
    held = alice.knowledge.get(entry.id)
    assert [(each.action, each.entry) for each in report.to_memory] == [("changed", entry.id)]
    assert (held.content, held.authority) == ("The user prefers coffee.", Authority.CORRECTION)
    assert [each.content for each in alice.knowledge.history(entry.id)] == ["The user prefers tea."]
    assert "version: 2" in _entry_file(folder).read_text()


def test_changes_of_different_fields_go_together(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    _edit(_entry_file(folder), "prefers tea", "prefers green tea")
    alice.knowledge.update(entry.id, tags=["green"], pinned=True)
    assert alice.sync(folder).settled
    held, file = alice.knowledge.get(entry.id), parse(_entry_file(folder).read_text())
    assert (held.content, held.tags, held.pinned) == ("The user prefers green tea.", ("green",), True)
    assert (file.body, file.tags, file.pinned) == ("The user prefers green tea.", ("green",), True)


def test_a_new_file_is_an_entry_in_the_category_of_its_folder(alice, folder):
    alice.sync(folder)
    file = folder / "knowledge" / "work" / "habits" / "standup.md"
    file.parent.mkdir(parents=True)
    file.write_text("The standup is at nine.\n")
    alice.sync(folder)
    (found,) = alice.knowledge.search(category="work/habits")
    assert (found.entry.content, found.entry.origin) == ("The standup is at nine.", "user")
    assert parse(file.read_text()).id == found.entry.id
    assert alice.sync(folder).unchanged == 1


def test_a_new_file_that_says_what_is_known_is_merged_and_removed(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    (folder / "knowledge" / "again.md").write_text("The user prefers tea.")
    report = alice.sync(folder)
    assert [(each.action, each.entry) for each in report.to_memory] == [("merged", entry.id)]
    assert len(_files(folder)) == 1


def test_a_moved_file_changes_the_category(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    target = folder / "knowledge" / "Hot Drinks" / "my-name.md"
    target.parent.mkdir()
    _entry_file(folder).rename(target)
    alice.sync(folder)
    assert alice.knowledge.get(entry.id).category == "hot-drinks"
    assert list(_files(folder)) == ["knowledge/hot-drinks/my-name.md"]


def test_a_changed_category_moves_the_file(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    _edit(_entry_file(folder), "category: drinks", "category: con/drinks")
    alice.sync(folder)
    assert alice.knowledge.get(entry.id).category == "con/drinks"
    assert list(_files(folder)) == [f"knowledge/con~/drinks/the-user-prefers-tea-{entry.id}.md"]
    assert not (folder / "knowledge" / "drinks").exists()
    assert alice.sync(folder).unchanged == 1


def test_a_deleted_file_waits_until_the_deletion_is_confirmed(alice, folder):
    entry = _tea(alice)
    alice.documents.write("a.md", "A note.")
    alice.identity.write("Alice")
    alice.sync(folder)
    for name in ("knowledge", "notes"):
        shutil.rmtree(folder / name)
    (folder / "identity.md").write_text("")
    report = alice.sync(folder)
    assert {each.kind for each in report.waiting} == {"entry", "note", "identity"}
    assert alice.knowledge.get(entry.id).active
    assert alice.sync(folder, confirm_deletions=True).settled
    held = alice.knowledge.get(entry.id)
    assert (held.status, held.reason) == ("inactive", "removed")
    assert (alice.documents.list(), alice.identity.read().text) == ((), "")


def test_prefer_memory_brings_deleted_files_back(alice, folder):
    _tea(alice)
    alice.sync(folder)
    before = _files(folder)
    shutil.rmtree(folder / "knowledge")
    assert alice.sync(folder, prefer="memory").settled
    assert _files(folder) == before


def test_an_entry_whose_file_says_inactive_is_put_aside(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    _edit(_entry_file(folder), "status: active", "status: inactive")
    alice.sync(folder)
    assert not alice.knowledge.get(entry.id).active
    assert _files(folder) == {}


@pytest.mark.parametrize("head", ["status: inactive", "id: 0123456789ab\nstatus: inactive"])
def test_a_new_file_that_says_inactive_is_a_problem_and_no_active_entry(alice, folder, head):
    alice.sync(folder)
    file = folder / "knowledge" / "cocoa.md"
    file.parent.mkdir()
    file.write_text(f"---\n{head}\n---\nThe user once liked cocoa.\n")
    report = alice.sync(folder, prefer="folder")
    assert "cannot be inactive" in _reasons(report)["knowledge/cocoa.md"]
    assert _words(alice) == set()
    assert file.exists()


def test_what_is_put_aside_in_the_memory_goes_from_the_folder(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    alice.knowledge.save("The user prefers coffee.", category="drinks", corrects=entry.id, origin="user")
    alice.sync(folder)
    assert parse(_entry_file(folder).read_text()).body == "The user prefers coffee."


def test_an_edit_of_what_only_the_memory_sets_is_named_and_written_over(alice, folder):
    _tea(alice)
    alice.sync(folder)
    before = _files(folder)
    _edit(_entry_file(folder), "version: 1", "version: 7")
    (ignored,) = alice.sync(folder).ignored
    assert ignored.reason == "only the memory sets version"
    assert _files(folder) == before


def test_front_matter_that_is_taken_out_changes_nothing_but_the_sentence(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    _entry_file(folder).write_text("The user prefers coffee.")
    alice.sync(folder)
    held = alice.knowledge.get(entry.id)
    assert (held.content, held.tags, held.category) == ("The user prefers coffee.", ("tea",), "drinks")


def test_a_file_that_comes_back_has_the_name_that_it_had(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    mine = folder / "knowledge" / "drinks" / "mine.md"
    _entry_file(folder).rename(mine)
    alice.sync(folder)
    mine.unlink()
    alice.knowledge.update(entry.id, content="The user prefers coffee.", origin="user")
    alice.sync(folder, prefer="memory")
    assert parse(mine.read_text()).body == "The user prefers coffee."
    assert len(_files(folder)) == 1


def test_a_new_file_can_name_its_tags_pin_and_project(alice, folder):
    alice.sync(folder)
    (folder / "knowledge").mkdir()
    head = "---\ntags: [Tea, hot]\npinned: yes\nproject: kitchen\ncategory: drinks\n---\n"
    (folder / "knowledge" / "x.md").write_text(f"{head}The user prefers tea.")
    alice.sync(folder)
    (found,) = alice.knowledge.search()
    told = (found.entry.tags, found.entry.pinned, found.entry.project, found.entry.category)
    assert told == (("tea", "hot"), True, "kitchen", "drinks")


# Conflicts.


@pytest.fixture
def conflict(alice, folder):
    """An entry that was changed on both sides; its file."""
    entry = _tea(alice)
    alice.sync(folder)
    file = _entry_file(folder)
    _edit(file, "prefers tea", "prefers green tea")
    alice.knowledge.update(entry.id, content="The user prefers black tea.", origin="user")
    return file


def test_a_conflict_touches_neither_side_and_shows_both_versions(alice, folder, conflict):
    report = alice.sync(folder)
    (found,) = report.conflicts
    assert not report.settled
    assert "green tea" in found.folder
    assert "black tea" in found.memory
    assert "black tea" in (folder / found.copy).read_text()
    assert "green tea" in conflict.read_text()
    assert _words(alice) == {"The user prefers black tea."}


def test_a_conflict_is_settled_by_an_edit_and_the_removal_of_the_copy(alice, folder, conflict):
    (found,) = alice.sync(folder).conflicts
    _edit(conflict, "green tea", "green and black tea")
    assert alice.sync(folder).conflicts != ()
    (folder / found.copy).unlink()
    assert alice.sync(folder).settled
    assert _words(alice) == {"The user prefers green and black tea."}
    assert not (folder / "conflicts").exists()


def test_a_memory_that_has_changed_again_asks_again(alice, folder, conflict):
    (found,) = alice.sync(folder).conflicts
    alice.knowledge.update(found.entry, content="The user prefers white tea.", origin="user")
    (folder / found.copy).unlink()
    (again,) = alice.sync(folder).conflicts
    assert "white tea" in again.memory


@pytest.mark.parametrize(("prefer", "kept"), [("memory", "black"), ("folder", "green")])
def test_a_conflict_is_settled_by_preferring_a_side(alice, folder, conflict, prefer, kept):
    alice.sync(folder)
    assert alice.sync(folder, prefer=prefer).settled
    assert _words(alice) == {f"The user prefers {kept} tea."}
    assert f"prefers {kept} tea" in conflict.read_text()
    assert not (folder / "conflicts").exists()


def test_an_edit_of_what_was_put_aside_meanwhile_is_a_conflict(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    _edit(_entry_file(folder), "prefers tea", "prefers green tea")
    alice.knowledge.deactivate(entry.id, origin="user")
    (found,) = alice.sync(folder).conflicts
    assert found.memory is None
    assert alice.sync(folder, prefer="folder").settled
    assert _words(alice) == {"The user prefers green tea."}


def test_identity_and_notes_conflict_too(alice, folder):
    alice.identity.write("Alice")
    alice.documents.write("a.md", "One.")
    alice.sync(folder)
    alice.identity.write("Alice M.")
    alice.documents.write("a.md", "Two.")
    (folder / "identity.md").write_text("Alice Moreau\n")
    (folder / "notes" / "a.md").write_text("Three.")
    assert [each.path for each in alice.sync(folder).conflicts] == ["identity.md", "notes/a.md"]
    alice.sync(folder, prefer="folder")
    assert alice.identity.read().text == "Alice Moreau"
    assert alice.documents.read("a.md").content == "Three."


def _in_the_way(folder, conflict, how):
    """Something that keeps the copy of a conflict from being written, or read."""
    copy, outside = folder / "conflicts" / conflict.relative_to(folder), folder.with_name("outside")
    if how in {"a copy that is a link", "a folder in place of the copy"}:
        copy.parent.mkdir(parents=True)
    outside.mkdir()
    {
        "conflicts is a file": lambda: (folder / "conflicts").write_text("x"),
        "conflicts is a link": lambda: (folder / "conflicts").symlink_to(outside),
        "a folder in place of the copy": copy.mkdir,
        "a copy that is a link": lambda: copy.symlink_to(outside / "x.md"),
    }[how]()


@pytest.mark.parametrize(
    "how",
    ["conflicts is a file", "conflicts is a link", "a folder in place of the copy", "a copy that is a link"],
)
def test_a_conflict_whose_copy_could_not_be_written_stays_a_conflict(alice, folder, conflict, how):
    _in_the_way(folder, conflict, how)
    assert any(each.startswith("conflicts") for each in _reasons(alice.sync(folder)))
    for _ in range(2):
        assert len(alice.sync(folder).conflicts) == 1
        assert _words(alice) == {"The user prefers black tea."}
    assert "green tea" in conflict.read_text()


def test_a_copy_that_was_shown_and_is_out_of_reach_was_not_taken_away(alice, folder, conflict, tmp_path):
    alice.sync(folder)
    (folder / "conflicts").rename(tmp_path / "elsewhere")
    (folder / "conflicts").symlink_to(tmp_path / "elsewhere")
    for _ in range(2):
        assert len(alice.sync(folder).conflicts) == 1
    assert _words(alice) == {"The user prefers black tea."}


def test_what_an_edited_copy_kept_from_being_shown_is_asked_again(alice, folder, conflict):
    (found,) = alice.sync(folder).conflicts
    (folder / found.copy).write_text("My own words.")
    alice.knowledge.update(found.entry, content="The user prefers white tea.", origin="user")
    alice.sync(folder)
    (folder / found.copy).unlink()
    assert len(alice.sync(folder).conflicts) == 1
    assert _words(alice) == {"The user prefers white tea."}


def test_empty_folders_elsewhere_are_left_alone(alice, folder, tmp_path):
    alice.sync(folder)
    for inner in ("empty/sub", "other"):
        (tmp_path / "outside" / inner).mkdir(parents=True)
    (folder / "conflicts").symlink_to(tmp_path / "outside")
    alice.sync(folder)
    (folder / "conflicts").unlink()
    (folder / "conflicts" / "gone").mkdir(parents=True)
    (folder / "conflicts" / "link").symlink_to(tmp_path / "outside" / "other")
    alice.sync(folder)
    assert (tmp_path / "outside" / "empty" / "sub").is_dir()
    assert [each.name for each in (folder / "conflicts").iterdir()] == ["link"]


def test_a_copy_that_was_edited_is_not_removed(alice, folder, conflict):
    (found,) = alice.sync(folder).conflicts
    (folder / found.copy).write_text("My own words.")
    report = alice.sync(folder, prefer="memory")
    assert list(_reasons(report)) == [found.copy]
    assert (folder / found.copy).read_text() == "My own words."


# Bad input.

ANCHORS = "a: &a [x, x]\nb: &b [*a, *a, *a]\n"
HOSTILE = {
    "anchors": f"---\n{ANCHORS}---\nText.",
    "deep": f"---\ntags: {'[' * 20_000}\n---\nText.",
    "deep mappings": "---\n" + "".join(" " * n + "a:\n" for n in range(300)) + "---\nText.",
    "huge": f"---\ntags: [{'x, ' * 30_000}]\n---\nText.",
    "object": "---\ntags: !!python/object/apply:os.system ['true']\n---\nText.",
    "wrong type": "---\npinned: [1]\n---\nText.",
    "no end": "---\nid: x\nText.",
    "twice": "---\nid: a\nid: b\n---\nText.",
    "unknown field": "---\ncolour: red\n---\nText.",
    "scalar": "---\nhello\n---\nText.",
    "control characters": "---\nid: \x00\n---\nText.",
    "no text": "---\ntags: [a]\n---\n",
    "empty": "",
    "long": "word " * 200_000,
    "invalid category": "---\ncategory: a/../b\n---\nText.",
    "foreign id": "---\nid: ffffffffffff\n---\nText.",
    "merge of git in the front matter": "---\n<<<<<<< HEAD\npinned: true\n=======\n>>>>>>> other\n---\nOne.\n",
    "merge of git": "<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> other\n",
    "secret": f"The key is {SECRET}.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_taken_over_is_a_problem_and_stays(tmp_path, folder, name):
    refusing = Settings(privacy=PrivacySettings(derived="refuse"))
    with Memory.open(tmp_path / "m", embedder=None, background=False, settings=refusing) as memory:
        alice = memory.user("alice")
        alice.sync(folder)
        (folder / "knowledge").mkdir()
        file = folder / "knowledge" / "x.md"
        file.write_text(HOSTILE[name])
        (folder / "knowledge" / "good.md").write_text("The user prefers tea.")
        report = alice.sync(folder)
        assert list(_reasons(report)) == ["knowledge/x.md"]
        assert file.read_text() == HOSTILE[name]
        assert _words(alice) == {"The user prefers tea."}


def test_an_entry_that_quotes_a_merge_of_git_syncs_both_ways(alice, folder):
    words = "Git marks conflicts so:\n<<<<<<< HEAD\nOne.\n=======\nTwo.\n>>>>>>> other"
    alice.knowledge.save(words, category="work", origin="user")
    alice.sync(folder)
    again = alice.sync(folder)
    assert (again.settled, again.to_folder, again.unchanged) == (True, (), 1)
    _edit(_entry_file(folder), "category: work", "category: git")
    assert alice.sync(folder).problems == ()
    assert [each.entry.category for each in alice.knowledge.search()] == ["git"]
    assert _words(alice) == {words}


def test_what_is_no_utf8_is_a_problem_in_knowledge_and_bytes_in_notes(alice, folder):
    alice.sync(folder)
    for name in ("knowledge", "notes"):
        (folder / name).mkdir()
        (folder / name / "x.md").write_bytes(b"caf\xe9")
    report = alice.sync(folder)
    assert list(_reasons(report)) == ["knowledge/x.md"]
    assert alice.documents.read("x.md").data == b"caf\xe9"
    assert alice.sync(folder).to_memory == ()


def test_line_ends_and_a_byte_order_mark_make_no_difference(alice, folder):
    _tea(alice)
    alice.identity.write("## A\nb")
    alice.sync(folder)
    for file in (_entry_file(folder), folder / "identity.md"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    before = _files(folder)
    report = alice.sync(folder)
    assert (report.to_memory, report.to_folder, report.unchanged) == ((), (), 2)
    assert _files(folder) == before


def test_links_are_never_followed(alice, folder, tmp_path):
    alice.documents.write("a/b.md", "A note.")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("Outside.")
    folder.mkdir()
    (folder / "knowledge").symlink_to(outside)
    (folder / "notes").mkdir()
    (folder / "notes" / "a").symlink_to(outside)
    (folder / "identity.md").symlink_to(outside / "x.md")
    report = alice.sync(folder, init=True)
    assert {"knowledge", "notes/a", "identity.md"} <= _reasons(report).keys()
    assert [each.name for each in outside.iterdir()] == ["x.md"]
    assert (_words(alice), alice.identity.read().text) == (set(), "")


def test_of_two_files_with_one_id_the_one_that_was_there_counts(alice, folder):
    entry = _tea(alice)
    alice.sync(folder)
    copy = folder / "knowledge" / "copy.md"
    copy.write_text(_entry_file(folder).read_text().replace("tea.", "milk."))
    report = alice.sync(folder)
    assert list(_reasons(report)) == ["knowledge/copy.md"]
    assert alice.knowledge.get(entry.id).content == "The user prefers tea."
    _edit(copy, f'id: "{entry.id}"\n' if f'"{entry.id}"' in copy.read_text() else f"id: {entry.id}\n", "")
    assert alice.sync(folder).settled
    assert _words(alice) == {"The user prefers tea.", "The user prefers milk."}


def test_an_identity_that_is_too_long_is_a_problem(alice, folder):
    alice.identity.write("Alice")
    alice.sync(folder)
    (folder / "identity.md").write_text("x" * 1001)
    report = alice.sync(folder)
    assert "1 more than" in _reasons(report)["identity.md"]
    assert alice.identity.read().text == "Alice"
    assert (folder / "identity.md").read_text() == "x" * 1001


def test_notes_with_names_that_not_every_system_can_have_stay_in_the_memory(alice, folder):
    for name in ("a:b.md", "aux.md", "Notes.md", "notes.md", "x~"):
        alice.documents.write(name, name)
    report = alice.sync(folder)
    assert _reasons(report).keys() == {"notes/a:b.md", "notes/aux.md", "notes/notes.md", "notes/x~"}
    assert list(_files(folder)) == ["notes/Notes.md"]
    assert len(alice.documents.list()) == 5


def test_hidden_files_backups_and_git_are_left_alone(alice, folder):
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    _tea(alice)
    alice.sync(folder)
    for name in ("knowledge/.x.md.swp", "knowledge/x.md~", "notes~"):
        (folder / name).write_text("Not mine.")
    before = _files(folder)
    assert alice.sync(folder).settled
    assert _files(folder) == before


def test_git_sees_no_change_after_a_second_sync_and_an_older_commit_is_an_edit(alice, folder):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True).stdout

    entry = _tea(alice)
    alice.sync(folder)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    alice.sync(folder)
    assert git("status", "--porcelain") == ""
    alice.knowledge.update(entry.id, content="The user prefers coffee.", origin="user")
    alice.sync(folder)
    git("checkout", "-q", "--", ".")
    alice.sync(folder)
    assert alice.knowledge.get(entry.id).content == "The user prefers tea."


def test_a_clone_that_was_never_synced_has_only_what_differs_in_conflict(alice, folder, tmp_path):
    entry = _tea(alice)
    alice.knowledge.save("The user sails.", origin="user")
    alice.sync(folder)
    clone = tmp_path / "clone"
    shutil.copytree(folder, clone, ignore=shutil.ignore_patterns(folders._OWN))
    alice.knowledge.update(entry.id, content="The user prefers coffee.", origin="user")
    with pytest.raises(NotASyncFolder, match="init"):
        alice.sync(clone)
    report = alice.sync(clone, init=True)
    assert ([each.entry for each in report.conflicts], report.unchanged) == ([entry.id], 1)


def test_a_new_memory_takes_a_folder_in(alice, memory, folder, tmp_path):
    _tea(alice)
    alice.sync(folder)
    shutil.rmtree(folder / folders._OWN)
    bob = memory.user("bob")
    assert bob.sync(folder, init=True, prefer="folder").settled
    (found,) = bob.knowledge.search()
    assert (found.entry.content, found.entry.category, found.entry.tags) == (
        "The user prefers tea.",
        "drinks",
        ("tea",),
    )
    assert parse(_entry_file(folder).read_text()).id == found.entry.id
    assert bob.sync(folder).unchanged == 1


def test_a_folder_that_is_not_ours_is_refused(alice, memory, folder, tmp_path):
    _tea(alice)
    alice.sync(folder)
    with pytest.raises(NotASyncFolder, match="another space"):
        memory.user("bob").sync(folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    with pytest.raises(NotASyncFolder, match="holds other things"):
        alice.sync(other)
    with pytest.raises(NotASyncFolder, match="is a file"):
        alice.sync(other / "thesis.tex")
    with pytest.raises(NotASyncFolder, match="memory itself"):
        alice.sync(tmp_path / "memory" / "files")
    assert [each.name for each in other.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b'{"format": 1, "space": "x"}', b'{"format": 2}'])
def test_a_state_that_cannot_be_read_is_a_named_error(alice, folder, state):
    alice.sync(folder)
    (folder / folders._OWN / "sync.json").write_bytes(state)
    with pytest.raises(NotASyncFolder):
        alice.sync(folder)


def test_a_state_that_names_other_files_leads_nowhere(alice, folder, tmp_path):
    entry = _tea(alice)
    alice.sync(folder)
    outside = tmp_path / "outside.md"
    outside.write_text("Outside.")
    state = folder / folders._OWN / "sync.json"
    state.write_text(re.sub(r'"path": "[^"]*"', '"path": "../outside.md"', state.read_text()))
    alice.knowledge.deactivate(entry.id, origin="user")
    alice.sync(folder)
    assert outside.read_text() == "Outside."


def test_two_syncs_at_once_are_told_apart(alice, folder, monkeypatch):
    alice.sync(folder)
    monkeypatch.setattr(folders, "_WAIT_SECONDS", 0.05)
    with FileLock(folder / folders._OWN / "lock"), pytest.raises(SyncInProgress):
        alice.sync(folder)


def test_a_file_that_changes_while_the_sync_runs_is_not_written_over(alice, folder, memory):
    _tea(alice)
    alice.sync(folder)
    file = _entry_file(folder)
    place = folders.SyncFolder(folder, memory=memory.path, space="")
    path, before = file.relative_to(folder).as_posix(), file.read_bytes()
    file.write_text("My own words.")
    done = [
        place.write(path, b"x", replaces=before),
        place.remove(path, replaces=before),
        place.move(path, "knowledge/y.md", known=before),
        place.write(path, b"x", replaces=None),
    ]
    assert {each.reason for each in done} == {"it was changed just now: sync again"}
    assert file.read_text() == "My own words."


def test_what_the_memory_changes_while_the_sync_runs_is_not_lost(alice, folder, monkeypatch):
    """Somebody else writes between the comparison and what follows from it."""
    kept = alice.knowledge.save("The user sails.", category="sport", origin="user").entry
    entry = _tea(alice)
    alice.documents.write("a.md", "One.")
    alice.sync(folder)
    _edit(next((folder / "knowledge" / "drinks").iterdir()), "prefers tea", "prefers green tea")
    next((folder / "knowledge" / "sport").iterdir()).unlink()
    (folder / "notes" / "a.md").write_text("Two.")
    made = plan.make

    def meanwhile(*given):
        decided = made(*given)
        if alice.documents.read("a.md").content == "One.":
            alice.knowledge.update(entry.id, content="The user prefers black tea.", origin="user")
            alice.knowledge.update(kept.id, content="The user sails a dinghy.", origin="user")
            alice.documents.write("a.md", "Three.")
        return decided

    monkeypatch.setattr(plan, "make", meanwhile)
    report = alice.sync(folder, confirm_deletions=True)
    assert len(report.problems) == 3
    assert _words(alice) == {"The user prefers black tea.", "The user sails a dinghy."}
    assert alice.documents.read("a.md").content == "Three."
    assert len(alice.sync(folder).conflicts) == 3


def test_a_dry_run_changes_nothing_and_makes_no_folder(alice, folder):
    _tea(alice)
    report = alice.sync(folder, dry_run=True)
    assert [each.action for each in report.to_folder] == ["written"]
    assert not folder.exists()


def test_a_crash_before_the_state_is_recorded_adds_nothing_twice(alice, folder, monkeypatch):
    entry = _tea(alice)
    alice.sync(folder)
    (folder / "knowledge" / "new.md").write_text("The user sails.")
    _edit(folder / "knowledge" / "drinks" / f"the-user-prefers-tea-{entry.id}.md", "tea.", "milk.")

    def crash(self, bases):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(folders.SyncFolder, "save", crash)
        with pytest.raises(KeyboardInterrupt):
            alice.sync(folder)
    report = alice.sync(folder)
    assert report.settled
    assert _words(alice) == {"The user sails.", "The user prefers milk."}
    assert len(_files(folder)) == 2


def test_a_crash_between_the_memory_and_the_files_adds_nothing_twice(alice, folder, monkeypatch):
    alice.sync(folder)
    (folder / "knowledge").mkdir()
    (folder / "knowledge" / "new.md").write_text("The user sails.")

    def crash(self, path, data, *, replaces):
        raise DiskFull("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(folders.SyncFolder, "write", crash)
        with pytest.raises(DiskFull):
            alice.sync(folder)
    alice.sync(folder)
    assert _words(alice) == {"The user sails."}
    assert len(_files(folder)) == 1
    assert alice.sync(folder).unchanged == 1


def test_a_first_sync_that_is_cut_off_is_gone_on_with(alice, memory, folder, monkeypatch):
    _tea(alice)
    alice.knowledge.save("The user sails.", category="sport", origin="user")
    write = folders.SyncFolder.write

    def cut_off(self, path, data, *, replaces):
        if _files(folder):
            raise KeyboardInterrupt
        return write(self, path, data, replaces=replaces)

    with monkeypatch.context() as patched:
        patched.setattr(folders.SyncFolder, "write", cut_off)
        with pytest.raises(KeyboardInterrupt):
            alice.sync(folder)
    with pytest.raises(NotASyncFolder, match="another space"):
        memory.user("bob").sync(folder)
    report = alice.sync(folder)
    assert (len(report.to_folder), report.unchanged, report.settled) == (1, 1, True)
    assert len(_files(folder)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_a_named_error(alice, folder):
    folder.mkdir()
    folder.chmod(0o500)
    with pytest.raises(FolderNotWritable):
        alice.sync(folder)
    folder.chmod(0o700)


def test_a_secret_that_is_masked_stays_in_the_file_and_not_in_the_memory(tmp_path, folder):
    masking = Settings(privacy=PrivacySettings(derived="mask"))
    with Memory.open(tmp_path / "m", embedder=None, background=False, settings=masking) as memory:
        alice = memory.user("alice")
        alice.sync(folder)
        (folder / "notes").mkdir()
        (folder / "notes" / "a.md").write_text(f"The key is {SECRET}.")
        alice.sync(folder)
        assert SECRET not in alice.documents.read("a.md").content
        assert SECRET in (folder / "notes" / "a.md").read_text()
        assert alice.sync(folder).unchanged == 1


def test_arguments_of_the_wrong_type_are_named(alice, folder):
    with pytest.raises(InvalidInput, match="prefer"):
        alice.sync(folder, prefer="both")
    with pytest.raises(InvalidInput, match="folder"):
        alice.sync("")


# The command.


@pytest.fixture
def run(alice, memory, tmp_path, capsys):
    """Runs the command; its exit code and output."""
    memory.close()

    def command(*words):
        where = ["--path", str(tmp_path / "memory"), "--user", "alice", "--embedder", "none"]
        with pytest.raises(SystemExit) as left:
            main([*where, "sync", *words])
        return left.value.code or 0, capsys.readouterr()

    return command


def test_the_command_says_what_went_which_way(run, folder):
    folder.mkdir()
    code, shown = run(str(folder))
    (folder / "knowledge").mkdir()
    (folder / "knowledge" / "a\x1b[31mb.md").write_text("The user sails.")
    (folder / "knowledge" / "x.md").write_text("The user rows.")
    code, shown = run(str(folder), "--json")
    data = json.loads(shown.out)
    assert (code, data["settled"]) == (1, False)
    assert [each["path"] for each in data["to_memory"]] == ["knowledge/x.md"]
    assert "\x1b" not in shown.out + shown.err


def test_the_command_fails_while_a_deletion_is_not_confirmed(run, folder):
    folder.mkdir()
    run(str(folder))
    (folder / "identity.md").write_text("Alice")
    assert run(str(folder))[0] == 0
    (folder / "identity.md").unlink()
    code, shown = run(str(folder))
    assert code == 1
    assert "--confirm-deletions" in shown.out
    assert run(str(folder), "--confirm-deletions")[0] == 0


@pytest.mark.folder
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1)])
def test_at_a_terminal_the_command_asks_whether_what_is_gone_is_to_be_removed(run, folder, tmp_path, answer, code):
    pty = pytest.importorskip("pty")
    folder.mkdir()
    run(str(folder))
    (folder / "identity.md").write_text("Alice")
    run(str(folder))
    (folder / "identity.md").unlink()
    where = ["--path", str(tmp_path / "memory"), "--user", "alice", "--embedder", "none", "sync", str(folder)]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from langmem_tiers.cli.main import main; main()", *where]
    with subprocess.Popen(command, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.write(ours, f"{answer}\n".encode())
        out = process.communicate(timeout=300)[0].decode()
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, "identity.md" in out) == (code, True)


def test_a_dry_run_of_nobody_makes_no_memory(tmp_path, folder, capsys):
    with pytest.raises(SystemExit) as left:
        main(["--path", str(tmp_path / "none"), "--user", "zoe", "sync", str(folder), "--dry-run"])
    assert left.value.code == 1
    assert not (tmp_path / "none").exists()


def test_python_that_only_imports_the_package_loads_no_yaml():
    code = "import langmem_tiers, sys; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
