"""Walks through a view: neighbourhoods, and paths between two entities. Bounded, and reporting what was cut."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise, takewhile

from langmem_tiers.knowledge_graph.view import Asked, GraphView

# How many entities are expanded from either end of a path.
_LOOKED_AT = 1_000


@dataclass(frozen=True, kw_only=True)
class WalkLimits:
    """The bounds of a walk: steps, relations per entity, and relations in all.

    `first` replaces `fan_out` for the starting entities.
    """

    depth: int
    fan_out: int
    results: int
    first: int


@dataclass(kw_only=True)
class Walked:
    """The relations found, nearest first, each entity's distance, and descriptions of what was left out."""

    relations: dict[int, None] = field(default_factory=dict)
    distance: dict[int, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class Ways:
    """The paths between two entities, shortest first, each as its relations, and what was left out."""

    ways: list[list[int]] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)


def walk_around(view: GraphView, starts: Sequence[int], asked: Asked, limits: WalkLimits) -> Walked:
    """Walk around some entities, step by step."""
    walked = Walked(distance=dict.fromkeys(starts, 0))
    frontier = list(starts)
    for step in range(1, limits.depth + 1):
        reached: list[int] = []
        for place, node in enumerate(frontier):
            if len(walked.relations) >= limits.results:
                left = [view.entities[each].name for each in (*frontier[place:], *reached)]
                more = f" and {len(left) - 3:,} more" if len(left) > 3 else ""
                walked.cut.append(f"what is around {', '.join(left[:3])}{more}")
                return walked
            reached += _follow(view, node, asked, limits, step, walked)
        frontier = reached
    return walked


def _follow(view: GraphView, node: int, asked: Asked, limits: WalkLimits, step: int, walked: Walked) -> list[int]:
    """Add the relations of an entity, those to entities first."""
    numbers, total = view.edges(node, asked, limits.first if step == 1 else limits.fan_out)
    reached: list[int] = []
    taken = 0
    for number in numbers:
        if number not in walked.relations:
            if len(walked.relations) >= limits.results:
                break
            walked.relations[number] = None
        taken += 1
        other = view.other(view.relations[number], node)
        if isinstance(other, int) and other not in walked.distance:
            walked.distance[other] = step
            reached.append(other)
    if taken < total:
        walked.cut.append(cut_words(view, node, taken, total))
    return reached


def cut_words(view: GraphView, node: int, shown: int, total: int) -> str:
    """The note that not all relations of an entity are shown.

    Example: "25 of 1,204 relations of Berlin".
    """
    return f"{shown:,} of {total:,} relations of {view.entities[node].name}"


def walk_between(view: GraphView, start: int, end: int, asked: Asked, limits: WalkLimits) -> Ways:
    """The shortest paths between two entities, searched from both ends; none visits an entity twice."""
    import networkx as nx

    found = Ways()
    hops: defaultdict[int, dict[int, int]] = defaultdict(dict)
    _explore(view, start, asked, limits, (limits.depth + 1) // 2, hops, found)
    _explore(view, end, asked, limits, limits.depth // 2, hops, found)
    links = nx.Graph((one, other) for one, others in hops.items() for other in others)
    links.add_nodes_from((start, end))
    if nx.has_path(links, start, end):
        near_enough = takewhile(lambda way: len(way) <= limits.depth + 1, nx.shortest_simple_paths(links, start, end))
        shortest = list(islice(near_enough, limits.results + 1))
        found.ways = [[hops[one][other] for one, other in pairwise(way)] for way in shortest[: limits.results]]
        if len(shortest) > limits.results:
            found.cut.append(f"more than {limits.results:,} ways")
    found.cut = list(dict.fromkeys(found.cut))
    return found


def _explore(
    view: GraphView,
    start: int,
    asked: Asked,
    limits: WalkLimits,
    depth: int,
    hops: dict[int, dict[int, int]],
    found: Ways,
) -> None:
    """Record which relations link entities, up to a number of steps away."""
    frontier, seen = [start], {start}
    for _ in range(depth):
        reached: list[int] = []
        for node in frontier:
            numbers, total = view.edges(node, asked, limits.fan_out)
            if len(numbers) < total:
                found.cut.append(cut_words(view, node, len(numbers), total))
            for number in numbers:
                other = view.other(view.relations[number], node)
                if isinstance(other, int):
                    hops[node].setdefault(other, number)
                    hops[other].setdefault(node, number)
                    if other not in seen:
                        seen.add(other)
                        reached.append(other)
        frontier = reached[: max(0, _LOOKED_AT - len(seen) + len(reached))]
        if len(frontier) < len(reached):
            found.cut.append(f"{len(reached) - len(frontier):,} entities around {view.entities[start].name}")
