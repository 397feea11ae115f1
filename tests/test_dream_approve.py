"""A preview that is approved: exactly what it showed is applied, or nothing."""

import pytest
from dreaming import dump
from tidying import AT_WORK, ONE_JOB, by_hand, fill, known, tidying

from langmem_tiers import Memory, Turn
from langmem_tiers.errors import DreamConflict, InvalidInput, UnknownDream
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.testing import HashEmbedder

COMPLAINTS = (
    ("user", "Format my config, please."),
    ("assistant", "Done, I used tabs."),
    ("user", "Stop using tabs, use four spaces instead!"),
)


@pytest.fixture
def model():
    """A model that merges two entries."""
    return tidying()


@pytest.fixture
def alice(tmp_path, clock, model):
    """A space with entries to merge and retire, and a correction to learn from."""
    with Memory.open(
        tmp_path / "memory", embedder=HashEmbedder(), background=False, clock=clock, settings=by_hand(), model=model
    ) as memory:
        space = memory.user("alice")
        fill(space)
        space.track([Turn(role=role, content=text) for role, text in COMPLAINTS], session="tuesday")
        space.flush()
        clock.tick(60)
        yield space


@pytest.fixture
def two(alice):
    """The ids of two entries that are merged."""
    return [entry_id(alice, each) for each in AT_WORK]


def entry_id(space, text):
    return next(found.entry.id for found in space.knowledge.search(limit=100) if found.entry.content == text)


def test_what_is_approved_is_byte_for_byte_what_a_preview_showed(alice, two, clock):
    before = dump(alice)
    preview = alice.dream(dry_run=True)
    assert preview.status == "previewed"
    assert preview.diff
    assert dump(alice) == before
    clock.tick(3600)
    alice.knowledge.save("The user owns a green bicycle.")  # takes no number of the preview
    approved = alice.approve_dream(preview.id)
    assert (approved.status, approved.id, approved.diff) == ("applied", preview.id, preview.diff)
    assert approved.decision == preview.decision
    assert [(each.id, each.status) for each in alice.dreams()] == [(preview.id, "applied")]
    assert ONE_JOB in known(alice)
    alice.flush()
    assert "four spaces" in alice.recall("Tabs or four spaces in my config?", session="tuesday").block
    assert [each.message for each in alice.doctor() if each.level == "problem"] == []


def test_what_a_preview_no_longer_lists_since_its_words_were_deleted_is_not_applied(alice):
    said = alice.knowledge.save("The user said so.").entry  # as the reason of a proposal reads
    preview = alice.dream(dry_run=True)
    assert "the user said so" in [each.why for each in preview.decision.accepted]
    alice.knowledge.delete(said.id)
    assert len(alice.dream_report(preview.id).decision.accepted) < len(preview.decision.accepted)
    before = dump(alice)
    with pytest.raises(DreamConflict, match="deleted for good"):
        alice.approve_dream(preview.id)
    assert dump(alice) == before


def test_an_approved_dream_is_undone_and_redone_like_any_other(alice, two):
    before = dump(alice)
    report = alice.approve_dream(alice.dream(dry_run=True).id)
    after = dump(alice)
    alice.undo_dream(report.id)
    assert dump(alice) == before
    alice.redo_dream(report.id)
    assert dump(alice) == after


def test_no_model_is_asked_again(alice, two, model):
    preview = alice.dream(dry_run=True)
    asked = len(model.requests)
    alice.approve_dream(preview.id)
    assert len(model.requests) == asked > 0
    assert ONE_JOB in known(alice)


@pytest.mark.parametrize(
    "change",
    [
        lambda alice, two: alice.knowledge.update(two[0], content="The user drinks black tea.", origin="user"),
        lambda alice, two: alice.knowledge.update(two[1], pinned=True),
        lambda alice, two: alice.knowledge.delete(two[1]),
    ],
    ids=["edited", "pinned", "deleted"],
)
def test_a_memory_that_has_changed_since_refuses_it_and_stays_as_it_is(alice, two, change):
    preview = alice.dream(dry_run=True)
    change(alice, two)
    before = dump(alice)
    with pytest.raises(DreamConflict):
        alice.approve_dream(preview.id)
    assert dump(alice) == before


def test_a_question_kept_since_then_is_not_broken(alice, two):
    preview = alice.dream(dry_run=True)
    alice.golden.add("What does the user work as?", expects="works as an engineer")
    with pytest.raises(DreamConflict, match="recall would not answer"):
        alice.approve_dream(preview.id)
    assert known(alice) >= set(AT_WORK)


def test_the_next_dream_reads_what_a_preview_has_read_unless_it_was_approved(alice, two):
    alice.dream(dry_run=True)
    learnt = alice.dream()
    assert any(each.kind == "anti_pattern" for each in learnt.decision.accepted)


def test_only_the_last_preview_is_kept_until_a_dream_changes_something(alice, two):
    first, second = alice.dream(dry_run=True), alice.dream(dry_run=True)
    with pytest.raises(UnknownDream, match="no dream"):
        alice.approve_dream(first.id)
    applied = alice.dream()
    assert [each.id for each in alice.dreams()] == [applied.id]
    with pytest.raises(UnknownDream, match="replaced"):
        alice.approve_dream(second.id)


def test_what_is_no_preview_is_not_approved(alice, two):
    report = alice.dream()
    with pytest.raises(InvalidInput, match="no preview"):
        alice.approve_dream(report.id)
    nothing = alice.dream(dry_run=True)
    assert nothing.diff == ""
    with pytest.raises(InvalidInput, match="nothing"):
        alice.approve_dream(nothing.id)
    with pytest.raises(UnknownDream):
        alice.approve_dream("nope")


def test_nothing_is_approved_while_another_dream_is_under_way(alice, two):
    preview = alice.dream(dry_run=True)
    with alice.memory.use(alice.name) as store:
        Lease(store.database, DREAM, "another process", 300, alice.memory.clock).acquire()
    before = dump(alice)
    with pytest.raises(DreamConflict, match="under way"):
        alice.approve_dream(preview.id)
    assert dump(alice) == before


def test_forgetting_a_message_also_takes_its_words_out_of_a_preview(alice):
    preview = alice.dream(dry_run=True)
    assert "four spaces" in preview.diff
    which = max(each.number for each in alice.drawers())
    alice.forget(messages=[which], confirm=alice.forget(messages=[which]).token)
    assert "four spaces" not in alice.dreams()[0].model_dump_json()
    with pytest.raises(DreamConflict, match="deleted for good"):
        alice.approve_dream(preview.id)
