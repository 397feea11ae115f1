"""Shapes for who is related to whom, and for names beside a kinship word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from langmem_tiers.language import kinship
from langmem_tiers.language.claims import ME, Claim
from langmem_tiers.language.relation_patterns import (
    END,
    HAPPENED,
    HAS,
    IS,
    MINE,
    TITLED,
    UPPER,
    WHO,
    Claims,
    Fit,
    is_name,
    is_name_beside,
    is_person,
    person_claim,
    shape,
)
from langmem_tiers.language.word_lists import word_set

_AGED = (
    r"(?:(?:little|big|older|younger|elder|eldest|oldest|youngest|other|dear|lovely|beloved|late|own|twin|new"
    r"|current) )?"
)
_KIN = kinship.WORDS
_FIRST = rf"[{UPPER}][\w]*(?:[-'](?!s\b)[\w]+){{0,3}}"
_FULL = rf"{_FIRST}(?: {_FIRST}){{0,2}}"
_NAME = rf"(?P<who>{TITLED}{_FIRST}(?: {_FIRST})?)(?!\w)"
# "My sister Anna", "my sister, Anna,", "Anna's husband Tom"; "her husband Tom" is ignored.
BESIDE = re.compile(
    rf"(?:\b(?P<mine>[Mm]y|[Oo]ur)|\b(?P<owner>{_FULL})['’]s) {_AGED}(?P<kin>{_KIN})(?: {_NAME}|,"
    rf" {_NAME.replace('who', 'apposed')}(?=,|\.?$))"
)
_PLURAL = {
    several: one
    for one, plurals in {"child": "kids children twins", "son": "sons", "daughter": "daughters"}.items()
    for several in plurals.split()
} | {f"{one}s": one for one in ("sister", "brother", "friend", "cousin", "colleague")}
_MEANT_TOO = {"child": ("child", "son", "daughter")}
SEVERAL = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur) (?:two |three |four |best |close |old |good )?(?P<kin>{'|'.join(_PLURAL)}),? (?:\(|are "
    f"|named |called |- )?(?P<names>{_FIRST}(?:, {_FIRST})*,? and {_FIRST})"
)
_NO_NAMES = word_set("I I'm I've I'll I'd And But The He She We They It My Our His Her Is Was Has")
_CREEDS = frozenset({"Christian"})


class Named(NamedTuple):
    """Someone named beside a kinship word: whose kin, which kind, and their name."""

    of: str
    kin: str
    name: str


def named_kin(text: str) -> Iterator[Named]:
    """People whose name and kinship word are adjacent."""
    for match in BESIDE.finditer(text):
        name = match["who"] or match["apposed"]
        owner = ME if match["mine"] else match["owner"]
        if " late " in match.group() and kinship.canonical(match["kin"]) not in kinship.BY_BLOOD:
            continue
        if _is_beside(name) and (owner == ME or is_name(owner)):
            yield Named(owner, kinship.canonical(match["kin"]), _trimmed_name(name))
    for match in SEVERAL.finditer(text):
        names = re.split(r",? and |, ", match["names"])
        if all(map(_is_name, names)):
            yield from (Named(ME, _PLURAL[match["kin"]], name) for name in names)


def related(of: str, kin: str, name: str, **told: str) -> Claim:
    """The claim that someone is kin of someone."""
    return person_claim(of, f"has {kinship.canonical(kin)}", name, "person", **told)


def _trimmed_name(name: str) -> str:
    """The name without a second word that really begins what follows."""
    first, _, second = name.partition(" ")
    return name if second and second not in _NO_NAMES and is_name(second) else first


def _is_beside(name: str) -> bool:
    return name.split(maxsplit=1)[0] not in _NO_NAMES and is_name_beside(name)


def _is_name(name: str) -> bool:
    return name.split(maxsplit=1)[0] not in _NO_NAMES and is_name(name)


def _is_kin(fit: Fit) -> Iterator[Claim]:
    """'Anna is my sister', 'Tom is Anna's brother'."""
    of = fit["owner"] or ME
    name = fit["who"]
    if _is_name(name) and (of == ME or is_name(of)) and of != name:
        yield related(of, fit["related"], _trimmed_name(name))


def _is_called(fit: Fit) -> Iterator[Claim]:
    """'My wife's name is Maria', 'I have a sister called Anna'."""
    if _is_name(fit["who"]):
        yield from (related(of, fit["related"], _trimmed_name(fit["who"])) for of in fit.subjects)
        if fit["new"]:
            yield from _instead_of_others(fit["related"], _trimmed_name(fit["who"]))


def _have_called(fit: Fit) -> Iterator[Claim]:
    """'I have a daughter called Mia and a son named Jonas'."""
    yield from _is_called(fit)
    text, place = fit.match.string, fit.match.end()
    while more := _AND_CALLED.match(text, place):
        place = more.end()
        if _is_name(more["who"]):
            yield from (related(of, more["related"], _trimmed_name(more["who"])) for of in fit.subjects)


