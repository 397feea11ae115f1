"""Relations of the knowledge graph: what was believed of each and when, and their evidence."""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter, methodcaller
from sys import intern
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from langmem_tiers.clock import from_millis
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.values import Value
from langmem_tiers.records import (
    DISPLACING,
    Authority,
    Entity,
    GraphEvidence,
    GraphPath,
    Period,
    Relation,
    RelationKind,
    VersionReason,
    rank_of,
    was_told,
)
from langmem_tiers.storage import entities, facts, graph_evidence
from langmem_tiers.storage.schema import drawers, relation_evidence, relation_versions, relations
from langmem_tiers.storage.statements import (
    AT_ONCE,
    Prepared,
    among,
    batches,
    delete_among,
    here,
    listed,
    numbered,
    upsert,
)
from langmem_tiers.types import Origin

# The last number assigned: numbers are never reused, even if the newest relation was deleted.
NEWEST = "newest_relation"
# SQLite's `lower` only knows the letters A to Z.
_LOWERED = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


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


_NEW, _NEW_VERSION = Prepared(insert(relations)), upsert(relation_versions)
# A version that is there already is only ended.
_PUT_VERSIONS = Prepared(
    _NEW_VERSION.on_conflict_do_update(
        index_elements=["space", "relation", "version"],
        set_={"until": _NEW_VERSION.excluded.until},
        where=relation_versions.c.until.is_(None),
    )
)


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

    @property
    def rank(self) -> int:
        """As `Entry.rank`."""
        return rank_of(self.origin, self.authority)

    @property
    def told(self) -> bool:
        """As `Entry.told`."""
        return was_told(self.origin, self.path, self.authority)

    @property
    def from_tool(self) -> bool:
        """Whether it comes from a tool's result, and from nowhere else."""
        return self.rank < 0


def as_version(values: Sequence[Any]) -> VersionRow:
    """A version of these values in order; what most have in common is in memory once, which halves that."""
    number, start, end, start_unit, end_unit, stated, stated_to, at, until, reason, cause = values
    units = intern(start_unit), intern(end_unit)
    return VersionRow._make((number, start, end, *units, bool(stated), stated_to, at, until, intern(reason), cause))


def as_relation(values: Sequence[Any], versions: tuple[VersionRow, ...]) -> RelationRow:
    """A relation of these values in order, and its versions; see `as_version`."""
    number, own_id, subject, predicate, said, target, value, unit, kind, origin, path, *rest = values
    known = intern(predicate), intern(said), target, value, unit, intern(kind), intern(origin), intern(path)
    return RelationRow._make((number, own_id, subject, *known, *rest, versions))


_COLUMNS = tuple(relations.c[name] for name in RelationRow._fields[:-1])
_VERSION = tuple(relation_versions.c[name] for name in VersionRow._fields)
_EVERY = select(*_COLUMNS).where(*here(relations)).order_by(relations.c.number)
_VERSIONS = (
    select(relation_versions.c.relation, *_VERSION)
    .where(*here(relation_versions))
    .order_by(relation_versions.c.relation, relation_versions.c.version)
)
_later = relation_versions.alias()
_HIGHEST = (
    select(func.max(_later.c.version)).where(numbered(_later, relations.c.number, "relation")).correlate(relations)
)
_OF_RELATION = numbered(relation_versions, relations.c.number, "relation")
_LAST_VERSION = and_(_OF_RELATION, relation_versions.c.version == _HIGHEST.scalar_subquery())
_JOINED = relations.outerjoin(relation_versions, _LAST_VERSION)
_WITH_LAST = select(*_COLUMNS, *_VERSION).select_from(_JOINED).where(*here(relations))
_SUBJECTS: BindParameter[list[int]] = bindparam("subjects", expanding=True)
_OBJECTS: BindParameter[list[int]] = bindparam("objects", expanding=True)
_SAID = _WITH_LAST.where(relations.c.predicate == bindparam("predicate"), relations.c.kind == bindparam("kind"))
_SAID_OF = _SAID.where(relations.c.subject.in_(_SUBJECTS))
_GROUP = Prepared(_SAID_OF)
_MOMENT: BindParameter[int] = bindparam("moment", type_=BigInteger)
_of_group, _open = relations.alias(), relation_versions.alias()
# A condition, since SQLite would begin a join with what is open in the whole space.
_REACHES = exists().where(
    numbered(_open, _of_group.c.number, "relation"),
    _open.c.until.is_(None),
    or_(_open.c.valid_to.is_(None), _open.c.stated_to >= _MOMENT, _open.c.valid_from >= _MOMENT),
)
_reaching = (
    select(_of_group.c.number)
    .where(*here(_of_group, predicate=bindparam("predicate"), kind=bindparam("kind")))
    .where(_of_group.c.subject.in_(_SUBJECTS), _REACHES)
    .limit(bindparam("most", type_=Integer))
    .cte("reaching")
    .prefix_with("MATERIALIZED")
)
# By number, as PostgreSQL would look up the last versions of the whole group first; and it finds the numbers only once.
_REACHING = Prepared(_WITH_LAST.where(relations.c.number.in_(select(_reaching.c.number))))
_TOUCHING = Prepared(_SAID.where(or_(relations.c.subject.in_(_SUBJECTS), relations.c.object.in_(_SUBJECTS))))
_TO_OBJECTS = Prepared(_SAID_OF.where(relations.c.object.in_(_OBJECTS)))
_TO_VALUE = Prepared(
    _SAID_OF.where(relations.c.object.is_(None), func.lower(relations.c.value) == bindparam("lowered", type_=Text))
)
_OF_NUMBERS_WITH_LAST = Prepared(_WITH_LAST.where(listed(relations.c.number)))
_OUT = and_(relations.c.subject.in_(_SUBJECTS), relations.c.object.in_(_OBJECTS))
_BACK = and_(relations.c.subject.in_(_OBJECTS), relations.c.object.in_(_SUBJECTS))
_BETWEEN_ENDS = Prepared(_WITH_LAST.where(or_(_OUT, _BACK), relations.c.kind == "stated"))

