"""Resolves a mention to an entity: by id, name, alias, kinship, spelling, and meaning.

Ambiguity is reported, not guessed away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import AmbiguousEntity, UnknownEntity
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.types import FoundBy, Match, Resolution
from langmem_tiers.knowledge_graph.view import Asked, GraphView
from langmem_tiers.knowledge_graph.wording import entity_words, listed
from langmem_tiers.language import kinship, predicates
from langmem_tiers.language.predicates import of_kin
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.words import FIRST_PERSON, STOPWORDS, words
from langmem_tiers.models.guarded_embedder import GuardedEmbedder
from langmem_tiers.records import Entity, EntityType
from langmem_tiers.storage.change_log import moment

NONE_LIKE = "No name is like it."
NO_USER = "The entity 'user' is made by the first thing that is known of them."
# Maximum number of matches returned.
_SHOWN = 20
# A name or kinship shared by more entities than this is of no use to a recall.
_SHARED = 5
# Minimum similarity to be listed and to be chosen; and the minimum lead over the next match.
_LIKE, _MEANT, _MARGIN = 0.8, 0.85, 0.05
# Shorter names have too many others that are just as similar.
_SHORT = 5
# The same thresholds for similarity of meaning.
_NEAR, _SAME, _NEARER = 0.5, 0.75, 0.1
_PART = 0.9
# Generic words for animals.
_PETS = {"pet", "pets", "animal"}
# How many characters of a text are searched for names.
_LOOKED_AT = 2_000
# "My wife's brother" is the brother of "my wife".
_OF_THEIRS = re.compile(r"(?P<owner>.+)['’]s? +(?P<what>.+?)", re.IGNORECASE)
_OWNED = re.compile(r"(?P<owner>my|our) +(?P<what>.+)", re.IGNORECASE)
_CAPITAL = re.compile(r"[^\W\d_a-z]\w*")
_INSIDE = re.compile(r"(?<=[\w,;:]\s)[^\W\d_a-z]\w*")


@dataclass(frozen=True, slots=True)
class _Found:
    """A candidate; a clear one is chosen if it is the only clear one."""

    entity: int
    by: FoundBy
    score: float
    clear: bool = True


def resolve(context: SpaceContext, mention: str, *, type: EntityType | None = None) -> Resolution:
    """Resolve a mention; see `KnowledgeGraph.resolve`. With an embedder, missing vectors of names are computed here."""
    asked, kind = arguments.any_text(mention, "mention"), None if type is None else naming.check_type(type)
    embedder, now = context.embedder, to_millis(context.clock())
    with context.open() as store:
        with store.reading() as connection:
            view = store.graph.view(moment(connection, store.key))
        known = resolve_in(view, asked, type=kind, at=now)
        if known.matches or not asked.strip() or not isinstance(embedder, GuardedEmbedder):
            return known
        from langmem_tiers.knowledge_graph import name_vectors

        near = name_vectors.nearest(store.database, embedder, view, asked[: naming.LONGEST], least=_NEAR)
    return _resolution(view, asked, _of_type(view, _by_meaning(near), kind))


def resolve_in(view: GraphView, mention: str, *, type: EntityType | None = None, at: int | None = None) -> Resolution:
    """Resolve a mention in a view, without an embedder; kinship as of a moment in milliseconds, or now."""
    plain = mention.strip()
    if not plain or len(plain) > naming.LONGEST:
        return Resolution(mention=mention, entity=None)
    found = _of_type(view, _exact(view, plain, at), type)
    return _resolution(view, mention, found or _of_type(view, _like(view, plain), type))


def require_entity(resolve: Callable[[str], Resolution], mention: str) -> Entity:
    """The entity with this id, name, alias or kinship ("my sister"), or the only close match by spelling.

    Args:
        resolve: `KnowledgeGraph.resolve`.
        mention: How the caller refers to it.

    Raises:
        AmbiguousEntity: several entities match; the message lists them with their ids.
        UnknownEntity: none matches; the message lists similar ones.
    """
    found = resolve(mention)
    if found.entity is not None:
        return found.entity
    said = f"“{mention[:60]}”" if mention.isprintable() else ascii(mention[:60])
    # Similar spelling and meaning only count as suggestions.
    sure = [match for match in found.matches if match.found_by not in {"fuzzy", "vector"}]
    if sure:
        ids = tuple(match.entity.id for match in sure)
        raise AmbiguousEntity(f"Several may be meant by {said}: {_listed(sure)}.", ids=ids)
    like = f"Like it: {_listed(found.matches)}." if found.matches else NONE_LIKE
    raise UnknownEntity(f"Nothing is known of {said}.", way_out=like)


def _listed(matches: Sequence[Match]) -> str:
    return listed([entity_words(match.entity) for match in matches], len(matches))


def required(view: GraphView, name: str, *, at: int | None = None) -> int:
    """The number of the entity with this id, name or alias.

    Raises:
        UnknownEntity, AmbiguousEntity: no entity, or several, match.
    """
    number = known(view, name, at=at)
    if number is None:
        plain = name.strip()
        if naming.is_self(plain):
            raise UnknownEntity("Nothing is known of the user yet.", way_out=NO_USER)
        like = _like(view, plain)[:3] if plain and len(plain) <= naming.LONGEST else []
        listed = ", ".join(f"{row.name} ({row.id})" for row in (view.entities[each.entity] for each in like))
        perhaps = f" Perhaps you mean {listed}." if listed else ""
        raise UnknownEntity(f"There is no entity {_shown(plain)}.{perhaps}")
    return number


def known(view: GraphView, name: str, *, at: int | None = None) -> int | None:
    """Like `required`, but None if there is no such entity."""
    plain = name.strip()
    found = _exact(view, plain, at) if plain and len(plain) <= naming.LONGEST else []
    if len(found) > 1:
        rows = [view.entities[each.entity] for each in found]
        listed = ", ".join(f"{row.id} ({row.name}, {row.type}{_known_of(view, row.number)})" for row in rows[:_SHOWN])
        raise AmbiguousEntity(f"Several are called {_shown(plain)}: {listed}.", ids=tuple(row.id for row in rows))
    return found[0].entity if found else None


def named_in(view: GraphView, text: str, *, at: int | None = None) -> list[Match]:
    """The entities named in a text, in order: by name, by alias, and as "my sister".

    The user, meant by "I", "me" or "my", comes last. Entities that share a name share its score. A name that is also a
    common word, or is part of a person's name, only counts if it is capitalized.
    """
    shown = text[:_LOOKED_AT]
    said = words(shown)
    found: dict[int, _Found] = {}
    mine = False
    start = 0
    capitals = _Capitals(shown)
    while start < len(said):
        stop, these = _named_at(view, said, start, capitals, at)
        mine = mine or (not these and said[start] in FIRST_PERSON)
        for each in these:
            found.setdefault(each.entity, each)
        start = stop
    user = view.user() if mine else None
    if user is not None:
        found.setdefault(user, _Found(user, "alias", 1.0))
    return _matches(view, found.values())


def _named_at(
    view: GraphView, said: Sequence[str], start: int, capitals: _Capitals, at: int | None
) -> tuple[int, list[_Found]]:
    """The entities named at this word of a text, and where the name ends."""
    if said[start] in {"my", "our"}:
        user = view.user()
        for stop in range(min(start + 4, len(said)), start + 1, -1):
            what = " ".join(said[start + 1 : stop])
            kin = [] if user is None else _kin(view, user, kinship.mine(f"my {what}") or what, at)
            if kin and len(kin) <= _SHARED:
                return stop, _shares(kin, "kinship")
    span = view.names.span_at(said, start)
    if span is not None:
        held = view.standing(span.entities)
        if len(held) <= _SHARED and (span.stop - start > 1 or capitals.tell(said[start])):
            return span.stop, _shares(held, "name")
    return start + 1, _parts(view, said[start], capitals)


def _parts(view: GraphView, word: str, capitals: _Capitals) -> list[_Found]:
    """The people whose names contain this capitalized word."""
    held = view.names.by_word.get(word)
    if not held or len(held) > 10 * _SHARED or not capitals.tell(word, always=True):
        return []
    people = [number for number in view.standing(held) if view.entities[number].type == "person"]
    if len(people) > _SHARED:
        return []
    return [_Found(each.entity, each.by, each.score * _PART) for each in _shares(people, "fuzzy")]


def _shares(numbers: Sequence[int], by: FoundBy) -> list[_Found]:
    return [_Found(number, by, 1 / len(numbers)) for number in numbers]


class _Capitals:
    """Which words of a text are capitalized; computed on first use."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._inside: set[str] | None = None
        self._anywhere: set[str] = set()

    def tell(self, word: str, *, always: bool = False) -> bool:
        """Whether a word may be a name: common and very short words (or all, if `always`) must be capitalized."""
        common = word in STOPWORDS or (len(word) < 3 and word.isascii())
        if not common and not always:
            return True
        if self._inside is None:
            self._inside = {each.casefold() for each in _INSIDE.findall(self._text)}
            self._anywhere = {each.casefold() for each in _CAPITAL.findall(self._text)}
        return word in self._inside if common else word in self._anywhere