def _have_several(fit: Fit) -> Iterator[Claim]:
    """'I have two sisters, Anna and Maria', if all of them are named."""
    names = re.split(r",? and |, ", fit["names"])
    if _COUNTED.get(fit["count"]) == len(names) and all(map(_is_name, names)):
        yield from (related(of, _PLURAL[fit["several"]], name) for of in fit.subjects for name in names)


def _instead_of_others(word: str, name: str) -> Iterator[Claim]:
    """'My new boss is Claudia': any previous one is over."""
    if kinship.canonical(word) in _ONE_AFTER_ANOTHER:
        yield related(ME, word, name, ended="others")


def _is_not(fit: Fit) -> Iterator[Claim]:
    """'Nils is not my brother' was never true; with "any more" it no longer is."""
    over = fit["over"] or fit["longer"]
    if _is_name(fit["who"]):
        until, ended = (fit.event(), "said") if over else ("", "never")
        yield related(ME, fit["related"], _trimmed_name(fit["who"]), until=until, ended=ended)


def _have_none(fit: Fit) -> Iterator[Claim]:
    """'I don't have a brother': for blood relatives, it was never true; a partner may be gone."""
    word = kinship.canonical(fit["related"] or _PLURAL[fit["several"]])
    if word not in kinship.FAMILY:
        return
    over = fit["over"] or word in kinship.PARTNERS
    until, ended = (fit.event(), "known") if over else ("", "never")
    yield from (related(ME, each, "", until=until, ended=ended) for each in _MEANT_TOO.get(word, (word,)))


def _is_somebody(fit: Fit) -> Iterator[Claim]:
    """'My wife is Anna'; other capitalised words may be where she is from, or what she believes."""
    who = fit["who"]
    if _is_name(who) and is_person(who) and who not in _CREEDS:
        yield from (related(of, fit["related"], _trimmed_name(who)) for of in fit.subjects)
        if fit["new"] or fit["now"]:
            yield from _instead_of_others(fit["related"], _trimmed_name(who))


def _partner(predicate: str, since: Callable[[Fit], str]) -> Claims:
    def claims(fit: Fit) -> Iterator[Claim]:
        if _is_name(fit["who"]):
            other = _trimmed_name(fit["who"])
            told = fit.says(predicate, other, "person", since=since(fit))
            yield from (claim for claim in told if claim.subject != other)

    return claims


_MARRIED = _partner("is married to", lambda fit: fit.state.since or fit.event())


def _parted(fit: Fit) -> Iterator[Claim]:
    """The partner, whoever it was, is one no longer; by name if it is given."""
    who = _trimmed_name(fit["who"]) if fit["who"] and _is_name(fit["who"]) else ""
    if fit["former"] and who:
        yield from (related(of, fit["former"], who, until=fit.event(), ended="said") for of in fit.subjects)
        return
    yield apart((fit.subjects or (ME,))[0], who, fit.event())


def _both_parted(fit: Fit) -> Iterator[Claim]:
    """'Anna and Carl got divorced'."""
    if all(_is_name(fit[each]) for each in ("one", "other")):
        yield apart(fit["one"], fit["other"], fit.event())


def _couple_parted(fit: Fit) -> Iterator[Claim]:
    """'My girlfriend Lisa and I broke up', 'my wife left me'; friends and family do not part like that."""
    if kinship.canonical(fit["former"]) not in kinship.PARTNERS:
        return
    who, at = fit["who"], fit.event()
    if not who:
        yield apart(ME, "", at)
    elif _is_beside(who):
        yield related(ME, fit["former"], _trimmed_name(who), until=at, ended="said")
        yield apart(ME, _trimmed_name(who), at, ended="former")


def apart(one: str, other: str, until: str, ended: str = "known") -> Claim:
    """The claim that two people are no longer a couple, or that someone has no partner any more."""
    return person_claim(one, "has partner", other, "person", until=until, ended=ended)


