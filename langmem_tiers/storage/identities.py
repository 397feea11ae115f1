"""The versions of a space's identity; the highest is current."""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import Connection, Select, delete, insert, select

from langmem_tiers.clock import from_millis
from langmem_tiers.records import IdentityVersion
from langmem_tiers.storage import change_log
from langmem_tiers.storage.schema import identities
from langmem_tiers.types import Origin


def newest(connection: Connection, space: str) -> IdentityVersion | None:
    """The current version, None if none was ever written."""
    return next(iter(latest(connection, space, 1)), None)


def latest(connection: Connection, space: str, most: int) -> list[IdentityVersion]:
    """The latest versions, newest first."""
    wanted = _every(space).order_by(identities.c.version.desc()).limit(most)
    return [_version(row) for row in connection.execute(wanted)]


def of_number(connection: Connection, space: str, version: int) -> IdentityVersion | None:
    """A version by its number, None if it is not kept."""
    row = connection.execute(_every(space).where(identities.c.version == version)).first()
    return None if row is None else _version(row)


def add(connection: Connection, space: str, text: str, *, version: int, origin: Origin, at: int) -> None:
    """Add a version, which becomes the current one."""
    row = {"version": version, "text": text, "origin": origin, "at": at}
    connection.execute(insert(identities).values(space=space, **row))
    change_log.append(connection, space, "identity.changed", version, at=at)


def forget_before(connection: Connection, space: str, version: int) -> int:
    """Delete the versions before one. Returns how many there were."""
    old = (identities.c.space == space, identities.c.version < version)
    return connection.execute(delete(identities).where(*old)).rowcount


def _every(space: str) -> Select[Any]:
    columns = (identities.c.version, identities.c.text, identities.c.origin, identities.c.at)
    return select(*columns).where(identities.c.space == space)


def _version(row: Any) -> IdentityVersion:
    return IdentityVersion(version=row.version, text=row.text, origin=cast(Origin, row.origin), at=from_millis(row.at))
