"""Shapes for what people have: pets, vehicles, instruments and devices, and what these are like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import END, HAS, WHO, is_name, is_person

_PET = (
    "dog|cat|puppy|pup|kitten|hamster|parrot|rabbit|bunny|turtle|tortoise|guinea pig|goldfish|horse|pony|snake|lizard"
    "|gecko|chicken|bird|budgie|ferret|rat"
)
_BREED = r"(?:[a-z]+ |[A-Z][a-z]+ ){0,3}?"
_THING = (
    "e-?bike|bike|bicycle|motorbike|motorcycle|scooter|e-scooter|car|truck|van|camper|campervan|boat|sailboat|kayak|canoe"
    "|laptop|computer|desktop|pc|macbook|phone|iphone|tablet|ipad|smartwatch|camera|drone|printer|3d printer|telescope"
    "|guitar|piano|violin|cello|viola|ukulele|flute|clarinet|trumpet|saxophone|accordion|banjo|keyboard|synthesizer"
    "|drum kit|house|flat|apartment|condo|cabin|cottage|farm|surfboard|snowboard|skateboard|tent|treadmill|greenhouse"
    "|cargo bike|trailer|efoil|e-foil|wheelchair|hot tub|record player|turntable|espresso machine|sewing machine"
)
_KIND = (
    "electric|acoustic|bass|grand|upright|digital|mountain|road|gravel|racing|folding|city|touring|stationary|exercise"
    "|gaming|work|classic|vintage|sports|mirrorless|film|dslr|cargo|sailing|inflatable|holiday|summer|vacation|family"
)
_LOOKS = (
    r"(?:(?:new|old|used|second-hand|secondhand|beautiful|small|big|tiny|red|blue|black|white|green|grey"
    r"|gray|silver|yellow|brand-?new|brand new|little|nice|first|second|own) )*"
)
_NOUN = rf"(?P<noun>(?:(?:{_KIND}) )?(?:{_THING}))"
_BRAND = r"(?P<brand>i?[A-Z][\w-]+(?: (?:[A-Z0-9][\w-]*)){0,3})"
_FIRST = r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f][\w'-]*"
_CALLED = rf"(?P<called>{_FIRST})(?!\w)"
_UNIT = (
    "ah|mah|wh|kwh|w|kw|hp|v|kg|g|lbs?|cm|mm|m|km|miles|inch|inches|gb|tb|mb|mp|megapixels?|litres?|liters?|l|years?|km/h"
    "|mph|hz|mhz|ghz|cc|€|\\$|euros?|dollars?|m²|sqm|square met(?:er|re)s"
)
_AMOUNT = rf"(?P<amount>\d+(?:[.,]\d+)?)[ -]?(?P<unit>(?i:{_UNIT}))"
_MINE = r"(?:[Mm]y|[Oo]ur)"
_GETS = r"(?:bought|got|purchased|picked up|inherited|acquired|ordered|adopted|rescued|built)"


def _noun(text: str) -> str:
    return " ".join(text.lower().split())


def _owns(fit: Fit, since: str = "", until: str = "", ended: str = "") -> Iterator[Claim]:
    noun = _noun(fit["noun"])
    for owner in fit.subjects:
        mine = owner == ME
        yield Claim(
            subject=owner,
            subject_type="person",
            predicate="owns",
            object=noun if mine else f"{owner}'s {noun}",
            object_type="item",
            since=since,
            until=until,
            ended=ended,
            owned="object" if mine else "",
        )
        if fit["brand"] and is_name(fit["brand"]):
            yield _of_kind(owner, noun, fit["brand"])


def _of_kind(owner: str, noun: str, brand: str) -> Claim:
    mine = owner == ME
    return Claim(
        subject=noun if mine else f"{owner}'s {noun}",
        subject_type="item",
        predicate="is a",
        value=brand,
        owned="subject" if mine else "",
    )


def _has(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, fit.state.since)


def _got(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, fit.event())


def _gone(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, "", fit.event(), "said" if fit["whose"] else "known")


def _mine_is(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["brand"]) and not is_person(fit["brand"]):
        yield _of_kind(ME, _noun(fit["noun"]), fit["brand"])


def _part(fit: Fit) -> Iterator[Claim]:
    """'My e-bike has a 20 Ah battery', 'the battery of my e-bike is 20 Ah'."""
    part = _noun(fit["part"])
    yield Claim(
        subject=_noun(fit["noun"]),
        subject_type="item",
        predicate=f"has {part}",
        value=fit["amount"].replace(",", "."),
        unit=fit["unit"],
        owned="subject",
        since=fit.state.since,
    )


def _pets(fit: Fit) -> Iterator[Claim]:
    names = [name for name in re.split(r",? and |, ", fit["called"]) if name]
    if not all(map(is_name, names)):
        return
    kind = _noun(fit["pet"]).removesuffix("s")
    since = fit.event() if fit["gets"] else ""
    for owner in fit.subjects:
        for name in names:
            yield Claim(
                subject=owner,
                subject_type="person",
                predicate="has pet",
                object=name,
                object_type="pet",
                since=since,
            )
    for name in names:
        yield Claim(subject=name, subject_type="pet", predicate="is a", value=kind)


def _pet(fit: Fit) -> Iterator[Claim]:
    """A pet whose name is not said."""
    for owner in fit.subjects:
        yield Claim(
            subject=owner,
            subject_type="person",
            predicate="has pet",
            value=_noun(fit["pet"]),
            since=fit.event(),
        )


def _pet_gone(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["called"]):
        yield Claim(
            subject=ME,
            subject_type="person",
            predicate="has pet",
            object=fit["called"],
            object_type="pet",
            until=fit.event(),
            ended="said",
        )


_SOME = r"(?:an?|another|one|two|three|four|five|\d)"
SHAPES = (
    shape(
        rf"{WHO} (?:{HAS}|own|owns|(?:{HAS} )?(?P<gets>got|adopted|rescued|bought)) {_SOME}"
        rf" {_LOOKS}{_BREED}(?P<pet>(?:{_PET})s?)"
        rf",? (?:named|called|whose name is) (?P<called>{_FIRST}(?:, {_FIRST})*(?:,? and {_FIRST})?)",
        _pets,
    ),
    shape(rf"{_MINE} {_LOOKS}(?P<pet>(?:{_PET}))(?:['’]s name is| is (?:called|named)) (?P<called>{_FIRST})", _pets),
    shape(rf"(?P<me>I|[Ww]e) (?:have )?named (?:my|our|the) {_LOOKS}(?P<pet>(?:{_PET})) (?P<called>{_FIRST})", _pets),
    shape(
        rf"{_MINE} {_LOOKS}(?:{_PET}),? {_CALLED},? (?:(?:has )?(?:died|passed away|ran away))\b",
        _pet_gone,
    ),
    shape(
        rf"(?P<called>{_FIRST}) is {_MINE.lower()} {_LOOKS}(?P<pet>(?:{_PET}))(?= ?$|[,;:.!?)]| (?:and|who|but)\b)",
        _pets,
    ),
    shape(rf"{_MINE} {_LOOKS}{_NOUN} (?:has|comes with|got) an? {_AMOUNT} (?P<part>[a-z]+(?: [a-z]+)?){END}", _part),
    shape(rf"{_MINE} {_LOOKS}{_NOUN}['’]s (?P<part>[a-z]+) (?:is|has) {_AMOUNT}{END}", _part),
    shape(rf"[Tt]he (?P<part>[a-z]+) (?:of|in|on) {_MINE} {_LOOKS}{_NOUN} (?:is|has) {_AMOUNT}{END}", _part),
    shape(rf"{_MINE} {_LOOKS}{_NOUN} is an? {_LOOKS}{_BRAND}{END}", _mine_is),
    shape(rf"{WHO} (?:{HAS}|owns?) an? {_LOOKS}(?:{_BRAND} )?{_NOUN}{END}", _has),
    shape(
        rf"{WHO} (?:{HAS} )?{_GETS} (?:myself |himself |herself |ourselves )?an? {_LOOKS}(?:{_BRAND} )?{_NOUN}{END}",
        _got,
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:sold|gave away|got rid of|traded in|donated|scrapped) (?:(?P<whose>my|our|his"
        rf"|her)|the|that) "
        rf"{_LOOKS}{_NOUN}{END}",
        _gone,
    ),
    shape(
        rf"{WHO} no longer (?:owns?|{HAS}) (?:(?P<whose>my|our|his|her)|the|an?) {_LOOKS}{_NOUN}{END}", _gone, ends=True
    ),
)
# "My dog Rex", "our cats Luna and Milo", anywhere in a sentence.
_BESIDE = re.compile(
    rf"\b{_MINE} {_LOOKS}(?P<pet>(?:{_PET})s?),? (?P<called>{_FIRST}(?:(?:, {_FIRST})*,? and"
    rf" {_FIRST})?)(?=[ ,.!?;:)']|$)"
)


def pets_named(text: str) -> Iterator[Claim]:
    """The pets whose names stand beside what they are."""
    for match in _BESIDE.finditer(text):
        names = re.split(r",? and |, ", match["called"])
        kind = _noun(match["pet"]).removesuffix("s")
        plural = match["pet"].endswith("s")
        if not all(is_name(name.removesuffix("'s")) for name in names) or (len(names) > 1) != plural:
            names = names[:1] if not plural and is_name(names[0].removesuffix("'s")) else []
        for name in (each.removesuffix("'s") for each in names):
            yield Claim(subject=ME, subject_type="person", predicate="has pet", object=name, object_type="pet")
            yield Claim(subject=name, subject_type="pet", predicate="is a", value=kind)
