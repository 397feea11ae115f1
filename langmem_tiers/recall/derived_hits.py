"""Derived memories that fit the message (entries, episodes, notes and relations), each rendered as one line.

There are few, so all are scored. What was derived from a message that is itself in the block is left out: the original
words are better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from langmem_tiers import block_lines
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.content import WITHHELD
from langmem_tiers.knowledge import document_text, standing
from langmem_tiers.knowledge.preferences import fading, is_constraint, needs_permission
from langmem_tiers.language.needs import asks_for_all, is_list
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.plans import is_undone
from langmem_tiers.language.questions import asks_history
from langmem_tiers.language.words import occurs
from langmem_tiers.recall import about, graph_channel, needed, rendering, scoring
from langmem_tiers.recall.graph_channel import Related
from langmem_tiers.recall.needed import Needed
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import Key as DrawerKey
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.records import FOUND
from langmem_tiers.settings import RecallLayer
from langmem_tiers.storage import documents, entries, episodes, items, notes
from langmem_tiers.storage.documents import Written
from langmem_tiers.storage.note_index import NoteHit
from langmem_tiers.storage.trips import Trip, one_trip
from langmem_tiers.trust.safety import lowers
from langmem_tiers.types import KnownCandidate, KnownItem, KnownKind, KnownVerdict

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.records import Entry, Episode
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.items import ItemRow

LOOKED_AT = 4
"""Notes examined per line that a block may have."""
# Notes examined for an earlier moment: the best may have been written later.
_LOOKED_AT_EARLIER = 1_000
# The minimum fit of the summary of a session that nobody asked for: its messages are searched themselves.
_STRONG = 0.5
# The score of the summary of a conversation that was asked for.
_ASKED_FOR = 0.9
# Factor by an entry's authority: a user's correction first, what the system derived last.
_AUTHORITY = (0.95, 1.0, 1.1, 1.2)
# Factor of an entry that no longer holds: what holds comes first.
_NO_LONGER = 0.8
_DECIMALS = 4
Key = tuple[str, str]
"""Something known: its space and its name there."""


LAYERS: dict[KnownKind, RecallLayer] = {
    "entry": "entries",
    "episode": "episodes",
    "relation": "relations",
    "item": "items",
    "document": "documents",
}
"""The layer of each kind, as settings name it."""


class DerivedHit(NamedTuple):
    """A derived memory that fits: `name` is its unique key within its space, `lined` gives how it is shown.

    Most are not shown.
    """

    key: Key
    kind: KnownKind
    ref: str
    text: str
    lined: Callable[[], str]
    scores: dict[str, float]
    score: float
    derived_from: frozenset[int] = frozenset()
    of_session: bool = False
    """Whether it is the summary of a session."""
    answers: bool = False
    """Whether it says what held at the time the message asks about, which several messages may mention, or is part of
    all that is known of the user or of somebody else the message asks about."""
    needed: bool = False
    """Whether the message needs it, though its words do not say so."""
    repeats: str = ""
    """What it says in the words of a message or an entry, of which it is the only trace when these are gone."""
    asks: tuple[tuple[int, str], ...] = ()
    """The drawers that it rests on with the words quoted from them, if it waits for the user."""

    @property
    def line(self) -> str:
        """How it is shown."""
        return self.lined()

    def item(self, tokens: int) -> KnownItem:
        """It, as a shown item."""
        about = {"space": self.key[0], "kind": self.kind, "ref": self.ref}
        return KnownItem(**about, text=self.text, score=self.score, tokens=tokens)  # type: ignore[arg-type]

    def candidate(self, verdict: KnownVerdict) -> KnownCandidate:
        """It, as a candidate."""
        about = {"space": self.key[0], "kind": self.kind, "ref": self.ref}
        return KnownCandidate(**about, scores=self.scores, score=self.score, verdict=verdict)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class AskedFor:
    """What a space knows that a message asks for, found without the vector: what it needs or asks all about.

    `related` are the relations that fit it.
    """

    related: list[DerivedHit]
    wanted: dict[Key, DerivedHit]


def asked_for(source: SpaceSnapshot, query: Query, request: RecallRequest, related: Sequence[Related]) -> AskedFor:
    """What a message asks for; `related` are the relations of those it names."""
    wanted = {
        known.key: known._replace(answers=asks_for_all(query.needs))
        for known in _needed(source, needed.needed(source, query, request), request)
    }
    told = about.known_about(source, query, request)
    wanted |= {known.key: known._replace(answers=True) for known in _needed(source, told, request)}
    return AskedFor(related=[] if told else list(_relations(source, related, request)), wanted=wanted)


def find(
    sources: Sequence[SpaceSnapshot],
    query: Query,
    vector: Vectors | None,
    request: RecallRequest,
    asked: Mapping[str, AskedFor],
) -> list[DerivedHit]:
    """The derived memories that fit, direct answers and what is `asked` for in each source first, then by score."""
    found: list[DerivedHit] = []
    for source in sources:
        wanted = {**asked[source.name].wanted}
        found += _notes(source, query, vector, request)
        found += asked[source.name].related
        found = [_together(known, wanted.pop(known.key, None)) for known in found] + [*wanted.values()]
    found = list(filter(_is_intact, found))
    if is_list(query.needs):
        # Plans and wishes are no part of what was done.
        found = [known for known in found if known.needed or not is_undone(known.text)]
    return sorted(found, key=_order)


def begin(sources: Sequence[SpaceSnapshot], vector: Vectors | None, request: RecallRequest) -> None:
    """Have servers look for what is known and near to a query, while messages are looked for; for `find`."""
    if vector is None or not request.settings.knowledge:
        return
    for source in sources:
        if source.moment.until is None:
            source.store.notes.begin(source.moment, vector, request.settings.knowledge * LOOKED_AT)


def ask_ahead(source: SpaceSnapshot, trip: Trip, query: Query, vector: Vectors | None, request: RecallRequest) -> None:
    """Have a trip ask for what `find` begins with, once `begin` was called."""
    if vector is not None and request.settings.knowledge and source.moment.until is None:
        most = request.settings.knowledge * LOOKED_AT
        source.store.notes.ask_ahead(trip, source.moment, query.terms, vector, most)


def _order(known: DerivedHit) -> tuple[object, ...]:
    return not known.answers, not known.needed, bool(known.repeats), -known.score, known.key


def summaries(
    sources: Sequence[SpaceSnapshot], sessions: Collection[tuple[str, str]], request: RecallRequest
) -> list[DerivedHit]:
    """The summaries of sessions, which are given as (space, session).

    What a rule wrote is left out: it is made of the messages' own sentences.
    """
    found: list[DerivedHit] = []
    for source in sources:
        place = (source.connection, source.key)
        told = [each for space, name in sessions if space == source.name for each in episodes.of_session(*place, name)]
        current = _episodes(source, [each.id for each in told], request)
        over = standing.in_episodes(source.store, source.moment, current.values(), request.as_of)
        found += (_summary(source, each, over[each.id], request) for each in current.values() if each.path != "rule")
    return list(filter(_is_intact, found))


def _is_intact(known: DerivedHit) -> bool:
    """Whether no text that it is made of is withheld; a relation is made of several."""
    return known.text != WITHHELD and not (known.kind == "relation" and WITHHELD in known.text)


def choose(
    found: Sequence[DerivedHit],
    request: RecallRequest,
    shown: Collection[tuple[str, int | str]],
    quoted: Mapping[DrawerKey, float],
    texts: Collection[str] = (),
    outside: Collection[DrawerKey] = (),
    *,
    own: str,
) -> dict[Key, KnownVerdict]:
    """A verdict for each, best first; `quoted` are the drawers that are in the block themselves, with their scores.

    What was derived from other drawers has to come as near to the best of them as these had to; what repeats the words
    of others has to say what neither the `texts` of these drawers nor anything else in the block says. What was only
    derived from drawers `outside` the time asked about is left out. What the `own` space holds too is not taken from a
    fallback.
    """
    least = request.settings.best_share * max(quoted.values(), default=0.0) if request.selective else 0.0
    verdicts: dict[Key, KnownVerdict] = {}
    # What is needed is not limited like what only fits.
    left = max(request.settings.knowledge, sum(known.needed for known in found))
    episodes_shown: defaultdict[str, set[str]] = defaultdict(set)
    told: list[str] = []
    held = [each.text for each in found if each.key[0] == own and each.score >= request.threshold]
    for known in found:
        space = known.key[0]
        if known.key in shown:
            verdict: KnownVerdict = "already_shown"
        elif known.score < request.threshold:
            verdict = "below_threshold"
        elif _is_aside(known, request):
            verdict = "not_asked_for"
        elif not known.answers and any((space, drawer) in quoted for drawer in known.derived_from):
            verdict = "quoted_instead"
        elif known.derived_from and not known.answers and all((space, each) in outside for each in known.derived_from):
            verdict = "outside_dates"
        elif (known.derived_from or known.repeats) and known.score < least and not (known.answers or known.needed):
            verdict = "below_best"
        elif not left or (known.kind == "episode" and known.ref in episodes_shown[space]):
            verdict = "over_limit"  # the best piece of an episode represents it
        elif any(_says(text, known.repeats) for text in texts):
            verdict = "quoted_instead"
        elif _is_told(known, told if space == own else [*told, *held]):
            verdict = "duplicate"
        else:
            verdict = "shown"
            told.append(known.repeats or known.text)
            left -= 1
            if known.kind == "episode":
                episodes_shown[space].add(known.ref)
        verdicts[known.key] = verdict
    return verdicts


def _is_aside(known: DerivedHit, request: RecallRequest) -> bool:
    """Whether it is the summary of a session, for which nobody asked."""
    return known.of_session and known.score < _STRONG and not asks_history(request.query)


def _is_told(known: DerivedHit, texts: Sequence[str]) -> bool:
    """Whether one of these says the same."""
    return any(_says(each, known.repeats) or same_fact(known.text, each, None).same for each in texts)


def _says(text: str, statement: str) -> bool:
    """Whether a text says what repeats something, in its words."""
    return bool(statement) and (occurs(statement.rstrip(" .!"), text) or same_fact(statement, text, None).same)


def again(sources: Sequence[SpaceSnapshot], keys: Sequence[tuple[Key, float, int]]) -> Iterator[KnownItem]:
    """What an earlier block showed, if it is still current; keys with their score and tokens."""
    by_name = {source.name: source for source in sources}
    for (space, name), score, tokens in keys:
        kind, ref, ordinal = _parts(name)
        source = by_name.get(space)
        if source is None:
            continue
        if kind == "relation":
            text = graph_channel.text(source, ref)
            texts = [text] if text else []
        else:
            pieces = notes.of_ref(source.connection, source.key, kind, ref)
            texts = [piece.text for piece in pieces if piece.ordinal == ordinal]
        for text in texts:
            yield KnownItem(space=space, kind=kind, ref=ref, text=text, score=score, tokens=tokens)


def count_recalled(connection: Connection, space: str, names: Sequence[str], at: int) -> None:
    """Count these as shown to a model."""
    refs: dict[str, list[str]] = {"entry": [], "episode": []}
    for name in names:
        kind, ref, _ = _parts(name)
        refs.setdefault(kind, []).append(ref)
    entries.count_recalled(connection, space, refs["entry"], at)
    episodes.count_recalled(connection, space, refs["episode"], at)


def _needed(source: SpaceSnapshot, wanted: Sequence[Needed], request: RecallRequest) -> Iterator[DerivedHit]:
    """What a message needs, as fitting it, in this order."""
    fit = {each: 1 - place / 100 for place, each in enumerate(wanted)}
    held = _entries(source, [each.ref for each in wanted if each.kind == "entry"], request)
    over = standing.in_entries(source.store, source.moment, held, request.as_of)
    for ref, entry in held.items():
        hit = NoteHit(0, "entry", ref, 0, entry.content, None, None, fit[Needed("entry", ref)])
        yield _entry(source, hit, entry, over[ref], request)._replace(needed=True)
    shares = {each.ref: fit[each] for each in wanted if each.kind == "relation"}
    for known in _relations(source, graph_channel.of_ids(source, shares), request):
        yield known._replace(needed=True)


def _together(known: DerivedHit, wanted: DerivedHit | None) -> DerivedHit:
    """What fits and is needed as well."""
    if wanted is None:
        return known
    answers = known.answers or wanted.answers
    # What is needed is shown, so it says whether it still holds.
    return known._replace(lined=wanted.lined, score=max(known.score, wanted.score), needed=True, answers=answers)


def _notes(source: SpaceSnapshot, query: Query, vector: Vectors | None, request: RecallRequest) -> Iterator[DerivedHit]:
    hits = _note_hits(source, query, vector, request)
    if not hits:
        return
    refs: dict[str, list[str]] = {}
    for hit in hits:
        refs.setdefault(hit.kind, []).append(hit.ref)
    held, told, kept, current = _records(source, refs, request)
    # Whether something still holds takes long to find: not of what is not shown anyway.
    as_if = {hit: _entry(source, hit, held[hit.ref], (), request) for hit in hits if _is_of(hit, "entry", held)}
    fit = {known.ref: held[known.ref] for known in as_if.values() if known.score >= request.threshold}
    over = standing.in_entries(source.store, source.moment, fit, request.as_of) if fit else {}
    waiting = [words for entry in held.values() for _, words in _asking(entry)]
    for hit in hits:
        if _is_of(hit, "entry", held):
            ended = over.get(hit.ref, ())
            yield _entry(source, hit, held[hit.ref], ended, request) if ended else as_if[hit]
        elif _is_of(hit, "episode", told) and told[hit.ref].summary:
            asks = any(occurs(words, told[hit.ref].summary) for words in waiting)
            found = _episode(source, hit, told[hit.ref], (), query, request, asks=asks)
            if found.score < request.threshold or _is_aside(found, request):
                yield found
                continue
            since = standing.in_episodes(source.store, source.moment, [told[hit.ref]], request.as_of)[hit.ref]
            yield _episode(source, hit, told[hit.ref], since, query, request, asks=asks) if since else found
        elif _is_of(hit, "item", kept):
            yield _item(source, hit, kept[hit.ref], request)
        elif hit.kind == "document" and (file := current.get(hit.ref)) is not None:
            (ended,) = standing.in_documents(source.store, source.moment, [(hit.text, file.at)], request.as_of)
            yield _document(source, hit, file, ended, request)


class _Records(NamedTuple):
    """What notes are made of, by ref."""

    entries: dict[str, Entry]
    episodes: dict[str, Episode]
    items: dict[str, ItemRow]
    documents: dict[str, Written]


def _records(source: SpaceSnapshot, refs: Mapping[str, list[str]], request: RecallRequest) -> _Records:
    """What these notes are made of, as far as it holds."""
    place, at, until = (source.connection, source.key), to_millis(request.now), source.moment.until
    of_entries, of_episodes, of_documents = (refs.get(kind, []) for kind in ("entry", "episode", "document"))
    with one_trip(source.connection) as trip:
        trip.ask(_entries, source, of_entries, request)
        trip.ask(_episodes, source, of_episodes, request)
        trip.ask(documents.written, *place, of_documents)
    written = documents.written(*place, of_documents)
    return _Records(
        entries=_entries(source, of_entries, request),
        episodes=_episodes(source, of_episodes, request),
        items=items.holding(*place, refs["item"], at=at, until=until) if "item" in refs else {},
        documents={path: file for path, file in written.items() if until is None or to_millis(file.at) <= until},
    )


def _is_of(hit: NoteHit, kind: str, held: Collection[str]) -> bool:
    """Whether a hit is one of these records."""
    return hit.kind == kind and hit.ref in held


def _note_hits(source: SpaceSnapshot, query: Query, vector: Vectors | None, request: RecallRequest) -> list[NoteHit]:
    """The notes that match, best first; of an earlier moment, with entries that were put aside since."""
    how, earlier = request.settings, source.earlier
    most = how.knowledge * LOOKED_AT
    if earlier is None:
        return source.store.notes.search(source.moment, query.terms, vector, most, settings=how)
    hits = source.store.notes.search(source.moment, query.terms, vector, _LOOKED_AT_EARLIER, settings=how)
    hits += earlier.search_put_aside(source.store, source.connection, query.terms, vector, how)
    held = [hit for hit in hits if hit.kind != "entry" or hit.ref in earlier.held]
    # What else was written later is left out afterwards.
    return sorted(held, key=lambda hit: -hit.score)[: 4 * most]


def _episodes(source: SpaceSnapshot, ids: list[str], request: RecallRequest) -> dict[str, Episode]:
    """The summaries that have not expired; of an earlier moment, those of what was over by then."""
    found = episodes.holding(source.connection, source.key, ids, at=to_millis(request.now)) if ids else {}
    told = {ref: each for ref, each in found.items() if WITHHELD not in (each.title, each.summary)}
    return {ref: each for ref, each in told.items() if request.until is None or each.ended_at <= request.until}


def _entries(source: SpaceSnapshot, ids: list[str], request: RecallRequest) -> dict[str, Entry]:
    """The entries that hold."""
    if source.earlier is not None:
        return {ref: source.earlier.held[ref] for ref in ids if ref in source.earlier.held}
    found = entries.by_ids(source.connection, source.key, ids) if ids else {}
    return {
        ref: entry
        for ref, entry in found.items()
        if entry.active and not (entry.expires_at is not None and entry.expires_at <= request.now)
    }


def _entry(
    source: SpaceSnapshot, hit: NoteHit, entry: Entry, ended: Sequence[str], request: RecallRequest
) -> DerivedHit:
    """An entry as a line: `[entry a1b2c3d4e5f6] 2026-03-02 people/lena`; binding ones are marked as such."""
    asks = needs_permission(entry.metadata)
    binds = is_constraint(entry)
    # A drawer cannot say that something binds the agent, or that it must ask.
    derived = entry.path in FOUND and not binds and not asks

    def lined() -> str:
        said = _excerpt(hit, request)
        marks = (rendering.ASK_FIRST if asks else "") + (rendering.FROM_TOOL if entry.from_tool else "")
        label = block_lines.label(f"entry {source.reference(entry.id)}", entry.said_at, f"{entry.category}{marks}")
        told = rendering.CONSTRAINT + said.removeprefix("Don't ") if binds else said
        return rendering.render_known(label + rendering.render_ended(ended), told)

    return _known(
        source,
        hit,
        "entry",
        lined,
        request,
        at=entry.said_at,
        statement=1.0,
        trust=_AUTHORITY[entry.authority]
        * fading(entry, request.now, request.fade_days)
        * (_NO_LONGER if ended else 1.0),
        derived_from=frozenset(each.drawer for each in entry.evidence) if derived else frozenset(),
    )._replace(asks=_asking(entry))


def _asking(entry: Entry) -> tuple[tuple[int, str], ...]:
    """The drawers that an entry rests on with the words quoted from them; none if it does not wait for the user."""
    waiting = entry.evidence if needs_permission(entry.metadata) else ()
    return tuple((each.drawer, each.quote or entry.content) for each in waiting)


def waiting_words(known: Sequence[DerivedHit]) -> dict[DrawerKey, list[str]]:
    """The words in messages that wait for the user, as the entries made of them do."""
    words: dict[DrawerKey, list[str]] = {}
    for each in known:
        for drawer, quote in each.asks:
            words.setdefault((each.key[0], drawer), []).append(quote)
    return words


def _episode(
    source: SpaceSnapshot,
    hit: NoteHit,
    episode: Episode,
    ended: Sequence[str],
    query: Query,
    request: RecallRequest,
    *,
    asks: bool,
) -> DerivedHit:
    """A summary as a line; that of a task, which is found by its title as well, with what it says on the query.

    It `asks` if it repeats words that wait for the user.
    """

    def lined() -> str:
        if episode.of_task:
            piece = hit.text if hit.ordinal else episode.summary
            said = rendering.excerpt(piece, query.terms, request.settings.item_characters)
        else:
            said = _excerpt(hit, request)
        label = _label(source, episode, ended) + (rendering.ASK_FIRST if asks else "")
        return rendering.render_known(label, said)

    known = _known(source, hit, "episode", lined, request, at=episode.ended_at)
    return known._replace(of_session=not episode.of_task)


def _summary(source: SpaceSnapshot, episode: Episode, ended: Sequence[str], request: RecallRequest) -> DerivedHit:
    said = rendering.excerpt(episode.summary, (), request.settings.item_characters)
    return DerivedHit(
        key=(source.name, f"episode:{episode.id}#0"),
        kind="episode",
        ref=episode.id,
        text=episode.summary,
        lined=lambda: rendering.render_known(_label(source, episode, ended), said),
        scores={},
        score=_ASKED_FOR,
        of_session=True,
    )


def _label(source: SpaceSnapshot, episode: Episode, ended: Sequence[str]) -> str:
    about = f"task {episode.title or episode.task}" if episode.of_task else "session summary"
    label = block_lines.label(f"episode {source.reference(episode.id)}", episode.began_at, about)
    return label + rendering.render_ended(ended)


def _item(source: SpaceSnapshot, hit: NoteHit, item: ItemRow, request: RecallRequest) -> DerivedHit:
    """A store item as a line, with its key and date; scored like an entry the agent saved."""
    at = from_millis(item.updated_at)

    def lined() -> str:
        mark = "" if lowers(hit.text) is None else rendering.ASK_FIRST
        label = block_lines.label(f"item {source.reference(item.key)}", at) + mark
        return rendering.render_known(label, _excerpt(hit, request))

    return _known(source, hit, "item", lined, request, at=at, statement=1.0)


def _document(
    source: SpaceSnapshot, hit: NoteHit, file: Written, ended: Sequence[str], request: RecallRequest
) -> DerivedHit:
    """A piece of a document as a line; of a dream's, a statement."""
    repeats = document_text.statement(hit.text).said if hit.ref.startswith(document_text.DREAMT) else ""

    def lined() -> str:
        mark = (rendering.ASK_FIRST if lowers(hit.ref) else "") + (rendering.FROM_TOOL if file.from_tool else "")
        label = f"[document {source.reference(hit.ref)}]{mark}{rendering.render_ended(ended)}"
        return rendering.render_known(label, _excerpt(hit, request))

    known = _known(source, hit, "document", lined, request, at=request.now)
    return known._replace(repeats=repeats)


