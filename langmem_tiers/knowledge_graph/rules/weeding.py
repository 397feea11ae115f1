"""Claims that do not stand beside what else is said: taken back in the same breath, or begun at nobody knows when."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.knowledge_graph.rules import when
from langmem_tiers.knowledge_graph.rules.claim import ANY_OTHER, Claim

# What begins some day, and on the day that it is told of where no other is said.
_DATED = frozenset(
    [
        "lives in",
        "also lives in",
        "works at",
        "also works at",
        "works as",
        "studies at",
        "studies",
        "owns",
        "has pet",
        "is married to",
        "is engaged to",
        "is dating",
        "plays",
        "practises",
    ]
)
_ONE_AT_A_TIME = frozenset({"lives in", "works at", "is named", "has age", "has birthday"})


def takes_back(claim: Claim, earlier: Claim) -> bool:
    """Whether a claim sets right what was claimed before in the same turn: 'I live in Oslo. No, in Bergen'."""
    if (claim.subject, claim.predicate) != (earlier.subject, earlier.predicate) or earlier.ended:
        return False
    if claim.ended == "never":
        return (claim.object, claim.value) == (earlier.object, earlier.value)
    return claim.instead in {earlier.object, earlier.value} - {""} or (
        claim.instead == ANY_OTHER and claim.predicate in _ONE_AT_A_TIME
    )


def without_ended(claims: Sequence[Claim]) -> list[Claim]:
    """The claims without those that another one of the same breath takes back: "my cat Luna died"."""
    over = {(each.subject, each.predicate, each.object) for each in claims if each.ended not in {"", "others"}}
    return [each for each in claims if each.ended or (each.subject, each.predicate, each.object) not in over]


def without_vague(claims: list[Claim], clause: str) -> list[Claim]:
    """The claims without those that began at a time which the clause names and nobody can date: "in the 90s"."""
    if not when.is_vague(clause):
        return claims
    return [each for each in claims if each.since or each.until or each.ended or each.predicate not in _DATED]
