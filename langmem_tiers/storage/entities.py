"""Entities of the knowledge graph: their names, the drawers that mention them, and which were merged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    BindParameter,
    Connection,
    Text,
    bindparam,
    delete,
    func,
    or_,
    select,
    type_coerce,
    update,
)

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.language.slugs import name_key as slug_of
from langmem_tiers.records import Authority, Entity, GraphEvidence, GraphPath
from langmem_tiers.storage import facts, graph_evidence
from langmem_tiers.storage.schema import entities, entity_aliases, entity_evidence
from langmem_tiers.storage.statements import AT_ONCE, Prepared, delete_among, here, insert_new, listed, upsert
from langmem_tiers.types import Origin

# The last number assigned: numbers are never reused, even if the newest entity was deleted.
NEWEST = "newest_entity"


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


_alias = entity_aliases.alias("alias")
_OWN_ALIASES = (
    select(type_coerce(_alias.c.name, Text).label("name"))
    .where(_alias.c.space == entities.c.space, _alias.c.entity == entities.c.number)
    .order_by(_alias.c.at, _alias.c.slug)
    .correlate(entities)
    .subquery()
)
_ALIASES = select(func.json_group_array(_OWN_ALIASES.c.name)).scalar_subquery()
_COLUMNS = (entities.c[name] for name in EntityRow._fields[:-1])
_EVERY = select(*_COLUMNS, _ALIASES.label("aliases")).where(*here(entities))
_NEW = upsert(entities)
_PUT = Prepared(
    _NEW.on_conflict_do_update(
        index_elements=["space", "number"],
        set_={
            name: _NEW.excluded[name]
            for name in ("type", "authority", "metadata", "first_seen", "last_seen", "updated_at")
        },
    )
)
_IDS = Prepared(select(entities.c.number, entities.c.id).where(*here(entities), listed(entities.c.number)))
_OF_NUMBERS = Prepared(_EVERY.where(listed(entities.c.number)))
_OF_ID = Prepared(_EVERY.where(entities.c.id == bindparam("id")))

# The drawers that mention an entity.
add_evidence = graph_evidence.of_entities.add
drop_evidence = graph_evidence.of_entities.drop
evidence_of = graph_evidence.of_entities.read
of_drawers = graph_evidence.of_entities.of_drawers


def put(connection: Connection, space: str, new: Entity) -> Entity:
    """Store an entity without its aliases and evidence. Returns it with its number."""
    stored = replace(new, number=facts.count_up(connection, space, NEWEST))
    put_all(connection, space, [stored])
    return stored


def put_all(connection: Connection, space: str, several: Sequence[Entity]) -> None:
    """Store entities under their numbers, without aliases and evidence; of those that are there, what may change."""
    rows = [
        {
            "space": space,
            "number": each.number,
            "id": each.id,
            "name": each.name,
            "slug": slug_of(each.name),
            "type": each.type,
            "origin": each.origin,
            "path": each.path,
            "authority": int(each.authority),
            "metadata": stored_metadata(each.metadata),
            "first_seen": to_millis(each.first_seen),
            "last_seen": to_millis(each.last_seen),
            "created_at": to_millis(each.created_at),
            "updated_at": to_millis(each.updated_at),
        }
        for each in several
    ]
    _PUT.insert(connection, rows)


def change(connection: Connection, space: str, number: int, values: Mapping[str, Any]) -> None:
    """Set some columns of an entity."""
    connection.execute(update(entities).where(*here(entities, space, number=number)).values(**values))


def stored_metadata(metadata: Mapping[str, Any]) -> str:
    """Metadata as the column stores it."""
    return orjson.dumps(dict(metadata), option=orjson.OPT_SORT_KEYS).decode()


def add_aliases(connection: Connection, space: str, number: int, names: Iterable[str], at: int) -> int:
    """Add aliases to an entity. Returns how many are new."""
    rows = ({"entity": number, "slug": slug_of(name), "name": name, "at": at} for name in names)
    return insert_new(connection, entity_aliases, space, rows)


def aliases(connection: Connection, space: str) -> list[tuple[int, str, int]]:
    """All aliases with their entity and when they were added, oldest first."""
    wanted = select(entity_aliases.c.entity, entity_aliases.c.name, entity_aliases.c.at).where(
        *here(entity_aliases, space)
    )
    rows = connection.execute(wanted.order_by(entity_aliases.c.at, entity_aliases.c.slug))
    return [(row.entity, row.name, row.at) for row in rows]


def drop_aliases(connection: Connection, space: str, number: int, names: Iterable[str]) -> None:
    """Remove aliases from an entity."""
    gone = entity_aliases.c.slug.in_([slug_of(name) for name in names])
    connection.execute(delete(entity_aliases).where(*here(entity_aliases, space, entity=number), gone))


def remove(connection: Connection, space: str, numbers: Collection[int]) -> None:
    """Delete entities with their aliases and evidence."""
    for column in (entity_aliases.c.entity, entity_evidence.c.entity, entities.c.number):
        delete_among(connection, space, column, numbers)


def newest(connection: Connection, space: str) -> int:
    """The last number assigned, 0 before the first."""
    return facts.newest(connection, space, NEWEST)


def by_numbers(
    connection: Connection, space: str, numbers: Collection[int], *, evidence: bool = False
) -> dict[int, Entity]:
    """Entities by number, ascending, with their evidence if asked for; unknown numbers are left out."""
    found = [_row(row) for row in _OF_NUMBERS.among(connection, sorted(numbers), space=space)]
    found.sort(key=attrgetter("number"))  # servers return rows in any order
    return {each.number: each for each in _entities(connection, space, found, evidence=evidence)}


def by_id(connection: Connection, space: str, entity_id: str) -> Entity | None:
    """The entity with an id, even if it was merged into another; without its evidence."""
    rows = [_row(row) for row in _OF_ID.rows(connection, space=space, id=entity_id)]
    return next(iter(_entities(connection, space, rows)), None)


_SLUGS: BindParameter[list[str]] = bindparam("slugs", expanding=True)
_NAMED = (
    select(entities.c.slug, entities.c.number)
    .where(*here(entities), entities.c.slug.in_(_SLUGS))
    .union_all(
        select(entity_aliases.c.slug, entity_aliases.c.entity).where(
            *here(entity_aliases), entity_aliases.c.slug.in_(_SLUGS)
        )
    )
    .subquery("named")
)
_source = entities.alias("source")
_HAS_SOURCES = select(1).where(_source.c.space == entities.c.space, _source.c.merged_into == entities.c.number).exists()
_OF_SLUGS = Prepared(
    _EVERY.add_columns(_HAS_SOURCES.label("has_sources"), _NAMED.c.slug.label("called")).where(
        entities.c.number == _NAMED.c.number
    )
)


class Called(NamedTuple):
    """Entities with some names or aliases, including merged ones, by slug; without their evidence.

    `alone` are the numbers of those that were not merged into others, nor others into them.
    """

    by_slug: dict[str, list[Entity]]
    alone: set[int]


def of_slugs(connection: Connection, space: str, slugs: Collection[str]) -> Called:
    """The entities with these names or aliases."""
    rows = _OF_SLUGS.rows(connection, space=space, slugs=list(slugs))
    known = {each.number: each for each in _entities(connection, space, [_row(row[:-2]) for row in rows])}
    called: defaultdict[str, set[int]] = defaultdict(set)
    alone: set[int] = set()
    for number, *_, has_sources, name in rows:
        called[name].add(number)
        if not has_sources and known[number].merged_into is None:
            alone.add(number)
    return Called({slug: [known[number] for number in sorted(called[slug])] for slug in slugs}, alone)


def numbers_of_slug(connection: Connection, space: str, slug: str) -> list[int]:
    """The numbers of the entities with this name or alias, including merged ones."""
    return sorted(set(connection.execute(select(_NAMED.c.number), {"space": space, "slugs": [slug]}).scalars()))


_MERGED = Prepared(
    select(entities.c.number, entities.c.merged_into).where(*here(entities), entities.c.merged_into.is_not(None))
)


def merged_into(connection: Connection, space: str) -> dict[int, int]:
    """What each merged entity was directly merged into."""
    return dict(_MERGED.rows(connection, space=space))


def canonical_of(connection: Connection, space: str, numbers: Iterable[int]) -> dict[int, int]:
    """The canonical entity of each of these, by number."""
    into = merged_into(connection, space)
    return {number: end_of_merges(number, into) for number in numbers}


def end_of_merges(number: int, into: Mapping[int, int]) -> int:
    """The final target of an entity's merges; a circle, only possible in a damaged file, ends at its lowest number."""
    seen: list[int] = []
    while number in into:
        if number in seen:
            return min(seen[seen.index(number) :])
        seen.append(number)
        number = into[number]
    return number


