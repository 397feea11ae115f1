"""Gathers what a dream sees: one moment of a space, with a limit on everything."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.dream import signals
from langmem_tiers.dream.batching import arranged
from langmem_tiers.dream.types import Material, PairSeen, WindowsSeen
from langmem_tiers.knowledge_graph.relations import group_of, resolve_group
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language import predicates
from langmem_tiers.records import Entry, RelationGrounds, SpokenTurn
from langmem_tiers.settings import DreamSettings, Settings
from langmem_tiers.storage import change_log, drawers, dreams, entities, merges, orphans
from langmem_tiers.storage.dreams import TURNS
from langmem_tiers.store import SpaceStore

_MOST_PAIRS = 50
_MOST_ORPHANS = 100
_MOST_WINDOWS = 50


def gather(store: SpaceStore, settings: Settings, now: datetime, fence: int) -> Material:
    """The current state of the space, as much of it as one dream handles; writes nothing.

    If there are more entries than `settings.dream.entries`, each dream continues where the last one stopped, so that
    several cover them all. They are ordered to keep likely duplicates in one batch (see `batching.arranged`). Of the
    turns since the last dream the oldest come first; the others wait for the next one.

    Raises:
        StorageError: the space cannot be read.
    """
    dream = settings.dream
    with store.reading() as connection:
        turns, upto = _turns(connection, store.key, dream)
        return Material(
            space=store.name,
            at=now,
            position=change_log.head(connection, store.key),
            fence=fence,
            active=dreams.count_active(connection, store.key),
            entries=_entries(connection, store, dream),
            signals=tuple(signals.gathered(connection, store.key, _signals_since(now, dream), dream.signals)),
            turns=turns,
            turns_upto=upto,
            episodes=tuple(dreams.unpromoted(connection, store.key, dream.promoted, at=to_millis(now))),
            pairs=_pairs(connection, store.key),
            relations=_relations(connection, store.key, settings, now),
            windows=_windows(connection, store.key, settings),
        )


def _entries(connection: Connection, store: SpaceStore, dream: DreamSettings) -> tuple[Entry, ...]:
    seen = dreams.active_in_turn(connection, store.key, dream.entries)
    model = store.model
    ids = (entry.id for entry in seen)
    vectors = {} if model is None else dreams.vectors(connection, store.key, model, ids)
    return arranged(seen, dream.batch_entries, vectors)


def _turns(connection: Connection, space: str, dream: DreamSettings) -> tuple[tuple[SpokenTurn, ...], int]:
    """The turns since the last dream, and the new cursor in the conversation log."""
    cursor = change_log.cursor(connection, space, TURNS)
    found = dreams.spoken_behind(connection, space, cursor, dream.turns)
    full = bool(found) and len(found) == dream.turns
    upto = found[-1].drawer if full else drawers.newest(connection, space)
    return tuple(signals.typed(found)), max(cursor, upto)


def _signals_since(now: datetime, dream: DreamSettings) -> int:
    return to_millis(now - timedelta(days=dream.signal_days))


def _pairs(connection: Connection, space: str) -> tuple[PairSeen, ...]:
    """Likely pairs of canonical entities in the graph, each once."""
    rows = merges.pairs(connection, space, "flagged")[:_MOST_PAIRS]
    ends = entities.canonical_of(connection, space, {number for row in rows for number in (row.low, row.high)})
    known = entities.by_numbers(connection, space, set(ends.values()))
    found: dict[frozenset[str], PairSeen] = {}
    for row in rows:
        one, other = known[ends[row.low]], known[ends[row.high]]
        named = {"first": one.id, "second": other.id, "first_name": one.name, "second_name": other.name}
        if one.id != other.id:
            found.setdefault(frozenset((one.id, other.id)), PairSeen(**named, score=row.score / 100, reason=row.reason))
    return tuple(found.values())


def _relations(connection: Connection, space: str, settings: Settings, now: datetime) -> tuple[RelationGrounds, ...]:
    """Relations that may have lost their evidence."""
    if not settings.graph.enabled:
        return ()
    before = to_millis(now - timedelta(days=settings.dream.mention_days))
    return tuple(orphans.likely(connection, space, before=before, most=_MOST_ORPHANS))


def _windows(connection: Connection, space: str, settings: Settings) -> tuple[WindowsSeen, ...]:
    """Single-valued relations with several open ones; a dream may close them, but does not have to.

    Normally a relation ends when the next one is stated, or when entities are merged. The rest were stated before the
    settings made the predicate single-valued.
    """
    if not settings.graph.enabled:
        return ()
    several = orphans.several_open(connection, space)
    groups = [each for each in several if predicates.single_valued(each[1], settings.graph)]
    ends = entities.canonical_of(connection, space, {subject for subject, _ in groups})
    named = dict.fromkeys((ends[subject], predicate) for subject, predicate in groups)
    graph = GraphTransaction(connection, space, 0, settings)
    found = (open_window(graph, *each) for each in [*named][:_MOST_WINDOWS])
    return tuple(each for each in found if each.closing)


def open_window(graph: GraphTransaction, subject: int, predicate: str) -> WindowsSeen:
    """What closing would change for an entity's relations by a predicate."""
    group = group_of(graph, [graph.canonical(subject)], predicate)
    rows = [row for row, _ in resolve_group(graph, group, {})]
    entity = entities.by_numbers(*graph.at, [subject])[subject]
    highest = max((row.authority for row in rows), default=0)
    return WindowsSeen(subject=entity.id, predicate=predicate, closing=len(rows), authority=highest)
