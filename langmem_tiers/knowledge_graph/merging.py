"""One entity under two names: merged where the names say so and nothing speaks against it, else shown to be judged.

A merge is recorded and can be undone: relations keep naming the entity that they were said of. What a model says is
believed of pairs only that likeness has found, and that nothing is known to speak against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.errors import MergeRefused
from langmem_tiers.knowledge.types import Activity, Authority
from langmem_tiers.knowledge_graph import checks, likeness, merge_prompt, naming
from langmem_tiers.knowledge_graph.conflicts import Against, against
from langmem_tiers.knowledge_graph.joining import merge_of
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.likeness import LOOKALIKE
from langmem_tiers.knowledge_graph.pairing import Pair, pairs, twins
from langmem_tiers.knowledge_graph.telling_apart import told_apart
from langmem_tiers.knowledge_graph.types import Entity, GraphPath, KeptApart, LikelyPair, Merge
from langmem_tiers.knowledge_graph.writing import writing
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, entities, graph_pairs
from langmem_tiers.storage import merges as merge_rows
from langmem_tiers.storage.entities import EntityRow
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.types import Origin

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.view import GraphView
    from langmem_tiers.space import Space

CURSOR = "graph:merge"
UNDO = "Undo the merge first, if they are two."
KEPT_APART = "If they are one, take that back first: `allow_merge`."
# Entities looked at between two commits.
_AT_ONCE = 200
_LONGEST_REASON = 200
Note = Callable[[Connection, Mapping[str, Any]], Activity]


# What users and agents do.


def merge(space: Space, source: str, target: str, *, reason: str, origin: Origin) -> Merge:
    """See `KnowledgeGraph.merge`."""
    by = checks.said_by(origin)
    named = (arguments.text(source, "source"), arguments.text(target, "target"))
    why = " ".join(arguments.text(reason, "reason").split())[:_LONGEST_REASON]
    checks.require_harmless(why, "reason", space.memory.settings)
    with writing(space) as ledger:
        one, other = (ledger.existing(name) for name in named)
        _require_two(ledger, one, other)
        if naming.slug(one.name) == naming.USER:
            raise MergeRefused(
                "The user of the space stays who they are.", way_out="Merge the other one into the user."
            )
        if _apart(ledger.connection, ledger.space, one.number, other.number):
            raise MergeRefused(f"These are kept apart: {_told(ledger, one, other)}.", way_out=KEPT_APART)
        if by.authority < max(one.authority, other.authority) and by.authority < Authority.AGENT:
            raise MergeRefused(f"Somebody else stands behind these: {_told(ledger, one, other)}.")
        return ledger.merge(one, other, reason=why, path=by.path)


def unmerge(space: Space, merge: int) -> Merge:
    """See `KnowledgeGraph.unmerge`."""
    number = arguments.whole(merge, "merge")
    with writing(space) as ledger:
        undone = ledger.unmerge(number)
        if undone.path in {"rule", "model"} or _alike(undone):
            _keep_apart(ledger, undone.source.number, undone.target.number, "a merge of them was undone")
        return undone


def merges(space: Space, *, undone: bool) -> tuple[Merge, ...]:
    """See `KnowledgeGraph.merges`."""
    every = arguments.flag(undone, "undone")
    with space.memory.use(space.name) as store, store.reading() as connection:
        rows = merge_rows.every(connection, store.key, undone=every)
        named = {number for row in rows for number in (row.source, row.target)}
        both = entities.by_numbers(connection, store.key, named)
    return tuple(merge_of(row, both) for row in rows)


def likely_pairs(space: Space, *, limit: int) -> tuple[LikelyPair, ...]:
    """See `KnowledgeGraph.likely_pairs`."""
    most = arguments.whole(limit, "limit", least=1)
    with space.memory.use(space.name) as store, store.reading() as connection:
        found = _standing_pairs(connection, store.key)
        shown = [*found.items()][:most]
        known = entities.by_numbers(connection, store.key, {number for ends, _ in shown for number in ends})
    return tuple(
        LikelyPair(first=known[low], second=known[high], score=row.score / 100, reason=row.reason)
        for (low, high), row in shown
    )


def keep_apart(space: Space, first: str, second: str) -> None:
    """See `KnowledgeGraph.keep_apart`."""
    named = (arguments.text(first, "first"), arguments.text(second, "second"))
    with writing(space) as ledger:
        one, other = (ledger.existing(name) for name in named)
        _require_two(ledger, one, other)
        _keep_apart(ledger, one.number, other.number, "somebody said so")


def kept_apart(space: Space) -> tuple[KeptApart, ...]:
    """See `KnowledgeGraph.kept_apart`."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        rows = graph_pairs.apart(connection, store.key)
        known = entities.by_numbers(connection, store.key, {number for row in rows for number in (row.low, row.high)})
    return tuple(KeptApart(first=known[row.low], second=known[row.high], reason=row.reason) for row in rows)


