"""One entity under two names: merged where nothing speaks against it, flagged where it may, and always undone."""

import json
import sys
from pathlib import Path

import pytest

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.errors import InvalidInput, MergeRefused, UnknownEntity
from langmem_tiers.language.name_matching import compare
from langmem_tiers.settings import ModelSettings
from langmem_tiers.storage import merges
from langmem_tiers.testing import ScriptedChatModel
from tests.tasking import archived


class InWords(ScriptedChatModel):
    """A model that cannot be given a schema, so that every reply is one call."""

    def with_structured_output(self, schema, **_):
        raise NotImplementedError


def say(space, *contents, session="monday"):
    """Have the user say things, and the memory take them up."""
    space.track([Turn(role="user", content=content) for content in contents], session=session)
    space.mine()
    assert space.flush()


def names(space, type=None) -> set[str]:
    return {entity.name for entity in space.graph.entities(type=type)}


def merged(space) -> list[tuple[str, str]]:
    return [(each.source.name, each.target.name) for each in space.graph.merges()]


def flagged(space) -> list[tuple[set[str], str]]:
    return [({each.first.name, each.second.name}, each.reason) for each in space.graph.likely_pairs()]


def told(space, entity) -> set[str]:
    return {str(each) for each in space.graph.timeline(entity).relations}


# What the memory does by itself.


def test_a_first_name_is_the_only_one_who_has_it(alice):
    say(alice, "My sister Anna lives in Porto.", "Anna Berg works at Bosch.")
    assert merged(alice) == [("Anna", "Anna Berg")]
    assert told(alice, "Anna") == {"user has_sister Anna Berg", "Anna Berg lives_in Porto", "Anna Berg works_at Bosch"}


def test_a_first_name_that_two_have_is_flagged(alice):
    say(alice, "Anna Berg works at Bosch.", "Anna Meier works at Siemens.", "Anna lives in Porto.")
    assert merged(alice) == []
    assert [pair for pair, _ in flagged(alice)] == [{"Anna", "Anna Berg"}, {"Anna", "Anna Meier"}]


def test_names_that_differ_in_accents_or_legal_form_are_one(alice):
    say(alice, "José Álvarez works at Bosch GmbH since 2019.", "Jose Alvarez works at Bosch since 2019.")
    assert sorted(merged(alice)) == [("Bosch", "Bosch GmbH"), ("Jose Alvarez", "José Álvarez")]


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("My sister Anna turned 30.", "Anna Berg was born on 3 May 1950. Anna was born on 4 May 1990.", "birthday"),
        ("My daughter Anna lives in Porto.", "My mother Anna Berg lives in Ulm.", "one is a"),
    ],
)
def test_two_of_whom_different_things_are_known_stay_two(alice, one, other, reason):
    say(alice, one, other)
    assert merged(alice) == []
    assert any(reason in why for _, why in flagged(alice))


def test_a_parent_and_a_child_of_one_name_stay_two(alice):
    say(alice, "Tom Miller lives in Ulm.", "Tom Miller's son Tom lives in Porto.")
    assert merged(alice) == []


def test_two_in_one_sentence_are_two(alice):
    say(alice, "Anna works at Bosch.", "Yesterday I met Anna and Anna Berg in Porto.", "Anna Berg works at Bosch.")
    assert merged(alice) == []


def test_letters_that_only_look_alike_are_flagged(alice):
    say(alice, "My sister Anna lives in Porto.")
    alice.graph.add_relation("Аnna", "lives in", "Porto", subject_type="person")
    say(alice, "Anna works at Bosch.", session="tuesday")
    assert merged(alice) == []
    assert [why for _, why in flagged(alice)] == ["letters that only look alike"]


def test_what_somebody_added_by_hand_is_left_as_it_is(alice):
    alice.graph.add_entity("Bosch GmbH", type="organisation")
    alice.graph.add_entity("Bosch", type="organisation")
    alice.flush()
    assert names(alice) == {"Bosch GmbH", "Bosch"}


def test_merging_again_changes_nothing(alice):
    say(alice, "My sister Anna lives in Porto.", "Anna Berg works at Bosch.")
    before = alice.graph.stats()
    say(alice, "Anna Berg works at Bosch.", session="tuesday")
    assert (alice.graph.stats(), len(merged(alice))) == (before, 1)


# With a model.


