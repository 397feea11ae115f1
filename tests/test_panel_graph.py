"""The graph in the panel: who and what is known at any time, corrected, ended, merged and parted by a person."""

import json

import pytest

from langmem_tiers import Turn
from langmem_tiers.knowledge_graph import network
from tests.paneling import Browser


@pytest.fixture
def graph(alice):
    """Anna, who moved, and who she knows."""
    alice.track([Turn(role="user", content="Anna moved to Porto in May 2024.")], session="monday")
    graph = alice.graph
    graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021", subject_type="person", object_type="place")
    graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05", object_type="place", evidence=[1])
    graph.add_relation("Anna", "works for", "Aster", valid_from="2020", object_type="organisation")
    graph.add_relation("Ben", "knows", "Anna", subject_type="person")
    return graph


@pytest.fixture
def browser(alice, graph):
    return Browser(alice)


def _id(graph, name):
    return graph.entity(name).id


def _relation(graph, target):
    return next(each.id for each in graph.timeline("Anna").relations if each.target == target)


def test_an_empty_graph_says_how_it_fills(alice):
    seen = Browser(alice).get("/graph")
    assert seen.status == 200
    assert "No people, places or things yet." in seen.text
    assert "relations add" in seen.text
    assert Browser(alice).get("/graph/entities").status == Browser(alice).get("/graph/duplicates").status == 200


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("", "since 2024-05", "2021"),
        ("?as_of=2022", "2021 – 2024-05", "since 2024-05"),
        ("?ever=1", "2021 – 2024-05", "None"),
    ],
)
def test_the_list_has_what_holds_at_the_time_asked_for(browser, query, there, not_there):
    listed = browser.get(f"/graph{query}").text.partition("Relations")[2]
    assert there in listed
    assert not_there not in listed


def test_the_picture_gets_the_same_with_the_spans_of_each_relation(browser, graph):
    data = json.loads(browser.get("/graph/data").html)
    names = {each["id"]: each["name"] for each in data["nodes"]}
    assert set(names.values()) == {"Anna", "Ben", "Lisbon", "Porto", "Aster"}
    moved = {names[each["target"]]: each["spans"] for each in data["links"] if each["words"] == "lives in"}
    assert moved["Lisbon"][0][1] == moved["Porto"][0][0]
    assert moved["Porto"][0][1] is None
    assert all(each["size"] > 0 for each in data["nodes"])


def test_a_stay_within_another_time_is_cut_out_of_its_span(alice, graph):
    graph.add_relation("Ben", "lives in", "Faro", valid_from="2010")
    graph.add_relation("Ben", "lives in", "Oslo", valid_from="2015", valid_to="2016")
    part = network.around(alice.context, "Ben", most=10)
    links = {part.nodes[[node.id for node in part.nodes].index(each.target)].name: each for each in part.links}
    first, behind = links["Oslo"].spans[0]
    assert links["Faro"].spans == ((links["Faro"].spans[0][0], first), (behind, None))
    assert not links["Faro"].holds(first, behind)


def test_the_picture_is_bounded_and_says_of_how_many_it_shows_the_best_connected(alice):
    graph = alice.graph
    for number in range(70):
        graph.add_relation("Hub", "knows", f"Guest {number}")
    browser = Browser(alice)
    assert "The 60 best connected of 71 entities." in browser.get("/graph").text
    assert "All 71 entities" in browser.get("/graph?show=120").text
    data = json.loads(browser.get("/graph/data?show=100000").html)
    assert (len(data["nodes"]), data["total"]) == (71, 71)
    around = json.loads(browser.get(f"/graph/data?around={_id(graph, 'Hub')}&show=1000").html)
    assert len(around["nodes"]) == 41


def test_an_entity_shows_everything_that_ever_held_with_links_to_the_messages(browser, graph):
    seen = browser.get(f"/graph/entities/{_id(graph, 'Anna')}")
    order = [seen.text.index(each) for each in ("works at Aster", "lives in Lisbon", "lives in Porto")]
    assert order == sorted(order)
    assert "/palace/drawers/1" in seen.links
    assert f"/graph/entities/{_id(graph, 'Ben')}" in seen.links


