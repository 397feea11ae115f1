"""Shapes for the animals that people have, and what these are called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import FIRST, HAS, LOOKS, MINE, WHO, is_name

PET = (
    "(?:dog|cat|puppy|pup|kitten|hamster|parrot|rabbit|bunny|turtle|tortoise|guinea pig|goldfish|horse|pony|snake"
    "|lizard|gecko|chicken|bird|budgie|ferret|rat)"
)
_BREED = r"(?:[a-z]+ |[A-Z][a-z]+ ){0,3}?"


def _pets(fit: Fit) -> Iterator[Claim]:
    names = _apart(fit["called"])
    kind = _kind(fit["pet"])
    if not all(map(is_name, names)):
        return
    since = fit.event() if fit["gets"] else ""
    for owner in fit.subjects:
        yield from (_has_pet(owner, name, since=since) for name in names)
    yield from (_is_a(name, kind) for name in names)


def _gone(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["called"]):
        yield _has_pet(ME, fit["called"], until=fit.event(), ended="said")


def had_pet(name: str, until: str) -> Claim:
    """The claim that whoever speaks had a pet, and has it no more."""
    return _has_pet(ME, name, until=until, ended="said")


def _has_pet(owner: str, name: str, *, since: str = "", until: str = "", ended: str = "") -> Claim:
    return Claim(
        subject=owner,
        subject_type="person",
        predicate="has pet",
        object=name,
        object_type="pet",
        since=since,
        until=until,
        ended=ended,
    )


def _is_a(name: str, kind: str) -> Claim:
    return Claim(subject=name, subject_type="pet", predicate="is a", value=kind)


def _apart(names: str) -> list[str]:
    return [name for name in re.split(r",? and |, ", names) if name]


def _kind(said: str) -> str:
    return " ".join(said.lower().split()).removesuffix("s")


_SOME = r"(?:an?|another|one|two|three|four|five|\d)"
_NAMES = rf"(?P<called>{FIRST}(?:, {FIRST})*(?:,? and {FIRST})?)"
_CALLED = (
    r"(?:,? (?:named|called|whose names? (?:is|are))|,? (?:and )?(?:[Hh]er|[Hh]is|[Ii]ts|[Tt]heir) names? (?:is|are)"
    r"|,? (?:and )?(?:(?:I|[Ww]e) )?(?:have )?(?:named|called) (?:her|him|it|them))"
)
SHAPES = (
    shape(
        rf"{WHO} (?:{HAS}|own|owns|(?:{HAS} )?(?P<gets>got|adopted|rescued|bought)) {_SOME}"
        rf" {LOOKS}{_BREED}(?P<pet>{PET}s?){_CALLED} {_NAMES}",
        _pets,
    ),
    shape(rf"{MINE} {LOOKS}(?P<pet>{PET})(?:['’]s name is| is (?:called|named)) (?P<called>{FIRST})", _pets),
    shape(rf"(?P<me>I|[Ww]e) (?:have )?named (?:my|our|the) {LOOKS}(?P<pet>{PET}) (?P<called>{FIRST})", _pets),
    shape(rf"{MINE} {LOOKS}{PET},? (?P<called>{FIRST})(?!\w),? (?:has )?ran away\b", _gone),
    shape(
        rf"(?P<called>{FIRST}) is {MINE.lower()} {LOOKS}(?P<pet>{PET})(?= ?$|[,;:.!?)]| (?:and|who|but)\b)",
        _pets,
    ),
)
# "My dog Rex", "our cats Luna and Milo", anywhere in a sentence.
_BESIDE = re.compile(
    rf"\b{MINE} {LOOKS}(?P<pet>{PET}s?),? (?P<called>{FIRST}(?:(?:, {FIRST})*,? and {FIRST})?)(?=[ ,.!?;:)']|$)"
)


def named(text: str) -> Iterator[Claim]:
    """The pets whose names stand beside what they are."""
    for match in _BESIDE.finditer(text):
        for name in _names(match):
            yield _has_pet(ME, name)
            yield _is_a(name, _kind(match["pet"]))


def _names(match: re.Match[str]) -> list[str]:
    """The names that stand behind a word for one animal or for several; none where these do not agree."""
    names = [name.removesuffix("'s") for name in _apart(match["called"])]
    several = match["pet"].endswith("s")
    if all(map(is_name, names)) and (len(names) > 1) == several:
        return names
    return [] if several or not is_name(names[0]) else names[:1]
