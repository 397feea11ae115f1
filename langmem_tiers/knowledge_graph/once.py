"""What is said of two entities that were found to be one is told once. Pure.

Records keep each relation as it was said, so that a merge can be undone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from langmem_tiers.knowledge_graph import predicates, values
from langmem_tiers.knowledge_graph.displaced import displaced
from langmem_tiers.knowledge_graph.types import DISPLACING
from langmem_tiers.knowledge_graph.view import GraphView, Node, bounds, version_at
from langmem_tiers.storage.relations import RelationRow, VersionRow


class Told(NamedTuple):
    """A relation that stands for `numbers`, all that say the same of the same time; `version` is the time of all."""

    row: RelationRow
    version: VersionRow
    numbers: tuple[int, ...]


def told(view: GraphView, noted: Iterable[tuple[RelationRow, VersionRow]]) -> list[Told]:
    """Relations with what is noted of their time, each fact once, in the order of the first that says so."""
    each = [Told(row, version, (row.number,)) for row, version in noted]
    if not view.merged:
        return each
    by_fact: dict[Hashable, list[Told]] = {}
    for one in each:
        by_fact.setdefault(_fact(view, one), []).append(one)
    united = (one for same in by_fact.values() for one in (_united(same) if len(same) > 1 else same))
    place = {one.row.number: index for index, one in enumerate(each)}
    return sorted(united, key=lambda one: min(place[number] for number in one.numbers))


def rows(view: GraphView, given: Iterable[RelationRow], known_at: int | None = None) -> Iterator[RelationRow]:
    """Relations as they were believed at a moment (None: are now), each fact once; others are left as they are."""
    if not view.merged:
        yield from given
        return
    believed: list[tuple[RelationRow, VersionRow]] = []
    for row in given:
        version = version_at(row, known_at)
        if version is None:
            yield row
        else:
            believed.append((row, version))
    for one in told(view, believed):
        versions = (one.version if each.version == one.version.version else each for each in one.row.versions)
        yield one.row._replace(versions=tuple(versions))


def repeated(view: GraphView, shown: Sequence[Told], known_at: int | None) -> dict[int, list[int]]:
    """By the relation that holds, those that say the same and were displaced by it."""
    subjects = {view.canonical(one.row.subject) for one in shown} & view.merged.keys()
    found: dict[int, list[int]] = {}
    for subject in subjects:
        for row in view.incident(subject):
            version = displaced(row, known_at)
            if version is not None and version.reason == "repeated" and version.cause is not None:
                found.setdefault(version.cause, []).append(row.number)
    return found


def alike(view: GraphView, number: int) -> list[int]:
    """The other relations that say the same of the same time as one does, as is believed now."""
    row = view.relations.get(number)
    if row is None or not view.merged:
        return []
    around = view.incident(view.canonical(row.subject))
    noted = [(each, version) for each in around if (version := version_at(each, None)) is not None]
    return [each for one in told(view, noted) if number in one.numbers for each in one.numbers if each != number]


def _fact(view: GraphView, one: Told) -> Hashable:
    """What a relation says; one that no merge has touched, or that holds at no time, says it alone."""
    row = one.row
    ends = view.ends(row)
    start, end = bounds(one.version)
    never = start >= end or one.version.reason in DISPLACING
    if never or not any(node in view.merged for node in ends):
        return row.number
    subject, target = ends
    if row.object is None:
        return row.kind, row.predicate, subject, values.key(row.value or "", row.unit)
    both: tuple[Node, ...] = tuple(sorted((subject, target), key=str))
    return row.kind, row.predicate, both if predicates.symmetric(row.predicate) else ends


def _united(same: Sequence[Told]) -> Iterator[Told]:
    """Those of one fact whose times meet, as one; a time in between, in which it did not hold, parts them."""
    waiting = sorted(same, key=lambda one: bounds(one.version))
    run = waiting[0]
    for one in waiting[1:]:
        if bounds(one.version)[0] > bounds(run.version)[1]:
            yield run
            run = one
        else:
            run = _both(run, one)
    yield run


def _both(first: Told, second: Told) -> Told:
    """Two as one, of which the first begins no later; who of higher authority says so, or said so first, stands."""
    row, version = min(first[:2], second[:2], key=lambda one: (-one[0].authority, one[0].number))
    last = max(first.version, second.version, key=lambda each: bounds(each)[1])
    start = first.version
    whole = version._replace(
        valid_from=start.valid_from,
        from_unit=start.from_unit,
        from_stated=start.from_stated,
        valid_to=last.valid_to,
        to_unit=last.to_unit,
    )
    return Told(row, whole, (*first.numbers, *second.numbers))