# The drawers that a relation rests on.
add_evidence = graph_evidence.of_relations.add
drop_evidence = graph_evidence.of_relations.drop
evidence = graph_evidence.of_relations.read
resting = graph_evidence.of_relations.resting
of_drawers = graph_evidence.of_relations.of_drawers


_TOLD = (
    select(relation_evidence.c.relation, drawers.c.said_at, relation_evidence.c.at)
    .select_from(relation_evidence.join(drawers, numbered(drawers, relation_evidence.c.drawer)))
    .where(*here(relation_evidence))
    .order_by(drawers.c.said_at, drawers.c.number)
)


def told(connection: Connection, space: str) -> dict[int, list[tuple[int, int]]]:
    """For each relation with evidence, when each message was said, oldest first, and when it became evidence."""
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, said_at, at in connection.execute(_TOLD, {"space": space}):
        found[number].append((said_at, at))
    return found


_LAST_SAID = (
    select(relation_evidence.c.relation, func.max(drawers.c.said_at))
    .select_from(relation_evidence.join(drawers, numbered(drawers, relation_evidence.c.drawer)))
    .where(*here(relation_evidence), listed(relation_evidence.c.relation))
    .group_by(relation_evidence.c.relation)
)


def last_said(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, int]:
    """When the last message was said that each of these relations rests on; those that rest on none are left out."""
    return dict(among(connection, _LAST_SAID, numbers, space=space))


def reserve(connection: Connection, space: str, count: int) -> int:
    """Reserve a range of numbers. Returns the first."""
    return facts.count_up(connection, space, NEWEST, count) - count + 1


def put_rows(connection: Connection, space: str, new: Sequence[RelationRow]) -> None:
    """Store relations under reserved numbers, with all their versions."""
    stored = [{"space": space, **dict(zip(RelationRow._fields, row[:-1], strict=False))} for row in new]
    versions = [_version_row(space, row.number, version) for row in new for version in row.versions]
    _NEW.insert(connection, stored)
    _PUT_VERSIONS.insert(connection, versions)


def put_last_versions(connection: Connection, space: str, several: Iterable[RelationRow]) -> None:
    """Store the last version of each relation; the one before it, if still believed, ends there."""
    rows = []
    for row in several:
        ended = (each._replace(until=row.last.recorded_at) for each in row.versions[-2:-1])
        rows += [_version_row(space, row.number, version) for version in (*ended, row.last)]
    _PUT_VERSIONS.insert(connection, rows)


def _version_row(space: str, number: int, version: VersionRow) -> dict[str, Any]:
    return {"space": space, "relation": number, **version._asdict(), "from_stated": int(version.from_stated)}


def change(connection: Connection, space: str, number: int, values: Mapping[str, Any]) -> None:
    """Set columns of a relation that are not about its period."""
    connection.execute(update(relations).where(*here(relations, space, number=number)).values(**values))


def remove(connection: Connection, space: str, numbers: Collection[int]) -> None:
    """Delete relations with all their versions; others no longer name them as a cause."""
    for some in batches(numbers):
        caused = (*here(relation_versions, space), relation_versions.c.cause.in_(some))
        connection.execute(update(relation_versions).where(*caused).values(cause=None))
    for column in (relation_evidence.c.relation, relation_versions.c.relation, relations.c.number):
        delete_among(connection, space, column, numbers)


