"""Shapes for what people own: vehicles, instruments and devices, what these are like, and what took their place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import END, HAS, LOOKS, MINE, WHO, is_name, is_person

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
_NOUN = rf"(?:(?:{_KIND}) )?(?:{_THING})"
_MARK = r"i?[A-Z][\w-]*(?: [A-Z0-9][\w-]*){0,3}"
_BRAND = r"(?P<brand>i?[A-Z][\w-]+(?: [A-Z0-9][\w-]*){0,3})"
_BRANDED = rf"(?:{_BRAND} )?(?P<noun>{_NOUN})"
# A model has a number in its name, such as "Canon EOS 80D": the name alone tells that it is a thing.
_NO_MODEL = (
    r"(?:(?:Exam|Quiz|Test|Module|Chapter|Level|Lesson|Week|Day|Year|Class|Section|Room|Gate|Flight|Grade|Phase|Type|Stage"
    r"|Group|Form|Step|Part|Unit|Task|Bug|Issue|Ticket|Sprint|Version|Zone|Route|Bus|Line|Row|Seat|Tier|Covid|COVID)\b"
    r"|[A-Z]\d(?!\S| [A-Z\d]))"
)
_MODEL = rf"(?P<brand>(?!{_NO_MODEL})(?=(?:i?[A-Z][\w-]* ){{0,3}}i?[A-Z]?[\w-]*\d){_MARK})(?!\w)"
_UNIT = (
    "ah|mah|wh|kwh|w|kw|hp|v|kg|g|lbs?|cm|mm|m|km|miles|inch|inches|gb|tb|mb|mp|megapixels?|litres?|liters?|l|years?|km/h"
    "|mph|hz|mhz|ghz|cc|€|\\$|euros?|dollars?|m²|sqm|square met(?:er|re)s"
)
_AMOUNT = rf"(?P<amount>\d+(?:[.,]\d+)?)[ -]?(?P<unit>(?i:{_UNIT}))"
_GETS = r"(?:bought|got|purchased|picked up|inherited|acquired|ordered|adopted|rescued|built)"
_GIVES = r"(?:sold|gave away|got rid of|traded in|donated|scrapped)"
_EXCHANGES = r"(?:replaced|swapped|exchanged|traded|traded in|switched from|upgraded from|upgraded)"


class _Item(NamedTuple):
    """A thing: by its name, or as a noun where it has none; `kind` is the noun of one that has a name."""

    name: str
    kind: str = ""

    def of(self, owner: str) -> str:
        """What it is called among the things of all."""
        return self.name if owner == ME else f"{owner}'s {self.name}"


def _noun(text: str) -> str:
    return " ".join(text.lower().split())


def _item(brand: str, noun: str) -> _Item | None:
    """'Canon EOS 80D' for "Canon EOS 80D camera"; a brand alone is no name: "Trek bike"."""
    kind = _noun(noun)
    if not brand or not is_name(brand):
        return _Item(kind) if kind else None
    whole = " " in brand or re.search(r"\d", brand) or not kind
    return _Item(brand if whole else f"{brand} {kind}", kind)


def _owns(
    fit: Fit, item: _Item | None, *, since: str = "", until: str = "", ended: str = "", new: bool = False
) -> Iterator[Claim]:
    if item is None:
        return
    for owner in fit.subjects:
        mine = ("new" if new else "object") if owner == ME else ""
        yield Claim(
            subject=owner,
            subject_type="person",
            predicate="owns",
            object=item.of(owner),
            object_type="item",
            since=since,
            until=until,
            ended=ended,
            owned=mine,
        )
        if item.kind:
            yield _of_kind(owner, item.name, item.kind)


def _of_kind(owner: str, name: str, kind: str) -> Claim:
    return Claim(
        subject=_Item(name).of(owner),
        subject_type="item",
        predicate="is a",
        value=kind,
        owned="subject" if owner == ME else "",
    )


def _said(fit: Fit) -> _Item | None:
    return _item(fit["brand"], fit["noun"])


def _has(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, _said(fit), since=fit.state.since)


def _got(fit: Fit) -> Iterator[Claim]:
    yield from _owns(fit, _said(fit), since=fit.event(), new=True)


def _gone(fit: Fit) -> Iterator[Claim]:
    """What nobody knew of is news where it is said whose it was; a name alone may be anything."""
    if item := _said(fit):
        ended = "said" if fit["whose"] and fit["noun"] else "known"
        yield from _owns(fit, _Item(item.name), until=fit.event(), ended=ended)


def _exchanged(fit: Fit) -> Iterator[Claim]:
    """'I replaced my bike with a Giant bike': the one is gone, the other is there."""
    at = fit.event()
    gone, come = _item(fit["old"], fit["old_noun"]), _item(fit["new"], fit["new_noun"])
    if gone is None or come is None or is_person(gone.name) or is_person(come.name):
        return
    if not (fit["new_noun"] or re.search(r"\d", fit["new"]) or not fit["old_noun"]):
        return
    yield from _owns(fit, _Item(gone.name), until=at, ended="said" if fit["old_noun"] else "known")
    yield from _owns(fit, come, since=at, new=True)


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


_SELF = r"(?:myself |himself |herself |ourselves )?"
_WHOSE = r"(?:(?P<whose>my|our|his|her)|the|that)"
_OLD = rf"(?:(?P<old>{_MARK})(?!\w))?(?:(?:(?<=\w) |)(?P<old_noun>{_NOUN}))?(?<! )"
_NEW = rf"(?:(?P<new>{_MARK})(?!\w))?(?:(?:(?<=\w) |)(?P<new_noun>{_NOUN}))?(?<! )"
SHAPES = (
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
    shape(rf"{WHO} (?:{HAS} )?{_GIVES} {_WHOSE} {LOOKS}{_BRANDED}{END}", _gone),
    shape(rf"{WHO} (?:{HAS} )?{_GIVES} {_WHOSE} {LOOKS}(?P<brand>{_MARK})(?!\w){END}", _gone),
    shape(
        rf"{WHO} no longer (?:owns?|{HAS}) (?:(?P<whose>my|our|his|her)|the|an?) {LOOKS}{_BRANDED}{END}",
        _gone,
        ends=True,
    ),
)