def test_a_long_timeline_says_what_it_leaves_out_and_shows_all_when_asked(alice):
    for number in range(205):
        alice.graph.add_relation("Hub", "knows", f"Guest {number}", valid_from="2020")
    browser, hub = Browser(alice), alice.graph.entity("Hub").id
    seen = browser.get(f"/graph/entities/{hub}")
    assert "200 of 205 relations of Hub are shown" in seen.text
    (every,) = [link for link in seen.links if "limit" in link]
    assert "are shown" not in browser.get(every).text


def test_a_relation_shows_the_words_it_rests_on(browser, graph):
    seen = browser.get(f"/graph/relations/{_relation(graph, 'Porto')}")
    assert "Anna moved to Porto in May 2024." in seen.text
    assert "/palace/drawers/1" in seen.links


def test_what_is_said_of_an_entity_ends_what_it_replaces(browser, graph):
    seen = browser.post(
        f"/graph/entities/{_id(graph, 'Anna')}/relations", predicate="lives in", target="Braga", since="2025-02"
    )
    assert "Anna lives in Braga: kept. Anna lives in Porto changes with it." in seen.text
    assert "2024-05 – 2025-02" in seen.text


def test_ending_withdrawing_and_deleting_a_relation(browser, graph):
    works, porto = _relation(graph, "Aster"), _relation(graph, "Porto")
    assert "2020 – 2025-03" in browser.post(f"/graph/relations/{works}/end", at="2025-03").text
    assert "not believed any more" in browser.post(f"/graph/relations/{porto}/withdraw").text
    assert [each.target for each in graph.neighbours("Anna").relations if each.predicate == "lives_in"] == ["Lisbon"]
    assert "is deleted" in browser.post(f"/graph/relations/{works}/delete").text
    assert graph.relation(works) is None
    assert browser.get(f"/graph/relations/{works}").status == 404


@pytest.mark.parametrize(
    ("right", "then"),
    [
        ({"target": "Braga", "since": "2024-05"}, "Anna lives in Braga, since 2024-05"),
        ({"target": "Porto", "since": "2023-01"}, "Anna lives in Porto, since 2023-01"),
        ({"target": "Porto", "since": "2024-05", "until": "2025"}, "Anna lives in Porto, 2024-05 – 2025"),
        ({"target": "Porto", "since": "2024-05-01"}, "Anna lives in Porto, since 2024-05-01"),
        ({"target": "Porto", "since": "2024-05"}, "nothing was changed"),
    ],
)
def test_a_correction_takes_the_place_of_what_was_wrong(browser, graph, right, then):
    seen = browser.post(f"/graph/relations/{_relation(graph, 'Porto')}/correct", **right)
    assert then in seen.text
    believed = [str(each) for each in graph.timeline("Anna").relations if not each.withdrawn and each.target != "Aster"]
    assert len([each for each in believed if "lives_in" in each]) == 2


def test_what_was_corrected_is_not_believed_beside_what_is_right(browser, graph):
    (knows,) = graph.timeline("Ben").relations
    browser.post(f"/graph/relations/{knows.id}/correct", target="Cleo")
    assert [str(each) for each in graph.neighbours("Ben").relations] == ["Ben knows Cleo"]


def test_a_correction_that_cannot_be_changes_nothing(browser, graph):
    porto = _relation(graph, "Porto")
    for wrong in ({"since": "2025", "until": "2024"}, {"since": "sometime"}, {"target": "x" * 500}):
        seen = browser.post(f"/graph/relations/{porto}/correct", **{"target": "Porto", **wrong})
        assert seen.status == 422
        assert "That did not work" in seen.text
    assert graph.relation(porto).withdrawn is False


def test_a_merge_is_shown_before_it_is_made_and_can_be_taken_back(browser, graph):
    graph.add_relation("Annie Prado", "lives in", "Braga", valid_from="2022", subject_type="person")
    anna, annie = _id(graph, "Anna"), _id(graph, "Annie Prado")
    preview = browser.get(f"/graph/merge?entity={anna}&with=Annie+Prado")
    assert "Annie Prado and Anna become one" in preview.text
    assert "also Annie Prado" in preview.text
    assert "Only one of these can hold at a time" in preview.text
    assert graph.merges() == ()
    merged = browser.post("/graph/merge", source=annie, target=anna)
    assert merged.path == f"/graph/entities/{anna}"
    assert browser.get(f"/graph/entities/{annie}").text.startswith("Anna")
    (merge,) = graph.merges()
    assert "are two again" in browser.post("/graph/unmerge", merge=merge.id).text
    assert graph.entity("Annie Prado").id == annie


