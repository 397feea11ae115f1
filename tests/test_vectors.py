"""Vectors: complete after a flush, exact, never in the way of what has none, and mended after any accident."""

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from langmem_tiers import Memory, RecallSettings, Settings, Turn, replies
from langmem_tiers.models.langchain_embedder import LangChainEmbedder
from langmem_tiers.settings import StorageSettings, TextSettings
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.embedding_cache import ChunkVectors
from langmem_tiers.storage.vector_search import ExactIndex
from langmem_tiers.testing import HashEmbedder

WORDS = "robot garden violin harbour bakery mountain kettle lantern saddle orchard compass velvet".split()  # noqa: SIM905
EXACT = Settings(recall=RecallSettings(min_similarity=-1, candidates=10, recency_weight=0, trivial_words=0, later=0))
CHROMA = EXACT.model_copy(update={"storage": StorageSettings(exact_below=0)})


class Mirrored(HashEmbedder):
    """Understands questions in mirror writing: they share no word with the drawers, only their meaning."""

    def embed_query(self, text):
        return super().embed_query(mirrored(text))


class Answering(Embeddings):
    """An embedder that does to its vectors what a function says."""

    model = "answering"

    def __init__(self, change=lambda texts, vectors: vectors, dimension: int = 64) -> None:
        self.change = change
        self.inner = Mirrored(dimension)

    def embed_documents(self, texts):
        return self.change(texts, self.inner.embed_documents(texts))

    def embed_query(self, text):
        return self.inner.embed_query(text)


def mirrored(text: str) -> str:
    return " ".join(word[::-1] for word in text.split())


def user(content, message_id=None) -> Turn:
    return Turn(role="user", content=content, message_id=message_id)


def sentences(count: int, start: int = 0) -> list[Turn]:
    drawn = np.random.default_rng(start)
    return [user(" ".join(drawn.choice(WORDS, 5)) + f" {start + n}", str(start + n)) for n in range(count)]


@contextmanager
def opened(folder: Path, embedder=None, settings=EXACT, **options):
    options = {"background": False, **options}
    with Memory.open(folder, embedder=embedder or Mirrored(), settings=settings, **options) as memory:
        yield memory.user("alice")


def similar(space, query: str) -> list[tuple[int, float]]:
    """The drawers by the vector channel alone, nearest first."""
    found = space.recall(mirrored(query), keep_receipt=False, limit=50).receipt.candidates
    assert all(set(each.scores) == {"vector"} for each in found)
    return sorted(((each.drawer, each.scores["vector"]) for each in found), key=lambda each: -each[1])


def brute_force(space, query: str) -> dict[int, float]:
    embedder = HashEmbedder()
    asked = np.array(embedder.embed_query(query))
    standing = [drawer for drawer in space.drawers() if drawer.status == "active"]
    return {drawer.number: float(np.array(embedder.embed_query(drawer.content)) @ asked) for drawer in standing}


def assert_best(space, query: str, most: int = 10) -> None:
    expected = brute_force(space, query)
    best = sorted(expected.values(), reverse=True)[:most]
    found = similar(space, query)
    assert [score for _, score in found] == pytest.approx(best, abs=1e-4)
    assert [expected[number] for number, _ in found] == pytest.approx(best, abs=1e-4)


def problems(space) -> list[str]:
    return [f"{finding.check}: {finding.message}" for finding in space.doctor() if finding.level == "problem"]


def chroma_owned(space) -> bool:
    return any(each.check == "Chroma" and each.level == "ok" and "vectors" in each.message for each in space.doctor())


# Embedding


SMALL = EXACT.model_copy(update={"storage": StorageSettings(embed_batch=2, exact_below=0)})


@pytest.mark.folder
def test_the_embedder_begins_its_next_batch_before_the_vectors_of_the_last_are_stored(tmp_path):
    asked, second = [], threading.Event()

    def asking(texts, vectors):
        asked.append(texts)
        if len(asked) == 2:
            second.set()
        return vectors

    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        memory.user("alice").track(sentences(6), session="s")
        assert memory.user("alice").flush()
    with Memory.open(tmp_path, embedder=Answering(asking), settings=SMALL, background=False) as memory:
        flushing = threading.Thread(target=memory.user("alice").flush)
        with memory.use("users/alice") as store, store.writing():  # nobody else can store anything
            flushing.start()
            assert second.wait(20)
        flushing.join()
        assert memory.user("alice").stats().vectors == 6


@pytest.mark.parametrize("here", [True, False])
def test_only_an_embedder_in_this_process_gets_a_batch_before_it_is_done_with_the_last(tmp_path, here):
    begun, together = threading.Semaphore(0), []

    def asking(_, vectors):
        begun.release()
        if not together:  # the first call waits for the second
            together.append(None)
            together[0] = begun.acquire(timeout=20) and begun.acquire(timeout=20 if here else 0.2)
        return vectors

    embedder = LangChainEmbedder(Answering(asking))
    embedder.runs_here = here
    with opened(tmp_path, embedder, SMALL) as alice:
        alice.track(sentences(8), session="s")
        assert alice.flush()
        assert (together, alice.stats().vectors) == ([here], 8)


