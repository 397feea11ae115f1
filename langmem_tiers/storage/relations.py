"""Relations of the knowledge graph: what was believed of each and when, and their evidence."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, delete, func, insert, or_, select, update

from langmem_tiers.clock import from_millis
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.values import Value
from langmem_tiers.records import (
    DISPLACING,
    Authority,
    Entity,
    Evidence,
    GraphEvidence,
    GraphPath,
    Period,
    Relation,
    RelationKind,
    VersionReason,
)
from langmem_tiers.storage import entities, facts, graph_evidence
from langmem_tiers.storage.database import AT_ONCE, batches
from langmem_tiers.storage.schema import relation_evidence, relation_versions, relations
from langmem_tiers.types import Origin

# The last number assigned: numbers are never reused, even if the newest relation was deleted.
_NEWEST = "newest_relation"
# SQLite's `lower` only knows the letters A to Z.
_LOWERED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelationRow:
    """A relation to be stored, without its time; `subject` and `object` are numbers of entities."""

    id: str
    subject: int
    predicate: str
    said: str
    object: int | None
    value: str | None
    unit: str | None
    kind: RelationKind
    origin: Origin
    path: GraphPath
    authority: int
    confidence: int


class VersionRow(NamedTuple):
    """What was believed about a relation's period, from `recorded_at` until `until`; times in milliseconds.

    `stated_to` is the end that was stated; if None, the relation ends when its successor begins.
    """

    version: int
    valid_from: int | None
    valid_to: int | None
    from_unit: Exactness
    to_unit: Exactness
    from_stated: bool
    stated_to: int | None
    recorded_at: int
    until: int | None
    reason: VersionReason
    cause: int | None


class RelationRow(NamedTuple):
    """A stored relation with versions of it, oldest first."""

    number: int
    id: str
    subject: int
    predicate: str
    said: str
    object: int | None
    value: str | None
    unit: str | None
    kind: RelationKind
    origin: Origin
    path: GraphPath
    authority: int
    confidence: int
    created_at: int
    versions: tuple[VersionRow, ...]

    @property
    def last(self) -> VersionRow:
        """The latest version."""
        return self.versions[-1]

    @property
    def believed(self) -> bool:
        """Whether it is currently believed."""
        return self.last.until is None


_RESTING = relation_evidence.c.relation
_COLUMNS = tuple(relations.c[name] for name in RelationRow._fields if name != "versions")
_VERSION = tuple(relation_versions.c[name] for name in VersionRow._fields)


def put(connection: Connection, space: str, new: NewRelationRow, at: int) -> int:
    """Store a relation without any version. Returns its number."""
    number = facts.count_up(connection, space, _NEWEST)
    row = {name: getattr(new, name) for name in NewRelationRow.__slots__}
    connection.execute(insert(relations).values(space=space, number=number, created_at=at, **row))
    return number


def reserve(connection: Connection, space: str, count: int) -> int:
    """Reserve a range of numbers. Returns the first."""
    return facts.count_up(connection, space, _NEWEST, count) - count + 1


def put_rows(connection: Connection, space: str, new: Sequence[RelationRow]) -> None:
    """Store relations under reserved numbers, with all their versions."""
    named = [dict(zip(RelationRow._fields[:-1], row[:-1], strict=True)) for row in new]
    versions = [
        {**version._asdict(), "from_stated": int(version.from_stated), "relation": row.number}
        for row in new
        for version in row.versions
    ]
    for table, stored in ((relations, named), (relation_versions, versions)):
        for some in batches(stored):
            connection.execute(insert(table), [{"space": space, **row} for row in some])


def put_versions(connection: Connection, space: str, new: Collection[tuple[int, VersionRow]]) -> None:
    """Store the next versions of relations by number; the previous version, if still believed, ends there."""
    if not new:
        return
    ends = [{"of": number, "before": row.version, "at": row.recorded_at} for number, row in new if row.version > 1]
    if ends:
        c = relation_versions.c
        these = (
            c.space == space,
            c.relation == bindparam("of"),
            c.version == bindparam("before") - 1,
            c.until.is_(None),
        )
        connection.execute(update(relation_versions).where(*these).values(until=bindparam("at")), ends)
    rows = [
        {"space": space, "relation": number, **row._asdict(), "from_stated": int(row.from_stated)}
        for number, row in new
    ]
    connection.execute(insert(relation_versions), rows)


def change(connection: Connection, space: str, number: int, values: Mapping[str, Any]) -> None:
    """Set columns of a relation that are not about its period."""
    connection.execute(
        update(relations).where(relations.c.space == space, relations.c.number == number).values(**values)
    )


def add_evidence(connection: Connection, space: str, number: int, evidence: Iterable[Evidence], at: int) -> int:
    """Add drawers to a relation's evidence. Returns how many are new."""
    return graph_evidence.add(connection, space, _RESTING, number, evidence, at=at)


