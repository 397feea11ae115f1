"""Single values about the store itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Integer, Text, cast, delete, select
from sqlalchemy.dialects.sqlite import insert as insert_or
from sqlalchemy.sql.dml import ReturningInsert

from langmem_tiers.storage.schema import facts


def get(connection: Connection, space: str, name: str) -> str | None:
    """The value under a name, None if there is none."""
    return connection.execute(select(facts.c.value).where(facts.c.space == space, facts.c.name == name)).scalar()


def put(connection: Connection, space: str, name: str, value: str) -> None:
    """Set the value under a name."""
    row = insert_or(facts).values(space=space, name=name, value=value)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "name"], set_={"value": value}))


def count_up(connection: Connection, space: str, name: str, by: int = 1) -> int:
    """Increment the number under a name, starting at 0. Returns the new number."""
    return count_up_all(connection, space, {name: by})[name]


def count_up_all(connection: Connection, space: str, steps: Mapping[str, int]) -> dict[str, int]:
    """Increment several numbers in one statement, each by its step. Returns the new numbers by name."""
    rows = [{"space": space, "name": name, "value": str(by)} for name, by in steps.items()]
    return {name: int(value) for name, value in connection.execute(_count_up(), rows)}


@cache
def _count_up() -> ReturningInsert[Any]:
    row = insert_or(facts)
    raised = cast(cast(facts.c.value, Integer) + cast(row.excluded.value, Integer), Text)
    counted = row.on_conflict_do_update(index_elements=["space", "name"], set_={"value": raised})
    return counted.returning(facts.c.name, facts.c.value)


def drop(connection: Connection, space: str, name: str) -> None:
    """Delete the value under a name."""
    connection.execute(delete(facts).where(facts.c.space == space, facts.c.name == name))