def _exact(view: GraphView, mention: str, at: int | None) -> list[_Found]:
    """Those whose id, name, alias or kinship matches the mention exactly, each once."""
    if naming.is_id(mention) and mention in view.ids:
        return [_Found(number, "id", 1.0) for number in view.standing([view.ids[mention]])]
    user = view.user() if naming.is_self(mention) else None
    if user is not None:
        return [_Found(user, "alias" if name_key(mention) != naming.USER else "name", 1.0)]
    if kin := _owned(view, mention, at):
        return [_Found(number, "kinship", 1.0) for number in kin]
    slug = name_key(mention)
    held = view.standing(view.names.by_slug.get(slug, ()))
    by: dict[int, FoundBy] = {each: "name" if view.entities[each].slug == slug else "alias" for each in held}
    return [_Found(number, by[number], 1.0) for number in sorted(held, key=lambda each: by[each] != "name")]


def _owned(view: GraphView, mention: str, at: int | None) -> list[int]:
    """Those meant by "my sister" or "Anna's boss"."""
    plain = " ".join(mention.split())
    found: list[int] = []
    for match in (each for pattern in (_OF_THEIRS, _OWNED) if (each := pattern.fullmatch(plain))):
        owners = _exact(view, "my" if match["owner"].casefold() == "our" else match["owner"], at)
        if not found and len(owners) == 1:
            owner, what = owners[0].entity, match["what"]
            found = _kin(view, owner, kinship.mine(f"my {what}") or what, at) or _called(view, owner, what, at)
    return found


