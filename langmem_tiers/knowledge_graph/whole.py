"""Entities as they stand: with the names and the evidence of all that were merged into them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from langmem_tiers.knowledge_graph.naming import names
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.storage import entities, schema


def whole(connection: Connection, space: str, found: Sequence[Entity], *, evidence: bool = False) -> list[Entity]:
    """Entities that stand, each with the other names, and with `evidence` the drawers, of those that it is as well."""
    behind = _behind(connection, space)
    wanted = {number for each in found for number in behind.get(each.number, ())}
    parts = entities.by_numbers(connection, space, wanted, evidence=evidence) if wanted else {}
    return [_joined(each, [parts[number] for number in behind.get(each.number, ())]) for each in found]


def _behind(connection: Connection, space: str) -> dict[int, list[int]]:
    """The entities that were merged, by the number of the one that stands for them now."""
    table = schema.entities
    merged = select(table.c.number).where(table.c.space == space, table.c.merged_into.is_not(None))
    numbers = connection.execute(merged.order_by(table.c.number)).scalars().all()
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, standing in entities.canonical_of(connection, space, numbers).items():
        found[standing].append(number)
    return found


def _joined(own: Entity, parts: Sequence[Entity]) -> Entity:
    if not parts:
        return own
    every = (own, *parts)
    rests = {each.drawer: each for one in reversed(every) for each in one.evidence}
    return replace(
        own,
        aliases=names(own.name, (*own.aliases, *(name for one in parts for name in (one.name, *one.aliases)))),
        first_seen=min(one.first_seen for one in every),
        last_seen=max(one.last_seen for one in every),
        evidence=tuple(rests[drawer] for drawer in sorted(rests)),
    )
