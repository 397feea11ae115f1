"""Queries of the graph: entities, relations, neighbourhoods, paths, timelines and changes.

Each is answered from one consistent moment by the in-memory graph; only the evidence of what is shown is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import InvalidInput, InvalidPeriod, UnknownRelation
from langmem_tiers.knowledge_graph import entity_lookup, naming
from langmem_tiers.knowledge_graph.answers import answering, asked_for, distinct_rows, heard, networkx_copy
from langmem_tiers.knowledge_graph.conflicts import FOREVER, bounds, contradicted, version_at
from langmem_tiers.knowledge_graph.entities import find_entity, with_merged
from langmem_tiers.knowledge_graph.transaction import reading
from langmem_tiers.knowledge_graph.types import GraphChange, GraphStats, Paths, Resolution, Subgraph, Timeline
from langmem_tiers.knowledge_graph.walks import WalkLimits, cut_words, walk_around, walk_between
from langmem_tiers.language import periods
from langmem_tiers.language.periods import When
from langmem_tiers.records import Entity, EntityType, Relation
from langmem_tiers.storage import entities as entity_rows
from langmem_tiers.storage import merges, relations
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.storage.relations import RelationRow

# The longest path, in steps.
_LONGEST_WAY = 6


class GraphQueries:
    """The queries on a space's graph."""

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def entity(self, which: str, *, type: EntityType | None = None) -> Entity | None:
        """The entity with this id, name or alias, with its evidence, or None.

        Raises:
            AmbiguousEntity: several have this name.
        """
        named = arguments.any_text(which, "which")
        of_type = arguments.optional_text(type, "type")
        with reading(self._context) as graph:
            return find_entity(graph, named, type=of_type)

    def entities(
        self, *, type: EntityType | None = None, text: str | None = None, limit: int = 100
    ) -> tuple[Entity, ...]:
        """Canonical entities, most recently mentioned first; of a type, or with this text in a name."""
        most = arguments.whole(limit, "limit", least=1)
        of_type = None if type is None else naming.check_type(arguments.text(type, "type"))
        named = arguments.optional_text(text, "text")
        with reading(self._context) as graph:
            return tuple(with_merged(graph, entity_rows.find(*graph.at, type=of_type, text=named, limit=most)))

    def relation(self, which: str) -> Relation | None:
        """The relation with this id, with its evidence, or None."""
        named = arguments.any_text(which, "which")
        with answering(self._context) as answers:
            row = relations.of_id(answers.connection, answers.space, named)
            if row is None:
                return None
            found = relations.relations_of(answers.connection, answers.space, [row], with_evidence=True)
            return answers.contradicted(found, self._context.clock())[0]

    def history(self, relation: str) -> tuple[Relation, ...]:
        """What was believed about a relation over time, oldest first.

        Raises:
            UnknownRelation: no relation has this id.
        """
        named = arguments.any_text(relation, "relation")
        with reading(self._context) as graph:
            row = relations.of_id(*graph.at, named)
            if row is None:
                raise UnknownRelation(f"There is no relation {beginning(named, 40)!a}.")
            return tuple(relations.beliefs(*graph.at, row))

    def resolve(self, mention: str, *, type: EntityType | None = None) -> Resolution:
        """Resolve a mention by name, alias, kinship ("my sister"), similar spelling, and meaning.

        If several entities may be meant, all are returned and none is chosen.
        """
        return entity_lookup.resolve(self._context, mention, type=type)

    def neighbours(
        self,
        entity: str,
        *,
        depth: int = 1,
        predicates: Collection[str] | None = None,
        as_of: When | None = None,
        known_at: When | None = None,
        ended: bool = False,
        mentioned: bool = False,
        limit: int | None = None,
    ) -> Subgraph:
        """The surroundings of an entity: now, at another moment, or with `ended` at all times.

        Args:
            entity: Id, name or alias.
            depth: Steps to walk, at most `Settings.graph.depth`.
            predicates: Follow only these.
            as_of: The moment at which relations must hold; now by default.
            known_at: Use what was believed at this moment; now by default.
            ended: Include what no longer holds, or not yet.
            mentioned: Include entities that were only mentioned together.
            limit: Maximum number of relations, overriding the setting.

        Raises:
            UnknownEntity, AmbiguousEntity: no entity, or several, have this name.
            InvalidPeriod: a date is invalid.
        """
        return self.subgraph(
            [entity],
            depth=depth,
            predicates=predicates,
            as_of=as_of,
            known_at=known_at,
            ended=ended,
            mentioned=mentioned,
            limit=limit,
        )

    def subgraph(
        self,
        entities: Sequence[str],
        *,
        depth: int = 1,
        predicates: Collection[str] | None = None,
        as_of: When | None = None,
        known_at: When | None = None,
        ended: bool = False,
        mentioned: bool = False,
        limit: int | None = None,
    ) -> Subgraph:
        """The surroundings of several entities; see `neighbours`."""
        settings = self._context.settings.graph
        steps = arguments.whole(depth, "depth", least=1)
        if steps > settings.depth:
            raise InvalidInput(
                f"{steps:,} steps are more than the {settings.depth} that Settings.graph.depth allows.",
                way_out="Go less far.",
            )
        most = arguments.optional_whole(limit, "limit", least=1)
        now = self._context.clock()
        asked = asked_for(now, predicates=predicates, as_of=as_of, known_at=known_at, ended=ended, mentioned=mentioned)
        limits = WalkLimits(
            depth=steps,
            fan_out=settings.fan_out,
            results=most or settings.results,
            first=max(settings.fan_out, most or 0),
        )
        named = arguments.texts(entities, "entities")
        with answering(self._context, asked.known_at) as answers:
            starts = dict.fromkeys(entity_lookup.required(answers.view, name) for name in named)
            walked = walk_around(answers.view, list(starts), asked, limits)
            found = answers.entities(walked.distance)
            return Subgraph(
                entities=tuple(found.values()),
                relations=tuple(answers.relations(walked.relations, asked.known_at, heard(asked, now))),
                distance={found[number].id: steps for number, steps in walked.distance.items()},
                cut=tuple(walked.cut),
            )

    def paths(
        self,
        start: str,
        end: str,
        *,
        depth: int = 4,
        limit: int = 5,
        as_of: When | None = None,
        known_at: When | None = None,
        ended: bool = False,
        mentioned: bool = False,
    ) -> Paths:
        """The shortest paths between two entities, of at most `depth` steps (6 at most)."""
        settings = self._context.settings.graph
        now = self._context.clock()
        asked = asked_for(now, as_of=as_of, known_at=known_at, ended=ended, mentioned=mentioned)
        limits = WalkLimits(
            depth=arguments.whole(depth, "depth", least=1, most=_LONGEST_WAY),
            fan_out=settings.fan_out,
            results=arguments.whole(limit, "limit", least=1),
            first=settings.fan_out,
        )
        with answering(self._context, asked.known_at) as answers:
            first = entity_lookup.required(answers.view, arguments.text(start, "start"))
            last = entity_lookup.required(answers.view, arguments.text(end, "end"))
            if first == last:
                name = answers.view.entities[first].name
                raise InvalidInput(f"Both are {name}: there is no way from an entity to itself.", way_out="Name two.")
            found = walk_between(answers.view, first, last, asked, limits)
            ways = [answers.relations(way, asked.known_at, heard(asked, now)) for way in found.ways]
            return Paths(paths=tuple(map(tuple, ways)), cut=tuple(found.cut))

    def timeline(self, entity: str, *, known_at: When | None = None, limit: int | None = None) -> Timeline:
        """Everything ever stated about an entity, in the order it began, including what was contradicted since.

        A limit drops the earliest relations.
        """
        most = arguments.optional_whole(limit, "limit", least=1) or self._context.settings.graph.results
        now = self._context.clock()
        asked = asked_for(now, known_at=known_at, ended=True)
        with answering(self._context, asked.known_at) as answers:
            view = answers.view
            number = entity_lookup.required(view, arguments.text(entity, "entity"))
            held = [view.relations[each] for each in view.edges(number, asked, FOREVER)[0]]
            rows = [*held, *(row for row in view.incident(number) if contradicted(row, asked.known_at))]
            versions = {row.number: version_at(row, asked.known_at) for row in rows}
            began = {each: -FOREVER if version is None else bounds(version)[0] for each, version in versions.items()}
            shown = sorted(began, key=lambda each: (began[each], each))[-most:]
            cut = (cut_words(view, number, len(shown), len(rows)),) if len(shown) < len(rows) else ()
            return Timeline(
                entity=answers.entities([number])[number],
                relations=tuple(answers.relations(shown, asked.known_at, heard(asked, now))),
                cut=cut,
            )

    def changes(self, since: When, until: When | None = None, *, entity: str | None = None) -> tuple[GraphChange, ...]:
        """What began, ended or was displaced between two moments, in order; for one entity, or all.

        A year, month or day given as `until` is included.
        """
        now = self._context.clock()
        first = to_millis(periods.span(since, now=now)[0])
        behind = to_millis(now) + 1 if until is None else to_millis(periods.span(until, now=now)[1])
        if behind <= first and until is None:
            raise InvalidPeriod("The first moment is still to come.", way_out="Name the second one, too.")
        if behind <= first:
            raise InvalidPeriod("The second moment lies before the first.", way_out="Name the earlier one first.")
        with answering(self._context) as answers:
            view = answers.view
            if entity is None:
                rows = [row for row in view.relations.values() if view.drawn(row)]
            else:
                rows = [*view.incident(entity_lookup.required(view, arguments.text(entity, "entity")))]
            rows = [*distinct_rows(view, rows)]
            happened = sorted(event for row in rows for event in _events(row) if first <= event[0] < behind)
            found = {each.number: each for each in answers.relations({number for _, _, number in happened}, None, now)}
            return tuple(
                GraphChange(at=from_millis(at), what=_WHAT[order], relation=found[number])
                for at, order, number in happened
            )

    def networkx(self, *, as_of: When | None = None, known_at: When | None = None) -> nx.MultiDiGraph:
        """A NetworkX copy of the graph as of these moments (all times by default).

        Nodes have `name` and `type`, and entities their `id`; edges have the `id`, `predicate`, `kind`, `confidence`
        and times of the relation. Times are ISO 8601 strings, and unknown values are left out, as in GraphML.
        """
        now = self._context.clock()
        asked = asked_for(now, as_of=as_of, known_at=known_at, ended=as_of is None, mentioned=True)
        with answering(self._context, asked.known_at) as answers:
            return networkx_copy(answers.view, asked)

    def stats(self, *, now: datetime | None = None) -> GraphStats:
        """Counts of entities and relations."""
        at = to_millis(arguments.optional_moment(now, "now") or self._context.clock())
        with reading(self._context) as graph:
            standing, merged = entity_rows.count(*graph.at)
            counted = relations.count(*graph.at, at)
            pairs = len(merges.pairs(*graph.at, "flagged"))
        return GraphStats(
            entities=standing,
            merged=merged,
            relations=counted.believed,
            current=counted.current,
            mentioned=counted.mentioned,
            likely_pairs=pairs,
        )


