"""Which messages and entries a call means: its selectors, checked, and what they find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import EmbeddingUnavailable, InvalidInput, InvalidPeriod, NaiveDatetime, UnknownEntity
from langmem_tiers.forgetting.repetition import name_pattern
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.entity_lookup import require_entity, resolve_in
from langmem_tiers.language import periods
from langmem_tiers.language.names import NOT_ALONE
from langmem_tiers.language.words import meaningful_words
from langmem_tiers.pointers import parse_pointer
from langmem_tiers.storage import (
    change_log,
    drawers,
    entities,
    entries,
    forgetting,
    graph_evidence,
    keyword,
    relations,
    rooms,
)
from langmem_tiers.storage.forgetting import MessageFilter
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.knowledge_graph.view import GraphView
    from langmem_tiers.language.periods import Exactness, When
    from langmem_tiers.storage.change_log import Moment
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.vector_search import VectorIndex
    from langmem_tiers.store import SpaceStore

QUERY_BAR = 0.6
"""The cosine similarity from which a `query` finds a message or entry by its meaning; by words, it must have all."""
_FIRST_NEAR = 200
_LEAST_NAME = 3  # characters


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What is to be forgotten; selectors that are given narrow each other down."""

    messages: tuple[int | str, ...] = ()
    session: str | None = None
    since: When | None = None
    until: When | None = None
    speaker: str | None = None
    person: str | None = None
    project: str | None = None
    query: str | None = None
    entries: tuple[str, ...] = ()

    @classmethod
    def of(cls, **given: Any) -> Selection:
        """The selectors of a call, checked.

        Raises:
            InvalidInput: none is given, or one is of the wrong type.
        """
        messages = given["messages"]
        named = [messages] if isinstance(messages, int | str) else messages
        selection = cls(
            messages=tuple(arguments.several(named, "messages", "messages")),
            entries=arguments.texts(given["entries"], "entries"),
            since=_when(given["since"], "since"),
            until=_when(given["until"], "until"),
            **{name: _text(given[name], name) for name in ("session", "speaker", "person", "project", "query")},
        )
        if selection == cls():
            raise InvalidInput(
                "Nothing says what to forget.",
                way_out="Give messages, a session, since or until, a speaker, a person, a project, a query or entries; "
                "to forget everything of a user, use memory.delete_user.",
            )
        if selection.entries and selection != cls(entries=selection.entries):
            raise InvalidInput(
                "The argument `entries`: entries are forgotten by themselves.",
                way_out="Leave the other arguments out, or the entries.",
            )
        return selection


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What a selection finds: numbers of drawers, ids of entries, entities, and names by which it is recognised."""

    drawers: frozenset[int] = frozenset()
    by_part: frozenset[int] = frozenset()
    """Of the drawers, those that only have a part of the name of a person."""
    entries: frozenset[str] = frozenset()
    entities: frozenset[int] = frozenset()
    names: tuple[re.Pattern[str], ...] = ()


def query_vector(context: SpaceContext, selection: Selection) -> Vectors | None:
    """The vector of the query, if there are a query and an embedder; asked for outside any transaction.

    Raises:
        EmbeddingUnavailable: the embedder does not answer, so that less would be found than was asked for.
    """
    if selection.query is None:
        return None
    vector, reason = context.embedder.query(selection.query)
    if reason is not None:
        raise EmbeddingUnavailable(
            f"What the query means cannot be looked up ({reason}).",
            way_out="Repeat the call once the model can be reached, or name messages, a session or a person. "
            "A memory that is opened with embedder=None goes by words alone.",
        )
    return vector


def choose(
    context: SpaceContext, store: SpaceStore, connection: Connection, selection: Selection, vector: Vectors | None
) -> Chosen:
    """What a selection finds at this moment.

    Raises:
        AmbiguousEntity: several people may be meant.
        InvalidInput: an entry, message, session or project is not there, or a message id is in several sessions.
        InvalidPointer: a message is named by something that is no pointer, number or id.
        InvalidPeriod, NaiveDatetime: since or until is no date.
    """
    _require_there(store, connection, selection)
    if selection.entries:
        return Chosen(entries=frozenset(selection.entries))
    found = forgetting.find(connection, store.key, _filter(context, store, connection, selection))
    chosen = Chosen(drawers=frozenset(found))
    if selection.person is not None:
        chosen = _about(store, connection, selection.person, chosen)
    if selection.query is not None:
        chosen = _asked(store, connection, selection, vector, chosen)
    everything = forgetting.all_wordings(connection, store.key, chosen.drawers)
    return replace(chosen, drawers=frozenset(everything))


def _require_there(store: SpaceStore, connection: Connection, selection: Selection) -> None:
    """Refuse names of entries, sessions and projects that do not exist: nothing would be forgotten, and nobody told."""
    session, project = selection.session, selection.project
    unknown = set(selection.entries) - set(entries.by_ids(connection, store.key, selection.entries))
    if unknown:
        raise _not_there("entries", ", ".join(sorted(unknown)), "Give ids as `knowledge.search` has them.")
    if session is not None and rooms.of_session(connection, store.key, session) is None:
        raise _not_there("session", session, "Give the id of a session that has messages.")
    if project is not None and not forgetting.find(connection, store.key, MessageFilter(project=project)):
        raise _not_there(
            "project",
            project,
            "`project` means what messages were tracked with, and no wing; give a session, or the pointer of a room.",
        )


def _not_there(name: str, given: str, way_out: str) -> InvalidInput:
    return InvalidInput(f"The argument `{name}`: there is no {given[:200]!a}.", way_out=way_out)


def _filter(context: SpaceContext, store: SpaceStore, connection: Connection, selection: Selection) -> MessageFilter:
    now = context.now
    since = None if selection.since is None else _parsed(selection.since, "since", now)[0]
    until = None if selection.until is None else to_millis(periods.after(*_parsed(selection.until, "until", now)))
    named = _named(store, connection, selection) if selection.messages else None
    return MessageFilter(
        numbers=named,
        session=selection.session,
        since=None if since is None else to_millis(since),
        until=until,
        speaker=selection.speaker,
        project=selection.project,
    )


def _text(given: Any, name: str) -> str | None:
    """A text with more than blanks, or None; projects are stored without blanks around them.

    Raises:
        InvalidInput: it is empty.
    """
    text = arguments.optional_text(given, name)
    if text is not None and not text.strip():
        raise arguments.refused(given, name, "a text that is not empty")
    return text.strip() if text is not None and name == "project" else text


def _when(given: Any, name: str) -> When | None:
    """A date or moment of the right type.

    Raises:
        InvalidInput: it is something else.
    """
    if given is None or isinstance(given, date | str):
        return given
    raise arguments.refused(given, name, "a date, such as 2024-05-17, or a datetime with a time zone")


def _parsed(when: When, name: str, now: datetime) -> tuple[datetime, Exactness]:
    """The first moment of a date, and how exact it is.

    Raises:
        InvalidPeriod, NaiveDatetime: it is no date; the error names the argument.
    """
    try:
        return periods.parse(when, now=now)
    except (InvalidPeriod, NaiveDatetime) as error:
        raise type(error)(f"The argument `{name}`: {error.message}", way_out=error.way_out) from error


def _named(store: SpaceStore, connection: Connection, selection: Selection) -> set[int]:
    """The drawers of numbers, pointers and message ids.

    Raises:
        InvalidInput: one of them is none of these, or there is no such message.
    """
    found: set[int] = set()
    for each in selection.messages:
        numbers = _one(store, connection, each, selection.session)
        if not numbers:
            raise InvalidInput(
                f"The argument `messages`: there is no message {beginning(str(each), 60)!a}.",
                way_out="Give a drawer's number, a pointer such as §W-001/R-02/D-003, or the id of a message.",
            )
        found |= numbers
    return found


def _one(store: SpaceStore, connection: Connection, which: Any, session: str | None) -> set[int]:
    if isinstance(which, int) and not isinstance(which, bool):
        return _numbered(store, connection, which)
    text = arguments.text(which, "messages")
    if text.startswith("§"):
        pointer = parse_pointer(text)
        room = rooms.at_address(connection, store.key, pointer.wing, pointer.room)
        if room is None or pointer.space is not None:
            return set()
        if pointer.drawer is None:
            return forgetting.find(connection, store.key, MessageFilter(session=room.session))
        at = drawers.at_place(connection, store.key, room.number, pointer.drawer)
        return set() if at is None else {at.number}
    by_id = drawers.of_messages(connection, store.key, session, [text])
    if len(forgetting.sessions_of(connection, store.key, by_id)) > 1:
        raise InvalidInput(
            f"The argument `messages`: several sessions have a message {text[:60]!a}.",
            way_out="Name the session as well, or give the pointer of the message.",
        )
    short = len(text) <= len(str(arguments.MOST))
    return by_id or (_numbered(store, connection, int(text)) if short and text.isdecimal() else set())


def _numbered(store: SpaceStore, connection: Connection, number: int) -> set[int]:
    """The drawer with this number, if there is one; the database takes none that is too large."""
    return set(drawers.read(connection, store.key, [number])) if 0 < number <= arguments.MOST else set()


def _about(store: SpaceStore, connection: Connection, person: str, chosen: Chosen) -> Chosen:
    """Of the drawers chosen, those that name a person; with the entity, and everything that tells of it."""
    if naming.is_self(person):
        raise _all_of_the_user()
    view = store.graph.view(change_log.moment(connection, store.key))
    try:
        entity = require_entity(lambda mention: resolve_in(view, mention), person)
    except UnknownEntity:
        members, names, parts = [], [person], list[str]()
    else:
        root = view.canonical(entity.number)
        members = [root, *view.merged.get(root, ())]
        if any(naming.is_self(view.entities[number].name) for number in members):
            raise _all_of_the_user()
        names, parts = _names(view, members)
    named = _naming(store, connection, names)
    known = named | _told_of(store, connection, members)
    by_part = (_naming(store, connection, parts) & _of_their_sessions(store, connection, named)) - known
    return Chosen(
        drawers=chosen.drawers & (known | by_part),
        by_part=chosen.drawers & by_part,
        entities=frozenset(members),
        names=_patterns([*names, *parts]),
    )


def _all_of_the_user() -> InvalidInput:
    return InvalidInput(
        "That would be everything the user said of themselves.",
        way_out="To forget a user altogether, use memory.delete_user.",
    )


def _names(view: GraphView, members: Sequence[int]) -> tuple[list[str], list[str]]:
    """The names of an entity, and the parts of them that mean somebody and that nobody else is called by."""
    names = [name for number in members for name in (view.entities[number].name, *view.entities[number].aliases)]
    others = {
        part.casefold()
        for number, row in view.entities.items()
        if number not in members
        for name in (row.name, *row.aliases)
        for part in (name, *name.split())
    }
    person = any(view.entities[number].type == "person" for number in members)
    parts = [part for name in names for part in name.split() if person and _may_stand_alone(part)]
    whole, alone = ([name for name in some if name.casefold() not in others] for some in (names, parts))
    return whole, alone


def _may_stand_alone(part: str) -> bool:
    return part[:1].isupper() and len(part) >= _LEAST_NAME and part.rstrip(".").casefold() not in NOT_ALONE


def _patterns(names: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(name_pattern(name) for name in dict.fromkeys(names))


def _of_their_sessions(store: SpaceStore, connection: Connection, numbers: set[int]) -> set[int]:
    """The drawers of the sessions that these are of."""
    sessions = forgetting.sessions_of(connection, store.key, numbers)
    found = (forgetting.find(connection, store.key, MessageFilter(session=each)) for each in sessions)
    return set().union(*found)


def _told_of(store: SpaceStore, connection: Connection, members: Sequence[int]) -> set[int]:
    """The drawers that an entity and its relations rest on."""
    found = {each.drawer for rests in entities.evidence_of(connection, store.key, members).values() for each in rests}
    numbers = relations.numbers_of_entities(connection, store.key, members)
    rests = graph_evidence.of_relations.read(connection, store.key, numbers)
    return found | {each.drawer for some in rests.values() for each in some}


def _naming(store: SpaceStore, connection: Connection, names: Sequence[str]) -> set[int]:
    """The drawers whose text has one of these names."""
    patterns = _patterns(names)
    likely = {number for name in names for number in forgetting.saying(connection, store.key, name)}
    likely |= {number for name in names for number in forgetting.superseded_with(connection, store.key, name)}
    held = drawers.texts(connection, store.key, sorted(likely))
    return {number for number, (_, text) in held.items() if any(each.search(text) for each in patterns)}


def _asked(
    store: SpaceStore, connection: Connection, selection: Selection, vector: Vectors | None, chosen: Chosen
) -> Chosen:
    """What a query finds: by all its words, or by meaning from `QUERY_BAR` on."""
    terms = list(dict.fromkeys(meaningful_words(selection.query or "")))
    moment = change_log.moment(connection, store.key)
    found: set[int] = set()
    if terms:
        holding = [keyword.drawers.with_phrase(connection, term) for term in terms]
        found = set.intersection(*holding)
    known: set[str] = set()
    for hit in store.notes.search(moment, terms, vector, arguments.MOST, {"entry"}):
        by_words = bool(terms) and set(terms) <= set(meaningful_words(hit.text))
        if by_words or (hit.vector or 0.0) >= QUERY_BAR:
            known.add(hit.ref)
    if vector is not None and store.vectors is not None:
        found |= _near(store.vectors, moment, vector)
    alone = selection == Selection(query=selection.query)
    return replace(chosen, drawers=chosen.drawers & found, entries=frozenset(known) if alone else frozenset())


def _near(vectors: VectorIndex, moment: Moment, query: Vectors) -> set[int]:
    """The drawers from `QUERY_BAR` on: more are asked for until the last one is below it."""
    most = _FIRST_NEAR
    while True:
        near = vectors.similar(moment, query, most)
        if len(near) < most or min(near.values()) < QUERY_BAR:
            return {number for number, similarity in near.items() if similarity >= QUERY_BAR}
        most *= 2