PARTING = re.compile(
    r"\b(?:broke up|broken up|split up|separated|divorced|(?:left|dumped|divorced|leaving) me\b"
    r"|(?:no longer|not) (?:together|married)|ended things)\b"
)
"""What tells that a couple is none, or none any more."""
_PARTED = (
    rf"(?:{HAS} )?(?:broke up|broken up|split up|separated|got divorced|gotten divorced|divorced|are divorced"
    r"|are separated|are no longer (?:together|married)|are not (?:together|married) any ?more)"
)
_CALLED = r"(?: (?:named|called|whose name is)|,? (?:and )?(?:[Hh]er|[Hh]is) name is)"
_AND_CALLED = re.compile(rf"(?:,| and|, and) an? {_AGED}(?P<related>{_KIN}){_CALLED} {_NAME}")
_COUNTED = {"two": 2, "three": 3, "four": 4, "2": 2, "3": 3, "4": 4}
# People have one of these at a time, so a new one replaces the old.
_ONE_AFTER_ANOTHER = frozenset(
    {"boss", "manager", "landlord", "landlady", "therapist", "dentist", "girlfriend", "boyfriend"}
)
_NO_LONGER = r"(?P<over> any ?more| any longer)?"
_NONE = r"(?= ?$|[,;:.!)]| (?:and|but|at all|so|because|since)\b)"
FAMILY = (
    shape(
        rf"{_NAME} (?:is|was) (?:(?:my|our)|(?P<owner>{_FULL})['’]s) {_AGED}(?P<related>{_KIN})(?!['’]|-\w|"
        rf" \w+ (?:of|is))"
        r"(?= ?$|[,;:.!?)]| (?:and|who|from|but|in|since|at)\b)",
        _is_kin,
    ),
    shape(
        rf"(?:[Mm]y|[Oo]ur) (?:(?P<new>new) |{_AGED})(?P<related>{_KIN})(?:['’]s (?:first |full )?name is"
        rf"| (?:is|was) (?:called|named)) {_NAME}",
        _is_called,
    ),
    shape(
        rf"(?:[Mm]y|[Oo]ur) (?:(?P<new>new) |{_AGED})(?P<related>{_KIN}) is (?P<now>now )?{_NAME}(?= ?$|[,;:.!)])",
        _is_somebody,
    ),
    shape(rf"{WHO} {HAS} an? {_AGED}(?P<related>{_KIN}){_CALLED} {_NAME}", _have_called),
    shape(
        rf"{WHO} {HAS} (?P<count>two|three|four|[2-4]) {_AGED}(?P<several>{'|'.join(_PLURAL)})(?:,|:| -)?"
        rf"(?: (?:named|called|whose names are))? (?P<names>{_FIRST}(?:, {_FIRST})*,? and {_FIRST})(?= ?$|[,;.!)])",
        _have_several,
    ),
    shape(rf"(?P<me>[Ww]e|I) (?:have )?named (?:our|my) (?:new )?(?P<related>son|daughter|baby) {_NAME}", _is_called),
    shape(rf"{WHO} (?:{IS}|{HAS} been|got) married to {_NAME}{END}", _MARRIED),
    shape(rf"{WHO} (?:{HAS} )?married {_NAME}{END}", _MARRIED),
    shape(rf"{WHO} (?:{IS}|got) engaged to {_NAME}{END}", _partner("is engaged to", Fit.event)),
    shape(rf"{WHO} (?:{IS}|{HAS} been) dating {_NAME}{END}", _partner("is dating", lambda fit: fit.state.since)),
    shape(rf"{_NAME} and I (?:got married|married)\b", _partner("is married to", Fit.event)),
    shape(
        rf"{MINE} {_AGED}(?P<former>{_KIN})(?:,? {_NAME},?)? (?:and I {_PARTED}|(?:{HAS} )?(?:left|divorced|dumped"
        rf"|broke up with|split up with|separated from) me){HAPPENED}",
        _couple_parted,
        ends=True,
    ),
    shape(rf"(?:{_NAME} and I|[Ww]e) {_PARTED}{HAPPENED}", _parted, ends=True),
    shape(
        rf"(?:[Mm]y {_AGED}{_KIN} )?(?P<one>{_FIRST}) and (?:(?:her|his) {_AGED}{_KIN} )?(?P<other>{_FIRST}) {_PARTED}"
        rf"{HAPPENED}",
        _both_parted,
        ends=True,
    ),
    shape(
        rf"{_NAME} (?:is not|isn't|was never|(?P<longer>is no longer)) (?:my|our) {_AGED}(?P<related>{_KIN})"
        rf"{_NO_LONGER}{_NONE}",
        _is_not,
        ends=True,
    ),
    shape(rf"{MINE} {_AGED}(?P<related>{_KIN})(?:['’]s name)? (?:is not|isn't) {_NAME}{_NONE}", _is_not, ends=True),
    shape(
        r"(?:I|[Ww]e) (?:(?:do not|don't) have(?: an?| any)?|have (?:no|never had an?)|(?:have not|haven't) got"
        rf" (?:an?|any)) (?:(?P<several>{'|'.join(_PLURAL)})|(?P<related>{_KIN})){_NO_LONGER}{_NONE}",
        _have_none,
        ends=True,
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:broke up with|split up with|divorced|left) (?:my|his|her) (?P<former>{_KIN})(?:"
        rf" {_NAME})?\b",
        _parted,
    ),
    shape(rf"{WHO} (?:{HAS} )?(?:broke up with|split up with|got divorced from|divorced) {_NAME}{END}", _parted),
    shape(rf"{WHO} (?:(?:{HAS} )?got|am|is) divorced{HAPPENED}", _parted),
)
