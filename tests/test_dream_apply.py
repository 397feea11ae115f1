"""Applying a dream: what it may change, what it leaves alone, and that only one does so at a time."""

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from subprocess import PIPE, Popen
from textwrap import dedent

import pytest
from dreaming import begun, dreamt, known, reasons, seen
from tidying import by_hand, fill

from langmem_tiers import Memory, Turn
from langmem_tiers.background.dreaming import DreamJob
from langmem_tiers.dream import apply
from langmem_tiers.dream.types import (
    AntiPattern,
    Decision,
    DreamReport,
    InferredPreference,
    MergeEntities,
    MergeEntries,
    RefineEntry,
    RetireEntry,
    Synthesis,
    WithdrawRelation,
)
from langmem_tiers.errors import LeaseLost
from langmem_tiers.knowledge_graph.entities import NamedEntity, upsert_entity
from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.records import Authority, Evidence
from langmem_tiers.settings import DreamSettings, Settings
from langmem_tiers.storage import change_log
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.testing import FrozenClock, ScriptedChatModel

TEA = "The user drinks green tea."
TEAS = "The user drinks a lot of green tea."
PORTO = "The user lives in Porto."


@pytest.fixture
def said(alice):
    """The numbers of three messages of the user."""
    texts = ("I drink green tea.", "Green tea again, please.", "No, I never said coffee!")
    alice.track([Turn(role="user", content=text) for text in texts], session="monday")
    return [drawer.number for drawer in alice.drawers()]


@pytest.fixture
def two(alice, clock, said):
    """Two entries on tea, saved a day apart."""
    first = known(alice, TEA, category="drinks", tags=["tea"], evidence=said[:1], origin="user")
    clock.tick(86_400)
    return first, known(alice, TEAS, category="drinks", tags=["habit"], evidence=said[1:2], origin="assistant")


def _merge(two, **given):
    return MergeEntries(sources=two, content="The user drinks much green tea.", path="rule", **given)


def _holder(alice, two):
    return alice.knowledge.get(alice.knowledge.get(two[0]).successor)


# Entries.


def test_a_merge_holds_instead_of_its_sources_with_all_their_evidence(alice, two, said, clock):
    report = dreamt(alice, _merge(two))
    holder = _holder(alice, two)
    assert (report.status, holder.content) == ("applied", "The user drinks much green tea.")
    assert {each.drawer for each in holder.evidence} == set(said[:2])
    assert holder.created_at == clock() - timedelta(days=1)
    assert set(holder.tags) == {"tea", "habit"}
    sources = [alice.knowledge.get(each) for each in two]
    assert [(each.active, each.reason, each.successor) for each in sources] == [(False, "consolidated", holder.id)] * 2


def test_a_merge_is_trusted_as_the_least_trusted_of_its_sources(alice, said):
    mine, theirs = known(alice, TEA, origin="user"), known(alice, TEAS, origin="tool")
    dreamt(alice, _merge((mine, theirs)))
    holder = _holder(alice, (mine, theirs))
    assert (holder.origin, holder.authority) == ("tool", alice.knowledge.get(theirs).authority)


def test_entries_of_two_projects_are_not_merged(alice):
    here, there = known(alice, TEA, project="a"), known(alice, TEAS, project="b")
    assert reasons(dreamt(alice, _merge((here, there)))) == ["The entries are not of one project."]
    assert alice.knowledge.get(here).active


def test_what_was_retired_is_kept_and_found_no_more(alice, two):
    dreamt(alice, RetireEntry(id=two[0], successor=two[1], why="twice"))
    entry = alice.knowledge.get(two[0])
    assert (entry.active, entry.content, entry.successor) == (False, TEA, two[1])
    assert [found.entry.id for found in alice.knowledge.search("green tea")] == [two[1]]


def test_a_source_that_is_retired_as_well_is_retired_once(alice, two):
    report = dreamt(alice, RetireEntry(id=two[0]), _merge(two))
    assert (reasons(report), alice.knowledge.get(two[0]).version) == ([], 2)


def test_an_entry_that_gave_way_gives_way_to_what_its_successor_became(alice, two):
    third = known(alice, "The user has a tea pot.")
    dreamt(alice, RetireEntry(id=third, successor=two[0]), _merge(two))
    assert alice.knowledge.get(third).successor == _holder(alice, two).id


