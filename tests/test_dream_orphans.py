"""Relations that rest on nothing any more: a dream withdraws them, and undoing it brings them back."""

import pytest
from dreaming import dump

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge_graph.entities import NamedEntity, upsert_entities
from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.records import Authority, Evidence
from langmem_tiers.settings import DreamSettings, GraphSettings

DAY = 86_400
PORTO, FRIENDS = "I live in Porto and I work at Bosch.", "I was with Ben and Clara at the lake."


@pytest.fixture
def opened(tmp_path, clock):
    """Opens the same memory again and again, with settings of the graph; it dreams by hand."""
    memories = []

    def open_it(**graph) -> Memory:
        settings = Settings(dream=DreamSettings(enabled=False), graph=GraphSettings(**graph))
        folder = tmp_path / "memory"
        memories.append(Memory.open(folder, embedder=None, background=False, clock=clock, settings=settings))
        return memories[-1]

    yield open_it
    for memory in memories:
        memory.close()


@pytest.fixture
def alice(opened):
    """A space whose graph knows a town, an employer, and two people who were named together."""
    alice = opened().user("alice")
    say(alice, PORTO, message_id="1")
    say(alice, FRIENDS, message_id="2")
    alice.mine()
    alice.flush()
    mention(alice, "Ben", "Clara", alice.drawers()[-1])
    assert believed(alice) == {"lives_in", "works_at", "mentioned_with"}
    return alice


def say(space, text, **given):
    space.track([Turn(role="user", content=text, **given)], session="monday")


def mention(space, first, second, drawer):
    """Two names in one message: earlier versions of the memory stored that, and what they stored is still tended."""
    with space.memory.use(space.name) as store, store.writing() as connection:
        graph = GraphTransaction(connection, store.key, to_millis(space.memory.clock()), space.memory.settings)
        by = {"origin": "user", "path": "rule", "authority": Authority.SYSTEM}
        cited = (Evidence(drawer=drawer.number, quote=drawer.content),)
        both = [NamedEntity(name=name, type="person", evidence=cited, **by) for name in (first, second)]
        one, other = upsert_entities(graph, both)
        new = {"subject": one, "predicate": "mentioned with", "object": other, "kind": "mentioned", "evidence": cited}
        add_relation(graph, NewRelation(**new, **by))


def believed(space) -> set[str]:
    """The predicates of what is believed, also of what was only mentioned."""
    wanted = """SELECT DISTINCT predicate FROM relations JOIN relation_versions USING (space)
                WHERE relation = relations.number AND until IS NULL"""
    with space.memory.use(space.name) as store, store.reading() as connection:
        return set(connection.exec_driver_sql(wanted).scalars())


def test_what_an_edited_message_said_is_withdrawn_and_comes_back_byte_for_byte(alice):
    say(alice, "I live on a boat.", message_id="1")  # and the graph has not taken that up yet
    before = dump(alice)
    report = alice.dream()
    assert (report.status, believed(alice)) == ("applied", {"mentioned_with"})
    assert report.diff.count("- relation ") == 2
    assert {each.why for each in report.decision.accepted} == {"no message that says so stands any more"}
    alice.undo_dream(report.id)
    assert dump(alice) == before
    alice.redo_dream(report.id)
    assert believed(alice) == {"mentioned_with"}


def test_what_somebody_said_is_theirs_to_take_back(alice):
    for origin in ("user", "assistant"):
        alice.graph.add_relation(origin, "visited", "Oslo", evidence=[1], origin=origin)
    say(alice, "I live on a boat.", message_id="1")
    alice.dream()
    assert believed(alice) == {"visited", "mentioned_with"}


def test_names_that_were_mentioned_together_once_are_let_go_after_long(alice, clock):
    clock.tick(179 * DAY)
    assert alice.dream().status == "nothing"
    clock.tick(DAY)
    report = alice.dream()
    assert (report.status, believed(alice)) == ("applied", {"lives_in", "works_at"})
    alice.undo_dream(report.id)
    assert "mentioned_with" in believed(alice)


@pytest.mark.parametrize(
    "more",
    [
        lambda space: say(space, "My friend Clara moved to Lisbon.", message_id="3"),
        lambda space: space.graph.add_relation("Ben", "works_at", "Siemens"),
    ],
)
def test_names_of_whom_more_is_known_stay(alice, clock, more):
    clock.tick(60)
    more(alice)
    alice.mine()
    alice.flush()
    clock.tick(180 * DAY - 60)
    alice.dream()
    assert "mentioned_with" in believed(alice)


def test_what_was_imported_without_its_messages_stays(alice, tmp_path, clock):
    path = alice.graph.export(tmp_path / "graph.json")
    bob = alice.memory.user("bob")
    bob.graph.import_(path)
    clock.tick(400 * DAY)
    assert bob.dream().status == "nothing"
    assert believed(bob) == {"lives_in", "works_at", "mentioned_with"}


def test_a_merge_can_be_undone_with_what_was_mentioned_of_both(alice):
    alice.graph.merge("Ben", "Clara")
    assert alice.dream().status == "nothing"
    alice.graph.unmerge(alice.graph.merges()[0].id)
    assert "mentioned_with" in believed(alice)


def test_without_the_graph_nothing_is_withdrawn(alice, opened):
    say(alice, "I live on a boat.", message_id="1")
    alice.memory.close()
    assert opened(enabled=False).user("alice").dream().status == "nothing"


# Windows that stand open.


@pytest.fixture
def moved(opened, clock):
    """The user has moved, and a town is nothing that only one holds of: both stand open."""
    alice = opened(several_valued=("lives_in",)).user("alice")
    for number, town in enumerate(("Porto", "Lisbon"), 1):
        say(alice, f"I live in {town}.", message_id=str(number))
        alice.mine()
        alice.flush()
        clock.tick(30 * DAY)
    return alice


def towns(space) -> dict[str, bool]:
    """Where the user lives, and whether that has an end."""
    lived = space.graph.neighbours("user", ended=True).relations
    return {str(each.object.name): each.period.end is not None for each in lived if each.predicate == "lives_in"}


def test_windows_that_were_left_open_are_closed_and_open_again_byte_for_byte(moved, opened):
    assert towns(moved) == {"Porto": False, "Lisbon": False}
    assert not [each for each in moved.dream(dry_run=True).decision.accepted if each.kind == "close_windows"]
    moved.memory.close()
    alice = opened().user("alice")
    before = dump(alice)
    report = alice.dream()
    assert [each.predicate for each in report.decision.accepted if each.kind == "close_windows"] == ["lives_in"]
    assert towns(alice) == {"Porto": True, "Lisbon": False}
    alice.undo_dream(report.id)
    assert (dump(alice), towns(alice)) == (before, {"Porto": False, "Lisbon": False})


def test_what_the_user_said_stays_open(moved, opened):
    moved.graph.add_relation("user", "lives in", "Porto")
    moved.memory.close()
    alice = opened().user("alice")
    alice.dream()
    assert towns(alice) == {"Porto": False, "Lisbon": False}
