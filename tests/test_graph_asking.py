"""Asking the knowledge graph: neighbours, ways, timelines, changes, and whom a mention means."""

from datetime import UTC, date, datetime

import networkx as nx
import pytest

from langmem_tiers import Memory, Settings
from langmem_tiers.errors import (
    AmbiguousEntity,
    InvalidInput,
    InvalidPeriod,
    InvalidRelation,
    NaiveDatetime,
    UnknownEntity,
)
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.answers import answering
from langmem_tiers.knowledge_graph.wording import standing_words
from langmem_tiers.settings import GraphSettings
from langmem_tiers.testing import HashEmbedder


@pytest.fixture
def graph(alice):
    """Anna moved from Lisbon to Porto in May 2024; the user is her sibling; Tom works at Acme, and Anna knows him."""
    made = alice.graph
    made.add_entity("user", type="person")
    made.add_relation("Anna", "lives in", "Lisbon", valid_from="2021", subject_type="person", object_type="place")
    made.add_relation("Anna", "lives in", "Porto", valid_from="2024-05", object_type="place")
    made.add_relation("user", "has sister", "Anna")
    made.add_relation("Tom Miller", "works at", "Acme", valid_from="2020", subject_type="person")
    made.add_relation("Anna", "knows", "Tom Miller", valid_from="2022-03-01")
    made.add_relation("Bike", "has battery", value=20, unit="Ah", valid_from="2023", subject_type="item")
    return made


def told(relations) -> list[str]:
    return [str(relation) for relation in relations]


def names(resolution) -> list[str]:
    return [match.entity.name for match in resolution.matches]


def meant(graph, mention, **options) -> str | None:
    entity = graph.resolve(mention, **options).entity
    return None if entity is None else entity.name


def hub(graph, count, name="Berlin") -> None:
    """So many people who live in a city, the latest to move there last."""
    for number in range(count):
        graph.add_relation(f"Person {number}", "lives in", name, valid_from=f"{1900 + number}", subject_type="person")


# Around an entity


def test_what_is_around_an_entity_is_what_holds_now(graph):
    found = graph.neighbours("Anna")
    assert told(found.relations) == ["Anna lives_in Porto", "Anna knows Tom Miller", "user has_sister Anna"]
    assert [entity.name for entity in found.entities] == ["Anna", "Porto", "Tom Miller", "user"]
    assert set(found.distance.values()) == {0, 1}
    assert found.cut == ()


@pytest.mark.parametrize(
    ("as_of", "place"),
    [
        ("2020", []),
        ("2021", ["Lisbon"]),
        ("2023", ["Lisbon"]),
        ("2024-04", ["Lisbon"]),
        ("2024", ["Porto", "Lisbon"]),
        ("2024-05-01", ["Porto"]),
        (datetime(2024, 4, 30, 23, 59, tzinfo=UTC), ["Lisbon"]),
        (date(2024, 5, 1), ["Porto"]),
        ("2030", ["Porto"]),
    ],
)
def test_where_somebody_lived_is_answered_for_the_whole_of_a_named_year_month_or_day(graph, as_of, place):
    assert [each.target for each in graph.neighbours("Anna", predicates=["lives in"], as_of=as_of).relations] == place


def test_what_has_ended_is_shown_last_and_only_when_asked_for(graph):
    assert told(graph.neighbours("Anna", ended=True).relations)[-1] == "Anna lives_in Lisbon"
    assert "Anna lives_in Lisbon" not in told(graph.neighbours("Anna").relations)


def test_what_is_still_to_come_is_not_so_yet(graph):
    graph.add_relation("Tom Miller", "speaks", "Greek", valid_from="2027")
    assert "Tom Miller speaks Greek" not in told(graph.neighbours("Tom Miller").relations)
    assert "Tom Miller speaks Greek" in told(graph.neighbours("Tom Miller", ended=True).relations)
    assert "Tom Miller speaks Greek" in told(graph.neighbours("Tom Miller", as_of="2028").relations)


