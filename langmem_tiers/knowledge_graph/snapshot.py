"""The cache file of a space's graph: node-link JSON, with a hash and a position in the change log.

The file is one JSON object: `format`, `position`, `mark`, `hash` and `graph`. The last is what
`networkx.node_link_graph(graph, name="number", edges="edges")` reads. It may be deleted at any time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from langmem_tiers import private_files
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.storage.entities import EntityRow
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.relations import RelationRow, as_relation, as_version

FORMAT = 1
_BODY = b',"graph":'
_HASH = b',"hash":"'
# Maximum length of the file's head, including the hash.
_HEAD = 1000
_STORED = RelationRow._fields[:-1]
_RELATION = tuple(name for name in _STORED if name not in {"number", "value", "unit"})


class UnusableSnapshot(ValueError):
    """The graph cannot be read from this file; the message says why. It is then rebuilt from the records."""


@dataclass(frozen=True, kw_only=True)
class GraphSnapshot:
    """The rows of a graph at a position of the change log; `mark` identifies that log."""

    position: int
    mark: str
    entities: Sequence[EntityRow]
    relations: Sequence[RelationRow]


def write(path: Path, view: GraphView, *, position: int, mark: str) -> None:
    """Write a graph to a file atomically, even if the power fails.

    Raises:
        StorageError: it cannot be written; the previous file is still in place.
    """
    body = orjson.dumps(_node_link(view))
    head = orjson.dumps({"format": FORMAT, "position": position, "mark": mark})
    fresh = path.with_name(f".{path.name}.{uuid4().hex}")
    with translated(path):
        private_files.drop_abandoned(path)
        try:
            with private_files.create(fresh) as file:
                file.writelines((head[:-1], _HASH, _digest(head, body).encode(), b'"', _BODY, body, b"}"))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        private_files.sync_folder(path.parent)


def read(path: Path) -> GraphSnapshot | None:
    """The content of a file; None if there is none.

    Raises:
        UnusableSnapshot: it is damaged, or of another version.
    """
    try:
        written = private_files.read(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UnusableSnapshot(f"it cannot be read ({error})") from error
    head, body = _checked(written)
    try:
        graph = orjson.loads(body)
        people = [
            EntityRow(**{**node, "aliases": tuple(node["aliases"])})
            for node in (*graph["nodes"], *graph["graph"]["merged"])
            if "name" in node
        ]
        values = {node["number"]: node for node in graph["nodes"] if "name" not in node}
        links = [_relation(edge, values) for edge in graph["edges"]]
    except (ValueError, TypeError, KeyError) as error:
        raise UnusableSnapshot(f"it holds something else than a graph ({error!r})") from error
    return GraphSnapshot(position=head["position"], mark=head["mark"], entities=people, relations=links)


def _checked(written: bytes) -> tuple[dict[str, Any], memoryview]:
    """The head and the body of a file, if the hash matches."""
    start = written.find(_BODY, 0, _HEAD)
    start_of_head, _, digest = written[: max(start, 0)].partition(_HASH)
    head, body = start_of_head + b"}", memoryview(written)[start + len(_BODY) : -1]
    if start < 0 or not written.endswith(b"}"):
        raise UnusableSnapshot("it is cut off, or no snapshot")
    try:
        known = orjson.loads(head)
    except ValueError as error:
        raise UnusableSnapshot("its head cannot be read") from error
    if not isinstance(known, dict) or known.get("format") != FORMAT:
        raise UnusableSnapshot("it is of another version")
    if digest != _digest(head, body).encode() + b'"':
        raise UnusableSnapshot("its hash is another one")
    return known, body


def _node_link(view: GraphView) -> dict[str, Any]:
    standing = [row for row in view.entities.values() if row.number in view.links.nodes]
    merged = [row for row in view.entities.values() if row.number not in view.links.nodes]
    values = [row for row in view.relations.values() if row.object is None]
    return {
        "directed": True,
        "multigraph": True,
        "graph": {"merged": [row._asdict() for row in merged]},
        "nodes": [
            *(row._asdict() for row in standing),
            *({"number": f"v{row.number}", "value": row.value, "unit": row.unit} for row in values),
        ],
        "edges": list(_edges(view)),
    }


def _edges(view: GraphView) -> Iterator[dict[str, Any]]:
    for row in view.relations.values():
        source, target = view.ends(row)
        edge: dict[str, Any] = {"source": source, "target": target, "key": row.number}
        edge.update((name, getattr(row, name)) for name in _RELATION)
        edge["versions"] = [list(version) for version in row.versions]
        yield edge


def _relation(edge: Mapping[str, Any], values: Mapping[str, Mapping[str, Any]]) -> RelationRow:
    value = values[edge["target"]] if edge["object"] is None else {}
    held = {**edge, "number": edge["key"], "value": value.get("value"), "unit": value.get("unit")}
    return as_relation([held[name] for name in _STORED], tuple(map(as_version, edge["versions"])))


def _digest(head: bytes, body: bytes | memoryview) -> str:
    digest = blake2b(head, digest_size=32)
    digest.update(body)
    return digest.hexdigest()
