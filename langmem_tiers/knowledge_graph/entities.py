"""Entities: find by id, name or alias, create, extend, and delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langmem_tiers.clock import from_millis
from langmem_tiers.errors import AmbiguousEntity, InvalidInput, UnknownEntity
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.tombstones import unbury_entities
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.wording import LISTED, entity_words, listed, predicate_words, relation_words
from langmem_tiers.language.slugs import name_key
from langmem_tiers.naming import new_id
from langmem_tiers.records import BUILT_IN_TYPES, Authority, Entity, Evidence, GraphPath
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.types import Origin
from langmem_tiers.wording import beginning

# A person and a place with the same name differ; what a model calls an item now and a topic later is the same. A type
# known only to the caller could be anything.
_APART = frozenset({"person", "place"})
_TOLD_APART = frozenset({*BUILT_IN_TYPES, "pet", "animal"}) - {"other"}
# How many relations of an entity to try before giving up on finding one that is believed.
_LOOKED_AT = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEntity:
    """An entity as a caller names it, with what to add; `seen` in milliseconds, None for now.

    Aliases, metadata and evidence are added to an existing entity.
    """

    name: str
    type: str = "other"
    aliases: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    evidence: tuple[Evidence, ...] = ()
    origin: Origin = "user"
    path: GraphPath = "user"
    authority: Authority = Authority.USER
    seen: int | None = None


def upsert_entity(graph: GraphTransaction, named: NamedEntity) -> Entity:
    """The entity with this name, id or alias, created if there is none; without its evidence.

    If it was merged into another one, it is still returned itself, so that its relations move back when the merge is
    undone; `standing` gives the other one.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidInput: the name, an alias, the type or the metadata is invalid.
        UnknownEntity: no entity has this id.
        AmbiguousEntity: several entities have this name.
    """
    return upsert_entities(graph, [named])[0]


def upsert_entities(
    graph: GraphTransaction, several: Sequence[NamedEntity], *, unbury: bool = True, to_relate: bool = False
) -> list[Entity]:
    """Like `upsert_entity`, for several names looked up at once; without `unbury`, tombstones are left alone.

    With `to_relate`, a relation between them follows, whose number is reserved with theirs.
    """
    slugs = [naming.slug(each.name) for each in several]
    known = graph.called(set(slugs))
    if missing := sum(not found for found in known.values()):
        graph.reserve({entities.NEWEST: missing} | ({relations.NEWEST: 1} if to_relate else {}))
    made: list[Entity] = []
    new: set[int] = set()
    changed: list[Entity] = []
    for each, slug in zip(several, slugs, strict=True):
        of_type = naming.check_type(each.type)
        found = _named(graph, each.name, of_type, slug, known[slug])
        one = _new(graph, each, of_type) if found is None else _updated(graph, found, each, of_type)
        if found is None:
            new.add(one.number)
        if one is not found:
            changed.append(one)
        known[slug] = [*(same for same in known[slug] if same.number != one.number), one]
        made.append(one)
    graph.put_entities(changed, new=new)
    made = [_extended(graph, one, each) for one, each in zip(made, several, strict=True)]
    spoken_of = [each for each in several if each.authority >= Authority.AGENT]
    if unbury and spoken_of:
        unbury_entities(graph, (name for each in spoken_of for name in (each.name, *each.aliases)))
    return made


def _extended(graph: GraphTransaction, one: Entity, named: NamedEntity) -> Entity:
    """An entity after aliases and evidence were added to it."""
    aliases = _aliases(graph, named, one.name)
    if _add(graph, one.number, one.name, aliases, named.evidence):
        graph.log_entities(one.number)
    return entities.by_numbers(*graph.at, [one.number])[one.number] if aliases else one


def add_distinct_entity(graph: GraphTransaction, named: NamedEntity) -> Entity:
    """Create an entity whose name others may have; it is kept apart from them.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidInput: the name, an alias, the type or the metadata is invalid.
    """
    if naming.is_self(named.name) or naming.is_id(named.name):
        raise InvalidInput(
            f"There is only one {beginning(named.name, 40)!a}.", way_out="Give a name that two may have."
        )
    others = entities.numbers_of_slug(*graph.at, name_key(named.name))
    aliases = _aliases(graph, named, named.name)
    number = insert_entity(graph, named, naming.check_type(named.type)).number
    for other in others:
        merges.put_pair(*graph.at, number, other, "apart", 0, "said to be another one", graph.now)
    _add(graph, number, named.name, aliases, named.evidence)
    return entities.by_numbers(*graph.at, [number])[number]


def insert_entity(graph: GraphTransaction, named: NamedEntity, of_type: str) -> Entity:
    """Store a new entity without aliases and evidence."""
    new = _new(graph, named, of_type)
    graph.put_entities([new], new={new.number})
    return new


def _new(graph: GraphTransaction, named: NamedEntity, of_type: str) -> Entity:
    is_user = naming.is_self(named.name)
    kept = graph.settings.privacy.derived == "keep"
    name = naming.USER if is_user else naming.require_no_pronoun(naming.check(named.name, secrets=kept))
    seen, now = from_millis(graph.now if named.seen is None else named.seen), from_millis(graph.now)
    return Entity(
        number=graph.next_number(entities.NEWEST),
        id=new_id(),
        name=name,
        type="person" if is_user else of_type,
        origin=named.origin,
        path=named.path,
        authority=named.authority,
        metadata=validation.metadata(named.metadata, graph.settings),
        first_seen=seen,
        last_seen=seen,
        created_at=now,
        updated_at=now,
    )


def find_entity(graph: GraphTransaction, which: str, *, type: str | None = None, whole: bool = True) -> Entity | None:
    """The canonical entity for an id, name or alias, or None.

    With `whole`, it includes evidence, and the names and evidence of the entities merged into it.

    Raises:
        AmbiguousEntity: several have this name.
    """
    slug = naming.slug(which)
    called = [] if naming.is_id(which) else graph.called([slug])[slug]
    try:
        named = _named(graph, which, naming.check_type(type or "other"), slug, called)
    except UnknownEntity:
        return None
    if named is None:
        return None
    if not whole:
        return standing(graph, named)
    number = graph.canonical(named.number)
    return with_merged(graph, entities.by_numbers(*graph.at, [number], evidence=True).values(), evidence=True)[0]


def require_known(graph: GraphTransaction, which: str) -> Entity:
    """Like `find_entity`, but raises if there is none.

    Raises:
        UnknownEntity: there is none.
        AmbiguousEntity: several have this name.
    """
    found = find_entity(graph, which)
    if found is None:
        raise UnknownEntity(f"There is no entity {beginning(which, 80)!a}.")
    return found


def standing(graph: GraphTransaction, entity: Entity) -> Entity:
    """The canonical entity for one that may have been merged."""
    number = graph.canonical(entity.number)
    return entity if number == entity.number else entities.by_numbers(*graph.at, [number])[number]


def with_merged(graph: GraphTransaction, found: Iterable[Entity], *, evidence: bool = False) -> list[Entity]:
    """Canonical entities with the names, and with `evidence` the drawers, of all entities merged into them."""
    own = list(found)
    behind = {each.number: [one for one in graph.members(each.number) if one != each.number] for each in own}
    wanted = {number for numbers in behind.values() for number in numbers}
    parts = entities.by_numbers(*graph.at, wanted, evidence=evidence) if wanted else {}
    return [_joined(each, [parts[number] for number in behind[each.number]]) for each in own]


def describe_ambiguity(graph: GraphTransaction, several: Iterable[Entity]) -> str:
    """Entities on one line, each with one known fact.

    Example: "[3f2a9c01d4e5] Anna (person: lives in Porto); [0c6d1f9be2aa] Anna (place)".
    """
    each = list(several)
    return listed([entity_words(one, _fact(graph, one)) for one in each[:LISTED]], len(each))


def _fact(graph: GraphTransaction, entity: Entity) -> str:
    """The newest believed fact about an entity in words, or an empty string."""
    numbers = sorted(relations.numbers_of_entities(*graph.at, [entity.number]), reverse=True)[:_LOOKED_AT]
    rows = [row for row in relations.of_numbers(*graph.at, numbers) if row.believed and row.kind == "stated"]
    if not rows:
        return ""
    newest = max(rows, key=lambda row: row.number)
    relation = graph.relations([newest], evidence=False)[0]
    if newest.subject == entity.number:
        return f"{predicate_words(relation)} {relation.target}"
    return relation_words(relation)


def _updated(graph: GraphTransaction, known: Entity, named: NamedEntity, of_type: str) -> Entity:
    """An entity with the given type, authority, metadata and time, where these change anything."""
    own = validation.metadata(named.metadata, graph.settings) if named.metadata else {}
    seen = from_millis(graph.now if named.seen is None else named.seen)
    updated = replace(
        known,
        type=of_type if known.type == "other" else known.type,
        authority=max(known.authority, named.authority),
        metadata=validation.metadata({**known.metadata, **own}, graph.settings) if own else known.metadata,
        first_seen=min(known.first_seen, seen),
        last_seen=max(known.last_seen, seen),
        updated_at=from_millis(graph.now),
    )
    if replace(updated, updated_at=known.updated_at) == known:
        return known
    return updated


def _aliases(graph: GraphTransaction, named: NamedEntity, own: str) -> list[str]:
    kept = graph.settings.privacy.derived == "keep"
    return [naming.check_alias(alias, own, secrets=kept) for alias in named.aliases]


def _add(graph: GraphTransaction, number: int, own: str, aliases: Sequence[str], evidence: Sequence[Evidence]) -> bool:
    """Add names and evidence; returns whether any of them is new."""
    added = 0
    if aliases:
        others = [alias for alias in naming.names(own, aliases) if not naming.is_self(alias)]
        added = entities.add_aliases(*graph.at, number, others, graph.now)
    if evidence:
        added += entities.add_evidence(*graph.at, number, evidence)
    return added > 0


def _named(graph: GraphTransaction, name: str, of_type: str, slug: str, called: Sequence[Entity]) -> Entity | None:
    """The entity with this id, or with this name among those with its slug; merged ones included."""
    if naming.is_id(name):
        found = entities.by_id(*graph.at, name)
        if found is None:
            raise UnknownEntity(f"There is no entity {name}.")
        return found
    if not called:
        return None
    known = {each.number: each for each in called}
    ends = {number: graph.canonical(number) for number in known}
    missing = set(ends.values()) - known.keys()
    known |= entities.by_numbers(*graph.at, missing) if missing else {}
    possible = [known[number] for number in sorted(set(ends.values())) if not _apart(known[number].type, of_type)]
    fitting = [each for each in possible if of_type == each.type != "other"] or possible
    if len(fitting) > 1:
        raise AmbiguousEntity(
            f"{len(fitting)} entities are called {beginning(name, 80)!a}: {describe_ambiguity(graph, fitting)}.",
            ids=tuple(each.id for each in fitting),
        )
    if not fitting:
        return None
    these = [each for each in called if ends[each.number] == fitting[0].number]
    # Its own name ranks before an alias, a canonical entity before a merged one.
    return min(these, key=lambda each: (each is not fitting[0], name_key(each.name) != slug, each.number))


def _apart(one: str, other: str) -> bool:
    return one != other and {one, other} <= _TOLD_APART and bool({one, other} & _APART)


def _joined(own: Entity, parts: Sequence[Entity]) -> Entity:
    if not parts:
        return own
    every = (own, *parts)
    rests = {each.drawer: each for one in reversed(every) for each in one.evidence}
    return replace(
        own,
        aliases=naming.names(own.name, (*own.aliases, *(name for one in parts for name in (one.name, *one.aliases)))),
        first_seen=min(one.first_seen for one in every),
        last_seen=max(one.last_seen for one in every),
        evidence=tuple(rests[drawer] for drawer in sorted(rests)),
    )