def test_depth_follows_entities_but_no_values_and_tells_how_far_each_is(graph):
    graph.add_relation("Acme", "has product", "Bike")
    found = graph.neighbours("Anna", depth=2)
    assert "Tom Miller works_at Acme" in told(found.relations)
    assert {entity.name: found.distance[entity.id] for entity in found.entities}["Acme"] == 2
    assert "Bike has_battery 20 Ah" not in told(found.relations)
    assert told(graph.neighbours("Bike").relations) == ["Bike has_battery 20 Ah", "Acme has_product Bike"]


def test_what_was_known_at_a_moment_is_what_had_been_said_by_then(graph, clock):
    before = clock()
    clock.tick(3600)
    moved = graph.add_relation("Anna", "lives in", "Braga", valid_from="2025").relation
    clock.tick(3600)
    graph.withdraw_relation(moved.id)
    lives = {"predicates": ["lives in"]}
    assert [each.target for each in graph.neighbours("Anna", **lives).relations] == ["Porto"]
    assert [each.target for each in graph.neighbours("Anna", known_at=before, **lives).relations] == ["Porto"]
    (then,) = graph.neighbours("Anna", known_at=moved.recorded_at, **lives).relations
    assert (then.target, then.withdrawn) == ("Braga", True)
    (old,) = graph.neighbours("Anna", as_of="2025-06", known_at=before, **lives).relations
    assert (old.target, old.period.end) == ("Porto", None)


def test_known_at_a_day_is_known_by_its_end(graph, clock):
    assert graph.neighbours("Anna", known_at="2026-03-02").relations
    assert graph.neighbours("Anna", known_at="2026-03-01").relations == ()


def test_a_relation_is_shown_with_what_it_rests_on_and_what_ended_it(alice):
    from langmem_tiers import Turn

    (stored,) = alice.track([Turn(role="user", content="Anna lives in Lisbon.")], session="s").stored
    alice.graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021", evidence=[stored])
    successor = alice.graph.add_relation("Anna", "lives in", "Porto", valid_from="2024").relation
    (old,) = alice.graph.neighbours("Anna", as_of="2023").relations
    assert [each.drawer for each in old.evidence] == [stored]
    assert (old.reason, old.cause) == ("succeeded", successor.id)


# Limits


def test_a_hub_does_not_flood_the_answer_and_says_what_was_left_out(graph):
    hub(graph, 30)
    found = graph.neighbours("Berlin")
    assert len(found.relations) == 25
    assert found.cut == ("25 of 30 relations of Berlin",)
    assert found.relations[0].subject.name == "Person 29"


def test_the_limit_of_a_call_is_instead_of_the_settings(graph):
    hub(graph, 30)
    assert len(graph.neighbours("Berlin", limit=30).relations) == 30
    assert graph.neighbours("Berlin", limit=30).cut == ()
    assert graph.neighbours("Berlin", limit=3).cut == ("3 of 30 relations of Berlin",)


def test_a_hub_on_the_way_is_cut_as_well(graph):
    hub(graph, 30)
    found = graph.neighbours("Person 3", depth=2)
    assert len(found.relations) == 26
    assert found.cut == ("25 of 30 relations of Berlin",)


def test_what_was_not_followed_for_the_results_limit_is_named(graph):
    found = graph.neighbours("Anna", depth=2, limit=3)
    assert len(found.relations) == 3
    assert found.cut == ("what is around Porto, Tom Miller, user",)


def test_what_was_said_comes_before_what_was_only_spoken_of_together(alice, memory):
    from langmem_tiers.clock import to_millis
    from langmem_tiers.knowledge_graph.entities import NamedEntity, upsert_entities
    from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation
    from langmem_tiers.knowledge_graph.transaction import GraphTransaction
    from langmem_tiers.records import Authority

    alice.graph.add_relation("Anna", "knows", "Tom", valid_from="2020")
    with memory.use(alice.name) as store, store.writing() as connection:
        graph = GraphTransaction(connection, store.key, to_millis(memory.clock()), memory.settings)
        by = {"origin": "system", "path": "rule", "authority": Authority.SYSTEM}
        one, other = upsert_entities(graph, [NamedEntity(name=name, type="person", **by) for name in ("Anna", "Eve")])
        add_relation(graph, NewRelation(subject=one, predicate="mentioned with", object=other, kind="mentioned", **by))
    assert told(alice.graph.neighbours("Anna").relations) == ["Anna knows Tom"]
    both = alice.graph.neighbours("Anna", mentioned=True).relations
    assert [each.kind for each in both] == ["stated", "mentioned"]