def rows(connection: Connection, space: str, first: int, until: int) -> Iterator[EntityRow]:
    """The entities with the numbers `first` to `until`, both included, in order."""
    wanted = _EVERY.where(entities.c.number.between(first, until)).order_by(entities.c.number)
    return map(_row, connection.execute(wanted, {"space": space}).all())


def every(connection: Connection, space: str) -> Iterator[EntityRow]:
    """All entities by number, in batches of some thousands."""
    last = newest(connection, space)
    for first in range(1, last + 1, AT_ONCE):
        yield from rows(connection, space, first, min(last, first + AT_ONCE - 1))


def find(
    connection: Connection, space: str, *, type: str | None = None, text: str | None = None, limit: int = 100
) -> list[Entity]:
    """Canonical entities, most recently mentioned first; optionally of a type, or with a text in one of their names."""
    wanted = _EVERY.where(entities.c.merged_into.is_(None))
    if type is not None:
        wanted = wanted.where(entities.c.type == type)
    if text:
        slug = slug_of(text)
        aliased = select(entity_aliases.c.entity).where(
            *here(entity_aliases), entity_aliases.c.slug.contains(slug, autoescape=True)
        )
        wanted = wanted.where(or_(entities.c.slug.contains(slug, autoescape=True), entities.c.number.in_(aliased)))
    wanted = wanted.order_by(entities.c.last_seen.desc(), entities.c.number.desc()).limit(limit)
    return _entities(connection, space, [_row(row) for row in connection.execute(wanted, {"space": space})])


def count(connection: Connection, space: str) -> tuple[int, int]:
    """How many entities are canonical, and how many were merged into another."""
    counted = select(func.count(), func.count(entities.c.merged_into)).where(*here(entities, space))
    every_one, merged = connection.execute(counted).one()
    return every_one - merged, merged


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


def _row(values: Sequence[Any]) -> EntityRow:
    return EntityRow._make((*values[:-1], tuple(orjson.loads(values[-1]))))


def _entities(
    connection: Connection, space: str, found: Sequence[EntityRow], *, evidence: bool = False
) -> list[Entity]:
    rest = evidence_of(connection, space, [row.number for row in found]) if evidence else {}
    targets = {row.merged_into for row in found if row.merged_into is not None}
    ids = dict(_IDS.among(connection, targets, space=space)) if targets else {}
    return [entity(row, ids, tuple(rest.get(row.number, ()))) for row in found]
