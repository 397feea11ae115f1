"""The palace is looked through piece by piece: in order, with counts, and without reading what is not shown."""

import pytest

from langmem_tiers import Turn
from langmem_tiers.errors import InvalidInput
from langmem_tiers.palace.browse import Derived


def _say(space, session, *texts, project=None):
    space.track([Turn(role="user", content=text) for text in texts], session=session, project=project)


@pytest.fixture
def told(alice, clock):
    _say(alice, "monday", "My sister Anna lives in Lisbon.", "She likes tea.")
    clock.tick(60)
    _say(alice, "tuesday", *(f"Step {number} of the eFoil is done." for number in range(1, 8)), project="eFoil")
    clock.tick(60)
    _say(alice, "wednesday", "The eFoil flies.", project="eFoil")
    alice.flush()
    return alice


def test_wings_and_rooms_have_counts_and_the_last_used_comes_first(told):
    wings = told.browse.wings()
    assert [(wing.name, wing.rooms, wing.drawers) for wing in wings] == [("eFoil", 2, 8), ("general", 1, 2)]
    rooms = told.browse.rooms(wings[0].number)
    assert [(room.session, room.drawers, room.wing_name) for room in rooms] == [
        ("wednesday", 1, "eFoil"),
        ("tuesday", 7, "eFoil"),
    ]
    assert [room.session for room in told.browse.rooms()] == ["wednesday", "tuesday", "monday"]
    assert told.browse.room(rooms[0].number) == rooms[0]
    assert told.browse.room(999) is None


def test_pages_follow_each_other_without_gaps_or_repeats(told):
    pages, after = [], None
    while page := told.browse.rooms(after=after, limit=1):
        pages += page
        after = page[-1].number
    assert [room.session for room in pages] == ["wednesday", "tuesday", "monday"]
    tuesday = next(room for room in pages if room.session == "tuesday")
    seen, after = [], None
    while some := told.browse.drawers(tuesday.number, after=after, limit=3):
        seen += some
        after = some[-1].number
    assert [drawer.beginning for drawer in seen] == [f"Step {number} of the eFoil is done." for number in range(1, 8)]


def test_a_preview_has_the_pointer_the_tags_and_how_the_message_begins(told):
    monday = told.browse.rooms()[-1]
    first = told.browse.drawers(monday.number)[0]
    drawer = told.drawer(first.number)
    assert first.line == f"{drawer.pointer} {' '.join(drawer.tags)} · My sister Anna lives in Lisbon."
    assert (first.whole, first.characters, first.role) == (True, 31, "user")
    _say(told, "long", "word " * 300)
    long = told.browse.drawers(told.browse.rooms()[0].number)[0]
    assert not long.whole
    assert len(long.beginning) <= 160


def test_closets_hold_all_drawers_of_their_room(told):
    for room in told.browse.rooms():
        closets = told.browse.closets(room.number)
        held = [told.browse.drawers(room.number, closet=closet.number) for closet in closets]
        assert [len(each) for each in held] == [closet.drawers for closet in closets]
        assert sum(map(len, held)) == room.drawers


def test_what_came_of_a_drawer_and_what_is_beside_it(told):
    monday = told.browse.rooms()[-1]
    first, second = told.browse.drawers(monday.number)
    told.end_session("monday")
    told.mine()
    told.flush()
    entry = told.knowledge.save("The user's sister is Anna.", evidence=[first.number]).entry
    derived = told.browse.derived(first.number)
    assert entry.id in {each.id for each in derived.entries}
    assert {each.name for each in derived.entities} >= {"Anna"}
    assert derived.relations
    assert [each.session for each in derived.episodes] == ["monday"]
    assert told.browse.derived(999) == Derived()
    assert told.browse.beside(first.number) == (None, second)
    assert told.browse.beside(second.number) == (first, None)
    assert told.browse.room_of(second.number) == monday
    assert told.browse.room_of(999) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda browse: browse.rooms(limit=0),
        lambda browse: browse.rooms("x"),
        lambda browse: browse.drawers(1, limit=1_001),
        lambda browse: browse.closets(None),
        lambda browse: browse.derived("x"),
    ],
)
def test_what_is_no_number_is_refused(told, call):
    with pytest.raises(InvalidInput):
        call(told.browse)
