"""Finds entities that may be the same by their names, and objections to each pair being the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.language import kinship, name_matching, values
from langmem_tiers.language.name_matching import Likeness
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.words import words
from langmem_tiers.storage import drawers, entities, relations
from langmem_tiers.storage.entities import EntityRow
from langmem_tiers.storage.relations import RelationRow

# Candidates compared with each entity.
_MOST = 60
_SPELLED_ALIKE = 0.7
_MOST_NAMES = 5  # of each, counting its own name and its aliases
# Relations and drawers examined for each of the two.
_MOST_RELATIONS = 500
_MOST_DRAWERS = 20


class Pair(NamedTuple):
    """Two entities with similar names: `source` would be merged into `target`."""

    source: EntityRow
    target: EntityRow
    like: Likeness


def pairs(view: GraphView, numbers: Sequence[int]) -> list[Pair]:
    """The pairs of these entities with any others, each once, most similar first."""
    return _found(view, numbers, _near)


def twins(view: GraphView, numbers: Sequence[int]) -> list[Pair]:
    """Like `pairs`, but only look-alikes written with letters of other scripts."""
    return [pair for pair in _found(view, numbers, _looking_alike) if pair.like.score == name_matching.LOOKALIKE]


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
    """Entities that share a word of a name, or whose name looks or is spelled alike."""
    numbers = dict.fromkeys(each.number for each in _looking_alike(view, row))
    for name in _names(row):
        slug = name_key(name)
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
    """Full names this one may be short for or initials of, and its form without blanks."""
    folded = name_matching.bare(name)
    yield folded
    yield folded.replace(" ", "")
    country = name_matching.COUNTRIES.get(folded)
    yield from (known for known, full in name_matching.COUNTRIES.items() if full == country)
    said = folded.split()
    if len(said) == 1:
        yield from name_matching.NICKNAMES.get(folded, ())
    elif len(said) < 8:
        yield "".join(word[0] for word in said)


def _likeness(one: EntityRow, other: EntityRow) -> Likeness:
    """The similarity of their most similar names; their primary names must not clearly differ."""
    own = name_matching.compare(one.name, other.name, one.type, other.type)
    both = [(first, second) for first in _names(one) for second in _names(other)]
    if any(name_matching.look_alike(*pair) for pair in both):
        return name_matching.ALIKE
    if own.kind != "other":
        return own
    best = max((name_matching.compare(*pair, one.type, other.type) for pair in both), key=lambda each: each.score)
    return Likeness("like", best.score, "by another name") if best.kind in {"same", "like"} else own


def _names(row: EntityRow) -> tuple[str, ...]:
    return (row.name, *row.aliases)[:_MOST_NAMES]


def _has_a_name(row: EntityRow) -> bool:
    """Whether an entity has a proper name, rather than "the user" or "X's sister"."""
    return row.slug != naming.USER and not ("'s " in row.name and row.type in {"person", "item"})


def _directed(one: EntityRow, other: EntityRow) -> tuple[EntityRow, EntityRow]:
    """Which is merged into which: the shorter name into the longer one, otherwise the newer into the older."""
    if one.authority != other.authority and len(words(one.name)) == len(words(other.name)):
        return (one, other) if one.authority < other.authority else (other, one)
    ranked = sorted((one, other), key=lambda each: (len(words(each.name)), -each.number))
    return ranked[0], ranked[1]


# Objections to a pair.


class Against(NamedTuple):
    """Why two entities are not merged; `certain` means they are known to differ, so no one needs to be asked."""

    reason: str
    certain: bool = False


def against(graph: GraphTransaction, first: EntityRow, second: EntityRow) -> Against | None:
    """The objection to two entities being the same, or None."""
    here, there = (graph.members(each.number) for each in (first, second))
    if any(row.believed for row in relations.between(*graph.at, here, there)):
        return Against("one is related to the other", certain=True)
    if _named_at_once(graph, first, second):
        return Against("both were named in one sentence", certain=True)
    rows = [_believed(graph, members) for members in (here, there)]
    return _other_kin(graph, rows, (here, there)) or _differ(graph, rows, (here, there))


def _believed(graph: GraphTransaction, members: Sequence[int]) -> list[RelationRow]:
    numbers = relations.numbers_of_entities(*graph.at, members)[:_MOST_RELATIONS]
    found = relations.of_numbers(*graph.at, numbers)
    return [row for row in found if row.believed and row.kind == "stated"]


def _differ(
    graph: GraphTransaction, rows: Sequence[Sequence[RelationRow]], members: Sequence[Collection[int]]
) -> Against | None:
    """They differ in something everyone has only one of, such as a birthday."""
    here, there = (
        _single(graph, [row for row in found if row.subject in own]) for found, own in zip(rows, members, strict=True)
    )
    for predicate in here.keys() & there.keys():
        if here[predicate].isdisjoint(there[predicate]):
            return Against(f"another {predicate.removeprefix('has_').replace('_', ' ')}")
    return None


def _single(graph: GraphTransaction, rows: Sequence[RelationRow]) -> dict[str, set[Hashable]]:
    """The current relations by predicates that hold one value at a time."""
    found: defaultdict[str, set[Hashable]] = defaultdict(set)
    for row in rows:
        if row.last.valid_to is None and graph.single(row.predicate):
            key = values.key(row.value or "", row.unit) if row.object is None else graph.canonical(row.object)
            found[row.predicate].add(key)
    return found


def _other_kin(
    graph: GraphTransaction, rows: Sequence[Sequence[RelationRow]], members: Sequence[Collection[int]]
) -> Against | None:
    """One is the sister of someone whose daughter the other is."""
    here, there = (
        [(row.subject, row.predicate.removeprefix("has_").replace("_", " ")) for row in found if row.object in own]
        for found, own in zip(rows, members, strict=True)
    )
    for (one, kind), (other, another) in product(here, there):
        if graph.canonical(one) == graph.canonical(other) and kinship.exclude(kind, another):
            return Against(f"one is a {kind}, the other a {another}")
    return None


def _named_at_once(graph: GraphTransaction, first: EntityRow, second: EntityRow) -> bool:
    """Whether a sentence names both, with the shorter name also outside the longer one."""
    here, there = (
        {each.drawer for each in entities.evidence_of(*graph.at, [row.number])[row.number]} for row in (first, second)
    )
    shared = sorted(here & there)[-_MOST_DRAWERS:]
    long, short = (
        sorted({first.name, second.name}, key=len, reverse=True) if first.name != second.name else (first.name, "")
    )
    if not short:
        return False
    held = drawers.read(*graph.at, shared)
    return any(_names_both(each.text, long, short) for drawer in held.values() for each in sentences(drawer.content))


def _names_both(sentence: str, long: str, short: str) -> bool:
    if long not in sentence:
        return False
    rest = sentence.replace(long, " ")
    return re.search(rf"(?<!\w){re.escape(short)}(?!\w)", rest) is not None
