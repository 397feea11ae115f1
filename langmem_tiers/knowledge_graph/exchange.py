"""The JSON format of a graph file: its fields, and what makes a file invalid.

Everything has both times. Entities and relations are identified by their ids; a drawer cited as evidence by its
number and the hash of its content, so that another space's drawer is never mistaken for it. `checksum` is the
SHA-256 of the rest as JSON with sorted keys and no whitespace; a file without a checksum is not verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.language import periods, values
from langmem_tiers.language.periods import Exactness
from langmem_tiers.records import GraphPath, RelationKind, VersionReason
from langmem_tiers.types import Origin

FORMAT = "langmem-tiers graph"
VERSION = 1
CHECKSUM = "checksum"


def _moment(said: object) -> datetime | None:
    """A date in any accepted notation; a bare number is rejected, since its unit would be a guess."""
    return None if said is None else periods.written(said)[0]


_Moment = Annotated[datetime, BeforeValidator(_moment)]
# Each date of a version, with the field that holds its precision.
_UNITS = {"valid_from": "from_unit", "valid_to": "to_unit", "stated_to": "to_unit"}
_Id = Annotated[str, Field(pattern="^[0-9a-f]{12}$")]
_Predicate = Annotated[str, Field(pattern=r"^\w+$", max_length=64)]
_Words = Annotated[str, Field(min_length=1, max_length=200)]
_Share = Annotated[int, Field(ge=0, le=100)]
_Authority = Annotated[int, Field(ge=0, le=3)]
_Reason = Annotated[str, Field(max_length=500)]


def sealed(graph: Mapping[str, Any]) -> bytes:
    """A graph file with its checksum."""
    head = {"format": FORMAT, "version": VERSION, CHECKSUM: checksum(graph)}
    return orjson.dumps({**head, **_unsealed(graph)}, option=orjson.OPT_INDENT_2)


def checksum(graph: Mapping[str, Any]) -> str:
    """The checksum of a graph's content, independent of formatting."""
    return f"sha256:{sha256(orjson.dumps(_unsealed(graph), option=orjson.OPT_SORT_KEYS)).hexdigest()}"


def _unsealed(graph: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in graph.items() if name != CHECKSUM}


class _Record(BaseModel):
    """Its fields are written in the order they stand here."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EvidenceRecord(_Record):
    """A drawer, the hash of what it holds, and the words of it that count."""

    drawer: Annotated[int, Field(ge=1, lt=10**18)]
    hash: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    quote: Annotated[str, Field(max_length=1_000_000)] = ""


class AliasRecord(_Record):
    """Another name, and since when it is known."""

    name: _Words
    at: _Moment


class EntityRecord(_Record):
    """An entity."""

    id: _Id
    name: _Words
    type: str
    aliases: tuple[AliasRecord, ...] = ()
    origin: Origin
    path: GraphPath
    authority: _Authority
    metadata: dict[str, Any] = {}
    first_seen: _Moment
    last_seen: _Moment
    created_at: _Moment
    updated_at: _Moment
    evidence: tuple[EvidenceRecord, ...] = ()

    @model_validator(mode="after")
    def _names_can_be(self) -> EntityRecord:
        if naming.check_type(self.type) != self.type:
            raise ValueError(f"{self.type!r} is no type")
        return self


class VersionRecord(_Record):
    """What was believed of a relation's time, and from when to when."""

    valid_from: _Moment | None = None
    valid_to: _Moment | None = None
    stated_to: _Moment | None = None
    recorded_at: _Moment
    until: _Moment | None = None
    from_unit: Exactness = "moment"
    to_unit: Exactness = "moment"
    from_stated: bool = True
    reason: VersionReason
    cause: _Id | None = None

    @model_validator(mode="before")
    @classmethod
    def _dates_are_as_exact_as_written(cls, given: Any) -> Any:
        """Of "2024", written by hand, all the year is meant, whatever the file said of the date that stood there."""
        if not isinstance(given, dict):
            return given
        units: dict[str, Exactness] = {}
        for field, unit in _UNITS.items():
            with suppress(InvalidInput):
                written = periods.written(given.get(field))[1]
                if written != "moment":
                    units[unit] = written
        return {**given, **units}

    @model_validator(mode="after")
    def _times_are_in_order(self) -> VersionRecord:
        if self.until is not None and self.until < self.recorded_at:
            raise ValueError("until lies before recorded_at")
        if self.valid_from is not None:
            if self.valid_to is not None and self.valid_to < self.valid_from:
                raise ValueError("valid_to lies before valid_from")
            if self.stated_to is not None and self.stated_to <= self.valid_from:
                raise ValueError("stated_to is not behind valid_from")
        return self


