"""Moves a memory between a folder and servers: every row of every space, with its vectors; the source keeps its own.

Each space is one transaction on the target, compared with the source before it is committed. A move that was killed
goes on with the spaces that are missing. What only the old place had, its indexes and leases, is made anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from langmem_tiers.errors import AlreadyThere, DatabaseDamaged, InvalidInput
from langmem_tiers.storage import dump, facts

if TYPE_CHECKING:
    from langmem_tiers.runtime import Runtime

_MOVED = "moved"
_AT_ONCE = 500
_WAY_OUT = "Move into another place, or delete that space there if it may go."


@dataclass(frozen=True, kw_only=True)
class MoveReport:
    """What a move did: the spaces that were copied, those that were there already, and the rows copied by table."""

    moved: tuple[str, ...]
    there: tuple[str, ...]
    rows: dict[str, int]


def move(source: Runtime, target: Runtime, advance: Callable[[str], None] = lambda _name: None) -> MoveReport:
    """Copy every space of one memory into another; `advance` is called with the name of each before it is.

    Raises:
        AlreadyThere: a space of the target holds something else. Those before it are moved.
        DatabaseDamaged: a copy is not as the source; nothing of that space is stored.
        InvalidInput: both are the same memory.
    """
    # Its spaces would be told as something else that is in the way, and may be deleted there.
    if source.backend.is_at(target.backend):
        raise InvalidInput(
            f"The memory is in {source.backend.where} already.", way_out="Name another place to move to."
        )
    moved: list[str] = []
    there: list[str] = []
    rows: dict[str, int] = {}
    for name in source.backend.names():
        advance(name)
        counts = _moved(source, target, name)
        (there if counts is None else moved).append(name)
        for table, count in (counts or {}).items():
            rows[table] = rows.get(table, 0) + count
        # Its connections keep up to 16 MB of what they read, and nobody asks for it again.
        with source.keep_closed(name), target.keep_closed(name):
            pass
    if moved:
        target.backend.analyze()
    return MoveReport(moved=tuple(moved), there=tuple(there), rows=rows)


def _moved(source: Runtime, target: Runtime, name: str) -> dict[str, int] | None:
    """The rows of a space by table, None if all of it was moved before."""
    with source.use(name) as old, target.use(name) as new, old.reading() as read, new.writing() as written:
        sums = {table: _sum(read, old.key, table) for table in dump.TABLES}
        whole = _digest(json.dumps(sums))
        arrived = facts.get(written, new.key, _MOVED)
        if arrived == whole:
            return None
        if arrived is not None:
            raise AlreadyThere(
                f"The space {name!a} of {source.backend.where} was used, if only to search in it, after it was moved "
                f"to {target.backend.where}.",
                way_out=_WAY_OUT,
            )
        if not dump.is_empty(written, new.key):
            raise AlreadyThere(f"The space {name!a} in {target.backend.where} holds something else.", way_out=_WAY_OUT)
        dump.clear(written, new.key)
        for table in dump.TABLES:
            for rows in _in_parts(dump.rows(read, old.key, table)):
                dump.add(written, new.key, table, rows)
        if off := [table for table in dump.TABLES if _sum(written, new.key, table) != sums[table]]:
            raise DatabaseDamaged(f"Of the space {name!a} other rows arrived than left, in {', '.join(off)}.")
        facts.put(written, new.key, _MOVED, whole)
        dump.index(written, new.key)
    return {table: count for table, (count, _) in sums.items() if count}


def _sum(connection: Connection, space: str, table: str) -> tuple[int, str]:
    """How many rows a table has, and a hash of them that is the same on every engine."""
    count, digest = 0, blake2b(digest_size=16)
    for count, row in enumerate(dump.rows(connection, space, table), start=1):  # noqa: B007 - the last one counts
        digest.update(json.dumps(row, default=_plain, ensure_ascii=True).encode() + b"\n")
    return count, digest.hexdigest()


def _plain(value: object) -> str:
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else str(value)


def _digest(told: str) -> str:
    return blake2b(told.encode(), digest_size=16).hexdigest()


def _in_parts(rows: Iterator[dump.Row]) -> Iterator[list[dump.Row]]:
    part: list[dump.Row] = []
    for row in rows:
        part.append(row)
        if len(part) == _AT_ONCE:
            yield part
            part = []
    if part:
        yield part