@pytest.mark.folder
def test_vectors_are_put_into_chroma_while_later_ones_are_computed(tmp_path):
    files = []

    def looking(_, vectors):
        files.append(len(list(tmp_path.rglob("chroma.sqlite3"))))
        return vectors

    batches = SMALL.model_copy(update={"storage": StorageSettings(embed_batch=100)})
    with opened(tmp_path, Answering(looking), batches) as alice:
        for start in range(0, 1000, 200):
            alice.track(sentences(200, start), session="s")
        assert alice.flush()
        assert (files[0], files[-1], problems(alice)) == (0, 1, [])


@pytest.mark.folder
def test_a_few_vectors_wait_for_others_or_for_a_minute_before_chroma_gets_them(tmp_path, clock):
    def visit() -> tuple[bool, float | None]:
        """Whether Chroma is there after a visit of the background for which nobody waits, and when the next is due."""
        jobs = memory.jobs(store, awaited=False)
        jobs.run(lambda: False)
        return any(tmp_path.rglob("chroma.sqlite3")), jobs.seconds_to_next(store)

    with Memory.open(tmp_path, embedder=HashEmbedder(), background=False, clock=clock) as memory:
        alice = memory.user("alice")
        alice.track(sentences(4), session="s")
        with memory.use(alice.name) as store:
            assert visit() == (False, 60)
            clock.tick(50)
            alice.track(sentences(4, 4), session="s")
            assert visit() == (False, 10)
            clock.tick(10)
            assert visit()[0]
            alice.track(sentences(4, 8), session="s")
            visit()
            assert not chroma_owned(alice)
            alice.track(sentences(60, 12), session="s")
            visit()
            assert chroma_owned(alice)


@pytest.mark.folder
@pytest.mark.parametrize("of_all", [False, True])
def test_who_waits_for_the_background_waits_for_the_few_vectors_too(tmp_path, of_all):
    with Memory.open(tmp_path, embedder=HashEmbedder()) as memory:
        alice = memory.user("alice")
        for start in range(0, 12, 4):
            alice.track(sentences(4, start), session="s")
            assert memory.flush() if of_all else alice.flush()
            assert chroma_owned(alice)


@pytest.mark.folder
def test_chroma_takes_few_vectors_at_once_and_lets_replies_through_between(tmp_path, monkeypatch):
    from chromadb import Collection

    begun, upsert, answering, done = [], Collection.upsert, threading.Event(), threading.Event()

    def noted(collection, ids, embeddings):
        begun.append((time.monotonic(), len(ids)))
        upsert(collection, ids=ids, embeddings=embeddings)
        if len(begun) == 1:
            somebody.start()
            answering.wait(60)
        if len(begun) == 3:
            done.set()

    def reply():
        with replies.running():
            answering.set()
            done.wait(60)

    somebody = threading.Thread(target=reply)
    with opened(tmp_path, HashEmbedder()) as alice:
        alice.track(sentences(1), session="s")
        assert alice.flush()
        alice.track(sentences(450, 1), session="s")
        monkeypatch.setattr(Collection, "upsert", noted)
        assert alice.flush()
        somebody.join()
        assert [count for _, count in begun] == [200, 200, 50]
        assert begun[1][0] - begun[0][0] >= replies.LONGEST_WAY <= begun[2][0] - begun[1][0]
        assert problems(alice) == []


def test_a_message_of_three_million_characters_is_embedded_in_seconds(tmp_path):
    # Its parts are alike, so that hardly anything is computed by the embedder or kept in Chroma.
    storage, text = StorageSettings(chroma_above=100_000), TextSettings(max_characters=4_000_000)
    settings = EXACT.model_copy(update={"storage": storage, "text": text})
    with opened(tmp_path, HashEmbedder(), settings) as alice:
        alice.track([user("The robot and the violin. " * 120_000)], session="s")
        began = time.process_time()
        assert alice.flush()
        assert time.process_time() - began < 8
        assert (alice.stats().pending, problems(alice)) == (0, [])


def test_a_text_that_comes_again_while_its_vector_is_computed_is_embedded_once(tmp_path):
    embedder = HashEmbedder()
    with opened(tmp_path, embedder, SMALL) as alice:
        for start in range(0, 40, 8):
            alice.track([user(f"the robot {number % 3}", str(start + number)) for number in range(8)], session="s")
        assert alice.flush()
        assert (embedder.documents_embedded, alice.stats().vectors, alice.stats().pending) == (3, 40, 0)


def test_after_a_flush_every_piece_has_its_vector(alice):
    alice.track([*sentences(30), user("A long tale of the robot. " * 200)], session="s")
    assert (alice.stats().vectors, alice.stats().pending) == (0, 31)
    assert alice.flush()
    stats = alice.stats()
    assert stats.vectors == stats.chunks > 31
    assert (stats.pending, stats.unfiled, problems(alice)) == (0, 0, [])


def test_a_text_is_embedded_once_however_often_it_is_said(tmp_path):
    embedder = HashEmbedder()
    for session in ("s", "t"):
        with opened(tmp_path, embedder) as alice:
            alice.track([user("The robot is red."), user("The garden is green.")], session=session)
            assert alice.flush()
            alice.rebuild()
            assert alice.flush()
    assert embedder.documents_embedded == 2


def test_a_named_speaker_belongs_to_what_was_said(alice):
    turns = [Turn(role="user", content="It rained.", speaker=name) for name in ("Ann", "Bob")]
    alice.track(turns, session="s")
    alice.flush()
    found = alice.recall("Was it Bob?", session="t").receipt.candidates
    assert {each.drawer: each.scores["vector"] > 0.4 for each in found} == {2: True}


