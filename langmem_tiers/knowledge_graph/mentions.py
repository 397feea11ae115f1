"""Resolves the words of a claim to entities: the speaker, a relative, a name, or a possession."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import AmbiguousEntity
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.entities import NamedEntity, find_entity, insert_entity, upsert_entity
from langmem_tiers.knowledge_graph.tombstones import entity_deleted
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, is_open
from langmem_tiers.language import kinship
from langmem_tiers.language.claims import ME
from langmem_tiers.language.slugs import name_key
from langmem_tiers.records import Authority, Entity, Evidence, GraphPath
from langmem_tiers.storage import drawers, entities, relations
from langmem_tiers.types import Drawer

_NOBODY = frozenset(["user", "assistant", "human", "ai", "system", "tool", "bot", "agent", "speaker", "unknown", "me"])
# Relatives mentioned before their names: presumably there is only one, else it would be "my other sister".
_UNNAMED = kinship.FAMILY | {"boss", "manager", "landlord", "roommate"}
_BEINGS = frozenset({"person", "pet", "animal"})
_ALSO = {**dict.fromkeys(("wife", "husband", "spouse"), "married_to"), "girlfriend": "dates", "boyfriend": "dates"}


class RefusedClaim(ValueError):
    """A claim that is not kept, such as one that may mean several; the message says why."""


NOTHING = "nobody would miss it"
"""Why nothing is told of what was refused."""
DELETED = "it was deleted"
"""Why what was deleted on purpose does not come back."""


@dataclass(kw_only=True)
class Mentions:
    """Resolves the mentions of one message; unknown names are created as entities.

    `drawer` is the message, None for the text of an episode, `seen` when it was written.
    """

    graph: GraphTransaction
    drawer: Drawer | None
    path: GraphPath
    quote: str
    seen: datetime
    same: dict[str, Entity] = field(default_factory=dict)
    """Names already resolved in this message."""

    def me(self) -> Entity:
        """The speaker: the user, or the named speaker in a space with several."""
        name = " ".join((self.drawer.speaker or "").split()) if self.drawer else ""
        if not name or name.casefold() in _NOBODY or len(name) > naming.LONGEST:
            return self._named(naming.USER, "person")
        known = self._find(name)
        if known is not None:
            return self._named(known.id, "person")
        if self.drawer and self.drawer.origin != "import" and self._only_speaker(name):
            user = self._named(naming.USER, "person")
            return self._named(user.id, "person", aliases=(name,))
        return self._named(name, "person")

    def entity(self, words: str, type: str) -> Entity:
        """The entity that the words of a claim refer to.

        Raises:
            Refused: several may be meant, or it was deleted.
            InvalidText, TextTooLong, SecretRefused: it cannot be a name.
        """
        if words == ME or naming.is_self(words):
            return self.me()
        if word := kinship.mine(words):
            kin = self._known_kin(word)
            if kin is None and word not in _UNNAMED:
                raise RefusedClaim(f"nobody is known to be 'my {word}'")
            return self._named(_placeholder(self.me(), word), "person") if kin is None else kin
        known = self.same.get(name_key(words))
        return known if known is not None else self._named(words, type)

    def own(self, words: str, type: str, *, new: bool) -> Entity:
        """A possession of the speaker: a known one, or another one just acquired.

        Raises:
            Refused: several may be meant, or it was deleted.
            InvalidText, TextTooLong, SecretRefused: it cannot be a name.
        """
        had = None if new else self.thing(words)
        found = had if had is not None else self._named(self._thing(words), type)
        if new:
            self.same[name_key(self._thing(words))] = found
        return found

    def thing(self, words: str) -> Entity | None:
        """A known possession of the speaker, by its name, or by part of it and its kind: "my camera".

        Raises:
            Refused: several may be meant.
        """
        named = find_entity(self.graph, self._thing(words), whole=False)
        if named is not None:
            return named
        wanted = set(name_key(words).split())
        new = {each.number for each in self.same.values()}
        fitting = [each for each in self._had("owns") if each.number not in new and wanted <= self._words_about(each)]
        if len(fitting) > 1:
            raise RefusedClaim(f"several may be meant by {words!r}")
        return fitting[0] if fitting else None

    def being(self, words: str) -> Entity | None:
        """The known person or animal that words refer to: a name, "my sister", or "my dog"; None if there is none.

        Raises:
            Refused: several may be meant.
        """
        if word := kinship.mine(words):
            known = self._known_kin(word)
            return known if known is not None else self._find(_placeholder(self.me(), word))
        if words.startswith("my "):
            kind = words.removeprefix("my ")
            held = [each for each in self._had("has_pet") if kind in self._words_about(each)]
        else:
            held = [each for each in self._by_name(words) if each.type in _BEINGS]
        if len(held) > 1:
            raise RefusedClaim(f"several may be meant by {words!r}")
        return held[0] if held else None

    def kin(self, of: Entity, word: str, name: str) -> Entity:
        """A relative by name; someone else than a namesake who cannot be that relative."""
        slug = name_key(name)
        if slug in self.same:
            return self.same[slug]
        held = [each for each in self._by_name(name) if each.type in {"person", "other"}]
        related = {each.number: self._relations_between(of, each) for each in held}
        fitting = [each for each in held if not any(_excludes(one, word) for one in related[each.number])]
        chosen = [each for each in fitting if kinship.predicate(word) in related[each.number]] or fitting
        if len(chosen) == 1:
            found = self._named(chosen[0].id, "person")
        elif chosen:
            raise RefusedClaim("several have this name")
        else:
            found = self._namesake(name) if held else self._named(name, "person")
        self.same[slug] = found
        return found

    def unnamed(self, of: Entity, word: str) -> Entity | None:
        """The relative known without a name, unless another one of that kind has a name."""
        waiting = self._find(_placeholder(of, word))
        return waiting if waiting is not None and self._relatives(of, word) <= {waiting.number} else None

    def _known_kin(self, word: str) -> Entity | None:
        """The only sister known by name."""
        known = self._relatives(self.me(), word)
        if len(known) > 1:
            raise RefusedClaim(f"several may be meant by 'my {word}'")
        return self._standing(known)[0] if known else None

    def _had(self, predicate: str) -> list[Entity]:
        """The entities that the speaker is known to have by a predicate."""
        rows = self.graph.stated(self.me(), predicate)
        return self._standing(row.object for row in rows if is_open(row) and row.object is not None)

    def _words_about(self, thing: Entity) -> set[str]:
        """The words of its name and of its kind."""
        kinds = (row.value or "" for row in self.graph.stated(thing, "is_a") if row.believed)
        return {word for text in (thing.name, *kinds) for word in name_key(text).split()}

    def _relatives(self, of: Entity, word: str) -> set[int]:
        """The current sisters, bosses and so on of someone, as canonical entities."""
        rows = self.graph.stated(of, kinship.predicate(word), *([_ALSO[word]] if word in _ALSO else []))
        return {self.graph.canonical(row.object) for row in rows if is_open(row) and row.object is not None}

    def _thing(self, noun: str) -> str:
        """The name for a thing: the user's by its noun, that of others with the owner's name."""
        owner = self.me()
        return noun if owner.name == naming.USER else f"{owner.name}'s {noun}"

    def _relations_between(self, of: Entity, known: Entity) -> set[str]:
        """The believed kinship between two, as predicates."""
        ends = [self.graph.members(each.number) for each in (of, known)]
        rows = relations.between(*self.graph.at, *ends)
        return {row.predicate for row in rows if row.believed and row.predicate.startswith("has_")}

    def _named(self, name: str, type: str, aliases: tuple[str, ...] = ()) -> Entity:
        if not naming.is_id(name) and entity_deleted(self.graph, name):
            raise RefusedClaim(DELETED)
        try:
            return upsert_entity(self.graph, self._said(name, type or "other", aliases))
        except AmbiguousEntity as error:
            raise RefusedClaim("several have this name") from error

    def _namesake(self, name: str) -> Entity:
        """A new person with a name that someone else has, too."""
        made = insert_entity(self.graph, self._said(name, "person"), "person")
        entities.add_evidence(*self.graph.at, made.number, self.evidence())
        return made

    def _said(self, name: str, type: str, aliases: tuple[str, ...] = ()) -> NamedEntity:
        return NamedEntity(
            name=name,
            type=type,
            aliases=aliases,
            evidence=self.evidence(),
            origin=self.drawer.origin if self.drawer else "assistant",
            path=self.path,
            authority=Authority.SYSTEM,
            seen=to_millis(self.seen),
        )

    def _find(self, name: str) -> Entity | None:
        """The canonical person with a name."""
        return find_entity(self.graph, name, type="person", whole=False)

    def _by_name(self, name: str) -> list[Entity]:
        """The canonical entities with a name or alias."""
        return self._standing(entities.numbers_of_slug(*self.graph.at, name_key(name)))

    def _standing(self, numbers: Iterable[int]) -> list[Entity]:
        ends = {self.graph.canonical(number) for number in numbers}
        found = entities.by_numbers(*self.graph.at, ends) if ends else {}
        return [found[number] for number in sorted(found)]

    def evidence(self) -> tuple[Evidence, ...]:
        """The message with the words quoted as evidence."""
        return (Evidence(drawer=self.drawer.number, quote=self.quote),) if self.drawer else ()

    def _only_speaker(self, name: str) -> bool:
        found = drawers.other_speakers(*self.graph.at, self.drawer.speaker if self.drawer else None, most=2)
        return all(" ".join(each.split()).casefold() in {name.casefold(), *_NOBODY} for each in found)


def _placeholder(of: Entity, word: str) -> str:
    """The name for someone whose name is unknown, such as "Anna's sister"."""
    return f"{of.name}'s {word}"


def _excludes(predicate: str, word: str) -> bool:
    """Whether who is related so cannot be that relative as well: a mother is no sister."""
    return kinship.exclude(predicate.removeprefix("has_").replace("_", " "), word)