def _called(view: GraphView, owner: int, what: str, at: int | None) -> list[int]:
    """The entities related to someone that have this name or kind: "my camera" if the user owns one."""
    slug = name_key(what)
    held = set(view.standing(view.names.by_slug.get(slug, ())))
    rows = [view.relations[number] for number in view.edges(owner, Asked(first=at, last=at), 10 * _SHOWN)[0]]
    own = [view.canonical(row.object) for row in rows if row.object and view.canonical(row.subject) == owner]
    named = [number for number in dict.fromkeys(own) if number in held]
    return named or [number for number in dict.fromkeys(own) if slug in _kinds(view, number)]


def _kin(view: GraphView, owner: int, word: str, at: int | None) -> list[int]:
    """Someone's sisters, bosses or dogs: at a moment, or those that have not ended."""
    asked = Asked(first=at, last=at, predicates=of_kin(word))
    numbers, _ = view.edges(owner, asked, 10 * _SHOWN)
    found: dict[int, None] = {}
    for row in (view.relations[number] for number in numbers):
        forth = view.canonical(row.subject) == owner
        other = view.other(row, owner)
        open_still = at is not None or row.last.valid_to is None
        if not isinstance(other, int) or not (forth or predicates.symmetric(row.predicate)):
            continue
        if open_still and (row.predicate != "has_pet" or _may_be(_kinds(view, other), word.casefold())):
            found[other] = None
    return list(found)


def _may_be(kinds: set[str], word: str) -> bool:
    """Whether a pet may be meant by a word: "my cat" is not one known to be a dog."""
    return not kinds or word in _PETS or any(word in kind.split() for kind in kinds)


