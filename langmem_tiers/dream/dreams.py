"""The dreams of a space: dreaming, looking at what became of each, undoing and redoing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.dream import undoing
from langmem_tiers.dream.types import DreamReport
from langmem_tiers.storage import dreams as rows

if TYPE_CHECKING:
    from langmem_tiers.space import Space


def dream(space: Space, *, dry_run: bool) -> DreamReport:
    """See `Space.dream`."""
    from langmem_tiers.dream import flow

    report = flow.dream(space.memory, space.name, trigger="hand", dry_run=arguments.flag(dry_run, "dry_run"))
    if report.status == "applied":
        space.memory.wake(space.name)
    return report


def latest(space: Space, *, limit: int) -> tuple[DreamReport, ...]:
    """See `Space.dreams`."""
    most = arguments.whole(limit, "limit", least=1)
    with space.memory.use(space.name) as store, store.reading() as connection:
        return tuple(row.report for row in rows.latest(connection, store.key, most))


def undo(space: Space, dream_id: str) -> DreamReport:
    """See `Space.undo_dream`."""
    return _put_back(space, dream_id, undoing.undo)


def redo(space: Space, dream_id: str) -> DreamReport:
    """See `Space.redo_dream`."""
    return _put_back(space, dream_id, undoing.redo)


def _put_back(space: Space, dream_id: str, how: undoing.How) -> DreamReport:
    memory, named = space.memory, arguments.text(dream_id, "dream_id").strip().lower()
    with memory.use(space.name) as store:
        report = how(store, named, memory.clock(), memory.settings)
    memory.wake(space.name)
    return report
