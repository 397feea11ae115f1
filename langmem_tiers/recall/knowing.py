"""What is known, beside what was said: entries, episodes, notes and relations that fit the message, each as one line.

They are few, so every one is looked at. What was derived from a message that stands in the block as well is left out:
the words themselves are better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.episodes.history import asks_history
from langmem_tiers.knowledge.learned import fading, is_constraint, needs_permission
from langmem_tiers.recall import relating, rendering, scoring
from langmem_tiers.storage import entries, episodes, items, notes
from langmem_tiers.types import KnownCandidate, KnownItem, KnownKind, KnownVerdict

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.episodes.types import Episode
    from langmem_tiers.knowledge.types import Entry
    from langmem_tiers.recall.query import Query
    from langmem_tiers.recall.relating import Related
    from langmem_tiers.recall.request import RecallRequest
    from langmem_tiers.recall.sources import Snapshot
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.items import ItemRow
    from langmem_tiers.storage.note_index import NoteHit

# Notes looked at, for each line that a block may have.
_LOOKED_AT = 4
# An episode that nobody asked for has to fit as well as this.
_STRONG = 0.5
# Factor by who stands behind an entry: a user's correction first, what the system derived last.
_AUTHORITY = (0.95, 1.0, 1.1, 1.2)
_DERIVED = {"rule", "model"}
Key = tuple[str, str]


class Known(NamedTuple):
    """Something known that fits: `name` tells it from all others of its space, `line` is how it is shown."""

    space: str
    name: str
    kind: KnownKind
    ref: str
    text: str
    line: str
    scores: dict[str, float]
    score: float
    derived_from: frozenset[int]
    answers: bool = False
    """Whether it says what held at the time that the message asks for: several messages may tell of that time."""

    @property
    def key(self) -> Key:
        """What tells it from everything else."""
        return self.space, self.name

    def item(self, tokens: int) -> KnownItem:
        """It, as something that was shown."""
        return KnownItem(
            space=self.space, kind=self.kind, ref=self.ref, text=self.text, score=self.score, tokens=tokens
        )

    def candidate(self, verdict: KnownVerdict) -> KnownCandidate:
        """It, as something that was looked at."""
        return KnownCandidate(
            space=self.space, kind=self.kind, ref=self.ref, scores=self.scores, score=self.score, verdict=verdict
        )


def find(
    sources: Sequence[Snapshot],
    query: Query,
    vector: Vectors | None,
    request: RecallRequest,
    related: Mapping[str, Sequence[Related]],
) -> list[Known]:
    """What is known that fits, what answers first, then the best; nothing where the settings want none."""
    most = request.settings.knowledge * _LOOKED_AT
    if not most:
        return []
    found = [known for source in sources for known in _of_source(source, query, vector, request, most)]
    found += [_of_graph(source, each, request) for source in sources for each in related.get(source.name, ())]
    return sorted(found, key=lambda known: (not known.answers, -known.score, known.key))


def choose(
    found: Sequence[Known],
    request: RecallRequest,
    shown: Collection[tuple[str, int | str]],
    said: Collection[Key | tuple[str, int]],
) -> dict[Key, KnownVerdict]:
    """A verdict for each, best first; `said` are the drawers that the block quotes, as (space, number)."""
    verdicts: dict[Key, KnownVerdict] = {}
    history = asks_history(request.query)
    left = request.settings.knowledge
    taken: set[tuple[str, str]] = set()
    for known in found:
        verdict = _verdict(known, request, shown, said, history=history, left=left)
        if verdict == "shown" and known.kind == "episode":
            # Its best piece stands for all of it.
            verdict = "over_limit" if (known.space, known.ref) in taken else verdict
            taken.add((known.space, known.ref))
        verdicts[known.key] = verdict
        left -= verdict == "shown"
    return verdicts


def again(sources: Sequence[Snapshot], keys: Sequence[tuple[Key, float, int]]) -> Iterator[KnownItem]:
    """What an earlier block showed, as far as it still stands; keys with their score and tokens."""
    by_name = {source.name: source for source in sources}
    for (space, name), score, tokens in keys:
        kind, ref, ordinal = _parts(name)
        if space not in by_name:
            continue
        if kind == "relation":
            text = relating.text(by_name[space], ref)
            if text:
                yield KnownItem(space=space, kind=kind, ref=ref, text=text, score=score, tokens=tokens)
        else:
            for note in notes.of_ref(by_name[space].connection, by_name[space].key, kind, ref):
                if note.ordinal == ordinal:
                    yield KnownItem(space=space, kind=kind, ref=ref, text=note.text, score=score, tokens=tokens)


def count_recalled(connection: Connection, space: str, names: Sequence[str], at: int) -> None:
    """Note that these were shown to a model."""
    parted = [_parts(name) for name in names]
    entries.count_recalled(connection, space, [ref for kind, ref, _ in parted if kind == "entry"], at)
    episodes.count_recalled(connection, space, [ref for kind, ref, _ in parted if kind == "episode"], at)


def _verdict(
    known: Known,
    request: RecallRequest,
    shown: Collection[tuple[str, int | str]],
    said: Collection[Key | tuple[str, int]],
    *,
    history: bool,
    left: int,
) -> KnownVerdict:
    if known.key in shown:
        return "already_shown"
    if known.score < request.threshold or (known.kind == "episode" and not history and known.score < _STRONG):
        return "below_threshold"
    if not known.answers and any((known.space, drawer) in said for drawer in known.derived_from):
        return "quoted_instead"
    return "shown" if left else "over_limit"


def _of_source(
    source: Snapshot, query: Query, vector: Vectors | None, request: RecallRequest, most: int
) -> Iterator[Known]:
    hits = source.notes.search(source.moment, query.terms, vector, most, settings=request.settings)
    held = _entries(source, hits, request)
    told = _episodes(source, hits, request)
    kept = _items(source, hits, request)
    over = _ended(source, held, request)
    for hit in hits:
        if hit.kind == "item" and hit.ref in kept:
            yield _of_item(source, hit, kept[hit.ref], request)
        elif hit.kind == "document" or hit.ref in held or hit.ref in told:
            yield _known(source, hit, held.get(hit.ref), told.get(hit.ref), over.get(hit.ref, ()), request)


def _ended(source: Snapshot, held: Mapping[str, Entry], request: RecallRequest) -> dict[str, list[str]]:
    """For entries, what of them holds no longer: what they rest on says more, so the value has to be in their words."""
    rests = {ref: {each.drawer for each in entry.evidence} for ref, entry in held.items()}
    drawers = set().union(*rests.values())
    ended = relating.ended(source, drawers, to_millis(request.now)) if drawers else {}
    return {
        ref: [
            each.text
            for drawer in sorted(rests[ref])
            for each in ended.get(drawer, ())
            if each.target.casefold() in entry.content.casefold()
        ]
        for ref, entry in held.items()
    }


def _of_graph(source: Snapshot, related: Related, request: RecallRequest) -> Known:
    """A relation as a line; it is scored as an entry of its authority that matches as well."""
    signals = {"match": related.share, "session": related.share, "statement": 1.0}
    trust, age = _AUTHORITY[related.row.authority], to_millis(request.now) - related.row.created_at
    factors = scoring.factors(own=source.own, trust=trust, age=float(age), settings=request.settings)
    label = f"[relation {related.row.id}] {related.label}".rstrip()
    return Known(
        space=source.name,
        name=f"relation:{related.row.id}#0",
        kind="relation",
        ref=related.row.id,
        text=related.text,
        line=rendering.render_known(label, related.text),
        scores={"graph": round(related.share, 4)},
        score=round(float(np.asarray(scoring.score(signals, factors, request.settings))), 4),
        derived_from=frozenset(related.evidence),
        answers=related.answers,
    )


def _entries(source: Snapshot, hits: Sequence[NoteHit], request: RecallRequest) -> dict[str, Entry]:
    ids = [hit.ref for hit in hits if hit.kind == "entry"]
    found = entries.by_ids(source.connection, source.key, ids) if ids else {}
    return {ref: entry for ref, entry in found.items() if _holds(entry, request)}


def _episodes(source: Snapshot, hits: Sequence[NoteHit], request: RecallRequest) -> dict[str, Episode]:
    ids = [hit.ref for hit in hits if hit.kind == "episode"]
    if not ids:
        return {}
    until = None if request.until is None else to_millis(request.until)
    return episodes.holding(source.connection, source.key, ids, at=to_millis(request.now), until=until)


def _items(source: Snapshot, hits: Sequence[NoteHit], request: RecallRequest) -> dict[str, ItemRow]:
    refs = [hit.ref for hit in hits if hit.kind == "item"]
    if not refs:
        return {}
    until = None if request.until is None else to_millis(request.until)
    return items.holding(source.connection, source.key, refs, at=to_millis(request.now), until=until)


def _holds(entry: Entry, request: RecallRequest) -> bool:
    expired = entry.expires_at is not None and entry.expires_at <= request.now
    to_come = request.until is not None and entry.created_at > request.until
    return entry.active and not expired and not to_come


def _known(
    source: Snapshot,
    hit: NoteHit,
    entry: Entry | None,
    episode: Episode | None,
    ended: Sequence[str],
    request: RecallRequest,
) -> Known:
    settings = request.settings
    signals = {"match": hit.score, "session": hit.score, "statement": float(entry is not None)}
    trust = 1.0
    if entry is not None:
        trust = _AUTHORITY[entry.authority] * fading(entry, request.now, request.fade_days)
    moments = [*([entry.updated_at] if entry else []), *([episode.ended_at] if episode else []), request.now]
    age = to_millis(request.now) - to_millis(moments[0])
    factors = scoring.factors(own=source.own, trust=trust, age=float(age), settings=settings)
    return Known(
        space=source.name,
        name=f"{hit.kind}:{hit.ref}#{hit.ordinal}",
        kind=cast("KnownKind", hit.kind),
        ref=hit.ref,
        text=hit.text,
        line=rendering.render_known(
            _label(hit, entry, episode) + rendering.render_ended(ended),
            _told(hit, entry, settings.item_characters),
        ),
        scores=_channels(hit),
        score=round(float(np.asarray(scoring.score(signals, factors, settings))), 4),
        derived_from=_derived_from(entry),
    )


def _of_item(source: Snapshot, hit: NoteHit, item: ItemRow, request: RecallRequest) -> Known:
    """A store item as a line, with its key and its date; it is scored as an entry of the agent's."""
    settings = request.settings
    signals = {"match": hit.score, "session": hit.score, "statement": 1.0}
    age = float(to_millis(request.now) - item.updated_at)
    factors = scoring.factors(own=source.own, trust=1.0, age=age, settings=settings)
    label = f"[item {item.key}] {from_millis(item.updated_at):%Y-%m-%d}"
    return Known(
        space=source.name,
        name=f"{hit.kind}:{hit.ref}#{hit.ordinal}",
        kind="item",
        ref=hit.ref,
        text=hit.text,
        line=rendering.render_known(label, rendering.excerpt(hit.text, (), settings.item_characters)),
        scores=_channels(hit),
        score=round(float(np.asarray(scoring.score(signals, factors, settings))), 4),
        derived_from=frozenset(),
    )


