"""Forgetting messages and entries with all that rests on them: a preview, and the deletion when it is confirmed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import READ_ONLY, ForgetChanged, ReadOnlyForMembers, StorageError
from langmem_tiers.forgetting import traces
from langmem_tiers.forgetting.plan import Plan, plan
from langmem_tiers.forgetting.preview import preview_of
from langmem_tiers.forgetting.purge import purge
from langmem_tiers.forgetting.removal import carry_out
from langmem_tiers.forgetting.selection import Chosen, Selection, choose, query_vector
from langmem_tiers.forgetting.traces import Others, Traces
from langmem_tiers.forgetting.types import LISTS, ForgetPreview, ForgetReceipt
from langmem_tiers.listeners import notify
from langmem_tiers.storage import activities, change_log, forgetting, purging
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.records import Activity
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.store import SpaceStore

log = logging.getLogger(__name__)

ACTIVITY = "memory_forgotten"
_CHECKPOINTS = (
    "LangGraph checkpoints of these sessions still hold the messages: checkpointer.delete_thread(thread_id) for {names}"
)
_HOST = "logs of the host program, and what its model provider keeps"
_MOST_SESSIONS = 20


def preview(context: SpaceContext, selection: Selection) -> ForgetPreview:
    """What would go; nothing changes.

    Raises:
        ReadOnlyForMembers: whoever it is for may only read the space.
        MemoryTiersError: the selection is invalid; see `query_vector` and `choose`.
    """
    vector = query_vector(context, selection)
    with context.open() as store:
        _require_writable(store)
        with store.reading() as connection:
            _, planned = _planned(context, store, connection, selection, vector)
            return preview_of(connection, store.key, planned)


def forget(context: SpaceContext, selection: Selection, confirm: str | bool) -> ForgetReceipt:
    """Delete what a selection means, in one transaction, and have the bytes erased.

    Raises:
        ForgetChanged: `confirm` is a token, and what would go is no longer what it stands for.
        ReadOnlyForMembers: whoever it is for may only read the space.
        MemoryTiersError: the selection is invalid; see `query_vector` and `choose`.
        StorageError: nothing was deleted.
    """
    vector = query_vector(context, selection)
    now = to_millis(context.now)
    with context.open() as store:
        _require_writable(store)
        # It takes longer to find what goes than to delete it, so that is done before taking the write lock.
        with store.reading() as connection:
            head = change_log.head(connection, store.key)
            chosen, planned = _planned(context, store, connection, selection, vector)
        with store.writing() as connection:
            if change_log.head(connection, store.key) != head:
                chosen, planned = _planned(context, store, connection, selection, vector)
            planned = planned.on(store, connection)
            seen = preview_of(connection, store.key, planned)
            if confirm is not True and confirm != seen.token:
                raise ForgetChanged("What would be forgotten is not what this token stands for.")
            vectors = carry_out(connection, store.key, planned, sorted(chosen.entities), context.settings, now)
            activity = _noted(connection, store.key, seen, vectors, now)
            # Not before: the number of the newest activity would be used twice.
            forgetting.drop_activities(connection, store.key, planned.rewritten.activities)
            if chosen != Chosen():
                traces.note(connection, store.key, _traces(planned, seen))
                purging.request(connection, store.key, at=now, now=True)
        notify(context.listeners, activity)
        done, others = finish(context, store, now)
    return ForgetReceipt(
        id=activity.number,
        at=from_millis(now),
        space=context.name,
        counts=dict(activity.body["counts"]),
        stays=len(seen.stays),
        bytes="gone" if done else "pending",
        elsewhere=(
            *_elsewhere(seen),
            *context.backend.unerased,
            *others.named("the background goes on until it is reached"),
        ),
    )


def finish(context: SpaceContext, store: SpaceStore, now: int) -> tuple[bool, Others]:
    """Clear other spaces of what was deleted here, and erase its bytes; False if the background has to go on."""
    try:
        others, cleared = traces.clear(store, context.backend, now), True
    except StorageError as error:
        say(log, logging.WARNING, "traces_wait", space=context.name, error=error, reason=error)
        others, cleared = Others(), False
    purged = purge(store, context.closing)
    return purged and cleared and not others.unreached, others


def _traces(planned: Plan, seen: ForgetPreview) -> Traces:
    refs = tuple(item.ref for name in ("entries", "episodes", "documents", "relations") for item in getattr(seen, name))
    return Traces(sorted(planned.drawers), refs)


def _planned(
    context: SpaceContext, store: SpaceStore, connection: Connection, selection: Selection, vector: Vectors | None
) -> tuple[Chosen, Plan]:
    chosen = choose(context, store, connection, selection, vector)
    return chosen, plan(store, connection, chosen, context.settings, to_millis(context.now))


def _require_writable(store: SpaceStore) -> None:
    if not store.writable:
        raise ReadOnlyForMembers(READ_ONLY, way_out="Have a leader of the team forget it there.")


def _noted(connection: Connection, space: str, seen: ForgetPreview, vectors: int, now: int) -> Activity:
    """Record what was forgotten, in numbers only."""
    counts = {name: len(getattr(seen, name)) for name in LISTS}
    counts |= {"receipts": seen.receipts, "dreams": seen.dreams, "vectors": vectors}
    return activities.append(connection, space, ACTIVITY, {"counts": counts, "stays": len(seen.stays)}, at=now)


def _elsewhere(seen: ForgetPreview) -> tuple[str, ...]:
    named = ", ".join(seen.sessions[:_MOST_SESSIONS])
    more = f" and {len(seen.sessions) - _MOST_SESSIONS} more" if len(seen.sessions) > _MOST_SESSIONS else ""
    return (*((_CHECKPOINTS.format(names=named + more),) if named else ()), _HOST)
