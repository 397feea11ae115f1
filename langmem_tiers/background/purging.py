"""Erases the bytes of what was deleted from the files: at once if somebody waits for it, else in a quiet moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import paused, to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.forgetting import traces
from langmem_tiers.forgetting.forget import finish
from langmem_tiers.storage import purging
from langmem_tiers.store import SpaceStore

# Milliseconds after the last deletion, and until the next attempt while another process is in the way.
_QUIET = 60_000
_AGAIN = 30_000


class _Look(NamedTuple):
    """When there is something to erase, None if never; whether that cannot wait, and was asked for by a deletion."""

    due: int | None
    urgent: bool = False
    requested: bool = True


@dataclass
class PurgeJob:
    """Follows deletions: the bytes that they left are erased, and the words of what was replaced from the index."""

    context: SpaceContext
    store: SpaceStore
    name: str = "purge"

    def due(self, connection: Connection) -> int | None:
        """When the files are rewritten next, None if they hold nothing that was deleted."""
        return self._look(connection).due

    def step(self, stop: Callable[[], bool]) -> bool:
        """Erase what can be erased now; False if nothing was."""
        with self.store.reading() as connection:
            look = self._look(connection)
        if look.due is None or (look.due > to_millis(self.context.clock()) and not look.urgent):
            return False
        if not look.requested:
            with self.store.writing() as connection:
                purging.purge_words(connection, self.store.key)
            return True
        return finish(self.context, self.store, to_millis(self.context.clock()))[0]

    def _look(self, connection: Connection) -> _Look:
        space, now = self.store.key, to_millis(self.context.clock())
        asked = purging.requests(connection, space)
        # Somebody waits for it, or another space still shows what was forgotten here.
        if asked.is_urgent or traces.is_left(connection, space):
            return _Look(now + _AGAIN, urgent=True)
        if asked.is_pending:
            return _Look(paused(purging.wanted_at(connection, space), _QUIET, now))
        replaced = purging.notes_changed_at(connection, space) if asked.words else None
        return _Look(None if replaced is None else paused(replaced, _QUIET, now), requested=False)
