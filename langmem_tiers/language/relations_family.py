"""Who is related to whom: what the shapes about kin and couples claim, and names beside a kinship word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langmem_tiers.language import kinship
from langmem_tiers.language.claims import ME, Claim
from langmem_tiers.language.relation_patterns import (
    PARTS,
    Fit,
    compiled,
    is_name,
    is_name_beside,
    is_person,
    maker,
    person_claim,
)
from langmem_tiers.language.word_lists import word_set

# "My sister Anna", "my sister, Anna,", "Anna's husband Tom"; "her husband Tom" is ignored.
_BESIDE = compiled(
    r"(?:\b(?P<mine>[Mm]y|[Oo]ur)|\b(?P<owner>@full_name@)['’]s) @kin_aged@(?P<kin>@kin@)"
    rf"(?: @named@|, {PARTS['named'].replace('who', 'apposed')}(?=,|\.?$))"
)
_SEVERAL = compiled(
    r"\b(?:[Mm]y|[Oo]ur) (?:two |three |four |best |close |old |good )?(?P<kin>@several_kin@),? "
    r"(?:\(|are |named |called |- )?(?P<names>@given_name@(?:, @given_name@)*,? and @given_name@)"
)
_AND_CALLED = compiled("(?:,| and|, and) an? @kin_aged@(?P<related>@kin@)@kin_called@ @named@")
PARTING = re.compile(
    r"\b(?:broke up|broken up|split up|separated|divorced|(?:left|dumped|divorced|leaving) me\b"
    r"|(?:no longer|not) (?:together|married)|ended things)\b"
)
"""What tells that a couple is none, or none any more."""
_NO_NAMES = word_set("I I'm I've I'll I'd And But The He She We They It My Our His Her Is Was Has")
_CREEDS = frozenset({"Christian"})
_MEANT_TOO = {"child": ("child", "son", "daughter")}
_COUNTED = {"two": 2, "three": 3, "four": 4, "2": 2, "3": 3, "4": 4}
# People have one of these at a time, so a new one replaces the old.
_ONE_AFTER_ANOTHER = word_set("boss manager landlord landlady therapist dentist girlfriend boyfriend")


class NamedKin(NamedTuple):
    """Someone named beside a kinship word: whose kin, which kind, and their name."""

    of: str
    kin: str
    name: str


def named_kin(text: str) -> Iterator[NamedKin]:
    """People whose name and kinship word are adjacent."""
    for match in _BESIDE.finditer(text):
        name = match["who"] or match["apposed"]
        owner = ME if match["mine"] else match["owner"]
        kin = kinship.canonical(match["kin"])
        if " late " in match.group() and kin not in kinship.BY_BLOOD:
            continue
        if _is_beside(name) and (owner == ME or is_name(owner)):
            yield NamedKin(owner, kin, trimmed_name(name))
    for match in _SEVERAL.finditer(text):
        names = split_names(match["names"])
        if all(map(is_person_named, names)):
            yield from (NamedKin(ME, kinship.PLURALS[match["kin"]], name) for name in names)


def related(of: str, kin: str, name: str, **told: str) -> Claim:
    """The claim that someone is kin of someone."""
    return person_claim(of, f"has {kinship.canonical(kin)}", name, "person", **told)


def apart(one: str, other: str, until: str, ended: str = "known") -> Claim:
    """The claim that two people are no longer a couple, or that someone has no partner any more."""
    return person_claim(one, "has partner", other, "person", until=until, ended=ended)


def trimmed_name(name: str) -> str:
    """The name without a second word that really begins what follows."""
    first, _, second = name.partition(" ")
    return name if second and second not in _NO_NAMES and is_name(second) else first


def is_person_named(name: str) -> bool:
    """Whether a capitalised run in the place of a person's name is one."""
    return name.split(maxsplit=1)[0] not in _NO_NAMES and is_name(name)


def _is_beside(name: str) -> bool:
    return name.split(maxsplit=1)[0] not in _NO_NAMES and is_name_beside(name)


def split_names(names: str) -> list[str]:
    """The names in a list such as "Luna, Milo and Rex"."""
    return [name for name in re.split(r",? and |, ", names) if name]