def _kinds(view: GraphView, number: int) -> set[str]:
    """What something is said to be, such as "dog"."""
    asked = Asked(predicates=frozenset({"is_a"}))
    rows = (view.relations[each] for each in view.edges(number, asked, _SHOWN)[0])
    return {view.target(row).casefold() for row in rows if row.kind == "stated"} - {""}


def _like(view: GraphView, mention: str) -> list[_Found]:
    """Those whose name contains the mention or is spelled similarly, most similar first."""
    slug = name_key(mention)
    found: dict[int, _Found] = {}
    for known, score in view.names.spellings.like(slug, least=_LIKE):
        for number in view.standing(view.names.by_slug.get(known, ())):
            found.setdefault(number, _Found(number, "fuzzy", score, _meant(slug, known, score)))
    for number in _having(view, words(mention)):
        if number not in found or found[number].score < _PART:
            found[number] = _Found(number, "fuzzy", _PART, clear=view.entities[number].type == "person")
    ordered = sorted(found.values(), key=lambda each: (-each.score, each.entity))
    close = len(ordered) > 1 and ordered[1].score > ordered[0].score - _MARGIN
    # Only the first one may be meant, and only if no other is about as similar.
    return [each if not place and not close else replace(each, clear=False) for place, each in enumerate(ordered)]


def _having(view: GraphView, said: Sequence[str]) -> list[int]:
    """The entities with all these words in one of their names, most recently mentioned first."""
    if not said or all(word in STOPWORDS for word in said):
        return []
    holding = sorted((view.names.by_word.get(word, ()) for word in said), key=len)
    held = set(holding[0]).intersection(*holding[1:])
    return sorted(view.standing(held), key=lambda number: -view.entities[number].last_seen)[:_SHOWN]


def _meant(mention: str, known: str, score: float) -> bool:
    """Whether one name may be a misspelling of the other: not Julian/Julia, Hanna/Anna, or room 12/room 13."""
    if score < _MEANT or len(mention) < _SHORT or len(known) < _SHORT or mention[0] != known[0]:
        return False
    if mention.startswith(known) or known.startswith(mention):
        return False
    return [sign for sign in mention if sign.isdigit()] == [sign for sign in known if sign.isdigit()]


def _by_meaning(near: Sequence[tuple[int, float]]) -> list[_Found]:
    best = near[0][1] if near else 0.0
    clear = best >= _SAME and (len(near) == 1 or near[1][1] <= best - _NEARER)
    return [_Found(each, "vector", min(score, 1.0), clear and not place) for place, (each, score) in enumerate(near)]


def _of_type(view: GraphView, found: Sequence[_Found], type: EntityType | None) -> list[_Found]:
    """Those of a type; an entity of unknown type may be of any."""
    if type is None:
        return list(found)
    same = [each for each in found if view.entities[each.entity].type == type]
    return same or [each for each in found if view.entities[each.entity].type == "other"]


def _resolution(view: GraphView, mention: str, found: Sequence[_Found]) -> Resolution:
    """The result: a clear candidate is chosen if no other is as likely."""
    matches = tuple(_matches(view, found[:_SHOWN]))
    clear = [each for each in found if each.clear]
    meant = matches[0].entity if len(clear) == 1 and clear[0] is found[0] else None
    return Resolution(mention=mention, entity=meant, matches=matches)


def _matches(view: GraphView, found: Iterable[_Found]) -> list[Match]:
    return [
        Match(
            entity=view.entity(each.entity),
            found_by=each.by,
            score=round(each.score, 4),
        )
        for each in found
    ]


def _known_of(view: GraphView, number: int) -> str:
    """A known fact about an entity, to tell it from its namesakes."""
    numbers, _ = view.edges(number, Asked(), 1)
    if not numbers:
        return ""
    row = view.relations[numbers[0]]
    subject = view.canonical(row.subject)
    whose = "" if subject == number else f"{view.entities[subject].name} "
    return f": {whose}{row.predicate.replace('_', ' ')} {view.target(row)}"


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:60]}…")
