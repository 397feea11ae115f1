"""The drawers that are the evidence of entities and relations; both have a table of the same shape."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from sqlalchemy import Column, Connection, delete, select

from langmem_tiers.pointers import drawer_pointer
from langmem_tiers.records import Evidence, GraphEvidence
from langmem_tiers.storage.schema import drawers, entity_evidence, relation_evidence, rooms
from langmem_tiers.storage.statements import Prepared, here, insert_new, listed, numbered


class EvidenceTable:
    """One of the two tables; its column `of` says whose evidence a row is, by number."""

    def __init__(self, of: Column[int]) -> None:
        self._of, self._table = of, of.table
        address = (rooms.c.address_wing, rooms.c.address_room, drawers.c.place)
        drawer, quote = of.table.c.drawer, of.table.c.quote
        tables = of.table.join(drawers, numbered(drawers, drawer)).join(rooms, numbered(rooms, drawers.c.room))
        wanted = select(of.label("of"), drawer, quote, *address).select_from(tables)
        self._read = Prepared(wanted.where(*here(of.table), listed(of)).order_by(drawer))
        self._resting = Prepared(select(drawer, of).where(*here(of.table), listed(drawer)).order_by(drawer, of))

    def add(
        self, connection: Connection, space: str, number: int, evidence: Iterable[Evidence], at: int | None = None
    ) -> int:
        """Add drawers as evidence. Returns how many are new. That of relations says when it came."""
        time = {} if at is None else {"at": at}
        rows = ({self._of.name: number, "drawer": each.drawer, "quote": each.quote, **time} for each in evidence)
        return insert_new(connection, self._table, space, rows)

    def drop(self, connection: Connection, space: str, number: int, drawer_numbers: Collection[int]) -> None:
        """Remove drawers from the evidence."""
        these = (*here(self._table, space), self._of == number, self._table.c.drawer.in_(drawer_numbers))
        connection.execute(delete(self._table).where(*these))

    def read(self, connection: Connection, space: str, numbers: Collection[int]) -> dict[int, list[GraphEvidence]]:
        """The evidence of each, oldest first."""
        found: defaultdict[int, list[GraphEvidence]] = defaultdict(list)
        for number, drawer, quote, *address in self._read.among(connection, numbers, space=space):
            found[number].append(GraphEvidence(drawer=drawer, pointer=drawer_pointer(*address), quote=quote))
        return found

    def resting(self, connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[tuple[int, int]]:
        """What has each of these drawers as evidence, as (drawer, number)."""
        return [(on, number) for on, number in self._resting.among(connection, drawer_numbers, space=space)]

    def of_drawers(self, connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[int]:
        """The numbers of what has one of these drawers as evidence."""
        return sorted({number for _, number in self.resting(connection, space, drawer_numbers)})

    def every(self, connection: Connection, space: str) -> list[tuple[int, int, str, bytes]]:
        """All evidence, each as (number, drawer, quote, content hash of the drawer)."""
        drawer = self._table.c.drawer
        tables = self._table.join(drawers, numbered(drawers, drawer))
        wanted = select(self._of, drawer, self._table.c.quote, drawers.c.content_hash).select_from(tables)
        rows = connection.execute(wanted.where(*here(self._table, space)).order_by(self._of, drawer))
        return [(number, drawer, quote, hashed) for number, drawer, quote, hashed in rows]


of_entities = EvidenceTable(entity_evidence.c.entity)
of_relations = EvidenceTable(relation_evidence.c.relation)