# What happens to a relation, in the order of what happens at one moment.
_WHAT: tuple[Literal["ended"], Literal["displaced"], Literal["began"]] = ("ended", "displaced", "began")


def _events(row: RelationRow) -> Iterator[tuple[int, int, int]]:
    """What happened to a stated relation that was not withdrawn: when, the place in `_WHAT`, and its number."""
    if row.kind != "stated":
        return
    version = contradicted(row, None)
    if version is not None:
        yield version.recorded_at if version.valid_from is None else version.valid_from, 1, row.number
    elif (version := version_at(row, None)) is not None:
        start, end = bounds(version)
        if start < end:
            yield start, 2, row.number
            yield end, 0, row.number


def overview(
    graph: GraphQueries,
    *,
    as_of: When | None = None,
    known_at: When | None = None,
    ended: bool = False,
    mentioned: bool = False,
    entities: int = 60,
    limit: int | None = None,
    now: datetime,
) -> Subgraph:
    """An overview of a whole graph: the best-connected entities and all relations between them.

    Args:
        graph: The graph of the space.
        as_of: The moment at which relations must hold; now by default.
        known_at: Use what was believed at this moment; now by default.
        ended: Include what no longer holds, or not yet.
        mentioned: Include entities that were only mentioned together.
        entities: Maximum number of entities.
        limit: Maximum number of relations, overriding the setting.
        now: The moment to use as now.

    Raises:
        InvalidPeriod: a date is invalid.
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
    """Ids of the entities with relations, best connected first."""
    counts = Counter(
        whole.nodes[node].get("id")
        for source, target, kind in whole.edges(data="kind")
        if kind != "mentioned" or mentioned
        for node in {source, target}
    )
    counts.pop(None, None)  # values
    return sorted(counts, key=lambda entity_id: (-counts[entity_id], entity_id))
