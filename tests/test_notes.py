"""Notes: the searched text of what is no drawer stays in step with its records, in words and in vectors."""

import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from langchain_core.embeddings import Embeddings
from sqlalchemy import event

from langmem_tiers import Memory, RecallSettings, Settings, Turn
from langmem_tiers.background.embedding import NOTES, Embedding, pending_notes
from langmem_tiers.clock import utc_now
from langmem_tiers.content import content_hash
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.models.embedder import resolve
from langmem_tiers.storage import change_log, notes
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.note_index import NoteSearch
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.testing import HashEmbedder

ALL = RecallSettings(min_similarity=-1)
MODEL = "HashEmbedder:hash-64"
WORDS = "robot garden violin harbour bakery mountain kettle lantern".split()  # noqa: SIM905
STATEMENTS = ("teas", "violin lessons", "a robot", "robots and violins", "mountains", "lanterns in gardens")


class Answering(Embeddings):
    """An embedder that does to its vectors what a function says."""

    model = "answering"

    def __init__(self, change) -> None:
        self.change = change
        self.inner = HashEmbedder()

    def embed_documents(self, texts):
        return self.change(texts, self.inner.embed_documents(texts))

    def embed_query(self, text):
        return self.inner.embed_query(text)


@contextmanager
def opened(folder: Path, embedder="hash"):
    chosen = HashEmbedder() if embedder == "hash" else embedder
    memory = Memory.open(folder, embedder=chosen, background=False, settings=Settings(recall=ALL))
    with memory, memory.use("users/alice") as store:
        yield memory.user("alice"), store


@pytest.fixture
def alice(tmp_path):
    with opened(tmp_path) as (_, store):
        yield store


def texts(*said) -> list[NoteText]:
    return [each if isinstance(each, NoteText) else NoteText(each) for each in said]


def put(store, ref, *said, kind="entry"):
    with store.writing() as connection:
        return notes.put(connection, store.key, kind, ref, texts(*said), 1)


def drop(store, ref, kind="entry"):
    with store.writing() as connection:
        return notes.drop(connection, store.key, kind, ref, 1)


def of_ref(store, ref, kind="entry"):
    with store.reading() as connection:
        return notes.of_ref(connection, store.key, kind, ref)


def vector(query) -> np.ndarray:
    return np.array(HashEmbedder().embed_query(query), np.float32)


def search(store, query, *, by_meaning=False, most=50, index=None, **options):
    asked = vector(query) if by_meaning else None
    with store.reading() as connection:
        found = index or store.notes
        return found.search(moment(connection, store.key), query.split(), asked, most, settings=ALL, **options)


def refs(store, query, **options):
    return [hit.ref for hit in search(store, query, **options)]


def noting(store, embedder=None, batch=128) -> Embedding:
    return Embedding(store.database, resolve(embedder or HashEmbedder()), utc_now, batch, NOTES)


def embed(store, embedder=None, batch=128):
    work = noting(store, embedder, batch)
    while work.step(lambda: False):
        pass


@contextmanager
def statements(store):
    """What the database is asked while the block runs."""
    asked: list[str] = []

    def note(connection, cursor, statement, *rest):
        asked.append(statement)

    with store.reading() as connection:
        engine = connection.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


def vectors(store) -> int:
    with store.reading() as connection:
        return notes.counts(connection, store.key, MODEL)[1]


def problems(space) -> list[str]:
    return [f"{finding.check}: {finding.message}" for finding in space.doctor() if finding.level == "problem"]


