"""The palace: sessions are rooms, subjects wings, topics closets, and every drawer has an address for ever."""

import pytest

from langmem_tiers import Turn
from langmem_tiers.errors import InvalidPointer

SAILING = [
    "I am restoring an old wooden sailing boat this spring.",
    "The boat's mast needs new varnish and the sails are torn.",
    "We sail the boat from the harbour on Sundays.",
    "The varnish on the boat's hull takes three days to dry.",
    "New sails for the boat cost more than the mast.",
]
BREAD = [
    "By the way, my sourdough bread never rises in the oven.",
    "I feed the sourdough starter with rye flour every morning.",
    "The bread dough is too wet and the crust stays pale.",
]


def user(content, **fields) -> Turn:
    return Turn(role="user", content=content, **fields)


def wings(space) -> dict[str, list[str]]:
    return {wing.name: [room.session for room in wing.rooms] for wing in space.palace()}


def closets(space) -> list[list[str]]:
    (wing,) = space.palace()
    (room,) = wing.rooms
    return [[drawer.content for drawer in closet.drawers] for closet in room.closets]


# Rooms and pointers


def test_every_session_is_a_room_and_every_turn_a_drawer_in_it(alice):
    alice.track([user("I keep two cats."), user("They are called Ada and Bob.")], session="monday")
    alice.track([user("One cat is ill.")], session="tuesday")
    (wing,) = alice.palace()
    assert [(room.session, room.pointer) for room in wing.rooms] == [
        ("monday", "§W-001/R-01"),
        ("tuesday", "§W-001/R-02"),
    ]
    assert [drawer.pointer for drawer in alice.drawers()] == [
        "§W-001/R-01/D-001",
        "§W-001/R-01/D-002",
        "§W-001/R-02/D-001",
    ]


def test_the_palace_holds_every_drawer_once_in_the_order_it_was_said(memory, alice):
    alice.track([user(text) for text in SAILING], session="monday", project="Boat")
    alice.track([user(text) for text in BREAD], session="tuesday")
    alice.track([user("The mast is up.")], session="monday")
    memory.flush()
    held = [d for wing in alice.palace() for room in wing.rooms for closet in room.closets for d in closet.drawers]
    assert sorted(held, key=lambda drawer: drawer.number) == list(alice.drawers())
    assert [drawer.content for drawer in held if drawer.session == "monday"] == [*SAILING, "The mast is up."]


def test_pointers_stay_when_a_session_goes_on_and_when_others_come_between(memory, alice):
    alice.track([user("I keep two cats.")], session="monday")
    before = {drawer.pointer: drawer.content for drawer in alice.drawers()}
    alice.track([user("A dog came.")], session="tuesday")
    alice.track([user("The cats fled.")], session="monday")
    memory.flush()
    assert {pointer: alice.drawer(pointer).content for pointer in before} == before
    assert alice.drawer("§W-001/R-01/D-002").content == "The cats fled."


@pytest.mark.parametrize(
    "spelling",
    ["§W-001/R-01/D-002", "W-1/R-1/D-2", "w-001/r-1/d-02", " § W-1/R-01/D-002 ", "W‑1/R–1/D-2", "2", " 2 ", 2],
)
def test_a_drawer_is_found_under_each_spelling_of_its_address(alice, spelling):
    alice.track([user("I keep two cats."), user("They are called Ada and Bob.")], session="monday")
    assert alice.drawer(spelling).content == "They are called Ada and Bob."


@pytest.mark.parametrize("which", ["§W-009/R-01/D-001", "W-1/R-1/D-99", 99, 0, -1, "0", 10**30, "9" * 18])
def test_an_address_where_nothing_is_gives_none(alice, which):
    alice.track([user("I keep two cats.")], session="monday")
    assert alice.drawer(which) is None


@pytest.mark.parametrize(
    "which", ["", "cats", "W-1", "W-1/R-1", "§W-x/R-1/D-1", "1.5", "-1", "²", "W-1/R-1/D-1; DROP", "9" * 5000]
)
def test_a_text_that_is_no_address_is_refused(alice, which):
    with pytest.raises(InvalidPointer):
        alice.drawer(which)