@pytest.fixture
def judged(tmp_path, clock):
    """A space whose model says of each pair what the script has it say, and finds nothing else."""
    opened = []

    def open_it(*said):
        def answer(messages):
            text = str(messages[-1].content)
            pairs = [{"number": number, "same": same} for number, same in said]
            return json.dumps({"pairs": pairs} if "Pair 1" in text else {"facts": []})

        memory = Memory.open(
            tmp_path / "judged",
            embedder=None,
            background=False,
            clock=clock,
            model=InWords(responses=[answer]),
            settings=Settings(model=ModelSettings(timeout_seconds=30)),
        )
        opened.append(memory)
        return memory.user("alice")

    yield open_it
    for memory in opened:
        memory.close()


TWO = "The user's friend Robert Miller works at Bosch. Bob Miller lives in Porto."


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ([(1, "yes")], [("Bob Miller", "Robert Miller")]),
        ([(1, "unsure")], []),
        ([(1, "no")], []),
        ([(1, "yes"), (1, "no")], []),
        ([(7, "yes")], []),
    ],
)
def test_a_model_decides_of_pairs_that_are_alike(judged, said, ends):
    space = judged(*said)
    archived(space, "people", TWO)
    space.flush()
    assert merged(space) == ends
    assert bool(flagged(space)) is not bool(ends)


def test_a_model_can_not_merge_what_something_speaks_against(judged):
    space = judged((1, "yes"))
    archived(space, "people", "Robert Miller was born on 3 May 1950. Bob Miller was born on 4 May 1990.")
    space.flush()
    assert merged(space) == []


# What users do.


def test_a_merge_is_undone_with_the_relations_of_both(alice):
    graph = alice.graph
    graph.add_relation("Bob", "works at", "Bosch", subject_type="person")
    graph.add_relation("Robert", "lives in", "Porto", subject_type="person")
    merge = graph.merge("Bob", "Robert", reason="he said so")
    assert told(alice, "Bob") == {"Robert works_at Bosch", "Robert lives_in Porto"}
    undone = graph.unmerge(merge.id)
    assert (told(alice, "Bob"), told(alice, "Robert")) == ({"Bob works_at Bosch"}, {"Robert lives_in Porto"})
    assert (undone.undone_at is None, graph.merges(), len(graph.merges(undone=True))) == (False, (), 1)


def test_what_was_parted_is_not_merged_again(alice):
    say(alice, "My sister Anna lives in Porto.", "Anna Berg works at Bosch.")
    alice.graph.unmerge(alice.graph.merges()[0].id)
    say(alice, "Anna Berg has been working at Bosch since 2019.", "Anna is a nurse.", session="tuesday")
    assert (merged(alice), flagged(alice)) == ([], [])
    with pytest.raises(MergeRefused):
        alice.graph.merge("Anna", "Anna Berg")


def test_two_that_somebody_keeps_apart_are_no_likely_pair(alice):
    say(alice, "Robert Miller works at Bosch.", "Bob Miller works at Siemens.")
    assert len(flagged(alice)) == 1
    alice.graph.keep_apart("Robert Miller", "Bob Miller")
    assert flagged(alice) == []


def test_a_pair_goes_with_the_message_that_told_of_one_of_the_two(alice, tmp_path):
    say(alice, "Robert Miller works at Bosch.", "Bob Miller works at Siemens.")
    assert len(flagged(alice)) == 1
    alice.forget(messages=alice.drawers()[1].number, confirm=True)
    assert (names(alice, "person"), flagged(alice)) == ({"Robert Miller"}, [])
    assert alice.dream().status == "nothing"
    alice.export(tmp_path / "alice.json")
    assert alice.memory.import_file(tmp_path / "alice.json", user="bob").identical


@pytest.mark.parametrize("told", ["apart", "merged once"])
def test_what_was_decided_of_two_goes_with_the_message_that_told_of_one(alice, told):
    say(alice, "Robert Miller works at Bosch.", "Bob Miller works at Siemens.")
    if told == "apart":
        alice.graph.keep_apart("Robert Miller", "Bob Miller")
    else:
        alice.graph.unmerge(alice.graph.merge("Bob Miller", "Robert Miller").id)
    alice.forget(messages=alice.drawers()[1].number, confirm=True)
    assert names(alice, "person") == {"Robert Miller"}
    assert (alice.graph.kept_apart(), alice.graph.merges(undone=True)) == ((), ())


def test_a_pair_goes_with_the_entry_that_told_of_one_of_the_two(alice):
    say(alice, "My boss is Robert Miller.", "My neighbour is Bob Miller.")
    assert len(flagged(alice)) == 1
    [entry] = alice.knowledge.page(substring="Bob Miller").entries
    alice.knowledge.delete(entry.id, origin="user")
    assert (names(alice, "person"), flagged(alice)) == ({"Robert Miller", "user"}, [])


