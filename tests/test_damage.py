"""Damaged files: altered words are not served, nothing hangs or ends the process, and what can be is rebuilt."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.cli.main import main
from langmem_tiers.content import WITHHELD
from langmem_tiers.dream.types import MergeEntries
from langmem_tiers.errors import DatabaseDamaged, DreamConflict
from langmem_tiers.integrations import TieredStore
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage import seals
from langmem_tiers.storage.migrations import MIGRATIONS
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests.damaging import NOW, Looking, grown
from tests.dreaming import dreamt, known
from tests.looking import QUESTIONS, look

# `make test-flips` sets a larger number.
FLIPS = int(os.environ.get("LANGMEM_TIERS_TEST_FLIPS", "4"))
CHROMA = Settings(storage=StorageSettings(exact_below=0))

ALTERED = {
    "drawers": "UPDATE drawers SET content = replace(content, 'varnish', 'vqrnish')",
    "entries": "UPDATE entries SET content = replace(content, 'crimson', 'cqimson')",
    "entry_evidence": "UPDATE entry_evidence SET quote = replace(quote, 'Porto', 'Pqrto')",
    "relations": "UPDATE relations SET value = replace(value, 'turquoise', 'tqrquoise'), said = said || 'q'",
    "entities": "UPDATE entities SET name = replace(name, 'Brightwater', 'Bqightwater')",
    "entity_aliases": "UPDATE entity_aliases SET name = name || 'q'",
    "episodes": "UPDATE episodes SET summary = replace(summary, 'e', 'q'), abstract = replace(abstract, 'e', 'q')",
    "documents": "UPDATE documents SET content = replace(content, 'beside', 'bqside')",
    "identities": "UPDATE identities SET text = replace(text, 'Lisbon', 'Lqsbon')",
    "working_entries": "UPDATE working_entries SET value = replace(value, 'Thursday', 'Tqursday')",
    "notes": "UPDATE notes SET text = replace(text, 'crimson', 'cqimson')",
    "store_items": "UPDATE store_items SET value = replace(value, 'oolong', 'oqlong')",
    "receipts": "UPDATE receipts SET block = replace(block, 'Porto', 'Pqrto')",
}
DERIVED = (
    "UPDATE keyword_content SET c0 = replace(c0, 'varnish', 'vqrnish')",
    "UPDATE embeddings SET vector = zeroblob(length(vector)) WHERE rowid % 9 = 0",
)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A memory with a record of every kind, closed."""
    return grown(tmp_path_factory.mktemp("grown") / "memory")


@pytest.fixture
def copy(healthy, tmp_path):
    """Makes a copy of it."""

    def made():
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return shutil.copytree(healthy, tmp_path / "copy")

    return made


@pytest.fixture(scope="module")
def looking(offline_environment):
    """Looks into a memory in a process of its own."""
    process = Looking(offline_environment)
    yield process
    process.close()


