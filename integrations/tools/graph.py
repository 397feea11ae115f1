"""The tools for the knowledge graph: what relates to whom and since when, the timeline of one, and saying so."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from langmem_tiers.errors import AuthorityTooLow, InvalidRelation, UnknownEntity
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import Depth, Id, Name, Named, Value, Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.sources import origin_of_removal, source_of
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.answers import answering
from langmem_tiers.knowledge_graph.entity_lookup import require_entity
from langmem_tiers.knowledge_graph.types import Match, Subgraph
from langmem_tiers.knowledge_graph.wording import (
    asks_first,
    entity_words,
    left_out,
    relation_words,
    standing,
    standing_words,
)
from langmem_tiers.language import predicates, values
from langmem_tiers.language.predicates import asked
from langmem_tiers.language.values import Value as Measured
from langmem_tiers.language.words import words
from langmem_tiers.recall.rendering import ASK_FIRST, FROM_TOOL
from langmem_tiers.records import Entity, Relation
from langmem_tiers.wording import beginning

# Relations told in one answer, and looked at for it.
_MOST, _LOOKED_AT = 25, 200
_MOST_ENTITIES = 5
_EVIDENCE = 2
_NOBODY = "Nothing known is named here. Give entity: a name, or 'user' for the user."
_OVER = "Say what held, such as 'lives in', with valid_to; end_relation ends one whose [id] you know."
_NOT_SO = "Only what is true is noted; end_relation ends a relation that is no longer true."
_OUTCOMES = {
    "added": "Added",
    "known": "Known already",
    "moved": "Known, and now true since an earlier date",
    "ended": "Known, and now ended",
}


def knowledge_graph_search(
    call: Call,
    query: Annotated[Words, Field(description="What you want to know, with the names in it.")] = None,
    entity: Annotated[Name, Field(description="A name or id to look around, such as 'Anna' or 'user'.")] = None,
    as_of: Annotated[Words, Field(description="What held then: YYYY, YYYY-MM or YYYY-MM-DD. Default: now.")] = None,
    depth: Annotated[Depth, Field(description="Steps from it: 1, or 2 for what those relate to.")] = None,
) -> ToolAnswer:
    """Look up how people, places and things relate, now or at a date (as_of), with ids and dates."""
    found = _named(call, query, entity)
    if not found:
        return ToolAnswer(_NOBODY, {"entities": [], "relations": []})
    part = call.space.graph.subgraph(
        [each.id for each in found],
        depth=min(max(depth or 1, 1), call.space.context.settings.graph.depth),
        as_of=as_of,
        limit=_LOOKED_AT,
    )
    about = "; ".join(base.plain(entity_words(each)) for each in found)
    when = f"at {base.plain(as_of)}" if as_of else "now"
    fitting = _fitting(part, query or "")
    artifact = {"entities": [each.id for each in found], "relations": [each.id for each in fitting[:_MOST]]}
    if not fitting:
        text = f"Nothing is known to hold {when} of {about}. entity_timeline tells what did at other times."
        return ToolAnswer(text, artifact)
    cut = list(part.cut)
    if len(fitting) > _MOST:
        cut.insert(0, f"{_MOST} of {len(fitting)} relations found")
    return ToolAnswer(base.fenced(f"What holds {when} around {about}", _lines(call, fitting[:_MOST], cut)), artifact)


def entity_timeline(
    call: Call, entity: Annotated[Named, Field(description="A name or id, such as 'Anna' or 'user'.")]
) -> ToolAnswer:
    """Everything that ever held of one person, place or thing, in order, with dates."""
    graph = call.space.graph
    known = require_entity(graph.resolve, entity)
    found = graph.timeline(known.id, limit=2 * _MOST)
    about = base.plain(entity_words(known))
    if not found.relations:
        return ToolAnswer(f"Nothing is known of {about}.", {"entity": known.id})
    text = base.fenced(f"Timeline of {about}, in the order it began", _lines(call, found.relations, found.cut))
    return ToolAnswer(text, {"entity": known.id, "relations": [each.id for each in found.relations]})


def add_relation(
    call: Call,
    subject: Annotated[Named, Field(description="A name, or 'user'.")],
    predicate: Annotated[str, Field(description="Such as 'lives in' or 'has battery'.")],
    object: Annotated[Name, Field(description="A name; or give value.")] = None,
    value: Annotated[Value, Field(description="Such as 20.")] = None,
    unit: Annotated[Words, Field(description="Such as Ah.")] = None,
    valid_from: Annotated[Words, Field(description="YYYY, YYYY-MM or YYYY-MM-DD, if known.")] = None,
    valid_to: Annotated[Words, Field(description="First day it is no longer true.")] = None,
) -> ToolAnswer:
    """Note how two relate, or a value, with dates. Where only one can hold, a new one ends the old."""
    over = predicates.negated(predicate)
    if over is not None:  # it ends what is known, or is told as what held until then
        if over.how == "not_so":
            raise InvalidRelation(f"{beginning(predicate, 60)!a} says what is not so.", way_out=_NOT_SO)
        since = valid_from if over.how == "no_more" else None
        known = _holding(call, subject, over.predicate, object, None if value is None else values.read(value, unit))
        if known is not None:
            return end_relation(call, known.id, valid_to or since)
        if valid_to is None and since is None:
            raise InvalidRelation(f"Nothing is known that {beginning(predicate, 60)!a} could end.", way_out=_OVER)
        start = valid_from if over.how == "once" else None
        return add_relation(call, subject, over.predicate, object, value, unit, start, valid_to or since)
    source = source_of(call, " ".join(str(part) for part in (subject, predicate, object or value, unit or "")))
    landed = call.space.graph.add_relation(
        subject,
        predicate,
        object,
        value=value,
        unit=unit,
        valid_from=valid_from,
        valid_to=valid_to,
        evidence=source.evidence,
        origin=source.origin,
    )
    text = base.fenced(_OUTCOMES[landed.outcome], _lines(call, [landed.relation]))
    if landed.changed:
        text += "\n" + base.fenced("So these became", _lines(call, landed.changed))
    changed = [each.id for each in landed.changed]
    return ToolAnswer(text, {"id": landed.relation.id, "outcome": landed.outcome, "changed": changed})


def end_relation(
    call: Call,
    relation_id: Annotated[Id, Field(description="The relation's id, as shown in [brackets].")],
    at: Annotated[Words, Field(description="The first day it is no longer true: YYYY-MM-DD. Default: now.")] = None,
) -> ToolAnswer:
    """Note that a relation is no longer true, since a date or now; it stays in the timeline."""
    try:
        known = call.space.graph.relation(relation_id)
        by = "assistant" if known is None else origin_of_removal(call, relation_words(known))
        relation = call.space.graph.end_relation(relation_id, at, origin=by)
    except AuthorityTooLow as error:
        way_out = "The user has said so: ask them. What replaced it on a date can be noted with add_relation."
        raise AuthorityTooLow(error.message, way_out=way_out) from error
    return ToolAnswer(base.fenced("Ended", _lines(call, [relation])), {"id": relation.id})


def _holding(call: Call, subject: str, predicate: str, object: str | None, value: Measured | None) -> Relation | None:
    """What is known to hold now of an entity or a value; None if nothing is."""
    graph = call.space.graph
    try:
        one = require_entity(graph.resolve, subject)
        other = None if object is None else require_entity(graph.resolve, object)
    except UnknownEntity:
        return None
    turned = predicates.reading(predicate).turned
    for each in graph.neighbours(one.id, predicates=[predicate], limit=_LOOKED_AT).relations:
        forth = (each.subject.id == one.id) != turned or predicates.symmetric(each.predicate)
        if other is not None:
            same = {one.id, other.id} == set(_ends(each))
        else:
            same = each.value is not None and value is not None and _key(each.value) == _key(value)
        if forth and same:
            return each
    return None


def _key(value: Measured) -> object:
    return values.key(value.text, value.unit)


def _ends(relation: Relation) -> list[str]:
    return [relation.subject.id, *([] if relation.object is None else [relation.object.id])]


def _named(call: Call, query: str | None, entity: str | None) -> list[Entity]:
    """The entities that a search is about: the one given, or those that the query names."""
    if entity is not None:
        try:
            return [require_entity(call.space.graph.resolve, entity)]
        except UnknownEntity:
            return _like(call, entity)
    if query is None:
        return []
    with answering(call.space.context) as answer:
        matches = entity_lookup.named_in(answer.view, query)
    return _best(matches) or _like(call, query)


def _like(call: Call, mention: str) -> list[Entity]:
    """The entity that is meant, else those that are like it in spelling or meaning."""
    found = call.space.graph.resolve(mention)
    return _best(found.matches) if found.entity is None else [found.entity]


def _best(matches: Sequence[Match]) -> list[Entity]:
    return [each.entity for each in sorted(matches, key=lambda one: -one.score)[:_MOST_ENTITIES]]


def _fitting(part: Subgraph, query: str) -> list[Relation]:
    """The relations that a query speaks of first, then those near to where it began."""
    terms = set(words(query))
    wanted = frozenset[str]().union(*asked(terms).values())

    def order(relation: Relation) -> tuple[bool, int, int]:
        said = set(words(f"{relation.said} {relation.target} {relation.subject.name}"))
        away = max(part.distance.get(entity, 0) for entity in _ends(relation))
        return relation.predicate not in wanted, -len(terms & said), away

    return sorted(part.relations, key=order)


def _lines(call: Call, relations: Sequence[Relation], cut: Sequence[str] = ()) -> list[str]:
    """Such as `[id] Anna lives in Porto, since 2024-05 (§W-001/R-01/D-002)`, and what is left out of them."""
    now, lines = call.space.memory.clock(), []
    for each in relations:
        when = standing_words(each, now) or "no date known"
        over = " (over)" if standing(each, now) == "ended" else ""
        only = "; only spoken of together" if each.kind == "mentioned" else ""
        rests = ", ".join(source.pointer for source in each.evidence[:_EVIDENCE] if source.pointer)
        told = " ".join(f"{relation_words(each)}, {when}{over}{only}".split())
        end = (f" ({rests})" if rests else "") + (FROM_TOOL if each.from_tool else "")
        end += ASK_FIRST if asks_first(each) else ""
        lines.append(base.item(told, f"[{each.id}] ", end))
    return [*lines, *([base.item(left_out(cut))] if cut else [])]