def sql(folder: Path, *commands):
    (file,) = folder.rglob("memory.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        return [connection.execute(command).fetchall() for command in commands]


# Records


def test_a_piece_with_the_text_it_had_at_its_place_keeps_its_number(alice):
    put(alice, "a", "one", "two", "three")
    gone = put(alice, "a", "one", "deux", "three", "four")
    held = of_ref(alice, "a")
    assert [(note.ordinal, note.text) for note in held] == list(enumerate(["one", "deux", "three", "four"]))
    assert [note.number for note in held] == [1, 4, 3, 5]
    assert gone == [content_hash("two")]


def test_a_number_is_never_used_twice(alice):
    put(alice, "a", "one")
    drop(alice, "a")
    put(alice, "a", "one")
    assert [note.number for note in of_ref(alice, "a")] == [2]


def test_nothing_is_written_where_nothing_differs(alice):
    put(alice, "a", NoteText("one", "tag", "prefs"), "two")
    with alice.writing() as connection:
        before = change_log.head(connection, alice.key)
        same = texts(NoteText("one", "tag", "prefs"), "two")
        assert notes.put(connection, alice.key, "entry", "a", same, 2) == []
        assert notes.drop(connection, alice.key, "entry", "nobody", 2) == []
        assert change_log.head(connection, alice.key) == before


def test_other_tags_and_another_category_change_what_is_found_and_not_the_number(alice):
    put(alice, "a", NoteText("one", "red", "colours"))
    assert (refs(alice, "red"), refs(alice, "colours")) == (["a"], ["a"])
    put(alice, "a", NoteText("one", "blue", "paints"))
    assert (refs(alice, "red"), refs(alice, "colours"), refs(alice, "blue"), refs(alice, "paints")) == (
        [],
        [],
        ["a"],
        ["a"],
    )
    assert [note.number for note in of_ref(alice, "a")] == [1]


def test_a_text_that_moves_within_its_record_is_none_that_went(alice):
    put(alice, "a", "one", "two")
    assert put(alice, "a", "new", "one", "two") == []
    assert put(alice, "a", "two", "two") == [content_hash("new"), content_hash("one")]


def test_the_same_ref_of_another_kind_is_another_record(alice):
    put(alice, "a", "one robot")
    put(alice, "a", "two robots", kind="document")
    drop(alice, "a")
    assert refs(alice, "robot") == ["a"]
    assert [note.text for note in of_ref(alice, "a", "document")] == ["two robots"]


# Deleting


@pytest.mark.folder
def test_the_vector_of_a_dropped_text_goes_unless_a_drawer_or_another_note_holds_it(tmp_path):
    with opened(tmp_path) as (space, store):
        space.track([Turn(role="user", content="the drawer robot")], session="s")
        put(store, "a", "the drawer robot", "the shared robot", "my own robot")
        put(store, "b", "the shared robot")
        embed(store)
        space.flush()
        gone = drop(store, "a")
        with store.writing() as connection:
            assert notes.forget_vectors(connection, store.key, gone) == 1
            assert notes.forget_vectors(connection, store.key, gone) == 0
        assert problems(space) == []
    assert sql(tmp_path, "SELECT count(*) FROM embeddings") == [[(2,)]]


def test_nothing_of_a_forgotten_text_is_left_in_the_file(tmp_path):
    with opened(tmp_path) as (_, store):
        put(store, "many", *(f"number {number} likes tea" for number in range(50)))
        put(store, "secret", "the password is pumpernickel")
        gone = drop(store, "secret")
        with store.writing() as connection:
            notes.forget_texts(connection, store.key, gone)
    # FTS5 leaves out the first letters of a word that the one before it has too.
    assert [file for file in tmp_path.rglob("memory.db*") if b"pernickel" in file.read_bytes()] == []


# Searching


def test_notes_are_ranked_by_words_and_meaning_as_drawers_are(alice):
    said = [" ".join(np.random.default_rng(n).choice(WORDS, 4)) for n in range(60)]
    for number, text in enumerate(said):
        put(alice, str(number), text)
    embed(alice)
    found = search(alice, "robot violin", by_meaning=True)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    for hit in found:
        assert hit.vector == pytest.approx(float(vector(hit.text) @ vector("robot violin")), abs=1e-4)
        assert (hit.keyword > 0) == bool({"robot", "violin"} & set(hit.text.split()))
        assert hit.score == pytest.approx(0.4 * hit.keyword + 0.6 * max(hit.vector, 0), abs=1e-4)
    both = {hit.keyword for hit in found if {"robot", "violin"} <= set(hit.text.split())}
    assert both == {1.0}
    assert len(search(alice, "robot violin", by_meaning=True, most=7)) == 7


def test_the_rarer_word_counts_more_and_a_category_half(alice):
    for number in range(100):
        put(alice, f"c{number}", "a common robot")
    put(alice, "rare", "a violin")
    put(alice, "filed", NoteText("unlike the others", "", "violin"))
    found = {hit.ref: hit.keyword for hit in search(alice, "robot violin", most=200)}
    assert found["rare"] > found["c1"]
    assert found["filed"] == pytest.approx(found["rare"] / 2)


def test_a_note_without_a_vector_is_judged_by_its_words(alice):
    put(alice, "old", "the robot is red")
    embed(alice)
    put(alice, "new", "the robot is blue")
    found = {hit.ref: hit for hit in search(alice, "robot blue", by_meaning=True)}
    assert (found["new"].vector, found["new"].score) == (None, found["new"].keyword)
    assert found["old"].vector is not None


def test_where_no_note_holds_a_word_meaning_alone_judges(alice):
    put(alice, "a", "the robots are painting")
    embed(alice)
    with alice.reading() as connection:
        (hit,) = alice.notes.search(moment(connection, alice.key), ["zzz"], vector("robots"), 5, settings=ALL)
    assert (hit.keyword, hit.score) == (None, hit.vector)


def test_only_the_kinds_asked_for_are_found(alice):
    for kind in ("entry", "episode", "document"):
        put(alice, f"of {kind}", "the robot", kind=kind)
    assert set(refs(alice, "robot")) == {"of entry", "of episode", "of document"}
    assert refs(alice, "robot", kinds={"episode"}) == ["of episode"]
    assert refs(alice, "robot", kinds=()) == []


def test_of_equal_notes_the_newest_comes_first(alice):
    for ref in "abc":
        put(alice, ref, "the robot")
    put(alice, "a", "the robot", "the robot")
    assert [(hit.ref, hit.ordinal) for hit in search(alice, "robot", most=2)] == [("a", 1), ("c", 0)]


def test_other_scripts_and_inflections_are_found_by_their_words(alice):
    put(alice, "zh", "用户喜欢绿茶")
    put(alice, "en", "She paints tables")
    put(alice, "de", "Die Straße in Köln")
    assert refs(alice, "绿") == ["zh"]
    assert refs(alice, "painting") == ["en"]
    assert refs(alice, "koln") == ["de"]
    assert refs(alice, '"* ( OR NEAR') == []


def test_without_an_embedder_words_alone_find(tmp_path):
    with opened(tmp_path, embedder=None) as (space, store):
        put(store, "a", "the robot is red")
        assert [(hit.ref, hit.vector, hit.score) for hit in search(store, "robot", by_meaning=True)] == [("a", None, 1)]
        assert problems(space) == []


def test_a_query_of_another_length_is_refused_by_name(alice):
    put(alice, "a", "the robot")
    embed(alice)
    with alice.reading() as connection, pytest.raises(InvalidVector, match="length 3"):
        alice.notes.search(moment(connection, alice.key), [], np.ones(3, np.float32), 5)


# In step


@pytest.mark.folder
def test_a_search_where_nothing_changed_asks_the_database_nothing(tmp_path):
    with opened(tmp_path) as (space, store):
        put(store, "a", "the robot")
        embed(store)
        search(store, "robot violin", by_meaning=True)
        with store.reading() as connection:
            now = moment(connection, store.key)
            with statements(store) as asked:
                store.notes.search(now, ["robot", "violin"], vector("robot"), 5)
            assert asked == []
        space.track([Turn(role="user", content="hello")], session="s")
        with store.reading() as connection:
            now = moment(connection, store.key)
            with statements(store) as asked:
                store.notes.search(now, ["robot", "violin"], vector("robot"), 5)
                store.notes.search(now, ["robot", "violin"], vector("robot"), 5)
            assert len(asked) == 1  # what the log says, and that once


def test_an_older_moment_finds_what_stood_then(alice):
    put(alice, "a", "the red robot")
    put(alice, "b", "the red violin")
    embed(alice)
    with alice.reading() as connection:
        before = moment(connection, alice.key)
        drop(alice, "a")
        put(alice, "b", "the blue violin")
        put(alice, "c", "the red lantern")
        embed(alice)
        assert refs(alice, "red", by_meaning=True)[0] == "c"
        found = alice.notes.search(before, ["red"], vector("red robot"), 5, settings=ALL)
        assert {hit.text: hit.vector is not None for hit in found} == {"the red robot": True, "the red violin": True}
    assert [hit.text for hit in search(alice, "red")] == ["the red lantern"]


def test_what_is_undone_was_never_seen(alice):
    put(alice, "a", "the red robot")
    embed(alice)
    search(alice, "robot", by_meaning=True)
    with pytest.raises(KeyError):
        _write_and_fail(alice)
    put(alice, "b", "the blue robot")
    put(alice, "c", "the green robot")
    embed(alice)
    assert refs(alice, "ghost robot", by_meaning=True).count("a") == 1
    assert set(refs(alice, "red ghost blue green", by_meaning=True)) == {"a", "b", "c"}
    with alice.reading() as connection:
        now = moment(connection, alice.key)
        fresh = NoteSearch(alice.key, MODEL).search(now, ["robot"], vector("red robot"), 50, settings=ALL)
        assert alice.notes.search(now, ["robot"], vector("red robot"), 50, settings=ALL) == fresh


def test_a_transaction_that_writes_and_those_who_read_meanwhile_see_their_own(alice):
    put(alice, "a", "the red robot")
    embed(alice)
    search(alice, "robot", by_meaning=True)
    put(alice, "b", "the blue violin", "the red robot")
    embed(alice)
    with alice.writing() as connection:
        notes.put(connection, alice.key, "entry", "a", texts(NoteText("the red robot", "toy")), 1)
        now = moment(connection, alice.key)
        before = alice.notes.search(now, ["toy"], vector("red robot"), 50, settings=ALL)
        assert [hit.keyword for hit in search(alice, "toy", by_meaning=True)] == [None] * 3
        assert alice.notes.search(now, ["toy"], vector("red robot"), 50, settings=ALL) == before


def _write_and_fail(store):
    with store.writing() as connection:
        for number in range(3):
            notes.put(connection, store.key, "entry", f"ghost{number}", texts("the red robot", "a red ghost"), 1)
            now = moment(connection, store.key)
            found = store.notes.search(now, ["ghost"], vector("ghost"), 50, settings=ALL)
            assert sum(hit.keyword > 0 for hit in found) == number + 1
        raise KeyError


def test_many_threads_find_what_stands_at_their_moment_and_nothing_that_was_dropped(alice):
    wrong: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            with alice.reading() as connection:
                now = moment(connection, alice.key)
                found = alice.notes.search(now, ["robot"], vector("robot"), 500, settings=ALL)
                held = notes.between(connection, alice.key, 1, 10_000)
                if {hit.number: hit.text for hit in found} != {note.number: note.text for note in held}:
                    wrong.append((found, held))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for number in range(40):
            put(alice, f"r{number % 5}", f"robot {number}", f"robot again {number}")
            embed(alice)
            if number % 3 == 0:
                drop(alice, f"r{(number + 2) % 5}")
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []


class Notes(RuleBasedStateMachine):
    """Puts and drops in any order, against a plain dictionary."""

    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.memory = Memory.open(self.folder.name, embedder=HashEmbedder(), background=False)
        self.use = self.memory.use("users/alice")
        self.store = self.use.__enter__()
        self.model: dict[str, list[NoteText]] = {}
        self.numbers: dict[tuple[str, int, str], int] = {}
        self.newest = 0
        self.old = None

    piece = st.builds(
        NoteText, st.sampled_from(STATEMENTS), st.sampled_from(["", "red"]), st.sampled_from(["", "prefs/food"])
    )

    @rule(ref=st.sampled_from("abc"), pieces=st.lists(piece, max_size=4))
    def put(self, ref, pieces):
        before = {each.text for each in self.model.get(ref, ())}
        with self.store.writing() as connection:
            gone = notes.put(connection, self.store.key, "entry", ref, pieces, 1)
        assert set(gone) == {content_hash(text) for text in before - {each.text for each in pieces}}
        self.model[ref] = pieces

    @rule(ref=st.sampled_from("abc"))
    def drop(self, ref):
        with self.store.writing() as connection:
            notes.drop(connection, self.store.key, "entry", ref, 1)
        self.model.pop(ref, None)

    @rule()
    def embed(self):
        embed(self.store, batch=2)
        with self.store.reading() as connection:
            total, with_vector = notes.counts(connection, self.store.key, MODEL)
        assert (total, with_vector) == (sum(map(len, self.model.values())), total)

    @precondition(lambda self: self.old is None)
    @rule()
    def remember_a_moment(self):
        self.reading = self.store.reading()
        connection = self.reading.__enter__()
        self.old = moment(connection, self.store.key), self._expected()

    @precondition(lambda self: self.old is not None)
    @rule()
    def look_back(self):
        assert self._found(self.old[0]) == self.old[1]
        self._let_go()

    @invariant()
    def records_words_and_search_say_the_same(self):
        with self.store.reading() as connection:
            held = notes.between(connection, self.store.key, 1, 10_000)
            now = moment(connection, self.store.key)
            assert {(n.ref, n.ordinal, n.text, n.tags, n.category) for n in held} == self._pieces()
            assert self._found(now) == self._expected()
            fresh = NoteSearch(self.store.key, MODEL)
            for query in ("robot", "red", "food"):
                asked = now, [query], vector(query), 100
                assert self.store.notes.search(*asked) == fresh.search(*asked)
        self._numbers_follow_the_texts(held)

    def _numbers_follow_the_texts(self, held):
        numbers = {(note.ref, note.ordinal, note.text): note.number for note in held}
        for place, number in numbers.items():
            assert self.numbers.get(place, number) == number or number > self.newest
            assert place in self.numbers or number > self.newest
        self.numbers, self.newest = numbers, max([self.newest, *numbers.values()])

    def _pieces(self):
        return {
            (ref, ordinal, each.text, each.tags, each.category)
            for ref, pieces in self.model.items()
            for ordinal, each in enumerate(pieces)
        }

    def _expected(self):
        return {(ref, ordinal, text) for ref, ordinal, text, tags, _ in self._pieces() if "robot" in text or tags}

    def _found(self, at):
        return {(hit.ref, hit.ordinal, hit.text) for hit in self.store.notes.search(at, ["robot", "red"], None, 100)}

    def _let_go(self):
        self.old = None
        self.reading.__exit__(None, None, None)

    def teardown(self):
        if self.old is not None:
            self._let_go()
        findings = self.memory.user("alice").doctor()
        assert [finding for finding in findings if finding.level == "problem"] == []
        self.use.__exit__(None, None, None)
        self.memory.close()
        self.folder.cleanup()


TestNotes = Notes.TestCase
TestNotes.settings = settings(
    max_examples=12, stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


# Embedding


def test_a_flush_gives_notes_their_vectors(tmp_path):
    with opened(tmp_path) as (space, store):
        put(store, "a", "the robot")
        assert space.flush()
        assert [hit.vector is not None for hit in search(store, "robot", by_meaning=True)] == [True]


def test_a_text_is_embedded_once_wherever_it_stands(tmp_path):
    embedder = HashEmbedder()
    with opened(tmp_path, embedder) as (space, store):
        space.track([Turn(role="user", content="the robot is red")], session="s")
        space.flush()
        put(store, "a", "the robot is red", "tea", "tea")
        put(store, "b", "tea")
        assert pending_notes(store.database, MODEL) == 1
        embed(store, embedder)
        put(store, "a", "first", "the robot is red", "tea")
        embed(store, embedder)
        assert (embedder.documents_embedded, noting(store).idle(), pending_notes(store.database, MODEL)) == (3, True, 0)


def test_another_model_is_embedded_beside_the_old(tmp_path):
    with opened(tmp_path) as (_, store):
        put(store, "a", "the robot")
        embed(store)
    with opened(tmp_path, HashEmbedder(32)) as (space, store):
        assert search(store, "robot")[0].vector is None
        embed(store, HashEmbedder(32))
        with store.reading() as connection:
            asked = np.array(HashEmbedder(32).embed_query("robot"), np.float32)
            (hit,) = store.notes.search(moment(connection, store.key), ["robot"], asked, 5)
        assert (hit.vector, problems(space)) == (pytest.approx(1, abs=1e-4), [])


@pytest.mark.parametrize("bad", [[float("nan")] * 64, [1.0] * 63, []], ids=["nan", "short", "empty"])
def test_one_poisonous_text_does_not_keep_the_others_from_their_vectors(alice, caplog, bad):
    def change(texts, made):
        return [bad if "poison" in text else each for text, each in zip(texts, made, strict=True)]

    put(alice, "a", "the robot", "the poison")
    put(alice, "b", "the violin")
    embed(alice, Answering(change), batch=1)
    with alice.reading() as connection:
        assert notes.counts(connection, alice.key, "Answering:answering") == (3, 2)
    assert noting(alice, Answering(change)).idle()
    assert [record.args[:2] for record in caplog.records] == [("entry", "a")]


def test_an_outage_leaves_the_cursor_and_what_comes_back_fills_in(alice):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError("unplugged")
    put(alice, "a", "the robot")
    with pytest.raises(EmbeddingUnavailable):
        embed(alice, embedder)
    assert (noting(alice).idle(), pending_notes(alice.database, MODEL), vectors(alice)) == (False, 1, 0)
    embedder.outage = None
    embed(alice, embedder)
    assert (noting(alice).idle(), pending_notes(alice.database, MODEL), vectors(alice)) == (True, 0, 1)


def test_an_embedder_that_gives_no_vector_for_anything_is_at_fault_itself(alice):
    put(alice, "a", "the robot")
    with pytest.raises(InvalidVector):
        embed(alice, Answering(lambda texts, made: None))
    assert not noting(alice, Answering(None)).idle()


def test_a_text_that_is_dropped_while_it_is_embedded_gets_no_vector(alice):
    def change(texts, made):
        with alice.writing() as connection:
            gone = notes.drop(connection, alice.key, "entry", "a", 1)
            notes.forget_vectors(connection, alice.key, gone)
        return made

    put(alice, "a", "the secret robot")
    put(alice, "b", "the violin")
    embed(alice, Answering(change))
    with alice.reading() as connection:
        kept = connection.exec_driver_sql("SELECT text_hash FROM embeddings").scalars().all()
    assert kept == [content_hash("the violin")]


def test_two_passes_at_once_embed_everything_and_say_so_once(alice):
    for number in range(6):
        put(alice, str(number), f"robot {number}")
    others = [True]

    def change(texts, made):
        if others.pop() if others else False:
            embed(alice, Answering(lambda texts, made: made), batch=2)
        return made

    embed(alice, Answering(change), batch=2)
    with alice.reading() as connection:
        assert notes.counts(connection, alice.key, "Answering:answering") == (6, 6)
        told = change_log.read(connection, alice.key, after=0, kinds={"notes.embedded"})
    covered = [number for change in told for number in range(change.subject, change.until + 1)]
    assert sorted(covered) == list(range(1, 7))


def test_a_pass_that_is_stopped_keeps_what_it_has_and_goes_on_later(alice):
    put(alice, "a", *(f"robot {number}" for number in range(6)))
    assert noting(alice, batch=2).step(lambda: True)
    assert (vectors(alice), noting(alice).idle()) == (2, False)
    embed(alice)
    assert vectors(alice) == 6


# Other processes


PUT = """
import os, sys
from langmem_tiers import Memory
from langmem_tiers.storage import notes
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.testing import HashEmbedder
memory = Memory.open(sys.argv[1], embedder=HashEmbedder(), background=False)
with memory.use("users/alice") as store, store.writing() as connection:
    notes.put(connection, store.key, "entry", "a", [NoteText("the red robot")], 1)
    notes.put(connection, store.key, "entry", "b", [NoteText("the red violin")], 1)
    notes.drop(connection, store.key, "entry", "c", 1)
"""


def in_another_process(folder, script) -> int:
    return subprocess.run([sys.executable, "-c", script, str(folder)], check=False).returncode


@pytest.mark.folder
def test_what_another_process_puts_and_drops_is_followed(tmp_path):
    with opened(tmp_path) as (_, store):
        put(store, "c", "the red lantern")
        embed(store)
        assert refs(store, "red", by_meaning=True) == ["c"]
        assert in_another_process(tmp_path, PUT) == 0
        assert set(refs(store, "red", by_meaning=True)) == {"a", "b"}
        embed(store)
        assert {hit.vector is not None for hit in search(store, "red", by_meaning=True)} == {True}


@pytest.mark.folder
def test_killed_between_records_and_vectors_the_next_to_open_fills_them_in(tmp_path):
    assert in_another_process(tmp_path, PUT + "os.kill(os.getpid(), 9)") == -signal.SIGKILL
    with opened(tmp_path) as (space, store):
        assert set(refs(store, "red")) == {"a", "b"}
        assert pending_notes(store.database, MODEL) == 2
        embed(store)
        assert ({hit.vector is not None for hit in search(store, "red", by_meaning=True)}, problems(space)) == (
            {True},
            [],
        )


@pytest.mark.folder
def test_killed_in_the_middle_of_embedding_nothing_is_lost_or_embedded_twice(tmp_path):
    with opened(tmp_path) as (_, store):
        put(store, "x", *(f"robot number {number}" for number in range(6)))
    script = (
        PUT
        + """
from langmem_tiers.background.embedding import NOTES, Embedding
from langmem_tiers.clock import utc_now
from langmem_tiers.models.embedder import resolve
with memory.use("users/alice") as store:
    Embedding(store.database, resolve(HashEmbedder()), utc_now, 2, NOTES).step(lambda: os.kill(os.getpid(), 9))
"""
    )
    assert in_another_process(tmp_path, script) == -signal.SIGKILL
    embedder = HashEmbedder()
    with opened(tmp_path, embedder) as (space, store):
        assert vectors(store) == 2
        embed(store, embedder)
        assert (embedder.documents_embedded, vectors(store), problems(space)) == (6, 8, [])


def test_told_to_stop_the_embedder_begins_nothing_more_and_what_it_has_done_is_kept(tmp_path):
    embedder = HashEmbedder()
    with opened(tmp_path) as (_, store):
        put(store, "x", *(f"robot number {number}" for number in range(8)))
        told = noting(store, embedder, batch=2)
        told.run(lambda: embedder.documents_embedded > 0, meanwhile=lambda: None, kept=lambda: None)
        assert (embedder.documents_embedded, vectors(store)) == (2, 2)
        told.run(lambda: False, meanwhile=lambda: None, kept=lambda: None)
        assert (embedder.documents_embedded, vectors(store), told.idle()) == (8, 8, True)


# Doctor and rebuild


UNUSABLE = struct.pack("<64f", *[float("nan")] * 64).hex()
FAULTS = {
    "words missing": ("keyword index", "DELETE FROM note_words WHERE rowid = 2"),
    "words too many": ("keyword index", "INSERT INTO note_words (rowid, content) VALUES (99, 'ghost')"),
    "other words": ("keyword index", "UPDATE note_words SET tags = 'other' WHERE rowid = 2"),
    "words damaged": ("keyword index", "DELETE FROM note_words_data WHERE id > 10"),
    "words gone": ("keyword index", "DROP TABLE note_words"),
    "vectors missing": ("vectors", "DELETE FROM embeddings"),
    "vectors cut off": ("vectors", "UPDATE embeddings SET vector = substr(vector, 1, 8) WHERE rowid = 2"),
    "vectors not finite": ("vectors", f"UPDATE embeddings SET vector = x'{UNUSABLE}'"),
}


@pytest.mark.folder
@pytest.mark.parametrize("fault", FAULTS)
def test_the_doctor_finds_each_fault_and_rebuilding_mends_it(tmp_path, fault):
    check, command = FAULTS[fault]
    with opened(tmp_path) as (space, store):
        put(store, "a", NoteText("the red robot", "toy", "things"), NoteText("the violin", "toy", "things"))
        put(store, "b", NoteText("a robot in the garden", "toy"))
        drop(store, "b")
        put(store, "c", "two robots")
        embed(store)
        healthy = search(store, "robot toy thing", by_meaning=True)
        assert problems(space) == []
    sql(tmp_path, command)
    with opened(tmp_path) as (space, store):
        assert [each.partition(":")[0] for each in problems(space)] == [check] * len(problems(space)) != []
        assert "keyword index of notes: 3 notes" in space.rebuild()
        embed(store)
        assert problems(space) == []
        assert search(store, "robot toy thing", by_meaning=True) == healthy


@pytest.mark.folder
def test_a_vector_that_is_none_is_left_out_of_the_search(tmp_path):
    with opened(tmp_path) as (_, store):
        put(store, "a", "the red robot", "the violin")
        embed(store)
    asked = vector("robot violin")
    infinite = np.where(asked == asked.max(), np.inf, 0).astype("<f4").tobytes().hex()
    sql(tmp_path, f"UPDATE embeddings SET vector = x'{infinite}' WHERE rowid = 1")
    with opened(tmp_path) as (_, store):
        found = search(store, "robot violin", by_meaning=True)
        assert sorted(hit.vector is None for hit in found) == [False, True]
        assert {hit.score <= 1 for hit in found} == {True}


@pytest.mark.folder
def test_rebuilding_reaches_a_process_that_has_them_in_memory(tmp_path):
    with opened(tmp_path) as (space, store):
        put(store, "a", "the red robot")
        embed(store)
        sql(tmp_path, "DELETE FROM note_words")
        assert refs(store, "robot") == []
        space.rebuild()
        assert refs(store, "robot") == ["a"]
        assert "keyword index of notes: 1 note" in space.rebuild()


def test_the_doctor_tells_of_notes_that_wait_for_their_vectors(tmp_path):
    with opened(tmp_path) as (space, store):
        put(store, "a", "the red robot", "the violin")
        assert "2 notes wait to be embedded" in [finding.message for finding in space.doctor()]
        embed(store)
        assert "2 of 2 notes have one of HashEmbedder:hash-64" in [finding.message for finding in space.doctor()]


@pytest.mark.folder
def test_the_keyword_index_does_not_grow_by_a_level_with_each_change(tmp_path):
    """Before, SQLite took the index for damaged after about 1,000 changes, and nothing could be written any more."""
    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        knowledge = memory.user("alice").knowledge
        for number in range(150):
            box = knowledge.save(f"In {number} days the train {number * 7} leaves for town {number * 13}.").entry
        for number in range(450):
            knowledge.update(box.id, content=f"The box in the cellar holds {number} screws.")
        (database,) = tmp_path.glob("spaces/*/memory.db")
        with closing(sqlite3.connect(database)) as connection:
            (levels,) = connection.execute("SELECT length(block) FROM note_words_data WHERE id = 10").fetchone()
        assert levels < 1_000
        assert [each.entry.id for each in knowledge.search("screws in the cellar")][:1] == [box.id]
        assert [each for each in memory.user("alice").doctor() if each.level == "problem"] == []
