"""The versions of a space's identity; the highest is current."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from langmem_tiers.clock import from_millis
from langmem_tiers.records import IdentityVersion
from langmem_tiers.storage import change_log
from langmem_tiers.storage.schema import identities
from langmem_tiers.storage.statements import Prepared, here
from langmem_tiers.types import Origin

VERSION = (identities.c.version, identities.c.text, identities.c.origin, identities.c.at)
"""As part of a statement: the columns that `version_of` reads a version from."""
_LATEST = select(*VERSION).where(*here(identities)).order_by(identities.c.version.desc()).limit(bindparam("most"))
_NEWEST = Prepared(_LATEST)


def newest(connection: Connection, space: str, at: int | None = None) -> IdentityVersion | None:
    """The current version, or the one that was at an earlier moment; None if there was none."""
    if at is None:
        return next(map(version_of, _NEWEST.rows(connection, space=space, most=1)), None)
    return next(iter(latest(connection, space, 1, at=at)), None)


def latest(
    connection: Connection, space: str, most: int, *, upto: int | None = None, at: int | None = None
) -> list[IdentityVersion]:
    """The latest versions up to a number and a moment, newest first."""
    wanted = _LATEST
    if upto is not None:
        wanted = wanted.where(identities.c.version <= upto)
    if at is not None:
        wanted = wanted.where(identities.c.at <= at)
    return [version_of(row) for row in connection.execute(wanted, {"space": space, "most": most})]


def of_number(connection: Connection, space: str, version: int) -> IdentityVersion | None:
    """A version by its number, None if it is not kept."""
    return next((each for each in latest(connection, space, 1, upto=version) if each.version == version), None)


def add(connection: Connection, space: str, text: str, *, version: int, origin: Origin, at: int) -> None:
    """Add a version, which becomes the current one."""
    row = {"version": version, "text": text, "origin": origin, "at": at}
    connection.execute(insert(identities).values(space=space, **row))
    change_log.append(connection, space, "identity.changed", version, at=at)


def rewrite(connection: Connection, space: str, version: int, text: str, *, at: int) -> None:
    """Change what a version says, in place; an earlier one of which nothing is left is deleted."""
    this = here(identities, space, version=version)
    connection.execute(update(identities).where(*this).values(text=text))
    newest_one = newest(connection, space)
    if newest_one is not None and newest_one.version == version:
        change_log.append(connection, space, "identity.changed", version, at=at)
    elif not text.strip():
        connection.execute(delete(identities).where(*this))


def forget_before(connection: Connection, space: str, version: int) -> int:
    """Delete the versions before one. Returns how many there were."""
    old = (*here(identities, space), identities.c.version < version)
    return connection.execute(delete(identities).where(*old)).rowcount


def version_of(row: Sequence[Any]) -> IdentityVersion:
    """The version in a row."""
    version, text, origin, at = row
    return IdentityVersion(version=version, text=text, origin=origin, at=from_millis(at))