def test_several_entities_share_one_answer(graph):
    found = graph.subgraph(["Anna", "Tom Miller", "Anna"])
    assert len({relation.id for relation in found.relations}) == len(found.relations) == 4
    assert sorted(found.distance.values()) == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"depth": 0}, InvalidInput),
        ({"depth": 3}, InvalidInput),
        ({"limit": 0}, InvalidInput),
        ({"as_of": "yesteryear"}, InvalidPeriod),
        ({"as_of": datetime(2024, 1, 1)}, NaiveDatetime),
        ({"known_at": "2024-13"}, InvalidPeriod),
        ({"ended": "yes"}, InvalidInput),
        ({"predicates": "lives in"}, InvalidInput),
        ({"predicates": ["…"]}, InvalidRelation),
    ],
)
def test_what_can_not_be_asked_is_refused(graph, options, error):
    with pytest.raises(error):
        graph.neighbours("Anna", **options)


def test_the_settings_say_how_far_a_question_goes(tmp_path):
    settings = Settings(graph=GraphSettings(depth=1, fan_out=2, results=3))
    with Memory.open(tmp_path, embedder=None, background=False, settings=settings) as memory:
        graph = memory.user("bob").graph
        hub(graph, 4)
        assert graph.neighbours("Berlin").cut == ("2 of 4 relations of Berlin",)
        with pytest.raises(InvalidInput, match="depth"):
            graph.neighbours("Berlin", depth=2)


# Ways


def test_ways_are_found_the_shortest_first_and_none_goes_through_an_entity_twice(graph):
    graph.add_relation("Acme", "is in", "Porto")
    found = graph.paths("Anna", "Acme")
    assert [told(way) for way in found.paths] == [
        ["Anna lives_in Porto", "Acme located_in Porto"],
        ["Anna knows Tom Miller", "Tom Miller works_at Acme"],
    ]
    assert found.cut == ()


def test_ways_are_those_of_the_moment_asked_for(graph):
    assert told(graph.paths("Lisbon", "Tom Miller", as_of="2023").paths[0]) == [
        "Anna lives_in Lisbon",
        "Anna knows Tom Miller",
    ]
    assert graph.paths("Lisbon", "Tom Miller").paths == ()
    assert len(graph.paths("Lisbon", "Tom Miller", ended=True).paths) == 1


def test_ways_have_a_longest_and_a_most(graph):
    assert graph.paths("user", "Acme", depth=2).paths == ()
    assert [len(way) for way in graph.paths("user", "Acme", depth=3).paths] == [3]
    for number in range(8):
        graph.add_relation("Anna", "visited", f"Town {number}")
        graph.add_relation("Tom Miller", "visited", f"Town {number}")
    found = graph.paths("Anna", "Tom Miller", limit=3)
    assert [len(way) for way in found.paths] == [1, 2, 2]
    assert found.cut == ("more than 3 ways",)


def test_a_way_through_a_hub_is_found_from_its_other_end(graph):
    hub(graph, 40)
    found = graph.paths("Person 1", "Person 2")
    assert told(found.paths[0]) == ["Person 1 lives_in Berlin", "Person 2 lives_in Berlin"]
    assert "25 of 40 relations of Berlin" in found.cut


def test_there_is_no_way_where_nothing_connects_two(graph):
    assert graph.paths("Bike", "Anna").paths == ()


