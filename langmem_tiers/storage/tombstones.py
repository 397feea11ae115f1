"""Tombstones: what was deleted on purpose, so that nothing brings it back by itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import tombstones

Kind = Literal["entry", "quote", "episode", "document", "entity", "relation"]


def put(connection: Connection, space: str, kind: Kind, keys: Collection[bytes], at: int) -> int:
    """Set up a tombstone for each key, whether there is one or not; how many keys these are."""
    rows = [{"space": space, "kind": kind, "key": key, "at": at} for key in dict.fromkeys(keys)]
    if rows:
        connection.execute(insert_or(tombstones).on_conflict_do_nothing(), rows)
    return len(rows)


def among(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> set[bytes]:
    """Those of the keys that have a tombstone."""
    held = select(tombstones.c.key).where(tombstones.c.space == space, tombstones.c.kind == kind)
    return set(connection.execute(held.where(tombstones.c.key.in_(list(keys)))).scalars())


def there_are(connection: Connection, space: str) -> bool:
    """Whether any entry was deleted: most spaces need not look further."""
    of_entries = select(tombstones.c.key).where(tombstones.c.space == space, tombstones.c.kind.in_(("entry", "quote")))
    return connection.execute(of_entries.limit(1)).first() is not None


def lift(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> None:
    """Take tombstones away: somebody has asked for the thing again."""
    held = delete(tombstones).where(tombstones.c.space == space, tombstones.c.kind == kind)
    connection.execute(held.where(tombstones.c.key.in_(list(keys))))