def allow_merge(space: Space, first: str, second: str) -> bool:
    """See `KnowledgeGraph.allow_merge`. Both are noted as changed, so that the background looks at them again."""
    named = (arguments.text(first, "first"), arguments.text(second, "second"))
    with writing(space) as ledger:
        one, other = (ledger.existing(name).number for name in named)
        marks = _marks(ledger.connection, ledger.space, one, other)
        graph_pairs.remove(ledger.connection, ledger.space, marks)
        if marks:
            ledger.log_entities(one, other)
        return bool(marks)


def _require_two(ledger: Ledger, one: Entity, other: Entity) -> None:
    """Nothing, where two names are of two entities.

    Raises:
        MergeRefused: they are of one.
    """
    if one.number != other.number:
        return
    members = entities.members(ledger.connection, ledger.space, one.number)
    standing = merge_rows.every(ledger.connection, ledger.space, undone=False)
    numbers = sorted(row.number for row in standing if row.source in members)
    made_so = f", by merge {', '.join(map(str, numbers))}" if numbers else ""
    way_out = UNDO if numbers else "Name two others."
    raise MergeRefused(f"Both are one entity already{made_so}: {_told(ledger, one)}.", way_out=way_out)


def _told(ledger: Ledger, *several: Entity) -> str:
    return told_apart(ledger.connection, ledger.space, several)


def _alike(undone: Merge) -> bool:
    """Whether the memory could merge two again that somebody has parted."""
    one, other = undone.source, undone.target
    return likeness.compare(one.name, other.name, one.type, other.type).kind != "other"


def _keep_apart(ledger: Ledger, first: int, second: int, reason: str) -> None:
    graph_pairs.put(ledger.connection, ledger.space, first, second, "apart", 0, reason, ledger.now)


def _standing_pairs(connection: Connection, space: str) -> dict[tuple[int, int], graph_pairs.PairRow]:
    """The flagged pairs by the entities that they are now, each once, without those that are one or apart by now."""
    rows = graph_pairs.flagged(connection, space)
    ends = entities.canonical_of(connection, space, {number for row in rows for number in (row.low, row.high)})
    found: dict[tuple[int, int], graph_pairs.PairRow] = {}
    for row in rows:
        one, other = sorted((ends[row.low], ends[row.high]))
        if one != other and (one, other) not in found and not _apart(connection, space, one, other):
            found[one, other] = row
    return found


def _apart(connection: Connection, space: str, first: int, second: int) -> bool:
    """Whether somebody said that two are not the same, or two that were merged into them."""
    return bool(_marks(connection, space, first, second))


def _marks(connection: Connection, space: str, first: int, second: int) -> list[graph_pairs.PairRow]:
    """What was noted of two being two, also of two that were merged into them."""
    here, there = (entities.members(connection, space, number) for number in (first, second))
    return [row for row in graph_pairs.between(connection, space, here, there) if row.status == "apart"]


# What the memory does by itself.


def step(
    store: SpaceStore, settings: Settings, clock: Clock, asker: ModelAsker | None, note: Note
) -> Activity | Literal[True] | None:
    """Look at the next entities of the log; the activity where two became one or were flagged, None at its end.

    Raises:
        StorageError: they are looked at later.
    """
    with store.reading() as connection:
        now = change_log.moment(connection, store.key)
        old = change_log.cursor(connection, store.key, CURSOR)
        news = _first(change_log.read(connection, store.key, after=old, kinds={"entities.changed"}, most=_AT_ONCE))
        if not news:
            return None
        found = _alike_now(store.graph.view(now), news)
        asked = [pair for pair in found if _may_ask(connection, store.key, pair, settings)] if asker else []
    said = merge_prompt.ask(asker, store, asked) if asker is not None and asked else frozenset()
    with store.writing(durable=bool(found)) as connection:
        if not change_log.move_cursor(connection, store.key, CURSOR, old=old, new=news[-1].position):
            return True
        body = _Merging(Ledger(connection, store.key, to_millis(clock()), settings), said).run(found)
        return note(connection, body) if body["merged"] or body["flagged"] else True