def test_a_way_to_oneself_is_refused(graph):
    with pytest.raises(InvalidInput, match="Both are Anna"):
        graph.paths("my sister", "Anna")
    with pytest.raises(InvalidInput, match="depth"):
        graph.paths("Anna", "Acme", depth=7)


# Timelines and changes


def test_a_timeline_is_all_that_ever_held_in_the_order_it_began(graph):
    line = graph.timeline("Anna")
    assert line.entity.name == "Anna"
    assert told(line.relations) == [
        "user has_sister Anna",
        "Anna lives_in Lisbon",
        "Anna knows Tom Miller",
        "Anna lives_in Porto",
    ]
    assert line.relations[1].period.end == datetime(2024, 5, 1, tzinfo=UTC)


def test_a_long_timeline_shows_the_latest_and_says_so(graph):
    hub(graph, 5)
    line = graph.timeline("Berlin", limit=2)
    assert [relation.subject.name for relation in line.relations] == ["Person 3", "Person 4"]
    assert line.cut == ("2 of 5 relations of Berlin",)


def test_a_timeline_as_it_was_known(graph, clock):
    before = clock()
    clock.tick(60)
    graph.add_relation("Anna", "lives in", "Braga", valid_from="2025")
    assert "Anna lives_in Braga" not in told(graph.timeline("Anna", known_at=before).relations)
    assert told(graph.timeline("Anna").relations)[-1] == "Anna lives_in Braga"


def test_what_was_contradicted_never_held_and_its_timeline_says_what_displaced_it(graph, clock):
    before = clock()
    clock.tick(60)
    graph.add_relation("Anna", "lives in", "Faro", valid_from="2024-05")
    line = graph.timeline("Anna").relations
    porto = next(each for each in line if each.target == "Porto")
    assert [each.target for each in line[-2:]] == ["Porto", "Faro"]
    assert (porto.withdrawn, porto.reason, porto.cause, porto.cause_target) == (
        True,
        "contradicted",
        line[-1].id,
        "Faro",
    )
    assert standing_words(porto, clock()) == "not believed: contradicted by Faro"
    assert not next(each for each in graph.timeline("Porto", known_at=before).relations).withdrawn
    assert "Anna lives_in Porto" not in told(graph.neighbours("Anna", ended=True).relations)


def test_what_was_outranked_or_contradicted_without_a_date_is_in_the_timeline_too(memory):
    people = memory.user("carla").graph
    people.add_relation("Carla", "lives in", "Lisbon", valid_from="2020", valid_to="2024")
    people.add_relation("Carla", "lives in", "Porto", valid_from="2022", origin="assistant")
    for name, until in (("Dora", "2012"), ("Dorothea", "2012")):
        people.add_relation(name, "lives in", f"Town of {name}", valid_to=until)
    people.merge("Dorothea", "Dora", reason="one")
    marks = {each.target: (each.withdrawn, each.reason) for each in people.timeline("Carla").relations}
    assert marks == {"Lisbon": (False, "said"), "Porto": (True, "outranked")}
    marks = {each.target: (each.withdrawn, each.cause_target) for each in people.timeline("Dora").relations}
    assert marks == {"Town of Dorothea": (False, None), "Town of Dora": (True, "Town of Dorothea")}
    displaced = [(each.at.year, each.relation.target) for each in people.changes("2000") if each.what == "displaced"]
    assert displaced == [(2022, "Porto"), (memory.clock().year, "Town of Dora")]


def test_what_was_contradicted_is_not_told_with_what_holds_of_the_same(memory):
    people = memory.user("carla").graph
    for name, town, since, until in (
        ("Dora", "Faro", None, "2012"),
        ("Dorothea", "Porto", None, "2012"),
        ("Dorothea", "Faro", "2014", None),
    ):
        people.add_relation(name, "lives in", town, valid_from=since, valid_to=until)
    people.merge("Dorothea", "Dora", reason="one")
    line = [(each.target, each.withdrawn) for each in people.timeline("Dora").relations]
    assert line == [("Faro", True), ("Porto", False), ("Faro", False)]
    happened = [(each.what, each.relation.target) for each in people.changes("2012")]
    assert happened == [("ended", "Porto"), ("began", "Faro"), ("displaced", "Faro")]


