"""Entities as they are named: found by id, name or alias, made where there is none, and added to."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import AmbiguousEntity, InvalidInput, UnknownEntity
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.telling_apart import told_apart
from langmem_tiers.knowledge_graph.types import BUILT_IN_TYPES, Entity, GraphPath
from langmem_tiers.knowledge_graph.whole import whole
from langmem_tiers.settings import Settings
from langmem_tiers.storage import entities, graph_pairs
from langmem_tiers.storage.entities import NewEntity
from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Evidence

# Somebody and somewhere of one name are two; what a model calls an item now and a topic then is one. Of a type that
# only the caller knows nobody can tell what it is apart from.
_APART = frozenset({"person", "place"})
_TOLD_APART = frozenset({*BUILT_IN_TYPES, "pet", "animal"}) - {"other"}


@dataclass(frozen=True, kw_only=True)
class Named:
    """An entity as it was named, and what was said with it; `seen` in milliseconds."""

    name: str
    type: str
    aliases: tuple[str, ...]
    metadata: Mapping[str, Any] | None
    evidence: tuple[Evidence, ...]
    origin: Origin
    path: GraphPath
    authority: Authority
    seen: int


class Entered(NamedTuple):
    """The entity that was named, and whether anything of it was written."""

    entity: Entity
    changed: bool


class Entering:
    """Entities of a space, as they are named within one transaction."""

    def __init__(self, connection: Connection, space: str, now: int, settings: Settings) -> None:
        self._connection = connection
        self._space = space
        self._now = now
        self._settings = settings
        self._secrets_kept = settings.privacy.derived == "keep"

    def enter(self, named: Named) -> Entered:
        """The entity that is named, made where no entity has the name, with what was said added to it.

        Raises:
            InvalidText, TextTooLong, SecretRefused, InvalidInput: it can be no name, alias, type or metadata.
            UnknownEntity: no entity has this id.
            AmbiguousEntity: several have this name.
        """
        of_type = naming.check_type(named.type)
        found = _named(self._connection, self._space, named.name, of_type)
        own = named.name if found is None else found.name
        aliases = [naming.check_alias(alias, own, secrets=self._secrets_kept) for alias in named.aliases]
        news = {} if found is None else self._news(found, named, of_type)
        here = self._read(self._made(named, of_type)) if found is None else found
        if news:
            entities.change(self._connection, self._space, here.number, {**news, "updated_at": self._now})
        changed = self._add(here, aliases, named.evidence) or bool(news)
        return Entered(self._read(here.number) if changed else here, changed or found is None)

    def enter_another(self, named: Named) -> Entity:
        """A new entity of a name that others may have, told apart from them from now on.

        Raises:
            InvalidText, TextTooLong, SecretRefused, InvalidInput: it can be no name, alias, type or metadata.
        """
        if naming.is_self(named.name) or naming.is_id(named.name):
            raise InvalidInput(f"There is only one {named.name[:40]!a}.", way_out="Give a name that two may have.")
        slug = naming.slug(named.name)
        others = entities.numbers_of_slug(self._connection, self._space, slug)
        aliases = [naming.check_alias(alias, named.name, secrets=self._secrets_kept) for alias in named.aliases]
        number = self._made(named, naming.check_type(named.type))
        for other in others:
            graph_pairs.put(
                self._connection, self._space, number, other, "apart", 0, "said to be another one", self._now
            )
        self._add(self._read(number), aliases, named.evidence)
        return self._read(number)

    def _read(self, number: int) -> Entity:
        return entities.by_numbers(self._connection, self._space, [number])[number]

    def _made(self, named: Named, of_type: str) -> int:
        """A new entity."""
        is_user = naming.is_self(named.name)
        new = NewEntity(
            id=new_id(),
            name=naming.USER if is_user else self._name(named.name),
            type="person" if is_user else of_type,
            origin=named.origin,
            path=named.path,
            authority=named.authority,
            seen=named.seen,
            metadata=checks.metadata(named.metadata, self._settings),
        )
        return entities.put(self._connection, self._space, new, self._now)

    def _name(self, said: str) -> str:
        return naming.require_no_pronoun(naming.check(said, secrets=self._secrets_kept))

    def _news(self, known: Entity, named: Named, of_type: str) -> dict[str, Any]:
        """The columns of an entity that become others."""
        news: dict[str, Any] = {}
        if known.type == "other" != of_type:
            news["type"] = of_type
        if named.authority > known.authority:
            news["authority"] = int(named.authority)
        own = checks.metadata(named.metadata, self._settings) if named.metadata else {}
        both = checks.metadata({**known.metadata, **own}, self._settings) if own else known.metadata
        if both != known.metadata:
            news["metadata"] = entities.stored_metadata(both)
        first, last = to_millis(known.first_seen), to_millis(known.last_seen)
        if not first <= named.seen <= last:
            news |= {"first_seen": min(first, named.seen), "last_seen": max(last, named.seen)}
        return news

    def _add(self, own: Entity, aliases: Sequence[str], evidence: Sequence[Evidence]) -> bool:
        """Add names and evidence; whether any of them is new."""
        others = [alias for alias in naming.names(own.name, aliases) if not naming.is_self(alias)]
        added = entities.add_aliases(self._connection, self._space, own.number, others, self._now)
        return added + entities.add_evidence(self._connection, self._space, own.number, evidence) > 0


def find(connection: Connection, space: str, which: str, *, type: str | None = None) -> Entity | None:
    """The entity of an id, name or alias as it stands now, with its evidence; None where there is none.

    Raises:
        AmbiguousEntity: several have this name.
    """
    try:
        named = _named(connection, space, which, naming.check_type(type or "other"))
    except UnknownEntity:
        return None
    if named is None:
        return None
    standing = entities.canonical(connection, space, named.number)
    found = entities.by_numbers(connection, space, [standing], evidence=True)
    return whole(connection, space, [found[standing]], evidence=True)[0]


def new_id() -> str:
    """A name for an entity or a relation: 12 characters that nobody guesses."""
    return secrets.token_hex(6)


def _named(connection: Connection, space: str, name: str, of_type: str) -> Entity | None:
    """The entity that goes by a name itself, also where it was merged into another; None for none."""
    if naming.is_id(name):
        found = entities.by_id(connection, space, name)
        if found is None:
            raise UnknownEntity(f"There is no entity {name}.")
        return found
    slug = naming.USER if naming.is_self(name) else naming.slug(name)
    numbers = entities.numbers_of_slug(connection, space, slug)
    if not numbers:
        return None
    ends = entities.canonical_of(connection, space, numbers)
    known = entities.by_numbers(connection, space, {*numbers, *ends.values()})
    fitting = _fitting([known[number] for number in sorted(set(ends.values()))], of_type)
    if len(fitting) > 1:
        raise AmbiguousEntity(
            f"{len(fitting)} entities are called {name[:80]!a}: {told_apart(connection, space, fitting)}.",
            ids=tuple(each.id for each in fitting),
        )
    if not fitting:
        return None
    these = [number for number in numbers if ends[number] == fitting[0].number]
    # Before one that only has it as an alias, the one whose name it is; before a merged one, the one that stands.
    best = min(these, key=lambda number: (number != ends[number], naming.slug(known[number].name) != slug, number))
    return known[best]


def _fitting(found: Sequence[Entity], of_type: str) -> Sequence[Entity]:
    """Those of several that may be of a type; those that are of it before those whose type is another."""
    possible = [each for each in found if not _apart(each.type, of_type)]
    exact = [each for each in possible if of_type == each.type != "other"]
    return exact or possible


def _apart(one: str, other: str) -> bool:
    return one != other and {one, other} <= _TOLD_APART and bool({one, other} & _APART)