def test_a_refined_entry_has_another_category_and_other_tags(alice, two):
    dreamt(alice, RefineEntry(id=two[0], category="Habits/Drinks", tags=("green",)))
    entry = alice.knowledge.get(two[0])
    assert (entry.category, entry.tags, entry.content, entry.version) == ("habits/drinks", ("green",), TEA, 2)


def test_an_entry_that_changed_meanwhile_is_left_alone(alice, two):
    material = seen(alice)
    alice.knowledge.update(two[0], content="The user drinks black tea.", origin="user")
    report = dreamt(alice, _merge(two), RetireEntry(id=two[0]), RefineEntry(id=two[0], tags=()), material=material)
    assert report.status == "nothing"
    assert set(reasons(report)) == {f"entry {two[0]} has changed since the dream looked at it"}


def test_a_version_that_was_set_back_and_counted_up_again_is_another_one(alice, two):
    refined = dreamt(alice, RefineEntry(id=two[0], tags=("hot",)))
    material = seen(alice)
    alice.undo_dream(refined.id)
    alice.knowledge.update(two[0], content="The user drinks black tea.", origin="user")
    assert alice.knowledge.get(two[0]).version == 2
    report = dreamt(alice, RetireEntry(id=two[0]), material=material)
    assert reasons(report) == [f"entry {two[0]} has changed since the dream looked at it"]


def test_an_entry_that_was_deleted_or_never_seen_is_left_alone(alice, two):
    material = seen(alice)
    alice.knowledge.delete(two[0])
    later = known(alice, PORTO)
    report = dreamt(alice, RetireEntry(id=two[0]), RetireEntry(id=later), material=material)
    assert reasons(report) == [f"entry {two[0]} was deleted meanwhile", f"entry {later} was not looked at"]


def test_pinned_entries_and_corrections_are_untouchable_whatever_was_decided(alice, two):
    pinned = known(alice, PORTO, pinned=True)
    corrected = known(
        alice, "The user lives in Bergen.", corrects=known(alice, "The user lives in Oslo."), origin="user"
    )
    report = dreamt(alice, RetireEntry(id=pinned), RetireEntry(id=corrected))
    assert reasons(report) == [f"entry {pinned} is pinned", f"entry {corrected} is a correction by the user"]


def test_what_fails_leaves_nothing_of_itself_and_the_rest_is_carried_out(alice, two):
    report = dreamt(alice, _merge((*two, "000000000000")), RetireEntry(id=two[1]))
    assert (reasons(report), len(report.decision.accepted)) == (["entry 000000000000 was not looked at"], 1)
    assert [each.entry.id for each in alice.knowledge.search(status="all")] == [two[1], two[0]]


def test_what_was_deleted_or_put_aside_does_not_come_back(alice, two, said):
    alice.knowledge.delete(known(alice, "The user drinks much coffee."))
    aside = known(alice, "The user drinks much water.")
    alice.knowledge.deactivate(aside)
    cited = (Evidence(drawer=said[0]),)
    report = dreamt(
        alice,
        InferredPreference(content="The user drinks much coffee.", evidence=cited),
        InferredPreference(content="The user drinks much water.", evidence=cited),
    )
    assert reasons(report) == ["it was deleted", "it was put aside before: removed"]


def test_a_secret_in_what_was_decided_is_refused_alone(alice, two):
    secret = "The user's key is sk-proj-qwfpgjluyarstdhneiozxcvbkm0123456789QWFPEFGH."
    report = dreamt(alice, MergeEntries(sources=two, content=secret))
    assert report.status == "nothing"
    assert "secret" in reasons(report)[0]


# What is learnt.


def test_a_preference_says_that_it_is_inferred_and_that_the_agent_asks_first(alice, said):
    cited = (Evidence(drawer=said[0], quote="green tea"),)
    dreamt(alice, InferredPreference(content="The user wants tea to be paid.", evidence=cited, sensitive=True))
    [entry] = [found.entry for found in alice.knowledge.search(category="user-preferences/inferred")]
    assert (entry.metadata["source"], entry.metadata["requires_user_permission"]) == ("inferred", True)
    assert (entry.tags, entry.origin, entry.authority) == (("inferred",), "dream", Authority.SYSTEM)