def test_a_name_that_nobody_has_is_asked_for_again(browser, graph):
    seen = browser.get(f"/graph/merge?entity={_id(graph, 'Anna')}&with=Nobody+Known")
    assert "Nobody and nothing else is called “Nobody Known”." in seen.text


def test_two_that_are_related_are_not_offered_to_be_merged(browser, graph):
    anna, ben = _id(graph, "Anna"), _id(graph, "Ben")
    seen = browser.get(f"/graph/merge?entity={anna}&with={ben}")
    assert "cannot be one as long as one is related to the other" in seen.text
    assert "They are one" not in seen.text
    assert browser.post("/graph/merge", source=ben, target=anna).status == 422


def test_pairs_are_kept_apart_and_allowed_again(browser, graph):
    anna, ben = _id(graph, "Anna"), _id(graph, "Ben")
    assert "Ben and Anna are kept apart." in browser.post("/graph/apart", first=ben, second=anna).text
    assert "They may be one after all" in browser.get("/graph/duplicates").text
    browser.post("/graph/allow", first=ben, second=anna)
    assert graph.kept_apart() == ()


def test_names_and_the_type_are_added(browser, graph):
    seen = browser.post(f"/graph/entities/{_id(graph, 'Anna')}/names", names="Annie, Anna Prado", type="person")
    assert "Anna is kept as person, also called" in seen.text
    assert graph.entity("Annie").name == "Anna"


def test_an_entity_is_deleted_after_a_page_that_says_what_goes(browser, graph):
    anna = _id(graph, "Anna")
    assert "Anna lives in Porto" in browser.get(f"/graph/entities/{anna}/delete").text
    assert graph.entity("Anna") is not None
    assert "Anna is deleted, with 4 relations." in browser.post(f"/graph/entities/{anna}/delete").text
    assert browser.get(f"/graph/entities/{anna}").status == 404


def test_an_entity_leads_to_forgetting_all_that_was_said_of_it_but_the_user_does_not(alice, browser, graph):
    alice.graph.add_relation("user", "knows", "Anna")
    anna, user = _id(graph, "Anna"), _id(graph, "user")
    seen = browser.get(f"/graph/entities/{anna}")
    assert "/forget?person=Anna" in seen.links
    assert "Anna moved to Porto in May 2024." in browser.get("/forget?person=Anna").text
    assert not [each for each in browser.get(f"/graph/entities/{user}").links if each.startswith("/forget?")]
    graph.add_entity("Anna", type="place", distinct=True)
    assert f"/forget?person={anna}" in browser.get(f"/graph/entities/{anna}").links


def test_entities_are_found_by_a_part_of_a_name_and_by_type(browser):
    assert "Lisbon" in browser.get("/graph/entities?q=lisb").text
    places = browser.get("/graph/entities?type=place").text
    assert "Porto" in places
    assert "Aster" not in places
    assert "Nobody and nothing is called that." in browser.get("/graph/entities?q=zzz").text


@pytest.mark.parametrize(
    "path",
    [
        "/graph?as_of=whenever",
        "/graph?show=-1",
        "/graph?around=nobody",
        "/graph/data?as_of=13-13",
        "/graph/merge?entity=x&with=y",
    ],
)
def test_what_is_no_date_number_or_entity_is_an_error_in_the_page(browser, path):
    seen = browser.get(path)
    assert seen.status in {404, 422}
    assert "That did not work" in seen.text


def test_hostile_names_are_shown_and_not_run(alice):
    name = "<img src=x onerror=alert(1)>\u202e"
    alice.graph.add_relation(name, "knows", '"><script>alert(2)</script>', subject_type="person")
    browser = Browser(alice)
    which = alice.graph.entity(name).id
    relation = alice.graph.timeline(which).relations[0].id
    for path in (
        "/graph",
        f"/graph/entities/{which}",
        f"/graph/relations/{relation}",
        "/graph/entities",
        f"/graph/entities/{which}/delete",
    ):
        html = browser.get(path).html
        assert "<img src=x" not in html
        assert "<script>alert" not in html
        assert "\u202e" not in html
    assert "\u202e" not in browser.get("/graph/data").html
