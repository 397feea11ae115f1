"""What dreams changed is kept for so long; then they cannot be undone any more, and say so."""

import pytest
from dreaming import dreamt, known

from langmem_tiers import Memory
from langmem_tiers.dream.types import RetireEntry
from langmem_tiers.errors import DreamConflict
from tests.tidying import by_hand

DAY = 86_400


@pytest.fixture
def opened(tmp_path, clock):
    """Opens the same memory again and again, with settings of the dream."""
    memories = []

    def open_it(**dream):
        settings = by_hand(**dream)
        folder = tmp_path / "memory"
        memories.append(Memory.open(folder, embedder=None, background=False, clock=clock, settings=settings))
        return memories[-1].user("alice")

    yield open_it
    for memory in memories:
        memory.close()


def retired(space, text):
    """The report of a dream that put an entry aside."""
    return dreamt(space, RetireEntry(id=known(space, text)))


def rows(space) -> int:
    """How many rows are kept of what dreams changed."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM changesets").scalar()


def seconds_to_next(space) -> float | None:
    with space.memory.use(space.name) as store:
        return space.memory.jobs(store).seconds_to_next(store)


def test_what_a_dream_changed_is_dropped_after_90_days_and_its_report_stays(opened, clock):
    alice = opened()
    old = retired(alice, "The user hates coffee.")
    clock.tick(30 * DAY)
    new = retired(alice, "The user hates tea.")
    clock.tick(60 * DAY)
    alice.flush()
    alice.undo_dream(old.id)
    alice.redo_dream(old.id)
    clock.tick(1)
    alice.flush()
    with pytest.raises(DreamConflict, match=r"older than `Settings\.dream\.undo_days`"):
        alice.undo_dream(old.id)
    kept = {report.id: report for report in alice.dreams()}
    assert (kept[old.id].changes, kept[new.id].changes) == ("pruned", "kept")
    assert kept[old.id].model_dump(exclude={"changes"}) == old.model_dump(exclude={"changes"})
    alice.undo_dream(new.id)
    assert alice.knowledge.get(new.decision.accepted[0].id).active


def test_a_dream_that_was_undone_is_not_done_again_after_that(opened, clock):
    alice = opened()
    report = retired(alice, "The user hates coffee.")
    alice.undo_dream(report.id)
    clock.tick(91 * DAY)
    alice.flush()
    with pytest.raises(DreamConflict, match="undo_days"):
        alice.redo_dream(report.id)


def test_it_is_looked_at_every_six_hours_and_on_opening(opened, clock):
    alice = opened()
    retired(alice, "The user hates coffee.")
    assert seconds_to_next(alice) == 60  # until its words leave the keyword index
    clock.tick(60)
    alice.flush()
    assert seconds_to_next(alice) == 6 * 3600
    clock.tick(90 * DAY - 120)
    assert seconds_to_next(alice) == pytest.approx(60, abs=1)
    clock.tick(DAY)
    alice.memory.close()
    with Memory.open(alice.memory.path, embedder=None, clock=clock, settings=by_hand()) as memory:
        memory.user("alice").dreams()
        assert memory.flush(30)
        assert (rows(memory.user("alice")), seconds_to_next(memory.user("alice"))) == (0, None)


@pytest.mark.parametrize(("days", "left"), [(None, True), (1, False), (400, True)])
def test_how_long_is_a_setting(opened, clock, days, left):
    alice = opened(undo_days=days)
    retired(alice, "The user hates coffee.")
    clock.tick(398 * DAY)
    alice.flush()
    clock.tick(DAY)  # what is over a year late waits for a day: the clock may have been wrong
    alice.flush()
    assert bool(rows(alice)) == left