def test_a_preference_that_is_known_rests_on_what_is_new_and_is_surer(alice, said, clock):
    first = InferredPreference(content="The user prefers green tea.", evidence=(Evidence(drawer=said[0]),))
    again = first.model_copy(update={"evidence": (Evidence(drawer=said[0]), Evidence(drawer=said[1]))})
    dreamt(alice, first)
    [before] = [found.entry for found in alice.knowledge.search(category="user-preferences")]
    clock.tick(60)
    dreamt(alice, again)
    entry = alice.knowledge.get(before.id)
    assert [each.drawer for each in entry.evidence] == said[:2]
    assert entry.metadata["confidence"] > before.metadata["confidence"]
    assert entry.updated_at == clock()
    assert reasons(dreamt(alice, again)) == [f"entry {entry.id} says so already"]


def test_a_mistake_that_was_corrected_again_is_counted(alice, said):
    content = "Don't offer coffee because the user drinks tea; instead offer tea."
    for drawer in said[1:]:
        dreamt(alice, AntiPattern(domain="drinks", content=content, evidence=(Evidence(drawer=drawer),)))
    [found] = alice.knowledge.search(category="anti-patterns/drinks")
    assert (found.entry.metadata, len(found.entry.evidence)) == ({"came_back": 1}, 2)


def test_what_the_user_made_of_a_preference_stays_theirs(alice, said):
    first = InferredPreference(content="The user prefers green tea.", evidence=(Evidence(drawer=said[0]),))
    dreamt(alice, first)
    [found] = alice.knowledge.search(category="user-preferences")
    mine = alice.knowledge.update(found.entry.id, pinned=True, metadata={"mine": 1}, origin="user")
    dreamt(alice, first.model_copy(update={"evidence": (Evidence(drawer=said[1]),)}))
    entry = alice.knowledge.get(mine.id)
    assert (entry.metadata, entry.version, len(entry.evidence)) == ({"mine": 1}, mine.version, 2)


def test_an_anti_pattern_has_its_domain_and_tag(alice, said):
    content = "Don't offer coffee because the user drinks tea; instead offer tea."
    dreamt(
        alice, AntiPattern(domain="drinks", content=content, evidence=(Evidence(drawer=said[2], quote="never said"),))
    )
    [found] = alice.knowledge.search(category="anti-patterns/drinks")
    assert (found.entry.content, found.entry.tags) == (content, ("anti-pattern",))


@pytest.mark.parametrize(
    ("drawer", "quote", "reason"),
    [(99, "", "drawer 99 does not stand"), (1, "coffee", "drawer 1 does not hold 'coffee'")],
)
def test_nothing_is_learnt_from_what_was_not_said(alice, said, drawer, quote, reason):
    cited = (Evidence(drawer=drawer, quote=quote),)
    assert reasons(dreamt(alice, InferredPreference(content=TEA, evidence=cited))) == [reason]
    assert reasons(dreamt(alice, AntiPattern(domain="x", content=TEA, evidence=()))) == ["it rests on nothing"]


# Episodes.


@pytest.fixture
def told(alice):
    """The ids of two episodes."""
    for session in ("tuesday", "wednesday"):
        alice.track([Turn(role="user", content=f"We planned the {session} trip.")], session=session)
        alice.archive.write(session, summary=f"The {session} trip to the lighthouse was planned.")
    return tuple(alice.archive.of_session(session)[0].id for session in ("tuesday", "wednesday"))


def test_a_synthesis_is_a_document_that_is_found_and_its_episodes_are_taken_up(alice, told, clock):
    dreamt(alice, Synthesis(text="## Project facts\n\n- A trip to the lighthouse.\n", episodes=told[:1]))
    path = "_system/dreaming/20260302-consolidated.md"
    assert [hit.path for hit in alice.documents.search("lighthouse trip")] == [path]
    assert [alice.archive.get(each).promoted_at for each in told] == [clock(), None]
    first = alice.documents.read(path)
    dreamt(alice, Synthesis(text="## Key decisions\n\n- By train.\n", episodes=told[1:]))
    second = alice.documents.read(path)
    assert second.content == first.content + "## Key decisions\n\n- By train.\n"
    assert (second.version > first.version, second.origin) == (True, "dream")