@pytest.mark.folder
def test_pairs_of_somebody_gone_that_older_versions_left_do_no_harm(alice, tmp_path):
    say(alice, "Robert Miller works at Bosch.")
    with alice.context.open() as store, store.writing() as connection:
        merges.put_pair(connection, store.key, 1, 17, "flagged", 80, "alike", 0)
        merges.put(connection, store.key, source=17, target=1, reason="alike", path="rule", at=0, undone_at=1)
    assert (flagged(alice), alice.graph.kept_apart(), alice.graph.merges(undone=True)) == ([], (), ())
    assert alice.dream().status == "nothing"
    alice.export(tmp_path / "alice.json")
    assert alice.memory.import_file(tmp_path / "alice.json", user="bob").identical


def test_likely_pairs_that_became_one_are_shown_no_more(alice):
    say(alice, "Robert Miller works at Bosch.", "Bob Miller works at Bosch.")
    alice.graph.merge("Bob Miller", "Robert Miller")
    assert flagged(alice) == []


def test_errors_of_merging_are_told(alice):
    graph = alice.graph
    graph.add_entity("Anna")
    graph.add_relation("Tom", "has daughter", "Mia")
    for wrong, error in (
        (lambda: graph.merge("Anna", "Anna"), MergeRefused),
        (lambda: graph.merge("Tom", "Mia"), MergeRefused),
        (lambda: graph.merge("Anna", "Nobody"), UnknownEntity),
        (lambda: graph.unmerge(17), UnknownEntity),
        (lambda: graph.keep_apart("Anna", "Anna"), InvalidInput),
    ):
        with pytest.raises(error):
            wrong()
    assert graph.merges(undone=True) == ()


# Names.


def test_none_of_the_published_pairs_is_merged_wrongly_and_most_of_the_same_are():
    sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
    import entity_merging

    judged = [(pair, entity_merging.decide(pair)) for pair in entity_merging.read(entity_merging.PAIRS)]
    merged = [pair for pair, decision in judged if decision == "merged"]
    same = [pair for pair, _ in judged if pair.label == "same"]
    assert (len(judged) >= 300, {pair.label for pair in merged}) == (True, {"same"})
    assert len(merged) >= 0.9 * len(same)


@pytest.mark.parametrize(
    ("one", "other", "type", "kind"),
    [
        ("Anna", "Anna Berg", "person", "part"),
        ("Anna", "Hanna", "person", "other"),
        ("Jon Smith", "John Smith", "person", "like"),
        ("Tom Miller Jr.", "Tom Miller Sr.", "person", "other"),
        ("Thomas Martin", "Martin Thomas", "person", "like"),
        ("Berg, Anna", "Anna Berg", "person", "same"),
        ("Springfield, IL", "Springfield, MA", "place", "other"),
        ("Bosch", "Bosch Rexroth", "organisation", "other"),
        ("Bosch GmbH", "Bosch", "organisation", "same"),
        ("iPhone 12", "iPhone 13", "item", "other"),
        ("Bob Miller", "Robert Miller", "person", "like"),
        ("Jörg Müller", "Joerg Mueller", "person", "same"),
        ("Аnna", "Anna", "person", "like"),
    ],
)
def test_names_are_compared_as_people_write_them(one, other, type, kind):
    assert compare(one, other, type, type).kind == compare(other, one, type, type).kind == kind


def test_the_user_stays_who_they_are(alice):
    alice.graph.add_entity("user", type="person")
    alice.graph.add_entity("Bob", type="person")
    with pytest.raises(MergeRefused):
        alice.graph.merge("user", "Bob")
    assert alice.graph.merge("Bob", "user").target.name == "user"


def test_my_cat_is_not_my_dog(alice):
    alice.graph.add_relation("user", "has pet", "Bruno", subject_type="person")
    alice.graph.add_relation("Bruno", "is a", "dog")
    assert alice.graph.resolve("my cat").matches == ()
    assert [alice.graph.resolve(f"my {word}").entity.name for word in ("dog", "pet")] == ["Bruno", "Bruno"]


# Names that only look alike.


