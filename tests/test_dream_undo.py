"""Undoing a dream: every row is as it was, whatever follows the records sees it, and later changes are not lost."""

import asyncio
import random
import sys
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from conftest import ROOT
from dreaming import begun, dreamt, known, seen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from tidying import by_hand, fill

from langmem_tiers import Memory, Turn
from langmem_tiers.dream import apply
from langmem_tiers.dream.types import (
    InferredPreference,
    MergeEntities,
    MergeEntries,
    RefineEntry,
    RetireEntry,
    Synthesis,
)
from langmem_tiers.errors import DreamConflict, InvalidInput, UnknownDream
from langmem_tiers.knowledge import likeness
from langmem_tiers.knowledge_graph.entities import NamedEntity, upsert_entities
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.records import Authority, Evidence
from langmem_tiers.storage import changesets, dreams, entries
from langmem_tiers.storage.changesets import TABLES, recording
from langmem_tiers.testing import FrozenClock, HashEmbedder
from tests import engines

sys.path.append(str(ROOT / "benchmarks"))
import dream_making
from dream_kill_test import failures, kill
from dream_undo import Counts, run

TEA = "The user drinks green tea."
TEAS = "The user drinks a lot of green tea."
MERGED = "The user drinks much green tea in Porto."
NOTED = {"folder": "sqlite_temp_schema WHERE name LIKE 'note%'", "postgres": "noted"}[engines.ENGINE]
"""Where what is recorded of changes would still be found."""


@pytest.fixture
def two(alice, clock):
    """Two entries on tea that rest on messages."""
    alice.track([Turn(role="user", content=text) for text in ("I drink tea.", "Tea again.")], session="monday")
    ids = known(alice, TEA, evidence=[1], origin="user"), known(alice, TEAS, evidence=[2])
    clock.tick(60)
    return ids


@pytest.fixture
def merged(alice, two, clock):
    """The report of a dream that merged the two."""
    report = dreamt(alice, MergeEntries(sources=two, content=MERGED))
    clock.tick(60)
    return report


@pytest.fixture
def older(monkeypatch):
    """A version that knew another likeness of entries, until it is called."""
    with monkeypatch.context() as patch:
        patch.setattr(likeness, "_VERSION", "0")
        patch.setattr(likeness, "wording", lambda _: SimpleNamespace(likeness="older"))
        yield patch.undo


def _dump(space):
    with space.memory.use(space.name) as store:
        return dream_making.dump(store)


def _holder(alice, two):
    return alice.knowledge.get(alice.knowledge.get(two[0]).successor)


def test_a_dream_of_an_older_version_is_undone_and_what_comes_back_is_found_by_what_says_the_same(
    older, alice, merged, two, clock
):
    older()
    alice.knowledge.save("The user spent August in Porto.")  # indexes the entries by the likeness of today
    clock.tick(60)
    alice.undo_dream(merged.id)
    assert alice.knowledge.save("The user is drinking green tea.").entry.id == two[0]


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_any_dream_is_undone_and_done_again_byte_for_byte(seed):
    rng, clock = random.Random(seed), FrozenClock(datetime(2026, 3, 2, 9, tzinfo=UTC))
    with TemporaryDirectory() as folder, dream_making.opened(folder, clock) as memory:
        space = memory.user("alice")
        dream_making.fill(space, rng, size=8)
        with memory.use(space.name) as store:
            states, ids = [_dump(space)], []
            for _ in range(3):
                clock.tick(60)
                material = dream_making.material(store, clock())
                draft = begun(space, decision=dream_making.decision(store, material, rng))
                if apply.apply(store, material, draft, memory.settings, clock()).records:
                    ids.append(draft.id)
                    states.append(_dump(space))
            for dream_id, state in zip(ids[::-1], states[-2::-1], strict=True):
                space.undo_dream(dream_id)
                assert _dump(space) == state
            for dream_id, state in zip(ids, states[1:], strict=True):
                space.redo_dream(dream_id)
                assert _dump(space) == state


def test_a_whole_dream_by_rule_is_undone_and_done_again(tmp_path, clock):
    options = {"embedder": HashEmbedder(), "background": False, "clock": clock, "settings": by_hand()}
    with Memory.open(tmp_path / "other", **options) as memory:
        alice = memory.user("alice")
        fill(alice)
        before = _dump(alice)
        report = alice.dream()
        after = _dump(alice)
        assert (report.status, after == before) == ("applied", False)
        alice.undo_dream(report.id)
        assert _dump(alice) == before
        alice.redo_dream(report.id)
        assert _dump(alice) == after


