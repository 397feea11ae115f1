"""Denials: what was so and is so no more: "I no longer work at Bosch", "I am not vegetarian any more"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.writing.extractive import grammar

_WHO = r"(?P<who>I|[Ww]e|(?:[Mm]y|[Oo]ur) [\w-]+(?: [A-Z][\w-]+)?)"
_BE = r"(?P<be>'m|'re|'s| am| are| is)"
_END = r",? (?:any ?more|any longer)$"
_OVER = (
    re.compile(rf"^{_WHO}{_BE} no longer (?P<what>.+)$"),
    re.compile(rf"^{_WHO} no longer (?P<verb>[a-z]+)(?P<what>.*)$"),
    re.compile(rf"^{_WHO}{_BE}(?: not|n't) (?P<what>.+?){_END}"),
    re.compile(rf"^{_WHO} (?:don't|doesn't|do not|does not) (?P<verb>[a-z]+)(?P<what>.*?){_END}"),
)
# Against what was said, without a word for the end of it.
_NOT_SO = (
    re.compile(rf"^{_WHO}{_BE}(?: not|n't) (?P<what>.+)$"),
    re.compile(rf"^{_WHO} (?:don't|doesn't|do not|does not) (?P<verb>[a-z]+)(?P<what>.*)$"),
)
_BEING = {"'m": "am", "'re": "are", "'s": "is"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Denial:
    """What held, and what holds now, both as the speaker would say them."""

    held: str
    now: str


def read(clause: str, *, against: bool = False) -> Denial | None:
    """The denial that a clause is; None when it is none.

    Args:
        clause: What is said.
        against: Whether it is said against something: then a plain "not" denies as well.

    Example:
        >>> read("I don't live in Oslo any more")
        Denial(held='I live in Oslo', now='I no longer live in Oslo')

    """
    for pattern in _OVER:
        if match := pattern.match(clause):
            return _denial(match)
    plain = next(filter(None, (pattern.match(clause) for pattern in _NOT_SO)), None) if against else None
    return Denial(held=_held(plain), now=clause) if plain else None


def _denial(match: re.Match[str]) -> Denial:
    who, held = match["who"], _held(match)
    said = held[len(who) + 1 :]
    if "be" in match.groupdict():
        being, _, said = said.partition(" ")
        return Denial(held=held, now=f"{who} {being} no longer {said}")
    return Denial(held=held, now=f"{who} no longer {said}")


def _held(match: re.Match[str]) -> str:
    """The clause without its negation."""
    if "be" in match.groupdict():
        being = match["be"].strip()
        return f"{match['who']} {_BEING.get(being, being)} {match['what']}"
    return f"{match['who']} {_conjugated(match)}{match['what']}"


def _conjugated(match: re.Match[str]) -> str:
    """The verb as it stands without "doesn't"; one that the grammar does not know is left bare."""
    verb = match["verb"]
    of_others = match["who"][:2] not in {"I", "we", "We"}
    return (grammar.third_person(verb) if of_others and "no longer" not in match.group() else None) or verb
