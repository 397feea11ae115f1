"""The graph: its file and what is in memory compared with the records, and made anew from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langmem_tiers.errors import StorageError
from langmem_tiers.knowledge_graph import growing
from langmem_tiers.knowledge_graph.snapshot import UnusableSnapshot
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.types import Finding

_REBUILD = "Run `langmem-tiers rebuild`: it loses nothing."
_BACKUP = "Put a backup in its place."


def examine(store: SpaceStore) -> Iterator[Finding]:
    """Findings on the graph: its file, and whether it is what its records say."""
    with store.reading() as connection:
        now = moment(connection, store.key)
        try:
            store.graph.require_usable(now)
        except UnusableSnapshot as error:
            yield _problem(f"Its file can not be used: {error}", _REBUILD)
        held = store.graph.view(now)
        wanted = growing.built(entities.every(connection, store.key), relations.every(connection, store.key))
    lost = sum(not wanted.drawn(row) for row in wanted.relations.values())
    if lost:
        yield _problem(f"{lost} relations lead from or to entities that are not there", _BACKUP)
    off = _differences(held, wanted)
    if off:
        yield _problem(f"{off} entities and relations are missing, too many or others than in the records", _REBUILD)
    elif not lost:
        told = f"{len(wanted.entities)} entities and {len(wanted.relations)} relations, as in the records"
        yield Finding(check="graph", level="ok", message=told)


def rebuild(store: SpaceStore) -> tuple[str, ...]:
    """Make the graph and its file anew; a line that says so, where there is one."""
    try:
        built = store.graph.rebuild()
    except StorageError as error:
        return (f"graph: its file could not be written ({error.message})",)
    told = f"graph: {len(built.entities)} entities and {len(built.relations)} relations in a fresh file"
    return (told,) if built.entities else ()


def _differences(held: GraphView, wanted: GraphView) -> int:
    parts: tuple[tuple[Mapping[Any, Any], Mapping[Any, Any]], ...] = (
        (held.entities, wanted.entities),
        (held.relations, wanted.relations),
    )
    rows = sum(bool(one.get(key) != other.get(key)) for one, other in parts for key in one.keys() | other.keys())
    nodes = {*held.graph.nodes} ^ {*wanted.graph.nodes}
    edges = {*held.graph.edges(keys=True)} ^ {*wanted.graph.edges(keys=True)}
    return rows + len(nodes) + len(edges)


def _problem(message: str, way_out: str) -> Finding:
    return Finding(check="graph", level="problem", message=message, way_out=way_out)