def _relations(source: SpaceSnapshot, found: Sequence[Related], request: RecallRequest) -> Iterator[DerivedHit]:
    # What the graph has an end for says so itself.
    lines = {each.row.number: each.text for each in found if each.row.last.valid_to is None}
    over = standing.in_relations(source.store, source.moment, lines, request.as_of)
    for each in found:
        yield _relation(source, each, over.get(each.row.number, ()), request)


def _relation(source: SpaceSnapshot, related: Related, ended: Sequence[str], request: RecallRequest) -> DerivedHit:
    """A relation as a line; scored like an entry of the same authority and fit."""
    row = related.row

    def lined() -> str:
        label = f"[relation {source.reference(row.id)}] {related.label}".rstrip()
        marks = (rendering.ASK_FIRST if related.asks_first else "") + (rendering.FROM_TOOL if row.from_tool else "")
        return rendering.render_known(label + marks + rendering.render_ended(ended), related.text)

    signals = {"match": related.share, "session": related.share, "statement": 1.0}
    age = to_millis(request.now) - row.created_at
    return DerivedHit(
        key=(source.name, f"relation:{row.id}#0"),
        kind="relation",
        ref=row.id,
        text=related.text,
        lined=lined,
        scores={"graph": round(related.share, _DECIMALS)},
        score=_score(
            source, signals, request, trust=_AUTHORITY[row.authority] * (_NO_LONGER if ended else 1.0), age=age
        ),
        derived_from=frozenset(related.evidence),
        answers=related.answers and not ended,
    )


