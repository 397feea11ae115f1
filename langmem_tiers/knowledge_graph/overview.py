"""The whole of a graph as far as it can be taken in at once: what is most connected comes first."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.knowledge_graph.types import Subgraph, When

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph


def overview(
    graph: KnowledgeGraph,
    *,
    as_of: When | None = None,
    known_at: When | None = None,
    ended: bool = False,
    mentioned: bool = False,
    entities: int = 60,
    limit: int | None = None,
    now: datetime,
) -> Subgraph:
    """The most connected entities and all that relates them to each other.

    Args:
        graph: Of which space.
        as_of: The moment that it held at; now by default.
        known_at: The moment whose knowledge counts; now by default.
        ended: Also what holds no longer, or not yet.
        mentioned: Also what was only spoken of together.
        entities: Most entities.
        limit: Most relations, instead of the setting.
        now: The moment that counts as now.

    Raises:
        InvalidPeriod: no date.
    """
    whole = graph.networkx(as_of=None if ended else as_of or now, known_at=known_at)
    ids = _most_connected(whole, mentioned=mentioned)
    if not ids:
        return Subgraph()
    around = graph.subgraph(
        ids[:entities], as_of=as_of, known_at=known_at, ended=ended, mentioned=mentioned, limit=limit
    )
    shown = frozenset(ids[:entities])
    cut = list(around.cut)
    if len(ids) > entities:
        cut.insert(0, f"the {entities:,} most connected of {len(ids):,} entities")
    return Subgraph(
        entities=tuple(each for each in around.entities if each.id in shown),
        relations=tuple(
            each for each in around.relations if each.subject.id in shown and (each.object or each.subject).id in shown
        ),
        cut=tuple(cut),
    )


def _most_connected(whole: nx.MultiDiGraph, *, mentioned: bool) -> list[str]:
    """Ids of the entities that have a relation, the best connected first."""
    counts: dict[str, int] = {}
    for source, target, data in whole.edges(data=True):
        if data["kind"] != "mentioned" or mentioned:
            for node in {source, target}:
                entity_id = whole.nodes[node].get("id")
                if entity_id is not None:
                    counts[entity_id] = counts.get(entity_id, 0) + 1
    return sorted(counts, key=lambda entity_id: (-counts[entity_id], entity_id))
