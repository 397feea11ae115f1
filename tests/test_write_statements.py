"""How often a write asks the database, in a folder and on a server.

The space is one in use: the very first write makes the tables of a folder, and the first entry has those before it
indexed.
"""

from contextlib import contextmanager

import pytest

from langmem_tiers import Turn
from langmem_tiers.integrations import TieredStore
from tests import engines
from tests.test_recall_statements import counting

HIKING, OSLO = "The user likes hiking.", "The user lives in Oslo."
ALICE = ("memories", "alice")
ON_SERVER = engines.ENGINE == "postgres"
# On a server, the first write since the work was done says that there is work again.
MOST = 13 if ON_SERVER else 12
# Old words leave the index of a folder in one statement, that of a server in five: they are taken out of the list of
# each stem.
MOST_REPLACED = 18 if ON_SERVER else 11
# The words that it rests on are looked up, and stored with it.
MOST_WITH_EVIDENCE = 17 if ON_SERVER else 13
# Two entries change, and the words of one leave the index.
MOST_OF_TWO = 25 if ON_SERVER else 18
# Each job asks for what is behind, and whether it is due; filing and embedding a turn take half of a visit.
MOST_OF_A_VISIT = 95 if ON_SERVER else 82
MOST_FOR_NOTHING = 38 if ON_SERVER else 34

RELATIONS = {
    "between new names": ("Carl", "lives in", "Bergen"),
    "between known names": ("Ben", "lives in", "Oslo"),
    "of a known and a new name": ("Ben", "lives in", "Bergen"),
    "that is known": ("Anna", "lives in", "Oslo"),
    "that ends another": ("Anna", "lives in", "Bergen"),
    "of the user": ("user", "knows", "Anna"),
}


@pytest.fixture
def store(memory):
    return TieredStore(memory)


@pytest.fixture
def used(alice, store):
    """A space with a message, relations, entries and an item, and nothing left to do in the background."""
    alice.track([Turn(role="user", content="My sister Anna lives in Oslo.")], session="s1")
    alice.graph.add_relation("Anna", "lives in", "Oslo")
    alice.graph.add_relation("Ben", "works at", "Bosch")
    alice.knowledge.save(HIKING)
    alice.knowledge.save(OSLO)
    store.put(ALICE, "sister", {"content": "Anna is in Oslo."})
    alice.flush()
    return alice


@contextmanager
def at_most(number):
    with counting() as asked:
        yield
    assert len(asked) <= number, "\n".join(asked)


@pytest.mark.parametrize("named", RELATIONS.values(), ids=RELATIONS)
def test_a_relation_is_added_in_a_dozen_statements(used, named):
    with at_most(12):
        used.graph.add_relation(*named)


@pytest.mark.parametrize("content", ["Anna works at Bosch.", "The user lives in Bergen.", HIKING])
def test_an_entry_is_saved_in_a_dozen_statements_new_or_again(used, content):
    with at_most(MOST):
        used.knowledge.save(content)


def test_an_entry_takes_a_few_more_with_the_words_that_it_rests_on(used):
    with at_most(MOST_WITH_EVIDENCE):
        used.knowledge.save("Anna lives in Oslo.", evidence=[1])


def test_an_entry_that_takes_the_place_of_another_takes_those_of_two(used):
    with at_most(MOST_OF_TWO):
        assert used.knowledge.save("The user really enjoys hiking.").outcome == "merged"
    (oslo,) = used.knowledge.search(substring=OSLO)
    with at_most(MOST_OF_TWO):
        used.knowledge.save("The user lives in Rome.", corrects=oslo.entry.id, origin="user")


@pytest.mark.parametrize("field", ["text", "content"])
def test_an_item_is_put_in_a_dozen_statements_and_replaced_in_a_few_more(used, store, field):
    with at_most(12):
        store.put(ALICE, "ben", {field: "Ben is in Oslo."})
    with at_most(MOST_REPLACED):
        store.put(ALICE, "ben", {field: "Ben left Oslo."})
    with at_most(12):
        store.put(ALICE, "ben", {field: "Ben left Oslo."})


def test_a_visit_of_the_background_after_a_turn_is_short(used):
    used.track([Turn(role="user", content="We had soup."), Turn(role="assistant", content="Nice.")], session="s1")
    with at_most(MOST_OF_A_VISIT):
        used.flush()


def test_a_visit_of_the_background_for_nothing_is_shorter(used):
    with at_most(MOST_FOR_NOTHING):
        used.flush()