def _known(
    source: SpaceSnapshot,
    hit: NoteHit,
    kind: KnownKind,
    lined: Callable[[], str],
    request: RecallRequest,
    *,
    at: datetime,
    statement: float = 0.0,
    trust: float = 1.0,
    derived_from: frozenset[int] = frozenset(),
) -> DerivedHit:
    signals = {"match": hit.score, "session": hit.score, "statement": statement}
    channels = {"keyword": hit.keyword, "vector": hit.vector}
    return DerivedHit(
        key=(source.name, f"{hit.kind}:{hit.ref}#{hit.ordinal}"),
        kind=kind,
        ref=hit.ref,
        text=hit.text,
        lined=lined,
        scores={name: round(share, _DECIMALS) for name, share in channels.items() if share is not None},
        score=_score(source, signals, request, trust=trust, age=to_millis(request.now) - to_millis(at)),
        derived_from=derived_from,
    )


def _score(
    source: SpaceSnapshot, signals: dict[str, float], request: RecallRequest, *, trust: float, age: int
) -> float:
    factors = scoring.factors(own=source.own, trust=trust, age=float(age), settings=request.settings)
    return round(float(np.asarray(scoring.score(signals, factors, request.settings))), _DECIMALS)


def _excerpt(hit: NoteHit, request: RecallRequest) -> str:
    return rendering.excerpt(hit.text, (), request.settings.item_characters)


def _parts(name: str) -> tuple[KnownKind, str, int]:
    kind, _, rest = name.partition(":")
    ref, _, ordinal = rest.rpartition("#")
    return kind, ref, int(ordinal)  # type: ignore[return-value]