def sql(folder, *statements):
    """Run statements as another program would; gives how many rows the first changed."""
    (file,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        counts = [connection.execute(each).rowcount for each in statements]
        return counts[0]


def words(text):
    return set(re.findall(r"[^\W\d]+", (text or "").replace(WITHHELD, "")))


def served(seen):
    """All words that a memory served."""
    return {word for texts in seen["served"].values() for text in texts for word in words(text)}


# Altered words


@pytest.mark.parametrize("table", ALTERED)
def test_each_kind_of_text_was_there_to_be_altered(copy, table):
    assert sql(copy(), ALTERED[table]) > 0


def test_of_the_words_altered_at_15_kinds_of_places_none_is_served_and_the_doctor_names_each(healthy, copy):
    right = served(look(copy()))
    folder = copy()
    sql(folder, *ALTERED.values(), *DERIVED)
    seen = look(folder)
    assert served(seen) - right == set()
    told = " ".join(message for check, message, _ in seen["problems"] if check == "words")
    kinds = ("message", "entr", "quote", "relation", "entit", "summar", "document", "identity", "working", "store")
    assert [kind for kind in kinds if kind not in told] == []
    assert all(
        "Restore a backup (`langmem-tiers restore`), or " in out for c, _, out in seen["problems"] if c == "words"
    )


ONE = {
    "drawers": "content = content || 'q' WHERE number = 9",
    "entries": "content = content || 'q' WHERE number = 5",
    "entry_evidence": "quote = quote || 'q' WHERE entry = (SELECT max(entry) FROM entry_evidence)",
    "relations": "said = said || 'q' WHERE number = (SELECT max(number) FROM relations)",
    "relation_evidence": "quote = quote || 'q' WHERE relation = (SELECT max(relation) FROM relation_evidence)",
    "entities": "name = name || 'q' WHERE number = (SELECT max(number) FROM entities)",
    "entity_evidence": "quote = quote || 'q' WHERE entity = (SELECT max(entity) FROM entity_evidence)",
    "entity_aliases": "name = name || 'q' WHERE entity = (SELECT max(entity) FROM entity_aliases)",
    "episodes": "summary = summary || 'q' WHERE number = 1",
    "tasks": "state = state || 'q'",
    "documents": "content = content || 'q'",
    "working_entries": "value = value || 'q'",
}


@pytest.fixture(scope="module")
def of_today(tmp_path_factory):
    """The same, as commands find it, which go by the real time."""
    return grown(tmp_path_factory.mktemp("today") / "memory", datetime.now(UTC))


@pytest.mark.parametrize("table", ONE)
def test_the_way_out_that_the_doctor_names_leads_out_on_the_command_line(of_today, tmp_path, capsys, table):
    folder = shutil.copytree(of_today, tmp_path / "copy")
    run = on_the_command_line(folder, capsys)

    def altered():
        found = json.loads(run("doctor", "--deep", "--json")[1])["spaces"]["users/alice"]
        return [each for each in found if each["check"] == "words" and each["level"] == "problem"]

    sql(folder, f"UPDATE {table} SET {ONE[table]}")
    (told,) = altered()
    name = told["message"].partition("withheld: ")[2]
    _, way = re.findall(r"`langmem-tiers ([^`]+)`", told["way_out"])
    agreed = ["--yes"] if way.split()[0] not in {"notes", "working"} else []
    assert run(*(name if each.isupper() else each for each in way.split()), *agreed)[0] == 0
    assert altered() == []


def on_the_command_line(folder, capsys):
    """Runs a command on a memory of alice's; gives its exit code and what it printed."""

    def run(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["--path", str(folder), "--user", "alice", "--embedder", "none", *arguments])
        return left.value.code or 0, capsys.readouterr().out

    return run


def test_an_altered_version_of_the_identity_can_be_written_anew_and_forgotten(of_today, tmp_path, capsys):
    folder = shutil.copytree(of_today, tmp_path / "copy")
    run = on_the_command_line(folder, capsys)
    sql(folder, "UPDATE identities SET text = text || 'q'")
    told = run("doctor", "--deep")[1]
    assert "`langmem-tiers identity edit`" in " ".join(told.split())
    assert "`langmem-tiers identity forget-history`" in " ".join(told.split())
    (tmp_path / "identity.md").write_text("# About\n- Likes tea.\n")
    assert run("identity", "edit", "--file", str(tmp_path / "identity.md"))[0] == 0
    assert run("doctor", "--deep")[0] == 1
    assert "1 earlier version deleted." in run("identity", "forget-history")[1]
    assert run("doctor", "--deep")[0] == 0
    assert run("export", str(tmp_path / "alice.json"))[0] == 0
    assert "Likes tea." in run("identity", "show")[1]


def test_an_altered_block_of_a_receipt_is_not_exported_and_deleted_by_rebuilding(of_today, tmp_path, capsys):
    folder = shutil.copytree(of_today, tmp_path / "copy")
    run = on_the_command_line(folder, capsys)
    sql(folder, "UPDATE receipts SET block = block || 'q' WHERE number = 1")
    assert run("export", str(tmp_path / "alice.json"))[0] == 0
    assert [each["number"] for each in json.loads((tmp_path / "alice.json").read_text())["records"]["receipts"]] == [
        *range(2, len(QUESTIONS) + 1)
    ]
    code, told = run("doctor", "--deep")
    assert (code, "delete it with `langmem-tiers rebuild`" in " ".join(told.split())) == (1, True)
    assert "receipts: 1 altered one deleted" in run("rebuild")[1]
    assert run("doctor", "--deep")[0] == 0


def test_altered_texts_of_the_search_index_are_put_back_from_their_records_by_rebuilding(of_today, tmp_path, capsys):
    folder = shutil.copytree(of_today, tmp_path / "copy")
    run = on_the_command_line(folder, capsys)
    sql(
        folder,
        "UPDATE note_words SET content = 'q' WHERE rowid NOT IN (SELECT number FROM notes WHERE kind = 'item')",
        "UPDATE notes SET text = text || 'q'",
    )
    code, told = run("doctor", "--deep")
    assert (code, "`langmem-tiers rebuild`, which takes its text" in " ".join(told.split())) == (1, True)
    assert "texts of notes: 38 of 38 altered ones put back" in run("rebuild")[1]
    assert run("doctor", "--deep")[0] == 0
    assert run("export", str(tmp_path / "alice.json"))[0] == 0


def test_a_block_leaves_out_an_altered_message_and_its_receipt_names_it(copy):
    folder = copy()
    sql(folder, "UPDATE drawers SET content = replace(content, 'Porto', 'Pqrto') WHERE number = 1")
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        found = alice.recall("Where does my sister Lena live?", session="new")
        assert "Pqrto" not in found.block
        assert WITHHELD not in found.block
        assert "withheld: altered words in users/alice: [1]" in found.receipt.notes
        assert alice.drawer(1).content == WITHHELD


def test_what_was_altered_is_neither_exported_nor_counted_as_right(copy, tmp_path):
    folder = copy()
    sql(folder, "UPDATE drawers SET content = replace(content, 'Porto', 'Pqrto') WHERE number = 1")
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        with pytest.raises(DatabaseDamaged, match="message 1 was altered") as raised:
            memory.user("alice").export(tmp_path / "alice.json")
        assert "doctor --deep" in raised.value.way_out


def test_an_altered_message_can_be_deleted_and_the_doctor_is_content(copy):
    folder = copy()
    sql(folder, "UPDATE drawers SET content = replace(content, 'varnish', 'vqrnish') WHERE number = 9")
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        alice.forget(messages=[9], confirm=True)
        assert [each for each in alice.doctor(deep=True) if each.check == "words" and each.level == "problem"] == []


def test_excerpts_that_are_cut_in_the_database_are_compared_too(tmp_path):
    clock = FrozenClock(NOW)
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content="I work at Bosch.")], session="work")
        alice.flush()
        clock.tick(3600)
        alice.track([Turn(role="user", content="I quit Bosch because of Winterbourne.")], session="later")
        alice.mine()
    sql(tmp_path, "UPDATE drawers SET content = replace(content, 'Winterbourne', 'Wqnterbourne')")
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False, clock=clock) as memory:
        alice = memory.user("alice")
        assert alice.flush()
        block = alice.recall("Where do I work?", session="new").block
        previews = [each for room in alice.browse.rooms() for each in alice.browse.drawers(room.number)]
        ended = [each for entry in alice.knowledge.page().entries for each in entry.evidence]
        seen = repr((block, previews, ended, alice.palace(), alice.archive.recent(), alice.search("Bosch")))
        assert "but later" in block
        assert any(each.line.endswith(WITHHELD) for each in previews)
        assert "qnterbourne" not in seen


