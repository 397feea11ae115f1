"""The tools for the knowledge graph: what relates to whom and since when, the timeline of one, and saying so."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import BaseModel

from langmem_tiers.errors import AuthorityTooLow
from langmem_tiers.integrations.tools import evidence, lines
from langmem_tiers.integrations.tools.base import Answer, MemoryTool
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.integrations.tools.graph_arguments import (
    AddRelationArguments,
    EndRelationArguments,
    GraphSearchArguments,
    TimelineArguments,
)
from langmem_tiers.knowledge_graph import asking, resolving
from langmem_tiers.knowledge_graph.asked import asked
from langmem_tiers.knowledge_graph.meant import entity_words, meant
from langmem_tiers.knowledge_graph.types import Entity, Relation, RelationLanded, Subgraph
from langmem_tiers.knowledge_graph.wording import left_out, relation_words, standing, standing_words
from langmem_tiers.palace.words import words

# Relations told in one answer, and looked at for it.
_MOST, _LOOKED_AT = 25, 200
_MOST_ENTITIES = 5
_EVIDENCE = 2
_NOBODY = "Nobody and nothing that is known is named here. Give entity: a name, or 'user' for the user."
_OUTCOMES = {
    "added": "Added",
    "known": "Known already",
    "moved": "Known, and holds since earlier now",
    "ended": "Known, and holds no longer now",
}


class KnowledgeGraphSearch(MemoryTool):
    """Searches the knowledge graph."""

    name: str = "knowledge_graph_search"
    description: str = "Look up how people, places and things relate, now or at a date (as_of), with ids and dates."
    args_schema: type[BaseModel] = GraphSearchArguments

    def _answer(self, call: Call, given: GraphSearchArguments) -> Answer:
        found = _named(call, given)
        if not found:
            return Answer(_NOBODY, {"entities": [], "relations": []})
        settings = call.space.memory.settings.graph
        part = call.space.graph.subgraph(
            [entity.id for entity in found],
            depth=min(max(given.depth or 1, 1), settings.depth),
            as_of=given.as_of,
            limit=_LOOKED_AT,
        )
        return _told_part(call, found, part, given)


class EntityTimeline(MemoryTool):
    """Tells everything that ever held of an entity."""

    name: str = "entity_timeline"
    description: str = "Everything that ever held of one person, place or thing, in order, with dates."
    args_schema: type[BaseModel] = TimelineArguments

    def _answer(self, call: Call, given: TimelineArguments) -> Answer:
        graph, now = call.space.graph, call.space.memory.clock()
        entity = meant(graph, given.entity)
        found = graph.timeline(entity.id, limit=2 * _MOST)
        if not found.relations:
            return Answer(f"Nothing is known of {lines.plain(entity_words(entity))}.", {"entity": entity.id})
        shown = [*(_line(each, now) for each in found.relations), *_cut(found.cut)]
        text = lines.fenced(f"Timeline of {lines.plain(entity_words(entity))}, in the order it began", shown)
        return Answer(text, {"entity": entity.id, "relations": [each.id for each in found.relations]})


class AddRelation(MemoryTool):
    """Notes how an entity relates to another one, or to a value."""

    name: str = "add_relation"
    description: str = "Note how two relate, or a value, with dates. Where only one can hold, a new one ends the old."
    args_schema: type[BaseModel] = AddRelationArguments

    def _answer(self, call: Call, given: AddRelationArguments) -> Answer:
        landed = call.space.graph.add_relation(
            given.subject,
            given.predicate,
            given.object,
            value=given.value,
            unit=given.unit,
            valid_from=given.valid_from,
            valid_to=given.valid_to,
            evidence=evidence.of_call(call),
            origin="assistant",
        )
        return _told_landed(landed, call.space.memory.clock())


class EndRelation(MemoryTool):
    """Notes that a relation holds no longer."""

    name: str = "end_relation"
    description: str = "Note that a relation holds no longer, since a date or now; it stays in the timeline."
    args_schema: type[BaseModel] = EndRelationArguments

    def _answer(self, call: Call, given: EndRelationArguments) -> Answer:
        try:
            relation = call.space.graph.end_relation(given.relation_id, given.at, origin="assistant")
        except AuthorityTooLow as error:
            way_out = "The user has said so: ask them. What holds instead since a date can be noted with add_relation."
            raise AuthorityTooLow(error.message, way_out=way_out) from error
        shown = [_line(relation, call.space.memory.clock())]
        return Answer(lines.fenced("Ended", shown), {"id": relation.id})


def _named(call: Call, given: GraphSearchArguments) -> list[Entity]:
    """The entities that a search is about: the one given, or those that the query names."""
    if given.entity is not None:
        return [meant(call.space.graph, given.entity)]
    if given.query is None:
        return []
    with asking.answering(call.space) as answer:
        matches = resolving.named_in(answer.view, given.query)
    if not matches:
        found = call.space.graph.resolve(given.query)
        return [] if found.entity is None else [found.entity]
    return [each.entity for each in sorted(matches, key=lambda one: -one.score)[:_MOST_ENTITIES]]


def _told_part(call: Call, found: Sequence[Entity], part: Subgraph, given: GraphSearchArguments) -> Answer:
    about = "; ".join(lines.plain(entity_words(entity)) for entity in found)
    when = f"at {lines.plain(given.as_of)}" if given.as_of else "now"
    fitting = _fitting(part, given.query or "")
    artifact = {"entities": [entity.id for entity in found], "relations": [each.id for each in fitting[:_MOST]]}
    if not fitting:
        text = f"Nothing is known to hold {when} of {about}. entity_timeline tells what did at other times."
        return Answer(text, artifact)
    cut = list(part.cut)
    if len(fitting) > _MOST:
        cut.insert(0, f"{_MOST} of {len(fitting)} relations found")
    shown = [*(_line(each, call.space.memory.clock()) for each in fitting[:_MOST]), *_cut(cut)]
    return Answer(lines.fenced(f"What holds {when} around {about}", shown), artifact)


def _fitting(part: Subgraph, query: str) -> list[Relation]:
    """The relations that a query speaks of first, then those near to where it began."""
    terms = set(words(query))
    wanted = frozenset[str]().union(*asked(terms).values())

    def order(relation: Relation) -> tuple[bool, int, int]:
        said = set(words(f"{relation.said} {relation.target} {relation.subject.name}"))
        ends = [relation.subject.id, *([] if relation.object is None else [relation.object.id])]
        away = max(part.distance.get(entity, 0) for entity in ends)
        return relation.predicate not in wanted, -len(terms & said), away

    return sorted(part.relations, key=order)


def _told_landed(landed: RelationLanded, now: datetime) -> Answer:
    shown = [_line(landed.relation, now)]
    text = lines.fenced(_OUTCOMES[landed.outcome], shown)
    if landed.changed:
        text += "\n" + lines.fenced("So these became", [_line(each, now) for each in landed.changed])
    changed = [each.id for each in landed.changed]
    return Answer(text, {"id": landed.relation.id, "outcome": landed.outcome, "changed": changed})


def _line(relation: Relation, now: datetime) -> str:
    """`[id] Anna lives in Porto, since 2024-05 (§W-001/R-01/D-002)`."""
    when = standing_words(relation, now) or "no date known"
    over = " (over)" if standing(relation, now) == "ended" else ""
    rests = ", ".join(each.pointer for each in relation.evidence[:_EVIDENCE] if each.pointer)
    only = "; only spoken of together" if relation.kind == "mentioned" else ""
    told = f"{relation_words(relation)}, {when}{over}{only}"
    return lines.item(" ".join(told.split()), f"[{relation.id}] ", f" ({rests})" if rests else "")


def _cut(cut: Sequence[str]) -> Iterator[str]:
    if cut:
        yield lines.item(left_out(cut))
