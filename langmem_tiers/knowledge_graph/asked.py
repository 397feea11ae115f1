"""Which relations a question is after: the predicates that its words speak of. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.knowledge_graph import kinship, predicates
from langmem_tiers.palace.words import STOPWORDS

# What a question word asks for where nothing else in the question says so.
_PLACES = frozenset({"lives_in", "also_lives_in", "located_in", "kept_in", "stays_at", "headquartered_in"})
# What it asks for of the predicates that a word speaks of: "where did I work" is after no profession.
_SOMEWHERE = _PLACES | {"works_at", "also_works_at", "works_in", "studies_at", "has_address"}
# Words of kinship that are also told by another relation.
_ALSO = dict.fromkeys(("wife", "husband", "spouse"), "married_to")
_ALSO |= dict.fromkeys(("girlfriend", "boyfriend", "partner"), "dates")
# Words of many phrases that say nothing alone.
_EMPTY = STOPWORDS | {"be", "have", "get", "go", "use", "time", "place", "name", "people", "person", "own", "part"}


def asked(said: Iterable[str]) -> dict[str, frozenset[str]]:
    """The words of a question that speak of predicates, with those predicates.

    Example:
        >>> sorted(asked(["where", "did", "i", "live"])["live"])
        ['lives_in']
    """
    words = list(said)
    told = {word: found for word in words if (found := _of_word(word))}
    if "where" in words:
        return {word: found & _SOMEWHERE or found for word, found in told.items()} or {"where": _PLACES}
    return told


def of_kin(word: str) -> frozenset[str]:
    """The predicates from somebody to their sister, boss or dog.

    Example:
        >>> sorted(of_kin("wife")), sorted(of_kin("boss"))
        (['has_wife', 'married_to'], ['has_boss', 'reports_to'])
    """
    found = {kinship.predicate(word)}
    with suppress(InvalidRelation):
        found.add(predicates.normalise(f"has {word}"))
    also = _ALSO.get(kinship.canonical(word))
    return frozenset(found | ({also} if also else set()))


def _of_word(word: str) -> frozenset[str]:
    kin = kinship.read(word)
    if kin is not None:
        return of_kin(kin.word)
    return _by_word().get(word, frozenset())


@cache
def _by_word() -> dict[str, frozenset[str]]:
    """The predicates by the words of their phrases, in every form."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for phrase, reading in predicates.phrases().items():
        for word in phrase.split():
            if word not in _EMPTY and len(word) > 1:
                found[word].add(reading.predicate)
    return {word: frozenset(those) for word, those in found.items()}
