"""Stays within the time of another value, dates that are said later, and what is single at both ends."""

from itertools import permutations

import pytest

from langmem_tiers.errors import InvalidPeriod


@pytest.fixture
def graph(memory):
    return memory.user("nora").graph


def homes(graph, **when):
    return [each.target for each in graph.neighbours("Anna", predicates=["lives in"], **when).relations]


def line(graph, name="Anna"):
    return [
        (each.target, *(at and at.year for at in (each.period.start, each.period.end)))
        for each in graph.timeline(name).relations
    ]


STAYS = (("Lisbon", "2015", None), ("Faro", "2017", "2018")), (("Lisbon", "2010", "2020"), ("Faro", "2017", "2018"))


@pytest.mark.parametrize("said", [order for each in STAYS for order in permutations(each)])
def test_a_stay_within_a_longer_one_does_not_end_it(graph, said):
    for town, since, until in said:
        graph.add_relation("Anna", "lives in", town, valid_from=since, valid_to=until)
    found = [homes(graph, as_of=moment) for moment in ("2016-05", "2017-05", "2018-05", "2019-12-31")]
    assert found == [["Lisbon"], ["Faro"], ["Lisbon"], ["Lisbon"]]
    assert sorted(homes(graph, as_of="2018")) == ["Lisbon"]
    assert not graph.neighbours("Lisbon", as_of="2017-05").relations
    assert [each[0] for each in line(graph)] == ["Lisbon", "Faro"]


def test_a_stay_lies_within_what_began_with_it_also_where_that_ended_as_soon(graph):
    graph.add_relation("Anna", "lives in", "Faro", valid_from="2024-01-09", valid_to="2024-01-10")
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2024-01-09")
    graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-01-10")
    assert homes(graph, as_of="2024-01-09") == ["Faro"]
    assert homes(graph, as_of="2024-01-10") == ["Porto"]


def test_what_was_believed_of_stays_is_answered_alike_later(graph, memory, clock):
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2015")
    faro = graph.add_relation("Anna", "lives in", "Faro", valid_from="2017", valid_to="2018").relation
    then = clock()
    clock.tick(60)
    graph.withdraw_relation(faro.id)
    assert homes(graph, as_of="2017-05") == ["Lisbon"]
    assert homes(graph, as_of="2017-05", known_at=then) == ["Faro"]
    assert graph.networkx(as_of="2017-05", known_at=then).number_of_edges() == 1


def test_an_undated_home_holds_beside_a_past_one(graph):
    graph.add_relation("Anna", "lives in", "Lisbon")
    graph.add_relation("Anna", "lives in", "Faro", valid_to="2018")
    assert (homes(graph, as_of="2017"), homes(graph)) == (["Faro"], ["Lisbon"])


def test_a_change_at_the_end_of_a_stay_is_no_return(graph):
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2015")
    graph.add_relation("Anna", "lives in", "Faro", valid_from="2017", valid_to="2018")
    graph.add_relation("Anna", "lives in", "Porto", valid_from="2018")
    assert line(graph) == [("Lisbon", 2015, 2017), ("Faro", 2017, 2018), ("Porto", 2018, None)]


def test_what_is_ended_later_brings_nothing_back(graph):
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2015")
    faro = graph.add_relation("Anna", "lives in", "Faro", valid_from="2017").relation
    graph.end_relation(faro.id, "2018")
    assert line(graph) == [("Lisbon", 2015, 2017), ("Faro", 2017, 2018)]


def test_a_date_that_is_said_later_is_kept(graph):
    for since in ("2010", None, "2019"):
        landed = graph.add_relation("Anna", "lives in", "Faro" if since == "2010" else "Porto", valid_from=since)
    assert landed.outcome == "moved"
    assert line(graph) == [("Faro", 2010, 2019), ("Porto", 2019, None)]


def test_what_had_ended_and_is_said_still_to_hold_holds(graph):
    graph.add_relation("Anna", "lives in", "Faro", valid_from="2019", valid_to="2023")
    assert graph.add_relation("Anna", "lives in", "Faro", valid_from="2022").outcome == "moved"
    assert line(graph) == [("Faro", 2019, None)]


def test_an_end_behind_the_next_one_is_refused(graph):
    faro = graph.add_relation("Anna", "lives in", "Faro", valid_from="2019").relation
    graph.add_relation("Anna", "lives in", "Porto", valid_from="2024")
    with pytest.raises(InvalidPeriod, match="Porto"):
        graph.end_relation(faro.id, "2025")


def test_known_at_answers_with_those_as_one_who_were_merged_then(graph, clock):
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021")
    graph.add_relation("Annie", "lives in", "Porto", valid_from="2024")
    apart = clock()
    clock.tick(60)
    merge = graph.merge("Annie", "Anna", reason="one")
    one = clock()
    clock.tick(60)
    assert (homes(graph, known_at=apart), homes(graph)) == (["Lisbon"], ["Porto"])
    graph.unmerge(merge.id)
    assert (homes(graph, known_at=one), homes(graph)) == (["Porto"], ["Lisbon"])


def test_a_marriage_ends_the_one_before_of_either(graph):
    graph.add_relation("Tom", "married to", "Clara", valid_from="2010")
    clara = graph.add_relation("Clara", "married to", "Paul", valid_from="2020").relation
    assert [str(each) for each in graph.neighbours("Clara").relations] == ["Clara married_to Paul"]
    assert not graph.neighbours("Tom").relations
    graph.delete_relation(clara.id)
    assert [str(each) for each in graph.neighbours("Tom").relations] == ["Tom married_to Clara"]
