"""Approves the preview of a dream: exactly the rows that it showed are written, or none.

Its proposals are judged and tried out once more on the space as it is now. If one of them would not be carried out any
more, or a row has changed since, the approval is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.dream import apply, decide, recall_gate, undo
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.run import report_end
from langmem_tiers.dream.types import Decision, DreamReport
from langmem_tiers.errors import DreamConflict, InvalidInput, UnknownDream
from langmem_tiers.storage import change_log, changesets, dreams, leases
from langmem_tiers.storage.dreams import DreamRow
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.store import SpaceStore
from langmem_tiers.wording import beginning

_AGAIN = "Make a new preview, and approve that."


def approve(context: SpaceContext, dream_id: str) -> DreamReport:
    """Apply a previewed dream, in one transaction and without asking a model; returns its updated report.

    Raises:
        UnknownDream: there is no dream with this id, or another preview has taken its place.
        InvalidInput: it is no preview, or it would change nothing.
        DreamConflict: the memory has changed since, or another dream is under way; nothing was changed.
    """
    named = arguments.text(dream_id, "dream_id").strip().lower()
    with context.open() as store:
        row = _waiting(store, named)
        report = DreamReport.model_validate(row.report)
        with _leased(context, store, report) as fence:
            _require_as_before(context, store, report)
            approved = _written(context, store, row, fence)
    report_end(approved)
    context.wake()
    return approved


def _waiting(store: SpaceStore, named: str) -> DreamRow:
    with store.reading() as connection:
        row = dreams.one(connection, store.key, named)
    if row is None:
        raise UnknownDream(
            f"There is no dream {beginning(named, 40)!a}.", way_out=f"It may have been replaced. {_AGAIN}"
        )
    status = row.report["status"]
    if status != "previewed":
        raise InvalidInput(f"Dream {named} is no preview ({status}).", way_out=_AGAIN)
    if not row.report["diff"] and row.report["changes"] == "kept":
        raise InvalidInput(f"Dream {named} would change nothing.", way_out="There is nothing to approve.")
    return row


@contextmanager
def _leased(context: SpaceContext, store: SpaceStore, report: DreamReport) -> Iterator[int]:
    """Keep other dreams of the space from starting."""
    lease = Lease(store.database, DREAM, report.id, context.settings.dream.lease_seconds, context.clock)
    fence = lease.acquire()
    if fence is None:
        raise DreamConflict("Another dream of this space is under way.", way_out="Approve this one when it has ended.")
    try:
        yield fence
    finally:
        lease.release(fence)


def _require_as_before(context: SpaceContext, store: SpaceStore, report: DreamReport) -> None:
    """Refuse a preview of which not everything would be carried out today.

    Raises:
        DreamConflict: so it is.
    """
    if report.changes != "kept":
        return  # refused in `_written`, with the reason
    now, settings, accepted = context.clock(), context.settings, report.decision.accepted
    material = gather(store, settings, now, 0)
    decision = decide.decide(material, accepted, settings)
    if not decision.rejected:
        decision = apply.attempted(store, material, report.but(decision=decision), settings, now).report.decision
    if not decision.rejected:
        decision = recall_gate.passing(context, store, material, Decision(accepted=accepted)).decision
    if decision.rejected:
        reasons = "; ".join(dict.fromkeys(each.reason for each in decision.rejected))
        raise DreamConflict(f"The memory has changed since dream {report.id} was previewed: {reasons}.", way_out=_AGAIN)


def _written(context: SpaceContext, store: SpaceStore, row: DreamRow, fence: int) -> DreamReport:
    """Write the rows of a preview as they were shown."""
    report, now = DreamReport.model_validate(row.report), context.clock()
    with store.writing() as connection:
        leases.require(connection, store.key, fence)
        records = changesets.of_dream(connection, store.key, row.number)
        undo.require_kept(report, records)
        undo.Restoring(connection, store.key, now, context.settings).restore(records, report.id)
        report = report.but(status="applied", finished_at=now)
        dreams.approve(connection, store.key, row, report.model_dump(mode="json"), fence=fence)
        change_log.append(connection, store.key, "dream.applied", row.number, at=to_millis(now))
    return report
