"""Items of the store: their values, and searching them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, time
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langgraph.store.base import Item, ListNamespacesOp, MatchCondition, SearchItem, SearchOp, get_text_at_path

from langmem_tiers.clock import from_millis
from langmem_tiers.content import WITHHELD
from langmem_tiers.errors import InvalidInput, InvalidVector
from langmem_tiers.integrations.store import checks
from langmem_tiers.integrations.store.naming import ANY, Namespace
from langmem_tiers.json_bounds import DEEPEST, too_deep
from langmem_tiers.knowledge.validation import require_length
from langmem_tiers.models.chunking import split
from langmem_tiers.recall.request import Query
from langmem_tiers.settings import RecallSettings, Settings
from langmem_tiers.storage import items
from langmem_tiers.storage.change_log import Moment, moment
from langmem_tiers.storage.items import ItemRow, Place
from langmem_tiers.storage.note_index import NoteHit
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.store import SpaceStore
from langmem_tiers.trust import secrets
from langmem_tiers.wording import with_article

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.integrations.store.caller import Caller
    from langmem_tiers.storage.embedding_cache import Vectors


WHOLE = "$"


def dumped(value: Mapping[str, Any], key: str, settings: Settings) -> str:
    """A value as it is stored.

    Raises:
        InvalidInput: JSON cannot hold it.
        TextTooLong: it is longer than `settings.text.max_characters`.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"The value of {key!r} is of type {type(value).__name__}.", way_out="Give a dict.")
    try:
        text = json.dumps(dict(value), default=_as_json, separators=(",", ":"))
        is_deep = text.count("[") + text.count("{") > DEEPEST and too_deep(json.loads(text), DEEPEST)
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise InvalidInput(
            f"The value of {key!r} cannot be stored: {reason}.", way_out="Give what JSON can hold."
        ) from error
    if is_deep:
        raise InvalidInput(f"The value of {key!r} is nested more than {DEEPEST} times.", way_out="Give a flatter one.")
    require_length(text, f"value of {key!r}", settings)
    return text


def loaded(text: str) -> dict[str, Any]:
    """A value as it was given, as far as JSON keeps it; a new copy each time. An altered one says that it is."""
    if text == WITHHELD:
        return {"withheld": WITHHELD}
    value: dict[str, Any] = json.loads(text)
    return value


def is_memory(value: Mapping[str, Any]) -> bool:
    """Whether langmem wrote it: its tools as `{"content": …}`, its managers as `{"kind": …, "content": {…}}`."""
    if set(value) == {"content"}:
        return isinstance(value["content"], str | Mapping)
    return (
        set(value) == {"kind", "content"} and isinstance(value["kind"], str) and isinstance(value["content"], Mapping)
    )


def pieces(
    value: Mapping[str, Any], index: Sequence[str] | None, fields: Sequence[str] | None, settings: Settings
) -> list[NoteText]:
    """The searchable texts of a value: at the given paths, else of the fields, else all of it; secrets are masked."""
    paths = (WHOLE,) if index is None and fields is None else (index or fields or ())
    limit = settings.documents.chunk_characters
    found: dict[str, None] = {}
    texts: list[str] = []
    for path in paths:
        texts += [_readable(value)] if path == WHOLE else get_text_at_path(value, path)
    for text in texts:
        # The value may hold a lone surrogate; no index can.
        shown = text.encode("utf-8", "replace").decode()
        if settings.privacy.derived != "keep":
            shown = secrets.mask(shown)
        found |= dict.fromkeys(shown[start:stop].strip() for start, stop in split(shown, limit))
    return [NoteText(text=piece) for piece in found if piece]


def _readable(value: Mapping[str, Any]) -> str:
    """A value in words: the sentence if langmem wrote it, otherwise names and values."""
    told = value["content"] if is_memory(value) else value
    if isinstance(told, Mapping) and set(told) == {"content"}:
        told = told["content"]
    return told if isinstance(told, str) else "\n".join(_lines(told, ""))


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _lines(each, f"{name}.{inner}" if name else str(inner))
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        for each in value:
            yield from _lines(each, name)
    elif value is not None and value != []:
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield f"{name}: {shown}" if name else shown


def _as_json(value: Any) -> Any:
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"{with_article(type(value).__name__)} cannot be stored as JSON")


# Every item is scored: a store returns as many as were asked for, whether they fit or not.
_ALL = 10**9


@dataclass(frozen=True)
class Asked:
    """A query as words and, if there is an embedder, as a vector."""

    query: Query
    vector: "Vectors | None"


