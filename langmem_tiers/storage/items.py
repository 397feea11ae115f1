"""The rows of store items, and their searchable text.

A namespace is passed as its labels joined by ".", which no label contains. An item is an "item" among the notes if
recall may show it, otherwise a "value"; without searchable text it has no note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select, tuple_, update

from langmem_tiers.storage import change_log, notes, receipts
from langmem_tiers.storage.notes import NoteKind, NoteText
from langmem_tiers.storage.schema import store_items
from langmem_tiers.storage.statements import Prepared, among, batches, here, listed, upsert

SEARCHED: tuple[NoteKind, NoteKind] = ("item", "value")
# Between namespace and key: no namespace contains two dots in a row, or ends with one.
_BETWEEN = ".."

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


_CHANGED: change_log.News = ("item.changed", None, None)
_NEW = upsert(store_items)
_PUT = Prepared(
    _NEW.on_conflict_do_update(
        index_elements=["space", "namespace", "key"],
        set_={name: _NEW.excluded[name] for name in ("value", "updated_at", "changed", "ttl", "expires_at")},
    )
)
_EVERY = select(*(column for column in store_items.c if column.name != "space"))
_NEWEST_FIRST = (store_items.c.updated_at.desc(), store_items.c.changed.desc())


def ref(namespace: str, key: str) -> str:
    """The ref of an item's notes."""
    return f"{namespace}{_BETWEEN}{key}"


def place(ref: str) -> Place:
    """The namespace and key in the ref of a note."""
    namespace, _, key = ref.partition(_BETWEEN)
    return namespace, key


def put_all(connection: Connection, space: str, several: Sequence[NewItem], at: int) -> None:
    """Write items, each with another place; the creation time of those that are there stays."""
    if not several:
        return
    texts = {
        (kind, ref(new.namespace, new.key)): new.texts if new.recalled is (kind == "item") else ()
        for new in several
        for kind in SEARCHED
    }
    written = notes.put_all(connection, space, texts)
    # The log only grows, so no position is reused. That of each item tells which was changed last.
    news: list[change_log.News] = [*written.news, *(_CHANGED for _ in several)]
    last = change_log.append_all(connection, space, news, at=at)
    rows = [
        {
            "space": space,
            "namespace": new.namespace,
            "key": new.key,
            "value": new.value,
            "created_at": at,
            "updated_at": at,
            "changed": position,
            "ttl": new.ttl,
            "expires_at": None if new.ttl is None else at + new.ttl,
        }
        for position, new in enumerate(several, start=last - len(several) + 1)
    ]
    _PUT.insert(connection, rows)
    notes.forget_vectors(connection, space, written.gone)
    _forget_receipts(connection, space, written.refs)


def drop(connection: Connection, space: str, places: Iterable[Place], at: int) -> int:
    """Delete items with everything derived from them. Returns how many there were."""
    wanted = list(places)
    dropped = list(at_places(connection, space, wanted)) if wanted else []
    if not dropped:
        return 0
    named = tuple_(store_items.c.namespace, store_items.c.key)
    for some in batches(dropped):
        connection.execute(delete(store_items).where(*here(store_items, space), named.in_(some)))
    written = notes.put_all(connection, space, {(kind, ref(*each)): () for each in dropped for kind in SEARCHED})
    change_log.append_all(connection, space, [*written.news, *(_CHANGED for _ in dropped)], at=at)
    notes.forget_texts(connection, space, written.gone)
    _forget_receipts(connection, space, written.refs)
    return len(dropped)


def at_places(connection: Connection, space: str, places: Collection[Place]) -> dict[Place, ItemRow]:
    """Those of these items that exist, including expired ones."""
    named = tuple_(store_items.c.namespace, store_items.c.key)
    rows = among(connection, _EVERY.where(*here(store_items, space), listed(named)), places)
    return {(row.namespace, row.key): ItemRow(**row._mapping) for row in rows}


def holding(
    connection: Connection, space: str, refs: Iterable[str], *, at: int, until: int | None = None
) -> dict[str, ItemRow]:
    """Those of these items, by note ref, that are unexpired and were written by a given time."""
    found = at_places(connection, space, [place(each) for each in refs]).values()
    return {ref(*row.place): row for row in found if not row.expired(at) and (until is None or row.updated_at <= until)}


def under(connection: Connection, space: str, prefix: str, *, alive_at: int | None = None) -> Iterator[ItemRow]:
    """The items in a namespace and below it, or all if it is empty, most recently changed first."""
    wanted = _EVERY.where(*here(store_items, space), *_below(prefix), *_alive(alive_at)).order_by(*_NEWEST_FIRST)
    return (ItemRow(**row._mapping) for row in connection.execute(wanted))


def with_key(connection: Connection, space: str, key: str) -> ItemRow | None:
    """The item with this key, in whatever namespace; of several, the one that was changed most recently."""
    wanted = _EVERY.where(*here(store_items, space, key=key)).order_by(*_NEWEST_FIRST).limit(1)
    row = connection.execute(wanted).first()
    return None if row is None else ItemRow(**row._mapping)


def namespaces(connection: Connection, space: str, *, alive_at: int | None = None) -> list[str]:
    """The namespaces with at least one item."""
    wanted = select(store_items.c.namespace).distinct().where(*here(store_items, space), *_alive(alive_at))
    return list(connection.execute(wanted).scalars())


def refresh(connection: Connection, space: str, places: Collection[Place], at: int) -> None:
    """Restart the time to live of these items."""
    for namespace, key in places:
        this = (*here(store_items, space, namespace=namespace, key=key), store_items.c.ttl.is_not(None))
        connection.execute(update(store_items).where(*this).values(expires_at=at + store_items.c.ttl))


def expired(connection: Connection, space: str, at: int) -> list[Place]:
    """The items that have expired by a moment."""
    these = (*here(store_items, space), store_items.c.expires_at <= at)
    found = connection.execute(select(store_items.c.namespace, store_items.c.key).where(*these))
    return [(namespace, key) for namespace, key in found]


NEXT_EXPIRY = select(func.min(store_items.c.expires_at)).where(*here(store_items)).scalar_subquery()
"""As part of a statement: when the next item expires, NULL if none does."""


def _forget_receipts(connection: Connection, space: str, gone: Collection[tuple[NoteKind, str]]) -> None:
    """Delete the receipts that hold words of texts that items no longer contain. Values are not recalled."""
    for some in batches([name for kind, name in gone if kind == "item"]):
        receipts.forget(connection, space, some, kind="item")


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
