"""Exports: complete and equal after an import, readable, and written whole or not at all."""

import gzip
import json
import re
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.errors import AlreadyThere, FolderNotWritable, InvalidInput, NewerSchema, UnreadableFile
from langmem_tiers.settings import ImportSettings
from langmem_tiers.storage import dump
from langmem_tiers.testing import FrozenClock, HashEmbedder
from langmem_tiers.transfer.markdown import plain

HOSTILE = (
    "<script>alert(1)</script> # Heading\n- [x](javascript:alert(1)) `code` *a* \x1b[31mred | $x$ https://evil.example"
)


@pytest.fixture
def another(tmp_path, clock):
    """Opens further memories on the same clock."""
    opened = []

    def memory(name="other", **more):
        opened.append(Memory.open(tmp_path / name, embedder=HashEmbedder(), background=False, clock=clock, **more))
        return opened[-1]

    yield memory
    for each in opened:
        each.close()


def fill(memory, alice):
    for day in range(3):
        said = ("My sister Anna lives in Lisbon.", "Noted.", f"I prefer green tea. I work at Bosch {day}.")
        turns = [
            Turn(role="assistant" if place == 1 else "user", content=text, message_id=f"{day}-{place}")
            for place, text in enumerate(said)
        ]
        alice.track(turns, session=f"day-{day}", project="kitchen")
        alice.end_session(f"day-{day}")
    alice.track([Turn(role="user", content="My sister Anna lives in Porto.", message_id="0-0")], session="day-0")
    alice.knowledge.save("The user keeps bees.", category="hobbies/bees", tags=["garden"])
    alice.identity.add("Speaks German.")
    alice.documents.write("MEMORY.md", "The launch is on Friday.")
    alice.tasks.start("Back up the wiki", id="wiki", state="Half done.")
    alice.working.save("session/day-0/inbox", "3 unread")
    alice.graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05", evidence=[1])
    alice.graph.add_entity("Annie")
    alice.graph.merge("Annie", "Anna")
    alice.signals.record("wrong", message=1)
    memory.flush()
    alice.mine()
    memory.flush()
    alice.dream()
    gone = alice.knowledge.save("The user dislikes rain.")
    alice.knowledge.delete(gone.entry.id, origin="user")
    alice.recall("Where does my sister live?", session="today")
    memory.flush()


