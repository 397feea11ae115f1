"""The graph jobs: ingest what mining and episodes found into the graph, and merge duplicate entities."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.knowledge_graph import duplicates
from langmem_tiers.knowledge_graph.deletion import withdraw_superseded
from langmem_tiers.knowledge_graph.ingest import IngestedClaims, Message, ingest, messages_of, messages_of_episodes
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.listeners import notify
from langmem_tiers.records import Activity
from langmem_tiers.storage import activities, change_log, progress
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.progress import ProposalRow
from langmem_tiers.store import SpaceStore

CURSOR = "graph"
ACTIVITY = "graph_updated"

_KINDS: frozenset[change_log.Kind] = frozenset(
    {"proposals.added", "drawers.added", "drawer.superseded", "episode.added"}
)
# Approximate number of records per transaction.
_AT_ONCE = 200
_MOST_REFUSED = 50  # reported per transaction


@dataclass(frozen=True)
class GraphJob:
    """Ingests findings of one space, a bounded number of messages per transaction, following the log."""

    context: SpaceContext
    store: SpaceStore
    name: str = "graph"

    def due(self, connection: Connection) -> None:
        """Never due by the clock."""

    def step(self, stop: Callable[[], bool]) -> bool:
        """Ingest what is new and merge duplicates; False if there was nothing. `stop` is checked in between.

        Raises:
            StorageError: the rest is ingested later.
        """
        came, changed = False, False
        for step in (self._take, self._merge):
            while (has_changed := step()) is not None:
                came, changed = True, changed or has_changed
                if stop():
                    return True
        if came:
            self.store.graph.checkpoint(self.context.settings.graph.checkpoint_changes)
        return changed

    def _take(self) -> bool | None:
        """Ingest the next findings in the log; whether that changed something, None at the end of the log."""
        with self.store.reading() as connection:
            old, unread = change_log.unread(connection, self.store.key, CURSOR, kinds=_KINDS, most=_AT_ONCE)
            news = _first(unread)
            if not news:
                return None
            messages = self._messages(connection, news)
        gone = {change.subject for change in news if change.kind == "drawer.superseded"}
        with self.store.writing(durable=bool(messages or gone)) as connection:
            if not change_log.move_cursor(connection, self.store.key, CURSOR, old=old, new=news[-1].position):
                return True  # another process was faster
            activity = self._taken(connection, messages, gone)
        if activity is not None:
            notify(self.context.listeners, activity)
        return activity is not None

    def _taken(self, connection: Connection, messages: Sequence[Message], gone: Collection[int]) -> Activity | None:
        now = to_millis(self.context.clock())
        withdrawn: list[str] = []
        again: list[Message] = []
        if gone:
            with GraphTransaction(connection, self.store.key, now, self.context.settings) as graph:
                withdrawn, left = withdraw_superseded(graph, gone)
            again = self._said_in(connection, progress.proposed_of(connection, self.store.key, left))
        taken = ingest(connection, self.store.key, [*again, *messages], now=now, settings=self.context.settings)
        taken.withdrawn += withdrawn
        return self._noted(connection, _body(taken)) if taken.anything else None

    def _merge(self) -> bool | None:
        """Merge duplicates of the next entities in the log; whether there were any, None at the end of the log."""
        context = self.context
        asker = context.asker(self.store)
        activity = duplicates.step(self.store, context.settings, context.clock, asker, self._noted)
        if isinstance(activity, Activity):
            notify(self.context.listeners, activity)
        return None if activity is None else isinstance(activity, Activity)

    def _noted(self, connection: Connection, body: Mapping[str, Any]) -> Activity:
        return activities.append(connection, self.store.key, ACTIVITY, body, at=to_millis(self.context.clock()))

    def _messages(self, connection: Connection, news: Sequence[Change]) -> list[Message]:
        """What to ingest: new proposals, those of reinstated messages, and those in episodes."""
        rows: dict[int, ProposalRow] = {}
        for change in news:
            if change.kind == "proposals.added":
                found = progress.proposed(connection, self.store.key, change.subject, change.until)
            elif change.kind == "drawers.added":
                found = progress.proposed_of(connection, self.store.key, range(change.subject, change.until + 1))
            else:
                continue
            rows |= {row.number: row for row in found}
        episodes = [change.subject for change in news if change.kind == "episode.added"]
        told = messages_of_episodes(connection, self.store.key, episodes, self.context.clock())
        return [*self._said_in(connection, [*rows.values()]), *told]

    def _said_in(self, connection: Connection, rows: Sequence[ProposalRow]) -> list[Message]:
        """Proposals grouped by message, for messages that are still current."""
        return messages_of(connection, self.store.key, rows)


def _first(news: Sequence[Change]) -> list[Change]:
    """The first changes that cover a bounded number of proposals, at least one."""
    taken: list[Change] = []
    left = _AT_ONCE
    for change in news:
        taken.append(change)
        left -= change.until - change.subject + 1 if change.kind == "proposals.added" else 1
        if left <= 0:
            break
    return taken


def _body(taken: IngestedClaims) -> dict[str, Any]:
    """The activity record of what was done. Relations by id only: their words would outlive them here."""
    return {
        "added": taken.added,
        "changed": [*dict.fromkeys(taken.changed)],
        "known": len(taken.known),
        "withdrawn": taken.withdrawn,
        "refused": [{"content": each.content, "reason": each.reason} for each in taken.refused[:_MOST_REFUSED]],
        "more_refused": max(0, len(taken.refused) - _MOST_REFUSED),
    }