def test_what_somebody_took_back_is_in_no_timeline(graph):
    faro = graph.add_relation("Anna", "lives in", "Faro", valid_from="2024-05").relation
    graph.withdraw_relation(faro.id)
    assert told(graph.timeline("Anna").relations)[-1] == "Anna lives_in Porto"


def test_changes_are_what_began_and_ended_between_two_moments(graph):
    found = [(change.at.date().isoformat(), change.what, str(change.relation)) for change in graph.changes("2022")]
    assert found == [
        ("2022-03-01", "began", "Anna knows Tom Miller"),
        ("2023-01-01", "began", "Bike has_battery 20 Ah"),
        ("2024-05-01", "ended", "Anna lives_in Lisbon"),
        ("2024-05-01", "began", "Anna lives_in Porto"),
    ]


def test_changes_tell_what_was_said_and_displaced(graph):
    graph.add_relation("Anna", "lives in", "Faro", valid_from="2024-05")
    found = [(change.what, change.relation.target) for change in graph.changes("2024", "2024", entity="Anna")]
    assert found == [("ended", "Lisbon"), ("displaced", "Porto"), ("began", "Faro")]


def test_changes_of_one_entity_within_a_year(graph):
    assert [change.what for change in graph.changes("2024", "2024", entity="Anna")] == ["ended", "began"]
    assert graph.changes("2025", "2025") == ()
    with pytest.raises(InvalidPeriod, match="before the first"):
        graph.changes("2025", "2024")


# The copy


def test_the_copy_is_an_ordinary_graph_that_graphml_can_hold(graph, tmp_path):
    copy = graph.networkx()
    assert (copy.number_of_nodes(), copy.number_of_edges()) == (8, 6)
    nx.write_graphml(copy, tmp_path / "graph.graphml")
    copy.clear()
    assert graph.networkx().number_of_edges() == 6


def test_the_copy_of_a_moment(graph):
    (anna,) = (node for node, data in graph.networkx().nodes(data=True) if data["name"] == "Anna")
    now, then = graph.networkx(as_of="2026-03-02"), graph.networkx(as_of="2023")
    places = [
        {made.nodes[end]["name"] for _, end, data in made.out_edges(anna, data=True) if data["predicate"] == "lives_in"}
        for made in (now, then)
    ]
    assert places == [{"Porto"}, {"Lisbon"}]


# Whom a mention means


@pytest.mark.parametrize(
    ("mention", "name", "by"),
    [
        ("Anna", "Anna", "name"),
        ("  ANNA ", "Anna", "name"),
        ("me", "user", "alias"),
        ("the user", "user", "alias"),
        ("my sister", "Anna", "kinship"),
        ("my older sister", "Anna", "kinship"),
        ("Tom Millr", "Tom Miller", "fuzzy"),
        ("Tom", "Tom Miller", "fuzzy"),
        ("Miller", "Tom Miller", "fuzzy"),
        ("Lisbn", "Lisbon", "fuzzy"),
    ],
)
def test_a_mention_is_resolved(graph, mention, name, by):
    resolution = graph.resolve(mention)
    assert (resolution.entity.name, resolution.matches[0].found_by) == (name, by)
    assert not resolution.ambiguous


def test_an_id_and_an_alias_are_resolved(graph):
    anna = graph.add_entity("Anna", aliases=["Annie"])
    assert graph.resolve(anna.id).matches[0].found_by == "id"
    assert graph.resolve("annie").matches[0].found_by == "alias"


def test_kin_are_those_of_now(graph):
    graph.add_relation("user", "has wife", "Eve", valid_from="2010", valid_to="2020")
    graph.add_relation("user", "has wife", "Mary", valid_from="2022")
    graph.add_relation("Anna", "has boss", "Ruth")
    graph.add_relation("user", "has dog", "Rex")
    assert [meant(graph, each) for each in ("my wife", "Anna's boss", "my dog")] == ["Mary", "Ruth", "Rex"]


