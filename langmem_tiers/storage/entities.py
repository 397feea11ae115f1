"""Entities of the knowledge graph: their names, the drawers that mention them, and which were merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import (
    BindParameter,
    ColumnClause,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.language.slugs import name_key as slug_of
from langmem_tiers.records import Authority, Entity, Evidence, GraphEvidence, GraphPath
from langmem_tiers.storage import facts, graph_evidence
from langmem_tiers.storage.database import AT_ONCE, batches
from langmem_tiers.storage.schema import entities, entity_aliases, entity_evidence
from langmem_tiers.types import Origin

# The last number assigned: numbers are never reused, even if the newest entity was deleted.
_NEWEST = "newest_entity"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntity:
    """An entity to be stored; times in milliseconds."""

    id: str
    name: str
    type: str
    origin: Origin
    path: GraphPath
    authority: Authority
    seen: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


class EntityRow(NamedTuple):
    """A stored entity; `merged_into` is the number of another one, times are in milliseconds."""

    number: int
    id: str
    name: str
    slug: str
    type: str
    origin: Origin
    path: GraphPath
    authority: int
    metadata: str
    first_seen: int
    last_seen: int
    created_at: int
    updated_at: int
    merged_into: int | None
    aliases: tuple[str, ...]


_RESTING = entity_evidence.c.entity
_ALIASES: ColumnClause[str] = literal_column(
    "(SELECT json_group_array(name) FROM (SELECT alias.name FROM entity_aliases AS alias"
    " WHERE alias.space = entities.space AND alias.entity = entities.number ORDER BY alias.at, alias.slug))"
)
_COLUMNS = (*(entities.c[name] for name in EntityRow._fields if name != "aliases"), _ALIASES.label("aliases"))


def put(connection: Connection, space: str, new: NewEntity, at: int) -> int:
    """Store an entity. Returns its number."""
    number = facts.count_up(connection, space, _NEWEST)
    row = {
        "id": new.id,
        "name": new.name,
        "slug": slug_of(new.name),
        "type": new.type,
        "origin": new.origin,
        "path": new.path,
        "authority": int(new.authority),
        "metadata": stored_metadata(new.metadata),
        "first_seen": new.seen,
        "last_seen": new.seen,
        "created_at": at,
        "updated_at": at,
    }
    connection.execute(insert(entities).values(space=space, number=number, **row))
    return number


def change(connection: Connection, space: str, number: int, values: Mapping[str, Any]) -> None:
    """Set some columns of an entity."""
    connection.execute(update(entities).where(*_this(space, number)).values(**values))


def stored_metadata(metadata: Mapping[str, Any]) -> str:
    """Metadata as the column stores it."""
    return orjson.dumps(dict(metadata), option=orjson.OPT_SORT_KEYS).decode()


def add_aliases(connection: Connection, space: str, number: int, names: Iterable[str], at: int) -> int:
    """Add aliases to an entity. Returns how many are new."""
    rows = [{"space": space, "entity": number, "slug": slug_of(name), "name": name, "at": at} for name in names]
    return connection.execute(insert_or(entity_aliases).on_conflict_do_nothing(), rows).rowcount if rows else 0


def aliases(connection: Connection, space: str) -> list[tuple[int, str, int]]:
    """All aliases with their entity and when they were added, oldest first."""
    wanted = select(entity_aliases.c.entity, entity_aliases.c.name, entity_aliases.c.at)
    rows = connection.execute(
        wanted.where(entity_aliases.c.space == space).order_by(entity_aliases.c.at, entity_aliases.c.slug)
    )
    return [(row.entity, row.name, row.at) for row in rows]


def drop_aliases(connection: Connection, space: str, number: int, names: Iterable[str]) -> None:
    """Remove aliases from an entity."""
    gone = entity_aliases.c.slug.in_([slug_of(name) for name in names])
    connection.execute(
        delete(entity_aliases).where(entity_aliases.c.space == space, entity_aliases.c.entity == number, gone)
    )


def add_evidence(connection: Connection, space: str, number: int, evidence: Iterable[Evidence]) -> int:
    """Add drawers that mention an entity. Returns how many are new."""
    return graph_evidence.add(connection, space, _RESTING, number, evidence)


def drop_evidence(connection: Connection, space: str, number: int, drawer_numbers: Collection[int]) -> None:
    """Remove drawers from an entity's evidence."""
    graph_evidence.drop(connection, space, _RESTING, number, drawer_numbers)


def remove(connection: Connection, space: str, numbers: Collection[int]) -> None:
    """Delete entities with their aliases and evidence."""
    for some in batches(numbers):
        for table, column in (
            (entity_aliases, entity_aliases.c.entity),
            (entity_evidence, entity_evidence.c.entity),
            (entities, entities.c.number),
        ):
            connection.execute(delete(table).where(table.c.space == space, column.in_(some)))


