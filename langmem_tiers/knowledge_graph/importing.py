"""Imports a graph from a file into a space, all or nothing; existing records are left unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.json_bounds import is_crowded
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge_graph import checks as graph_checks
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.entities import find_entity
from langmem_tiers.knowledge_graph.exchange import (
    CHECKSUM,
    FORMAT,
    VERSION,
    EntityRecord,
    EvidenceRecord,
    GraphRecord,
    RelationRecord,
    checksum,
)
from langmem_tiers.knowledge_graph.relations import resolve_groups
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, writing
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.words import occurs
from langmem_tiers.records import Authority, Entity, Evidence
from langmem_tiers.storage import drawers, entities, merges, relations
from langmem_tiers.storage.relations import RelationRow, VersionRow

# Clocks of two machines may differ, but not by more than a day.
_AHEAD = timedelta(days=1)


# Five hundred thousand relations; a larger file would need more memory than a small machine has.
_MOST_BYTES = 64 << 20
WAY_OUT = "Give a JSON file that an export of a graph wrote."
_CHANGED = "Copy or export it anew; if it was changed on purpose, remove its field 'checksum': then it is not checked."


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """The result of an import: the number of new entities, relations, merges and pairs, and what was not imported.

    `known` counts entities and relations that already existed, `loose` the evidence whose drawers are not in this
    space, `refused` the relations that would link an entity here to itself.
    """

    entities: int = 0
    relations: int = 0
    merges: int = 0
    pairs: int = 0
    known: int = 0
    loose: int = 0
    refused: int = 0


def import_graph(context: SpaceContext, path: str | Path) -> Imported:
    """See `KnowledgeGraph.import_`. Relations are matched by id, entities by id or name."""
    source = arguments.findable_path(path, "path")
    record = _parsed(source, _read(source))
    try:
        with writing(context) as graph:
            return _Import(graph, record, latest=context.clock() + _AHEAD).run()
    except _Impossible as error:
        raise _unreadable(source, str(error)) from error


def merge(graph: GraphTransaction, record: GraphRecord, latest: datetime) -> Imported:
    """Add a graph to another one within its transaction; nothing in it may be recorded after `latest`.

    Raises:
        InvalidInput: something in it cannot be stored.
    """
    try:
        return _Import(graph, record, latest=latest).run()
    except _Impossible as error:
        raise InvalidInput(f"The graph cannot be imported: {error}.") from error


class _Impossible(ValueError):
    """Why a well-formed graph cannot be imported: an invalid name, or a record from the future."""


_Held = Mapping[int, tuple[bytes, str]]
"""The hash and the content of drawers, by number."""


@dataclass
class _Import:
    """A running import; `numbers` maps the file's entities to local ones, `made` are the new ones."""

    graph: GraphTransaction
    record: GraphRecord
    latest: datetime
    numbers: dict[str, int] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self) -> Imported:
        """Write all of it."""
        self._add_entities()
        self._merge()
        self._add_relations()
        self._add_pairs()
        return Imported(**self.counts)

    # Entities.

    def _add_entities(self) -> None:
        newest = entities.newest(*self.graph.at)
        named = Counter(name_key(each.name) for each in self.record.entities)
        held = self._held_drawers(each.evidence for each in self.record.entities)
        for each in self.record.entities:
            there = entities.by_id(*self.graph.at, each.id)
            number = there.number if there else self._of_name(each, newest, named)
            if number is None:
                self.numbers[each.id] = self._make(each, held)
                self.made.add(each.id)
            else:
                self.numbers[each.id] = number
        self.graph.log_entities(*(self.numbers[each] for each in self.made))
        self.counts["entities"] = len(self.made)
        self.counts["known"] = len(self.numbers) - len(self.made)

    def _of_name(self, each: EntityRecord, newest: int, named: Mapping[str, int]) -> int | None:
        """The existing entity of a name that only one entity in the file has."""
        self._name(each)
        if not newest or named[name_key(each.name)] > 1:
            return None
        try:
            found = find_entity(self.graph, each.name, type=each.type, whole=False)
        except InvalidInput:
            return None
        return found.number if found is not None and found.number <= newest else None

    def _make(self, each: EntityRecord, held: _Held) -> int:
        self._require_past(each.created_at, each.updated_at)
        kept = self._secrets_kept
        with _named(f"entity {each.id}"):
            metadata = validation.metadata(each.metadata, self.graph.settings)
            aliases = [naming.check_alias(alias.name, each.name, secrets=kept) for alias in each.aliases]
        new = Entity(
            number=0,
            id=each.id,
            name=self._name(each),
            type="person" if name_key(each.name) == naming.USER else each.type,
            origin=each.origin,
            path=each.path,
            authority=Authority(each.authority),
            metadata=metadata,
            first_seen=each.first_seen,
            last_seen=max(each.first_seen, each.last_seen),
            created_at=each.created_at,
            updated_at=each.updated_at,
        )
        number = entities.put(*self.graph.at, new).number
        for alias, record in zip(aliases, each.aliases, strict=True):
            entities.add_aliases(*self.graph.at, number, [alias], to_millis(record.at))
        entities.add_evidence(*self.graph.at, number, self._evidence(each.evidence, held))
        return number

    def _name(self, each: EntityRecord) -> str:
        with _named(f"entity {each.id}"):
            name = naming.check(each.name, secrets=self._secrets_kept)
            return naming.USER if name_key(name) == naming.USER else naming.require_name(name)

    @property
    def _secrets_kept(self) -> bool:
        return self.graph.settings.privacy.derived == "keep"

    def _merge(self) -> None:
        for each in self.record.merges:
            source, target = self.numbers[each.source], self.numbers[each.target]
            if each.source not in self.made or source == target:
                continue
            self._require_past(each.at, each.undone_at)
            self._require_harmless(f"the merge of entity {each.source}", reason=each.reason)
            undone_at = None if each.undone_at is None else to_millis(each.undone_at)
            self.counts["merges"] += 1
            merges.put(
                *self.graph.at,
                source=source,
                target=target,
                reason=each.reason,
                path=each.path,
                at=to_millis(each.at),
                undone_at=undone_at,
            )
            if undone_at is None:
                entities.change(*self.graph.at, source, {"merged_into": target})
        self.graph.merges_changed()

    # Relations.

    def _add_relations(self) -> None:
        there = relations.numbers_of_ids(*self.graph.at, [each.id for each in self.record.relations])
        new = [each for each in self.record.relations if each.id not in there and self._can_be(each)]
        first = relations.reserve(*self.graph.at, len(new))
        numbers = there | {each.id: first + place for place, each in enumerate(new)}
        held = self._held_drawers(each.evidence for each in new)
        relations.put_rows(*self.graph.at, [self._row(each, numbers) for each in new])
        for each in new:
            evidence = self._evidence(each.evidence, held)
            relations.add_evidence(*self.graph.at, numbers[each.id], evidence, to_millis(each.created_at))
        self.graph.log_relations(*(numbers[each.id] for each in new))
        self.counts["relations"] = len(new)
        self.counts["known"] += len(there)
        resolve_groups(self.graph, {(self.numbers[each.subject], each.predicate) for each in new})

    def _can_be(self, each: RelationRecord) -> bool:
        """Whether a relation has two different ends after its entities were matched with existing ones."""
        if each.object is None or each.kind == "mentioned":
            return True
        subject, target = (self.graph.canonical(self.numbers[end]) for end in (each.subject, each.object))
        self.counts["refused"] += subject == target
        return subject != target

    def _row(self, each: RelationRecord, numbers: Mapping[str, int]) -> RelationRow:
        self._require_past(*(version.recorded_at for version in each.versions), each.versions[-1].until)
        self._require_harmless(f"relation {each.id}", predicate=each.said, value=each.value or "")
        return RelationRow(
            **_stored(
                RelationRow._fields,
                each,
                number=numbers[each.id],
                subject=self.numbers[each.subject],
                object=None if each.object is None else self.numbers[each.object],
                versions=tuple(
                    VersionRow(**_stored(VersionRow._fields, one, version=place, cause=numbers.get(one.cause or "")))
                    for place, one in enumerate(each.versions, 1)
                ),
            )
        )

    def _add_pairs(self) -> None:
        rows = []
        for each in self.record.pairs:
            low, high = sorted((self.numbers[each.first], self.numbers[each.second]))
            self._require_harmless(f"the pair of entity {each.first}", reason=each.reason)
            row = {"low": low, "high": high, "status": each.status, "score": each.score, "reason": each.reason}
            if low != high:
                rows.append({**row, "at": to_millis(each.at)})
        self.counts["pairs"] += merges.add_pairs(*self.graph.at, rows)

    # Shared by entities and relations.

    def _held_drawers(self, evidence: Iterable[Iterable[EvidenceRecord]]) -> _Held:
        """The cited drawers that exist in this space."""
        return drawers.texts(*self.graph.at, sorted({each.drawer for some in evidence for each in some}))

    def _evidence(self, cited: Sequence[EvidenceRecord], held: _Held) -> list[Evidence]:
        """The evidence whose drawer exists here with the same content and contains the quote."""
        sound = []
        for each in cited:
            hashed, content = held.get(each.drawer, (b"", ""))
            if hashed.hex() == each.hash and occurs(each.quote, content):
                sound.append(Evidence(drawer=each.drawer, quote=each.quote))
        self.counts["loose"] += len(cited) - len(sound)
        return sound

    def _require_harmless(self, place: str, **texts: str) -> None:
        with _named(place):
            for what, text in texts.items():
                graph_checks.require_harmless(text, what, self.graph.settings)

    def _require_past(self, *moments: datetime | None) -> None:
        late = next((moment for moment in moments if moment is not None and moment > self.latest), None)
        if late is not None:
            raise _Impossible(f"something was recorded in the future, {late.isoformat()}")


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Add the place in the file to the message of any refusal within."""
    try:
        yield
    except InvalidInput as error:
        raise _Impossible(f"{place}: {error.message}") from error


def _stored(names: Iterable[str], record: BaseModel, **own: Any) -> dict[str, Any]:
    """The fields of a row: those given, and those the record has under the same name, with times in milliseconds."""
    found = {name: own[name] if name in own else getattr(record, name) for name in names}
    return {name: to_millis(value) if isinstance(value, datetime) else value for name, value in found.items()}


# Reading the file.


def _read(source: Path) -> bytes:
    try:
        if source.exists() and not source.is_file():
            raise _unreadable(source, "it is no regular file")
        if source.stat().st_size > _MOST_BYTES:
            raise _unreadable(source, f"it is larger than {_MOST_BYTES:,} bytes")
        return source.read_bytes()
    except OSError as error:
        raise _unreadable(source, error.strerror or str(error)) from error


def _parsed(source: Path, data: bytes) -> GraphRecord:
    if is_crowded(data):
        raise _unreadable(source, "it holds far more lists and values than a graph of its size")
    try:
        found = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise _unreadable(source, f"it is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _unreadable(source, f"it does not say that it is a {FORMAT}")
    if found.get("version") != VERSION:
        raise _unreadable(source, f"it is of version {ascii(found.get('version'))[:40]}; this one reads {VERSION}")
    if CHECKSUM in found and not _fits(found, found.pop(CHECKSUM)):
        raise _unreadable(source, "its content does not fit its checksum: it was damaged or changed", _CHANGED)
    try:
        return GraphRecord.model_validate(found)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the whole"
        raise _unreadable(source, f"{where}: {fault['msg'].removeprefix('Value error, ')}") from error


def _fits(found: dict[str, Any], told: object) -> bool:
    """Whether the content of a file matches its checksum."""
    try:
        return checksum(found) == told
    except orjson.JSONEncodeError:  # nested too deeply to have been exported
        return False


def _unreadable(source: Path, reason: str, way_out: str = WAY_OUT) -> UnreadableFile:
    return UnreadableFile(f"{source} cannot be imported: {ascii(reason)[1:-1].rstrip('.')}.", way_out=way_out)
