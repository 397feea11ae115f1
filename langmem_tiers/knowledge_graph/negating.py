"""Predicates that say that something is over, or not so: "no longer lives in", "used to live in", "is not". Pure.

A relation is what is so, with an end where it is over; stored as it stands, such a predicate would say that it holds.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.knowledge_graph import kinship, predicates

OVER = "Say what held, such as 'lives in', with valid_to; what is known is ended with end_relation."
"""What to do instead of saying that something is over."""
NOT_SO = "What is known and was never so is withdrawn with withdraw_relation, what is over is ended with end_relation."
"""What to do instead of saying that something is not so."""

_AUXILIARY = r"(?:is|are|was|were|am|be|been|do|does|did|has|have|had|can|could|will|would|should|must)"
_N_T = r"(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should)n ?t"
_NO_MORE = re.compile(
    rf"(?:{_AUXILIARY} )*no longer (?P<after>.+)"
    rf"|(?:{_AUXILIARY} )*not any ?more (?P<late>.+)"
    rf"|(?:{_AUXILIARY} not|{_N_T}|cannot|not) (?P<denied>.+?) any ?(?:more|longer)(?P<rest> .+)?"
    rf"|(?P<verb>.+?) (?:no longer|no more|not any ?more)(?P<tail> .+)?"
    r"|(?:has |have |had )?(?:stopped|ceased) (?P<doing>(?:to )?be(?:ing)? .+|to .+|\w+ing(?: .+)?)"
)
_ONCE = re.compile(rf"(?:{_AUXILIARY} )*(?:formerly|previously) (?P<past>.+)|(?:did )?used to (?P<was>.+)")
_NOT = re.compile(
    rf"(?:{_AUXILIARY} )?(?:not|never)(?: .+)?|(?:{_N_T}|cannot)(?: .+)?|(?:has|have|had) no(?: .+)?|no (?:longer|more)"
)
# Feelings, in words that only look as if they said no.
_SAYS_YES = re.compile(r"(?:cannot|can not|can ?t|could not|couldn ?t) (?:stand|bear|wait|resist|get enough)\b.*")
_MARKS = re.compile(r"[\W_]+")


class Negated(NamedTuple):
    """What a predicate says is over, or is not so: `predicate` is the one that it says so of.

    `how` is "no_more" ("no longer lives in"), "once" ("used to live in"), or "not_so" ("does not live in").
    """

    predicate: str
    how: Literal["no_more", "once", "not_so"]


def negated(said: str) -> Negated | None:
    """What a predicate says is over, or not so; None for one that says what is so.

    Example:
        >>> negated("no longer lives in"), negated("used to live in"), negated("lives in")
        (Negated(predicate='lives in', how='no_more'), Negated(predicate='live in', how='once'), None)
    """
    plain = " ".join(_MARKS.sub(" ", said.casefold()).split())
    if plain in predicates.phrases() or kinship.read(plain) is not None or _SAYS_YES.fullmatch(plain):
        return None
    for pattern, how in ((_NO_MORE, "no_more"), (_ONCE, "once")):
        if match := pattern.fullmatch(plain):
            base = "".join(part for part in match.groups() if part)
            return Negated(base.removeprefix("to "), how)  # type: ignore[arg-type]
    return Negated("", "not_so") if _NOT.fullmatch(plain) else None


def require_so(said: str) -> None:
    """Nothing, where a predicate says what is so.

    Raises:
        InvalidRelation: it says that something is over or not so; the error tells how that is said.
    """
    found = negated(said)
    if found is None:
        return
    if found.how == "not_so":
        raise InvalidRelation(f"{said[:60]!a} says what is not so, and a relation what is.", way_out=NOT_SO)
    raise InvalidRelation(f"{said[:60]!a} says that something is over.", way_out=OVER)