@maker
def is_kin(fit: Fit) -> Iterator[Claim]:
    """'Anna is my sister', 'Tom is Anna's brother'."""
    of, name = fit["owner"] or ME, fit["who"]
    if is_person_named(name) and (of == ME or is_name(of)) and of != name:
        yield related(of, fit["related"], trimmed_name(name))


@maker
def is_called(fit: Fit) -> Iterator[Claim]:
    """'My wife's name is Maria', 'I have a sister called Anna and a son named Jonas'."""
    yield from _of_subjects(fit, fit["related"], fit["who"])
    text, place = fit.match.string, fit.match.end()
    while more := _AND_CALLED.match(text, place):
        place = more.end()
        yield from _of_subjects(fit, more["related"], more["who"])


@maker
def is_somebody(fit: Fit) -> Iterator[Claim]:
    """'My wife is Anna'; other capitalised words may be where she is from, or what she believes."""
    if is_person(fit["who"]) and fit["who"] not in _CREEDS:
        yield from _of_subjects(fit, fit["related"], fit["who"])


def _of_subjects(fit: Fit, kin: str, name: str) -> Iterator[Claim]:
    """That someone is kin of the subjects; for 'my new boss is Claudia', any previous one is over."""
    if not is_person_named(name):
        return
    who = trimmed_name(name)
    yield from (related(of, kin, who) for of in fit.subjects)
    if (fit["new"] or fit["now"]) and kinship.canonical(kin) in _ONE_AFTER_ANOTHER:
        yield related(ME, kin, who, ended="others")


@maker
def have_several(fit: Fit) -> Iterator[Claim]:
    """'I have two sisters, Anna and Maria', if all of them are named."""
    names = split_names(fit["names"])
    if _COUNTED.get(fit["count"]) == len(names) and all(map(is_person_named, names)):
        yield from (related(of, kinship.PLURALS[fit["several"]], name) for of in fit.subjects for name in names)


@maker
def is_not(fit: Fit) -> Iterator[Claim]:
    """'Nils is not my brother' was never true; with "any more" it no longer is."""
    over = fit["over"] or fit["longer"]
    if is_person_named(fit["who"]):
        until, ended = (fit.event(), "said") if over else ("", "never")
        yield related(ME, fit["related"], trimmed_name(fit["who"]), until=until, ended=ended)


@maker
def have_none(fit: Fit) -> Iterator[Claim]:
    """'I don't have a brother': for blood relatives, it was never true; a partner may be gone."""
    word = kinship.canonical(fit["related"] or kinship.PLURALS[fit["several"]])
    if word in kinship.FAMILY:
        over = fit["over"] or word in kinship.PARTNERS
        until, ended = (fit.event(), "known") if over else ("", "never")
        yield from (related(ME, each, "", until=until, ended=ended) for each in _MEANT_TOO.get(word, (word,)))


@maker
def parted(fit: Fit) -> Iterator[Claim]:
    """The partner, whoever it was, is one no longer; by name if it is given."""
    who = trimmed_name(fit["who"]) if fit["who"] and is_person_named(fit["who"]) else ""
    if fit["former"] and who:
        yield from (related(of, fit["former"], who, until=fit.event(), ended="said") for of in fit.subjects)
    else:
        yield apart((fit.subjects or (ME,))[0], who, fit.event())


@maker
def both_parted(fit: Fit) -> Iterator[Claim]:
    """'Anna and Carl got divorced'."""
    if is_person_named(fit["one"]) and is_person_named(fit["other"]):
        yield apart(fit["one"], fit["other"], fit.event())


@maker
def couple_parted(fit: Fit) -> Iterator[Claim]:
    """'My girlfriend Lisa and I broke up', 'my wife left me'; friends and family do not part like that."""
    if kinship.canonical(fit["former"]) not in kinship.PARTNERS:
        return
    who, at = fit["who"], fit.event()
    if not who:
        yield apart(ME, "", at)
    elif _is_beside(who):
        yield related(ME, fit["former"], trimmed_name(who), until=at, ended="said")
        yield apart(ME, trimmed_name(who), at, ended="former")