def newest(connection: Connection, space: str) -> int:
    """The last number assigned, 0 before the first."""
    return int(facts.get(connection, space, _NEWEST) or 0)


def by_numbers(
    connection: Connection, space: str, numbers: Collection[int], *, evidence: bool = False
) -> dict[int, Entity]:
    """Entities by number, with their evidence if asked for; unknown numbers are left out."""
    found = _where(connection, space, "number", list(numbers))
    return {each.number: each for each in entities_of(connection, space, found, evidence=evidence)}


def by_id(connection: Connection, space: str, entity_id: str, *, evidence: bool = False) -> Entity | None:
    """The entity with an id, even if it was merged into another."""
    found = _where(connection, space, "id", [entity_id])
    return next(iter(entities_of(connection, space, found, evidence=evidence)), None)


def numbers_of_slug(connection: Connection, space: str, slug: str) -> list[int]:
    """The numbers of the entities with this name or alias, including merged ones."""
    return sorted(set(connection.execute(_of_slug(), {"space": space, "slug": slug}).scalars()))


def numbers_of_slugs(connection: Connection, space: str, slugs: Collection[str]) -> dict[str, list[int]]:
    """Like `numbers_of_slug`, for several names by slug."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for slug, number in connection.execute(_of_slugs(), {"space": space, "slugs": list(slugs)}):
        found[slug].add(number)
    return {slug: sorted(found[slug]) for slug in slugs}


def merged_into(connection: Connection, space: str) -> dict[int, int]:
    """What each merged entity was directly merged into."""
    merged = select(entities.c.number, entities.c.merged_into)
    these = (entities.c.space == space, entities.c.merged_into.is_not(None))
    return {row.number: row.merged_into for row in connection.execute(merged.where(*these))}


def canonical_of(connection: Connection, space: str, numbers: Iterable[int]) -> dict[int, int]:
    """The canonical entity of each of these, by number."""
    ends = {number: number for number in numbers}
    ahead = set(ends)
    into: dict[int, int] = {}
    while ahead:
        steps = _merged_into(connection, space, ahead)
        into |= steps
        ahead = set(steps.values()) - into.keys()
    return {number: end_of_merges(number, into) for number in ends}


def members(connection: Connection, space: str, number: int) -> list[int]:
    """An entity with everything that was merged into it, directly or indirectly, lowest number first."""
    found = {number}
    waiting = [number]
    while waiting:
        behind = connection.execute(_behind(), {"space": space, "into": waiting}).scalars()
        waiting = [each for each in behind if each not in found]
        found.update(waiting)
    return sorted(found)


def rows(connection: Connection, space: str, first: int, until: int) -> Iterator[EntityRow]:
    """The entities with the numbers `first` to `until`, both included, in order."""
    wanted = select(*_COLUMNS).where(entities.c.space == space, entities.c.number.between(first, until))
    return map(_row, connection.execute(wanted.order_by(entities.c.number)).all())


def every(connection: Connection, space: str) -> Iterator[EntityRow]:
    """All entities by number, in batches of some thousands."""
    last = newest(connection, space)
    for first in range(1, last + 1, AT_ONCE):
        yield from rows(connection, space, first, min(last, first + AT_ONCE - 1))


def find(
    connection: Connection, space: str, *, type: str | None = None, text: str | None = None, limit: int = 100
) -> list[Entity]:
    """Canonical entities, most recently mentioned first; optionally of a type, or with a text in one of their names."""
    conditions: list[ColumnElement[bool]] = [entities.c.space == space, entities.c.merged_into.is_(None)]
    if type is not None:
        conditions.append(entities.c.type == type)
    if text:
        conditions.append(_named_with(space, slug_of(text)))
    wanted = select(*_COLUMNS).where(*conditions)
    wanted = wanted.order_by(entities.c.last_seen.desc(), entities.c.number.desc()).limit(limit)
    return entities_of(connection, space, [_row(row) for row in connection.execute(wanted)])


def evidence_of(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, list[GraphEvidence]]:
    """The drawers that mention entities, oldest first."""
    return graph_evidence.read(connection, space, _RESTING, numbers)


def of_drawers(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[int]:
    """The numbers of the entities that these drawers mention."""
    resting = graph_evidence.of_drawers(connection, space, _RESTING, drawer_numbers)
    return sorted({number for _, number in resting})


def count(connection: Connection, space: str) -> tuple[int, int]:
    """How many entities are canonical, and how many were merged into another."""
    counted = select(func.count(), func.count(entities.c.merged_into)).where(entities.c.space == space)
    every_one, merged = connection.execute(counted).one()
    return every_one - merged, merged


def entities_of(
    connection: Connection, space: str, found: Sequence[EntityRow], *, evidence: bool = False
) -> list[Entity]:
    """The public records of rows."""
    rest = evidence_of(connection, space, [row.number for row in found]) if evidence else {}
    into = _ids(connection, space, {row.merged_into for row in found if row.merged_into is not None})
    return [entity(row, into, tuple(rest.get(row.number, ()))) for row in found]


def entity(row: EntityRow, ids: Mapping[int, str], evidence: tuple[GraphEvidence, ...] = ()) -> Entity:
    """The public record of a row; `ids` are those of the entities merged into."""
    return Entity(
        number=row.number,
        id=row.id,
        name=row.name,
        type=row.type,
        aliases=row.aliases,
        origin=row.origin,
        path=row.path,
        authority=Authority(row.authority),
        metadata=orjson.loads(row.metadata),
        first_seen=from_millis(row.first_seen),
        last_seen=from_millis(row.last_seen),
        created_at=from_millis(row.created_at),
        updated_at=from_millis(row.updated_at),
        merged_into=None if row.merged_into is None else ids.get(row.merged_into),
        evidence=evidence,
    )


def _this(space: str, number: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return entities.c.space == space, entities.c.number == number


def _where(
    connection: Connection, space: str, column: Literal["number", "id"], values: Sequence[Any]
) -> list[EntityRow]:
    batched = (connection.execute(_by(column), {"space": space, "values": list(some)}) for some in batches(values))
    return [_row(row) for found in batched for row in found]


def _row(values: Sequence[Any]) -> EntityRow:
    return EntityRow._make((*values[:-1], tuple(orjson.loads(values[-1]))))


def _ids(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for some in batches(numbers):
        these = (entities.c.space == space, entities.c.number.in_(some))
        found |= {
            row.number: row.id for row in connection.execute(select(entities.c.number, entities.c.id).where(*these))
        }
    return found


def _merged_into(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for some in batches(numbers):
        rows = connection.execute(_steps(), {"space": space, "values": list(some)})
        found |= {row.number: row.merged_into for row in rows}
    return found


def end_of_merges(number: int, into: Mapping[int, int]) -> int:
    """The final target of an entity's merges; a circle, only possible in a damaged file, ends at its lowest number."""
    seen: list[int] = []
    while number in into:
        if number in seen:
            return min(seen[seen.index(number) :])
        seen.append(number)
        number = into[number]
    return number


