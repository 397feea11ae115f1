"""Tombstones: records of deliberate deletion, so that nothing brings the content back automatically."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from sqlalchemy import Connection, and_, delete, or_, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import tombstones

Kind = Literal["entry", "quote", "episode", "document", "entity", "relation"]


def put(connection: Connection, space: str, kind: Kind, keys: Collection[bytes], at: int) -> int:
    """Add a tombstone for each key that has none. Returns the number of keys."""
    rows = [{"space": space, "kind": kind, "key": key, "at": at} for key in dict.fromkeys(keys)]
    if rows:
        connection.execute(insert_or(tombstones).on_conflict_do_nothing(), rows)
    return len(rows)


def among(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> set[bytes]:
    """Those of the keys that have a tombstone."""
    held = select(tombstones.c.key).where(tombstones.c.space == space, tombstones.c.kind == kind)
    return set(connection.execute(held.where(tombstones.c.key.in_(list(keys)))).scalars())


def there_are(connection: Connection, space: str) -> bool:
    """Whether any entry was ever deleted: most spaces need not look further."""
    of_entries = select(tombstones.c.key).where(tombstones.c.space == space, tombstones.c.kind.in_(("entry", "quote")))
    return connection.execute(of_entries.limit(1)).first() is not None


def lift(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> None:
    """Remove tombstones: someone has asked for the thing again."""
    lift_all(connection, space, {kind: keys})


def lift_all(connection: Connection, space: str, keys: Mapping[Kind, Collection[bytes]]) -> None:
    """Remove tombstones of several kinds in one statement."""
    # Each branch names the space, so SQLite uses the index for each.
    held = (
        and_(tombstones.c.space == space, tombstones.c.kind == kind, tombstones.c.key.in_(list(these)))
        for kind, these in keys.items()
    )
    connection.execute(delete(tombstones).where(or_(*held)))
