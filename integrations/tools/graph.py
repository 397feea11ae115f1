"""The tools for the knowledge graph: what relates to whom and since when, the timeline of one, and saying so."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from pydantic import BaseModel

from langmem_tiers.errors import AuthorityTooLow, InvalidRelation, UnknownEntity
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import (
    AddRelationArguments,
    EndRelationArguments,
    GraphSearchArguments,
    TimelineArguments,
)
from langmem_tiers.integrations.tools.base import Answer, Call, MemoryTool
from langmem_tiers.knowledge_graph import resolving
from langmem_tiers.knowledge_graph.ambiguity import entity_words, require_entity
from langmem_tiers.knowledge_graph.answers import answering
from langmem_tiers.knowledge_graph.types import Match, RelationLanded, Subgraph
from langmem_tiers.knowledge_graph.wording import left_out, relation_words, standing, standing_words
from langmem_tiers.language import predicates, values
from langmem_tiers.language.predicates import Negated, asked
from langmem_tiers.language.values import Value
from langmem_tiers.language.words import words
from langmem_tiers.records import Entity, Relation

# Relations told in one answer, and looked at for it.
_MOST, _LOOKED_AT = 25, 200
_MOST_ENTITIES = 5
_EVIDENCE = 2
_NOBODY = "Nobody and nothing that is known is named here. Give entity: a name, or 'user' for the user."
_OVER = "Say what held, such as 'lives in', with valid_to; end_relation ends one whose [id] you know."
_NOT_SO = "Only what is so is noted; end_relation ends one that holds no longer."
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
        entity = require_entity(graph.resolve, given.entity)
        found = graph.timeline(entity.id, limit=2 * _MOST)
        if not found.relations:
            return Answer(f"Nothing is known of {base.plain(entity_words(entity))}.", {"entity": entity.id})
        shown = [*(_line(each, now) for each in found.relations), *_cut(found.cut)]
        text = base.fenced(f"Timeline of {base.plain(entity_words(entity))}, in the order it began", shown)
        return Answer(text, {"entity": entity.id, "relations": [each.id for each in found.relations]})


class AddRelation(MemoryTool):
    """Notes how an entity relates to another one, or to a value."""

    name: str = "add_relation"
    description: str = "Note how two relate, or a value, with dates. Where only one can hold, a new one ends the old."
    args_schema: type[BaseModel] = AddRelationArguments

    def _answer(self, call: Call, given: AddRelationArguments) -> Answer:
        over = predicates.negated(given.predicate)
        if over is not None:
            return self._over(call, given, over)
        landed = call.space.graph.add_relation(
            given.subject,
            given.predicate,
            given.object,
            value=given.value,
            unit=given.unit,
            valid_from=given.valid_from,
            valid_to=given.valid_to,
            evidence=base.of_call(call),
            origin="assistant",
        )
        return _told_landed(landed, call.space.memory.clock())

    def _over(self, call: Call, given: AddRelationArguments, over: Negated) -> Answer:
        """What is said to be over or not so: it ends what is known, or is told as what held until then."""
        if over.how == "not_so":
            raise InvalidRelation(f"{given.predicate[:60]!a} says what is not so.", way_out=_NOT_SO)
        since = given.valid_from if over.how == "no_more" else None
        known = _holding(call, given, over)
        if known is not None:
            return _ended(call, known.id, given.valid_to or since)
        if given.valid_to is None and since is None:
            raise InvalidRelation(f"Nothing is known that {given.predicate[:60]!a} could end.", way_out=_OVER)
        start = given.valid_from if over.how == "once" else None
        held = given.model_copy(
            update={"predicate": over.predicate, "valid_from": start, "valid_to": given.valid_to or since}
        )
        return self._answer(call, held)


class EndRelation(MemoryTool):
    """Notes that a relation holds no longer."""

    name: str = "end_relation"
    description: str = "Note that a relation holds no longer, since a date or now; it stays in the timeline."
    args_schema: type[BaseModel] = EndRelationArguments

    def _answer(self, call: Call, given: EndRelationArguments) -> Answer:
        return _ended(call, given.relation_id, given.at)


def _ended(call: Call, which: str, at: str | None) -> Answer:
    try:
        relation = call.space.graph.end_relation(which, at, origin="assistant")
    except AuthorityTooLow as error:
        way_out = "The user has said so: ask them. What holds instead since a date can be noted with add_relation."
        raise AuthorityTooLow(error.message, way_out=way_out) from error
    shown = [_line(relation, call.space.memory.clock())]
    return Answer(base.fenced("Ended", shown), {"id": relation.id})


def _holding(call: Call, given: AddRelationArguments, over: Negated) -> Relation | None:
    """What is known to hold now and is said to be over; None where nothing is."""
    graph = call.space.graph
    try:
        subject = require_entity(graph.resolve, given.subject)
        target = None if given.object is None else require_entity(graph.resolve, given.object)
    except UnknownEntity:
        return None
    value = None if given.value is None else values.read(given.value, given.unit)
    found = graph.neighbours(subject.id, predicates=[over.predicate], limit=_LOOKED_AT).relations
    turned = predicates.reading(over.predicate).turned
    for each in found:
        forth = (each.subject.id == subject.id) != turned or predicates.symmetric(each.predicate)
        if forth and (_leads_to(each, value) if target is None else {subject.id, target.id} == _ends(each)):
            return each
    return None


def _ends(relation: Relation) -> set[str]:
    return {relation.subject.id, *([] if relation.object is None else [relation.object.id])}


def _leads_to(relation: Relation, value: Value | None) -> bool:
    held = relation.value
    if held is None or value is None:
        return False
    return values.key(held.text, held.unit) == values.key(value.text, value.unit)


def _named(call: Call, given: GraphSearchArguments) -> list[Entity]:
    """The entities that a search is about: the one given, or those that the query names."""
    if given.entity is not None:
        try:
            return [require_entity(call.space.graph.resolve, given.entity)]
        except UnknownEntity:
            return _like(call, given.entity)
    if given.query is None:
        return []
    with answering(call.space.context) as answer:
        matches = resolving.named_in(answer.view, given.query)
    return _best(matches) or _like(call, given.query)


def _like(call: Call, mention: str) -> list[Entity]:
    """The entity that is meant, else those that are like it in spelling or meaning."""
    found = call.space.graph.resolve(mention)
    return _best(found.matches) if found.entity is None else [found.entity]


def _best(matches: Sequence[Match]) -> list[Entity]:
    return [each.entity for each in sorted(matches, key=lambda one: -one.score)[:_MOST_ENTITIES]]


def _told_part(call: Call, found: Sequence[Entity], part: Subgraph, given: GraphSearchArguments) -> Answer:
    about = "; ".join(base.plain(entity_words(entity)) for entity in found)
    when = f"at {base.plain(given.as_of)}" if given.as_of else "now"
    fitting = _fitting(part, given.query or "")
    artifact = {"entities": [entity.id for entity in found], "relations": [each.id for each in fitting[:_MOST]]}
    if not fitting:
        text = f"Nothing is known to hold {when} of {about}. entity_timeline tells what did at other times."
        return Answer(text, artifact)
    cut = list(part.cut)
    if len(fitting) > _MOST:
        cut.insert(0, f"{_MOST} of {len(fitting)} relations found")
    shown = [*(_line(each, call.space.memory.clock()) for each in fitting[:_MOST]), *_cut(cut)]
    return Answer(base.fenced(f"What holds {when} around {about}", shown), artifact)


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
    text = base.fenced(_OUTCOMES[landed.outcome], shown)
    if landed.changed:
        text += "\n" + base.fenced("So these became", [_line(each, now) for each in landed.changed])
    changed = [each.id for each in landed.changed]
    return Answer(text, {"id": landed.relation.id, "outcome": landed.outcome, "changed": changed})


def _line(relation: Relation, now: datetime) -> str:
    """`[id] Anna lives in Porto, since 2024-05 (§W-001/R-01/D-002)`."""
    when = standing_words(relation, now) or "no date known"
    over = " (over)" if standing(relation, now) == "ended" else ""
    rests = ", ".join(each.pointer for each in relation.evidence[:_EVIDENCE] if each.pointer)
    only = "; only spoken of together" if relation.kind == "mentioned" else ""
    told = f"{relation_words(relation)}, {when}{over}{only}"
    return base.item(" ".join(told.split()), f"[{relation.id}] ", f" ({rests})" if rests else "")


def _cut(cut: Sequence[str]) -> Iterator[str]:
    if cut:
        yield base.item(left_out(cut))