@dataclass(frozen=True)
class SpaceLook:
    """A snapshot of a space; with `alive_at`, without the items that expired by then."""

    name: str
    store: SpaceStore
    moment: Moment
    settings: RecallSettings
    alive_at: int | None

    def item(self, place: Place) -> ItemRow | None:
        """The item at a place."""
        row = items.at_places(self.moment.connection, self.store.key, [place]).get(place)
        return None if row is None or (self.alive_at is not None and row.expired(self.alive_at)) else row

    def under(self, prefix: str) -> Iterator[ItemRow]:
        """The items in a namespace and below it, those changed last first."""
        return items.under(self.moment.connection, self.store.key, prefix, alive_at=self.alive_at)

    def namespaces(self) -> list[str]:
        """The namespaces that hold anything."""
        return items.namespaces(self.moment.connection, self.store.key, alive_at=self.alive_at)

    def scores(self, asked: Asked) -> dict[Place, float]:
        """How well items fit a query, each by its best piece; items without searchable text are left out."""
        # The best piece of an item comes first; in reverse order, it is the one that stays.
        return {items.place(hit.ref): hit.score for hit in reversed(self._hits(asked, asked.vector))}

    def _hits(self, asked: Asked, vector: "Vectors | None") -> Sequence[NoteHit]:
        settings = self.settings.model_copy(update={"min_similarity": -1.0})
        try:
            return self.store.search_notes(
                self.moment, asked.query.terms, vector, _ALL, kinds=items.SEARCHED, settings=settings
            )
        except InvalidVector:  # of another model than those stored: by words only
            return self._hits(asked, None)


class Looks(ExitStack):
    """The spaces that a batch reads from, one after the other; missing ones are not created.

    Only the last one is held open: a batch may be about any number of users, and each takes a connection or files.
    """

    def __init__(self, caller: "Caller", alive_at: int | None) -> None:
        super().__init__()
        self._caller = caller
        self._alive_at = alive_at
        self._held: SpaceLook | None = None

    def at(self, name: str) -> SpaceLook | None:
        """The space of a name, None if there is none.

        Raises:
            AccessDenied: the caller has no role in it.
            MemoryOff: the settings turn it off.
        """
        return self._look(self._caller.require_readable(name))

    def each(self, names: Sequence[str] | None) -> Iterator[SpaceLook]:
        """Those of these spaces that exist, each until the next one is asked for; without names all of them."""
        if names is None:
            self._leave()  # to list them takes a connection: whoever held one could wait for others who do
        looks = (self._look(context) for context in self._caller.readable(names))
        return (look for look in looks if look is not None)

    def _look(self, context: "SpaceContext") -> SpaceLook | None:
        if self._held is not None and self._held.name == context.name:
            return self._held
        self._leave()
        if context.exists():
            store = self.enter_context(context.open())
            connection = self.enter_context(store.reading())
            settings = context.settings.recall
            self._held = SpaceLook(context.name, store, moment(connection, store.key), settings, self._alive_at)
        return self._held

    def _leave(self) -> None:
        self._held = None
        self.close()


@dataclass(frozen=True)
class FoundItem:
    """An item that a search found, and in which space."""

    space: str
    row: ItemRow
    value: dict[str, Any]
    score: float | None = None

    @property
    def order(self) -> tuple[bool, float, int, int]:
        """Sorts the best first, items without a score last, and equals by their last change."""
        return self.score is None, -(self.score or 0.0), -self.row.updated_at, -self.row.changed

    def told(self) -> SearchItem:
        """The item as callers get it."""
        return SearchItem(score=self.score, **_columns(self.row, self.value))


def search(look: SpaceLook, op: SearchOp, asked: Asked | None) -> list[FoundItem]:
    """What a search finds in a space, as far as it may be on the requested page."""
    rows = look.under(".".join(op.namespace_prefix))
    scores: Mapping[Place, float] = {} if asked is None else look.scores(asked)
    scored: Iterable[tuple[ItemRow, float | None]] = ((row, scores.get(row.place)) for row in rows)
    if asked is not None:
        scored = sorted(scored, key=lambda one: (one[1] is None, -(one[1] or 0.0)))
    fitting = (
        FoundItem(look.name, row, value, score)
        for row, score in scored
        if checks.fits(value := loaded(row.value), op.filter)
    )
    return list(islice(fitting, op.offset + op.limit))


def page(found: Iterable[FoundItem], op: SearchOp) -> list[FoundItem]:
    """The requested page of what was found in all spaces."""
    return sorted(found, key=lambda each: each.order)[op.offset : op.offset + op.limit]


def namespaces(looks: Iterable[SpaceLook], op: ListNamespacesOp) -> list[Namespace]:
    """The namespaces that meet all conditions, each once, in order."""
    every = (tuple(each.split(".")) for look in looks for each in look.namespaces())
    met = {each for each in every if all(_meets(each, condition) for condition in op.match_conditions or ())}
    cut = sorted({each[: op.max_depth] for each in met})
    return cut[op.offset : op.offset + op.limit]


def told(row: ItemRow) -> Item:
    """The item as callers get it."""
    return Item(**_columns(row, loaded(row.value)))


def _meets(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in (ANY, label) for label, wanted in zip(part, path, strict=True))


def _columns(row: ItemRow, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "namespace": tuple(row.namespace.split(".")),
        "key": row.key,
        "value": value,
        "created_at": from_millis(row.created_at),
        "updated_at": from_millis(row.updated_at),
    }
