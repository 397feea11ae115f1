"""Whom or what a mention means: by id, name, alias, kinship, spelling, and meaning.

The ambiguous is shown, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.embeddings.guard import GuardedEmbedder
from langmem_tiers.errors import AmbiguousEntity, UnknownEntity
from langmem_tiers.knowledge_graph import kinship, naming, predicates
from langmem_tiers.knowledge_graph.asked import of_kin
from langmem_tiers.knowledge_graph.types import EntityType, FoundBy, Match, Resolution
from langmem_tiers.knowledge_graph.view import Asked, GraphView
from langmem_tiers.palace.words import FIRST_PERSON, STOPWORDS, words
from langmem_tiers.storage import entities
from langmem_tiers.storage.change_log import moment

if TYPE_CHECKING:
    from langmem_tiers.space import Space

NO_USER = "The entity 'user' is made by the first thing that is known of them."
# Matches shown.
_SHOWN = 20
# Kin and names that are shared by more than so many tell a recall nothing.
_SHARED = 5
# How like a name has to be to be shown, and to be meant; and how much liker than the next one.
_LIKE, _MEANT, _MARGIN = 0.8, 0.85, 0.05
# A name of fewer letters has too many others that are as like.
_SHORT = 5
# The same, of meaning.
_NEAR, _SAME, _NEARER = 0.5, 0.75, 0.1
_PART = 0.9
# Words for animals of any kind.
_PETS = {"pet", "pets", "animal"}
# Characters of a text that are searched for names.
_LOOKED_AT = 2_000
# "My wife's brother" is the brother of "my wife".
_OF_THEIRS = re.compile(r"(?P<owner>.+)['’]s? +(?P<what>.+?)", re.IGNORECASE)
_OWNED = re.compile(r"(?P<owner>my|our) +(?P<what>.+)", re.IGNORECASE)
_CAPITAL = re.compile(r"[^\W\d_a-z]\w*")
_INSIDE = re.compile(r"(?<=[\w,;:]\s)[^\W\d_a-z]\w*")


@dataclass(frozen=True, slots=True)
class _Found:
    """An entity that may be meant; a clear one is meant if no other one is found."""

    entity: int
    by: FoundBy
    score: float
    clear: bool = True


def resolve(space: Space, mention: str, *, type: EntityType | None = None) -> Resolution:
    """What a mention means; see `KnowledgeGraph.resolve`. With an embedder, the names get their vectors here."""
    asked, kind = arguments.any_text(mention, "mention"), None if type is None else naming.check_type(type)
    embedder, now = space.memory.query_embedder, to_millis(space.memory.clock())
    with space.memory.use(space.name) as store:
        with store.reading() as connection:
            view = store.graph.view(moment(connection, store.key))
        known = resolve_in(view, asked, type=kind, at=now)
        if known.matches or not asked.strip() or not isinstance(embedder, GuardedEmbedder):
            return known
        from langmem_tiers.knowledge_graph import name_vectors

        near = name_vectors.nearest(store.database, embedder, view, asked[: naming.LONGEST], least=_NEAR)
    return _resolution(view, asked, _of_type(view, _by_meaning(near), kind))


def resolve_in(view: GraphView, mention: str, *, type: EntityType | None = None, at: int | None = None) -> Resolution:
    """What a mention means in a view, without an embedder; kin are those at a moment, in milliseconds, or now."""
    plain = mention.strip()
    if not plain or len(plain) > naming.LONGEST:
        return Resolution(mention=mention, entity=None)
    found = _of_type(view, _exact(view, plain, at), type)
    return _resolution(view, mention, found or _of_type(view, _like(view, plain), type))


def required(view: GraphView, name: str, *, at: int | None = None) -> int:
    """The number of the entity that has this id, name or alias.

    Raises:
        UnknownEntity, AmbiguousEntity: none has it, or several have.
    """
    number = known(view, name, at=at)
    if number is None:
        plain = name.strip()
        if naming.is_self(plain):
            raise UnknownEntity("Nothing is known of the user yet.", way_out=NO_USER)
        raise UnknownEntity(f"There is no entity {_shown(plain)}.{_meant_perhaps(view, plain)}")
    return number


def known(view: GraphView, name: str, *, at: int | None = None) -> int | None:
    """As `required`, but None where none has it."""
    plain = name.strip()
    found = _exact(view, plain, at) if plain and len(plain) <= naming.LONGEST else []
    if len(found) > 1:
        rows = [view.entities[each.entity] for each in found]
        told = ", ".join(f"{row.id} ({row.name}, {row.type}{_known_of(view, row.number)})" for row in rows[:_SHOWN])
        raise AmbiguousEntity(f"Several are called {_shown(plain)}: {told}.", ids=tuple(row.id for row in rows))
    return found[0].entity if found else None


def named_in(view: GraphView, text: str, *, at: int | None = None) -> list[Match]:
    """The entities that a text names, in the order it does: by name, by alias, and as "my sister".

    The user, where it says "I", "me" or "my", comes last. What several share is in it with a score shared by them. A
    name that is also a common word counts where it is written with a capital, and so does a part of a person's name.
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
    """What the words of a text name at a place, and where they end."""
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
    """The people who have a word, written with a capital, as a part of their name."""
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
    """Which words of a text are written with a capital; looked up once it is asked."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._inside: set[str] | None = None
        self._anywhere: set[str] = set()

    def tell(self, word: str, *, always: bool = False) -> bool:
        """Whether a word can be a name: common and very short ones, or all if `always`, need a capital."""
        common = word in STOPWORDS or (len(word) < 3 and word.isascii())
        if not common and not always:
            return True
        if self._inside is None:
            self._inside = {each.casefold() for each in _INSIDE.findall(self._text)}
            self._anywhere = {each.casefold() for each in _CAPITAL.findall(self._text)}
        return word in self._inside if common else word in self._anywhere


def _exact(view: GraphView, mention: str, at: int | None) -> list[_Found]:
    """Those whose id, name, alias or kinship a mention is, each once."""
    if naming.is_id(mention) and mention in view.ids:
        return _founds(view.standing([view.ids[mention]]), "id")
    user = view.user() if naming.is_self(mention) else None
    if user is not None:
        return [_Found(user, "alias" if naming.slug(mention) != naming.USER else "name", 1.0)]
    kin = _owned(view, mention, at)
    if kin:
        return _founds(kin, "kinship")
    slug = naming.slug(mention)
    held = view.standing(view.names.by_slug.get(slug, ()))
    by: dict[int, FoundBy] = {each: "name" if view.entities[each].slug == slug else "alias" for each in held}
    return [_Found(number, by[number], 1.0) for number in sorted(held, key=lambda each: by[each] != "name")]


def _founds(numbers: Iterable[int], by: FoundBy) -> list[_Found]:
    return [_Found(number, by, 1.0) for number in numbers]


def _owned(view: GraphView, mention: str, at: int | None) -> list[int]:
    """Those who are meant by "my sister" or "Anna's boss"."""
    plain = " ".join(mention.split())
    found: list[int] = []
    for match in (each for pattern in (_OF_THEIRS, _OWNED) if (each := pattern.fullmatch(plain))):
        owners = _exact(view, "my" if match["owner"].casefold() == "our" else match["owner"], at)
        if not found and len(owners) == 1:
            owner, what = owners[0].entity, match["what"]
            found = _kin(view, owner, kinship.mine(f"my {what}") or what, at) or _called(view, owner, what, at)
    return found


def _called(view: GraphView, owner: int, what: str, at: int | None) -> list[int]:
    """The entities that somebody is related to and that are called so, or are that: "my camera" of who owns one."""
    slug = naming.slug(what)
    held = set(view.standing(view.names.by_slug.get(slug, ())))
    rows = [view.relations[number] for number in view.edges(owner, Asked(first=at, last=at), 10 * _SHOWN)[0]]
    own = [view.canonical(row.object) for row in rows if row.object and view.canonical(row.subject) == owner]
    named = [number for number in dict.fromkeys(own) if number in held]
    return named or [number for number in dict.fromkeys(own) if slug in _kinds(view, number)]


def _kin(view: GraphView, owner: int, word: str, at: int | None) -> list[int]:
    """The entities that somebody has as their sister, boss or dog: at a moment, or those that have not ended."""
    asked = Asked(first=at, last=at, predicates=of_kin(word))
    numbers, _ = view.edges(owner, asked, 10 * _SHOWN)
    found: dict[int, None] = {}
    for row in (view.relations[number] for number in numbers):
        forth = view.canonical(row.subject) == owner
        other = view.other(row, owner)
        open_still = at is not None or row.last.valid_to is None
        if not isinstance(other, int) or not (forth or predicates.symmetric(row.predicate)):
            continue
        if open_still and (row.predicate != "has_pet" or _may_be(view, other, word)):
            found[other] = None
    return list(found)


def _may_be(view: GraphView, number: int, word: str) -> bool:
    """Whether a pet may be called by a word: "my cat" is none that is known to be a dog."""
    kinds = _kinds(view, number)
    return not kinds or word.casefold() in _PETS or any(word.casefold() in kind.split() for kind in kinds)


def _kinds(view: GraphView, number: int) -> set[str]:
    asked = Asked(predicates=frozenset({"is_a"}))
    return {_kind(view, each) for each in view.edges(number, asked, _SHOWN)[0]} - {""}


def _kind(view: GraphView, number: int) -> str:
    row = view.relations[number]
    named = row.value if row.object is None else view.entities[view.canonical(row.object)].name
    return (named or "").casefold() if row.predicate == "is_a" and row.kind == "stated" else ""


def _like(view: GraphView, mention: str) -> list[_Found]:
    """Those who have the mention as a part of their name, or one that is spelled like it; the likest first."""
    slug = naming.slug(mention)
    found: dict[int, _Found] = {}
    for known, score in view.names.spellings.like(slug, least=_LIKE):
        for number in view.standing(view.names.by_slug.get(known, ())):
            found.setdefault(number, _Found(number, "fuzzy", score, _meant(slug, known, score)))
    for number in _having(view, words(mention)):
        known_person = view.entities[number].type == "person"
        if number not in found or found[number].score < _PART:
            found[number] = _Found(number, "fuzzy", _PART, known_person)
    ordered = sorted(found.values(), key=lambda each: -each.score)
    if len(ordered) > 1 and ordered[1].score > ordered[0].score - _MARGIN:
        return [_Found(each.entity, each.by, each.score, clear=False) for each in ordered]
    return [*ordered[:1], *(_Found(each.entity, each.by, each.score, clear=False) for each in ordered[1:])]


def _having(view: GraphView, said: Sequence[str]) -> list[int]:
    """The entities that have all these words in one of their names, those spoken of last first."""
    if not said or all(word in STOPWORDS for word in said):
        return []
    holding = sorted((view.names.by_word.get(word, ()) for word in said), key=len)
    held = set(holding[0]).intersection(*holding[1:])
    return sorted(view.standing(held), key=lambda number: -view.entities[number].last_seen)[:_SHOWN]


def _meant(mention: str, known: str, score: float) -> bool:
    """Whether one name can be another one, misspelled: Julian is not Julia, Hanna not Anna, and room 12 not room 13."""
    if score < _MEANT or len(mention) < _SHORT or len(known) < _SHORT or mention[0] != known[0]:
        return False
    if mention.startswith(known) or known.startswith(mention):
        return False
    return _digits(mention) == _digits(known)


def _digits(name: str) -> list[str]:
    return [sign for sign in name if sign.isdigit()]


def _by_meaning(near: Sequence[tuple[int, float]]) -> list[_Found]:
    best = near[0][1] if near else 0.0
    clear = best >= _SAME and (len(near) == 1 or near[1][1] <= best - _NEARER)
    return [
        _Found(number, "vector", min(score, 1.0), clear and not place) for place, (number, score) in enumerate(near)
    ]


def _of_type(view: GraphView, found: Sequence[_Found], type: EntityType | None) -> list[_Found]:
    """Those of a type; one whose type is not known may be of any."""
    if type is None:
        return list(found)
    same = [each for each in found if view.entities[each.entity].type == type]
    return same or [each for each in found if view.entities[each.entity].type == "other"]


def _resolution(view: GraphView, mention: str, found: Sequence[_Found]) -> Resolution:
    """One that is clear is meant where nothing else is as likely."""
    matches = tuple(_matches(view, found[:_SHOWN]))
    clear = [each for each in found if each.clear]
    meant = matches[0].entity if len(clear) == 1 and clear[0] is found[0] else None
    return Resolution(mention=mention, entity=meant, matches=matches)


def _matches(view: GraphView, found: Iterable[_Found]) -> list[Match]:
    return [
        Match(
            entity=entities.entity(view.entities[each.entity]._replace(aliases=view.aliases(each.entity)), {}),
            found_by=each.by,
            score=round(each.score, 4),
        )
        for each in found
    ]


def _meant_perhaps(view: GraphView, name: str) -> str:
    like = _like(view, name)[:3] if name and len(name) <= naming.LONGEST else []
    told = ", ".join(f"{row.name} ({row.id})" for row in _rows(view, like))
    return f" Perhaps you mean {told}." if told else ""


def _rows(view: GraphView, found: Iterable[_Found]) -> Iterator[entities.EntityRow]:
    return (view.entities[each.entity] for each in found)


def _known_of(view: GraphView, number: int) -> str:
    """Something known of an entity, to tell it from others of its name."""
    numbers, _ = view.edges(number, Asked(), 1)
    if not numbers:
        return ""
    row = view.relations[numbers[0]]
    subject = view.canonical(row.subject)
    whose = "" if subject == number else f"{view.entities[subject].name} "
    target = row.value if row.object is None else view.entities[view.canonical(row.object)].name
    return f": {whose}{row.predicate.replace('_', ' ')} {target}"


def _shown(name: str) -> str:
    return repr(name if len(name) <= 60 else f"{name[:60]}…")