def test_spaces_know_nothing_of_each_other(memory, alice):
    alice.track([user("I keep two cats.")], session="monday", project="Cats")
    bob = memory.user("bob")
    assert (bob.drawers(), bob.palace(), bob.sessions(), bob.drawer(1)) == ((), (), (), None)


# Wings


def test_projects_and_agents_are_wings_and_everything_else_is_general(alice):
    alice.track([user("The motor is loud.")], session="a", project="Efoil rebuild")
    alice.track([user("Deploy it now.")], session="b", agent="ops")
    alice.track([user("I like tea.")], session="c", agent="default")
    assert wings(alice) == {"Efoil rebuild": ["a"], "ops": ["b"], "general": ["c"]}
    assert {wing.name: wing.kind for wing in alice.palace()} == {
        "Efoil rebuild": "project",
        "ops": "agent",
        "general": "general",
    }


@pytest.mark.parametrize("same", ["efoil  Rebuild", "EFOIL REBUILD", "the Efoil rebuilds", " Efoil-rebuild "])
def test_a_project_by_another_spelling_is_the_same_wing(alice, same):
    alice.track([user("The motor is loud.")], session="a", project="Efoil rebuild")
    alice.track([user("The motor is quiet.")], session="b", project=same)
    assert wings(alice) == {"Efoil rebuild": ["a", "b"]}


def test_a_session_that_speaks_of_a_known_project_is_filed_there(alice):
    alice.track([user("The motor is loud.")], session="a", project="Efoil rebuild")
    alice.track([user("Today the efoil rebuild went well.")], session="b")
    assert wings(alice) == {"Efoil rebuild": ["a", "b"]}


def test_a_name_that_keeps_coming_up_gets_a_wing_and_old_pointers_still_resolve(memory, alice):
    first = ["Yesterday I met Derek at the harbour.", "I think Derek sails every day."]
    alice.track([user(text) for text in first], session="a")
    memory.flush()
    before = {drawer.pointer: drawer.content for drawer in alice.drawers()}
    assert wings(alice) == {"general": ["a"]}
    alice.track([user("Later on Derek sold the boat."), user("So Derek is sad.")], session="b")
    memory.flush()
    assert wings(alice) == {"Derek": ["a", "b"]}
    assert {pointer: alice.drawer(pointer).content for pointer in before} == before
    assert alice.drawer(1).wing == "Derek"


def test_a_session_filed_by_project_is_not_moved_by_names(memory, alice):
    alice.track([user("We saw Derek."), user("I know Derek well.")], session="a", project="Boat")
    alice.track([user("Then Derek left."), user("And so Derek is gone.")], session="b", project="Boat")
    memory.flush()
    assert wings(alice) == {"Boat": ["a", "b"]}


# Closets


def test_a_room_is_split_into_closets_where_the_topic_shifts(memory, alice):
    alice.track([user(text) for text in SAILING + BREAD], session="monday")
    memory.flush()
    assert closets(alice) == [SAILING, BREAD]
    assert all(drawer.closet for drawer in alice.drawers())


def test_closets_are_the_same_whether_turns_come_at_once_or_one_by_one(memory, alice):
    for text in SAILING + BREAD:
        alice.track([user(text)], session="monday")
        memory.flush()
    assert closets(alice) == [SAILING, BREAD]


def test_the_topic_of_a_closet_is_found_by_its_name_though_a_drawer_does_not_say_it(memory, alice):
    alice.track([user(text) for text in SAILING], session="monday", project="Windhover")
    memory.flush()
    found = alice.recall("What about the Windhover project?", session="t", threshold=0).receipt.candidates
    assert {candidate.drawer for candidate in found if candidate.scores.get("keyword")} == {1, 2, 3, 4, 5}


def found_by_words(space, query):
    """The drawers that hold a word of the query, in what was said or in the name of their place."""
    candidates = space.recall(query, session="t", threshold=0).receipt.candidates
    return {candidate.drawer for candidate in candidates if candidate.scores.get("keyword")}


