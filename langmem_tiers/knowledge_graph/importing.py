"""Landing a graph out of a file in a space: what is there already is left as it is; all of it or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import checks as graph_checks
from langmem_tiers.knowledge_graph import entering, naming
from langmem_tiers.knowledge_graph.exchange import (
    EntityRecord,
    EvidenceRecord,
    GraphRecord,
    RelationRecord,
    VersionRecord,
)
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.transfer import Imported
from langmem_tiers.knowledge_graph.writing import writing
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.entities import NewEntity
from langmem_tiers.storage.relations import RelationRow, VersionRow
from langmem_tiers.storage.schema import drawers, entity_pairs
from langmem_tiers.writing.proposals import Evidence

if TYPE_CHECKING:
    from langmem_tiers.space import Space

# The clocks of two machines may differ; what was recorded after tomorrow was not.
_AHEAD = timedelta(days=1)


class Impossible(ValueError):
    """Why a graph that is well formed can not be taken in."""


def take_in(space: Space, graph: GraphRecord) -> Imported:
    """Add what is missing: entities and relations by their ids, and entities by their names.

    Raises:
        Impossible: a name is none, or something was recorded in the future; nothing is written.
    """
    with writing(space) as ledger:
        landing = _Landing(ledger, graph, latest=space.memory.clock() + _AHEAD)
        landing.land()
        return landing.imported()


class _Held(NamedTuple):
    """The hash of what a drawer holds, and what it holds."""

    hash: str
    content: str

    def says(self, cited: EvidenceRecord) -> bool:
        """Whether it is the drawer that is cited."""
        return self.hash == cited.hash and occurs(cited.quote, self.content)


@dataclass
class _Landing:
    """A graph on its way in; `numbers` are those of its entities here, `made` those of them that are new."""

    ledger: Ledger
    graph: GraphRecord
    latest: datetime
    numbers: dict[str, int] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def land(self) -> None:
        self._enter_entities()
        self._merge()
        self._add_relations()
        self._add_pairs()

    def imported(self) -> Imported:
        return Imported(**self.counts)

    # Entities.

    def _enter_entities(self) -> None:
        connection, space = self.ledger.connection, self.ledger.space
        newest = entities.newest(connection, space)
        named = Counter(naming.slug(each.name) for each in self.graph.entities)
        held = self._held_drawers(each.evidence for each in self.graph.entities)
        for each in self.graph.entities:
            there = entities.by_id(connection, space, each.id)
            number = there.number if there else self._of_name(each, newest, named)
            if number is None:
                self.numbers[each.id] = self._make(each, held)
                self.made.add(each.id)
            else:
                self.numbers[each.id] = number
        self.ledger.log_entities(*(self.numbers[each] for each in self.made))
        self.counts["entities"] = len(self.made)
        self.counts["known"] = len(self.numbers) - len(self.made)

    def _of_name(self, each: EntityRecord, newest: int, named: Mapping[str, int]) -> int | None:
        """The one entity that was here under a name that only one in the file has."""
        self._name(each)
        if not newest or named[naming.slug(each.name)] > 1:
            return None
        try:
            found = entering.find(self.ledger.connection, self.ledger.space, each.name, type=each.type)
        except InvalidInput:
            return None
        return found.number if found is not None and found.number <= newest else None

    def _make(self, each: EntityRecord, held: Mapping[int, _Held]) -> int:
        connection, space = self.ledger.connection, self.ledger.space
        self._require_past(each.created_at, each.updated_at)
        seen = to_millis(each.first_seen)
        new = NewEntity(
            id=each.id,
            name=self._name(each),
            type="person" if naming.slug(each.name) == naming.USER else each.type,
            origin=each.origin,
            path=each.path,
            authority=Authority(each.authority),
            seen=seen,
            metadata=self._metadata(each),
        )
        number = entities.put(connection, space, new, to_millis(each.created_at))
        times = {"last_seen": max(seen, to_millis(each.last_seen)), "updated_at": to_millis(each.updated_at)}
        entities.change(connection, space, number, times)
        for alias in each.aliases:
            entities.add_aliases(connection, space, number, [self._alias(alias.name, each)], to_millis(alias.at))
        entities.add_evidence(connection, space, number, self._evidence(each.evidence, held))
        return number

    def _name(self, each: EntityRecord) -> str:
        with _named(f"entity {each.id}"):
            name = naming.check(each.name, secrets=self._secrets_kept)
            return naming.USER if naming.slug(name) == naming.USER else naming.require_name(name)

    def _alias(self, alias: str, of: EntityRecord) -> str:
        with _named(f"entity {of.id}"):
            return naming.check_alias(alias, of.name, secrets=self._secrets_kept)

    @property
    def _secrets_kept(self) -> bool:
        return self.ledger.settings.privacy.derived == "keep"

    def _metadata(self, each: EntityRecord) -> dict[str, Any]:
        with _named(f"entity {each.id}"):
            return checks.metadata(each.metadata, self.ledger.settings)

    def _merge(self) -> None:
        connection, space = self.ledger.connection, self.ledger.space
        for each in self.graph.merges:
            source, target = self.numbers[each.source], self.numbers[each.target]
            if each.source not in self.made or source == target:
                continue
            self._require_past(each.at, each.undone_at)
            with _named(f"the merge of entity {each.source}"):
                graph_checks.require_harmless(each.reason, "reason", self.ledger.settings)
            undone_at = None if each.undone_at is None else to_millis(each.undone_at)
            self.counts["merges"] += 1
            merges.put(
                connection,
                space,
                source=source,
                target=target,
                reason=each.reason,
                path=each.path,
                at=to_millis(each.at),
                undone_at=undone_at,
            )
            if undone_at is None:
                entities.change(connection, space, source, {"merged_into": target})

    # Relations.

    def _add_relations(self) -> None:
        connection, space = self.ledger.connection, self.ledger.space
        there = relations.numbers_of_ids(connection, space, [each.id for each in self.graph.relations])
        standing = entities.canonical_of(connection, space, self.numbers.values())
        new = [each for each in self.graph.relations if each.id not in there and self._can_be(each, standing)]
        first = relations.reserve(connection, space, len(new))
        numbers = there | {each.id: first + place for place, each in enumerate(new)}
        held = self._held_drawers(each.evidence for each in new)
        relations.put_rows(connection, space, [self._row(each, numbers) for each in new])
        for each in new:
            evidence = self._evidence(each.evidence, held)
            relations.add_evidence(connection, space, numbers[each.id], evidence, to_millis(each.created_at))
        self.ledger.log_relations(*(numbers[each.id] for each in new))
        self.counts["relations"] = len(new)
        self.counts["known"] += len(there)
        self.ledger.settle_groups({(self.numbers[each.subject], each.predicate) for each in new})

    def _can_be(self, each: RelationRecord, standing: Mapping[int, int]) -> bool:
        """Whether a relation is not of something to itself, after its entities were found here by their names."""
        if each.object is None or each.kind == "mentioned":
            return True
        can_be = standing[self.numbers[each.subject]] != standing[self.numbers[each.object]]
        self.counts["refused"] += not can_be
        return can_be

    def _row(self, each: RelationRecord, numbers: Mapping[str, int]) -> RelationRow:
        self._require_past(*(version.recorded_at for version in each.versions), each.versions[-1].until)
        self._require_harmless(each)
        return RelationRow(
            number=numbers[each.id],
            id=each.id,
            subject=self.numbers[each.subject],
            predicate=each.predicate,
            said=each.said,
            object=None if each.object is None else self.numbers[each.object],
            value=each.value,
            unit=each.unit,
            kind=each.kind,
            origin=each.origin,
            path=each.path,
            authority=each.authority,
            confidence=each.confidence,
            created_at=to_millis(each.created_at),
            versions=tuple(_version(place, version, numbers) for place, version in enumerate(each.versions, 1)),
        )

    def _add_pairs(self) -> None:
        rows = []
        for each in self.graph.pairs:
            low, high = sorted((self.numbers[each.first], self.numbers[each.second]))
            with _named(f"the pair of entity {each.first}"):
                graph_checks.require_harmless(each.reason, "reason", self.ledger.settings)
            row = {"low": low, "high": high, "status": each.status, "score": each.score, "reason": each.reason}
            if low != high:
                rows.append({"space": self.ledger.space, **row, "at": to_millis(each.at)})
        for row in rows:
            added = self.ledger.connection.execute(insert_or(entity_pairs).on_conflict_do_nothing(), row)
            self.counts["pairs"] += added.rowcount

    # What both have.

    def _held_drawers(self, evidence: Iterable[Iterable[EvidenceRecord]]) -> dict[int, _Held]:
        """The drawers of this space that are cited, with what they hold."""
        cited = sorted({each.drawer for some in evidence for each in some})
        found: dict[int, _Held] = {}
        columns = (drawers.c.number, drawers.c.content_hash, drawers.c.content)
        for start in range(0, len(cited), 10_000):
            these = (drawers.c.space == self.ledger.space, drawers.c.number.in_(cited[start : start + 10_000]))
            rows = self.ledger.connection.execute(select(*columns).where(*these))
            found |= {row.number: _Held(row.content_hash.hex(), row.content) for row in rows}
        return found

    def _evidence(self, cited: Iterable[EvidenceRecord], held: Mapping[int, _Held]) -> list[Evidence]:
        """Those pieces of evidence whose drawer is here and holds the same, and their quote."""
        given = list(cited)
        sound = [each for each in given if (drawer := held.get(each.drawer)) and drawer.says(each)]
        self.counts["loose"] += len(given) - len(sound)
        return [Evidence(drawer=each.drawer, quote=each.quote) for each in sound]

    def _require_harmless(self, each: RelationRecord) -> None:
        with _named(f"relation {each.id}"):
            for text, what in ((each.said, "predicate"), (each.value or "", "value")):
                graph_checks.require_harmless(text, what, self.ledger.settings)

    def _require_past(self, *moments: datetime | None) -> None:
        late = next((moment for moment in moments if moment is not None and moment > self.latest), None)
        if late is not None:
            raise Impossible(f"something was recorded in the future, {late.isoformat()}")


@contextmanager
def _named(place: str) -> Iterator[None]:
    """What is refused within, told with its place in the file."""
    try:
        yield
    except InvalidInput as error:
        raise Impossible(f"{place}: {error.message}") from error


def _version(place: int, version: VersionRecord, numbers: Mapping[str, int]) -> VersionRow:
    return VersionRow(
        version=place,
        valid_from=_millis(version.valid_from),
        valid_to=_millis(version.valid_to),
        from_unit=version.from_unit,
        to_unit=version.to_unit,
        from_stated=version.from_stated,
        stated_to=_millis(version.stated_to),
        recorded_at=to_millis(version.recorded_at),
        until=_millis(version.until),
        reason=version.reason,
        cause=None if version.cause is None else numbers.get(version.cause),
    )


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else to_millis(moment)