def test_search_and_recall_see_the_old_state_again(alice):
    report = dreamt(alice, MergeEntries(sources=(known(alice, TEA), known(alice, TEAS)), content=MERGED))
    asked = "Does the user drink green tea in Porto?"
    alice.flush()
    assert [found.entry.content for found in alice.knowledge.search(asked)] == [MERGED]
    assert MERGED in alice.recall(asked, keep_receipt=False).block
    alice.undo_dream(report.id)
    assert {found.entry.content for found in alice.knowledge.search(asked)} == {TEA, TEAS}
    alice.flush()
    block = alice.recall(asked, keep_receipt=False).block
    assert (MERGED in block, TEA in block) == (False, True)
    assert [finding for finding in alice.doctor() if finding.level == "problem"] == []


def test_a_document_that_goes_is_found_no_more_and_its_episodes_wait_again(alice):
    alice.track([Turn(role="user", content="We planned a trip.")], session="monday")
    episode = alice.archive.write("monday", summary="A trip was planned.")
    report = dreamt(alice, Synthesis(text="## Plans\n\n- The lighthouse.\n", episodes=(episode.id,)))
    assert alice.documents.search("lighthouse")
    alice.undo_dream(report.id)
    assert (alice.documents.search("lighthouse"), alice.documents.list("_system")) == ((), ())
    assert [each.id for each in seen(alice).episodes] == [episode.id]


def test_merged_entities_are_two_again_in_the_graph(alice):
    by = {"origin": "system", "path": "rule", "authority": Authority.SYSTEM}
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        graph = GraphTransaction(connection, store.key, 1)
        lena, helena = upsert_entities(graph, [NamedEntity(name=each, **by) for each in ("Lena Berg", "Helena Berg")])
    assert alice.graph.entity("Helena Berg").id == helena.id
    report = dreamt(alice, MergeEntities(source=helena.id, target=lena.id))
    assert alice.graph.stats().merged == 1
    alice.undo_dream(report.id)
    assert (alice.graph.stats().merged, alice.graph.entity("Helena Berg").id) == (0, helena.id)
    assert len(alice.graph.networkx()) == 2


def test_what_was_changed_later_is_named_and_nothing_is_put_back(alice, two, merged):
    holder = _holder(alice, two)
    alice.knowledge.update(holder.id, content="The user drinks black tea.", origin="user")
    before = _dump(alice)
    with pytest.raises(DreamConflict) as conflict:
        alice.undo_dream(merged.id)
    assert f"entry {holder.id}" in conflict.value.records
    assert holder.id in str(conflict.value)
    assert (_dump(alice), alice.dreams()[0].status) == (before, "applied")


def test_evidence_that_came_later_is_not_lost_by_undoing(alice, two, merged):
    holder = _holder(alice, two)
    alice.track([Turn(role="user", content="Green tea in Porto!")], session="friday")
    known(alice, MERGED, evidence=[3])
    with pytest.raises(DreamConflict) as conflict:
        alice.undo_dream(merged.id)
    assert conflict.value.records == (f"entry {holder.id}",)


def test_an_entry_that_gave_way_to_a_merged_one_later_stands_in_the_way(alice, two, merged):
    later = known(alice, "The user has a tea pot.")
    alice.knowledge.deactivate(later, successor=_holder(alice, two).id)
    with pytest.raises(DreamConflict) as conflict:
        alice.undo_dream(merged.id)
    assert conflict.value.records == (f"entry {later}",)


def test_what_somebody_brought_back_by_hand_stands_in_the_way(alice, two, merged):
    alice.knowledge.reactivate(two[0])
    with pytest.raises(DreamConflict) as conflict:
        alice.undo_dream(merged.id)
    assert f"entry {two[0]}" in conflict.value.records


def test_what_recalls_have_counted_since_is_no_conflict_and_stays(alice, two, clock):
    report = dreamt(alice, RefineEntry(id=two[0], tags=("hot",)))
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        entries.count_recalled(connection, store.key, [two[0]], 5_000)
    alice.undo_dream(report.id)
    entry = alice.knowledge.get(two[0])
    assert (entry.tags, entry.version, entry.recall_count) == ((), 1, 1)
    alice.redo_dream(report.id)
    entry = alice.knowledge.get(two[0])
    assert (entry.tags, entry.version, entry.recall_count) == (("hot",), 2, 1)


def test_a_dream_is_undone_once_and_done_again_once(alice, merged, clock):
    report = alice.undo_dream(merged.id)
    assert (report.status, report.undone_at) == ("undone", clock())
    with pytest.raises(InvalidInput, match=f"Dream {merged.id} was undone already"):
        alice.undo_dream(merged.id)
    assert alice.redo_dream(merged.id) == merged
    with pytest.raises(InvalidInput, match=f"Dream {merged.id} was not undone"):
        alice.redo_dream(merged.id)


def test_a_dream_that_was_undone_is_not_done_again_over_later_changes(alice, two, merged):
    alice.undo_dream(merged.id)
    alice.knowledge.update(two[1], category="drinks")
    with pytest.raises(DreamConflict) as conflict:
        alice.redo_dream(merged.id)
    assert f"entry {two[1]}" in conflict.value.records
    assert alice.knowledge.get(two[0]).active


