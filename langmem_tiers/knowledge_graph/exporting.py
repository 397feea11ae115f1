"""The JSON form of a space's graph, out of its records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import Connection, select

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph.exchange import FORMAT, VERSION, sealed
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.entities import EntityRow
from langmem_tiers.storage.relations import RelationRow, VersionRow
from langmem_tiers.storage.schema import drawers, entity_aliases, entity_evidence, entity_pairs, relation_evidence

if TYPE_CHECKING:
    from langmem_tiers.space import Space

_Evidence = Mapping[int, list[dict[str, Any]]]


def as_json(space: Space) -> bytes:
    """The graph of one moment."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        graph = _graph(connection, store.key)
    return sealed(graph)


def _graph(connection: Connection, space: str) -> dict[str, Any]:
    held = list(entities.every(connection, space))
    related = list(relations.every(connection, space))
    names = {row.number: row.id for row in held}
    said = {row.number: row.id for row in related}
    aliases = _aliases(connection, space)
    spoken_of = _evidence(connection, space, entity_evidence, entity_evidence.c.entity)
    rests = _evidence(connection, space, relation_evidence, relation_evidence.c.relation)
    return {
        "format": FORMAT,
        "version": VERSION,
        "entities": [_entity(row, aliases[row.number], spoken_of) for row in held],
        "relations": [_relation(row, names, said, rests) for row in related],
        "merges": _merges(connection, space, names),
        "pairs": _pairs(connection, space, names),
    }


def _entity(row: EntityRow, aliases: list[dict[str, Any]], evidence: _Evidence) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "type": row.type,
        "aliases": aliases,
        "origin": row.origin,
        "path": row.path,
        "authority": row.authority,
        "metadata": orjson.loads(row.metadata),
        "first_seen": _text(row.first_seen),
        "last_seen": _text(row.last_seen),
        "created_at": _text(row.created_at),
        "updated_at": _text(row.updated_at),
        "evidence": evidence.get(row.number, []),
    }


def _relation(
    row: RelationRow, names: Mapping[int, str], said: Mapping[int, str], evidence: _Evidence
) -> dict[str, Any]:
    return {
        "id": row.id,
        "subject": names[row.subject],
        "predicate": row.predicate,
        "said": row.said,
        "object": None if row.object is None else names[row.object],
        "value": row.value,
        "unit": row.unit,
        "kind": row.kind,
        "origin": row.origin,
        "path": row.path,
        "authority": row.authority,
        "confidence": row.confidence,
        "created_at": _text(row.created_at),
        "versions": [_version(each, said) for each in row.versions],
        "evidence": evidence.get(row.number, []),
    }


def _version(version: VersionRow, said: Mapping[int, str]) -> dict[str, Any]:
    times = ("valid_from", "valid_to", "stated_to", "recorded_at", "until")
    return {
        **{name: _text(getattr(version, name)) for name in times},
        "from_unit": version.from_unit,
        "to_unit": version.to_unit,
        "from_stated": version.from_stated,
        "reason": version.reason,
        "cause": None if version.cause is None else said.get(version.cause),
    }


def _aliases(connection: Connection, space: str) -> defaultdict[int, list[dict[str, Any]]]:
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    columns = (entity_aliases.c.entity, entity_aliases.c.name, entity_aliases.c.at)
    wanted = select(*columns).where(entity_aliases.c.space == space)
    for row in connection.execute(wanted.order_by(entity_aliases.c.at, entity_aliases.c.slug)):
        found[row.entity].append({"name": row.name, "at": _text(row.at)})
    return found


def _evidence(connection: Connection, space: str, table: Any, of: Any) -> _Evidence:
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    same = (drawers.c.space == table.c.space) & (drawers.c.number == table.c.drawer)
    wanted = select(of.label("of"), table.c.drawer, table.c.quote, drawers.c.content_hash).select_from(
        table.join(drawers, same)
    )
    for row in connection.execute(wanted.where(table.c.space == space).order_by(of, table.c.drawer)):
        found[row.of].append({"drawer": row.drawer, "hash": row.content_hash.hex(), "quote": row.quote})
    return found


def _merges(connection: Connection, space: str, names: Mapping[int, str]) -> list[dict[str, Any]]:
    return [
        {
            "source": names[row.source],
            "target": names[row.target],
            "reason": row.reason,
            "path": row.path,
            "at": _text(row.at),
            "undone_at": _text(row.undone_at),
        }
        for row in reversed(merges.every(connection, space))
    ]


def _pairs(connection: Connection, space: str, names: Mapping[int, str]) -> list[dict[str, Any]]:
    wanted = select(entity_pairs).where(entity_pairs.c.space == space)
    rows: Iterable[Any] = connection.execute(wanted.order_by(entity_pairs.c.low, entity_pairs.c.high))
    return [
        {
            "first": names[row.low],
            "second": names[row.high],
            "status": row.status,
            "score": row.score,
            "reason": row.reason,
            "at": _text(row.at),
        }
        for row in rows
    ]


def _text(millis: int | None) -> str | None:
    return None if millis is None else from_millis(millis).isoformat()
