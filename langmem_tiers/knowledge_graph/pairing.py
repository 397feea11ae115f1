"""Which entities may be the same as others: looked up by their names, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from langmem_tiers.knowledge_graph import likeness, name_tables, naming
from langmem_tiers.knowledge_graph.likeness import Likeness
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.palace.words import words
from langmem_tiers.storage.entities import EntityRow

# Entities compared with each one.
_MOST = 60
_SPELLED_ALIKE = 0.7
_MOST_NAMES = 5  # of each, its own and others it goes by


class Pair(NamedTuple):
    """Two entities of like names: `source` would become `target`."""

    source: EntityRow
    target: EntityRow
    like: Likeness


def pairs(view: GraphView, numbers: Sequence[int]) -> list[Pair]:
    """The pairs of these entities with any others, each once, the likest first."""
    return _found(view, numbers, _near)


def twins(view: GraphView, numbers: Sequence[int]) -> list[Pair]:
    """As `pairs`, but only with others whose names look the same and are written with other letters."""
    return [pair for pair in _found(view, numbers, _looking_alike) if pair.like.score == likeness.LOOKALIKE]


def _found(
    view: GraphView, numbers: Sequence[int], others: Callable[[GraphView, EntityRow], Sequence[EntityRow]]
) -> list[Pair]:
    found: dict[tuple[int, int], Pair] = {}
    for number in numbers:
        row = view.entities.get(number)
        if row is None or row.merged_into is not None or not _has_a_name(row):
            continue
        for other in others(view, row):
            pair = _pair(view, row, other)
            if pair is not None:
                found[min(number, other.number), max(number, other.number)] = pair
    return sorted(found.values(), key=lambda pair: -pair.like.score)


def _pair(view: GraphView, one: EntityRow, other: EntityRow) -> Pair | None:
    like = _likeness(one, other)
    if like.kind == "other":
        return None
    source, target = _directed(one, other)
    if (
        like.kind == "part"
        and len([each for each in _near(view, source) if _likeness(source, each).kind == "part"]) > 1
    ):
        like = Likeness("like", like.score, "several have this name")
    return Pair(source, target, like)


def _near(view: GraphView, row: EntityRow) -> list[EntityRow]:
    """The entities that share a word of a name, or have one that looks or is spelled alike."""
    numbers = dict.fromkeys(each.number for each in _looking_alike(view, row))
    for name in _names(row):
        slug = naming.slug(name)
        spelled = [known for known, _ in view.names.spellings.like(slug, least=_SPELLED_ALIKE)]
        for known in (slug, *spelled, *_other_forms(name)):
            numbers |= dict.fromkeys(view.standing(view.names.by_slug.get(known, ())))
        for word in words(name):
            held = (*view.names.by_word.get(word, ()), *view.names.by_slug.get(word, ()))
            numbers |= dict.fromkeys(view.standing(held[:_MOST]))
    numbers.pop(row.number, None)
    rows = [view.entities[number] for number in [*numbers][:_MOST]]
    return [each for each in rows if _has_a_name(each)]


def _looking_alike(view: GraphView, row: EntityRow) -> list[EntityRow]:
    alike = sorted(number for name in _names(row) for number in view.names.twins(name))
    rows = [view.entities[number] for number in view.standing(alike)[:_MOST] if number != row.number]
    return [each for each in rows if _has_a_name(each)]


def _other_forms(name: str) -> Iterator[str]:
    """Whole names that this one may stand for: short forms, initials, without blanks."""
    folded = likeness.folded(name)
    yield folded
    yield folded.replace(" ", "")
    country = name_tables.COUNTRIES.get(folded)
    yield from (known for known, whole in name_tables.COUNTRIES.items() if whole == country)
    said = folded.split()
    if len(said) == 1:
        yield from name_tables.NICKNAMES.get(folded, ())
    elif len(said) < 8:
        yield "".join(word[0] for word in said)


def _likeness(one: EntityRow, other: EntityRow) -> Likeness:
    """How like the likest of their names are; their own names have to be no other ones."""
    own = likeness.compare(one.name, other.name, one.type, other.type)
    both = [(first, second) for first in _names(one) for second in _names(other)]
    if any(likeness.look_alike(*pair) for pair in both):
        return likeness.ALIKE
    if own.kind != "other":
        return own
    best = max((likeness.compare(*pair, one.type, other.type) for pair in both), key=lambda each: each.score)
    return Likeness("like", best.score, "by another name") if best.kind in {"same", "like"} else own


def _names(row: EntityRow) -> tuple[str, ...]:
    return (row.name, *row.aliases)[:_MOST_NAMES]


def _has_a_name(row: EntityRow) -> bool:
    """Whether an entity goes by a name of its own, rather than as the user, or somebody's sister."""
    return row.slug != naming.USER and not ("'s " in row.name and row.type in {"person", "item"})


def _directed(one: EntityRow, other: EntityRow) -> tuple[EntityRow, EntityRow]:
    """Which becomes which: the shorter name the longer one, then the newer the older."""
    if one.authority != other.authority and len(words(one.name)) == len(words(other.name)):
        return (one, other) if one.authority < other.authority else (other, one)
    ranked = sorted((one, other), key=lambda each: (len(words(each.name)), -each.number))
    return ranked[0], ranked[1]
