"""Tombstones: records of deliberate deletion, so that nothing brings the content back automatically."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from sqlalchemy import Connection, and_, delete, or_, select

from langmem_tiers.storage.schema import tombstones
from langmem_tiers.storage.statements import here, insert_new

Kind = Literal["entry", "quote", "episode", "document", "entity", "relation"]


def put(connection: Connection, space: str, kind: Kind, keys: Collection[bytes], at: int) -> int:
    """Add a tombstone for each key that has none. Returns the number of keys."""
    distinct = dict.fromkeys(keys)
    insert_new(connection, tombstones, space, ({"kind": kind, "key": key, "at": at} for key in distinct))
    return len(distinct)


def among(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> set[bytes]:
    """Those of the keys that have a tombstone."""
    held = (*here(tombstones, space, kind=kind), tombstones.c.key.in_(list(keys)))
    return set(connection.execute(select(tombstones.c.key).where(*held)).scalars())


def there_are(connection: Connection, space: str) -> bool:
    """Whether any entry was ever deleted: most spaces need not look further."""
    of_entries = select(tombstones.c.key).where(*here(tombstones, space), tombstones.c.kind.in_(("entry", "quote")))
    return connection.execute(of_entries.limit(1)).first() is not None


def lift(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> None:
    """Remove tombstones: someone has asked for the thing again."""
    lift_all(connection, space, {kind: keys})


def lift_all(connection: Connection, space: str, keys: Mapping[Kind, Collection[bytes]]) -> None:
    """Remove tombstones of several kinds in one statement."""
    # Each branch names the space, so SQLite uses the index for each.
    held = (
        and_(*here(tombstones, space, kind=kind), tombstones.c.key.in_(list(these))) for kind, these in keys.items()
    )
    connection.execute(delete(tombstones).where(or_(*held)))
