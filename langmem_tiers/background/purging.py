"""Erases the bytes of what was deleted from the files: at once if somebody waits for it, else in a quiet moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.forgetting import traces
from langmem_tiers.forgetting.forget import finish
from langmem_tiers.storage import purging
from langmem_tiers.store import SpaceStore

# Milliseconds after the last deletion, and until the next attempt while another process is in the way.
_QUIET = 60_000
_AGAIN = 30_000


@dataclass
class PurgeJob:
    """Follows deletions: the bytes that they left are erased, and the words of what was replaced from the index."""

    context: SpaceContext
    store: SpaceStore
    name: str = "purge"

    def due(self, connection: Connection) -> int | None:
        """When the files are rewritten next, None if they hold nothing that was deleted."""
        urgent = self._is_urgent(connection)
        if not (urgent or purging.is_pending(connection, self.store.key)):
            replaced = purging.words_left_at(connection, self.store.key)
            return None if replaced is None else replaced + _QUIET
        if urgent:
            return to_millis(self.context.clock()) + _AGAIN
        return purging.wanted_at(connection, self.store.key) + _QUIET

    def step(self, stop: Callable[[], bool]) -> bool:
        """Erase what can be erased now; False if nothing was."""
        with self.store.reading() as connection:
            due = self.due(connection)
            if due is None:
                return False
            urgent = self._is_urgent(connection)
            requested = urgent or purging.is_pending(connection, self.store.key)
        if not urgent and due > to_millis(self.context.clock()):
            return False
        if not requested:
            with self.store.writing() as connection:
                purging.purge_words(connection, self.store.key)
            return True
        return finish(self.context, self.store, to_millis(self.context.clock()))[0]

    def _is_urgent(self, connection: Connection) -> bool:
        """Whether somebody waits for it, or another space still shows what was forgotten here."""
        return purging.is_urgent(connection, self.store.key) or traces.is_left(connection, self.store.key)
