"""Automatically found relations that may have lost their evidence, or were left open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from langmem_tiers.records import Authority, RelationKind
from langmem_tiers.storage import entities
from langmem_tiers.storage.schema import drawers, relation_evidence, relation_versions, relations
from langmem_tiers.storage.schema import entities as entity_table

_FOUND = ("rule", "model")


class Grounds(NamedTuple):
    """The evidence of an automatically found relation.

    `cited` counts the messages that say so, `standing` those still current; `alone` if nothing else is believed
    about either end; `last_seen` is when one of these was last mentioned.
    """

    id: str
    kind: RelationKind
    cited: int
    standing: int
    alone: bool
    last_seen: int


def likely(connection: Connection, space: str, *, before: int, most: int) -> list[Grounds]:
    """The evidence of relations that may have lost theirs, the oldest first.

    `before` is the moment, in UTC milliseconds, before which unimportant names were last mentioned.
    """
    found: set[int] = set()
    for which in (_unfounded(), _forgotten(space, before)):
        found.update(connection.execute(_believed(space, relations.c.number).where(which).limit(most)).scalars())
    return of_numbers(connection, space, sorted(found)[:most])


def of_numbers(connection: Connection, space: str, numbers: Collection[int]) -> list[Grounds]:
    """The evidence of those of these relations that are believed and were found automatically."""
    columns = (
        relations.c.number,
        relations.c.id,
        relations.c.kind,
        relations.c.subject,
        relations.c.object,
        _count(standing=False).label("cited"),
        _count(standing=True).label("standing"),
    )
    rows = connection.execute(_believed(space, *columns).where(relations.c.number.in_(list(numbers)))).all()
    named = {end for row in rows for end in (row.subject, row.object) if end is not None}
    ends = entities.canonical_of(connection, space, named)
    seen = _last_seen(connection, space, ends.values())
    return [_grounds(connection, space, row, ends, seen) for row in rows]


def several_open(connection: Connection, space: str) -> list[tuple[int, str]]:
    """Subject and predicate of stated relations for which several are believed and open-ended."""
    group = (relations.c.subject, relations.c.predicate)
    found = select(*group).select_from(relations.join(relation_versions, _version()))
    these = (relations.c.space == space, relations.c.kind == "stated", relation_versions.c.valid_to.is_(None))
    rows = connection.execute(found.where(*these).group_by(*group).having(func.count() > 1).order_by(*group))
    return [(subject, predicate) for subject, predicate in rows]


def _grounds(connection: Connection, space: str, row: Any, ends: Mapping[int, int], seen: Mapping[int, int]) -> Grounds:
    both = [ends[end] for end in (row.subject, row.object) if end is not None]
    return Grounds(
        id=row.id,
        kind=row.kind,
        cited=row.cited,
        standing=row.standing,
        alone=_alone(connection, space, row.number, both),
        last_seen=max(seen.get(end, 0) for end in both),
    )


def _alone(connection: Connection, space: str, number: int, ends: Iterable[int]) -> bool:
    """Whether no other relation of these entities is believed."""
    members = {each for end in ends for each in entities.members(connection, space, end)}
    touching = or_(relations.c.subject.in_(members), relations.c.object.in_(members))
    others = select(relations.c.number).select_from(relations.join(relation_versions, _version()))
    these = (relations.c.space == space, relations.c.number != number, touching)
    return connection.execute(others.where(*these).limit(1)).first() is None


def _last_seen(connection: Connection, space: str, numbers: Iterable[int]) -> dict[int, int]:
    these = (entity_table.c.space == space, entity_table.c.number.in_(set(numbers)))
    rows = connection.execute(select(entity_table.c.number, entity_table.c.last_seen).where(*these))
    return {row.number: row.last_seen for row in rows}


def _believed(space: str, *columns: ColumnElement[Any]) -> Select[Any]:
    """These columns of the relations that are believed and were found automatically, the oldest first."""
    by_itself = and_(relations.c.authority <= int(Authority.SYSTEM), relations.c.path.in_(_FOUND))
    found = select(*columns).select_from(relations.join(relation_versions, _version()))
    return found.where(relations.c.space == space, by_itself).order_by(relations.c.number)


def _version() -> ColumnElement[bool]:
    """What is currently believed of a relation."""
    same = and_(relation_versions.c.space == relations.c.space, relation_versions.c.relation == relations.c.number)
    return and_(same, relation_versions.c.until.is_(None))


def _cited() -> ColumnElement[bool]:
    return and_(relation_evidence.c.space == relations.c.space, relation_evidence.c.relation == relations.c.number)


def _stands() -> ColumnElement[bool]:
    same = and_(drawers.c.space == relation_evidence.c.space, drawers.c.number == relation_evidence.c.drawer)
    return and_(same, drawers.c.superseded_by.is_(None))


def _count(*, standing: bool) -> ColumnElement[int]:
    counted = select(func.count()).select_from(relation_evidence)
    if standing:
        counted = select(func.count()).select_from(relation_evidence.join(drawers, _stands()))
    return counted.where(_cited()).correlate(relations).scalar_subquery()


def _unfounded() -> ColumnElement[bool]:
    """Relations that were stated in messages, none of which is still current."""
    there = select(relation_evidence.c.drawer).where(_cited()).correlate(relations).exists()
    standing = select(relation_evidence.c.drawer).select_from(relation_evidence.join(drawers, _stands()))
    return and_(there, ~standing.where(_cited()).correlate(relations).exists())


def _forgotten(space: str, before: int) -> ColumnElement[bool]:
    """Names that were mentioned together, and not again for a long time."""
    quiet = select(entity_table.c.number).where(entity_table.c.space == space, entity_table.c.last_seen <= before)
    return and_(
        relations.c.kind == "mentioned",
        relations.c.subject.in_(quiet),
        relations.c.object.in_(quiet),
        _count(standing=True) == 1,
    )