def test_an_altered_message_gets_no_vector_that_would_be_found_for_its_true_words(tmp_path):
    said = "My violin stands in Porto."
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        memory.user("alice").track([Turn(role="user", content=said)], session="s")
    sql(tmp_path, "UPDATE drawers SET content = 'A quarry of chalk lies near Dover.'")
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        assert alice.flush()
        alice.track([Turn(role="user", content=said)], session="again")
        assert alice.flush()
        found = alice.recall("Where does my violin stand?", session="new")
        assert [each.drawer.content for each in found.items] == [said]
        assert all(each.scores["vector"] > 0.7 for each in found.receipt.candidates)


def test_an_altered_item_of_a_store_says_so_and_can_be_put_again(copy):
    folder = copy()
    sql(folder, ALTERED["store_items"])
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        store, place = TieredStore(memory), ("memories", "alice")
        assert store.get(place, "tea").value == {"withheld": WITHHELD}
        assert [each.value for each in store.search(place)] == [{"withheld": WITHHELD}]
        store.put(place, "tea", {"content": "Alice keeps the oolong in the attic."})
        assert store.get(place, "tea").value["content"].endswith("attic.")
        assert not [each for each in memory.user("alice").doctor(deep=True) if each.level == "problem"]


def test_what_stands_for_altered_words_is_never_stored_as_somebodys(copy):
    folder = copy()
    sql(folder, ALTERED["identities"], ALTERED["documents"])
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        altered = "notes/workshop.md"
        assert alice.documents.read(altered).content == WITHHELD
        for change in (
            lambda: alice.identity.add("Likes tea."),
            lambda: alice.identity.replace("About", "Likes tea."),
            lambda: alice.identity.remove("Lisbon"),
            lambda: alice.identity.undo(to=1),
            lambda: alice.documents.append(altered, "Another line."),
        ):
            with pytest.raises(DatabaseDamaged, match="not as it was stored"):
                change()
        assert alice.identity.write("Likes tea.").text == "Likes tea."
        assert alice.documents.write(altered, "Anew.\n").content == "Anew.\n"