def drop_evidence(connection: Connection, space: str, number: int, drawer_numbers: Collection[int]) -> None:
    """Remove drawers from a relation's evidence."""
    graph_evidence.drop(connection, space, _RESTING, number, drawer_numbers)


def remove(connection: Connection, space: str, numbers: Collection[int]) -> None:
    """Delete relations with all their versions; others no longer name them as a cause."""
    for some in batches(numbers):
        caused = (relation_versions.c.space == space, relation_versions.c.cause.in_(some))
        connection.execute(update(relation_versions).where(*caused).values(cause=None))
        for table, column in (
            (relation_evidence, relation_evidence.c.relation),
            (relation_versions, relation_versions.c.relation),
            (relations, relations.c.number),
        ):
            connection.execute(delete(table).where(table.c.space == space, column.in_(some)))


def newest(connection: Connection, space: str) -> int:
    """The last number assigned, 0 before the first."""
    return int(facts.get(connection, space, _NEWEST) or 0)


def rows(connection: Connection, space: str, first: int, until: int) -> Iterator[RelationRow]:
    """The relations with the numbers `first` to `until`, both included, in order, with all their versions."""
    wanted = select(*_COLUMNS).where(relations.c.space == space, relations.c.number.between(first, until))
    of_them = relation_versions.c.relation.between(first, until)
    versions = _versions(connection, space, of_them)
    for row in connection.execute(wanted.order_by(relations.c.number)).all():
        yield RelationRow._make((*row, tuple(versions[row.number])))


def every(connection: Connection, space: str) -> Iterator[RelationRow]:
    """All relations by number, in batches of some thousands."""
    last = newest(connection, space)
    for first in range(1, last + 1, AT_ONCE):
        yield from rows(connection, space, first, min(last, first + AT_ONCE - 1))


def of_numbers(connection: Connection, space: str, numbers: Collection[int]) -> list[RelationRow]:
    """Relations by number, in order, with all their versions; unknown numbers are left out."""
    found: list[RelationRow] = []
    for some in batches(sorted(set(numbers))):
        values = {"space": space, "numbers": list(some)}
        versions: defaultdict[int, list[VersionRow]] = defaultdict(list)
        for number, *version in connection.execute(_versions_of_numbers(), values):
            versions[number].append(_version(version))
        rows = connection.execute(_plain_of_numbers(), values)
        found += [RelationRow._make((*row, tuple(versions[row.number]))) for row in rows]
    return found


def of_id(connection: Connection, space: str, relation_id: str) -> RelationRow | None:
    """The relation with an id, with all its versions."""
    these = (relations.c.space == space, relations.c.id == relation_id)
    number = connection.execute(select(relations.c.number).where(*these)).scalar()
    return None if number is None else of_numbers(connection, space, [number])[0]


def numbers_of_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, int]:
    """The numbers of relations by their id."""
    found: dict[str, int] = {}
    for some in batches(ids):
        these = (relations.c.space == space, relations.c.id.in_(some))
        wanted = select(relations.c.id, relations.c.number).where(*these)
        found |= {row.id: row.number for row in connection.execute(wanted)}
    return found


