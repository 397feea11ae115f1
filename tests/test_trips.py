"""How often a memory on servers waits for them: several statements of one moment go there together."""

from contextlib import closing

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.storage import drawers, facts
from langmem_tiers.storage.trips import one_trip
from langmem_tiers.testing import HashEmbedder
from tests import engines
from tests.relays import Relay
from tests.test_recall_statements import BIKE, counting

pytestmark = pytest.mark.skipif(not engines.ADDRESS, reason="POSTGRES names no server")

QUESTION = "Where is the blue bicycle from Delft, and which of my bicycles has a bell?"
# The embedder is asked while no transaction is open, so that some of it is asked twice.
MOST = 18


@pytest.fixture
def told(alice):
    """Messages with replies, entries, and a relation that ended."""
    for number in range(20):
        turns = [Turn(role="user", content=BIKE if number % 4 == 0 else f"My bicycle {number} is in Delft.")]
        turns += [Turn(role="assistant", content=f"Nice! Is bicycle {number} blue?")]
        alice.track(turns, session=f"s{number}")
    for number in range(10):
        alice.knowledge.save(f"The user's bicycle {number} has a bell from Delft.", category="bicycles")
    alice.mine()
    alice.flush()
    return alice


@pytest.fixture(scope="module")
def servers():
    """Relays before both servers."""
    with closing(Relay(engines.ADDRESS)) as database, closing(Relay(engines.CHROMA)) as chroma:
        yield database, chroma


@pytest.fixture
def afar(servers, clock):
    """A space with the same in a memory behind relays."""
    database, chroma = servers
    how = {"clock": clock, "embedder": HashEmbedder(), "background": False, "chroma": chroma.address}
    with Memory.open(database.address, **how) as memory:
        space = memory.user("rider")
        for number in range(20):
            space.track([Turn(role="user", content=f"My bicycle {number} is in Delft.")], session=f"s{number}")
            space.track([Turn(role="assistant", content=f"Is bicycle {number} blue?")], session=f"s{number}")
        for number in range(10):
            space.knowledge.save(f"The user's bicycle {number} has a bell from Delft.", category="bicycles")
        space.mine()
        space.flush()
        space.recall("Which bicycles do I have?")
        yield space
        memory.delete_user("rider", confirm=True)


def test_a_recall_waits_for_its_servers_a_few_times(servers, afar, monkeypatch):
    database, chroma = servers
    # No answer comes before all is sent that does not wait for it.
    monkeypatch.setattr(database, "delay", 0.05)
    before = database.trips, chroma.trips
    recalled = afar.recall(QUESTION, session="now", message_id="q")
    assert recalled.items
    assert recalled.known
    assert database.trips - before[0] <= MOST
    assert chroma.trips - before[1] <= 3


def test_what_is_asked_together_is_what_is_asked_one_by_one(told):
    together = told.recall(QUESTION, keep_receipt=False)
    with counting() as asked:  # whoever counts statements hears of each
        alone = told.recall(QUESTION, keep_receipt=False)
    assert len(asked) > 10
    assert together.block == alone.block != ""
    assert together.receipt.candidates == alone.receipt.candidates
    assert together.receipt.known == alone.receipt.known


def _database(told):
    with told.context.open() as store:
        return store.database


def test_rows_asked_ahead_are_given_once_and_in_their_transaction(told):
    database = _database(told)
    space = database.space
    with database.reading() as connection:
        with one_trip(connection) as trip:
            trip.ask(drawers.texts, connection, space, [1, 2])
            trip.ask(drawers.texts, connection, space, [3])
            trip.ask(facts.value, "nothing that reads")
        held = connection.connection.info["ahead"].answers
        assert [len(rows) for _, _, rows in held] == [2, 1]
        with counting() as asked:
            assert drawers.texts(connection, space, [1, 2])[1][1] == BIKE
            assert [*drawers.texts(connection, space, [3])] == [3]
        assert not asked
        assert not held
        with counting() as asked:
            assert [*drawers.texts(connection, space, [3])] == [3]
        assert len(asked) == 1
        with one_trip(connection) as trip:
            trip.ask(drawers.texts, connection, space, [1])
            trip.ask(drawers.texts, connection, space, [2])
    with database.reading() as connection, counting() as asked:
        assert [*drawers.texts(connection, space, [1])] == [1]
    assert len(asked) == 1


def test_nothing_is_asked_ahead_where_something_may_change(told):
    database = _database(told)
    with database.writing() as connection, one_trip(connection) as trip:
        assert trip.idle
    with counting(), database.reading() as connection, one_trip(connection) as trip:
        assert trip.idle
