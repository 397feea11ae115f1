"""What a dream sees: one moment of a space, bounded in every respect."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.dream import feedback
from langmem_tiers.dream.batching import arranged
from langmem_tiers.dream.types import (
    EntrySeen,
    EpisodeSeen,
    Material,
    PairSeen,
    RelationSeen,
    Signal,
    TurnSeen,
    WindowsSeen,
)
from langmem_tiers.dream.windows import open_windows
from langmem_tiers.episodes.types import Episode
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.settings import DreamSettings, Settings
from langmem_tiers.storage import change_log, dreamt, entities, graph_pairs, orphans
from langmem_tiers.storage.dreams import TURNS
from langmem_tiers.storage.dreamt import Spoken
from langmem_tiers.storage.orphans import Grounds
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.trust.taint import holds_block

_MOST_HEARD = 2000  # turns in which signals are looked for
_MOST_PAIRS = 50
_MOST_ORPHANS = 100
_MOST_WINDOWS = 50


def gather(store: SpaceStore, settings: Settings, now: datetime, fence: int) -> Material:
    """What the space holds now, as much of it as one dream takes; nothing is written.

    Where there are more entries than `settings.dream.entries`, each dream takes those that come after the last one's,
    so that several go round. They are in an order that keeps likely duplicates in one batch (see `batching.arranged`).
    Of the turns since the last dream those said first come first: the others wait for the next one.

    Raises:
        StorageError: the space can not be read.
    """
    dream = settings.dream
    with store.reading() as connection:
        turns, upto = _turns(connection, store.key, dream)
        return Material(
            space=store.name,
            at=now,
            position=change_log.head(connection, store.key),
            fence=fence,
            active=dreamt.count_active(connection, store.key),
            entries=_entries(connection, store, dream),
            signals=_signals(connection, store.key, dream, now),
            turns=turns,
            turns_upto=upto,
            episodes=_episodes(connection, store.key, dream, now),
            pairs=_pairs(connection, store.key),
            relations=_relations(connection, store.key, settings, now),
            windows=_windows(connection, store.key, settings),
        )


def _entries(connection: Connection, store: SpaceStore, dream: DreamSettings) -> tuple[EntrySeen, ...]:
    seen = [_seen(entry) for entry in dreamt.active_in_turn(connection, store.key, dream.entries)]
    model = None if store.chroma is None else store.chroma.model
    ids = (entry.id for entry in seen)
    vectors = {} if model is None else dreamt.vectors(connection, store.key, model, ids)
    return arranged(seen, dream.batch_entries, vectors)


def _seen(entry: Entry) -> EntrySeen:
    kept = {name: getattr(entry, name) for name in EntrySeen.model_fields if name not in {"authority", "evidence"}}
    return EntrySeen(**kept, authority=int(entry.authority), evidence=tuple(each.drawer for each in entry.evidence))


def _turns(connection: Connection, space: str, dream: DreamSettings) -> tuple[tuple[TurnSeen, ...], int]:
    """The turns since the last dream, and where the cursor of the conversation log goes."""
    cursor = change_log.cursor(connection, space, TURNS)
    found = dreamt.spoken_behind(connection, space, cursor, dream.turns)
    full = bool(found) and len(found) == dream.turns
    upto = found[-1].drawer if full else dreamt.newest_drawer(connection, space)
    return _heard(found), max(cursor, upto)


def _signals(connection: Connection, space: str, dream: DreamSettings, now: datetime) -> tuple[Signal, ...]:
    """The last signals of some days, the oldest first."""
    if not dream.signals:
        return ()
    since = to_millis(now - timedelta(days=dream.signal_days))
    found = feedback.signals(_heard(dreamt.spoken_since(connection, space, since, _MOST_HEARD)))
    return tuple(found[-dream.signals :])


def _heard(spoken: Iterable[Spoken]) -> tuple[TurnSeen, ...]:
    """Turns, without those of the user that a recalled block was pasted into: they did not say that."""
    return tuple(
        TurnSeen(**turn._asdict() | {"said_at": from_millis(turn.said_at)})
        for turn in spoken
        if turn.role != "user" or not holds_block(turn.content)
    )


def _episodes(connection: Connection, space: str, dream: DreamSettings, now: datetime) -> tuple[EpisodeSeen, ...]:
    waiting = dreamt.unpromoted(connection, space, dream.promoted, at=to_millis(now))
    return tuple(_episode(each) for each in waiting)


def _episode(episode: Episode) -> EpisodeSeen:
    return EpisodeSeen(**{name: getattr(episode, name) for name in EpisodeSeen.model_fields})


def _pairs(connection: Connection, space: str) -> tuple[PairSeen, ...]:
    """The likely pairs of the graph by the entities that they are now, each once."""
    rows = graph_pairs.flagged(connection, space)[:_MOST_PAIRS]
    ends = entities.canonical_of(connection, space, {number for row in rows for number in (row.low, row.high)})
    known = entities.by_numbers(connection, space, set(ends.values()))
    found: dict[frozenset[str], PairSeen] = {}
    for row in rows:
        one, other = known[ends[row.low]], known[ends[row.high]]
        named = {"first": one.id, "second": other.id, "first_name": one.name, "second_name": other.name}
        if one.id != other.id:
            found.setdefault(frozenset((one.id, other.id)), PairSeen(**named, score=row.score / 100, reason=row.reason))
    return tuple(found.values())


def _relations(connection: Connection, space: str, settings: Settings, now: datetime) -> tuple[RelationSeen, ...]:
    """The relations that may have lost what they rested on."""
    if not settings.graph.enabled:
        return ()
    before = to_millis(now - timedelta(days=settings.dream.mention_days))
    return tuple(map(relation_seen, orphans.likely(connection, space, before=before, most=_MOST_ORPHANS)))


def _windows(connection: Connection, space: str, settings: Settings) -> tuple[WindowsSeen, ...]:
    return open_windows(connection, space, settings, _MOST_WINDOWS) if settings.graph.enabled else ()


def relation_seen(grounds: Grounds) -> RelationSeen:
    """What a relation rests on, as a dream sees it."""
    return RelationSeen(**grounds._asdict() | {"last_seen": from_millis(grounds.last_seen)})