def _channels(hit: NoteHit) -> dict[str, float]:
    shares = {"keyword": hit.keyword, "vector": hit.vector}
    return {name: round(share, 4) for name, share in shares.items() if share is not None}


def _label(hit: NoteHit, entry: Entry | None, episode: Episode | None) -> str:
    """What it is and of when: `[entry a1b2c3d4e5f6] 2026-03-02 people/lena`."""
    if entry is not None:
        asking = rendering.ASK_FIRST if needs_permission(entry.metadata) else ""
        return f"[entry {entry.id}] {entry.updated_at:%Y-%m-%d} {entry.category}{asking}"
    if episode is not None:
        return f"[episode {episode.id}] {episode.began_at:%Y-%m-%d} session summary"
    return f"[{hit.kind} {hit.ref}]"


def _told(hit: NoteHit, entry: Entry | None, most: int) -> str:
    """What it says; what binds the agent is told as such."""
    shown = rendering.excerpt(hit.text, (), most)
    binds = entry is not None and is_constraint(entry)
    return rendering.CONSTRAINT + shown.removeprefix("Don't ") if binds else shown


def _derived_from(entry: Entry | None) -> frozenset[int]:
    """The drawers that say it as well; what binds the agent, or asks it to ask, is said by none of them."""
    if entry is None or entry.path not in _DERIVED or is_constraint(entry) or needs_permission(entry.metadata):
        return frozenset()
    return frozenset(evidence.drawer for evidence in entry.evidence)


def _parts(name: str) -> tuple[KnownKind, str, int]:
    kind, _, rest = name.partition(":")
    ref, _, ordinal = rest.rpartition("#")
    return kind, ref, int(ordinal)  # type: ignore[return-value]