def without_seals(folder, migration, table):
    """Make a memory one of before a migration that sealed a table."""
    steps = [each.name for each in MIGRATIONS].index(migration)
    sql(
        folder,
        f"DELETE FROM seals WHERE kind LIKE '{table}.%'",
        f"DELETE FROM migrations WHERE position >= {steps}",
        f"PRAGMA user_version = {steps}",
    )


def test_items_of_a_memory_that_had_no_hashes_of_them_get_some(copy):
    folder = copy()
    without_seals(folder, "seals of store items", "store_items")
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        told = [each for each in memory.user("alice").doctor(deep=True) if each.check == "words"]
        assert [(each.level, each.message) for each in told] == [("ok", "every text is as it was stored")]
    assert sql(folder, ALTERED["store_items"]) == 1
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        assert TieredStore(memory).get(("memories", "alice"), "tea").value == {"withheld": WITHHELD}


@pytest.fixture
def dreamer(tmp_path):
    """Opens the memory of somebody two of whose entries a dream made one."""
    clock = FrozenClock(NOW)

    def opened():
        return Memory.open(tmp_path / "dreamer", embedder=HashEmbedder(), background=False, clock=clock)

    with opened() as memory:
        alice = memory.user("alice")
        teas = [known(alice, text) for text in ("The user drinks green tea.", "The user drinks green tea in Porto.")]
        dreamt(alice, MergeEntries(sources=tuple(teas), content="The user drinks much green tea in Porto."))
    return opened


def words_told(space):
    return [(each.level, each.message) for each in space.doctor(deep=True) if each.check == "words"]


INTACT = [("ok", "every text is as it was stored")]


@pytest.mark.parametrize("column", ["before", "after"])
def test_what_a_dream_changed_is_not_put_back_once_it_was_altered(dreamer, tmp_path, column):
    assert sql(tmp_path, f"UPDATE changesets SET {column} = replace({column}, 'Porto', 'Pqrto')") > 0
    with dreamer() as memory:
        alice = memory.user("alice")
        (dream,) = alice.dreams()
        with pytest.raises(DatabaseDamaged, match="not as it was stored") as refused:
            alice.undo_dream(dream.id)
        assert "`langmem-tiers rebuild`" in refused.value.way_out
        ((level, message),) = words_told(alice)
        assert (level, message.partition(" is not")[0]) == ("problem", "1 change of a dream")
        assert message.endswith(f"withheld: {dream.id}")
        with pytest.raises(DatabaseDamaged, match=f"change of dream {dream.id} was altered"):
            alice.export(tmp_path / "alice.json")
        alice.rebuild()
        assert words_told(alice) == INTACT
        alice.export(tmp_path / "alice.json")
        with pytest.raises(DreamConflict, match="not kept any more: it was not as it was stored"):
            alice.undo_dream(dream.id)


def test_changes_of_dreams_of_a_memory_that_had_no_hashes_of_them_get_some(dreamer, tmp_path):
    without_seals(tmp_path, "seals of changesets", "changesets")
    with dreamer() as memory:
        assert words_told(memory.user("alice")) == INTACT
    assert sql(tmp_path, "UPDATE changesets SET after = replace(after, 'Porto', 'Pqrto')") > 0
    with dreamer() as memory:
        assert words_told(memory.user("alice")) != INTACT


def test_an_altered_change_of_a_dream_does_not_keep_words_from_being_forgotten(dreamer, tmp_path):
    sql(tmp_path, "UPDATE changesets SET after = 'q' || after")
    with dreamer() as memory:
        alice = memory.user("alice")
        (entry,) = alice.knowledge.page().entries
        alice.forget(entries=[entry.id], confirm=True)
        assert words_told(alice) == INTACT
    assert not [each for each in tmp_path.rglob("memory.db*") if b"much green tea" in each.read_bytes()]