def test_an_edit_that_is_taken_back_is_found_by_the_names_of_its_place_again(memory, alice):
    alice.track([user(text, message_id=text) for text in SAILING], session="monday", project="Windhover")
    memory.flush()
    alice.track([user("It rained.", message_id=SAILING[1])], session="monday")
    memory.flush()
    assert found_by_words(alice, "What about the Windhover?") == {1, 3, 4, 5, 6}
    alice.track([user(SAILING[1], message_id=SAILING[1])], session="monday")
    for place in ("Windhover", "wooden one"):
        assert 2 in found_by_words(alice, f"What about the {place}?")
    memory.flush()
    assert found_by_words(alice, "What about the Windhover?") == {1, 2, 3, 4, 5}


def test_an_edit_taken_back_after_its_room_has_moved_is_found_by_the_new_wing(memory, alice):
    alice.track([user("The sea was calm.", message_id="1"), user("Yesterday I met Derek.")], session="a")
    alice.track([user("The sea was rough.", message_id="1"), user("I think Derek sails.")], session="a")
    alice.track([user("Later on Derek sold the boat.")], session="b")
    memory.flush()
    assert wings(alice) == {"Derek": ["a", "b"]}
    alice.track([user("The sea was calm.", message_id="1")], session="a")
    assert 1 in found_by_words(alice, "What about Derek?")


# Tags


def test_people_places_and_times_are_tagged_and_found_by(alice):
    alice.track([user("I flew to Lisbon with my sister Anna", speaker="Judith")], session="monday")
    assert {"@p judith", "@p anna", "@l lisbon"} <= set(alice.drawer(1).tags)
    assert [item.drawer.number for item in alice.recall("What did Judith do?", session="t").items] == [1]


# Sessions


def session(space, name):
    return next(each for each in space.sessions() if each.session == name)


def test_a_session_ends_after_an_idle_hour_and_a_later_turn_opens_it_again(alice, clock):
    alice.track([user("hello")], session="s")
    clock.tick(59 * 60)
    assert not session(alice, "s").ended
    clock.tick(60)
    assert session(alice, "s").ended
    alice.track([user("me again")], session="s")
    assert not session(alice, "s").ended


def test_a_session_that_was_ended_has_ended_until_something_is_said_in_it(alice):
    alice.track([user("hello")], session="s")
    position = alice.stats().log_position
    alice.end_session("s")
    alice.end_session("s")
    alice.end_session("unheard of")
    assert session(alice, "s").ended
    assert alice.stats().log_position == position + 1
    alice.track([user("me again")], session="s")
    assert not session(alice, "s").ended


def test_a_session_knows_its_project_agent_wing_and_dates(alice, clock):
    alice.track([user("hello")], session="s", project="Boat", agent="ops")
    opened = clock()
    alice.track([user("bye", said_at=clock.tick(60))], session="s")
    found = session(alice, "s")
    assert (found.project, found.agent, found.wing, found.room) == ("Boat", "ops", "Boat", 1)
    assert (found.opened_at, found.last_at, found.turns) == (opened, clock(), 2)


def test_a_message_is_named_and_shown_whole_behind_a_nul(memory, alice):
    alice.track([user("NUL\x00 came out of the scanner for the wooden sailing boat.")], session="monday")
    memory.flush()
    (drawer,) = alice.drawers()
    (preview,) = alice.browse.drawers(1)
    assert "sailing boat" in preview.beginning
    assert preview.characters == len(drawer.content)
    assert drawer.closet.casefold().endswith("boat")


def test_what_is_over_by_words_behind_a_nul_is_shown_with_them(alice, clock):
    alice.track([user("I work at Kettleworks.")], session="monday")
    clock.tick(90_000)
    alice.track([user("The scanner broke\x00 again. I quit Kettleworks.")], session="tuesday")
    alice.mine()
    alice.flush()
    first, _ = alice.drawers()
    assert "I quit Kettleworks" in alice.ended([first])[first.number][0]
