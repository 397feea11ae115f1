"""The lists of drawers by word that stay in memory: always what the index itself says, whoever changed it."""

import random
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from meanings import user

from langmem_tiers import Memory
from langmem_tiers.background import filing
from langmem_tiers.background.filing import FileJob
from langmem_tiers.storage import keyword
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.keyword import Postings
from langmem_tiers.storage.schema import HERE

pytestmark = pytest.mark.folder
WORDS = ["robot", "garden", "violin", "harbour", "kettle"]


@pytest.fixture
def alice(tmp_path, clock):
    """A space that words alone search."""
    with Memory.open(tmp_path / "memory", embedder=None, background=False, clock=clock) as memory:
        yield memory.user("alice")


@contextmanager
def reading(space):
    """The lists that the space keeps, and a moment of its records."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        yield store.words, connection


def of_index(connection, word):
    """Drawers by what was said and by the name of the place, from the index itself."""
    held = keyword.drawers.holding_between(connection, {word: 0}, upto=10**9, most=10**9)[word]
    return tuple(numbers.tolist() for numbers in held)


def assert_in_step(space, words=WORDS):
    """The lists kept, new ones, and the index agree."""
    with reading(space) as (kept, connection):
        expected = [of_index(connection, word) for word in words]
        for postings in (kept, Postings(".")):
            found, _ = postings.holding(moment(connection, HERE), words)
            assert [tuple(numbers.tolist() for numbers in held) for held in found] == expected


def said(space, word):
    """The drawers that the space finds by a word."""
    with reading(space) as (kept, connection):
        ((numbers, _),), _ = kept.holding(moment(connection, HERE), [word])
        return numbers.tolist()


# In step


def test_a_drawer_is_found_by_its_words_at_once_and_by_its_place_once_it_is_filed(alice):
    alice.track([user("The robot is red.")], session="s", project="Harbour")
    assert_in_step(alice)
    alice.track([user("The garden is green.")], session="s")
    assert_in_step(alice)
    with reading(alice) as (kept, connection):
        assert [held[1].tolist() for held in kept.holding(moment(connection, HERE), ["harbour"])[0]] == [[]]
    alice.flush()
    with reading(alice) as (kept, connection):
        (harbour, red), total = kept.holding(moment(connection, HERE), ["harbour", "red"])
        assert [numbers.tolist() for numbers in (*harbour, *red)] == [[], [1, 2], [1], []]
        assert total == 2
    assert_in_step(alice)


def test_what_is_not_filed_yet_is_found_behind_what_is(alice):
    for number in range(3):
        alice.track([user(f"robot {number}")], session=f"s{number}")
        alice.flush()
        alice.track([user(f"robot and garden {number}")], session=f"s{number}")
        assert said(alice, "robot") == list(range(1, 2 * number + 3))
        assert_in_step(alice)


def test_when_only_some_are_filed_the_others_get_their_place_later(alice, clock):
    for session in range(10):
        alice.track([user(f"robot {n}", str(n)) for n in range(60)], session=f"s{session}", project="Harbour")
    with alice.memory.use(alice.name) as store:
        assert FileJob(store.database, clock).step(lambda: False)
        assert filing.pending(store.database) > 100
    assert_in_step(alice)
    alice.flush()
    assert_in_step(alice)
    with reading(alice) as (kept, connection):
        assert len(kept.holding(moment(connection, HERE), ["harbour"])[0][0][1]) == 600


def test_an_edit_and_its_taking_back_are_followed(alice):
    for text in ("robot garden", "violin", "robot garden", "kettle"):
        alice.track([user(text, "1")], session="s")
        assert_in_step(alice)
        alice.flush()
        assert_in_step(alice)
        assert [item.drawer.content for item in alice.recall(f"The {text}?", threshold=0).items] == [text]


def test_messages_that_were_edited_take_nobodys_place(alice):
    alice.track([user("The violin is in the cellar, the bow too.")], session="a")
    lessons = [user(f"The violin lesson and the bow lesson in the cellar, number {n}.", f"{n}") for n in range(70)]
    alice.track(lessons, session="b")
    alice.flush()
    question = "Where in the cellar is the violin bow lesson?"
    assert "the bow too" not in alice.recall(question, keep_receipt=False).block
    alice.track([user(f"Something else {n}.", f"{n}") for n in range(70)], session="b")
    warm = alice.recall(question, keep_receipt=False).block
    assert "the bow too" in warm
    with Memory.open(alice.memory.path, embedder=None, background=False, clock=alice.memory.clock) as memory:
        assert memory.user("alice").recall(question, keep_receipt=False).block == warm


def test_lists_that_lost_very_many_drawers_are_read_again(alice):
    alice.track([user(f"robot {n}", f"{n}") for n in range(1010)], session="s")
    alice.flush()
    assert_in_step(alice)
    alice.track([user(f"garden {n}", f"{n}") for n in range(1005)], session="s")
    assert_in_step(alice)


def test_a_room_that_moves_to_a_new_wing_is_found_by_its_name(alice):
    for number in range(6):
        alice.track([user(f"Windhover needs varnish {number}, says Windhover's owner.")], session=f"s{number}")
        alice.flush()
        assert_in_step(alice, ["windhover", "varnish", "general", "owner"])


def test_a_rebuilt_index_is_read_anew(alice):
    alice.track([user("The robot is red."), user("The garden is green.")], session="s", project="Harbour")
    alice.flush()
    assert_in_step(alice)
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        keyword.drawers.remove(connection, [1])  # an accident that no log tells of
    assert said(alice, "robot") == [1]
    alice.rebuild()
    assert said(alice, "robot") == [1]
    assert_in_step(alice, [*WORDS, "red"])


def test_lists_of_a_space_that_was_closed_are_read_anew(tmp_path, clock):
    for number in range(3):
        with Memory.open(tmp_path, embedder=None, background=False, clock=clock) as memory:
            space = memory.user("alice")
            space.track([user(f"robot {number}")], session=f"s{number}")
            assert said(space, "robot") == list(range(1, number + 2))
            memory.flush()
            assert_in_step(space)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_in_whatever_order_the_lists_are_those_of_the_index(alice, seed):
    drawn = random.Random(seed)
    for _ in range(40):
        step = drawn.randrange(10)
        if step == 0:
            alice.rebuild()
        elif step < 4:
            alice.flush()
        else:
            turns = [user(" ".join(drawn.choices(WORDS, k=3)), str(drawn.randrange(12))) for _ in range(3)]
            project = drawn.choice([None, "Harbour", "Kettle"])
            alice.track(turns, session=f"s{drawn.randrange(5)}", project=project)
        assert_in_step(alice, drawn.sample(WORDS, 3))


# Others


def test_what_another_memory_stores_files_and_rebuilds_is_followed(alice, tmp_path, clock):
    with Memory.open(tmp_path / "memory", embedder=None, background=False, clock=clock) as memory:
        other = memory.user("alice")
        for number in range(3):
            for writer, reader in ((alice, other), (other, alice)):
                assert_in_step(reader)
                writer.track([user(f"robot garden {number} {writer is alice}", "1")], session="s", project="Harbour")
                assert_in_step(reader)
                writer.flush()
                assert_in_step(reader)
        other.rebuild()
        assert_in_step(alice)


def test_what_another_process_stores_and_files_is_followed(alice, tmp_path):
    script = textwrap.dedent("""
        import sys
        from langmem_tiers import Memory, Turn
        with Memory.open(sys.argv[1], embedder=None, background=False) as memory:
            turns = [Turn(role="user", content=f"robot {number}", message_id=f"x{number}") for number in range(5)]
            memory.user("alice").track(turns, session="other", project="Harbour")
            memory.flush()
    """)
    alice.track([user("robot")], session="s")
    alice.flush()
    assert said(alice, "robot") == [1]
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "memory")], check=True)
    assert said(alice, "robot") == [1, 2, 3, 4, 5, 6]
    assert_in_step(alice)


def test_threads_that_store_file_and_ask_at_once_leave_the_lists_whole(alice):
    def work(number):
        alice.track([user(f"robot {WORDS[number % 5]} {number}", str(number))], session=f"s{number % 7}")
        if number % 3 == 0:
            alice.flush()
        return alice.recall("Where is the robot?", threshold=0, keep_receipt=False, limit=100).items

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(80)))
    assert all(found)
    assert_in_step(alice)
    assert len(said(alice, "robot")) == 80


def test_who_still_sees_an_older_moment_leaves_no_gap_in_the_lists(alice):
    alice.track([user("robot garden")], session="s")
    alice.flush()
    assert said(alice, "robot") == [1]
    with reading(alice) as (kept, before):
        assert of_index(before, "garden") == ([1], [])  # the moment begins with its first reading
        alice.track([user("robot garden violin")], session="s")
        alice.flush()
        assert said(alice, "robot") == [1, 2]
        ((garden, _), (violin, _)), _ = kept.holding(moment(before, HERE), ["garden", "violin"])
        assert (garden.tolist(), violin.tolist()) == ([1], [])
    assert (said(alice, "garden"), said(alice, "violin")) == ([1, 2], [2])
    assert_in_step(alice)


# Bounds


def test_only_so_many_numbers_are_kept_and_the_oldest_lists_go_first(alice):
    alice.track([user(" ".join(WORDS), str(number)) for number in range(100)], session="s")
    alice.flush()
    few = Postings(".", kept=300)
    with reading(alice) as (_, connection):
        for word in (*WORDS, WORDS[0], *WORDS):
            ((numbers, _),), total = few.holding(moment(connection, HERE), [word])
            assert (len(numbers), total) == (100, 100)
            assert 0 < len(few) <= 2
        few.holding(moment(connection, HERE), ["kettle"])
        few.holding(moment(connection, HERE), ["robot"])
        few.holding(moment(connection, HERE), ["kettle"])
        few.holding(moment(connection, HERE), ["garden"])
        assert list(few._lists) == ["kettle", "garden"]


def test_a_large_space_keeps_more_and_all_that_is_kept_counts_as_memory(alice, monkeypatch):
    monkeypatch.setattr(keyword, "_KEPT", 300)
    alice.track([user(" ".join(WORDS), str(number)) for number in range(100)], session="s")
    alice.flush()
    with alice.context.open() as store, store.reading() as connection:
        others = store.held().memory - store.words.bytes_held()
        for word in WORDS:  # five lists of a hundred numbers
            store.words.holding(moment(connection, HERE), [word])
        assert len(store.words) == len(WORDS)
        assert store.words.bytes_held() >= 8 * 100 * len(WORDS)
        assert store.held().memory == others + store.words.bytes_held()


def test_words_that_nothing_holds_are_not_kept_for_ever(alice):
    alice.track([user("robot")], session="s")
    alice.flush()
    few = Postings(".", kept=1000)
    with reading(alice) as (_, connection):
        for start in range(0, 3200, 32):
            few.holding(moment(connection, HERE), [f"word{number}" for number in range(start, start + 32)])
    assert len(few) < 100


def test_a_list_longer_than_all_that_may_be_kept_is_kept_alone(alice):
    alice.track([user("robot garden", str(number)) for number in range(50)], session="s")
    alice.flush()
    few = Postings(".", kept=10)
    with reading(alice) as (_, connection):
        for word in ("robot", "garden", "robot"):
            assert len(few.holding(moment(connection, HERE), [word])[0][0][0]) == 50
            assert len(few) == 1


def test_a_word_that_very_many_hold_is_left_out_where_another_tells_more(alice):
    alice.track([user("robot", str(number)) for number in range(30)], session="s")
    alice.track([user("robot violin", "v")], session="t")
    alice.flush()
    alice.track([user("robot garden", "g")], session="t")
    capped = Postings(".", common=20)
    with reading(alice) as (_, connection):
        for words, expected in (
            (["robot", "violin"], [[31]]),
            (["robot", "garden", "kettle"], [[32], []]),
            (["violin", "garden"], [[31], [32]]),
        ):
            found, total = capped.holding(moment(connection, HERE), words)
            assert ([numbers.tolist() for numbers, _ in found], total) == (expected, 32)
        for words in (["robot"], ["robot", "kettle"]):
            found, _ = capped.holding(moment(connection, HERE), words)
            assert [len(numbers) for numbers, _ in found] == [20, 0][: len(words)]


def test_at_most_32_words_count(alice):
    alice.track([user("robot")], session="s")
    with reading(alice) as (kept, connection):
        assert len(kept.holding(moment(connection, HERE), [f"word{number}" for number in range(40)])[0]) == 32
        assert kept.holding(moment(connection, HERE), []) == ([], 1)


def test_an_empty_space_holds_nothing(alice):
    with reading(alice) as (kept, connection):
        ((numbers, place),), total = kept.holding(moment(connection, HERE), ["robot"])
    assert (numbers.dtype, len(numbers), len(place), total) == (np.int64, 0, 0, 0)


@pytest.mark.parametrize("word", ['"', "robot*", "NEAR(", "content : robot", "你", "", "{tags} : x", "'"])
def test_no_word_is_syntax(alice, word):
    alice.track([user("robot")], session="s")
    with reading(alice) as (kept, connection):
        ((numbers, place),), _ = kept.holding(moment(connection, HERE), [word])
        assert (numbers.tolist(), place.tolist()) in (([], []), ([1], []))
