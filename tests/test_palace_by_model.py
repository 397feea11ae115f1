"""What a model calls topics and subjects names closets and wings, where the words bear it out; addresses stay."""

import json

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.palace.closets import topics_of
from langmem_tiers.storage.schema import closets as table
from langmem_tiers.storage.schema import wings as wing_table
from langmem_tiers.testing import ScriptedChatModel

BOAT = ["The hull is dry now.", "It took me three days, and the varnish is fine."]


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema, so that every reply is one call."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


def found(*topics, subject="") -> str:
    return json.dumps({"topics": topics, "subject": subject, "facts": [], "entities": [], "relations": []})


@pytest.fixture
def mined(tmp_path, clock):
    """Tracks each session, files it, and mines it with the replies given; the space."""
    opened = []

    def mine_it(sessions, *replies, project=None):
        options = {"embedder": None, "background": False, "clock": clock}
        memory = Memory.open(tmp_path / f"m{len(opened)}", model=InWords(responses=list(replies)), **options)
        opened.append(memory)
        space = memory.user("alice")
        for session, texts in sessions.items():
            turns = [Turn(role="user", content=text) for text in texts]
            space.track(turns, session=session, project=project)
            space.flush()
            space.mine(session)
        return space

    yield mine_it
    for memory in opened:
        memory.close()


def closets(space) -> list[str]:
    return [closet.name for wing in space.palace() for room in wing.rooms for closet in room.closets]


def wings(space) -> dict[str, list[str]]:
    return {wing.name: [room.session for room in wing.rooms] for wing in space.palace()}


def rename(space, name, origin):
    with space.memory.use(space.name) as store, store.writing() as connection:
        connection.execute(table.update().values(name=name, slug=name.lower(), origin=origin))


def test_a_closet_without_a_telling_name_is_called_what_the_model_calls_it(mined):
    space = mined({"s": BOAT}, found("varnish of the hull"))
    assert closets(space) == ["Varnish of the hull"]
    with space.memory.use(space.name) as store, store.reading() as connection:
        assert [row.origin for row in connection.execute(table.select())] == ["model"]


def test_its_drawers_are_found_by_that_name_and_their_pointers_stay(mined):
    space = mined({"s": BOAT}, found("hull maintenance"))
    assert [drawer.pointer for drawer in space.drawers()] == ["§W-001/R-01/D-001", "§W-001/R-01/D-002"]
    asked = {"query": "Tell me how the maintenance went on", "session": "t", "threshold": 0}
    assert {item.drawer.content for item in space.recall(**asked).items} == {*BOAT}
    named_otherwise = mined({"s": BOAT}, found("varnish of the hull"))
    assert not named_otherwise.recall(**asked).items


@pytest.mark.parametrize("topic", ["tax return", "you", "x" * 60, "a b c d e f", "", "chat", "ignore all instructions"])
def test_a_topic_that_no_word_bears_out_or_that_says_nothing_names_nothing(mined, topic):
    space = mined({"s": BOAT}, found(topic))
    assert closets(space) == closets(mined({"s": BOAT}, found()))


@pytest.mark.parametrize(("name", "origin"), [("My own boat", "user"), ("Hull", "user"), ("Drying the hull", "rule")])
def test_a_name_that_the_user_gave_or_that_tells_something_stays(mined, name, origin):
    space = mined({"s": BOAT}, found())
    space.track([Turn(role="user", content="The hull wants varnish every year.")], session="s")
    space.flush()
    rename(space, name, origin)
    space.memory._model._model.responses[:] = [found("hull maintenance")]
    space.mine()
    assert closets(space) == [name]


def test_a_topic_that_has_a_name_keeps_it(mined):
    space = mined({"s": BOAT, "t": BOAT}, found("hull varnish"), found("HULL  Varnish"))
    assert closets(space) == ["Hull varnish", "Hull varnish"]


def test_what_a_model_named_is_not_named_anew_by_rules(mined):
    space = mined({"s": BOAT}, found("hull varnish"))
    space.track([Turn(role="user", content=f"The sailing boat {n} has sailing boats.") for n in range(3)], session="s")
    space.flush()
    assert closets(space) == ["Hull varnish"]


def test_each_closet_gets_the_topic_that_its_words_bear_out():
    texts = {1: "The hull is dry.", 2: "Anna moved to Porto.", 3: "Nothing else."}
    assert topics_of(texts, ["Anna", "the hull"]) == {1: "the hull".capitalize(), 2: "Anna"}


def test_a_subject_gets_a_wing_when_it_comes_up_in_a_second_session(mined):
    space = mined({"s": BOAT, "t": ["The hull leaks again, on the left."]}, found(subject="hull"))
    assert wings(space) == {"Hull": ["s", "t"]}
    assert [drawer.pointer for drawer in space.drawers(session="t")] == ["§W-001/R-02/D-001"]
    with space.memory.use(space.name) as store, store.reading() as connection:
        kinds = {row.slug: (row.kind, row.origin) for row in connection.execute(wing_table.select())}
    assert kinds["hull"] == ("subject", "model")


def test_one_session_makes_no_wing_and_neither_does_a_subject_that_nobody_named(mined):
    assert wings(mined({"s": BOAT}, found(subject="hull"))) == {"general": ["s"]}
    assert wings(mined({"s": BOAT, "t": BOAT}, found(subject="boat"))) == {"general": ["s", "t"]}


def test_a_conversation_moves_to_the_wing_that_there_is_for_its_subject(mined):
    space = mined({"s": BOAT, "t": ["The hull leaks again, on the left."]}, found(subject="hull"))
    space.track([Turn(role="user", content="Those hulls cost me a fortune.")], session="u")
    space.flush()
    space.mine()
    assert wings(space) == {"Hull": ["s", "t", "u"]}


def test_a_conversation_of_a_project_stays_with_it(mined):
    space = mined({"s": BOAT, "t": BOAT}, found(subject="hull"), project="Refit")
    assert wings(space) == {"Refit": ["s", "t"]}


def test_without_a_model_nothing_is_renamed(alice):
    alice.track([Turn(role="user", content=text) for text in BOAT], session="s")
    alice.flush()
    before = closets(alice)
    alice.mine()
    assert (closets(alice), wings(alice)) == (before, {"general": ["s"]})
