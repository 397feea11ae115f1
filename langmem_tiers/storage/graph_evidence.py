"""The drawers that are the evidence of entities and relations.

Both have a table of the same shape; `of` is its column that says whose evidence a row is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

from sqlalchemy import Column, Connection, Select, and_, bindparam, delete, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.pointers import drawer_pointer
from langmem_tiers.records import Evidence, GraphEvidence
from langmem_tiers.storage.database import batches
from langmem_tiers.storage.schema import drawers, entity_evidence, relation_evidence, rooms


def add(
    connection: Connection, space: str, of: Column[int], number: int, evidence: Iterable[Evidence], **more: int
) -> int:
    """Add drawers as evidence. Returns how many are new. `more` are other columns of the table."""
    rows = [{"space": space, of.name: number, "drawer": each.drawer, "quote": each.quote, **more} for each in evidence]
    return connection.execute(insert_or(of.table).on_conflict_do_nothing(), rows).rowcount if rows else 0


def drop(connection: Connection, space: str, of: Column[int], number: int, drawer_numbers: Collection[int]) -> None:
    """Remove drawers from the evidence."""
    table = of.table
    connection.execute(delete(table).where(table.c.space == space, of == number, table.c.drawer.in_(drawer_numbers)))


def read(
    connection: Connection, space: str, of: Column[int], numbers: Collection[int]
) -> dict[int, list[GraphEvidence]]:
    """The evidence of each, oldest first."""
    found: defaultdict[int, list[GraphEvidence]] = defaultdict(list)
    for some in batches(numbers):
        for row in connection.execute(_read(of), {"space": space, "values": list(some)}):
            pointer = drawer_pointer(row.address_wing, row.address_room, row.place)
            found[row.of].append(GraphEvidence(drawer=row.drawer, pointer=pointer, quote=row.quote))
    return found


def of_drawers(
    connection: Connection, space: str, of: Column[int], drawer_numbers: Collection[int]
) -> list[tuple[int, int]]:
    """What has each of these drawers as evidence, as (drawer, number)."""
    table = of.table
    found: list[tuple[int, int]] = []
    for some in batches(drawer_numbers):
        on_them = (table.c.space == space, table.c.drawer.in_(some))
        rows = connection.execute(select(table.c.drawer, of).where(*on_them).order_by(table.c.drawer, of))
        found += [(drawer, number) for drawer, number in rows]
    return found


def of_entities(connection: Connection, space: str) -> list[tuple[int, int, str, bytes]]:
    """All evidence of entities, each as (entity, drawer, quote, content hash of the drawer)."""
    return _every(connection, space, entity_evidence.c.entity)


def of_relations(connection: Connection, space: str) -> list[tuple[int, int, str, bytes]]:
    """All evidence of relations, each as (relation, drawer, quote, content hash of the drawer)."""
    return _every(connection, space, relation_evidence.c.relation)


def _every(connection: Connection, space: str, of: Column[int]) -> list[tuple[int, int, str, bytes]]:
    table = of.table
    same = and_(drawers.c.space == table.c.space, drawers.c.number == table.c.drawer)
    wanted = select(of, table.c.drawer, table.c.quote, drawers.c.content_hash).select_from(table.join(drawers, same))
    rows = connection.execute(wanted.where(table.c.space == space).order_by(of, table.c.drawer))
    return [(number, drawer, quote, hashed) for number, drawer, quote, hashed in rows]


# Statements are built once: a single write runs most of them.
@cache
def _read(of: Column[int]) -> Select[Any]:
    table = of.table
    same_drawer = and_(drawers.c.space == table.c.space, drawers.c.number == table.c.drawer)
    same_room = and_(rooms.c.space == drawers.c.space, rooms.c.number == drawers.c.room)
    kept = (of.label("of"), table.c.drawer, table.c.quote)
    address = (rooms.c.address_wing, rooms.c.address_room, drawers.c.place)
    tables = table.join(drawers, same_drawer).join(rooms, same_room)
    these = (table.c.space == bindparam("space"), of.in_(bindparam("values", expanding=True)))
    return select(*kept, *address).select_from(tables).where(*these).order_by(table.c.drawer)