# Embedders that misbehave


def poisoned(vector):
    """Gives `vector` for a text that holds the word poison."""
    return lambda texts, vectors: [vector if "poison" in text else v for text, v in zip(texts, vectors, strict=True)]


@pytest.mark.parametrize(
    "change",
    [
        lambda texts, vectors: [[float("nan")] * 64 for _ in texts],
        lambda texts, vectors: [[float("inf"), *vector[1:]] for vector in vectors],
        lambda texts, vectors: [*vectors, vectors[0]],
        lambda texts, vectors: vectors[1:],
        lambda texts, vectors: vectors[0],
        lambda texts, vectors: [[] for _ in texts],
        lambda texts, vectors: None,
        lambda texts, vectors: [["a"] * 64 for _ in texts],
    ],
    ids=["nan", "infinite", "too many", "too few", "flat", "empty", "none", "words"],
)
def test_vectors_that_are_none_are_refused_and_words_still_find(tmp_path, change):
    with opened(tmp_path, Answering(change), settings=Settings()) as alice:
        alice.track([user("The robot is red."), user("The garden is green.")], session="s")
        assert not alice.flush()
        recalled = alice.recall("Where is the robot?", session="t")
        assert recalled.items[0].drawer.number == 1
        assert (alice.stats().vectors, len(recalled.receipt.notes)) == (0, 1)


def test_once_the_embedder_is_repaired_the_vectors_are_filled_in(tmp_path):
    with opened(tmp_path, Answering(lambda texts, vectors: None)) as alice:
        alice.track(sentences(5), session="s")
        assert not alice.flush()
    with opened(tmp_path, Answering()) as alice:
        assert alice.flush()
        assert (alice.stats().vectors, problems(alice)) == (5, [])


@pytest.mark.parametrize("vector", [[float("nan")] * 64, [1.0] * 63, []], ids=["nan", "short", "empty"])
def test_one_poisonous_text_does_not_keep_the_others_from_their_vectors(tmp_path, caplog, vector):
    with opened(tmp_path, Answering(poisoned(vector))) as alice:
        alice.track([user("The robot is red."), user("the poison"), user("The garden is green.")], session="s")
        assert alice.flush()
        assert alice.stats().vectors == 2
        assert {number for number, _ in similar(alice, "the garden of poison")} == {1, 3}
    named = [record.args[0] for record in caplog.records if record.message.startswith("drawer_not_embedded")]
    assert named == [2]


def test_poisonous_texts_that_fill_a_whole_batch_do_not_hold_up_what_comes_after_them(tmp_path):
    small = EXACT.model_copy(update={"storage": StorageSettings(embed_batch=2)})
    with opened(tmp_path, Answering(poisoned([])), settings=small) as alice:
        for number in range(4):
            alice.track([user(f"poison number {number}")], session="s")
        alice.track([user("The robot is red.")], session="s")
        assert alice.flush()
        assert (alice.stats().vectors, alice.stats().pending) == (1, 0)


def test_a_model_that_changes_the_length_of_its_vectors_is_refused_by_name(tmp_path, caplog):
    with opened(tmp_path, Answering()) as alice:
        alice.track(sentences(3), session="s")
        assert alice.flush()
    with opened(tmp_path, Answering(dimension=32)) as alice:
        assert "length 32" in alice.recall("Where is the robot?", session="t").receipt.notes[0]
        alice.track(sentences(3, 3), session="s")
        assert not alice.flush()
        assert (alice.stats().vectors, problems(alice)) == (3, [])
    assert "length 64 before and 32 now" in caplog.text


# A model that is away


def test_drawers_that_have_their_vectors_are_not_pending_in_a_block_that_is_not_done(tmp_path):
    class Tiring(HashEmbedder):
        def embed_documents(self, texts):
            if self.documents_embedded >= 12:
                raise ConnectionError("unplugged")
            return super().embed_documents(texts)

    with opened(tmp_path, Tiring(), SMALL) as alice:
        alice.track([user(f"The robot {number} is red.", str(number)) for number in range(40)], session="s")
        assert not alice.flush()
        stats = alice.stats()
        assert 0 < stats.pending == 40 - stats.vectors < 40


def test_an_outage_degrades_to_keywords_with_a_note_and_one_warning(tmp_path, caplog):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError("unplugged")
    with opened(tmp_path, embedder, Settings()) as alice:
        alice.track([user("The robot is red.")], session="s")
        assert not alice.flush()
        for session in ("t", "u", "v"):
            recalled = alice.recall("Where is the robot?", session=session)
            assert (len(recalled.items), len(recalled.receipt.notes)) == (1, 1)
        assert not alice.flush()
        assert (alice.stats().pending, alice.stats().vectors) == (1, 0)
    told = [record for record in caplog.records if record.name.startswith("langmem_tiers")]
    warnings = [record for record in told if record.levelno >= logging.WARNING]
    assert ["ConnectionError" in record.getMessage() for record in warnings] == [True]


def test_vectors_are_filled_in_by_themselves_when_the_model_comes_back(tmp_path):
    embedder = HashEmbedder()
    embedder.outage = ConnectionError("unplugged")
    with opened(tmp_path, embedder, background=True) as alice:
        alice.track([user("The robot is red.")], session="s")
        assert not alice.flush(20)
        embedder.outage = None
        deadline = time.monotonic() + 60
        while alice.stats().pending and time.monotonic() < deadline:
            time.sleep(0.2)
        assert (alice.stats().pending, alice.stats().vectors) == (0, 1)
        assert alice.flush(20)