def test_whoever_says_the_words_that_stand_for_altered_ones_has_said_them(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="user", content=WITHHELD)], session="s")
        alice.knowledge.save(f"The doctor of the memory printed {WITHHELD} for the kayak.", category="fact")
        alice.documents.write("notes/doctor.md", f"# Doctor\nWhat does {WITHHELD} mean for the kayak?\n")
        alice.flush()
        found = alice.recall("Which words are not the words that were stored?", session="new")
        assert [each.drawer.content for each in found.items] == [WITHHELD]
        assert [each.kind for each in found.known] == ["entry", "document"]
        assert not [each for each in found.receipt.notes if "altered" in each]
        alice.export(tmp_path / "alice.json")
        assert WITHHELD in (tmp_path / "alice.json").read_text()


def test_all_that_is_written_by_every_door_is_sealed(copy):
    with Memory.open(copy(), embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        alice.identity.write("# About\n- She likes tea.")
        entry = alice.knowledge.page().entries[0]
        alice.knowledge.update(entry.id, content="The kayak of shed 3 was painted green.")
        alice.knowledge.delete(alice.knowledge.page().entries[1].id)
        alice.documents.delete("notes/workshop.md")
        alice.flush()
        (finding,) = [each for each in alice.doctor(deep=True) if each.check == "words"]
        assert (finding.level, finding.message) == ("ok", "every text is as it was stored")


def test_a_connection_that_wrote_a_note_first_seals_what_is_remembered_over_it_later(tmp_path):
    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        memory.user("alice").track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="s")
    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        alice = memory.user("alice")
        assert "Anna" in alice.recall("Where does Anna live?", session="t").block
        alice.graph.add_relation("Anna", "lives_in", "Lisbon")
        (finding,) = [each for each in alice.doctor(deep=True) if each.check == "words"]
        assert (finding.level, finding.message) == ("ok", "every text is as it was stored")


def test_comparing_takes_less_than_a_fiftieth_of_a_recall(copy, monkeypatch):
    compared, compare = [], seals._has_digest

    def noted(text, digest):
        compared.append((text, digest))
        return compare(text, digest)

    monkeypatch.setattr(seals, "_has_digest", noted)
    with Memory.open(copy(), embedder=HashEmbedder(), background=False) as memory:
        alice = memory.user("alice")
        alice.recall(QUESTIONS[0], session="first")
        compared.clear()
        began = time.process_time()
        for at in range(20):
            alice.recall(QUESTIONS[0], session=f"again {at}")
        recalling = time.process_time() - began
    assert len(compared) > 20
    began = time.process_time()  # one by one, the clock would take a third of what it measures
    for text, digest in compared:
        compare(text, digest)
    assert time.process_time() - began < recalling / 50


# Damaged pages


def test_flipped_bits_neither_hang_nor_serve_a_wrong_word(healthy, copy, looking):
    right = served(looking.at(copy()))
    data = next(healthy.rglob("memory.db")).read_bytes()
    drawn = random.Random(17)
    for _ in range(FLIPS):
        place, bit = drawn.randrange(len(data)), drawn.randrange(8)
        folder, damaged = copy(), bytearray(data)
        damaged[place] ^= 1 << bit
        next(folder.rglob("memory.db")).write_bytes(damaged)
        seen = looking.at(folder, seconds=120)
        assert seen.keys() == {"served", "errors", "problems"}, (place, bit, seen)
        assert served(seen) - right == set(), (place, bit)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE changes SET until = 1152921504606846976 WHERE kind = 'drawers.added'",
        "UPDATE drawers SET number = 4611686018427387904 WHERE number = 200",
        "UPDATE facts SET value = '4611686018427387904' WHERE name = 'note:newest'",
        "UPDATE facts SET value = '3q' WHERE name = 'newest_entity'",
    ],
)
def test_a_number_that_cannot_be_is_damage_and_not_counted_up_to(copy, looking, damage):
    folder = copy()
    assert sql(folder, damage) > 0
    seen = looking.at(folder, seconds=120)
    assert "DatabaseDamaged" in {name for _, name, _ in seen["errors"]} or seen["problems"]


# Chroma's folder


def turns(count):
    return [Turn(role="user", content=f"My violin {n} stands in Porto beside shed {n * 7}.") for n in range(count)]


@pytest.mark.parametrize("instead", ["nothing", "a file"])
def test_a_chroma_folder_removed_while_it_is_open_is_noticed_and_built_anew(tmp_path, instead):
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False, settings=CHROMA) as memory:
        alice = memory.user("alice")
        alice.track(turns(60), session="s")
        assert alice.flush()
        (folder,) = tmp_path.rglob("chroma")
        shutil.rmtree(folder)
        if instead == "a file":
            folder.write_text("not a folder")
        assert alice.recall("Where does my violin stand?").items
        assert alice.flush()
        assert list(folder.glob("*/chroma.sqlite3"))
        assert [each.message for each in alice.doctor() if each.level == "problem"] == []


