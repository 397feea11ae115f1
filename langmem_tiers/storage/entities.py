"""Entities of the knowledge graph: their names, the drawers that speak of them, and which of them are one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph.naming import slug as slug_of
from langmem_tiers.knowledge_graph.types import Entity, GraphEvidence, GraphPath
from langmem_tiers.storage import facts, graph_evidence
from langmem_tiers.storage.batches import AT_ONCE, batches
from langmem_tiers.storage.schema import entities, entity_aliases, entity_evidence
from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Evidence

# The number last given out: a number is never used twice, also when the newest entity was deleted.
_NEWEST = "newest_entity"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntity:
    """An entity on its way in; times in milliseconds."""

    id: str
    name: str
    type: str
    origin: Origin
    path: GraphPath
    authority: Authority
    seen: int
    metadata: Mapping[str, Any] = field(default_factory=dict)


class EntityRow(NamedTuple):
    """An entity as it is stored; `merged_into` is the number of another one, times are in milliseconds."""

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
_COLUMNS = tuple(entities.c[name] for name in EntityRow._fields if name != "aliases")


def put(connection: Connection, space: str, new: NewEntity, at: int) -> int:
    """Store an entity; its number."""
    number = newest(connection, space) + 1
    facts.put(connection, space, _NEWEST, str(number))
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
    """Metadata as the column holds it."""
    return orjson.dumps(dict(metadata), option=orjson.OPT_SORT_KEYS).decode()


def add_aliases(connection: Connection, space: str, number: int, names: Iterable[str], at: int) -> int:
    """Give an entity other names; how many are new to it."""
    rows = [{"space": space, "entity": number, "slug": slug_of(name), "name": name, "at": at} for name in names]
    added = [connection.execute(insert_or(entity_aliases).on_conflict_do_nothing(), row).rowcount for row in rows]
    return sum(added)


def drop_aliases(connection: Connection, space: str, number: int, names: Iterable[str]) -> None:
    """Take other names from an entity."""
    gone = entity_aliases.c.slug.in_([slug_of(name) for name in names])
    connection.execute(
        delete(entity_aliases).where(entity_aliases.c.space == space, entity_aliases.c.entity == number, gone)
    )


def add_evidence(connection: Connection, space: str, number: int, evidence: Iterable[Evidence]) -> int:
    """Note drawers that speak of an entity; how many are new to it."""
    return graph_evidence.add(connection, space, _RESTING, number, evidence)


def drop_evidence(connection: Connection, space: str, number: int, drawer_numbers: Collection[int]) -> None:
    """Let an entity rest on these drawers no longer."""
    graph_evidence.drop(connection, space, _RESTING, number, drawer_numbers)


def remove(connection: Connection, space: str, numbers: Collection[int]) -> None:
    """Delete entities with their other names and what they rest on."""
    for some in batches(numbers):
        for table, column in (
            (entity_aliases, entity_aliases.c.entity),
            (entity_evidence, entity_evidence.c.entity),
            (entities, entities.c.number),
        ):
            connection.execute(delete(table).where(table.c.space == space, column.in_(some)))


def newest(connection: Connection, space: str) -> int:
    """The number that was given out last, 0 before the first."""
    return int(facts.get(connection, space, _NEWEST) or 0)


def by_numbers(
    connection: Connection, space: str, numbers: Collection[int], *, evidence: bool = False
) -> dict[int, Entity]:
    """Entities by their number, with what they rest on if asked for; those that do not exist are left out."""
    found = _where(connection, space, "number", list(numbers))
    return {each.number: each for each in entities_of(connection, space, found, evidence=evidence)}


def by_id(connection: Connection, space: str, entity_id: str, *, evidence: bool = False) -> Entity | None:
    """The entity of an id, also one that was merged into another."""
    found = _where(connection, space, "id", [entity_id])
    return next(iter(entities_of(connection, space, found, evidence=evidence)), None)


def by_slug(connection: Connection, space: str, slug: str) -> list[Entity]:
    """The entities that have a name or an alias, in the order they were made; of merged ones those they are now."""
    named = numbers_of_slug(connection, space, slug)
    standing = canonical_of(connection, space, named)
    found = by_numbers(connection, space, set(standing.values()))
    return [found[number] for number in sorted(found)]


def numbers_of_slug(connection: Connection, space: str, slug: str) -> list[int]:
    """The numbers of the entities that have a name or an alias themselves, merged ones too."""
    return sorted(set(connection.execute(_of_slug(), {"space": space, "slug": slug}).scalars()))


def canonical(connection: Connection, space: str, number: int) -> int:
    """The entity that one is now: itself, or the one at the end of its merges."""
    return canonical_of(connection, space, [number])[number]


def canonical_of(connection: Connection, space: str, numbers: Iterable[int]) -> dict[int, int]:
    """The entities that several are now, by their own number."""
    ends = {number: number for number in numbers}
    ahead = set(ends)
    into: dict[int, int] = {}
    while ahead:
        steps = _merged_into(connection, space, ahead)
        into |= steps
        ahead = set(steps.values()) - into.keys()
    return {number: _end(number, into) for number in ends}


def members(connection: Connection, space: str, number: int) -> list[int]:
    """An entity with all that were merged into it, over any number of steps, lowest first."""
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
    return iter(_with_aliases(connection, space, connection.execute(wanted.order_by(entities.c.number)).all()))


def every(connection: Connection, space: str) -> Iterator[EntityRow]:
    """All entities, in order of their numbers, some thousands at a time."""
    last = newest(connection, space)
    for first in range(1, last + 1, AT_ONCE):
        yield from rows(connection, space, first, min(last, first + AT_ONCE - 1))


def find(
    connection: Connection, space: str, *, type: str | None = None, text: str | None = None, limit: int = 100
) -> list[Entity]:
    """Entities that stand, those spoken of last first; of a type, or with a text in a name of theirs."""
    conditions: list[ColumnElement[bool]] = [entities.c.space == space, entities.c.merged_into.is_(None)]
    if type is not None:
        conditions.append(entities.c.type == type)
    if text:
        conditions.append(_named_with(space, slug_of(text)))
    wanted = select(*_COLUMNS).where(*conditions)
    wanted = wanted.order_by(entities.c.last_seen.desc(), entities.c.number.desc()).limit(limit)
    return entities_of(connection, space, _with_aliases(connection, space, connection.execute(wanted).all()))


def evidence_of(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, list[GraphEvidence]]:
    """The drawers that speak of entities, oldest first."""
    return graph_evidence.read(connection, space, _RESTING, numbers)


def of_drawers(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[int]:
    """The numbers of the entities that drawers speak of."""
    resting = graph_evidence.of_drawers(connection, space, _RESTING, drawer_numbers)
    return sorted({number for _, number in resting})


def count(connection: Connection, space: str) -> tuple[int, int]:
    """How many entities stand, and how many were merged into another."""
    counted = select(func.count(), func.count(entities.c.merged_into)).where(entities.c.space == space)
    every_one, merged = connection.execute(counted).one()
    return every_one - merged, merged


def entities_of(
    connection: Connection, space: str, found: Sequence[EntityRow], *, evidence: bool = False
) -> list[Entity]:
    """The records that callers get of rows."""
    rest = evidence_of(connection, space, [row.number for row in found]) if evidence else {}
    into = _ids(connection, space, {row.merged_into for row in found if row.merged_into is not None})
    return [entity(row, into, tuple(rest.get(row.number, ()))) for row in found]


def entity(row: EntityRow, ids: Mapping[int, str], evidence: tuple[GraphEvidence, ...] = ()) -> Entity:
    """The record that callers get of a row; `ids` are those of the entities that were merged into."""
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
    found: list[Any] = []
    for some in batches(values):
        found += connection.execute(_by(column), {"space": space, "values": list(some)}).all()
    return _with_aliases(connection, space, found)


def _with_aliases(connection: Connection, space: str, found: Sequence[Any]) -> list[EntityRow]:
    aliases: defaultdict[int, list[str]] = defaultdict(list)
    for some in batches([row.number for row in found]):
        for number, name in connection.execute(_aliases(), {"space": space, "values": list(some)}):
            aliases[number].append(name)
    return [EntityRow._make((*row, tuple(aliases[row.number]))) for row in found]


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


def _end(number: int, into: Mapping[int, int]) -> int:
    """Where the merges of an entity lead; a circle, which only a damaged file can have, ends at its lowest number."""
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
def _aliases() -> Select[Any]:
    of_them = entity_aliases.c.entity.in_(bindparam("values", expanding=True))
    wanted = select(entity_aliases.c.entity, entity_aliases.c.name)
    order = (entity_aliases.c.at, entity_aliases.c.slug)
    return wanted.where(entity_aliases.c.space == bindparam("space"), of_them).order_by(*order)


@cache
def _of_slug() -> CompoundSelect[Any]:
    space: BindParameter[str] = bindparam("space")
    slug: BindParameter[str] = bindparam("slug")
    named = select(entities.c.number).where(entities.c.space == space, entities.c.slug == slug)
    aliased = select(entity_aliases.c.entity).where(entity_aliases.c.space == space, entity_aliases.c.slug == slug)
    return named.union_all(aliased)


@cache
def _steps() -> Select[Any]:
    """Where entities were merged into, of those that were."""
    these = (entities.c.number.in_(bindparam("values", expanding=True)), entities.c.merged_into.is_not(None))
    return select(entities.c.number, entities.c.merged_into).where(entities.c.space == bindparam("space"), *these)


@cache
def _behind() -> Select[Any]:
    """The entities that were merged into some."""
    into = entities.c.merged_into.in_(bindparam("into", expanding=True))
    return select(entities.c.number).where(entities.c.space == bindparam("space"), into)
