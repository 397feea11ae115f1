"""Exports the graph of a space: JSON with both times, which can be imported again, or GraphML for Gephi."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel

from langmem_tiers import arguments, private_files
from langmem_tiers.clock import from_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import InvalidInput, StorageError
from langmem_tiers.knowledge_graph.exchange import (
    FORMAT,
    VERSION,
    EntityRecord,
    MergeRecord,
    PairRecord,
    RelationRecord,
    VersionRecord,
    sealed,
)
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, reading
from langmem_tiers.knowledge_graph.types import Subgraph
from langmem_tiers.storage import entities, graph_evidence, merges, relations
from langmem_tiers.storage.entities import EntityRow
from langmem_tiers.storage.relations import RelationRow

_MOMENTS = frozenset(
    {"first_seen", "last_seen", "created_at", "updated_at", "at", "undone_at"}
    | {"valid_from", "valid_to", "stated_to", "recorded_at", "until"}
)
# Characters that XML cannot hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export(context: SpaceContext, path: str | Path, *, format: str | None) -> Path:
    """See `KnowledgeGraph.export`."""
    target = arguments.findable_path(path, "path")
    suffix = target.suffix.removeprefix(".").lower()
    kind = suffix if format is None else arguments.one_of(format, "format", _WRITERS)
    if kind not in _WRITERS:
        raise InvalidInput(f"{target.name!r} says no format to export to.", way_out="Name a .json or .graphml file.")
    return write_file(target, export_part(context, None, kind).data)


class Written(NamedTuple):
    """An exported part of a graph, and how many entities it includes only because they were merged into others."""

    data: bytes
    merged: int = 0


def export_part(context: SpaceContext, part: Subgraph | None, kind: str) -> Written:
    """Export the entities and relations of a part (None: all) as `KnowledgeGraph.export` does, as json or graphml.

    Relations keep their full belief history.
    """
    with reading(context) as graph:
        return _WRITERS[kind](graph, part)


def write_file(target: Path, data: bytes) -> Path:
    """Write a file completely, or leave the existing one as it is.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        private_files.replace(target, data)
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written: {error.strerror or error}.", way_out="Name a file in a folder of yours."
        ) from error
    return target


# JSON.


def _json(graph: GraphTransaction, part: Subgraph | None) -> Written:
    whole = record(graph)
    if part is None:
        return Written(sealed(whole))
    ids = {each.id for each in part.relations}
    kept = [each for each in whole["relations"] if each["id"] in ids]
    named = {each.id for each in part.entities} | {each["subject"] for each in kept}
    named |= {each["object"] for each in kept if each["object"] is not None}
    needed = _merges_of(whole["merges"], named)
    named |= {each[end] for each in needed for end in ("source", "target")}
    those = [each for each in whole["entities"] if each["id"] in named]
    return Written(
        sealed(whole | {"entities": those, "relations": kept, "merges": needed, "pairs": []}),
        len(named) - len(part.entities),
    )


def _merges_of(every: list[dict[str, Any]], named: set[str]) -> list[dict[str, Any]]:
    """The merges behind the canonical entities of the given ones."""
    standing = {each["source"]: each for each in every if each["undone_at"] is None}
    needed: dict[str, Any] = {}
    for each in named:
        while each in standing and each not in needed:
            needed[each] = standing[each]
            each = standing[each]["target"]  # noqa: PLW2901 - the way to its end is walked
    return [each for each in every if needed.get(each["source"]) is each]