class RelationRecord(_Record):
    """A relation with all that was believed of it."""

    id: _Id
    subject: _Id
    predicate: _Predicate
    said: _Words
    object: _Id | None = None
    value: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    unit: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    kind: RelationKind
    origin: Origin
    path: GraphPath
    authority: _Authority
    confidence: _Share
    created_at: _Moment
    versions: Annotated[tuple[VersionRecord, ...], Field(min_length=1)]
    evidence: tuple[EvidenceRecord, ...] = ()

    @model_validator(mode="after")
    def _it_can_be(self) -> RelationRecord:
        if (self.object is None) == (self.value is None):
            raise ValueError("it leads to either an object or a value")
        if self.object == self.subject:
            raise ValueError("it is of something to itself")
        if self.value is not None:
            values.read(self.value, self.unit)
        for before, after in zip(self.versions, self.versions[1:], strict=False):
            if before.until is None or after.recorded_at < before.until:
                raise ValueError("its versions overlap")
        return self


class MergeRecord(_Record):
    """A merge: source was found to be the same as target."""

    source: _Id
    target: _Id
    reason: _Reason
    path: GraphPath
    at: _Moment
    undone_at: _Moment | None = None


class PairRecord(_Record):
    """Two entities that may be the same, or are not."""

    first: _Id
    second: _Id
    status: Literal["flagged", "apart"]
    score: _Share
    reason: _Reason
    at: _Moment


class GraphRecord(_Record):
    """A whole graph."""

    format: Literal["langmem-tiers graph"]
    version: Literal[1]
    entities: tuple[EntityRecord, ...] = ()
    relations: tuple[RelationRecord, ...] = ()
    merges: tuple[MergeRecord, ...] = ()
    pairs: tuple[PairRecord, ...] = ()

    @model_validator(mode="after")
    def _it_holds_together(self) -> GraphRecord:
        known = _each_once((each.id for each in self.entities), "entity")
        _each_once((each.id for each in self.relations), "relation")
        missing = next((each for each in _named(self) if each not in known), None)
        if missing is not None:
            raise ValueError(f"there is no entity {missing}")
        standing = [each for each in self.merges if each.undone_at is None]
        _each_once((each.source for each in standing), "a merge of entity")
        _require_ends({each.source: each.target for each in standing})
        return self


def _each_once(ids: Iterable[str], what: str) -> set[str]:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            raise ValueError(f"{what} {each} is there twice")
        seen.add(each)
    return seen


def _named(graph: GraphRecord) -> Iterator[str]:
    for relation in graph.relations:
        yield relation.subject
        if relation.object is not None:
            yield relation.object
    for merge in graph.merges:
        yield from (merge.source, merge.target)
    for pair in graph.pairs:
        yield from (pair.first, pair.second)


def _require_ends(into: dict[str, str]) -> None:
    """Require that no entity is merged in a circle."""
    import networkx as nx

    with suppress(nx.NetworkXNoCycle):
        circle = nx.find_cycle(nx.DiGraph(into.items()))
        raise ValueError(f"entity {circle[0][0]} is merged into itself")