@pytest.mark.parametrize(
    ("one", "other"), [("Anna", "Аnna"), ("Bob", "Воb"), ("Nina", "Νina"), ("Oscar", "Оsсаr")], ids=ascii
)
def test_twins_in_letters_of_two_scripts_are_flagged_whoever_named_them(alice, one, other):
    alice.graph.add_entity(one, type="person")
    alice.graph.add_entity(other, type="place")
    alice.flush()
    assert flagged(alice) == [({one, other}, "letters that only look alike")]
    assert (merged(alice), names(alice)) == ([], {one, other})


def test_a_twin_of_another_name_is_flagged_too(alice):
    alice.graph.add_entity("Ben", aliases=["Bеnny"])
    alice.graph.add_entity("Benny")
    alice.flush()
    assert flagged(alice) == [({"Ben", "Benny"}, "letters that only look alike")]


# What is one is told once.


@pytest.fixture
def one(alice):
    """Anna, who is Anna Berg as well: two messages say that she is the user's sister."""
    say(alice, "My sister Anna lives in Porto.", "Anna Berg is my sister and works at Bosch.")
    assert merged(alice) == [("Anna", "Anna Berg")]
    return alice.graph


def pointers(record):
    return [each.pointer[-5:] for each in record.evidence]


def test_what_was_merged_gives_its_names_and_messages(one):
    assert (one.entity("Anna").aliases, pointers(one.entity("Anna"))) == (("Anna",), ["D-001", "D-002"])
    assert [each.aliases for each in one.entities(text="Berg")] == [("Anna",)]
    assert one.resolve("my sister").entity.aliases == ("Anna",)


def test_each_fact_is_told_once_with_the_messages_of_all(alice, one):
    for found in (one.neighbours("user"), one.neighbours("Anna"), one.subgraph(["user", "Anna"]), one.timeline("user")):
        sister = [each for each in found.relations if each.predicate == "has_sister"]
        assert [(str(each), pointers(each)) for each in sister] == [("user has_sister Anna Berg", ["D-001", "D-002"])]
    assert one.networkx().number_of_edges() == 3
    recalled = alice.recall("Who is my sister?", session="t")
    assert [each.kind for each in recalled.receipt.known].count("relation") == 1


def test_a_fact_that_is_withdrawn_or_ended_is_so_in_all_its_wordings(one):
    (sister,) = [each for each in one.timeline("user").relations if each.predicate == "has_sister"]
    one.withdraw_relation(sister.id)
    assert [str(each) for each in one.timeline("user").relations] == []
    one.unmerge(one.merges()[0].id)
    assert [str(each) for each in one.timeline("user").relations] == []


def test_times_that_meet_are_one_and_a_gap_parts_them(alice):
    graph = alice.graph
    graph.add_relation("Anna", "member of", "choir", valid_from="2020", valid_to="2022")
    graph.add_relation("Annie", "member of", "choir", valid_from="2021", valid_to="2023")
    graph.add_relation("Annie", "member of", "choir", valid_from="2025")
    graph.merge("Annie", "Anna")
    periods = [
        (each.period.start.year, each.period.end and each.period.end.year) for each in graph.timeline("Anna").relations
    ]
    assert periods == [(2020, 2023), (2025, None)]


# Keeping apart, and taking it back.


def test_that_two_are_kept_apart_is_taken_back(alice):
    say(alice, "Robert Miller works at Bosch.", "Bob Miller works at Siemens.")
    graph = alice.graph
    graph.keep_apart("Robert Miller", "Bob Miller")
    assert [(each.first.name, each.second.name) for each in graph.kept_apart()] == [("Robert Miller", "Bob Miller")]
    assert (graph.allow_merge("Bob Miller", "Robert Miller"), graph.allow_merge("Bob Miller", "Robert Miller")) == (
        True,
        False,
    )
    assert graph.kept_apart() == ()
    alice.flush()
    assert len(flagged(alice)) == 1
    assert graph.merge("Bob Miller", "Robert Miller").source.name == "Bob Miller"


def test_undoing_a_merge_leaves_a_mark_only_where_the_memory_could_merge_them_again(alice):
    graph = alice.graph
    graph.add_entity("Bob", type="person")
    graph.add_entity("Robert", type="person")
    graph.add_entity("Zed", type="person")
    graph.unmerge(graph.merge("Zed", "Robert").id)
    assert graph.kept_apart() == ()
    graph.unmerge(graph.merge("Bob", "Robert").id)
    assert [each.reason for each in graph.kept_apart()] == ["a merge of them was undone"]
    assert graph.allow_merge("Bob", "Robert")
    assert graph.merge("Zed", "Robert").target.name == "Robert"