def test_two_of_one_kin_are_shown_and_none_is_chosen(graph):
    graph.add_relation("user", "has sister", "Lena")
    resolution = graph.resolve("my sister")
    assert (resolution.entity, sorted(names(resolution)), resolution.ambiguous) == (None, ["Anna", "Lena"], True)


def test_two_of_one_name_are_shown_and_none_is_chosen(graph):
    graph.add_entity("Anna Silva", type="person", aliases=["Annie"])
    graph.add_entity("Anna Costa", type="person", aliases=["Annie"])
    for mention in ("Annie", "Annie "):
        resolution = graph.resolve(mention)
        assert (resolution.entity, sorted(names(resolution))) == (None, ["Anna Costa", "Anna Silva"])
    with pytest.raises(AmbiguousEntity, match="Anna Silva") as caught:
        graph.neighbours("Annie")
    assert len(caught.value.ids) == 2


@pytest.mark.parametrize("mention", ["Hanna", "Annas", "Ann", "Porta", "Bikes"])
def test_a_name_that_may_well_be_another_one_is_shown_but_not_taken(graph, mention):
    assert graph.resolve(mention).entity is None


def test_numbers_in_names_are_no_misspellings(graph):
    graph.add_entity("Conference room 12", type="place")
    assert graph.resolve("Conference room 13").entity is None
    assert names(graph.resolve("Conference room 13")) == ["Conference room 12"]
    assert meant(graph, "Conferense room 12") == "Conference room 12"


def test_two_spellings_that_are_as_like_are_shown_and_none_is_chosen(graph):
    graph.add_entity("Katharina", type="person")
    graph.add_entity("Katherina", type="person")
    resolution = graph.resolve("Kathrina")
    assert (resolution.entity, sorted(names(resolution))) == (None, ["Katharina", "Katherina"])


def test_a_type_chooses_among_those_of_one_name(graph):
    graph.add_entity("Mercury Ltd", type="organisation", aliases=["Mercury"])
    graph.add_entity("Mercury planet", type="place", aliases=["Mercury"])
    assert graph.resolve("Mercury").ambiguous
    assert meant(graph, "Mercury", type="place") == "Mercury planet"


@pytest.mark.parametrize("mention", ["", "   ", "x" * 10_000, "Zebedee", "\ud800", "'s", "what"])
def test_a_mention_of_nobody_is_no_error(graph, mention):
    resolution = graph.resolve(mention)
    assert (resolution.entity, resolution.matches, resolution.ambiguous) == (None, (), False)


def test_an_unknown_name_is_an_error_that_says_who_may_be_meant(graph):
    with pytest.raises(UnknownEntity, match="Perhaps you mean Lisbon"):
        graph.neighbours("Lisbn")
    with pytest.raises(UnknownEntity):
        graph.timeline("000000000000")
    with pytest.raises(UnknownEntity):
        graph.timeline("x" * 10_000)


def test_what_was_merged_is_found_by_both_names(graph):
    graph.add_relation("Thomas Miller", "speaks", "Greek", subject_type="person")
    merge = graph.merge("Thomas Miller", "Tom Miller")
    assert meant(graph, "Thomas Miller") == "Tom Miller"
    assert told(graph.neighbours("Thomas Miller", predicates=["speaks"]).relations) == ["Tom Miller speaks Greek"]
    graph.unmerge(merge.id)
    assert meant(graph, "Thomas Miller") == "Thomas Miller"
    assert graph.neighbours("Tom Miller", predicates=["speaks"]).relations == ()


def test_a_name_is_found_by_its_meaning_where_there_is_an_embedder(alice):
    alice.graph.add_entity("annual garden festival", type="event")
    alice.graph.add_entity("city marathon", type="event")
    resolution = alice.graph.resolve("festival in the garden, annual")
    assert (resolution.entity.name, resolution.matches[0].found_by) == ("annual garden festival", "vector")