def _alike_now(view: GraphView, news: Sequence[change_log.Change]) -> list[Pair]:
    """The pairs that changed entities are part of; what somebody named is only looked at for twins in other letters."""
    numbers = {number for change in news for number in range(change.subject, change.until + 1)}
    by_itself = {number for number in numbers if _found_by_itself(view.entities.get(number))}
    return [*pairs(view, sorted(by_itself)), *twins(view, sorted(numbers - by_itself))]


def _first(news: Sequence[change_log.Change]) -> list[change_log.Change]:
    taken: list[change_log.Change] = []
    left = _AT_ONCE
    for change in news:
        taken.append(change)
        left -= change.until - change.subject + 1
        if left <= 0:
            break
    return taken


def _found_by_itself(row: EntityRow | None) -> bool:
    """Whether it was the memory that named an entity: what somebody adds on purpose is left as it is."""
    return row is not None and row.authority <= Authority.SYSTEM


def _may_ask(connection: Connection, space: str, pair: Pair, settings: Settings) -> bool:
    if pair.like.kind != "like" or not settings.graph.flag_score <= pair.like.score < LOOKALIKE:
        return False
    if graph_pairs.one(connection, space, pair.source.number, pair.target.number) is not None:
        return False
    if _apart(connection, space, pair.source.number, pair.target.number):
        return False
    return against(connection, space, pair.source, pair.target, settings) is None


class _Merging:
    """Decides of pairs within one transaction, on what is known in it."""

    def __init__(self, ledger: Ledger, said: frozenset[tuple[int, int]]) -> None:
        self._ledger = ledger
        self._said = said
        self._merged: list[int] = []
        self._flagged = 0

    def run(self, found: Sequence[Pair]) -> dict[str, Any]:
        """Merge or flag; what was done. What speaks against a pair may be gone when another one has become one."""
        left, before = list(found), -1
        while len(self._merged) > before:
            before = len(self._merged)
            left = [pair for pair in left if not self._decided(pair)]
        for pair in left:
            self._flag(pair, self._against(pair) or Against(pair.like.reason))
        return {"merged": self._merged, "flagged": self._flagged}

    def _decided(self, pair: Pair) -> bool:
        """Whether nothing is left to do for a pair: it is one now, or surely two."""
        connection, space = self._ledger.connection, self._ledger.space
        now = entities.canonical_of(connection, space, (pair.source.number, pair.target.number))
        one, other = now[pair.source.number], now[pair.target.number]
        if one == other or _apart(connection, space, one, other):
            return True
        reason, by = self._against(pair), self._by(pair)
        if reason is not None or by is None:
            return reason is not None and reason.settled
        self._merge(pair, one, other, by)
        return True

    def _against(self, pair: Pair) -> Against | None:
        return against(self._ledger.connection, self._ledger.space, pair.source, pair.target, self._ledger.settings)

    def _by(self, pair: Pair) -> GraphPath | None:
        """Which path finds that two are one, None where none does."""
        if pair.like.kind in {"same", "part"} and pair.like.score >= self._least(pair):
            return "rule"
        return "model" if (pair.source.number, pair.target.number) in self._said else None

    def _least(self, pair: Pair) -> int:
        return self._ledger.settings.graph.merge_score if pair.like.kind == "same" else 0

    def _merge(self, pair: Pair, one: int, other: int, by: GraphPath) -> None:
        source, target = (self._ledger.read_entity(number) for number in (one, other))
        try:
            done = self._ledger.merge(source, target, reason=pair.like.reason, path=by)
        except MergeRefused as error:
            self._flag(pair, Against(error.message[:_LONGEST_REASON]))
        else:
            self._merged.append(done.id)

    def _flag(self, pair: Pair, why: Against) -> None:
        if pair.like.score < self._ledger.settings.graph.flag_score:
            return
        numbers = (pair.source.number, pair.target.number)
        connection, space, at = self._ledger.connection, self._ledger.space, self._ledger.now
        self._flagged += graph_pairs.put(connection, space, *numbers, "flagged", pair.like.score, why.reason, at)