def rows(connection: Connection, space: str, first: int, until: int) -> list[RelationRow]:
    """The relations with the numbers `first` to `until`, both included, in order, with all their versions."""
    return _BETWEEN.rows(connection, space=space, first=first, until=until)


def every(connection: Connection, space: str) -> Iterator[RelationRow]:
    """All relations by number, in batches of some thousands."""
    last = facts.newest(connection, space, NEWEST)
    for first in range(1, last + 1, AT_ONCE):
        yield from rows(connection, space, first, min(last, first + AT_ONCE - 1))


def of_numbers(connection: Connection, space: str, numbers: Collection[int]) -> list[RelationRow]:
    """Relations by number, in order, with all their versions; unknown numbers are left out."""
    found: list[RelationRow] = []
    for some in batches(sorted(set(numbers))):
        found += _OF_NUMBERS.rows(connection, space=space, among=some)
    return found


class _Whole(NamedTuple):
    """The statements that read some relations, in order, and all versions of them."""

    relations: Prepared
    versions: Prepared

    @classmethod
    def of(cls, which: Callable[[ColumnElement[int]], ColumnElement[bool]]) -> _Whole:
        """Those of such a number."""
        return cls(
            Prepared(_EVERY.where(which(relations.c.number))),
            Prepared(_VERSIONS.where(which(relation_versions.c.relation))),
        )

    def rows(self, connection: Connection, **given: Any) -> list[RelationRow]:
        """The relations for these values of the parameters."""
        versions: defaultdict[int, list[VersionRow]] = defaultdict(list)
        for number, *version in self.versions.rows(connection, **given):
            versions[number].append(as_version(version))
        return [as_relation(row, tuple(versions[row[0]])) for row in self.relations.rows(connection, **given)]


_OF_NUMBERS = _Whole.of(listed)
_BETWEEN = _Whole.of(methodcaller("between", bindparam("first"), bindparam("until")))


def of_id(connection: Connection, space: str, relation_id: str) -> RelationRow | None:
    """The relation with an id, with all its versions."""
    number = numbers_of_ids(connection, space, [relation_id]).get(relation_id)
    return None if number is None else of_numbers(connection, space, [number])[0]


def numbers_of_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, int]:
    """The numbers of relations by their id."""
    wanted = select(relations.c.id, relations.c.number).where(*here(relations, space), listed(relations.c.id))
    return {row.id: row.number for row in among(connection, wanted, ids)}


