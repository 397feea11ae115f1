"""Applies a decision in one transaction, with its changeset and the report of the dream.

A proposal that cannot be applied is refused with a reason; the rest is applied.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.dream.diff import diff
from langmem_tiers.dream.operations import OPERATIONS, Refused, Work
from langmem_tiers.dream.types import Decision, DreamReport, Material, Proposal, Rejected
from langmem_tiers.errors import AuthorityTooLow, InvalidInput, UnknownEntity, UnknownRelation
from langmem_tiers.knowledge import validation
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, changesets, dreams, leases
from langmem_tiers.storage.changesets import ChangedRecord, Recorder
from langmem_tiers.store import SpaceStore

_ORDER = {kind: place for place, kind in enumerate(OPERATIONS)}


class Applied(NamedTuple):
    """What was applied, what was refused after all, and the changed rows."""

    decision: Decision
    records: tuple[ChangedRecord, ...]


def apply(
    store: SpaceStore,
    material: Material,
    decision: Decision,
    settings: Settings,
    now: datetime,
    *,
    report: DreamReport | None = None,
) -> Applied:
    """Apply a decision.

    `report` is the dream's report so far (its id, trigger, cost, notes); it is stored with the decision as applied, the
    diff, and the status `applied` or `nothing`.

    Raises:
        LeaseLost: another dream has started since the material was gathered; nothing was written.
        StorageError: nothing was written.
    """
    with store.writing() as connection:
        leases.require(connection, store.key, material.fence)
        applied = _recorded(connection, store.key, material, decision, settings, now)
        draft = report or new_report(material, now)
        done = {
            "status": "applied" if applied.records else "nothing",
            "decision": applied.decision,
            "diff": diff(connection, store.key, applied.records),
            "finished_at": now,
        }
        number = put_report(connection, store.key, material, draft.model_copy(update=done))
        changesets.put(connection, store.key, number, applied.records)
        if applied.records:
            change_log.append(connection, store.key, "dream.applied", number, at=to_millis(now))
    return applied


def preview(
    store: SpaceStore, material: Material, decision: Decision, settings: Settings, now: datetime
) -> tuple[Applied, str]:
    """What `apply` would do, and its diff; writes nothing, and needs no lease."""
    with store.writing() as connection:
        applied = _recorded(connection, store.key, material, decision, settings, now)
        shown = diff(connection, store.key, applied.records)
        connection.rollback()
    return applied, shown


def keep_report(store: SpaceStore, material: Material, report: DreamReport) -> None:
    """Store the report of a dream that changed nothing: gated, failed, or without proposals.

    Raises:
        LeaseLost: another dream has started since; this report is not stored.
    """
    with store.writing() as connection:
        leases.require(connection, store.key, material.fence)
        put_report(connection, store.key, material, report)


def put_report(connection: Connection, space: str, material: Material, report: DreamReport) -> int:
    """Store the report of a dream; returns its number. The turns it read are not read again, whatever the outcome."""
    kept = report.model_dump(mode="json")
    seen = dreams.Seen(fence=material.fence, position=material.position, turns_upto=material.turns_upto)
    return dreams.put(connection, space, kept, seen)


def new_report(material: Material, now: datetime) -> DreamReport:
    """The report of a dream that starts."""
    return DreamReport(id=validation.new_id(), space=material.space, status="nothing", started_at=now)


def carry_out(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Decision:
    """Apply a decision in the caller's transaction; returns what was accepted in the end, and what was refused."""
    work = Work(connection, space, material, settings, now)
    refused: dict[int, str] = {}
    for place in sorted(range(len(decision.accepted)), key=lambda place: _ORDER[decision.accepted[place].kind]):
        reason = _attempt(work, decision.accepted[place])
        if reason is not None:
            refused[place] = reason
    kept = tuple(each for place, each in enumerate(decision.accepted) if place not in refused)
    rejected = (Rejected(proposal=decision.accepted[place], reason=refused[place]) for place in sorted(refused))
    return Decision(accepted=kept, rejected=(*decision.rejected, *rejected))


def _recorded(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Applied:
    with Recorder(connection, space) as recorder:
        done = carry_out(connection, space, material, decision, settings, now)
    return Applied(done, recorder.records)


def _attempt(work: Work, proposal: Proposal) -> str | None:
    """Apply one proposal completely or not at all; returns the reason if it was refused."""
    before = set(work.own)
    try:
        with work.connection.begin_nested():
            OPERATIONS[proposal.kind](work, proposal)
    except Refused as refusal:
        reason = str(refusal)
    except (InvalidInput, AuthorityTooLow, UnknownEntity, UnknownRelation) as error:
        reason = error.message
    else:
        return None
    work.own = before
    return reason