@pytest.fixture
def full(alice, memory):
    """A space with something in every tier."""
    fill(memory, alice)
    return alice


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The bytes of the export of such a space."""
    folder = tmp_path_factory.mktemp("exported")
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    with Memory.open(folder / "memory", embedder=HashEmbedder(), background=False, clock=clock) as memory:
        fill(memory, memory.user("alice"))
        return memory.user("alice").export(folder / "all.json").path.read_bytes()


@pytest.fixture
def file(exported, tmp_path):
    """A file of these bytes."""
    (tmp_path / "all.json").write_bytes(exported)
    return tmp_path / "all.json"


@pytest.mark.parametrize(("name", "vectors"), [("all.json", False), ("all.json.gz", False), ("all.json", True)])
def test_an_import_into_an_empty_space_makes_the_same_memory(full, tmp_path, another, name, vectors):
    report = full.export(tmp_path / name, embeddings=vectors)
    assert report.fingerprint == full.fingerprint()
    other = another()
    told = other.import_file(tmp_path / name)
    assert (told.identical, told.problems, told.left_behind) == (True, (), {})
    alice = other.user("alice")
    assert alice.fingerprint() == full.fingerprint()
    other.flush()
    assert {each.level for each in alice.doctor()} <= {"ok", "note"}
    assert alice.recall("Where does my sister live?").block == full.recall("Where does my sister live?").block
    assert alice.graph.stats() == full.graph.stats()


ONE_THING = {
    "a dream": lambda space: space.dream(),
    "a preview": lambda space: space.dream(dry_run=True),
    "a recall": lambda space: space.recall("Where does my sister live?", session="today"),
    "a question": lambda space: space.golden.add("Where does my sister live?", expects="Lisbon"),
    "feedback": lambda space: space.signals.record("irritation"),
    "what was mined": lambda space: space.mine(),
    "an entry": lambda space: space.knowledge.save("The user keeps bees."),
    "what was deleted": lambda space: space.knowledge.delete(space.knowledge.save("The user keeps bees.").entry.id),
    "a line of the identity": lambda space: space.identity.add("Speaks German."),
    "a note": lambda space: space.documents.write("MEMORY.md", "The launch is on Friday."),
    "a task": lambda space: space.tasks.start("Back up the wiki"),
    "working memory": lambda space: space.working.save("session/today/inbox", "3 unread"),
    "an entity": lambda space: space.graph.add_entity("Anna"),
    "a message that was forgotten": lambda space: (space.track([Turn(role="user", content="No.")]), forget_all(space)),
}


def forget_all(space):
    space.forget(since="2000-01-01", confirm=True)


@pytest.mark.parametrize("name", ONE_THING)
def test_a_memory_in_which_only_one_thing_ever_happened_comes_back_the_same(name, alice, tmp_path, another):
    ONE_THING[name](alice)
    alice.export(tmp_path / "all.json")
    other = another()
    told = other.import_file(tmp_path / "all.json")
    assert (told.identical, told.problems, told.left_behind) == (True, (), {})
    assert other.user("alice").fingerprint() == alice.fingerprint()


def test_vectors_that_are_exported_are_not_made_again(full, tmp_path, clock):
    full.export(tmp_path / "all.json", embeddings=True)
    embedder = HashEmbedder()
    with Memory.open(tmp_path / "other", embedder=embedder, background=False, clock=clock) as other:
        other.import_file(tmp_path / "all.json")
        other.flush()
        assert "Lisbon" in other.user("alice").recall("Where does my sister live?", session="new").block
    assert embedder.documents_embedded == 0


def test_an_export_is_the_same_bytes_each_time_but_for_its_moment(full, tmp_path, clock):
    full.export(tmp_path / "one.json")
    full.export(tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_every_table_is_exported_or_named_as_belonging_to_a_folder():
    from langmem_tiers.storage import schema

    assert {*schema.metadata.tables} - {*dump.TABLES} == {"leases", "migrations", "seals"}


def test_every_table_has_rows_in_the_example(full, tmp_path):
    counts = full.export(tmp_path / "all.json", embeddings=True).counts
    empty = {name for name, count in counts.items() if not count}
    assert empty <= {"wing_aliases", "store_items", "golden_questions", "changesets", "entity_pairs", "entity_aliases"}


def test_importing_it_again_changes_nothing_and_says_so(full, tmp_path, another):
    full.export(tmp_path / "all.json")
    other = another()
    other.import_file(tmp_path / "all.json")
    before = other.user("alice").fingerprint()
    again = other.import_file(tmp_path / "all.json")
    assert (again.identical, again.stored, again.known) == (True, 0, again.messages)
    assert other.user("alice").fingerprint() == before


def test_into_a_space_that_is_not_empty_it_is_merged_and_nothing_is_dropped_silently(full, tmp_path, another):
    full.export(tmp_path / "all.json")
    other = another()
    alice = other.user("alice")
    alice.track([Turn(role="user", content="I have a dog called Milo.", message_id="m")], session="day-0")
    alice.identity.add("Speaks French.")
    other.flush()
    told = other.import_file(tmp_path / "all.json")
    assert (told.identical, told.stored, told.known) == (False, told.messages, 0)
    assert told.left_behind["versions of the identity"] == 1
    assert told.left_behind["receipts of recalls"] >= 1
    other.flush()
    assert {each.level for each in alice.doctor()} <= {"ok", "note"}
    assert "Lisbon" in alice.recall("Where does my sister live?").block
    assert "Milo" in alice.recall("What is my dog called?").block
    ids = {each.entry.id for each in full.knowledge.search(limit=100)}
    assert ids <= {each.entry.id for each in alice.knowledge.search(limit=100)}
    once = alice.fingerprint()
    again = other.import_file(tmp_path / "all.json")
    assert (again.stored, again.known, again.entries_stored) == (0, again.messages, 0)
    assert alice.fingerprint() == once


def test_what_took_the_place_of_a_merged_entry_is_the_one_that_is_here(alice, tmp_path, another):
    save = alice.knowledge.save
    tea, milk = (
        save(f"The user prefers {drink}.", category="drinks", origin="user").entry for drink in ("tea", "milk")
    )
    coffee = save("The user prefers coffee.", category="drinks", corrects=tea.id, origin="user").entry
    water = save("The user prefers water.", category="drinks", corrects=milk.id, origin="user").entry
    alice.export(tmp_path / "alice.json")
    other = another()
    knowledge = other.user("alice").knowledge
    here = knowledge.save("The user prefers coffee.", category="drinks", origin="user").entry
    gone = knowledge.save("The user prefers water.", category="drinks", origin="user").entry
    knowledge.delete(gone.id, origin="user")
    other.import_file(tmp_path / "alice.json")
    assert here.id != coffee.id
    assert knowledge.get(tea.id).successor == here.id
    assert (knowledge.get(water.id), knowledge.get(milk.id).successor) == (None, None)


def test_it_can_go_to_another_user(full, tmp_path, another):
    full.export(tmp_path / "all.json")
    other = another()
    assert other.import_file(tmp_path / "all.json", user="bob").identical
    assert other.spaces() == ("users/bob",)


def test_what_was_forgotten_here_does_not_come_back_by_an_import(full, tmp_path, memory):
    full.export(tmp_path / "all.json")
    bees = next(each.entry for each in full.knowledge.search("bees", limit=20) if "bees" in each.entry.content)
    full.knowledge.delete(bees.id, origin="user")
    full.documents.delete("MEMORY.md")
    full.forget(messages=(2,), confirm=True)
    held = len(full.drawers())
    told = memory.import_file(tmp_path / "all.json")
    memory.flush()
    assert len(full.drawers()) == held
    assert full.documents.read("MEMORY.md") is None
    assert not [each for each in full.knowledge.search("bees", limit=20) if "bees" in each.entry.content]
    assert told.left_behind["messages that were forgotten here"] == 1
    assert told.left_behind["entries that were deleted here"] >= 1
    assert told.left_behind["documents that were deleted here"] == 1


def test_tombstones_come_along_so_that_the_same_is_not_learnt_again(full, tmp_path, another):
    full.export(tmp_path / "all.json")
    other = another()
    other.import_file(tmp_path / "all.json")
    entry = {"id": "abcdefabcdef", "content": "The user dislikes rain.", "createdAt": "2026-01-01T00:00:00Z"}
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "abcdefabcdef.json").write_text(json.dumps(entry))
    told = other.import_file(tmp_path / "tree", format="rockbot", user="alice")
    assert told.left_behind == {"facts that were deleted here": 1}


def test_a_dry_run_counts_and_stores_nothing(full, tmp_path, another):
    full.export(tmp_path / "all.json")
    other = another()
    told = other.import_file(tmp_path / "all.json", dry_run=True)
    assert (told.messages, told.stored, other.spaces()) == (
        json.loads((tmp_path / "all.json").read_text())["counts"]["drawers"],
        0,
        (),
    )


# Damaged, foreign and changed files


def edited(path, change, *, seal=True):
    """An export that somebody changed; `seal` leaves out its checksum, as docs/export.md says."""
    held = json.loads(path.read_text())
    change(held)
    if seal:
        held.pop("checksum", None), held.pop("fingerprint", None)
    path.write_text(json.dumps(held))
    return path


def first(table, **values):
    return lambda held: held["records"][table][0].update(values)


def twice(table):
    def change(held):
        held["records"][table].append(held["records"][table][0])
        held["counts"][table] += 1

    return change


def without(table, name):
    return lambda held: held["records"][table][0].pop(name)


CHANGES = {
    "duplicate drawer": (twice("drawers"), "the same key"),
    "duplicate entry": (twice("entries"), "the same key"),
    "unknown table": (
        lambda held: (held["records"].update(spies=[{"a": 1}]), held["counts"].update(spies=1)),
        "unknown kind, 'spies'",
    ),
    "unknown column": (first("drawers", spy=1), "drawers have no 'spy'"),
    "missing column": (without("drawers", "content"), "drawers.content is missing"),
    "text for a number": (first("drawers", number="1"), "drawers.number is no whole number"),
    "a number for text": (first("drawers", content=7), "drawers.content is no text"),
    "true for a number": (first("drawers", room=True), "drawers.room is no whole number"),
    "a float for a number": (first("drawers", room=1.5), "drawers.room is no whole number"),
    "a list": (first("drawers", content=["x"]), "drawers.content is no text"),
    "an object": (first("drawers", content={"x": 1}), "drawers.content is no text"),
    "a number of 80 bits": (first("drawers", said_at=1 << 80), "exceeds 64-bit range"),
    "a negative number": (first("drawers", number=-1), "drawers.number is -1"),
    "a moment in the year 40000": (first("drawers", said_at=1_200_000_000_000_000), "drawers.said_at is no moment"),
    "a lone surrogate": (first("drawers", speaker="\ud800"), "surrogates not allowed"),
    "another hash": (first("drawers", content_hash="00" * 16), "the hash of drawers 1"),
    "no hexadecimal": (first("drawers", content_hash="zz"), "drawers.content_hash is no bytes"),
    "other words": (first("entries", content="The user likes nothing."), "the hash of entries 1"),
    "an unknown role": (first("drawers", role="root"), "drawers.role is 'root'"),
    "an unknown status": (first("entries", status="secret"), "entries.status is 'secret'"),
    "an unknown origin": (first("entries", origin="god"), "entries.origin is 'god'"),
    "metadata that is no object": (first("entries", metadata="[1]"), "entries.metadata is no JSON"),
    "metadata that is no JSON": (first("entries", metadata="{"), "entries.metadata is no JSON"),
    "metadata with NaN": (first("entries", metadata='{"a": NaN}'), "entries.metadata is no JSON"),
    "metadata that is endless": (first("entries", metadata='{"a": 1e999}'), "entries.metadata is no JSON"),
    "metadata that is deep": (
        first("entries", metadata='{"a":' * 3000 + "1" + "}" * 3000),
        "entries.metadata is no JSON",
    ),
    "a receipt that is no object": (first("receipts", body="7"), "receipts.body is no JSON"),
    "a category that climbs": (first("entries", category="../../../escaped"), "is not a category"),
    "a category that is not as it is stored": (
        first("entries", category="Work Habits"),
        "'Work Habits' is not written as a category",
    ),
    "an entry whose id is no id": (first("entries", id="pwned0000000"), "'pwned0000000' is no id"),
    "an entry whose id climbs": (first("entries", id="../../escaped"), "escaped' is no id"),
    "a note that climbs": (first("documents", path="../../escaped.md"), "no path of a document: it climbs"),
    "a room that is not there": (first("drawers", room=99), "drawers.room names rooms 99"),
    "a drawer that is not there": (first("entry_evidence", drawer=99), "entry_evidence.drawer names drawers 99"),
    "an entity that is not there": (first("relations", subject=99), "relations.subject names entities 99"),
    "a row that is no object": (
        lambda held: held["records"]["drawers"].__setitem__(0, [1]),
        "one of its drawers is no object",
    ),
    "counts that lie": (lambda held: held["counts"].update(drawers=1), "as many records as it says"),
    "no counts": (lambda held: held.pop("counts"), "as many records as it says"),
    "no version": (lambda held: held.pop("version"), "does not say its version"),
    "a version in words": (lambda held: held.update(version="1"), "does not say its version"),
    "a space that cannot be": (lambda held: held.update(space="../../etc"), "'../../etc' cannot name a space"),
    "no space": (lambda held: held.update(space=None), "its format and its space"),
    "a deep record": (lambda held: held["records"]["drawers"][0].update(content=deep(200)), "nested too deeply"),
}


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_an_export_that_was_made_to_harm_is_refused_and_stores_nothing(file, another, change, reason):
    other, path = another(), edited(file, change)
    with pytest.raises((UnreadableFile, InvalidInput), match=re.escape(reason)) as refused:
        other.import_file(path, format="langmem-tiers")
    assert len(str(refused.value)) < 1000
    assert other.spaces() == ()


@pytest.mark.parametrize("name", ["version", "schema"])
def test_an_export_of_a_newer_version_is_named(file, another, name):
    edited(file, lambda held: held.update({name: 999}))
    with pytest.raises(NewerSchema):
        another().import_file(file)


def test_a_changed_export_is_refused_by_its_checksum_and_taken_without_it(file, another):
    change = first("tasks", title="Another title")
    edited(file, change, seal=False)
    with pytest.raises(UnreadableFile, match="checksum"):
        another("one").import_file(file)
    other = another("two")
    other.import_file(edited(file, change))
    assert other.user("alice").tasks.get("wiki").title == "Another title"


def test_an_export_that_is_cut_off_is_refused(exported, tmp_path, another):
    whole = exported
    for share in (0.2, 0.6, 0.99):
        (tmp_path / "cut.json").write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(UnreadableFile):
            another(f"m{share}").import_file(tmp_path / "cut.json", format="langmem-tiers")


def test_an_export_that_another_program_wrote_anew_is_read_all_the_same(file, another):
    file.write_text(json.dumps(json.loads(file.read_text()), indent=4))
    assert another().import_file(file).identical


@pytest.mark.parametrize(
    "limits", [{"max_bytes": 1000}, {"max_records": 5}, {"max_record_bytes": 1000}, {"max_depth": 4}]
)
def test_limits_of_an_import_are_settings(file, another, limits):
    edited(file, first("documents", content="x" * 5000))
    if "max_depth" in limits:
        edited(file, first("documents", content=deep(5)))
    other = another(settings=Settings(imports=ImportSettings(**limits)))
    with pytest.raises(UnreadableFile):
        other.import_file(file)
    assert other.spaces() == ()


# Markdown


def test_markdown_says_what_is_known_in_sections(full, tmp_path):
    text = full.export(tmp_path / "all.md").path.read_text()
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads[:3] == ["## Who the user is", "## Profile", "## Knowledge"]
    assert {"## People and things", "## Open tasks", "## Summaries of conversations", "## Timeline"} <= {*heads}
    assert "Anna lives in Porto" in text
    assert "The user keeps bees. (2026-03-02, by assistant" in text
    assert "**Back up the wiki**" in text


def test_the_same_memory_gives_the_same_markdown(full, tmp_path):
    one, two = (full.export(tmp_path / name).path.read_text() for name in ("one.md", "two.md"))
    assert one == two


def test_stored_text_is_no_markup_in_markdown(alice, memory, tmp_path):
    alice.knowledge.save(HOSTILE)
    alice.tasks.start(HOSTILE.replace("\n", " ")[:100].replace("\x1b", ""), id="t", state=HOSTILE.replace("\x1b", ""))
    alice.track([Turn(role="user", content=HOSTILE)], session="# <b>s</b>")
    memory.flush()
    text = alice.export(tmp_path / "all.md").path.read_text()
    assert "\x1b" not in text
    assert "<script" not in text.replace("\\<", "")
    assert "](javascript:" not in text
    assert not [line for line in text.splitlines() if line.startswith(("# Heading", "- \\[x](", "<"))]


@pytest.mark.parametrize(
    "text",
    [
        "# a",
        "1. a",
        "- a",
        "+ a",
        "> a",
        "[a](b)",
        "![a](b)",
        "*a*",
        "_a_",
        "`a`",
        "<a>",
        "&lt;",
        "~~a~~",
        "| a |",
        "=== a",
    ],
)
def test_markup_is_escaped(text):
    import html
    import re

    shown = plain(text)
    assert re.sub(r"\\(.)", r"\1", shown) == text
    assert shown != text or html.escape(text) == text


# The folder of entries


def test_a_folder_of_entries_keeps_ids_both_ways(full, tmp_path, another):
    full.export(tmp_path / "tree")
    files = {
        path.stem: path.parent.relative_to(tmp_path / "tree").as_posix() for path in (tmp_path / "tree").rglob("*.json")
    }
    active = {each.entry.id: each.entry for each in full.knowledge.search(limit=100)}
    assert {*active} <= {*files}
    assert {files[one] for one in active} == {each.category for each in active.values()}
    other = another()
    told = other.import_file(tmp_path / "tree", format="rockbot", user="alice")
    assert (told.refused, told.renamed) == ((), {})
    back = {each.entry.id: each.entry for each in other.user("alice").knowledge.search(limit=100)}
    assert {*back} == {*active}
    assert {(each.content, each.category, each.tags) for each in back.values()} == {
        (each.content, each.category, each.tags) for each in active.values()
    }


def test_a_foreign_id_is_kept_or_recorded_and_reported(tmp_path, memory, alice):
    for one in ("abc123def456", "xyz789abc012", "A Note"):
        entry = {"id": one, "content": f"The user likes {one}.", "createdAt": "2026-01-01T00:00:00Z"}
        (tmp_path / f"{one}.json").write_text(json.dumps(entry))
    told = memory.import_file(tmp_path, format="rockbot", user="alice")
    assert {*told.renamed} == {"xyz789abc012", "A Note"}
    held = {each.entry.id: each.entry for each in alice.knowledge.search(limit=10)}
    assert "abc123def456" in held
    for foreign, own in told.renamed.items():
        assert held[own].metadata["imported_id"] == foreign
    again = memory.import_file(tmp_path, format="rockbot", user="alice")
    assert (again.entries_known, again.entries_stored) == (3, 0)


def test_an_id_that_another_entry_has_is_not_taken_from_it(tmp_path, memory, alice):
    for text in ("The user likes tea.", "The user owns a red bicycle."):
        entry = {"id": "abc123def456", "content": text, "createdAt": "2026-01-01T00:00:00Z"}
        (tmp_path / "abc123def456.json").write_text(json.dumps(entry))
        memory.import_file(tmp_path, format="rockbot", user="alice")
    held = {each.entry.content: each.entry for each in alice.knowledge.search(limit=10)}
    assert held["The user likes tea."].id == "abc123def456"
    assert held["The user owns a red bicycle."].metadata["imported_id"] == "abc123def456"


# Writing


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.md", "a.graphml", "tree"])
def test_only_the_owner_can_read_an_export_and_nothing_is_overwritten(full, tmp_path, name):
    made = full.export(tmp_path / name).path
    files = [made] if made.is_file() else [each for each in made.rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    with pytest.raises(AlreadyThere):
        full.export(tmp_path / name)
    assert full.export(tmp_path / name, force=True).path == made
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


@pytest.mark.folder
def test_an_entry_that_an_export_brought_in_before_leads_nowhere(alice, memory, tmp_path):
    """Its category was checked by nobody when it was stored."""
    entry = alice.knowledge.save("The user prefers tea.", category="drinks", origin="user").entry
    memory.close()
    [database] = memory.path.glob("spaces/*/memory.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE entries SET category = '../../../escaped'")
    with Memory.open(memory.path, embedder=HashEmbedder(), background=False) as again:
        with pytest.raises(InvalidInput, match="escaped"):
            again.user("alice").export(tmp_path / "a" / "b" / "out")
        report = again.user("alice").sync(tmp_path / "a" / "b" / "files")
    assert ["folder" in each.reason for each in report.problems] == [True]
    assert [*tmp_path.rglob(f"*{entry.id}*"), *tmp_path.rglob("escaped*")] == []


def test_a_folder_of_other_things_is_never_replaced(full, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("cat")
    with pytest.raises(AlreadyThere):
        full.export(tmp_path / "photos", force=True)
    assert (tmp_path / "photos" / "cat.jpg").read_text() == "cat"


@pytest.mark.parametrize("name", ["package.json", "0123456789ab.json", "src/package.json", "drinks/0123456789ab.txt"])
def test_a_folder_with_a_file_that_is_no_exported_entry_is_never_replaced(full, tmp_path, name):
    theirs = full.export(tmp_path / "tree").path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("[1]")
    with pytest.raises(AlreadyThere, match=theirs.name):
        full.export(tmp_path / "tree", force=True)
    assert theirs.read_text() == "[1]"


def test_the_folder_before_is_put_back_if_the_new_one_cannot_take_its_place(full, tmp_path, monkeypatch):
    before = full.export(tmp_path / "tree").path
    held = {file: file.read_bytes() for file in before.rglob("*.json")}
    replace = Path.replace

    def refused(self, target):
        if self.name == "made":
            raise PermissionError(13, "Permission denied")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(FolderNotWritable):
        full.export(before, force=True)
    assert {file: file.read_bytes() for file in before.rglob("*.json")} == held
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


@pytest.mark.parametrize(
    ("name", "more"), [("a.pdf", {}), ("a.json", {"format": "pdf"}), ("a.md", {"embeddings": True})]
)
def test_a_format_that_there_is_not_is_refused(full, tmp_path, name, more):
    with pytest.raises(InvalidInput):
        full.export(tmp_path / name, **more)
    assert not (tmp_path / name).exists()


def test_an_export_into_the_memory_is_refused(full, memory):
    with pytest.raises(InvalidInput):
        full.export(memory.path / "all.json")


def test_a_gzipped_export_is_plain_json_inside(full, tmp_path):
    full.export(tmp_path / "all.json.gz")
    held = json.loads(gzip.decompress((tmp_path / "all.json.gz").read_bytes()))
    assert (held["format"], held["space"]) == ("langmem-tiers", "users/alice")


# The command


@pytest.fixture
def run(full, memory, tmp_path, capsys, monkeypatch):
    """Runs a command line on the memory; gives exit code, output and errors."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    memory.close()

    def command(*arguments, path="memory"):
        with pytest.raises(SystemExit) as left:
            main(["--path", path, "--embedder", "none", *map(str, arguments)])
        told = capsys.readouterr()
        return left.value.code, told.out, told.err

    return command


def test_the_command_exports_by_the_ending_and_import_reads_it_back(run):
    for name in ("all.json", "all.md", "all.graphml", "tree"):
        assert run("--user", "alice", "export", name)[0] == 0
    code, _, err = run("--user", "alice", "export", "all.json")
    assert (code, "--force" in err, err.count("\n")) == (1, True, 1)
    code, out, _ = run("--user", "alice", "export", "all.json", "--force", "--json")
    told = json.loads(out)
    assert (code, told["format"]) == (0, "json")
    code, out, _ = run("import", "all.json", "--json", path="new")
    assert (code, json.loads(out)["identical"], json.loads(out)["spaces"]) == (0, True, ["users/alice"])
    assert run("import", "all.json", "--dry-run", path="third")[0] == 0
