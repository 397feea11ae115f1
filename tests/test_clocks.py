"""Time zones, summer time and clocks that jump: the same answers everywhere, the order kept, and nothing lost."""

import os
import re
import time
from datetime import UTC, datetime, timedelta

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.integrations import TieredStore
from langmem_tiers.storage import purging
from langmem_tiers.testing import FrozenClock, HashEmbedder

ZONES = ("UTC", "Europe/Lisbon", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia")
# When clocks change, midnight in one zone and not in the other, and a day that Apia never had.
EDGES = (
    "2011-12-30T11:00:00",
    "2026-03-08T07:00:00",
    "2026-03-29T01:00:00",
    "2026-04-04T15:15:00",
    "2026-10-25T00:30:00",
    "2026-10-25T01:30:00",
    "2026-11-01T06:30:00",
    "2026-12-31T23:30:00",
    "2028-02-29T00:00:00",
)
TOWNS = ("Porto", "Graz", "Turin", "Ghent", "Oslo")
HOUR = 3600
YEARS = 3650 * 24 * HOUR


@pytest.fixture
def in_zone():
    """Sets the zone of this process, until the test is over."""
    before = os.environ.get("TZ")

    def use(zone):
        os.environ["TZ"] = zone
        time.tzset()

    yield use
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def opened(folder, clock):
    return Memory.open(folder, embedder=HashEmbedder(), background=False, clock=clock)


def shown_in(folder):
    """What a memory shows of messages around all edges, without the random ids."""
    clock = FrozenClock(datetime(2011, 12, 1, tzinfo=UTC))
    blocks, relations = [], []
    with opened(folder, clock) as memory:
        alice = memory.user("alice")
        for number, edge in enumerate(EDGES):
            clock.tick((datetime.fromisoformat(edge).replace(tzinfo=UTC) - clock()).total_seconds())
            said = (f"Yesterday I planted {number + 3} tulips.", f"I moved to {TOWNS[number % len(TOWNS)]} today.")
            alice.track([Turn(role="user", content=each) for each in said], session=f"s{number}")
            alice.mine()
            alice.flush()
            blocks.append(alice.recall("What did I plant yesterday?", session="asked").block)
        blocks.append(alice.recall("Where do I live?", session="asked again").block)
        for each in alice.graph.timeline("user").relations:
            relations.append((str(each), each.period.start, each.period.end))
        drawers = [(each.said_at, each.recorded_at, each.content) for each in alice.drawers()]
    return [re.sub(r"\[(\w+) [a-f][0-9a-f]{11}\]", r"[\1]", each) for each in blocks], relations, drawers


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process cannot be set")
def test_in_every_zone_the_answers_are_the_same(tmp_path, in_zone):
    shown = {}
    for zone in ZONES:
        in_zone(zone)
        shown[zone] = shown_in(tmp_path / zone.replace("/", "-"))
    blocks, relations, _ = shown["UTC"]
    assert sum(bool(each) for each in blocks) > 8
    assert len(relations) > 8
    for zone in ZONES:
        assert shown[zone] == shown["UTC"], zone


def test_a_clock_that_jumps_keeps_the_order_in_which_things_were_said(memory, alice, clock):
    jumps = (0, -HOUR, YEARS, -YEARS, 7 * HOUR, -400 * 24 * HOUR, HOUR, -1, YEARS, -HOUR)
    said = []
    for number, jump in enumerate(jumps * 2):
        clock.tick(jump)
        said.append(f"Tulip {number} is red.")
        alice.track([Turn(role="user", content=said[-1], message_id=f"m{number}")], session=f"s{number % 2}")
        alice.identity.write(f"Tulip {number}")
        alice.documents.write("tulips.md", f"Tulip {number}")
        alice.flush()
    drawers = alice.drawers()
    assert [each.content for each in drawers] == said
    assert [each.number for each in drawers] == sorted({each.number for each in drawers})
    assert len({each.pointer for each in drawers}) == len(said)
    assert [each.content for each in alice.drawers(session="s1")] == said[1::2]
    assert (alice.identity.read().text, alice.documents.read("tulips.md").content) == ("Tulip 19", "Tulip 19")
    versions = [each.version for each in alice.identity.history(limit=100)]
    assert versions == sorted(versions, reverse=True)
    assert [each.message for each in alice.doctor() if each.level == "problem"] == []


def everything_that_expires(memory):
    """What is there of each kind that has a time to live."""
    alice = memory.user("alice")
    item = TieredStore(memory).get(("alice", "shelf"), "k")
    return (
        [each.summary for each in alice.archive.recent(10)],
        [each.entry.content for each in alice.knowledge.search()],
        [each.key for each in alice.working.list()],
        item and item.value,
        [each.content for each in alice.drawers()],
        [each.status for each in alice.dreams()],
    )


@pytest.fixture
def perishable(tmp_path, clock):
    """A memory of things that have a time to live, reopened with its clock wherever it then stands."""
    with opened(tmp_path / "memory", clock) as memory:
        alice = memory.user("alice")
        alice.track([Turn(role="assistant", content="There are 30 tulips in the garden.")], session="s")
        alice.archive.write("s", summary="Tulips were planted.")
        alice.knowledge.save("The tulips are red.", expires_at=clock() + timedelta(days=30))
        alice.knowledge.save("The tulips are red!", expires_at=clock() + timedelta(days=30))
        alice.working.save("session/s/bed", "The bed by the wall.", ttl_minutes=600)
        alice.dream()
        TieredStore(memory).put(("alice", "shelf"), "k", {"bulbs": 30}, ttl=3 * 24 * 60)
        alice.flush()
        return tmp_path / "memory"


def looked_at(folder, clock):
    """What is there once all work that is due has been done."""
    with opened(folder, clock) as memory:
        memory.flush()
        memory.user("alice").recall("Where are the tulips?", session="asked")
        memory.flush()
        return everything_that_expires(memory)


def test_a_clock_that_is_ten_years_ahead_for_some_hours_makes_nothing_expire(perishable, clock):
    before = looked_at(perishable, clock)
    for ahead in (YEARS, 2 * YEARS):
        clock.tick(ahead)
        looked_at(perishable, clock)
        clock.tick(HOUR * 20)
        looked_at(perishable, clock)
        clock.tick(-ahead - HOUR * 20 + 60)
        assert looked_at(perishable, clock) == before


@pytest.mark.parametrize("ended", [False, True], ids=["paused", "ended"])
def test_what_was_said_while_the_clock_was_ten_years_ahead_is_looked_at_once_it_is_set_right(
    memory, alice, clock, ended
):
    clock.tick(YEARS)
    alice.track([Turn(role="user", content="I live in Oslo.")], session="s")
    if ended:
        alice.end_session("s")
    clock.tick(HOUR - YEARS)
    assert memory.flush()
    assert {each.kind for each in alice.knowledge.activity()} == {"memory_mined", "memory_archived"}


def test_what_was_deleted_while_the_clock_was_ten_years_ahead_is_erased_once_it_is_set_right(memory, alice, clock):
    clock.tick(YEARS)
    alice.documents.write("tulips.md", "The tulips are red.")
    alice.documents.delete("tulips.md")
    clock.tick(HOUR - YEARS)
    assert memory.flush()
    with memory.use("users/alice") as store, store.reading() as connection:
        assert not purging.is_pending(connection, store.key)


def test_after_ten_years_everything_has_expired_within_a_day(perishable, clock):
    for passing in (YEARS, 25 * HOUR, 0):
        clock.tick(passing)
        with opened(perishable, clock) as memory:
            memory.flush()
    clock.tick(-YEARS - 25 * HOUR)
    summaries, known, working, item, said, _ = looked_at(perishable, clock)
    assert (summaries, known, working, item) == ([], [], [], None)
    assert said == ["There are 30 tulips in the garden."]
