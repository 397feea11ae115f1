"""Single values about the store itself."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import facts


def get(connection: Connection, space: str, name: str) -> str | None:
    """The value under a name, None when there is none."""
    return connection.execute(select(facts.c.value).where(facts.c.space == space, facts.c.name == name)).scalar()


def put(connection: Connection, space: str, name: str, value: str) -> None:
    """Set the value under a name."""
    row = insert_or(facts).values(space=space, name=name, value=value)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "name"], set_={"value": value}))


def drop(connection: Connection, space: str, name: str) -> None:
    """Forget the value under a name."""
    connection.execute(delete(facts).where(facts.c.space == space, facts.c.name == name))