def test_recall_shows_the_statement_of_a_document_that_answers_and_none_that_a_message_makes(alice, told):
    lines = ("User: We planned the tuesday trip. (2026-03-02)", "The ferry to the lighthouse leaves at nine.")
    text = "".join(f"- {line}\n" for line in lines)
    dreamt(alice, Synthesis(text=f"# What stays\n\n## Project facts\n\n{text}", episodes=told))
    shown = alice.recall("When does the ferry to the lighthouse leave?")
    assert [each.text for each in shown.known if each.kind == "document"] == [lines[1]]
    assert "Project facts" not in shown.block
    alice.flush()
    assert alice.recall("Which tuesday trip was planned?").block.count("We planned the tuesday trip") == 1


def test_a_synthesis_of_what_is_gone_or_taken_up_is_refused(alice, told):
    material = seen(alice)
    dreamt(alice, Synthesis(text="One.", episodes=told[:1]), material=material)
    alice.archive.delete(told[1])
    report = dreamt(
        alice, Synthesis(text="Two.", episodes=told[:1]), Synthesis(text="Three.", episodes=told[1:]), material=material
    )
    assert reasons(report) == [
        f"episode {told[0]} is in another synthesis already",
        f"episode {told[1]} has changed since the dream looked at it",
    ]


# The graph.


@pytest.fixture
def people(alice, said):
    """Two people and a relation that rests on nothing, as the memory itself found them: ids."""
    by = {"origin": "system", "path": "rule", "authority": Authority.SYSTEM}
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        graph = GraphTransaction(connection, store.key, 1_000)
        lena, helena = (
            upsert_entity(graph, NamedEntity(name=name, type="person", **by)) for name in ("Lena Berg", "Helena Berg")
        )
        city = upsert_entity(graph, NamedEntity(name="Porto", type="place", **by))
        orphan = add_relation(graph, NewRelation(subject=lena, predicate="lives_in", object=city, **by)).relation
        rests = (Evidence(drawer=said[0], quote=""),)
        standing = add_relation(
            graph, NewRelation(subject=lena, predicate="visits", object=city, evidence=rests, **by)
        ).relation
    return lena.id, helena.id, orphan.id, standing.id


def test_two_entities_become_one_unless_somebody_said_that_they_are_two(alice, people):
    report = dreamt(alice, MergeEntities(source=people[1], target=people[0], why="one person"))
    assert (reasons(report), alice.graph.entity("Helena Berg").id) == ([], people[0])
    alice.graph.unmerge(alice.graph.merges()[0].id)
    assert "were said to be two" in reasons(dreamt(alice, MergeEntities(source=people[1], target=people[0])))[0]


def test_a_relation_that_rests_on_nothing_is_withdrawn_and_no_other(alice, people):
    report = dreamt(alice, *(WithdrawRelation(id=each) for each in people[2:]))
    assert reasons(report) == [f"relation {people[3]} rests on messages that stand"]
    assert [alice.graph.relation(each).withdrawn for each in people[2:]] == [True, False]


# One transaction, one dream at a time.


def test_a_preview_shows_what_would_change_and_changes_nothing(alice, two):
    memory, material = alice.memory, seen(alice)
    with memory.use(alice.name) as store, store.reading() as connection:
        before = change_log.head(connection, store.key)
    with memory.use(alice.name) as store:
        draft = begun(alice, decision=Decision(accepted=(_merge(two),)))
        report = apply.preview(store, material, draft, memory.settings, memory.clock(), passed=True)
        with store.reading() as connection:
            assert change_log.head(connection, store.key) == before
    assert [line[:7] for line in report.diff.splitlines()] == ["+ entry", "- entry", "- entry"]
    assert (len(report.decision.accepted), alice.dreams()) == (1, (report,))
    assert alice.knowledge.get(two[0]).active


def test_a_dream_is_listed_with_what_it_changed(alice, two):
    report = dreamt(alice, _merge(two))
    assert alice.dreams() == (report,)
    assert f"- entry {two[0]} {TEA} (consolidated, {_holder(alice, two).id} holds instead)" in report.diff


def test_the_turns_that_a_dream_read_are_not_read_again(alice, said):
    assert len(seen(alice).turns) == 3
    dreamt(alice)
    assert seen(alice).turns == ()