def test_the_vectors_of_names_are_kept(tmp_path):
    embedder = HashEmbedder()
    with Memory.open(tmp_path, embedder=embedder, background=False) as memory:
        memory.user("bob").graph.add_entity("annual garden festival")
        memory.user("bob").graph.resolve("festival of gardens")
    asked = embedder.documents_embedded
    with Memory.open(tmp_path, embedder=embedder, background=False) as memory:
        memory.user("bob").graph.resolve("festival for gardens")
        assert asked == embedder.documents_embedded == 1
        memory.user("bob").graph.delete_entity("annual garden festival")
        assert memory.user("bob").graph.resolve("festival of gardens").matches == ()
        with memory.use("users/bob") as store, store.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM embeddings").scalar_one() == 0


def test_without_vectors_a_mention_is_resolved_by_its_letters(tmp_path):
    embedder = HashEmbedder()
    with Memory.open(tmp_path, embedder=embedder, background=False) as memory:
        memory.user("bob").graph.add_entity("Garden festival")
        from langmem_tiers.errors import EmbeddingUnavailable

        embedder.outage = EmbeddingUnavailable("It is away.")
        assert meant(memory.user("bob").graph, "Gardn festival") == "Garden festival"
        assert memory.user("bob").graph.resolve("the party of flowers").matches == ()


def test_a_misspelled_name_is_found_among_very_many(alice, memory):
    from langmem_tiers.language.spelling import Spellings

    known = {f"person number {number}": (number,) for number in range(5_000)} | {"annegret zimmermann": (0,)}
    spellings = Spellings(known)
    assert spellings.like("annegrett zimmerman", least=0.8)[0][0] == "annegret zimmermann"
    grown = Spellings({**known, "bartholomew": (1,)}, spellings, {"bartholomew"})
    assert grown.like("bartolomew", least=0.8)[0][0] == "bartholomew"
    shrunk = Spellings({name: found for name, found in known.items() if name != "annegret zimmermann"}, grown)
    assert shrunk.like("annegrett zimmerman", least=0.8) == []


# Whom a text names


def named(space, text) -> list[tuple[str, str]]:
    with answering(space.context) as answer:
        return [(match.entity.name, match.found_by) for match in entity_lookup.named_in(answer.view, text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Where does Anna live?", [("Anna", "name")]),
        ("where does anna's friend tom miller work", [("Anna", "name"), ("Tom Miller", "name")]),
        ("What did my sister say about Porto?", [("Anna", "kinship"), ("Porto", "name")]),
        ("Where did I live in 2023?", [("user", "alias")]),
        ("Is Tom there?", [("Tom Miller", "fuzzy")]),
        ("is there a tom?", []),
        ("What is on television?", []),
        ("", []),
        ("my my my", [("user", "alias")]),
    ],
)
def test_a_text_names_entities(graph, alice, text, found):
    assert named(alice, text) == found


def test_the_longest_name_counts(graph, alice):
    graph.add_entity("York", type="place")
    graph.add_entity("New York", type="place")
    graph.add_entity("New York Times", type="organisation")
    assert named(alice, "He reads the New York Times in New York, not in York.") == [
        ("New York Times", "name"),
        ("New York", "name"),
        ("York", "name"),
    ]


def test_a_name_that_is_a_common_word_needs_its_capital(graph, alice):
    graph.add_entity("Will", type="person")
    assert named(alice, "It will rain.") == []
    assert named(alice, "Then Will came.") == [("Will", "name")]


def test_what_several_share_is_named_with_a_shared_score(graph, alice):
    graph.add_entity("Anna Silva", type="person", aliases=["Annie"])
    graph.add_entity("Anna Costa", type="person", aliases=["Annie"])
    with answering(alice.context) as answer:
        found = entity_lookup.named_in(answer.view, "Is Annie there?")
    assert [match.score for match in found] == [0.5, 0.5]


def test_names_in_scripts_without_blanks_are_found(graph, alice):
    graph.add_entity("東京", type="place")
    assert named(alice, "昨日は東京に行きました") == [("東京", "name")]
