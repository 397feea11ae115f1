"""The rows of store items, and their searchable text.

A namespace is passed as its labels joined by ".", which no label contains. An item is an "item" among the notes if
recall may show it, otherwise a "value"; without searchable text it has no note.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage import change_log, notes, receipts
from langmem_tiers.storage.notes import NoteKind, NoteText
from langmem_tiers.storage.schema import store_items

SEARCHED: tuple[NoteKind, NoteKind] = ("item", "value")
# Between namespace and key: no namespace contains two dots in a row, or ends with one.
_BETWEEN = ".."
# SQLite allows 32,766 variables in a statement by default.
_AT_ONCE = 5_000

Place = tuple[str, str]
"""Namespace and key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemRow:
    """A stored item; times are UTC milliseconds."""

    namespace: str
    key: str
    value: str
    created_at: int
    updated_at: int
    changed: int
    ttl: int | None
    expires_at: int | None

    @property
    def place(self) -> Place:
        """Its namespace and key."""
        return self.namespace, self.key

    def expired(self, at: int) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and self.expires_at <= at


@dataclass(frozen=True, kw_only=True, slots=True)
class NewItem:
    """An item to be stored: `texts` are searchable, and recalled if `recalled` says so."""

    namespace: str
    key: str
    value: str
    texts: Sequence[NoteText] = ()
    recalled: bool = False
    ttl: int | None = None


def ref(namespace: str, key: str) -> str:
    """The ref of an item's notes."""
    return f"{namespace}{_BETWEEN}{key}"


def place(ref: str) -> Place:
    """The namespace and key in the ref of a note."""
    namespace, _, key = ref.partition(_BETWEEN)
    return namespace, key


def put(connection: Connection, space: str, new: NewItem, at: int) -> None:
    """Write an item; its creation time stays."""
    values = {
        "value": new.value,
        "updated_at": at,
        "changed": _log(connection, space, at),
        "ttl": new.ttl,
        "expires_at": None if new.ttl is None else at + new.ttl,
    }
    row = insert_or(store_items).values(space=space, namespace=new.namespace, key=new.key, created_at=at, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "namespace", "key"], set_=values))
    kind, other = SEARCHED if new.recalled else SEARCHED[::-1]
    name = ref(new.namespace, new.key)
    gone = [*notes.put(connection, space, kind, name, new.texts, at), *notes.drop(connection, space, other, name, at)]
    _forget(connection, space, name, gone)


def drop(connection: Connection, space: str, places: Iterable[Place], at: int) -> int:
    """Delete items with everything derived from them. Returns how many there were."""
    dropped = 0
    for namespace, key in places:
        gone = connection.execute(delete(store_items).where(*_at(space, namespace, key))).rowcount
        if gone:
            dropped += gone
            _log(connection, space, at)
            name = ref(namespace, key)
            texts = [each for kind in SEARCHED for each in notes.drop(connection, space, kind, name, at)]
            _forget(connection, space, name, texts)
    return dropped


def at_places(connection: Connection, space: str, places: Collection[Place]) -> dict[Place, ItemRow]:
    """Those of these items that exist, including expired ones."""
    wanted = list(places)
    found: dict[Place, ItemRow] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        these = tuple_(store_items.c.namespace, store_items.c.key).in_(wanted[start : start + _AT_ONCE])
        found.update({row.place: row for row in _rows(connection, _every(space).where(these))})
    return found


def holding(
    connection: Connection, space: str, refs: Iterable[str], *, at: int, until: int | None = None
) -> dict[str, ItemRow]:
    """Those of these items, by note ref, that are unexpired and were written by a given time."""
    found = at_places(connection, space, [place(each) for each in refs]).values()
    return {ref(*row.place): row for row in found if not row.expired(at) and (until is None or row.updated_at <= until)}


def under(connection: Connection, space: str, prefix: str, *, alive_at: int | None = None) -> Iterator[ItemRow]:
    """The items in a namespace and below it, or all if it is empty, most recently changed first."""
    newest_first = (store_items.c.updated_at.desc(), store_items.c.changed.desc())
    wanted = _every(space).where(*_below(prefix), *_alive(alive_at)).order_by(*newest_first)
    return _rows(connection, wanted)


def namespaces(connection: Connection, space: str, *, alive_at: int | None = None) -> list[str]:
    """The namespaces with at least one item."""
    wanted = select(store_items.c.namespace).distinct().where(store_items.c.space == space, *_alive(alive_at))
    return list(connection.execute(wanted).scalars())


def refresh(connection: Connection, space: str, places: Collection[Place], at: int) -> None:
    """Restart the time to live of these items."""
    for namespace, key in places:
        this = (*_at(space, namespace, key), store_items.c.ttl.is_not(None))
        connection.execute(update(store_items).where(*this).values(expires_at=at + store_items.c.ttl))


def expired(connection: Connection, space: str, at: int) -> list[Place]:
    """The items that have expired by a moment."""
    these = (store_items.c.space == space, store_items.c.expires_at <= at)
    found = connection.execute(select(store_items.c.namespace, store_items.c.key).where(*these))
    return [(namespace, key) for namespace, key in found]


def next_expiry(connection: Connection, space: str) -> int | None:
    """When the next item expires, None if none does."""
    wanted = select(func.min(store_items.c.expires_at)).where(store_items.c.space == space)
    return connection.execute(wanted).scalar()


def _log(connection: Connection, space: str, at: int) -> int:
    # The log only grows, so no position is reused.
    return change_log.append(connection, space, "item.changed", None, at=at)


def _forget(connection: Connection, space: str, name: str, gone: Sequence[bytes]) -> None:
    """Erase from the file the texts that an item no longer contains."""
    if gone:
        notes.forget_vectors(connection, space, gone)
        # The names are stored as JSON.
        receipts.forget(connection, space, [json.dumps(name, ensure_ascii=False)[1:-1]], kind="item")


def _every(space: str) -> Select[Any]:
    columns = [column for column in store_items.c if column.name != "space"]
    return select(*columns).where(store_items.c.space == space)


def _rows(connection: Connection, wanted: Select[Any]) -> Iterator[ItemRow]:
    return (ItemRow(**row._mapping) for row in connection.execute(wanted))


def _at(space: str, namespace: str, key: str) -> tuple[ColumnElement[bool], ...]:
    return store_items.c.space == space, store_items.c.namespace == namespace, store_items.c.key == key


def _below(prefix: str) -> tuple[ColumnElement[bool], ...]:
    if not prefix:
        return ()
    # "/" is the character after ".": a range can use the index, and has no wildcards.
    below = (store_items.c.namespace > f"{prefix}.") & (store_items.c.namespace < f"{prefix}/")
    return (or_(store_items.c.namespace == prefix, below),)


def _alive(at: int | None) -> tuple[ColumnElement[bool], ...]:
    if at is None:
        return ()
    return (or_(store_items.c.expires_at.is_(None), store_items.c.expires_at > at),)
