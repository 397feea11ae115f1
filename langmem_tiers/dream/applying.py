"""Carrying out what was decided: one transaction, of which every row that it changes is kept.

Nothing is written over that has changed since the dream looked at it, and what can not be done is refused with its
reason, by itself: the rest is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.dream import diff, lease, work_entries, work_graph, work_learnt
from langmem_tiers.dream.changeset import Recorder
from langmem_tiers.dream.types import ChangedRecord, Decision, DreamReport, Material, Proposal, Rejected
from langmem_tiers.dream.work import Refused, Work
from langmem_tiers.errors import AuthorityTooLow, InvalidInput, UnknownEntity, UnknownRelation
from langmem_tiers.knowledge import checks
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, dreams
from langmem_tiers.storage.store import SpaceStore


class Applied(NamedTuple):
    """What was carried out, what was not after all, and the rows that changed."""

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
    """Carry out a decision, in one transaction with the changeset and the report.

    `report` is what is known of the dream so far (its id, trigger, cost, notes); it is kept with the decision as it was
    carried out, the diff, and `applied` or `nothing` as its status.

    Raises:
        LeaseLost: another dream has begun since the material was gathered; nothing was written.
        StorageError: nothing was written.
    """
    with store.writing() as connection:
        lease.require(connection, store.key, material.fence)
        applied = _recorded(connection, store.key, material, decision, settings, now)
        draft = report or new_report(material, now)
        done = {
            "status": "applied" if applied.records else "nothing",
            "decision": applied.decision,
            "diff": diff.render(connection, store.key, applied.records),
            "finished_at": now,
        }
        number = dreams.put(connection, store.key, draft.model_copy(update=done), material)
        dreams.put_changes(connection, store.key, number, applied.records)
        if applied.records:
            change_log.append(connection, store.key, "dream.applied", number, at=to_millis(now))
    return applied


def preview(
    store: SpaceStore, material: Material, decision: Decision, settings: Settings, now: datetime
) -> tuple[Applied, str]:
    """What `apply` would do, and its diff; nothing is written, and no lease is needed."""
    with store.writing() as connection:
        applied = _recorded(connection, store.key, material, decision, settings, now)
        shown = diff.render(connection, store.key, applied.records)
        connection.rollback()
    return applied, shown


def note(store: SpaceStore, material: Material, report: DreamReport) -> None:
    """Keep the report of a dream that changed nothing: gated, failed, or without anything to do.

    Raises:
        LeaseLost: another dream has begun since; this one is not kept.
    """
    with store.writing() as connection:
        lease.require(connection, store.key, material.fence)
        dreams.put(connection, store.key, report, material)


def new_report(material: Material, now: datetime) -> DreamReport:
    """The report of a dream that begins."""
    return DreamReport(id=checks.new_id(), space=material.space, status="nothing", started_at=now)


def carry_out(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Decision:
    """Carry out a decision in the caller's transaction; what was accepted in the end, and what not."""
    return _run(Work(connection, space, material, settings, now), decision)


def _recorded(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Applied:
    with Recorder(connection, space) as recorder:
        done = carry_out(connection, space, material, decision, settings, now)
    return Applied(done, recorder.records)


def _run(work: Work, decision: Decision) -> Decision:
    """Carry it out, what others depend on first."""
    refused: dict[int, str] = {}
    order = sorted(range(len(decision.accepted)), key=lambda place: _ORDER[decision.accepted[place].kind])
    for place in order:
        reason = _attempt(work, decision.accepted[place])
        if reason is not None:
            refused[place] = reason
    kept = tuple(each for place, each in enumerate(decision.accepted) if place not in refused)
    rejected = (Rejected(proposal=decision.accepted[place], reason=refused[place]) for place in sorted(refused))
    return Decision(accepted=kept, rejected=(*decision.rejected, *rejected))


def _attempt(work: Work, proposal: Proposal) -> str | None:
    """Carry out one proposal, or nothing of it; why not."""
    before = set(work.own)
    try:
        with work.connection.begin_nested():
            _HOW[proposal.kind](work, proposal)
    except Refused as refusal:
        reason = str(refusal)
    except (InvalidInput, AuthorityTooLow, UnknownEntity, UnknownRelation) as error:
        reason = error.message
    else:
        return None
    work.own = before
    return reason


_HOW: Mapping[str, Callable[[Work, Any], None]] = {
    "merge": work_entries.merge,
    "retire": work_entries.retire,
    "refine": work_entries.refine,
    "anti_pattern": work_learnt.avoid,
    "preference": work_learnt.prefer,
    "synthesis": work_graph.synthesize,
    "merge_entities": work_graph.merge_entities,
    "withdraw_relation": work_graph.withdraw_relation,
    "close_windows": work_graph.close_windows,
}
_ORDER = {kind: place for place, kind in enumerate(_HOW)}
