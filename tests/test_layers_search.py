"""One search over identity, knowledge and archive, or over one of them."""

from datetime import timedelta

import pytest

from langmem_tiers.errors import InvalidInput, NaiveDatetime
from langmem_tiers.integrations.tools import space_tools
from tests.tasking import archived


@pytest.fixture
def filled(alice, clock):
    """Something about robots in each layer, and something else."""
    alice.identity.add("Builds robots.", section="Work")
    alice.identity.add("Speaks German.", section="Languages")
    alice.knowledge.save("The robot has a new battery.")
    alice.knowledge.save("The user prefers tea.")
    clock.tick(3600)
    archived(alice, "wheel", "The wheel of the robot was broken and is mended now.")
    alice.flush()
    return alice


def layers(found) -> list[str]:
    return [each.layer for each in found]


def test_a_search_looks_into_all_layers_and_says_where_it_found_something(filled):
    found = filled.search("robot")
    assert sorted(layers(found)) == ["L0", "L1", "L2"]
    by_layer = {each.layer: each for each in found}
    assert by_layer["L0"].text == "Builds robots."
    assert by_layer["L1"].entry.content == by_layer["L1"].text == "The robot has a new battery."
    assert (by_layer["L2"].episode.task, by_layer["L2"].id) == ("wheel", by_layer["L2"].episode.id)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.parametrize("layer", ["L0", "L1", "L2"])
def test_it_can_be_about_one_layer(filled, layer):
    assert layers(filled.search("robot", layer=layer)) == [layer]


def test_without_a_query_the_newest_of_each_come_layer_by_layer(filled):
    assert layers(filled.search()) == ["L0", "L0", "L1", "L1", "L2"]
    assert len(filled.search(limit=2)) == 2


def test_dates_leave_out_what_was_before_and_what_has_none(filled, clock):
    assert layers(filled.search("robot", since=clock() - timedelta(minutes=1))) == ["L2"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"layer": "L3"}, InvalidInput),
        ({"query": 7}, InvalidInput),
        ({"limit": 0}, InvalidInput),
        ({"since": "yesterday"}, InvalidInput),
    ],
)
def test_what_can_not_be_used_is_a_named_error(filled, arguments, error):
    with pytest.raises((error, NaiveDatetime)):
        filled.search(**arguments)


async def test_the_twin_gives_the_same(filled):
    assert await filled.asearch("robot", layer="L1") == filled.search("robot", layer="L1")


@pytest.mark.parametrize(
    ("layer", "shown"), [("l0", "Builds robots."), ("L1", "new battery"), ("L2", "is mended now"), ("", "new battery")]
)
def test_the_tool_searches_the_layer_that_is_asked_for(filled, layer, shown):
    tool = next(each for each in space_tools(filled) if each.name == "search_memory")
    told = tool.invoke({"query": "robot", "layer": layer})
    assert shown in told
    assert sum(words in told for words in ("Builds robots.", "new battery", "is mended now")) == 1


def test_the_tool_says_where_a_layer_holds_nothing(alice):
    tool = next(each for each in space_tools(alice) if each.name == "search_memory")
    assert tool.invoke({"query": "robot", "layer": "L2"}).startswith("Nothing in L2 fits.")