def test_only_what_changed_something_can_be_undone(alice, two):
    nothing = dreamt(alice, RetireEntry(id="000000000000"))
    with pytest.raises(InvalidInput, match="changed nothing"):
        alice.undo_dream(nothing.id)
    with pytest.raises(UnknownDream):
        alice.undo_dream("no such dream")
    with pytest.raises(UnknownDream):
        alice.memory.user("bob").undo_dream(nothing.id)


def test_of_two_dreams_on_the_same_records_the_later_one_goes_first(alice, two):
    first = dreamt(alice, RefineEntry(id=two[0], tags=("one",)))
    second = dreamt(alice, RefineEntry(id=two[0], tags=("two",)))
    with pytest.raises(DreamConflict):
        alice.undo_dream(first.id)
    alice.undo_dream(second.id)
    alice.undo_dream(first.id)
    assert (alice.knowledge.get(two[0]).tags, alice.knowledge.get(two[0]).version) == ((), 1)


def test_a_dream_on_other_records_does_not_stand_in_the_way(alice, two):
    first = dreamt(alice, RefineEntry(id=two[0], tags=("one",)))
    dreamt(alice, RefineEntry(id=two[1], tags=("two",)))
    alice.undo_dream(first.id)
    assert [alice.knowledge.get(each).tags for each in two] == [(), ("two",)]


def test_evidence_alone_is_taken_back(alice, two):
    preference = InferredPreference(content="The user prefers tea.", evidence=(Evidence(drawer=1),))
    dreamt(alice, preference)
    before = _dump(alice)
    report = dreamt(alice, preference.model_copy(update={"evidence": (Evidence(drawer=2),)}))
    assert "1 more in evidence" in report.diff
    alice.undo_dream(report.id)
    assert _dump(alice) == before


def test_the_words_of_what_was_deleted_are_forgotten_with_the_dream(alice, two, merged):
    refused = dreamt(alice, MergeEntries(sources=(two[0], "000000000000"), content=TEA))
    other = dreamt(alice, RefineEntry(id=known(alice, "The user lives in Porto."), tags=("city",)))
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        dreams.forget(connection, store.key, [two[0]])
        assert changesets.of_dream(connection, store.key, 1) == ()
    kept = {report.id: report.model_dump_json() for report in alice.dreams()}
    assert not any(words in kept[each.id] for each in (merged, refused) for words in (TEA, MERGED))
    assert "Porto" in kept[other.id]
    with pytest.raises(DreamConflict, match="deleted for good"):
        alice.undo_dream(merged.id)
    alice.undo_dream(other.id)


def test_every_write_of_a_transaction_is_recorded_and_nothing_after_it(alice, two):
    with alice.memory.use(alice.name) as store:
        with store.writing() as connection, recording(connection, store.key) as changed:
            for name in TABLES:
                connection.exec_driver_sql(f"DELETE FROM {name}")
        known(alice, TEA)
        with store.writing() as connection:
            left = connection.execute(text(f"SELECT count(*) FROM {NOTED}")).scalar()
    assert {record.table for record in changed} == {"entries", "entry_evidence", "notes"}
    assert all(record.after is None for record in changed)
    assert left == 0


def test_a_change_that_is_taken_back_at_once_is_none(alice, two):
    with alice.memory.use(alice.name) as store, store.writing() as connection:
        with recording(connection, store.key) as changed:
            connection.exec_driver_sql("UPDATE entries SET category = category || 'x'")
            connection.exec_driver_sql("UPDATE entries SET category = rtrim(category, 'x')")
        assert changed == []


def test_a_proposal_with_half_a_character_is_kept_in_the_report(alice, two):
    broken = MergeEntries(sources=two, content="half \ud83d of it")
    report = dreamt(alice, broken)
    assert (report.status, report.decision.rejected[0].proposal) == ("nothing", broken)


def test_both_colours_agree(alice, merged):
    assert asyncio.run(alice.aundo_dream(merged.id)).status == "undone"
    assert asyncio.run(alice.aredo_dream(merged.id)).status == "applied"
    assert asyncio.run(alice.adreams()) == alice.dreams()


@pytest.mark.slow
def test_the_figures_of_undoing_are_made():
    counts = Counts()
    run(1, 2, 8, counts)
    assert (counts.dreams, counts.undone_same, counts.redone_same, counts.differ) == (2, 2, 2, [])


@pytest.mark.slow
@pytest.mark.folder
def test_a_process_that_is_killed_while_it_dreams_leaves_the_old_state_or_the_new():
    counts = kill(6, 8, seed=1)
    assert (counts.kills, counts.old + counts.new >= 6, failures(counts)) == (6, True, 0)
