"""Which messages and entries a call of `forget` means, and what it refuses."""

import pytest

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import EmbeddingUnavailable, InvalidInput
from langmem_tiers.testing import HashEmbedder


@pytest.fixture
def space(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=None, background=False) as memory:
        yield memory.user("alice")


def _say(space, session, *texts):
    space.track([Turn(role="user", content=text) for text in texts], session=session)


def _found(space, **selection):
    return [each.text for each in space.forget(**selection).drawers]


@pytest.mark.parametrize(
    ("name", "about", "other"),
    [
        ("Mark Young", "My colleague Mark Young has a boat.", "Mark the date of my dentist. Young trees need water."),
        ("Uncle Bob", "Uncle Bob and Uncle Jim came.", "Uncle Jim sings."),
        ("Dr. Grace Hill", "I saw Dr. Grace Hill.", "Dr. Okafor is in. Hill walks are what I like."),
    ],
)
def test_titles_kin_and_ordinary_words_in_a_name_mean_nobody_by_themselves(space, name, about, other):
    _say(space, "s", about, other)
    space.documents.write("notes.md", f"{other}\n\nI met {name}.\n")
    space.graph.add_entity(name, type="person")
    assert _found(space, person=name) == [about]
    space.forget(person=name, confirm=True)
    assert space.documents.read("notes.md").content.strip() == other


def test_a_part_of_a_name_counts_where_the_session_has_it_in_full(space):
    _say(space, "monday", "My neighbour Tobias Wexler has a boat.", "Tobias sails on Sundays.")
    _say(space, "tuesday", "Tobias is a book in the Bible.")
    space.graph.add_entity("Tobias Wexler", type="person")
    full, part = space.forget(person="Tobias Wexler").drawers
    assert (full.text, part.text) == ("My neighbour Tobias Wexler has a boat.", "Tobias sails on Sundays.")
    assert "a part of the name" in part.why
    assert "a part of the name" not in full.why


def test_a_part_of_a_name_counts_where_the_graph_knows_who_is_meant(space):
    _say(space, "monday", "My neighbour Tobias Wexler has a boat.")
    _say(space, "tuesday", "Tobias sails on Sundays.")
    space.graph.add_entity("Tobias Wexler", type="person", evidence=[2])
    assert "Tobias sails on Sundays." in _found(space, person="Tobias Wexler")


def test_an_alias_counts_everywhere(space):
    _say(space, "monday", "My neighbour Tobias Wexler has a boat.")
    _say(space, "tuesday", "Toby sails on Sundays.")
    space.graph.add_entity("Tobias Wexler", type="person", aliases=["Toby"])
    assert "Toby sails on Sundays." in _found(space, person="Tobias Wexler")


@pytest.mark.parametrize(
    ("selection", "named"),
    [
        ({"entries": ["nope", "neither"]}, "neither, nope"),
        ({"session": "friday"}, "friday"),
        ({"project": "alps"}, "no wing"),
        ({"person": " "}, "not empty"),
        ({"query": ""}, "not empty"),
        ({"speaker": ""}, "not empty"),
    ],
)
def test_what_is_not_there_is_named_and_nothing_is_purged(space, selection, named):
    _say(space, "s", "I play the cello.")
    for confirm in (None, True):
        with pytest.raises(InvalidInput) as refused:
            space.forget(**selection, confirm=confirm)
        assert named in f"{refused.value} {refused.value.way_out}"


def test_a_wing_is_no_project(space):
    space.track([Turn(role="user", content="We climb in June.")], session="s", project="alps")
    _say(space, "t", "I play the cello.")
    assert _found(space, project=" alps ") == ["We climb in June."]
    (wing,) = {each.wing for each in space.drawers(session="t")}
    with pytest.raises(InvalidInput, match="no") as refused:
        space.forget(project=wing)
    assert "no wing" in refused.value.way_out


def test_where_nothing_is_found_nothing_is_purged(space):
    from langmem_tiers.storage import purging

    _say(space, "s", "I play the cello.")
    assert space.forget(query="zeppelin", confirm=True).bytes == "gone"
    with space.context.open() as store, store.reading() as connection:
        assert purging.wanted(connection, store.key) == 0


def test_an_id_that_several_sessions_have_needs_the_session(space):
    for session, text in (("monday", "I play the cello."), ("tuesday", "I am Ida.")):
        space.track([Turn(role="user", content=text, message_id="m1")], session=session)
    with pytest.raises(InvalidInput, match="several sessions"):
        space.forget(messages="m1")
    assert _found(space, messages="m1", session="tuesday") == ["I am Ida."]
    assert _found(space, messages="§W-001/R-01/D-001") == ["I play the cello."]


class Sleepy(HashEmbedder):
    """Embeds what is stored, but no question."""

    def embed_query(self, text):
        raise EmbeddingUnavailable("The provider is away.")


def test_a_query_whose_meaning_cannot_be_looked_up_is_an_error(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=Sleepy(), background=False) as memory:
        alice = memory.user("alice")
        _say(alice, "s", "I play the cello.")
        for _ in range(2):  # the second time it rests
            with pytest.raises(EmbeddingUnavailable) as told:
                alice.forget(query="cello", confirm=True)
            assert "embedder=None" in told.value.way_out
        assert len(alice.drawers()) == 1


class Same(HashEmbedder):
    """Takes all texts for the same."""

    def embed_documents(self, texts):
        return super().embed_documents(["the same"] * len(texts))

    def embed_query(self, text):
        return super().embed_query("the same")


def test_a_query_finds_all_that_is_near_enough(tmp_path):
    with Memory.open(tmp_path / "memory", embedder=Same(), background=False) as memory:
        alice = memory.user("alice")
        _say(alice, "s", *(f"I have seen {number} whales." for number in range(230)))
        for number in range(210):
            alice.knowledge.save(f"The user has {number} red balloons.", origin="user")
        memory.flush()
        preview = alice.forget(query="orca")
        assert (len(preview.drawers), len(preview.entries)) == (230, 210)