def record(graph: GraphTransaction) -> dict[str, Any]:
    """The whole graph, as its JSON has it."""
    held, related = list(entities.every(*graph.at)), list(relations.every(*graph.at))
    names = {row.number: row.id for row in held}
    said = {row.number: row.id for row in related}
    aliases: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for entity, name, at in entities.aliases(*graph.at):
        aliases[entity].append({"name": name, "at": _text(at)})
    spoken_of = _evidence(graph_evidence.of_entities.every(*graph.at))
    rests = _evidence(graph_evidence.of_relations.every(*graph.at))
    return {
        "format": FORMAT,
        "version": VERSION,
        "entities": [
            _fields(
                row,
                EntityRecord,
                aliases=aliases[row.number],
                metadata=orjson.loads(row.metadata),
                evidence=spoken_of[row.number],
            )
            for row in held
        ],
        "relations": [
            _fields(
                row,
                RelationRecord,
                subject=names[row.subject],
                object=None if row.object is None else names[row.object],
                versions=[_fields(each, VersionRecord, cause=said.get(each.cause or 0)) for each in row.versions],
                evidence=rests[row.number],
            )
            for row in related
        ],
        "merges": [
            _fields(row, MergeRecord, source=names[row.source], target=names[row.target])
            for row in reversed(merges.every(*graph.at))
        ],
        "pairs": [
            _fields(row, PairRecord, first=names[row.low], second=names[row.high])
            for row in merges.every_pair(*graph.at)
        ],
    }


def _fields(row: Any, kind: type[BaseModel], **own: Any) -> dict[str, Any]:
    """The fields of a record: those given, and those the row has under the same name."""
    found = {name: own[name] if name in own else getattr(row, name) for name in kind.model_fields}
    return {name: _text(value) if name in _MOMENTS and name not in own else value for name, value in found.items()}


def _evidence(rows: Iterable[tuple[int, int, str, bytes]]) -> defaultdict[int, list[dict[str, Any]]]:
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for number, drawer, quote, hashed in rows:
        found[number].append({"drawer": drawer, "hash": hashed.hex(), "quote": quote})
    return found


# GraphML.


def _graphml(graph: GraphTransaction, part: Subgraph | None) -> Written:
    """One node for each canonical entity and value, one edge for each relation, with both its times."""
    import networkx as nx

    drawn = nx.MultiDiGraph()
    rows = {row.number: row for row in entities.every(*graph.at)}
    shown = None if part is None else {each.id for each in part.relations}
    for row in rows.values():
        if row.merged_into is None:
            drawn.add_node(row.id, **_plain(_node_attributes(row)))
    for each in relations.every(*graph.at):
        subject = rows[graph.canonical(each.subject)].id
        target = f"v{each.id}" if each.object is None else rows[graph.canonical(each.object)].id
        # Merges turned it into a relation of something to itself.
        if subject == target or (shown is not None and each.id not in shown):
            continue
        if each.value is not None:
            drawn.add_node(target, **_plain({"label": _value(each), "type": "value"}))
        drawn.add_edge(subject, target, key=each.id, **_plain(_edge_attributes(each)))
    if part is not None:
        held = {each.id for each in part.entities}
        drawn.remove_nodes_from([node for node in list(drawn) if node not in held and not drawn.degree(node)])
    made = io.BytesIO()
    nx.write_graphml(drawn, made, named_key_ids=True)
    return Written(made.getvalue())


def _node_attributes(row: EntityRow) -> dict[str, Any]:
    return {
        "label": row.name,
        "type": row.type,
        "aliases": "; ".join(row.aliases),
        "origin": row.origin,
        "first_seen": _text(row.first_seen),
        "last_seen": _text(row.last_seen),
    }


def _edge_attributes(row: RelationRow) -> dict[str, Any]:
    last = row.last
    return {
        "label": row.predicate.replace("_", " "),
        "predicate": row.predicate,
        "said": row.said,
        "kind": row.kind,
        "valid_from": _text(last.valid_from),
        "valid_to": _text(last.valid_to),
        "recorded_at": _text(row.versions[0].recorded_at),
        "believed_since": _text(last.recorded_at),
        "believed": row.believed,
        "reason": last.reason,
        "versions": len(row.versions),
        "origin": row.origin,
        "authority": row.authority,
        "confidence": row.confidence / 100,
    }


def _value(row: RelationRow) -> str:
    return f"{row.value} {row.unit}" if row.unit else str(row.value)


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes as GraphML accepts them: no empty ones, and no characters that XML cannot hold."""
    return {
        name: _NO_XML.sub("\ufffd", value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def _text(millis: int | None) -> str | None:
    return None if millis is None else from_millis(millis).isoformat()


_WRITERS: Mapping[str, Callable[[GraphTransaction, Subgraph | None], Written]] = {"json": _json, "graphml": _graphml}