@pytest.fixture
def lease(alice, clock):
    """The lease of a dream in alice's space, for any holder."""
    with alice.memory.use(alice.name) as store:
        yield lambda holder: Lease(store.database, DREAM, holder, 300, clock)


def test_a_lease_has_one_holder_until_it_is_given_back(lease):
    first = lease("a").acquire()
    assert (first, lease("b").acquire()) == (1, None)
    lease("a").release(first)
    assert lease("b").acquire() == 2


def test_a_lease_of_somebody_who_died_runs_out_and_renewing_puts_that_off(lease, clock):
    first = lease("a").acquire()
    clock.tick(200)
    lease("a").renew(first)
    clock.tick(299)
    assert lease("b").acquire() is None
    clock.tick(1)
    assert lease("b").acquire() == 2
    with pytest.raises(LeaseLost):
        lease("a").renew(first)
    lease("a").release(first)
    assert lease("c").acquire() is None


def test_a_clock_that_jumps_back_makes_no_lease_eternal(lease, clock):
    lease("a").acquire()
    clock.tick(-86_400)
    assert lease("b").acquire() == 2


def test_a_dream_that_begins_while_another_waits_for_its_model_is_skipped(tmp_path, clock):
    options = {"embedder": None, "background": False, "clock": clock, "settings": by_hand()}
    beside = []

    def answer(_) -> str:
        with Memory.open(tmp_path / "other", **options) as other:
            beside.append(other.user("alice").dream().status)
        return "{}"

    with Memory.open(tmp_path / "other", model=ScriptedChatModel(responses=[answer]), **options) as memory:
        fill(memory.user("alice"))
        report = memory.user("alice").dream()
    assert (report.status in {"applied", "nothing"}, set(beside)) == (True, {"skipped"})


@pytest.mark.slow
def test_of_many_processes_at_once_one_dreams(alice, offline_environment):
    code = """
        import sys
        from langmem_tiers import Memory
        from langmem_tiers.storage.leases import DREAM, Lease
        with Memory.open(sys.argv[1], embedder=None, background=False) as memory, memory.use("users/alice") as store:
            sys.stdin.readline()
            print(Lease(store.database, DREAM, sys.argv[2], 300).acquire())
    """
    known(alice, TEA)
    command = [sys.executable, "-c", dedent(code), str(alice.memory.path)]
    piped = {"stdin": PIPE, "stdout": PIPE, "text": True, "env": offline_environment}
    processes = [Popen([*command, str(number)], **piped) for number in range(3)]
    assert sorted(process.communicate("go\n", timeout=120)[0] for process in processes) == ["1\n", "None\n", "None\n"]


def test_whoever_wakes_up_late_commits_nothing(alice, two, lease, clock):
    material = seen(alice, fence=lease("a").acquire())
    clock.tick(301)
    lease("b").acquire()
    with pytest.raises(LeaseLost):
        dreamt(alice, _merge(two), material=material)
    assert (alice.dreams(), alice.knowledge.get(two[0]).active) == ((), True)


def test_a_dream_beside_another_one_in_another_process_is_skipped(alice, two, lease, clock):
    lease("another process").acquire()
    with Memory.open(alice.memory.path, embedder=None, background=False, clock=clock) as other:
        report = other.user("alice").dream()
    assert (report.status, report.notes) == ("skipped", ("Another dream of this space is under way.",))
    assert alice.dreams() == ()


# By itself.


class Dreams:
    """Stands for what dreams: notes each and what came of it, as a dream would that takes no episode up."""

    def __init__(self, space):
        self.space, self.triggers = space, []

    def __call__(self, trigger) -> DreamReport:
        self.triggers.append(trigger)
        memory, material = self.space.memory, seen(self.space)
        report = begun(self.space, finished_at=memory.clock())
        with memory.use(self.space.name) as store:
            apply.keep_report(store, material, report)
        return report


@pytest.fixture
def passing(alice, clock):
    """One look of the background at alice's space, with settings of its own; the triggers of all dreams so far."""
    dreams = Dreams(alice)

    def look(**settings):
        with alice.memory.use(alice.name) as store:
            changed = alice.memory.settings.model_copy(update={"dream": DreamSettings(**settings)})
            context = replace(alice.memory.context(alice.name), settings=changed)
            each = DreamJob(context, store, dream=lambda _, trigger: dreams(trigger))
            each.step(lambda: False)
            with store.reading() as connection:
                look.due = each.due(connection)
        return dreams.triggers

    return look


