"""A part of a graph in the files that the whole is exported to: JSON that can be imported, and GraphML."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from langmem_tiers.knowledge_graph.exchange import sealed
from langmem_tiers.knowledge_graph.types import Subgraph

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph


class Written(NamedTuple):
    """A part as a file, and how many entities are in it only because they were merged into those of the part."""

    data: bytes
    merged: int = 0


def exported(graph: KnowledgeGraph, part: Subgraph, kind: str) -> Written:
    """What `KnowledgeGraph.export` writes, of the entities and relations of a part only; `kind` is json or graphml.

    Relations keep all that was ever believed of them.
    """
    with TemporaryDirectory() as folder:
        whole = graph.export(Path(folder) / f"graph.{kind}")
        return _KINDS[kind](whole, part)


def _json(whole: Path, part: Subgraph) -> Written:
    held = orjson.loads(whole.read_bytes())
    ids = {each.id for each in part.relations}
    relations = [each for each in held["relations"] if each["id"] in ids]
    named = {each.id for each in part.entities} | {each["subject"] for each in relations}
    named |= {each["object"] for each in relations if each["object"] is not None}
    merges = _merges(held, named)
    named |= {each[end] for each in merges for end in ("source", "target")}
    entities = [each for each in held["entities"] if each["id"] in named]
    kept = {"entities": entities, "relations": relations, "merges": merges, "pairs": []}
    return Written(sealed(held | kept), len(named) - len(part.entities))


def _merges(held: Mapping[str, Any], named: set[str]) -> list[Any]:
    """The merges by which what is named became what it stands for."""
    standing = {each["source"]: each for each in held["merges"] if each["undone_at"] is None}
    needed: dict[str, Any] = {}
    for each in named:
        while each in standing and each not in needed:
            needed[each] = standing[each]
            each = standing[each]["target"]  # noqa: PLW2901 - the way to its end is walked
    return [each for each in held["merges"] if needed.get(each["source"]) is each]


def _graphml(whole: Path, part: Subgraph) -> Written:
    import networkx as nx

    held = nx.read_graphml(whole, force_multigraph=True)
    ids = {each.id for each in part.relations}
    held.remove_edges_from([edge for edge in held.edges(keys=True) if edge[2] not in ids])
    shown = {each.id for each in part.entities}
    held.remove_nodes_from([node for node in list(held) if node not in shown and not held.degree(node)])
    file = io.BytesIO()
    nx.write_graphml(held, file, named_key_ids=True)
    return Written(file.getvalue())


_KINDS: Mapping[str, Callable[[Path, Subgraph], Written]] = {"json": _json, "graphml": _graphml}
