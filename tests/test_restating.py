"""A memory made before statements had vectors of their own: it opens, works, and rebuilding brings it up to date."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from meanings import assistant, user

from langmem_tiers import Memory, Settings
from langmem_tiers.settings import TextSettings
from langmem_tiers.storage.migrations import MIGRATIONS
from langmem_tiers.testing import HashEmbedder

REQUEST = "Please write a formal letter to the council about the noise of the road works near the school. "
ASIDE = "By the way, I adopted a parrot."
QUESTION = "Which parrot was adopted?"
TURNS = [
    user(f"{REQUEST}{ASIDE} I love its green feathers.", "1"),
    assistant(f"{REQUEST}{ASIDE}", "2"),
    user("It rained all day.", "3"),
    user(f"It rained. {ASIDE}", "4", speaker="Ann"),
    user("I like tea. " * 300, "5"),
]


def opened(folder, embedder=None, **options):
    return Memory.open(folder, embedder=embedder or HashEmbedder(), background=False, **options)


def sql(folder, *statements):
    (file,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def pieces(folder):
    """What is kept of the analysis of each drawer, and the texts that have a vector."""
    return sql(
        folder,
        "SELECT number, states FROM drawers ORDER BY number",
        "SELECT drawer, ordinal, start, stop, text_hash FROM chunks ORDER BY drawer, ordinal",
        "SELECT text_hash, vector FROM embeddings ORDER BY text_hash",
    )


def make_older(folder):
    """Take away what a version before statements did not write."""
    sql(
        folder,
        """DELETE FROM chunks WHERE EXISTS (
            SELECT 1 FROM chunks AS before
            WHERE before.drawer = chunks.drawer AND before.ordinal = chunks.ordinal - 1 AND before.stop != chunks.start
        )""",
        "DELETE FROM chunks WHERE drawer = 5 AND ordinal > 3",
        "DELETE FROM embeddings WHERE text_hash NOT IN (SELECT text_hash FROM chunks)",
        "ALTER TABLE drawers DROP COLUMN states",
        "DELETE FROM changes WHERE kind = 'drawers.filed'",
        "DELETE FROM migrations WHERE position > 0",
        "PRAGMA user_version = 1",
    )
    (chroma,) = folder.rglob("chroma")
    shutil.rmtree(chroma)


@pytest.fixture
def folders(tmp_path):
    """A memory of today and one with the same messages that an older version made."""
    with opened(tmp_path / "new") as memory:
        memory.user("alice").track(TURNS, session="s")
        assert memory.flush()
    shutil.copytree(tmp_path / "new", tmp_path / "old")
    make_older(tmp_path / "old")
    return tmp_path / "new", tmp_path / "old"


def likeness(space, drawer=1):
    """The vector score of a drawer for the question about the aside."""
    found = space.recall(QUESTION, keep_receipt=False, threshold=0).receipt.candidates
    return {each.drawer: each.scores["vector"] for each in found}[drawer]


def test_an_older_memory_opens_with_a_backup_and_finds_what_it_found(folders):
    _, old = folders
    with opened(old) as memory:
        alice = memory.user("alice")
        assert [drawer.content for drawer in alice.drawers()] == [turn.content for turn in TURNS]
        assert likeness(alice) < 0.5
        assert [finding for finding in alice.doctor() if finding.level == "problem"] == []
        alice.track([user("I moved to Lisbon.", "6")], session="s")
        assert memory.flush()
        assert alice.recall("Who moved to Lisbon?", threshold=0).items[0].drawer.number == 6
    assert len(list(old.rglob("memory.db.schema-1.bak"))) == 1
    names, version = sql(old, "SELECT name FROM migrations ORDER BY position", "PRAGMA user_version")
    assert ([name for (name,) in names], version) == ([each.name for each in MIGRATIONS], [(len(MIGRATIONS),)])


def test_rebuilding_gives_old_drawers_the_statements_of_new_ones(folders):
    new, old = folders
    with opened(old) as memory:
        alice = memory.user("alice")
        before = likeness(alice)
        assert alice.rebuild()[0] == "statements: 4 drawers looked at"
        assert memory.flush()
        assert likeness(alice) > 0.8 > before
        assert [finding for finding in alice.doctor() if finding.level == "problem"] == []
    assert pieces(old) == pieces(new)


def test_statements_count_in_the_ranking_as_soon_as_they_are_rebuilt(folders):
    _, old = folders
    with opened(old) as memory:
        alice = memory.user("alice")
        for states in (0, 1):
            found = alice.recall(QUESTION, keep_receipt=False, threshold=0).receipt.candidates
            assert {each.drawer: each.signals["statement"] for each in found}[1] == states
            alice.rebuild()


def test_rebuilding_twice_or_in_two_memories_adds_nothing_twice_and_embeds_only_what_is_new(folders):
    new, old = folders
    have, want = (len(sql(folder, "SELECT text_hash FROM embeddings")[0]) for folder in (old, new))
    embedder = HashEmbedder()
    with opened(old, embedder) as first, opened(old, embedder) as second:
        for memory in (first, second, first):
            memory.user("alice").rebuild()
            assert memory.flush()
    assert pieces(old) == pieces(new)
    assert embedder.documents_embedded == want - have > 0


def test_without_an_embedder_statements_are_found_and_wait_for_their_vectors(folders):
    new, old = folders
    with Memory.open(old, embedder=None, background=False) as memory:
        assert memory.user("alice").rebuild()[0] == "statements: 4 drawers looked at"
    assert pieces(old)[:2] == pieces(new)[:2]
    with opened(old) as memory:
        memory.user("alice").rebuild()
        assert memory.flush()
    assert pieces(old) == pieces(new)


def test_a_memory_of_today_is_left_as_it_is(folders):
    new, _ = folders
    before = pieces(new)
    embedder = HashEmbedder()
    with opened(new, embedder) as memory:
        memory.user("alice").rebuild()
        assert memory.flush()
    assert (pieces(new), embedder.documents_embedded) == (before, 0)


def test_what_an_edit_replaced_has_its_statements_when_the_edit_is_taken_back(tmp_path):
    with opened(tmp_path) as memory:
        alice = memory.user("alice")
        alice.track(TURNS, session="s")
        alice.track([user("It rained.", "1")], session="s")
        assert memory.flush()
    make_older(tmp_path)
    with opened(tmp_path) as memory:
        alice = memory.user("alice")
        alice.rebuild()
        assert memory.flush()
        alice.track([TURNS[0]], session="s")
        assert memory.flush()
        assert likeness(alice) > 0.8
        assert [finding for finding in alice.doctor() if finding.level == "problem"] == []


def test_no_piece_of_a_long_statement_is_longer_than_a_chunk_may_be(tmp_path):
    settings = Settings(text=TextSettings(chunk_characters=100))
    with opened(tmp_path, settings=settings) as memory:
        alice = memory.user("alice")
        alice.track([user(f"It rained. I moved to Lisbon {'and to Porto ' * 20}. I like tea. {REQUEST}")], session="s")
        before = pieces(tmp_path)
        alice.rebuild()
    assert pieces(tmp_path) == before
    lengths = [stop - start for _, _, start, stop, _ in before[1]]
    assert max(lengths) <= 100
    assert len("I like tea.") in lengths


def test_an_empty_space_has_nothing_to_look_at(tmp_path):
    with opened(tmp_path) as memory:
        assert memory.user("alice").rebuild()[0] == "statements: 0 drawers looked at"
