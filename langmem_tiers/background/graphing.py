"""The graph pass: what mining and episodes found becomes entities and relations; entities found twice become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, from_millis, to_millis
from langmem_tiers.knowledge.types import Activity
from langmem_tiers.knowledge_graph import merging, taking, withdrawing
from langmem_tiers.knowledge_graph.claiming import Taken
from langmem_tiers.knowledge_graph.episodes import found_in
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.taking import Message
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.settings import Settings
from langmem_tiers.storage import activities, change_log, drawers, mined
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.mined import ProposalRow
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing.listeners import Listener, tell

CURSOR = "graph"
ACTIVITY = "graph_updated"

_KINDS: frozenset[change_log.Kind] = frozenset(
    {"proposals.added", "drawers.added", "drawer.superseded", "episode.added"}
)
# Records that changes of one transaction cover, about.
_AT_ONCE = 200
_MOST_REFUSED = 50  # told of one transaction


@dataclass(frozen=True, kw_only=True)
class GraphPass:
    """Takes up what was found in one space, a bounded number of messages between two commits."""

    store: SpaceStore
    settings: Settings
    clock: Clock
    asker: ModelAsker | None = None
    listeners: Sequence[Listener] = ()

    def step(self, stop: Callable[[], bool]) -> bool:
        """Take up what is new, and let entities found twice be one; False when nothing was. `stop` is asked between.

        Raises:
            StorageError: what is not taken up yet is taken up later.
        """
        worked = False
        for step in (self._take, self._merge):
            while step():
                worked = True
                if stop():
                    return True
        if worked:
            self.store.graph.checkpoint(self.settings.graph.checkpoint_changes)
        return worked

    def next_due(self, connection: Connection) -> None:
        """Nothing is due by the clock: it follows the log."""

    def _take(self) -> bool:
        with self.store.reading() as connection:
            old = change_log.cursor(connection, self.store.key, CURSOR)
            news = _first(change_log.read(connection, self.store.key, after=old, kinds=_KINDS, most=_AT_ONCE))
            if not news:
                return False
            messages = self._messages(connection, news)
        gone = {change.subject for change in news if change.kind == "drawer.superseded"}
        with self.store.writing(durable=bool(messages or gone)) as connection:
            if not change_log.move_cursor(connection, self.store.key, CURSOR, old=old, new=news[-1].position):
                return True  # somebody else was faster
            activity = self._taken(connection, messages, gone)
        if activity is not None:
            tell(self.listeners, activity)
        return True

    def _taken(self, connection: Connection, messages: Sequence[Message], gone: Collection[int]) -> Activity | None:
        now = to_millis(self.clock())
        withdrawn: list[str] = []
        again: list[Message] = []
        if gone:
            withdrawn, left = withdrawing.withdraw(Ledger(connection, self.store.key, now, self.settings), gone)
            again = self._said_in(connection, mined.proposed_of(connection, self.store.key, left))
        taken = taking.take(connection, self.store.key, [*again, *messages], now=now, settings=self.settings)
        taken.withdrawn += withdrawn
        return self._noted(connection, _body(taken)) if taken.anything else None

    def _merge(self) -> bool:
        activity = merging.step(self.store, self.settings, self.clock, self.asker, self._noted)
        if activity is None:
            return False
        if isinstance(activity, Activity):
            tell(self.listeners, activity)
        return True

    def _noted(self, connection: Connection, body: Mapping[str, Any]) -> Activity:
        at = to_millis(self.clock())
        number = activities.append(connection, self.store.key, ACTIVITY, body, at=at)
        return Activity(number=number, at=from_millis(at), kind=ACTIVITY, session=None, body=body)

    def _messages(self, connection: Connection, news: Sequence[Change]) -> list[Message]:
        """What is to be taken up: new proposals, those of messages that stand again, and what episodes tell."""
        rows: dict[int, ProposalRow] = {}
        for change in news:
            if change.kind == "proposals.added":
                found = mined.proposed(connection, self.store.key, change.subject, change.until)
            elif change.kind == "drawers.added":
                found = mined.proposed_of(connection, self.store.key, range(change.subject, change.until + 1))
            else:
                continue
            rows |= {row.number: row for row in found}
        told = [change.subject for change in news if change.kind == "episode.added"]
        return [*self._said_in(connection, [*rows.values()]), *found_in(connection, self.store.key, told, self.clock())]

    def _said_in(self, connection: Connection, rows: Sequence[ProposalRow]) -> list[Message]:
        """Proposals by the message that they were found in; those of messages that stand."""
        by_drawer: defaultdict[int, list[ProposalRow]] = defaultdict(list)
        for row in rows:
            by_drawer[row.drawer].append(row)
        held = drawers.read(connection, self.store.key, by_drawer)
        return [
            Message(drawer=drawer, said_at=drawer.said_at, proposals=by_drawer[number])
            for number, drawer in held.items()
            if drawer.status == "active"
        ]


def _first(news: Sequence[Change]) -> list[Change]:
    """As many of these changes as cover a bounded number of proposals, at least one."""
    taken: list[Change] = []
    left = _AT_ONCE
    for change in news:
        taken.append(change)
        left -= change.until - change.subject + 1 if change.kind == "proposals.added" else 1
        if left <= 0:
            break
    return taken


def _body(taken: Taken) -> dict[str, Any]:
    """What was done as an activity keeps it. Relations by id only: their words would outlive them here."""
    return {
        "added": taken.added,
        "changed": [*dict.fromkeys(taken.changed)],
        "known": len(taken.known),
        "withdrawn": taken.withdrawn,
        "refused": [{"content": each.content, "reason": each.reason} for each in taken.refused[:_MOST_REFUSED]],
        "more_refused": max(0, len(taken.refused) - _MOST_REFUSED),
    }