def test_3000_vectors_are_searched_again_within_ten_seconds_of_the_loss_of_chromas_folder(tmp_path):
    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False, settings=CHROMA) as memory:
        alice = memory.user("alice")
        alice.track(turns(3000), session="s")
        assert alice.flush()
        shutil.rmtree(next(tmp_path.rglob("chroma")))
        began = time.process_time()
        assert alice.flush()
        assert time.process_time() - began < 10
        with alice.memory.use(alice.name) as store:
            assert len(store.chroma.ids()) == 3000


DAMAGES = """
    import random, shutil, sys
    from pathlib import Path
    from langmem_tiers import Memory, Settings
    from langmem_tiers.settings import StorageSettings
    from langmem_tiers.testing import HashEmbedder

    source, scratch = Path(sys.argv[1]), Path(sys.argv[2]) / "tried"
    settings = Settings(storage=StorageSettings(exact_below=0))

    def emptied(chroma): shutil.rmtree(chroma); chroma.mkdir()
    def removed(chroma): shutil.rmtree(chroma)
    def is_file(chroma): shutil.rmtree(chroma); chroma.write_text("x")
    def files(chroma): return sorted(each for each in chroma.rglob("*") if each.is_file())
    def sealed_off(chroma): [each.chmod(0) for each in files(chroma)]
    def garbage(chroma): next(chroma.rglob("chroma.sqlite3")).write_bytes(b"garbage" * 999)
    def zeroed(chroma): [each.write_bytes(bytes(each.stat().st_size)) for each in files(chroma)]
    def a_folder(chroma): file = next(chroma.rglob("chroma.sqlite3")); file.unlink(); file.mkdir()
    def inner_gone(chroma): [shutil.rmtree(each) for each in chroma.glob("*/*") if each.is_dir()]
    def inner_file(chroma):
        for each in [each for each in chroma.glob("*/*") if each.is_dir()]:
            shutil.rmtree(each); each.write_text("x")
    def journal(chroma): next(chroma.rglob("chroma.sqlite3")).with_suffix(".sqlite3-journal").write_bytes(b"x" * 600)

    folders = [emptied, removed, is_file, sealed_off, inner_gone, inner_file]
    for way in (*folders, garbage, zeroed, a_folder, journal):
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(source, scratch)
        way(next(scratch.glob("spaces/*/chroma")))
        print(way.__name__, flush=True)
        with Memory.open(scratch, embedder=HashEmbedder(), settings=settings, background=False) as memory:
            alice = memory.user("alice")
            assert alice.recall("Where does my violin stand?").items
            assert alice.flush()
            assert alice.recall("Where does my violin stand?").items
            assert [each.message for each in alice.doctor() if each.level == "problem"] == [], way.__name__
    print("done")
"""


def test_however_the_folder_of_chroma_is_damaged_it_is_built_anew(tmp_path, offline_environment):
    with Memory.open(tmp_path / "source", embedder=HashEmbedder(), background=False, settings=CHROMA) as memory:
        memory.user("alice").track(turns(60), session="s")
        memory.user("alice").flush()
    command = [sys.executable, "-c", textwrap.dedent(DAMAGES), str(tmp_path / "source"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=offline_environment, timeout=300)
    assert (done.returncode, done.stdout.split("\n")[-2]) == (0, "done"), (done.stdout[-300:], done.stderr[-3000:])


CUT_OFF = """
import os
from pathlib import Path
from langmem_tiers import Memory
from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.testing import HashEmbedder

with Memory.open("memory", embedder=HashEmbedder(), background=False) as memory:
    alice = memory.user("alice")
    assert alice.recall("Which varnish is on the kayak?").items
    os.truncate(next(Path("memory").rglob("memory.db")), 4096)
    for _ in range(3):
        try:
            alice.recall("Where does my violin stand?")
        except DatabaseDamaged:
            print("damaged")
"""


def test_a_database_that_is_cut_off_while_it_is_open_is_an_error_and_ends_no_process(healthy, tmp_path, warm_python):
    shutil.copytree(healthy, tmp_path / "memory")
    (tmp_path / "script.py").write_text(CUT_OFF)
    done = warm_python.run(tmp_path / "script.py")
    assert done.stdout.split() == ["damaged"] * 3, (done.returncode, done.stderr[-2000:])
