"""The graph as GraphML, for Gephi and the like: one edge for each relation, with both its times as attributes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.relations import RelationRow

if TYPE_CHECKING:
    from langmem_tiers.space import Space

# What XML can not hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_graphml(space: Space) -> bytes:
    """The graph of one moment; what was merged stands as one."""
    import networkx as nx

    graph = nx.MultiDiGraph()
    with space.memory.use(space.name) as store, store.reading() as connection:
        graph.add_nodes_from(_nodes(connection, store.key))
        for row, ends in _related(connection, store.key):
            if row.value is not None:
                graph.add_node(f"v{row.id}", **_plain({"label": _value(row), "type": "value"}))
            graph.add_edge(*ends, key=row.id, **_plain(_attributes(row)))
    made = io.BytesIO()
    nx.write_graphml(graph, made, named_key_ids=True)
    return made.getvalue()


def _nodes(connection: Connection, space: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in entities.every(connection, space):
        if row.merged_into is None:
            yield (
                row.id,
                _plain(
                    {
                        "label": row.name,
                        "type": row.type,
                        "aliases": "; ".join(row.aliases),
                        "origin": row.origin,
                        "first_seen": _text(row.first_seen),
                        "last_seen": _text(row.last_seen),
                    }
                ),
            )


def _related(connection: Connection, space: str) -> Iterator[tuple[RelationRow, tuple[str, str]]]:
    """Every relation with the ids of its two ends; one that merges have made one of something to itself is left out."""
    into = {row.number: row for row in entities.every(connection, space)}
    standing = entities.canonical_of(connection, space, into)
    for row in relations.every(connection, space):
        subject = into[standing[row.subject]].id
        target = f"v{row.id}" if row.object is None else into[standing[row.object]].id
        if subject != target:
            yield row, (subject, target)


def _attributes(row: RelationRow) -> dict[str, Any]:
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
    """Attributes as GraphML takes them: none is empty, and no text holds what XML can not."""
    return {
        name: _NO_XML.sub("\ufffd", value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value is not None
    }


def _text(millis: int | None) -> str | None:
    return None if millis is None else from_millis(millis).isoformat()
