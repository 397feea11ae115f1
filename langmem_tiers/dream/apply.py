"""Applies a decision in one transaction, with its changeset and the report of the dream.

A proposal that cannot be applied is refused with a reason; the rest is applied.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.dream.diff import diff
from langmem_tiers.dream.operations import OPERATIONS, DreamTransaction
from langmem_tiers.dream.types import Decision, DreamReport, Material, Proposal, ProposalRefused, Rejected
from langmem_tiers.errors import AuthorityTooLow, InvalidInput, UnknownEntity, UnknownRelation
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, changesets, dreams, facts, leases
from langmem_tiers.storage.changesets import ChangedRecord, recording
from langmem_tiers.store import SpaceStore

_ORDER = {kind: place for place, kind in enumerate(OPERATIONS)}


class Applied(NamedTuple):
    """The report of a dream with what was applied and what was refused after all, and the changed rows."""

    report: DreamReport
    records: tuple[ChangedRecord, ...]


def apply(store: SpaceStore, material: Material, draft: DreamReport, settings: Settings, now: datetime) -> Applied:
    """Apply the decision of a dream's report, and store the report with what became of it.

    Raises:
        LeaseLost: another dream has started since the material was gathered; nothing was written.
        StorageError: nothing was written.
    """
    with store.writing() as connection:
        leases.require(connection, store.key, material.fence)
        applied = _applied(connection, store.key, material, draft, settings, now)
        number = put_report(connection, store.key, material, applied.report)
        changesets.put(connection, store.key, number, applied.records)
        if applied.records:
            dreams.drop_preview(connection, store.key)  # it showed changes to what was there before
            change_log.append(connection, store.key, "dream.applied", number, at=to_millis(now))
    return applied


def preview(
    store: SpaceStore, material: Material, draft: DreamReport, settings: Settings, now: datetime, *, passed: bool
) -> DreamReport:
    """What `apply` would do, kept with the rows that it would change, so that exactly these can be approved.

    Needs no lease. Nothing else of the space changes, but what would be added keeps its numbers: no other record gets
    them meanwhile.
    """
    with store.writing() as connection:
        attempt = connection.begin_nested()
        applied = _applied(connection, store.key, material, draft, settings, now)
        reached = facts.counters(connection, store.key)
        attempt.rollback()
        for name, counted in reached.items():
            facts.raise_to(connection, store.key, name, counted)
        report = applied.report.but(status="previewed" if passed else "gated")
        number = dreams.put_preview(connection, store.key, report.model_dump(mode="json"), _seen(material))
        changesets.put(connection, store.key, number, applied.records)
    return report


def attempted(store: SpaceStore, material: Material, draft: DreamReport, settings: Settings, now: datetime) -> Applied:
    """What `apply` would do now; writes nothing, and needs no lease."""
    with store.writing() as connection:
        applied = _applied(connection, store.key, material, draft, settings, now)
        connection.rollback()
    return applied


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
    return dreams.put(connection, space, report.model_dump(mode="json"), _seen(material))


def _seen(material: Material) -> dreams.Seen:
    return dreams.Seen(fence=material.fence, position=material.position, turns_upto=material.turns_upto)


def carry_out(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Decision:
    """Apply a decision in the caller's transaction; returns what was accepted in the end, and what was refused."""
    transaction = DreamTransaction(connection, space, material, settings, now)
    refused: dict[int, str] = {}
    for place in sorted(range(len(decision.accepted)), key=lambda place: _ORDER[decision.accepted[place].kind]):
        reason = _attempt(transaction, decision.accepted[place])
        if reason is not None:
            refused[place] = reason
    kept = tuple(each for place, each in enumerate(decision.accepted) if place not in refused)
    rejected = (Rejected(proposal=decision.accepted[place], reason=refused[place]) for place in sorted(refused))
    return Decision(accepted=kept, rejected=(*decision.rejected, *rejected))


def _applied(
    connection: Connection, space: str, material: Material, draft: DreamReport, settings: Settings, now: datetime
) -> Applied:
    with recording(connection, space) as changed:
        decision = carry_out(connection, space, material, draft.decision, settings, now)
    status = "applied" if changed else "nothing"
    told = diff(connection, space, changed)
    return Applied(draft.but(status=status, decision=decision, diff=told, finished_at=now), tuple(changed))


def _attempt(transaction: DreamTransaction, proposal: Proposal) -> str | None:
    """Apply one proposal completely or not at all; returns the reason if it was refused."""
    before = set(transaction.own)
    try:
        with transaction.connection.begin_nested():
            OPERATIONS[proposal.kind](transaction, proposal)
    except ProposalRefused as refusal:
        reason = str(refusal)
    except (InvalidInput, AuthorityTooLow, UnknownEntity, UnknownRelation) as error:
        reason = error.message
    else:
        return None
    transaction.own = before
    return reason