def _episodes(alice, count):
    there = len(alice.sessions())
    for number in range(there, there + count):
        alice.track([Turn(role="user", content=f"We spoke of plan {number}.")], session=f"s{number}")
        alice.archive.write(f"s{number}", summary=f"Plan {number} was spoken of.")


def test_five_episodes_start_a_dream(alice, passing):
    _episodes(alice, 4)
    assert (passing(), passing.due) == ([], None)
    _episodes(alice, 1)
    assert passing() == ["episodes"]


def test_a_dream_that_came_to_nothing_is_not_dreamt_again_without_another_episode(alice, passing, clock):
    _episodes(alice, 5)
    passing()
    clock.tick(86_400)
    assert (passing(), passing.due) == (["episodes"], None)
    _episodes(alice, 1)
    assert passing() == ["episodes"] * 2


def test_a_space_rests_ten_minutes_between_two_dreams(alice, passing, clock):
    _episodes(alice, 5)
    passing()
    _episodes(alice, 5)
    clock.tick(599)
    assert passing() == ["episodes"]
    assert passing.due == int((clock() + timedelta(seconds=1)).timestamp() * 1000)
    clock.tick(1)
    assert passing() == ["episodes"] * 2


def test_a_clock_that_jumps_back_does_not_put_dreams_off(alice, passing, clock):
    _episodes(alice, 5)
    passing()
    clock.tick(-86_400 * 30)
    _episodes(alice, 5)
    assert passing() == ["episodes"] * 2


def test_an_interval_starts_a_dream_where_something_was_said_since(alice, passing, clock, said):
    assert passing(interval_hours=24) == []
    clock.tick(86_400)
    assert passing(interval_hours=24) == ["interval"]
    clock.tick(86_400)
    assert (passing(interval_hours=24), passing.due) == (["interval"], None)


def test_nothing_is_dreamt_where_that_is_off_or_another_dreams(alice, passing, lease, clock):
    _episodes(alice, 5)
    assert (passing(enabled=False), passing.due) == ([], None)
    lease("another process").acquire()
    assert passing() == []
    assert passing.due == int((clock() + timedelta(seconds=300)).timestamp() * 1000)


def test_a_dream_that_fails_is_not_tried_again_at_once(alice, clock):
    def broken(_, trigger):
        tries.append(clock())
        raise ZeroDivisionError

    tries = []
    _episodes(alice, 5)
    with alice.memory.use(alice.name) as store:
        each = DreamJob(alice.memory.context(alice.name), store, dream=broken)
        with pytest.raises(ZeroDivisionError):
            each.step(lambda: False)
        assert (each.step(lambda: False), len(tries)) == (False, 1)


def test_what_waits_for_its_end_is_looked_at_every_six_hours(alice, clock):
    known(alice, TEA, expires_at=clock() + timedelta(days=30))
    with alice.memory.use(alice.name) as store:
        assert alice.memory.jobs(store).seconds_to_next(store) == 6 * 3600


def test_what_ended_while_nobody_looked_goes_when_the_memory_is_opened(alice, clock):
    entry = known(alice, TEA, expires_at=clock() + timedelta(days=1))
    clock.tick(86_400 * 2)
    with Memory.open(alice.memory.path, embedder=None, clock=clock) as other:
        other.user("alice").stats()
        other.flush(30)
        assert other.user("alice").knowledge.get(entry).reason == "expired"


def test_flushing_lets_a_space_dream_that_has_enough_episodes(tmp_path):
    clock = FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    settings = Settings(dream=DreamSettings(episodes=2))
    with Memory.open(tmp_path, embedder=None, background=False, clock=clock, settings=settings) as memory:
        alice = memory.user("alice")
        _episodes(alice, 2)
        alice.flush()
        assert [report.trigger for report in alice.dreams()] == ["episodes"]


def test_every_space_dreams_by_hand(memory, alice):
    known(alice, TEA)
    known(memory.user("bob"), PORTO)
    assert {report.space for report in memory.dream(dry_run=True)} == {"users/alice", "users/bob"}
