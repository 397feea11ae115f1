"""Whom and what the words of a claim mean: the one who speaks, somebody's kin, a name, a thing of theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import AmbiguousEntity
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import entering, forgetting, kinship, naming
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.rules.claim import ME
from langmem_tiers.knowledge_graph.types import Entity, GraphPath
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.entities import NewEntity
from langmem_tiers.storage.relations import RelationRow
from langmem_tiers.storage.schema import drawers
from langmem_tiers.types import Drawer
from langmem_tiers.writing.proposals import Evidence

_NOBODY = frozenset(["user", "assistant", "human", "ai", "system", "tool", "bot", "agent", "speaker", "unknown", "me"])
# Kin that are told of before their names are: there is one of each, or "my other sister" would be said.
_UNNAMED = kinship.FAMILY | {"boss", "manager", "landlord", "roommate"}
_BEINGS = frozenset({"person", "pet", "animal"})
_ALSO = {**dict.fromkeys(("wife", "husband", "spouse"), "married_to"), "girlfriend": "dates", "boyfriend": "dates"}


class NotMeant(ValueError):
    """Nobody can tell who is meant; the message says why."""


@dataclass(kw_only=True)
class Mentions:
    """Who is meant in one message; what is named is made where it is not known.

    `drawer` is the message, None for the text of an episode, `seen` when it was said.
    """

    ledger: Ledger
    drawer: Drawer | None
    path: GraphPath
    quote: str
    seen: datetime
    same: dict[str, Entity] = field(default_factory=dict)
    """Who was meant by a name before in this message."""

    def me(self) -> Entity:
        """Whoever speaks: the user, or in a space of several speakers the one who is named."""
        name = " ".join((self.drawer.speaker or "").split()) if self.drawer else ""
        if not name or name.casefold() in _NOBODY or len(name) > naming.LONGEST:
            return self._named(naming.USER, "person")
        known = self.ledger.find(name, type="person")
        if known is not None:
            return self._named(known.id, "person")
        if self._only_speaker(name):
            user = self._named(naming.USER, "person")
            return self._named(user.id, "person", aliases=(name,))
        return self._named(name, "person")

    def meant(self, words: str, type: str) -> Entity:
        """The entity that words of a claim mean.

        Raises:
            NotMeant: several may be meant, or it was deleted.
            InvalidText, TextTooLong, SecretRefused: it can be no name.
        """
        if words == ME or naming.is_self(words):
            return self.me()
        if word := kinship.mine(words):
            return self._kin(word)
        known = self.same.get(naming.slug(words))
        return known if known is not None else self._named(words, type)

    def own(self, words: str, type: str, *, new: bool) -> Entity:
        """A thing of the one who speaks: one that they had, or another one that they got just then.

        Raises:
            NotMeant: several may be meant, or it was deleted.
            InvalidText, TextTooLong, SecretRefused: it can be no name.
        """
        had = None if new else self.thing(words)
        found = had if had is not None else self._named(self._thing(words), type)
        if new:
            self.same[naming.slug(self._thing(words))] = found
        return found

    def thing(self, words: str) -> Entity | None:
        """What is known that the one who speaks owns, by its name, or by a part of it and what it is: "my camera".

        Raises:
            NotMeant: several may be meant.
        """
        ledger = self.ledger
        named = ledger.find(self._thing(words))
        if named is not None:
            return named
        wanted = set(naming.slug(words).split())
        new = {each.number for each in self.same.values()}
        fitting = [each for each in self._had("owns") if each.number not in new and wanted <= self._told_of(each)]
        if len(fitting) > 1:
            raise NotMeant(f"several may be meant by {words!r}")
        return fitting[0] if fitting else None

    def being(self, words: str) -> Entity | None:
        """Who or which animal is known that words mean: a name, "my sister", or "my dog"; None where nobody is.

        Raises:
            NotMeant: several may be meant.
        """
        if word := kinship.mine(words):
            known = self._known_kin(word)
            return known if known is not None else self.ledger.find(_placeholder(self.me(), word), type="person")
        if words.startswith("my "):
            kind = words.removeprefix("my ")
            held = [each for each in self._had("has_pet") if kind in self._told_of(each)]
        else:
            named = entities.by_slug(self.ledger.connection, self.ledger.space, naming.slug(words))
            held = [each for each in named if each.type in _BEINGS]
        if len(held) > 1:
            raise NotMeant(f"several may be meant by {words!r}")
        return held[0] if held else None

    def kin(self, of: Entity, word: str, name: str) -> Entity:
        """Somebody by name who is said to be kin: another one than whoever has the name and can not be it."""
        slug = naming.slug(name)
        if slug in self.same:
            return self.same[slug]
        held = self._called(name)
        fitting = [each for each in held if not self._excluded(of, word, each)]
        already = [each for each in fitting if self._is_kin(of, word, each)]
        chosen = already or fitting
        if len(chosen) == 1:
            found = self._named(chosen[0].id, "person")
        elif chosen:
            raise NotMeant("several have this name")
        else:
            found = self._another(name) if held else self._named(name, "person")
        self.same[slug] = found
        return found

    def unnamed(self, of: Entity, word: str) -> Entity | None:
        """The kin whom nobody had named yet, if there is no other of the kind who has a name."""
        waiting = self.ledger.find(_placeholder(of, word), type="person")
        known = {
            entities.canonical(self.ledger.connection, self.ledger.space, row.object or 0)
            for row in self._rows(of, word)
        }
        return waiting if waiting is not None and known <= {waiting.number} else None

    def _kin(self, word: str) -> Entity:
        """The sister that is known, or a sister of no name."""
        known = self._known_kin(word)
        if known is not None:
            return known
        if word not in _UNNAMED:
            raise NotMeant(f"nobody is known to be 'my {word}'")
        return self._named(_placeholder(self.me(), word), "person")

    def _known_kin(self, word: str) -> Entity | None:
        """The only sister that is known by name."""
        rows = self._rows(self.me(), word)
        known = {entities.canonical(self.ledger.connection, self.ledger.space, row.object or 0) for row in rows}
        if len(known) > 1:
            raise NotMeant(f"several may be meant by 'my {word}'")
        return self.ledger.read_entity(known.pop()) if known else None

    def _had(self, predicate: str) -> list[Entity]:
        """What the one who speaks is known to have by a predicate, as it stands now."""
        connection, space = self.ledger.connection, self.ledger.space
        rows = relations.group(connection, space, entities.members(connection, space, self.me().number), predicate)
        held = {row.object for row in rows if row.believed and row.last.valid_to is None and row.object is not None}
        ends = set(entities.canonical_of(connection, space, held).values())
        return [*entities.by_numbers(connection, space, ends).values()]

    def _told_of(self, thing: Entity) -> set[str]:
        """The words of its name, and of what it is."""
        connection, space = self.ledger.connection, self.ledger.space
        rows = relations.group(connection, space, entities.members(connection, space, thing.number), "is_a")
        kinds = (row.value or "" for row in rows if row.believed)
        return {word for text in (thing.name, *kinds) for word in naming.slug(text).split()}

    def _rows(self, of: Entity, word: str) -> list[RelationRow]:
        """The relations that tell who is kin of somebody and have not ended."""
        connection, space = self.ledger.connection, self.ledger.space
        members = entities.members(connection, space, of.number)
        told = [kinship.predicate(word), *([_ALSO[word]] if word in _ALSO else [])]
        rows = [row for predicate in told for row in relations.group(connection, space, members, predicate)]
        return [row for row in rows if row.believed and row.last.valid_to is None and row.object is not None]

    def _thing(self, noun: str) -> str:
        """A thing as it is named: the user's by its noun, that of others with theirs."""
        owner = self.me()
        return noun if owner.name == naming.USER else f"{owner.name}'s {noun}"

    def _called(self, name: str) -> list[Entity]:
        """The people of a name, as they stand now."""
        held = entities.by_slug(self.ledger.connection, self.ledger.space, naming.slug(name))
        return [each for each in held if each.type in {"person", "other"}]

    def _excluded(self, of: Entity, word: str, known: Entity) -> bool:
        """Whether somebody is already kin of another kind to the same, so that this is another person."""
        kinds = (row.predicate.removeprefix("has_").replace("_", " ") for row in self._between(of, known))
        return any(kinship.exclude(kind, word) for kind in kinds)

    def _is_kin(self, of: Entity, word: str, known: Entity) -> bool:
        return any(row.predicate == kinship.predicate(word) for row in self._between(of, known))

    def _between(self, of: Entity, known: Entity) -> list[RelationRow]:
        connection, space = self.ledger.connection, self.ledger.space
        ends = [entities.members(connection, space, each.number) for each in (of, known)]
        return [
            row
            for row in relations.between(connection, space, *ends)
            if row.believed and row.predicate.startswith("has_")
        ]

    def _named(self, name: str, type: str, aliases: tuple[str, ...] = ()) -> Entity:
        if not naming.is_id(name) and forgetting.deleted_entity(self.ledger.connection, self.ledger.space, name):
            raise NotMeant(DELETED)
        try:
            return self.ledger.said(
                name,
                type=type or "other",
                aliases=aliases,
                evidence=self.evidence(),
                origin=self.drawer.origin if self.drawer else "assistant",
                path=self.path,
                authority=Authority.SYSTEM,
                seen=self.seen,
            )
        except AmbiguousEntity as error:
            raise NotMeant("several have this name") from error

    def _another(self, name: str) -> Entity:
        """Somebody else of a name that somebody has."""
        ledger = self.ledger
        new = NewEntity(
            id=entering.new_id(),
            name=naming.check(name),
            type="person",
            origin=self.drawer.origin if self.drawer else "assistant",
            path=self.path,
            authority=Authority.SYSTEM,
            seen=to_millis(self.seen),
        )
        number = entities.put(ledger.connection, ledger.space, new, ledger.now)
        entities.add_evidence(ledger.connection, ledger.space, number, self.evidence())
        ledger.log_entities(number)
        return ledger.read_entity(number)

    def evidence(self) -> tuple[Evidence, ...]:
        """The message with the words that say so."""
        return (Evidence(drawer=self.drawer.number, quote=self.quote),) if self.drawer else ()

    def _only_speaker(self, name: str) -> bool:
        spoken = (
            select(drawers.c.speaker)
            .distinct()
            .where(drawers.c.space == self.ledger.space, drawers.c.role == "user", drawers.c.speaker.is_not(None))
        )
        others = spoken.where(drawers.c.speaker != (self.drawer.speaker if self.drawer else None)).limit(2)
        found = self.ledger.connection.execute(others).scalars()
        return all(" ".join(each.split()).casefold() in {name.casefold(), *_NOBODY} for each in found)


DELETED = "it was deleted"
"""Why what was deleted on purpose does not come back."""


def _placeholder(of: Entity, word: str) -> str:
    """What somebody is called whose name nobody has said."""
    return f"{of.name}'s {word}"
