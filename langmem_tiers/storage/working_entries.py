"""Entries of working memory: rows that expire, with the notes by which they are searched."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, select, update

from langmem_tiers.storage import change_log, notes
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.schema import working_entries
from langmem_tiers.storage.statements import among, delete_among, here, listed, put_row


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkingHead:
    """A stored entry without its value; times are UTC milliseconds.

    A long value is cut into parts at the characters `cuts`.
    """

    key: str
    namespace: str
    characters: int
    cuts: tuple[int, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    stored_at: int
    expires_at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkingRow(WorkingHead):
    """A stored entry."""

    value: str

    @property
    def parts(self) -> list[str]:
        """The value in parts; a short one is a single part."""
        return [self.value[start:stop] for start, stop in zip((0, *self.cuts), (*self.cuts, None), strict=True)]

    @property
    def searched(self) -> list[str]:
        """The parts as they are searched; one of blanks keeps its place among the others."""
        return [part.strip() or "…" for part in self.parts]


_HEADS = select(*(column for column in working_entries.c if column.name not in {"space", "value"}))
_EVERY = _HEADS.add_columns(working_entries.c.value)


def put(connection: Connection, space: str, new: WorkingRow) -> None:
    """Write an entry, in the place of one with the same key."""
    values = {
        "namespace": new.namespace,
        "value": new.value,
        "characters": new.characters,
        "cuts": json.dumps(new.cuts),
        "category": new.category,
        "tags": "\n".join(new.tags),
        "stored_at": new.stored_at,
        "expires_at": new.expires_at,
    }
    put_row(connection, working_entries, space, {"key": new.key}, values)
    texts = [_searched(new, part) for part in new.searched]
    gone = notes.put(connection, space, "working", new.key, texts, new.stored_at)
    notes.forget_vectors(connection, space, gone)
    change_log.append(connection, space, "working.changed", None, at=new.stored_at)


def remove(connection: Connection, space: str, keys: Collection[str], at: int) -> int:
    """Delete entries with everything derived from them. Returns how many there were."""
    removed = delete_among(connection, space, working_entries.c.key, keys)
    if removed:
        gone = [text for key in keys for text in notes.drop(connection, space, "working", key, at)]
        notes.forget_texts(connection, space, gone)
        change_log.append(connection, space, "working.changed", None, at=at)
    return removed


def read(connection: Connection, space: str, keys: Collection[str], at: int) -> dict[str, WorkingRow]:
    """Those of these entries that are there and have not expired, by key."""
    wanted = _EVERY.where(*here(working_entries, space), listed(working_entries.c.key), _alive(at))
    return {row.key: WorkingRow(**_read(row)) for row in among(connection, wanted, keys)}


def every(connection: Connection, space: str) -> Iterator[WorkingRow]:
    """All entries, with expired ones that nobody has deleted yet."""
    return (WorkingRow(**_read(row)) for row in connection.execute(_EVERY.where(*here(working_entries, space))))


def under(connection: Connection, space: str, prefix: str, at: int) -> Iterator[WorkingHead]:
    """The entries with a key below a path, or all if it is empty, that have not expired, in the order of their keys."""
    wanted = _HEADS.where(*here(working_entries, space), *_below(prefix), _alive(at)).order_by(working_entries.c.key)
    return (WorkingHead(**_read(row)) for row in connection.execute(wanted))


def first_to_expire(connection: Connection, space: str, namespace: str, most: int, at: int) -> list[str]:
    """The keys of a namespace that have to go so that at most `most` stay: those that expire first."""
    these = (*here(working_entries, space, namespace=namespace), _alive(at))
    latest_first = (working_entries.c.expires_at.desc(), working_entries.c.stored_at.desc(), working_entries.c.key)
    wanted = select(working_entries.c.key).where(*these).order_by(*latest_first)
    return list(connection.execute(wanted).scalars())[most:]


def sweep(connection: Connection, space: str, at: int) -> int:
    """Delete what has expired. Returns how many entries these were.

    Where the clock went back since an entry was stored, its time begins anew: else it would stay too long.
    """
    began_later = (*here(working_entries, space), working_entries.c.stored_at > at)
    kept_for = working_entries.c.expires_at - working_entries.c.stored_at
    connection.execute(update(working_entries).where(*began_later).values(stored_at=at, expires_at=at + kept_for))
    these = (*here(working_entries, space), working_entries.c.expires_at <= at)
    keys = list(connection.execute(select(working_entries.c.key).where(*these)).scalars())
    return remove(connection, space, keys, at)


NEXT_EXPIRY = select(func.min(working_entries.c.expires_at)).where(*here(working_entries)).scalar_subquery()
"""As part of a statement: when the next entry expires, NULL if none does."""
LAST_STORED = select(func.max(working_entries.c.stored_at)).where(*here(working_entries)).scalar_subquery()
"""As part of a statement: when the newest entry was stored, NULL if there is none."""


def _read(row: Row[Any]) -> dict[str, Any]:
    """The fields of an entry from the columns of a row."""
    values = dict(row._mapping)
    tags = tuple(values["tags"].split("\n")) if values["tags"] else ()
    return {**values, "cuts": tuple(json.loads(values["cuts"])), "tags": tags}


def _searched(entry: WorkingRow, part: str) -> NoteText:
    """A part as it is searched: also by the name of its entry."""
    name = entry.key.removeprefix(f"{entry.namespace}/")
    return NoteText(text=part, tags=" ".join((name, *entry.tags)), category=entry.category or "")


def _alive(at: int) -> ColumnElement[bool]:
    # A sum: by the index of the times, which is there for the sweep, all entries of the space would be read.
    return working_entries.c.expires_at + 0 > at


def _below(prefix: str) -> tuple[ColumnElement[bool], ...]:
    if not prefix:
        return ()
    # "0" is the character after "/": a range can use the index, and has no wildcards.
    return (and_(working_entries.c.key > f"{prefix}/", working_entries.c.key < f"{prefix}0"),)