def group(connection: Connection, space: str, subjects: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations of these subjects with a predicate, each with its last version only."""
    return _last(connection, _group(), {"space": space, "subjects": list(subjects), "predicate": predicate})


def touching(connection: Connection, space: str, members: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations with a predicate from or to one of these entities, each with its last version only."""
    at_end = or_(relations.c.subject.in_(members), relations.c.object.in_(members))
    return _with_last(connection, space, (at_end, relations.c.predicate == predicate, relations.c.kind == "stated"))


def stays(connection: Connection, space: str, numbers: Collection[int]) -> frozenset[int]:
    """Those of these relations whose end was known when they were first stored."""
    found: set[int] = set()
    for some in batches(numbers):
        first = (relation_versions.c.version == 1, relation_versions.c.stated_to.is_not(None))
        these = (relation_versions.c.space == space, relation_versions.c.relation.in_(some), *first)
        found.update(connection.execute(select(relation_versions.c.relation).where(*these)).scalars())
    return frozenset(found)


def to_objects(
    connection: Connection,
    space: str,
    subjects: Collection[int],
    predicate: str,
    objects: Collection[int],
    *,
    kind: RelationKind,
) -> list[RelationRow]:
    """The relations of these subjects with a predicate to one of these objects, each with its last version only."""
    by = (relations.c.subject.in_(subjects), relations.c.predicate == predicate, relations.c.kind == kind)
    return _with_last(connection, space, (*by, relations.c.object.in_(objects)))


def to_value(
    connection: Connection, space: str, subjects: Collection[int], predicate: str, value: str, *, kind: RelationKind
) -> list[RelationRow]:
    """The relations of these subjects with a predicate to a value, ignoring ASCII case."""
    by = (relations.c.subject.in_(subjects), relations.c.predicate == predicate, relations.c.kind == kind)
    same = (relations.c.object.is_(None), func.lower(relations.c.value) == value.translate(_LOWERED))
    return _with_last(connection, space, (*by, *same))


def with_last(connection: Connection, space: str, numbers: Collection[int]) -> list[RelationRow]:
    """Relations by number, each with its last version only; one still being stored has none."""
    return _last(connection, _of_numbers(), {"space": space, "numbers": list(numbers)})


def groups_of(connection: Connection, space: str, members: Collection[int]) -> set[tuple[int, str]]:
    """Both ends of all stated relations from or to one of these entities, each with the predicate."""
    found: set[tuple[int, str]] = set()
    wanted = select(relations.c.subject, relations.c.object, relations.c.predicate).distinct()
    for column in (relations.c.subject, relations.c.object):
        these = (relations.c.space == space, column.in_(members), relations.c.kind == "stated")
        for row in connection.execute(wanted.where(*these)):
            ends = (row.subject,) if row.object is None else (row.subject, row.object)
            found.update((end, row.predicate) for end in ends)
    return found


def between(connection: Connection, space: str, first: Collection[int], second: Collection[int]) -> list[RelationRow]:
    """The stated relations between these entities and those, either way, each with its last version only."""
    there = and_(relations.c.subject.in_(first), relations.c.object.in_(second))
    back = and_(relations.c.subject.in_(second), relations.c.object.in_(first))
    return _with_last(connection, space, (or_(there, back), relations.c.kind == "stated"))


def numbers_of_entities(connection: Connection, space: str, members: Collection[int]) -> list[int]:
    """The numbers of the relations from or to one of these entities."""
    found: set[int] = set()
    for some in batches(members):
        for column in (relations.c.subject, relations.c.object):
            these = (relations.c.space == space, column.in_(some))
            found.update(connection.execute(select(relations.c.number).where(*these)).scalars())
    return sorted(found)


def of_drawers(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[int]:
    """The numbers of the relations with one of these drawers as evidence."""
    return sorted({number for _, number in resting(connection, space, drawer_numbers)})


def resting(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[tuple[int, int]]:
    """The relations with each of these drawers as evidence, as (drawer, relation)."""
    return graph_evidence.of_drawers(connection, space, _RESTING, drawer_numbers)


def evidence(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, list[GraphEvidence]]:
    """The evidence of relations, oldest first."""
    return graph_evidence.read(connection, space, _RESTING, numbers)


def by_numbers(
    connection: Connection, space: str, numbers: Collection[int], *, evidence: bool = False
) -> dict[int, Relation]:
    """Relations by number with their current or last version; unknown numbers are left out."""
    found = of_numbers(connection, space, numbers)
    return {each.number: each for each in relations_of(connection, space, found, with_evidence=evidence)}


def relations_of(
    connection: Connection, space: str, found: Sequence[RelationRow], *, with_evidence: bool = False
) -> list[Relation]:
    """The public records of rows, each as of its last version."""
    causes = of_numbers(connection, space, {row.last.cause for row in found if row.last.cause is not None})
    named = {number for row in (*found, *causes) for number in (row.subject, row.object) if number is not None}
    ends = entities.canonical_of(connection, space, named)
    standing = entities.by_numbers(connection, space, set(ends.values()))
    known = {number: standing[end] for number, end in ends.items()}
    caused = {row.number: cause(row, known) for row in causes}
    rests = evidence(connection, space, [row.number for row in found]) if with_evidence else {}
    return [relation(row, row.last, known, caused, tuple(rests.get(row.number, ()))) for row in found]


def beliefs(connection: Connection, space: str, row: RelationRow) -> list[Relation]:
    """The beliefs about a relation, one per version, oldest first."""
    upto = [row._replace(versions=row.versions[: place + 1]) for place in range(len(row.versions))]
    made = relations_of(connection, space, upto)
    # What was believed again at the same moment had not been given up.
    ahead = [each.recorded_at for each in row.versions[1:]]
    given_up = [
        version.until is not None and (place >= len(ahead) or ahead[place] > version.until)
        for place, version in enumerate(row.versions)
    ]
    displaced = [version.reason in DISPLACING for version in row.versions]
    return [_as(each, withdrawn=any(gone)) for each, *gone in zip(made, given_up, displaced, strict=True)]


class Cause(NamedTuple):
    """The relation that caused a version: its id, and the name of its object."""

    id: str
    target: str


def cause(row: RelationRow, known: Mapping[int, Entity]) -> Cause:
    """The public record of a causing relation; `known` are entities by number."""
    return Cause(row.id, str(_value(row)) if row.object is None else known[row.object].name)


def relation(
    row: RelationRow,
    version: VersionRow,
    known: Mapping[int, Entity],
    causes: Mapping[int, Cause],
    evidence: tuple[GraphEvidence, ...] = (),
) -> Relation:
    """The public record of a row and one of its versions; `known` are entities by number."""
    by = None if version.cause is None else causes.get(version.cause)
    gone = version.until is not None and version is row.last
    return Relation(
        number=row.number,
        id=row.id,
        subject=known[row.subject],
        predicate=row.predicate,
        said=row.said,
        object=None if row.object is None else known[row.object],
        value=_value(row),
        kind=row.kind,
        period=period(version),
        recorded_at=from_millis(version.recorded_at),
        withdrawn=gone or version.reason in DISPLACING,
        reason=version.reason,
        cause=None if by is None else by.id,
        cause_target=None if by is None else by.target,
        origin=row.origin,
        path=row.path,
        authority=Authority(row.authority),
        confidence=row.confidence / 100,
        version=version.version,
        evidence=evidence,
    )


def period(version: VersionRow) -> Period:
    """The period of validity in a version."""
    return Period(
        start=None if version.valid_from is None else from_millis(version.valid_from),
        end=None if version.valid_to is None else from_millis(version.valid_to),
        start_unit=version.from_unit,
        end_unit=version.to_unit,
        start_stated=version.from_stated or version.valid_from is None,
    )


class Counts(NamedTuple):
    """How many stated relations are believed, how many of them hold, and how many are mere mentions."""

    believed: int
    current: int
    mentioned: int


def count(connection: Connection, space: str, at: int) -> Counts:
    """Counts at a moment."""
    last, stated = relation_versions.c, relations.c.kind == "stated"
    holds = and_(
        or_(last.valid_from.is_(None), last.valid_from <= at), or_(last.valid_to.is_(None), last.valid_to > at)
    )
    counted = select(
        func.count().filter(stated), func.count().filter(and_(stated, holds)), func.count().filter(~stated)
    ).select_from(relations.join(relation_versions, _same_relation()))
    return Counts(*connection.execute(counted.where(relations.c.space == space, last.until.is_(None))).one())


def _as(made: Relation, *, withdrawn: bool) -> Relation:
    from dataclasses import replace

    return replace(made, withdrawn=withdrawn)


def _value(row: RelationRow) -> Value | None:
    return None if row.value is None else Value(text=row.value, unit=row.unit)


def _versions(connection: Connection, space: str, which: ColumnElement[bool]) -> defaultdict[int, list[VersionRow]]:
    found: defaultdict[int, list[VersionRow]] = defaultdict(list)
    wanted = select(relation_versions.c.relation, *_VERSION).where(relation_versions.c.space == space, which)
    order = (relation_versions.c.relation, relation_versions.c.version)
    for number, *version in connection.execute(wanted.order_by(*order)):
        found[number].append(_version(version))
    return found


def _with_last(connection: Connection, space: str, conditions: Sequence[ColumnElement[bool]]) -> list[RelationRow]:
    return _last(connection, _last_versions().where(relations.c.space == space, *conditions), {})


def _last(connection: Connection, wanted: Select[Any], values: Mapping[str, Any]) -> list[RelationRow]:
    width = len(_COLUMNS)
    found = [
        RelationRow._make((*row[:width], () if row[width] is None else (_version(row[width:]),)))
        for row in connection.execute(wanted, values)
    ]
    # Not in SQL: to avoid a sort, SQLite would scan all relations in order instead of using an index.
    return sorted(found, key=attrgetter("number"))


def _version(values: Sequence[Any]) -> VersionRow:
    return VersionRow._make((*values[:5], bool(values[5]), *values[6:]))


def _last_versions() -> Select[Any]:
    later = relation_versions.alias()
    same = (later.c.space == relations.c.space, later.c.relation == relations.c.number)
    highest = select(func.max(later.c.version)).where(*same).correlate(relations).scalar_subquery()
    joined = relations.outerjoin(relation_versions, and_(_same_relation(), relation_versions.c.version == highest))
    return select(*_COLUMNS, *_VERSION).select_from(joined)


# Statements are built once: a single write runs most of them.
@cache
def _group() -> Select[Any]:
    by = (
        relations.c.subject.in_(bindparam("subjects", expanding=True)),
        relations.c.predicate == bindparam("predicate"),
    )
    these = (relations.c.space == bindparam("space"), *by, relations.c.kind == "stated")
    return _last_versions().where(*these)


@cache
def _of_numbers() -> Select[Any]:
    these = (relations.c.space == bindparam("space"), relations.c.number.in_(bindparam("numbers", expanding=True)))
    return _last_versions().where(*these)


@cache
def _plain_of_numbers() -> Select[Any]:
    these = (relations.c.space == bindparam("space"), relations.c.number.in_(bindparam("numbers", expanding=True)))
    return select(*_COLUMNS).where(*these).order_by(relations.c.number)


@cache
def _versions_of_numbers() -> Select[Any]:
    of_them = relation_versions.c.relation.in_(bindparam("numbers", expanding=True))
    wanted = select(relation_versions.c.relation, *_VERSION)
    order = (relation_versions.c.relation, relation_versions.c.version)
    return wanted.where(relation_versions.c.space == bindparam("space"), of_them).order_by(*order)


def _same_relation() -> ColumnElement[bool]:
    return and_(relation_versions.c.space == relations.c.space, relation_versions.c.relation == relations.c.number)
