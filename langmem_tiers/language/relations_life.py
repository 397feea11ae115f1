"""Shapes for people's animals and things, what these are like, and who has died."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langmem_tiers.language import kinship, vocabulary
from langmem_tiers.language.claims import ME, Claim
from langmem_tiers.language.relation_patterns import (
    END,
    FIRST,
    HAPPENED,
    HAS,
    LOOKS,
    MINE,
    OF_SEVERAL,
    WHO,
    Fit,
    is_name,
    is_name_beside,
    is_person,
    person_claim,
    shape,
)

PET = (
    "(?:dog|cat|puppy|pup|kitten|hamster|parrot|rabbit|bunny|turtle|tortoise|guinea pig|goldfish|horse|pony|snake"
    "|lizard|gecko|chicken|bird|budgie|ferret|rat)"
)
_BREED = r"(?:[a-z]+ |[A-Z][a-z]+ ){0,3}?"


def _pets(fit: Fit) -> Iterator[Claim]:
    names = _split_names(fit["called"])
    if all(map(is_name, names)):
        for name in names:
            yield from fit.says("has pet", name, "pet", since=fit.event() if fit["gets"] else "")
        yield from (_is_a(name, _kind(fit["pet"])) for name in names)


def _pet_gone(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["called"]):
        yield _had_pet(fit["called"], fit.event())


def _had_pet(name: str, until: str) -> Claim:
    return person_claim(ME, "has pet", name, "pet", until=until, ended="said")


def _is_a(name: str, kind: str) -> Claim:
    return Claim(subject=name, subject_type="pet", predicate="is a", value=kind)


def _split_names(names: str) -> list[str]:
    return [name for name in re.split(r",? and |, ", names) if name]


def _kind(said: str) -> str:
    return " ".join(said.lower().split()).removesuffix("s")


_SOME = r"(?:an?|another|one|two|three|four|five|\d)"
_NAMES = rf"(?P<called>{FIRST}(?:, {FIRST})*(?:,? and {FIRST})?)"
_CALLED = (
    r"(?:,? (?:named|called|whose names? (?:is|are))|,? (?:and )?(?:[Hh]er|[Hh]is|[Ii]ts|[Tt]heir) names? (?:is|are)"
    r"|,? (?:and )?(?:(?:I|[Ww]e) )?(?:have )?(?:named|called) (?:her|him|it|them))"
)
PETS = (
    shape(
        rf"{WHO} (?:{HAS}|own|owns|(?:{HAS} )?(?P<gets>got|adopted|rescued|bought)) {_SOME}"
        rf" {LOOKS}{_BREED}(?P<pet>{PET}s?){_CALLED} {_NAMES}",
        _pets,
    ),
    shape(rf"{MINE} {LOOKS}(?P<pet>{PET})(?:['’]s name is| is (?:called|named)) (?P<called>{FIRST})", _pets),
    shape(rf"(?P<me>I|[Ww]e) (?:have )?named (?:my|our|the) {LOOKS}(?P<pet>{PET}) (?P<called>{FIRST})", _pets),
    shape(rf"{MINE} {LOOKS}{PET},? (?P<called>{FIRST})(?!\w),? (?:has )?ran away\b", _pet_gone),
    shape(
        rf"(?P<called>{FIRST}) is {MINE.lower()} {LOOKS}(?P<pet>{PET})(?= ?$|[,;:.!?)]| (?:and|who|but)\b)",
        _pets,
    ),
)
# "My dog Rex", "our cats Luna and Milo", anywhere in a sentence.
_BESIDE = re.compile(
    rf"\b{MINE} {LOOKS}(?P<pet>{PET}s?),? (?P<called>{FIRST}(?:(?:, {FIRST})*,? and {FIRST})?)(?=[ ,.!?;:)']|$)"
)


def named_pets(text: str) -> Iterator[Claim]:
    """Pets whose names stand beside their kind."""
    for match in _BESIDE.finditer(text):
        for name in _names(match):
            yield person_claim(ME, "has pet", name, "pet")
            yield _is_a(name, _kind(match["pet"]))


def _names(match: re.Match[str]) -> list[str]:
    """The names after a word for one or several animals; none if the numbers do not agree."""
    names = [name.removesuffix("'s") for name in _split_names(match["called"])]
    several = match["pet"].endswith("s")
    if all(map(is_name, names)) and (len(names) > 1) == several:
        return names
    return [] if several or not is_name(names[0]) else names[:1]


_DEAR = r"(?:(?:[Pp]oor|[Dd]ear|[Ss]weet|[Ll]ittle|[Oo]ld|[Mm]y|[Oo]ur) )*"
_DIED = (
    rf"(?:(?:{HAS} |had )?(?:died|passed away)|(?:is|has been) dead|was put (?:down|to sleep)|had to be put"
    r" (?:down|to sleep))"
)
_PET_OF_MINE = rf"{MINE} {LOOKS}(?P<pet>{PET})(?:,? (?P<called>{FIRST}),?)?"


def _dead(fit: Fit, who: str, kind: str = "") -> Claim:
    return Claim(
        subject=who, subject_type=kind, predicate="died on", value=fit.within(), until=fit.event(), ended="died"
    )


def _died(fit: Fit) -> Iterator[Claim]:
    """Kin, and anyone with a first name, are recorded as dead even if nothing else is known about them."""
    for who in fit.subjects:
        if who != ME:
            yield _dead(fit, who, "person" if kinship.mine(who) or is_person(who) else "")


def _named_died(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["being"]):
        yield _dead(fit, fit["being"])


def _pet_died(fit: Fit) -> Iterator[Claim]:
    """A pet by its name, or the only one of its kind; that the speaker had it is news as well."""
    called = fit["called"]
    if not called and OF_SEVERAL.search(fit.match.group()):
        return
    if called and is_name_beside(called):
        yield _had_pet(called, fit.event())
    yield _dead(fit, called or f"my {fit['pet']}")


DEATHS = (
    shape(rf"{_PET_OF_MINE} {_DIED}{HAPPENED}", _pet_died),
    shape(rf"(?:I|[Ww]e) (?:had to |have )?put {_PET_OF_MINE} (?:down|to sleep){HAPPENED}", _pet_died),
    shape(rf"{WHO} {_DIED}{HAPPENED}", _died),
    shape(rf"{_DEAR}(?P<being>{FIRST}(?: {FIRST})?) {_DIED}{HAPPENED}", _named_died),
)


_NOUN = rf"(?:(?:{vocabulary.KINDS_OF_THING}) )?(?:{vocabulary.OWNED_THINGS})"
_MARK = r"i?[A-Z][\w-]*(?: [A-Z0-9][\w-]*){0,3}"
_BRAND = r"(?P<brand>i?[A-Z][\w-]+(?: [A-Z0-9][\w-]*){0,3})"
_BRANDED = rf"(?:{_BRAND} )?(?P<noun>{_NOUN})"
# A model has a number in its name, such as "Canon EOS 80D": the name alone shows that it is a thing.
_NO_MODEL = (
    r"(?:(?:Exam|Quiz|Test|Module|Chapter|Level|Lesson|Week|Day|Year|Class|Section|Room|Gate|Flight|Grade|Phase|Type|Stage"
    r"|Group|Form|Step|Part|Unit|Task|Bug|Issue|Ticket|Sprint|Version|Zone|Route|Bus|Line|Row|Seat|Tier|Covid|COVID)\b"
    r"|[A-Z]\d(?!\S| [A-Z\d]))"
)
_MODEL = rf"(?P<brand>(?!{_NO_MODEL})(?=(?:i?[A-Z][\w-]* ){{0,3}}i?[A-Z]?[\w-]*\d){_MARK})(?!\w)"
_AMOUNT = rf"(?P<amount>\d+(?:[.,]\d+)?)[ -]?(?P<unit>(?i:{vocabulary.UNITS}))"
_GETS = r"(?:bought|got|purchased|picked up|inherited|acquired|ordered|adopted|rescued|built)"
_GIVES = r"(?:sold|gave away|got rid of|traded in|donated|scrapped)"
_EXCHANGES = r"(?:replaced|swapped|exchanged|traded|traded in|switched from|upgraded from|upgraded)"


class _Item(NamedTuple):
    """A thing: by its name, or as a noun if it has none; `kind` is the noun for a named thing."""

    name: str
    kind: str = ""

    def of(self, owner: str) -> str:
        """Its name, qualified by the owner unless that is the speaker."""
        return self.name if owner == ME else f"{owner}'s {self.name}"


def _noun(text: str) -> str:
    return " ".join(text.lower().split())


def _item(brand: str, noun: str) -> _Item | None:
    """'Canon EOS 80D' for "Canon EOS 80D camera"; a brand alone is not a name: "Trek bike"."""
    kind = _noun(noun)
    if not brand or not is_name(brand):
        return _Item(kind) if kind else None
    whole = " " in brand or re.search(r"\d", brand) or not kind
    return _Item(brand if whole else f"{brand} {kind}", kind)


def _owns(fit: Fit, item: _Item | None, *, owned: str = "object", **told: str) -> Iterator[Claim]:
    if item is None:
        return
    for owner in fit.subjects:
        mine = owned if owner == ME else ""
        yield person_claim(owner, "owns", item.of(owner), "item", owned=mine, **told)
        if item.kind:
            yield _of_kind(owner, item.name, item.kind)


def _of_kind(owner: str, name: str, kind: str) -> Claim:
    mine = "subject" if owner == ME else ""
    return Claim(subject=_Item(name).of(owner), subject_type="item", predicate="is a", value=kind, owned=mine)


def _said(fit: Fit) -> _Item | None:
    return _item(fit["brand"], fit["noun"])


def _has(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, _said(fit), since=fit.state.since)


def _got(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, _said(fit), since=fit.event(), owned="new")


def _thing_gone(fit: Fit) -> Iterator[Claim]:
    """An unknown thing is news if its owner is given; a name alone could be anything."""
    if item := _said(fit):
        ended = "said" if fit["whose"] and fit["noun"] else "known"
        yield from _owns(fit, _Item(item.name), until=fit.event(), ended=ended)


def _exchanged(fit: Fit) -> Iterator[Claim]:
    """'I replaced my bike with a Giant bike': one is gone, the other is there."""
    at = fit.event()
    gone, come = _item(fit["old"], fit["old_noun"]), _item(fit["new"], fit["new_noun"])
    if gone is None or come is None or is_person(gone.name) or is_person(come.name):
        return
    if not (fit["new_noun"] or re.search(r"\d", fit["new"]) or not fit["old_noun"]):
        return
    yield from _owns(fit, _Item(gone.name), until=at, ended="said" if fit["old_noun"] else "known")
    yield from _owns(fit, come, since=at, owned="new")


def _mine_is(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["brand"]) and not is_person(fit["brand"]):
        yield _of_kind(ME, _noun(fit["noun"]), fit["brand"])


def _part(fit: Fit) -> Iterator[Claim]:
    """'My e-bike has a 20 Ah battery', 'the battery of my e-bike is 20 Ah'."""
    yield Claim(
        subject=_noun(fit["noun"]),
        subject_type="item",
        predicate=f"has {_noun(fit['part'])}",
        value=fit["amount"].replace(",", "."),
        unit=fit["unit"],
        owned="subject",
        since=fit.state.since,
    )


_SELF = r"(?:myself |himself |herself |ourselves )?"
_WHOSE = r"(?:(?P<whose>my|our|his|her)|the|that)"
_OLD = rf"(?:(?P<old>{_MARK})(?!\w))?(?:(?:(?<=\w) |)(?P<old_noun>{_NOUN}))?(?<! )"
_NEW = rf"(?:(?P<new>{_MARK})(?!\w))?(?:(?:(?<=\w) |)(?P<new_noun>{_NOUN}))?(?<! )"
THINGS = (
    shape(
        rf"{MINE} {LOOKS}(?P<noun>{_NOUN}) (?:has|comes with|got) an? {_AMOUNT} (?P<part>[a-z]+(?: [a-z]+)?){END}",
        _part,
    ),
    shape(rf"{MINE} {LOOKS}(?P<noun>{_NOUN})['’]s (?P<part>[a-z]+) (?:is|has) {_AMOUNT}{END}", _part),
    shape(rf"[Tt]he (?P<part>[a-z]+) (?:of|in|on) {MINE} {LOOKS}(?P<noun>{_NOUN}) (?:is|has) {_AMOUNT}{END}", _part),
    shape(rf"{MINE} {LOOKS}(?P<noun>{_NOUN}) is an? {LOOKS}{_BRAND}{END}", _mine_is),
    shape(rf"{WHO} (?:{HAS}|owns?) an? {LOOKS}{_BRANDED}{END}", _has),
    shape(rf"{WHO} (?:{HAS}|owns?) an? {LOOKS}{_MODEL}{END}", _has),
    shape(rf"{WHO} (?:{HAS} )?{_GETS} {_SELF}an? {LOOKS}{_BRANDED}{END}", _got),
    shape(rf"{WHO} (?:{HAS} )?(?:bought|purchased|ordered|got) {_SELF}an? {LOOKS}{_MODEL}{END}", _got),
    shape(
        rf"{WHO} (?:{HAS} )?{_EXCHANGES} (?:my|our) {LOOKS}{_OLD} (?:with|for|by|to) (?:an?|my|our) {LOOKS}{_NEW}{END}",
        _exchanged,
    ),
    shape(rf"{WHO} (?:{HAS} )?{_GIVES} {_WHOSE} {LOOKS}{_BRANDED}{END}", _thing_gone),
    shape(rf"{WHO} (?:{HAS} )?{_GIVES} {_WHOSE} {LOOKS}(?P<brand>{_MARK})(?!\w){END}", _thing_gone),
    shape(
        rf"{WHO} no longer (?:owns?|{HAS}) (?:(?P<whose>my|our|his|her)|the|an?) {LOOKS}{_BRANDED}{END}",
        _thing_gone,
        ends=True,
    ),
)