# Exact search


def test_exact_search_gives_what_brute_force_gives(tmp_path):
    with opened(tmp_path) as alice:
        for start in range(0, 200, 40):
            alice.track(sentences(40, start), session="s")
            alice.flush()
            assert_best(alice, "the robot and the violin in the orchard")
        alice.track([user("robot violin orchard", str(n)) for n in range(0, 200, 2)], session="s")
        alice.flush()
        assert_best(alice, "the robot and the violin in the orchard")


def test_among_very_many_vectors_those_nearest_are_still_found_and_none_that_is_gone():
    """Fifty vectors near the query among 25,000 others: their signs are compared first."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((25_000, 96)).astype(np.float32)
    query = rng.standard_normal(96).astype(np.float32)
    near = rng.choice(25_000, 50, replace=False)
    vectors[near] = query + 0.8 * vectors[near]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query /= np.linalg.norm(query)
    index = ExactIndex(".", "model")
    for start in range(0, 25_000, 7_000):
        rows = np.arange(start, min(start + 7_000, 25_000))
        index._append(ChunkVectors(rows + 1, np.zeros_like(rows), vectors[rows]))
    gone = set((near[:10] + 1).tolist())
    index._remove(gone)
    found = index.search(query, 40)
    assert set(found) == set((near + 1).tolist()) - gone
    assert found == pytest.approx({drawer: float(vectors[drawer - 1] @ query) for drawer in found}, abs=1e-5)
    assert len(index.search(query, 24_995)) == 24_990


def test_vectors_that_were_removed_take_nobodys_place():
    """An index that lost many finds what one does that never had them, among all and among the newest."""
    random = np.random.default_rng(7)
    vectors = random.standard_normal((24_000, 64)).astype(np.float32)
    query = random.standard_normal(64).astype(np.float32)
    vectors[21_000:] += 2 * query  # the newest are the most similar
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query /= np.linalg.norm(query)
    rows = np.arange(24_000)
    lost, never = (ExactIndex(".", "model") for _ in range(2))
    lost._append(ChunkVectors(rows + 1, np.zeros_like(rows), vectors))
    never._append(ChunkVectors(rows[:21_000] + 1, np.zeros_like(rows[:21_000]), vectors[:21_000]))
    lost._remove(set(range(21_001, 24_001)))
    assert lost.search(query, 60) == pytest.approx(never.search(query, 60), abs=1e-5)
    assert lost.neighbours(20_500, 12) == pytest.approx(never.neighbours(20_500, 12), abs=1e-5)
    assert len(lost.neighbours(20_500, 12)) == 12


def test_one_long_drawer_does_not_crowd_out_all_others(tmp_path):
    with opened(tmp_path) as alice:
        alice.track([user("The robot and the violin. " * 10_000), *sentences(30)], session="s")
        alice.flush()
        assert len(similar(alice, "the robot and the violin")) == 10


@pytest.mark.folder
def test_the_first_recall_reads_the_whole_log_however_long_it_is(tmp_path):
    with opened(tmp_path) as alice:
        alice.track(sentences(3), session="s")
        alice.flush()
    (database,) = tmp_path.rglob("memory.db")
    connection = sqlite3.connect(database)
    (head,) = connection.execute("SELECT max(position) FROM changes").fetchone()
    rows = [(".", head + n, "drawer.superseded", 10**6, 1, 0) for n in range(1, 10_501)]
    connection.executemany("INSERT INTO changes (space, position, kind, subject, until, at) VALUES (?,?,?,?,?,?)", rows)
    connection.commit()
    connection.close()
    with opened(tmp_path) as alice:
        alice.track([user("The robot is red.")], session="s")
        alice.flush()
    with opened(tmp_path) as alice:
        assert 4 in dict(similar(alice, "the red robot"))


def test_texts_of_similar_length_are_embedded_together(tmp_path):
    calls: list[list[int]] = []

    def noted(texts, vectors):
        calls.append([len(text) for text in texts])
        return vectors

    settings = Settings(storage=StorageSettings(embed_batch=10))
    with opened(tmp_path, Answering(noted), settings) as alice:
        alice.track([user(f"robot {n} " * (40 if n % 2 else 1)) for n in range(40)], session="s")
        alice.flush()
    assert [len(call) for call in calls] == [10, 10, 10, 10]
    assert all(max(call) < 2 * min(call) for call in calls)


# Chroma


def test_above_the_limit_chroma_answers_as_exact_search_does(tmp_path):
    with opened(tmp_path, settings=CHROMA) as alice:
        alice.track(sentences(150), session="s")
        alice.flush()
        assert_best(alice, "the robot and the violin in the orchard")
        assert_best(alice, "the kettle on the mountain")
        assert chroma_owned(alice)


@pytest.mark.parametrize("settings", [EXACT, CHROMA], ids=["exact", "chroma"])
def test_what_is_near_to_a_later_part_of_a_message_is_near_to_the_message(tmp_path, settings):
    parts = ["The lantern hangs in the harbour. ", "Our compass points at the glacier. "]
    with opened(tmp_path, settings=settings) as alice:
        alice.track([user("".join(part * 50 for part in parts)), *sentences(100)], session="s")
        alice.track([user(part * 3) for part in reversed(parts)], session="t")
        alice.flush()
        with alice.memory.use(alice.name) as store, store.reading() as connection:
            near = store.vectors.neighbours(moment(connection, store.key), [1, 103], 12)
        assert [*near] == [1, 103]
        near = near[1]
        assert {*list(near)[:2]} == {102, 103}
        assert (len(near), 1 in near) == (12, False)
        assert [*near.values()] == sorted(near.values(), reverse=True)


@pytest.mark.parametrize("settings", [EXACT, CHROMA], ids=["exact", "chroma"])
def test_of_1000_messages_each_is_found_by_its_own_vector(tmp_path, settings):
    with opened(tmp_path, settings=settings) as alice:
        alice.track(sentences(1000), session="s")
        alice.flush()
        asked = alice.drawers()[::5]
        nearest = [alice.recall(mirrored(each.content), keep_receipt=False).receipt.candidates for each in asked]
        by_vector = [{each.drawer for each in found if "vector" in each.scores} for found in nearest]
        assert sum(each.number in found for each, found in zip(asked, by_vector, strict=True)) >= 0.995 * len(asked)


@pytest.mark.folder
def test_a_space_has_chroma_from_a_size_on_until_half_is_left(tmp_path):
    settings = EXACT.model_copy(update={"storage": StorageSettings(chroma_above=30)})

    def has_chroma(alice):
        alice.flush()
        assert problems(alice) == []
        assert_best(alice, "the robot and the violin in the orchard")
        return any(tmp_path.rglob("chroma.sqlite3"))

    with opened(tmp_path, settings=settings) as alice:
        alice.track(sentences(30), session="s")
        assert not has_chroma(alice)
        alice.track(sentences(1, 30), session="s")
        assert has_chroma(alice)
        assert chroma_owned(alice)
        alice.forget(messages=map(str, range(15)), confirm=True)
        assert has_chroma(alice)
        alice.forget(messages="15", confirm=True)
        assert not has_chroma(alice)
        assert "Chroma: not needed yet, search in memory is enough" in alice.rebuild()
        alice.track(sentences(20, 100), session="s")
        assert has_chroma(alice)
        assert chroma_owned(alice)


@pytest.mark.folder
def test_up_to_the_limit_chroma_is_not_asked_even_where_it_is_owned(tmp_path, caplog):
    settings = EXACT.model_copy(update={"storage": StorageSettings(exact_below=60)})
    with opened(tmp_path, settings=settings) as alice:
        alice.track(sentences(61), session="s")
        alice.flush()
        assert chroma_owned(alice)
        alice.forget(messages="60", confirm=True)
        alice.flush()
        assert chroma_owned(alice)
        assert_best(alice, "the robot and the violin in the orchard")
        (folder,) = tmp_path.rglob("chroma")
        garble(folder)
        assert_best(alice, "the kettle on the mountain")
        assert "chroma_distrusted" not in caplog.text


def test_what_is_newer_than_the_projection_is_found_and_what_was_superseded_is_not(tmp_path):
    with opened(tmp_path, settings=CHROMA) as alice:
        alice.track(sentences(60), session="s")
        alice.flush()
        similar(alice, "the robot")
        alice.track([user("robot violin orchard", "7"), user("robot violin", "new")], session="s")
        assert {61, 62}.isdisjoint(dict(similar(alice, "robot violin orchard")))
        alice.flush()
        found = dict(similar(alice, "robot violin orchard"))
        assert {61, 62} <= set(found)
        assert 8 not in found
        assert_best(alice, "robot violin orchard")


@pytest.mark.parametrize("times", [4_000, 8_000, 20_000])
def test_one_long_drawer_does_not_crowd_out_all_others_in_chroma(tmp_path, times):
    # Its many equal vectors cut HNSW's graph in parts, differently each time: so three spaces.
    with Memory.open(tmp_path, embedder=Mirrored(), settings=CHROMA, background=False) as memory:
        for name in ("alice", "bob", "carol"):
            space = memory.user(name)
            space.track([user("The robot and the violin. " * times), *sentences(9)], session="s")
            space.flush()
            similar(space, "the robot and the violin")
            assert len(similar(space, "the robot and the violin")) == 10


def test_an_edit_that_is_taken_back_is_in_chroma_once(tmp_path):
    with opened(tmp_path, settings=CHROMA) as alice:
        alice.track(sentences(20), session="s")
        for text in ("the red robot", "the blue robot", "the red robot"):
            alice.track([user(text, "edited")], session="s")
            alice.flush()
        found = dict(similar(alice, "the red robot"))
        assert (21 in found, 22 in found, problems(alice)) == (True, False, [])


@pytest.mark.folder
def test_edits_to_and_fro_between_two_flushes_build_nothing_anew(tmp_path, caplog):
    with opened(tmp_path, settings=CHROMA) as alice:
        alice.track(sentences(20), session="s")
        alice.flush()
        for text in ("the red robot", "the blue robot", "the red robot", "the blue robot"):
            alice.track([user(text, "edited")], session="s")
        assert alice.flush()
        found = dict(similar(alice, "the blue robot"))
        assert (21 in found, 22 in found, problems(alice)) == (False, True, [])
    assert "chroma_distrusted" not in caplog.text


@pytest.mark.folder
def test_two_memories_on_one_folder_both_find_everything_and_one_owns_chroma(tmp_path):
    with opened(tmp_path, settings=CHROMA) as first, opened(tmp_path, settings=CHROMA) as second:
        first.track(sentences(40), session="s")
        first.flush()
        second.track(sentences(40, 40), session="s")
        second.flush()
        for space in (first, second):
            assert_best(space, "the robot and the violin in the orchard")
            assert problems(space) == []
        assert [
            any(each.level == "note" and "owns it" in each.message for each in space.doctor())
            for space in (first, second)
        ] == [
            False,
            True,
        ]


@pytest.mark.parametrize("background", [False, True])
def test_a_memory_that_is_closed_gives_chroma_back_to_the_next(tmp_path, background):
    closed = []
    for start in range(0, 30, 10):
        with opened(tmp_path, settings=CHROMA, background=background) as alice:
            alice.track(sentences(10, start), session="s")
            assert alice.flush(30)
            with alice.memory.use(alice.name) as store:
                closed.append(store)  # closed, and not merely forgotten
            assert chroma_owned(alice)
            assert alice.stats().vectors == start + 10


def hold_open(folder: Path, tail: str) -> subprocess.Popen[str]:
    """A process that tracks ten turns, then does what `tail` says."""
    script = textwrap.dedent("""
        import sys, time
        from langmem_tiers import Memory, Settings, Turn
        from langmem_tiers.settings import StorageSettings
        from langmem_tiers.testing import HashEmbedder
        class Mirrored(HashEmbedder):
            pass
        settings = Settings(storage=StorageSettings(exact_below=0))
        memory = Memory.open(sys.argv[1], embedder=Mirrored(), settings=settings, background=False)
        alice = memory.user("alice")
        turns = [Turn(role="user", content=f"the robot number {n}", message_id=f"x{n}") for n in range(10)]
        alice.track(turns, session="s")
        alice.flush()
        print("ready", flush=True)
    """)
    command = [sys.executable, "-c", script + tail, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.folder
def test_another_process_finds_everything_while_one_owns_chroma_and_after_it_was_killed(tmp_path):
    process = hold_open(tmp_path, "time.sleep(600)")
    try:
        with opened(tmp_path, settings=CHROMA) as alice:
            alice.track(sentences(10), session="s")
            alice.flush()
            assert_best(alice, "the robot and the violin in the orchard")
            assert not chroma_owned(alice)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            alice.flush()
            assert_best(alice, "the robot and the violin in the orchard")
            assert (chroma_owned(alice), problems(alice)) == (True, [])
    finally:
        process.kill()
        process.communicate()


def delete(folder: Path) -> None:
    shutil.rmtree(folder)


def empty(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(b"")


def garble(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            file.write_bytes(b"garbage " * 2000)


def garble_index(folder: Path) -> None:
    for file in folder.rglob("*.bin"):
        file.write_bytes(b"garbage " * 2000)


def litter(folder: Path) -> None:
    (folder / "7").write_text("a file")
    (folder / "notes").mkdir()


@pytest.mark.folder
@pytest.mark.parametrize("accident", [delete, empty, garble, garble_index, litter])
def test_whatever_happens_to_the_chroma_folder_it_is_rebuilt_without_embedding_anew(tmp_path, accident):
    embedder = Mirrored()
    with opened(tmp_path, embedder, CHROMA) as alice:
        alice.track(sentences(60), session="s")
        alice.flush()
    (folder,) = tmp_path.rglob("chroma")
    accident(folder)
    with opened(tmp_path, embedder, CHROMA) as alice:
        assert_best(alice, "the robot and the violin in the orchard")
        assert alice.flush()
        assert_best(alice, "the robot and the violin in the orchard")
        alice.track(sentences(5, 60), session="s")
        assert alice.flush()
        assert (problems(alice), chroma_owned(alice)) == ([], True)
        assert_best(alice, "the robot and the violin in the orchard")
    assert embedder.documents_embedded == 65


@pytest.mark.folder
def test_chroma_files_damaged_while_they_are_open_cost_no_answer_and_are_built_anew(tmp_path, caplog):
    with opened(tmp_path, settings=CHROMA) as alice:
        alice.track(sentences(60), session="s")
        alice.flush()
        similar(alice, "the robot")
        (folder,) = tmp_path.rglob("chroma")
        garble(folder)
        assert_best(alice, "the robot and the violin in the orchard")
        assert "chroma_distrusted" in caplog.text
        assert alice.flush()
        assert_best(alice, "the robot and the violin in the orchard")
        assert (problems(alice), chroma_owned(alice)) == ([], True)


# Another model


def test_another_model_is_embedded_beside_and_recall_works_meanwhile_and_after(tmp_path):
    with opened(tmp_path, Mirrored(64), CHROMA) as alice:
        alice.track(sentences(20), session="s")
        alice.flush()
    with opened(tmp_path, Mirrored(32), CHROMA) as alice:
        assert alice.stats().pending == 20
        assert alice.recall("Where is the robot?", session="t").items
        assert alice.flush()
        assert (alice.stats().vectors, alice.stats().pending, problems(alice)) == (20, 0, [])
        assert len(similar(alice, "the robot")) == 10
    back = Mirrored(64)
    with opened(tmp_path, back, CHROMA) as alice:
        assert alice.flush()
        assert_best(alice, "the robot and the violin in the orchard")
        assert problems(alice) == []
    assert back.documents_embedded == 0


def test_a_memory_opened_without_an_embedder_is_complete_once_it_has_one(tmp_path):
    with Memory.open(tmp_path, embedder=None, background=False) as memory:
        memory.user("alice").track(sentences(5), session="s")
        assert memory.flush()
    with opened(tmp_path) as alice:
        assert alice.flush()
        assert_best(alice, "the robot", most=5)


# Texts that the embedder refuses


class Choosy(HashEmbedder):
    """A provider that refuses a request with a forbidden text in it, as one does with a text that is too long."""

    def __init__(self, refuse: str = "poison", status: int | None = 400) -> None:
        super().__init__()
        self.model, self.refuse, self.status, self.requests = "choosy", refuse, status, 0

    def embed_documents(self, texts):
        self.requests += 1
        if self.refuse and any(self.refuse in text for text in texts):
            told = "the input is not valid" if self.status is None else f"Error code: {self.status} - not valid"
            raise ValueError(told)
        return super().embed_documents(texts)


@pytest.mark.parametrize("status", [400, 413, 422, 500, None])
def test_a_text_that_the_embedder_refuses_is_set_aside_and_the_others_get_their_vectors(tmp_path, status):
    embedder = Choosy(status=status)
    with opened(tmp_path, embedder) as alice:
        alice.track([*sentences(40), user("the poison"), *sentences(40, 40)], session="s")
        assert alice.flush()
        assert (alice.stats().vectors, alice.stats().pending, problems(alice)) == (80, 0, [])
        assert embedder.requests < 25
        told = [finding.message for finding in alice.doctor() if "refused" in finding.message]
        assert len(told) == 1
        assert told[0].startswith("Texts that the embedder refused, found by their words only: 1 (")
        assert "poison" not in told[0]
    before = embedder.requests
    with opened(tmp_path, embedder) as alice:
        alice.track([user("the poison")], session="another")
        assert alice.flush()
        assert embedder.requests == before


class Exiting(Choosy):
    """A provider whose code leaves the process at a certain text."""

    def embed_documents(self, texts):
        if any(self.refuse in text for text in texts):
            self.requests += 1
            raise SystemExit(3)
        return super().embed_documents(texts)


def test_a_text_at_which_the_embedder_exits_is_set_aside_too(tmp_path):
    with opened(tmp_path, Exiting()) as alice:
        alice.track([*sentences(4), user("the poison")], session="s")
        assert alice.flush()
        assert (alice.stats().vectors, alice.stats().pending) == (4, 0)


def test_a_refused_note_does_not_hold_up_the_others(tmp_path):
    with opened(tmp_path, Choosy()) as alice:
        for text in ("The garden is green.", "A poison stands in the shed.", "The robot is red."):
            alice.knowledge.save(text, category="fact")
        assert alice.flush()
        assert problems(alice) == []
        assert [": 1 (" in finding.message for finding in alice.doctor() if "refused" in finding.message] == [True]


def test_refused_texts_are_tried_again_after_a_rebuild_and_by_another_embedder(tmp_path):
    embedder = Choosy()
    with opened(tmp_path, embedder) as alice:
        alice.track([user("the poison"), user("The robot is red.")], session="s")
        assert alice.flush()
        embedder.refuse = ""
        alice.rebuild()
        assert alice.flush()
        assert (alice.stats().vectors, problems(alice)) == (2, [])
    other = Choosy()
    other.model = "other"
    with opened(tmp_path, other) as alice:
        assert alice.flush()
        assert alice.stats().vectors == 1


@pytest.mark.parametrize("outage", [ConnectionError("unplugged"), ValueError("Error code: 429")])
def test_an_embedder_that_is_away_is_not_asked_once_for_each_text(tmp_path, outage):
    class Away(HashEmbedder):
        requests = 0

        def embed_documents(self, texts):
            self.requests += 1
            raise outage

    embedder = Away()
    with opened(tmp_path, embedder) as alice:
        alice.track(sentences(60), session="s")
        assert not alice.flush()
        assert embedder.requests == 1
        assert not [finding for finding in alice.doctor() if "refused" in finding.message]


@pytest.mark.parametrize("kind", [Choosy, Exiting])
def test_an_embedder_that_refuses_everything_is_away(tmp_path, kind):
    embedder = kind(refuse=" ")
    embedder.refuse = "e"
    with opened(tmp_path, embedder) as alice:
        alice.track(sentences(60), session="s")
        assert not alice.flush()
        assert embedder.requests == 2
        assert not [finding for finding in alice.doctor() if "refused" in finding.message]


# Damaged files of Chroma


DAMAGES = """
    import random, shutil, traceback
    from langmem_tiers import RecallSettings, Settings
    from langmem_tiers.errors import MemoryTiersError
    from langmem_tiers.settings import StorageSettings

    recall = RecallSettings(min_similarity=-1, candidates=10, recency_weight=0, trivial_words=0, later=0)
    settings = Settings(recall=recall, storage=StorageSettings(exact_below=0))
    source, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    drawn = random.Random(5)

    def truncate(data): return data[: len(data) // 2]
    def cut_end(data): return data[:-1]
    def flip(data):
        at = drawn.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
    def flip_many(data): return bytes(each ^ 0x55 if drawn.random() < 0.05 else each for each in data)
    def zero(data): return bytes(len(data))
    def zero_head(data): return bytes(min(len(data), 4096)) + data[4096:]
    def grow(data): return data + data
    def garbage(data): return bytes(drawn.randrange(256) for _ in range(max(len(data), 100)))
    def empty(data): return b""

    def answers(space):
        return [each.drawer for each in space.recall("the robot and the violin", session="q").receipt.candidates]

    def tried(name, damage):
        folder = scratch / "memory"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        files = sorted(file for file in folder.rglob("chroma/**/*") if file.is_file())
        damage(files)
        print(name, flush=True)
        with Memory.open(folder, embedder=HashEmbedder(), settings=settings, background=False) as memory:
            alice = memory.user("alice")
            if drawn.random() < 0.5:
                assert answers(alice) == right, name
            assert alice.flush()
            assert answers(alice) == right, name
            assert [each.message for each in alice.doctor() if each.level == "problem"] == [], name

    with Memory.open(source, embedder=HashEmbedder(), settings=settings, background=False) as memory:
        right = answers(memory.user("alice"))
    relative = sorted(file for file in source.rglob("chroma/**/*") if file.is_file())
    for place in range(len(relative)):
        for how in (truncate, cut_end, flip, flip_many, zero, zero_head, grow, garbage, empty):
            def damage(files, place=place, how=how):
                file = files[place]
                file.write_bytes(how(file.read_bytes() or b"x"))
            tried(f"{how.__name__} {relative[place].name}", damage)
        tried(f"missing {relative[place].name}", lambda files, place=place: files[place].unlink())
        def swap(files, place=place):
            one, other = files[place], files[place - 1]
            first, second = one.read_bytes(), other.read_bytes()
            one.write_bytes(second), other.write_bytes(first)
        tried(f"swap {relative[place].name}", swap)
    print("done")
"""


@pytest.mark.folder
def test_however_a_file_of_chroma_is_damaged_nothing_ends_the_process_and_the_answers_are_right(
    tmp_path, offline_environment
):
    with opened(tmp_path / "source", HashEmbedder(), CHROMA) as alice:
        alice.track(sentences(60), session="s")
        alice.flush()
    head = "import sys\nfrom pathlib import Path\nfrom langmem_tiers import Memory\n"
    head += "from langmem_tiers.testing import HashEmbedder\n"
    command = [sys.executable, "-c", head + textwrap.dedent(DAMAGES), str(tmp_path / "source"), str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=offline_environment, timeout=600)
    last = done.stdout.split("\n")[-2]
    assert (done.returncode, last, "Traceback" in done.stderr) == (0, "done", False), done.stderr[-3000:]


# What is stored


def sql(folder: Path, *statements: str) -> list:
    (database,) = folder.rglob("memory.db")
    connection = sqlite3.connect(database)
    try:
        found = [connection.execute(statement).fetchall() for statement in statements]
        connection.commit()
    finally:
        connection.close()
    return found


def store_as_before(folder: Path) -> None:
    """Vectors as versions before this one stored them: four bytes a number."""
    (database,) = folder.rglob("memory.db")
    connection = sqlite3.connect(database)
    connection.create_function(
        "single", 1, lambda stored: (np.frombuffer(stored, "<i2") / np.float32(32_767)).astype("<f4").tobytes()
    )
    connection.execute("UPDATE embeddings SET vector = single(vector)")
    connection.commit()
    connection.close()


LENGTHS = "SELECT DISTINCT length(vector) FROM embeddings"


@pytest.mark.folder
def test_vectors_of_an_older_version_find_the_same_and_are_halved_when_it_is_opened(tmp_path):
    query = "the robot and the violin in the orchard"
    with opened(tmp_path) as alice:
        alice.track(sentences(60), session="s")
        alice.knowledge.save("Anna plays the violin.", category="user-facts")
        alice.flush()
        before = similar(alice, query)
    store_as_before(tmp_path)
    ran = "DELETE FROM migrations WHERE position >= 17"
    sql(tmp_path, ran, "PRAGMA user_version = 17")
    assert sql(tmp_path, LENGTHS) == [[(256,)]]
    with opened(tmp_path) as alice:
        assert (similar(alice, query), problems(alice)) == (before, [])
    assert sql(tmp_path, LENGTHS) == [[(128,)]]


@pytest.mark.folder
def test_vectors_that_opening_left_as_they_were_find_the_same_until_rebuild_halves_them(tmp_path):
    query = "the robot and the violin in the orchard"
    with opened(tmp_path) as alice:
        alice.track(sentences(60), session="s")
        alice.flush()
        before = similar(alice, query)
    store_as_before(tmp_path)
    with opened(tmp_path) as alice:
        alice.track(sentences(1, start=60), session="s")
        alice.flush()
        assert similar(alice, query)[:5] == before[:5]
        assert (sql(tmp_path, LENGTHS), problems(alice)) == ([[(256,), (128,)]], [])
        alice.rebuild()
        assert (sql(tmp_path, LENGTHS), problems(alice)) == ([[(128,)]], [])
        assert similar(alice, query)[:5] == before[:5]


def test_words_that_were_said_before_and_wait_for_chroma_are_no_fault(tmp_path):
    with opened(tmp_path, settings=CHROMA) as alice:
        alice.track([user("Thanks, that helped me a lot.", "1")], session="monday")
        alice.knowledge.save("The kettle is in the garden.")
        assert alice.flush()
        alice.track([user("Thanks, that helped me a lot.", "2")], session="tuesday")
        alice.archive.write("tuesday", summary="The kettle is in the garden.")
        assert [each.message for each in alice.doctor() if each.level == "problem"] == []
        assert alice.flush()
        assert [each.message for each in alice.doctor() if each.level == "problem"] == []
