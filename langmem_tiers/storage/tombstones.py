"""Tombstones: records of deliberate deletion, so that nothing brings the content back automatically.

Each is a keyed hash under a random key of the space: whoever has a list of likely texts, and not this file, cannot
tell which of them were deleted.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Literal

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, or_, select

from langmem_tiers.content import keyed_hash
from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import tombstones
from langmem_tiers.storage.statements import Prepared, delete_among, here, insert_new, listed
from langmem_tiers.storage.statements import among as rows_among

Kind = Literal["entry", "quote", "episode", "document", "entity", "relation", "message", "words"]
"""`message` is a message by its id in its session, `words` what was said in a session, whatever its id."""

_SECRET = "tombstone_key"
_BYTES = 32


def put(connection: Connection, space: str, kind: Kind, keys: Collection[bytes], at: int) -> int:
    """Add a tombstone for each key that has none. Returns the number of keys."""
    secret = _secret(connection, space) or _new_secret(connection, space)
    distinct = dict.fromkeys(keyed_hash(key, secret) for key in keys)
    insert_new(connection, tombstones, space, ({"kind": kind, "key": key, "at": at} for key in distinct))
    return len(distinct)


def among(connection: Connection, space: str, kind: Kind, keys: Collection[bytes]) -> set[bytes]:
    """Those of the keys that have a tombstone."""
    secret = _secret(connection, space)
    if secret is None:
        return set()
    stored = {keyed_hash(key, secret): key for key in keys}
    held = select(tombstones.c.key).where(*here(tombstones, space, kind=kind), listed(tombstones.c.key))
    return {stored[row.key] for row in rows_among(connection, held, stored)}


def there_are(connection: Connection, space: str) -> bool:
    """Whether any entry was ever deleted: most spaces need not look further."""
    of_entries = select(tombstones.c.key).where(*here(tombstones, space), tombstones.c.kind.in_(("entry", "quote")))
    return connection.execute(of_entries.limit(1)).first() is not None


def lift(connection: Connection, space: str, kind: Kind, keys: Iterable[bytes]) -> None:
    """Remove tombstones: someone has asked for the thing again. While there are none, no key is asked for."""
    lift_all(connection, space, {kind: keys})


def lift_all(connection: Connection, space: str, keys: Mapping[Kind, Iterable[bytes]]) -> None:
    """Remove tombstones of several kinds in one statement."""
    secret = _secret(connection, space)
    if secret is not None:  # otherwise there are none
        named: dict[str, list[bytes]] = {
            kind: [keyed_hash(key, secret) for key in these] for kind, these in keys.items()
        }
        _lifting(*named).change(connection, space=space, **named)


@cache
def _lifting(*kinds: Kind) -> Prepared:
    """The statement that removes tombstones of these kinds; each takes a list of stored hashes."""
    # Each branch names the space, so SQLite uses the index for each.
    return Prepared(delete(tombstones).where(or_(*(and_(*here(tombstones), _is_named(kind)) for kind in kinds))))


def _is_named(kind: Kind) -> ColumnElement[bool]:
    return and_(tombstones.c.kind == kind, tombstones.c.key.in_(bindparam(kind, expanding=True)))


def key_all(connection: Connection, space: str) -> None:
    """Put keyed hashes in the place of those that were stored without a key."""
    rows = connection.execute(select(tombstones).where(*here(tombstones, space))).all()
    if not rows or _secret(connection, space) is not None:
        return
    secret = _new_secret(connection, space)
    delete_among(connection, space, tombstones.c.key, {row.key for row in rows})
    insert_new(connection, tombstones, space, ({**row._mapping, "key": keyed_hash(row.key, secret)} for row in rows))


def every(connection: Connection, space: str) -> list[tuple[str, bytes, int]]:
    """All tombstones as kind, stored hash and moment."""
    columns = (tombstones.c.kind, tombstones.c.key, tombstones.c.at)
    return [(kind, key, at) for kind, key, at in connection.execute(select(*columns).where(*here(tombstones, space)))]


def carry_over(
    connection: Connection, space: str, rows: Collection[tuple[str, bytes, int]], secret: bytes | None
) -> bool:
    """Add tombstones of another state of the space, stored under this key; False if this state has another key."""
    if secret is None:
        return not rows
    if (_secret(connection, space) or secret) != secret:
        return False
    facts.put(connection, space, _SECRET, secret.hex())
    insert_new(connection, tombstones, space, ({"kind": kind, "key": key, "at": at} for kind, key, at in rows))
    return True


def secret_of(connection: Connection, space: str) -> bytes | None:
    """The key of the space's tombstones; None while there are none."""
    return _secret(connection, space)


def _secret(connection: Connection, space: str) -> bytes | None:
    held = facts.get(connection, space, _SECRET)
    return None if held is None else bytes.fromhex(held)


def _new_secret(connection: Connection, space: str) -> bytes:
    made = secrets.token_bytes(_BYTES)
    facts.put(connection, space, _SECRET, made.hex())
    return made
