"""Single values about the store itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, ScalarSelect, Text, bindparam, cast, delete, func, literal, select
from sqlalchemy.sql.elements import ColumnElement

from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.storage.schema import facts
from langmem_tiers.storage.statements import Prepared, here, listed, plausible, put_row, upsert

_VALUE = Prepared(select(facts.c.value).where(*here(facts), facts.c.name == bindparam("name")))
_VALUES = Prepared(select(facts.c.name, facts.c.value).where(*here(facts), listed(facts.c.name)))
_ROW = upsert(facts)
_COUNT_UP = Prepared(
    _ROW.on_conflict_do_update(
        index_elements=["space", "name"],
        set_={"value": cast(func.counter(facts.c.value) + func.counter(_ROW.excluded.value), Text)},
    ).returning(facts.c.name, facts.c.value)
)


def get(connection: Connection, space: str, name: str) -> str | None:
    """The value under a name, None if there is none."""
    return next((value for (value,) in _VALUE.rows(connection, space=space, name=name)), None)


def several(connection: Connection, space: str, names: Iterable[str]) -> dict[str, str]:
    """The values under these names, by name, of those that have one."""
    return dict(_VALUES.among(connection, sorted(names), space=space))


def number(connection: Connection, space: str, name: str) -> int:
    """The number under a name, 0 if there is none."""
    return as_number(name, get(connection, space, name))


def as_number(name: str, value: str | None) -> int:
    """The number that a value under a name stands for, 0 if there is none."""
    held = value or "0"
    try:
        return int(held)
    except ValueError as error:
        raise DatabaseDamaged(f"The database is damaged: {name} is {held[:40]!a}.") from error


def newest(connection: Connection, space: str, name: str) -> int:
    """The number of the record that was stored last, under a name; 0 before the first."""
    return plausible(number(connection, space, name))


def numbers(connection: Connection, space: str, name: str) -> tuple[int, ...]:
    """The numbers under a name, none if there are none."""
    held = get(connection, space, name)
    return tuple(map(int, held.split(":"))) if held else ()


def put(connection: Connection, space: str, name: str, value: str) -> None:
    """Set the value under a name."""
    put_row(connection, facts, space, {"name": name}, {"value": value})


def put_numbers(connection: Connection, space: str, name: str, numbers: Iterable[int]) -> None:
    """Set the numbers under a name."""
    put(connection, space, name, ":".join(map(str, numbers)))


def count_up(connection: Connection, space: str, name: str, by: int = 1) -> int:
    """Increment the number under a name, starting at 0. Returns the new number."""
    return count_up_all(connection, space, {name: by})[name]


def count_up_all(connection: Connection, space: str, steps: Mapping[str, int]) -> dict[str, int]:
    """Increment several numbers in one statement, each by its step. Returns the new numbers by name."""
    rows = [{"space": space, "name": name, "value": str(by)} for name, by in steps.items()]
    return {name: int(value) for name, value in _COUNT_UP.insert(connection, rows)}


def value(name: str | ColumnElement[str]) -> ScalarSelect[str]:
    """As part of a statement: the value under a name, NULL if there is none."""
    return select(facts.c.value).where(*here(facts), facts.c.name == name).scalar_subquery()


def least(name: str | ColumnElement[str]) -> ScalarSelect[int]:
    """As part of a statement: the number under a name, 0 if there is none."""
    held = select(func.counter(facts.c.value)).where(*here(facts), facts.c.name == name)
    return select(func.coalesce(held.scalar_subquery(), literal(0))).scalar_subquery()


def raise_to(connection: Connection, space: str, name: str, number_: int) -> None:
    """Set the number under a name, unless it is higher already."""
    if number_ > number(connection, space, name):
        put(connection, space, name, str(number_))


def counters(connection: Connection, space: str) -> dict[str, int]:
    """How far each kind of record has been counted up, by the name of its counter."""
    counted = facts.c.name.like("newest%") | facts.c.name.like("%:newest")
    rows = connection.execute(select(facts.c.name, facts.c.value).where(*here(facts, space), counted))
    return {name: int(value) for name, value in rows}


def beginning(connection: Connection, space: str, start: str) -> dict[str, str]:
    """The values whose names begin like this, by name."""
    named = facts.c.name.startswith(start, autoescape=True)
    rows = connection.execute(select(facts.c.name, facts.c.value).where(*here(facts, space), named))
    return {name: value for name, value in rows}  # noqa: C416 - rows are no pairs to a type checker


def drop(connection: Connection, space: str, name: str) -> None:
    """Delete the value under a name."""
    connection.execute(delete(facts).where(*here(facts, space, name=name)))