def group(connection: Connection, space: str, subjects: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations of these subjects with a predicate, each with its last version only."""
    return _with_last(_GROUP.rows(connection, space=space, subjects=list(subjects), predicate=predicate, kind="stated"))


def reaching(
    connection: Connection, space: str, subjects: Collection[int], predicate: str, moment: int, *, most: int
) -> list[RelationRow]:
    """At most so many of a `group` that are open, or were stated to end or are denied at this moment or later.

    If none of them begins then or later, all others were over before: each ended where another one began.
    """
    given = {"subjects": list(subjects), "predicate": predicate, "kind": "stated", "moment": moment, "most": most}
    return _with_last(_REACHING.rows(connection, space=space, **given))


def touching(connection: Connection, space: str, members: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations with a predicate from or to one of these entities, each with its last version only."""
    return _with_last(
        _TOUCHING.rows(connection, space=space, subjects=list(members), predicate=predicate, kind="stated")
    )


def stays(connection: Connection, space: str, numbers: Collection[int]) -> frozenset[int]:
    """Those of these relations whose end was known when they were first stored."""
    wanted = select(relation_versions.c.relation).where(
        *here(relation_versions, space, version=1),
        relation_versions.c.stated_to.is_not(None),
        listed(relation_versions.c.relation),
    )
    return frozenset(row.relation for row in among(connection, wanted, numbers))


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
    ends = {"subjects": list(subjects), "objects": list(objects)}
    return _with_last(_TO_OBJECTS.rows(connection, space=space, predicate=predicate, kind=kind, **ends))


def to_value(
    connection: Connection, space: str, subjects: Collection[int], predicate: str, value: str, *, kind: RelationKind
) -> list[RelationRow]:
    """The relations of these subjects with a predicate to a value, ignoring ASCII case."""
    said = {"subjects": list(subjects), "predicate": predicate, "kind": kind, "lowered": value.translate(_LOWERED)}
    return _with_last(_TO_VALUE.rows(connection, space=space, **said))


def with_last(connection: Connection, space: str, numbers: Collection[int]) -> list[RelationRow]:
    """Relations by number, each with its last version only; one still being stored has none."""
    return _with_last(_OF_NUMBERS_WITH_LAST.among(connection, numbers, space=space))


def groups_of(connection: Connection, space: str, members: Collection[int]) -> set[tuple[int, str]]:
    """Both ends of all stated relations from or to one of these entities, each with the predicate."""
    wanted = select(relations.c.subject, relations.c.object, relations.c.predicate).distinct()
    found: set[tuple[int, str]] = set()
    for row in _at_ends(connection, wanted.where(*here(relations, space, kind="stated")), members):
        found.update((end, row.predicate) for end in (row.subject, row.object) if end is not None)
    return found


def between(connection: Connection, space: str, first: Collection[int], second: Collection[int]) -> list[RelationRow]:
    """The stated relations between these entities and those, either way, each with its last version only."""
    return _with_last(_BETWEEN_ENDS.rows(connection, space=space, subjects=list(first), objects=list(second)))


def numbers_of_entities(connection: Connection, space: str, members: Collection[int]) -> list[int]:
    """The numbers of the relations from or to one of these entities."""
    wanted = select(relations.c.number).where(*here(relations, space))
    return sorted({row.number for row in _at_ends(connection, wanted, members)})


def by_numbers(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, Relation]:
    """Relations by number with their current or last version; unknown numbers are left out."""
    found = of_numbers(connection, space, numbers)
    return {each.number: each for each in relations_of(connection, space, found)}


def relations_of(
    connection: Connection,
    space: str,
    found: Sequence[RelationRow],
    *,
    with_evidence: bool = False,
    bare: Collection[int] = (),
    known: Iterable[RelationRow] = (),
    ends: Iterable[Entity] = (),
    canonical: Callable[[int], int] | None = None,
) -> list[Relation]:
    """The public records of rows, each as of its last version.

    `bare` have no evidence, `known` are relations and `ends` canonical entities that have been read already;
    `canonical` gives the number of the entity that one was merged into.
    """
    held = {row.number: row for row in known}
    missing = {row.last.cause for row in found if row.last.cause is not None} - held.keys()
    held |= {row.number: row for row in of_numbers(connection, space, missing)}
    causes = [held[row.last.cause] for row in found if row.last.cause in held]
    named = {number for row in (*found, *causes) for number in (row.subject, row.object) if number is not None}
    if canonical is None:
        canonical = entities.canonical_of(connection, space, named).__getitem__
    into = {number: canonical(number) for number in named}
    standing = {each.number: each for each in ends}
    standing |= entities.by_numbers(connection, space, set(into.values()) - standing.keys())
    known_ends = {number: standing[end] for number, end in into.items()}
    caused = {row.number: cause(row, known_ends) for row in causes}
    resting = {row.number for row in found} - set(bare) if with_evidence else set()
    rests = evidence(connection, space, resting)
    return [relation(row, row.last, known_ends, caused, tuple(rests.get(row.number, ()))) for row in found]


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
    return [replace(each, withdrawn=any(gone)) for each, *gone in zip(made, given_up, displaced, strict=True)]


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


class RelationCounts(NamedTuple):
    """How many stated relations are believed, how many of them hold, and how many are mere mentions."""

    believed: int
    current: int
    mentioned: int


def count(connection: Connection, space: str, at: int) -> RelationCounts:
    """Counts at a moment."""
    last, stated = relation_versions.c, relations.c.kind == "stated"
    holds = and_(
        or_(last.valid_from.is_(None), last.valid_from <= at), or_(last.valid_to.is_(None), last.valid_to > at)
    )
    counted = select(
        func.count().filter(stated), func.count().filter(and_(stated, holds)), func.count().filter(~stated)
    ).select_from(relations.join(relation_versions, _OF_RELATION))
    return RelationCounts(*connection.execute(counted.where(*here(relations, space), last.until.is_(None))).one())


def _value(row: RelationRow) -> Value | None:
    return None if row.value is None else Value(text=row.value, unit=row.unit)


def _at_ends(connection: Connection, wanted: Select[Any], members: Collection[int]) -> list[Any]:
    """The rows of relations from or to one of these entities; asked for one by one, each end has its index."""
    return [
        row
        for end in (relations.c.subject, relations.c.object)
        for row in among(connection, wanted.where(listed(end)), members)
    ]


def _with_last(rows: Iterable[Sequence[Any]]) -> list[RelationRow]:
    """Relations from rows, in order, each with its last version only."""
    width = len(_COLUMNS)
    found = [as_relation(row[:width], () if row[width] is None else (as_version(row[width:]),)) for row in rows]
    # Not in SQL: to avoid a sort, SQLite would scan all relations in order instead of using an index.
    return sorted(found, key=attrgetter("number"))