def _named_with(space: str, slug: str) -> ColumnElement[bool]:
    aliased = select(entity_aliases.c.entity).where(
        entity_aliases.c.space == space, entity_aliases.c.slug.contains(slug, autoescape=True)
    )
    return or_(entities.c.slug.contains(slug, autoescape=True), entities.c.number.in_(aliased))


# Statements are built once: a single write runs most of them.
@cache
def _by(column: Literal["number", "id"]) -> Select[Any]:
    these = entities.c[column].in_(bindparam("values", expanding=True))
    return select(*_COLUMNS).where(entities.c.space == bindparam("space"), these)


@cache
def _of_slug() -> CompoundSelect[Any]:
    space: BindParameter[str] = bindparam("space")
    slug: BindParameter[str] = bindparam("slug")
    named = select(entities.c.number).where(entities.c.space == space, entities.c.slug == slug)
    aliased = select(entity_aliases.c.entity).where(entity_aliases.c.space == space, entity_aliases.c.slug == slug)
    return named.union_all(aliased)


@cache
def _of_slugs() -> CompoundSelect[Any]:
    slugs: BindParameter[list[str]] = bindparam("slugs", expanding=True)
    space: BindParameter[str] = bindparam("space")
    named = select(entities.c.slug, entities.c.number).where(entities.c.space == space, entities.c.slug.in_(slugs))
    aliased = select(entity_aliases.c.slug, entity_aliases.c.entity)
    return named.union_all(aliased.where(entity_aliases.c.space == space, entity_aliases.c.slug.in_(slugs)))


@cache
def _steps() -> Select[Any]:
    """What these entities were directly merged into, for those that were."""
    these = (entities.c.number.in_(bindparam("values", expanding=True)), entities.c.merged_into.is_not(None))
    return select(entities.c.number, entities.c.merged_into).where(entities.c.space == bindparam("space"), *these)


@cache
def _behind() -> Select[Any]:
    """The entities that were directly merged into these."""
    into = entities.c.merged_into.in_(bindparam("into", expanding=True))
    return select(entities.c.number).where(entities.c.space == bindparam("space"), into)
