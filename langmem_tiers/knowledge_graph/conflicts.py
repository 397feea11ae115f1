"""What speaks against two entities of like names being one: what is known of each, and that both were named at once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from itertools import product
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.knowledge_graph import kinship, predicates, values
from langmem_tiers.settings import Settings
from langmem_tiers.storage import drawers, entities, relations
from langmem_tiers.storage.entities import EntityRow
from langmem_tiers.storage.relations import RelationRow
from langmem_tiers.writing.extractive.prose import sentences

# Relations looked at of each of the two.
_MOST = 500
_MOST_DRAWERS = 20


class Against(NamedTuple):
    """Why two are not merged; `settled` says that they are surely two, so that nobody needs to be asked."""

    reason: str
    settled: bool = False


def against(
    connection: Connection, space: str, first: EntityRow, second: EntityRow, settings: Settings
) -> Against | None:
    """What speaks against two entities being one, None where nothing does."""
    here, there = (entities.members(connection, space, each.number) for each in (first, second))
    if any(row.believed for row in relations.between(connection, space, here, there)):
        return Against("one is related to the other", settled=True)
    if _named_at_once(connection, space, first, second):
        return Against("both were named in one sentence", settled=True)
    rows = [_believed(connection, space, members) for members in (here, there)]
    return _other_kin(connection, space, rows, (here, there)) or _differ(
        connection, space, rows, (here, there), settings
    )


def _believed(connection: Connection, space: str, members: Sequence[int]) -> list[RelationRow]:
    numbers = relations.numbers_of_entities(connection, space, members)[:_MOST]
    found = relations.of_numbers(connection, space, numbers)
    return [row for row in found if row.believed and row.kind == "stated"]


def _differ(
    connection: Connection,
    space: str,
    rows: Sequence[Sequence[RelationRow]],
    members: Sequence[Collection[int]],
    settings: Settings,
) -> Against | None:
    """Another value of what everybody has one of at a time, such as a birthday."""
    here, there = (
        _single(connection, space, [row for row in found if row.subject in own], settings)
        for found, own in zip(rows, members, strict=True)
    )
    for predicate in here.keys() & there.keys():
        if here[predicate].isdisjoint(there[predicate]):
            return Against(f"another {predicate.removeprefix('has_').replace('_', ' ')}")
    return None


def _single(
    connection: Connection, space: str, rows: Sequence[RelationRow], settings: Settings
) -> dict[str, set[Hashable]]:
    """What holds now of the predicates that hold one value at a time."""
    found: defaultdict[str, set[Hashable]] = defaultdict(set)
    ends = entities.canonical_of(connection, space, {row.object for row in rows if row.object is not None})
    for row in rows:
        if row.last.valid_to is None and predicates.single_valued(row.predicate, settings.graph):
            key = values.key(row.value or "", row.unit) if row.object is None else ends[row.object]
            found[row.predicate].add(key)
    return found


def _other_kin(
    connection: Connection, space: str, rows: Sequence[Sequence[RelationRow]], members: Sequence[Collection[int]]
) -> Against | None:
    """One is the sister of somebody whose daughter the other is."""
    here, there = (
        [(row.subject, row.predicate.removeprefix("has_").replace("_", " ")) for row in found if row.object in own]
        for found, own in zip(rows, members, strict=True)
    )
    ends = entities.canonical_of(connection, space, {subject for subject, _ in (*here, *there)})
    for (one, kind), (other, another) in product(here, there):
        if ends[one] == ends[other] and kinship.exclude(kind, another):
            return Against(f"one is a {kind}, the other a {another}")
    return None


def _named_at_once(connection: Connection, space: str, first: EntityRow, second: EntityRow) -> bool:
    """Whether a sentence names both, the shorter name also outside of the longer one."""
    here, there = (
        {each.drawer for each in entities.evidence_of(connection, space, [row.number])[row.number]}
        for row in (first, second)
    )
    shared = sorted(here & there)[-_MOST_DRAWERS:]
    long, short = (
        sorted({first.name, second.name}, key=len, reverse=True) if first.name != second.name else (first.name, "")
    )
    if not short:
        return False
    held = drawers.read(connection, space, shared)
    return any(_names_both(each.text, long, short) for drawer in held.values() for each in sentences(drawer.content))


def _names_both(sentence: str, long: str, short: str) -> bool:
    if long not in sentence:
        return False
    rest = sentence.replace(long, " ")
    return re.search(rf"(?<!\w){re.escape(short)}(?!\w)", rest) is not None
