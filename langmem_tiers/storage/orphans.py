"""Automatically found relations that may have lost their evidence, or were left open."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from langmem_tiers.clock import from_millis
from langmem_tiers.records import Authority, RelationGrounds
from langmem_tiers.storage import entities
from langmem_tiers.storage.schema import drawers, relation_evidence, relation_versions, relations
from langmem_tiers.storage.schema import entities as entity_table
from langmem_tiers.storage.statements import here, numbered

_FOUND = ("rule", "model")


def likely(connection: Connection, space: str, *, before: int, most: int) -> list[RelationGrounds]:
    """The evidence of relations that may have lost theirs, the oldest first.

    `before` is the moment, in UTC milliseconds, before which unimportant names were last mentioned.
    """
    found: set[int] = set()
    for which in (_unfounded(), _forgotten(space, before)):
        found.update(connection.execute(_believed(space, relations.c.number).where(which).limit(most)).scalars())
    return of_numbers(connection, space, sorted(found)[:most])


def of_numbers(connection: Connection, space: str, numbers: Collection[int]) -> list[RelationGrounds]:
    """The evidence of those of these relations that are believed and were found automatically."""
    columns = (relations.c.number, relations.c.id, relations.c.kind, relations.c.subject, relations.c.object)
    counted = (_count(_cited()).label("cited"), _count(_cited(standing=True)).label("standing"))
    rows = connection.execute(_believed(space, *columns, *counted).where(relations.c.number.in_(list(numbers)))).all()
    merged = entities.merged_into(connection, space)
    found = []
    for row in rows:
        ends = {entities.end_of_merges(end, merged) for end in (row.subject, row.object) if end is not None}
        members = ends | {each for each in merged if entities.end_of_merges(each, merged) in ends}
        about = {"id": row.id, "kind": row.kind, "cited": row.cited, "standing": row.standing}
        last_seen = from_millis(_last_seen(connection, space, ends))
        alone = _alone(connection, space, row.number, members)
        found.append(RelationGrounds(**about, alone=alone, last_seen=last_seen))
    return found


def several_open(connection: Connection, space: str) -> list[tuple[int, str]]:
    """Subject and predicate of stated relations for which several are believed and open-ended."""
    group = (relations.c.subject, relations.c.predicate)
    these = (*here(relations, space, kind="stated"), relation_versions.c.valid_to.is_(None))
    found = select(*group).select_from(_BELIEVED).where(*these).group_by(*group).having(func.count() > 1)
    return [(subject, predicate) for subject, predicate in connection.execute(found.order_by(*group))]


def _alone(connection: Connection, space: str, number: int, members: Collection[int]) -> bool:
    """Whether no other relation of these entities is believed."""
    touching = or_(relations.c.subject.in_(members), relations.c.object.in_(members))
    these = (*here(relations, space), relations.c.number != number, touching)
    return connection.execute(select(relations.c.number).select_from(_BELIEVED).where(*these).limit(1)).first() is None


def _last_seen(connection: Connection, space: str, numbers: Collection[int]) -> int:
    seen = select(func.max(entity_table.c.last_seen)).where(*here(entity_table, space))
    return connection.execute(seen.where(entity_table.c.number.in_(numbers))).scalar() or 0


# What is currently believed of a relation.
_BELIEVED = relations.join(
    relation_versions,
    and_(numbered(relation_versions, relations.c.number, "relation"), relation_versions.c.until.is_(None)),
)
_STANDS = and_(numbered(drawers, relation_evidence.c.drawer), drawers.c.superseded_by.is_(None))


def _believed(space: str, *columns: ColumnElement[Any]) -> Select[Any]:
    """These columns of the relations that are believed and were found automatically, the oldest first."""
    by_itself = and_(relations.c.authority <= int(Authority.SYSTEM), relations.c.path.in_(_FOUND))
    found = select(*columns).select_from(_BELIEVED)
    return found.where(*here(relations, space), by_itself).order_by(relations.c.number)


def _cited(*, standing: bool = False) -> Select[Any]:
    """The messages that say a relation, or those of them that are still current."""
    rows = relation_evidence.join(drawers, _STANDS) if standing else relation_evidence
    same = numbered(relation_evidence, relations.c.number, "relation")
    return select(relation_evidence.c.drawer).select_from(rows).where(same).correlate(relations)


def _count(cited: Select[Any]) -> ColumnElement[int]:
    return cited.with_only_columns(func.count()).scalar_subquery()


def _unfounded() -> ColumnElement[bool]:
    """Relations that were stated in messages, none of which is still current."""
    return and_(_cited().exists(), ~_cited(standing=True).exists())


def _forgotten(space: str, before: int) -> ColumnElement[bool]:
    """Names that were mentioned together, and not again for a long time."""
    quiet = select(entity_table.c.number).where(*here(entity_table, space), entity_table.c.last_seen <= before)
    ends = (relations.c.subject.in_(quiet), relations.c.object.in_(quiet))
    return and_(relations.c.kind == "mentioned", *ends, _count(_cited(standing=True)) == 1)
