"""Standing facts: which sentences about a user stay true for long, such as home, diet or language."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from langmem_tiers.language import kinship
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.word_lists import COMMON_PARTS, table, word_set, written_out

Topic = Literal["name", "diet", "rules", "home", "work", "family", "languages", "preferences"]
"""What standing facts are about, in the order in which a profile shows them."""

_SUBJECT = re.compile(r"(?:the )?user(?:'s|’s)? |said: |(?:they|i) (?=[a-z])", re.IGNORECASE)


class StandingFact(NamedTuple):
    """What a sentence or a relation says: a newer fact of a `kind` that is `single` replaces the older one."""

    topic: Topic
    kind: int
    single: bool


class _Row(NamedTuple):
    fact: StandingFact
    said: re.Pattern[str] | None
    categories: frozenset[str]
    predicates: frozenset[str]


def without_subject(sentence: str) -> str:
    """A sentence about the user in one line, without its subject and its full stop.

    Example:
        >>> without_subject("The user's wife Marta is a nurse.")
        'wife Marta is a nurse'
    """
    said = " ".join(sentence.split())
    while match := _SUBJECT.match(said):
        said = said[match.end() :]
    return said.removesuffix(".")


def in_sentence(sentence: str, category: str) -> StandingFact | None:
    """The standing fact that a sentence about the user, filed under a category, says; None if it says none.

    Example:
        >>> in_sentence("The user lives in Porto.", "people/user").topic
        'home'
        >>> in_sentence("The user plans to visit Porto.", "people/user") is None
        True
    """
    said = without_subject(sentence)
    said = said[:1].lower() + said[1:]
    if not _ANY.match(said) and not _is_filed(category, RULES):  # as most sentences; a tenth of the time of all rows
        return None
    for row in _ROWS:
        filed = not row.categories or _is_filed(category, row.categories)
        if filed and (row.said is None or row.said.match(said)):
            return row.fact
    return None


def _is_filed(category: str, under: frozenset[str]) -> bool:
    return any(category == each or category.startswith(f"{each}/") for each in under)


def in_relation(predicate: str) -> StandingFact | None:
    """The standing fact that a relation of the user says; None if it says none."""
    return _BY_PREDICATE.get(predicate)


def _rows() -> tuple[_Row, ...]:
    facts = table("standing_facts")
    parts = {**COMMON_PARTS, **facts["parts"]}
    return tuple(
        _Row(
            StandingFact(each["topic"], kind, each.get("single", False)),
            lazy_pattern(written_out(each["said"], parts)) if "said" in each else None,
            word_set(each.get("categories", "")),
            word_set(each.get("predicates", "")) | _of_kin(each.get("kin")),
        )
        for kind, each in enumerate(facts["fact"])
    )


def _of_kin(which: str | None) -> frozenset[str]:
    words = {"partners": kinship.PARTNERS, "family": kinship.FAMILY - kinship.PARTNERS}
    return frozenset(kinship.predicate(word) for word in words.get(which or "", ()))


_ROWS = _rows()
_ANY = lazy_pattern("|".join(f"(?:{row.said.pattern})" for row in _ROWS if row.said is not None))
RULES = frozenset().union(*(row.categories for row in _ROWS if row.said is None))
"""The categories of rules for the agent, which are standing facts whatever they say."""
_BY_PREDICATE = {predicate: row.fact for row in _ROWS for predicate in row.predicates}
