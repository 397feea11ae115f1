"""The shapes of `data/relations.toml`: clauses that claim a relation, and what each of them claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from langmem_tiers.language import kinship, relations_family, validity
from langmem_tiers.language.claims import ME, Claim
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.names import names, places
from langmem_tiers.language.relation_patterns import (
    MAKERS,
    OF_SEVERAL,
    PARTS,
    Fit,
    compiled,
    is_name,
    is_name_beside,
    is_organisation,
    is_person,
    is_place,
    maker,
    person_claim,
)
from langmem_tiers.language.rules import is_faint, tells
from langmem_tiers.language.word_lists import alternatives, listed, phrases, table, written_out

_TABLE = table("relations")
_NO_NICKNAME = listed("relations", "no_nickname")

WHEN: dict[str, Callable[[Fit], dict[str, str]]] = {
    "": lambda fit: {},
    "since": lambda fit: {"since": fit.state.since},
    "on": lambda fit: fit.day,
    "lasting": lambda fit: {"since": fit.state.since, "until": fit.state.until},
    "then": lambda fit: {"since": fit.event()},
    "since or then": lambda fit: {"since": fit.state.since or fit.event()},
    "since or began": lambda fit: {"since": fit.state.since or (fit.event() if fit["began"] else "")},
    "planned": lambda fit: {"since": fit.event(ahead=True)},
    "past": lambda fit: fit.over,
    "over": lambda fit: {"ended": "said"},
    "over if known": lambda fit: {"ended": "known"},
    "never": lambda fit: {"ended": "never"},
    "put off": lambda fit: {"since": fit.event(ahead=True), "ended": "put off"},
    "fell through": lambda fit: {"ended": "planned"},
    "ended": lambda fit: {"until": fit.event(), "ended": "said"},
    "ended if known": lambda fit: {"until": fit.event(), "ended": "known"},
    "ended since": lambda fit: {"until": fit.state.since or fit.event(), "ended": "said"},
}
"""When something is so, as the shapes say it: the times of a claim."""


class Says(NamedTuple):
    """A claim of a shape: its predicate, the group of the pattern with its object or value, and when it is so."""

    says: str
    of: str = ""
    when: str = ""
    no_person: bool = False

    def of_clause(self, fit: Fit) -> Iterator[Claim]:
        """The claims about the subjects of a clause, none if what is named in it is of another kind."""
        named = fit[self.of]
        if self.of not in _NAMED:
            value = _VALUES.get(self.of, str.lower)(named)
            if value or not self.of:
                yield from fit.says(self.says, value=value, **WHEN[self.when](fit))
            return
        kind, fits = _NAMED[self.of]
        if not named or not fits(named) or (self.no_person and is_person(named)):
            return
        name = relations_family.trimmed_name(named) if kind == "person" else _thing_name(named)
        told = fit.says(f"also {self.says}" if fit["also"] else self.says, name, kind, **WHEN[self.when](fit))
        yield from (claim for claim in told if claim.subject != name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A pattern matched from the beginning of a clause, and what a matching clause claims.

    `needs` is a time without which it claims nothing; `ends` says that it includes a negation.
    """

    family: str
    pattern: re.Pattern[str]
    makes: Sequence[Callable[[Fit], Iterator[Claim]]]
    needs: str = ""
    ends: bool = False

    def claims(self, fit: Fit) -> list[Claim]:
        """What a clause claims that fits."""
        if self.needs and not any(WHEN[self.needs](fit).values()):
            return []
        return [claim for makes in self.makes for claim in makes(fit)]


def _shape(said: str, claims: Sequence[dict[str, Any]] = (), made_by: str = "", **more: Any) -> Shape:
    makes = [MAKERS[made_by]] if made_by else [Says(**each).of_clause for each in claims]
    return Shape(pattern=lazy_pattern(written_out(said, PARTS)), makes=makes, **more)


def _is_somewhere(place: str) -> bool:
    return is_place(place) and not is_person(place)


_NAMED: dict[str, tuple[str, Callable[[str], bool]]] = {
    "place": ("place", _is_somewhere),
    "organisation": ("organisation", is_organisation),
    "some_place": ("place", bool),
    "called": ("pet", is_name),
    "who": ("person", relations_family.is_person_named),
}
"""The groups that name the object of a claim, with its type; the others give a value."""
_VALUES: dict[str, Callable[[str], str]] = {
    "call": lambda said: said if is_name(said) else "",
    "nickname": lambda said: said if is_name(said) and said.casefold() not in _NO_NICKNAME else "",
    "liked": lambda said: said if tells(said) else "",
    "role": lambda said: " ".join(word if word.isupper() else word.lower() for word in said.split()),
}
"""What groups give as a value, empty if it is none; of the others, it is what they say, in lower case."""


# Animals, and who has died.

_BESIDE = compiled(
    r"\b@mine@ @looks@(?P<pet>@pet@s?),? (?P<called>@first@(?:(?:, @first@)*,? and @first@)?)(?=[ ,.!?;:)']|$)"
)


@maker
def pets(fit: Fit) -> Iterator[Claim]:
    """'We have two cats called Luna and Milo'."""
    called = relations_family.split_names(fit["called"])
    if all(map(is_name, called)):
        for name in called:
            yield from fit.says("has pet", name, "pet", since=fit.event() if fit["gets"] else "")
        yield from (_is_a_pet(name, fit["pet"]) for name in called)


def _had_pet(name: str, until: str) -> Claim:
    return person_claim(ME, "has pet", name, "pet", until=until, ended="said")


def _is_a_pet(name: str, kind: str) -> Claim:
    return Claim(subject=name, subject_type="pet", predicate="is a", value=_noun(kind).removesuffix("s"))


def named_pets(text: str) -> Iterator[Claim]:
    """Pets whose names stand beside their kind, anywhere in a sentence: "My dog Rex", "our cats Luna and Milo"."""
    for match in _BESIDE.finditer(text):
        called = [name.removesuffix("'s") for name in relations_family.split_names(match["called"])]
        several = match["pet"].endswith("s")
        if not (all(map(is_name, called)) and (len(called) > 1) == several):
            called = [] if several or not is_name(called[0]) else called[:1]
        for name in called:
            yield person_claim(ME, "has pet", name, "pet")
            yield _is_a_pet(name, match["pet"])


def _dead(fit: Fit, who: str, kind: str = "") -> Claim:
    died_on = validity.within(fit.clause, fit.said_at)
    return Claim(subject=who, subject_type=kind, predicate="died on", value=died_on, until=fit.event(), ended="died")


@maker
def died(fit: Fit) -> Iterator[Claim]:
    """Kin, and anyone with a first name, are recorded as dead even if nothing else is known about them."""
    for who in fit.subjects:
        if who != ME:
            yield _dead(fit, who, "person" if kinship.mine(who) or is_person(who) else "")


@maker
def named_died(fit: Fit) -> Iterator[Claim]:
    """'Poor Rex died last week'."""
    if is_name(fit["being"]):
        yield _dead(fit, fit["being"])


@maker
def pet_died(fit: Fit) -> Iterator[Claim]:
    """A pet by its name, or the only one of its kind; that the speaker had it is news as well."""
    called = fit["called"]
    if not called and OF_SEVERAL.search(fit.match.group()):
        return
    if called and is_name_beside(called):
        yield _had_pet(called, fit.event())
    yield _dead(fit, called or f"my {fit['pet']}")


# Things.


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


@maker
def has(fit: Fit) -> Iterator[Claim]:
    """'I have a Trek bike'."""
    yield from _owns(fit, _item(fit["brand"], fit["noun"]), since=fit.state.since)


@maker
def got(fit: Fit) -> Iterator[Claim]:
    """'I bought a Canon EOS 80D'."""
    yield from _owns(fit, _item(fit["brand"], fit["noun"]), since=fit.event(), owned="new")


@maker
def thing_gone(fit: Fit) -> Iterator[Claim]:
    """An unknown thing is news if its owner is given; a name alone could be anything."""
    if item := _item(fit["brand"], fit["noun"]):
        ended = "said" if fit["whose"] and fit["noun"] else "known"
        yield from _owns(fit, _Item(item.name), until=fit.event(), ended=ended)


@maker
def exchanged(fit: Fit) -> Iterator[Claim]:
    """'I replaced my bike with a Giant bike': one is gone, the other is there."""
    at = fit.event()
    gone, come = _item(fit["old"], fit["old_noun"]), _item(fit["new"], fit["new_noun"])
    if gone is None or come is None or is_person(gone.name) or is_person(come.name):
        return
    if not (fit["new_noun"] or re.search(r"\d", fit["new"]) or not fit["old_noun"]):
        return
    yield from _owns(fit, _Item(gone.name), until=at, ended="said" if fit["old_noun"] else "known")
    yield from _owns(fit, come, since=at, owned="new")


@maker
def is_of_brand(fit: Fit) -> Iterator[Claim]:
    """'My camera is a Canon EOS 80D'."""
    if is_name(fit["brand"]) and not is_person(fit["brand"]):
        yield _of_kind(ME, _noun(fit["noun"]), fit["brand"])


@maker
def has_part(fit: Fit) -> Iterator[Claim]:
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


# Homes and deeds.

_ONE_PLACE = phrases(_TABLE["one_place"])
_NOWHERE = frozenset({"my place", "other side"})
_NAMELESS = frozenset({"event", "place"})
_GOING_ON = phrases(_TABLE["going_on"])
# Organisations that people attend; to the others they just go.
_MET = re.compile(r"\b(?:group|club|choir|band|orchestra|society|church|community)$")
# What is booked for a day does not happen on the day of booking.
_FOR_THEN = re.compile(r"\bfor (?:the )?(?:\d|next|this|tomorrow|[A-Z][a-z]+ \d)")
_ABSTRACT = listed("vocabulary", "abstract")


def _at(fit: Fit, predicate: str, place: str, **told: str) -> Iterator[Claim]:
    if _is_somewhere(place):
        yield from fit.says(predicate, place, "place", **told)


@maker
def lives(fit: Fit) -> Iterator[Claim]:
    """In one place, or in two at once: the second is stored as such, so that it does not replace the first."""
    first, second, times = fit["place"], fit["second"], WHEN["lasting"](fit)
    if second and f"{first} and {second}" in _ONE_PLACE:
        yield from _at(fit, "lives in", f"{first} and {second}", **times)
        return
    yield from _at(fit, "also lives in" if fit["also"] else "lives in", first, **times)
    if second and len(fit.subjects) == 1:
        yield from _at(fit, "also lives in", second, **times)


@maker
def moves_later(fit: Fit) -> Iterator[Claim]:
    """'The Oslo move is postponed to June 1st', 'the move got pushed to June 1st'."""
    place = fit["place"] or fit["target"] or fit["alone"]
    if not place or _is_somewhere(place):
        yield from fit.says("lives in", place, "place" if place else "", **WHEN["put off"](fit))


@maker
def moved(fit: Fit) -> Iterator[Claim]:
    """'I moved from Oslo to Lund in May', unless that is in the future."""
    at = fit.event()
    if not at and not fit.state.until and fit.event(ahead=True):
        return  # A future year cannot date a past move.
    if fit["before"]:
        yield from _at(fit, "lives in", fit["before"], until=at, ended="" if at else "said")
    yield from _at(fit, "lives in", fit["place"], since=at)


@maker
def took_part(fit: Fit) -> Iterator[Claim]:
    """The verb that fits the kind: one takes part in an event that one joined, and visits a museum.

    What is over with its day needs that day, and more than "a party" or "the park" to be known by.
    """
    what = fit["what"]
    kind = next(kind for kind in _TABLE["heads"] if fit[kind])
    if not tells(what) or what.lower() in _NOWHERE or (kind in _NAMELESS and " " not in what):
        return
    said = next(said for place, said in enumerate(_TABLE["took_part"]) if fit[f"v{place}"])
    if said == "joined" and kind == "event":
        said = "participated in"
    elif said == "attended" and (kind == "place" or (kind == "organisation" and not _MET.search(what))):
        said = "visited"
    if said in _GOING_ON:
        yield from fit.says(said, _thing_name(what), kind, since=fit.event())
    elif fit.day:
        yield from fit.says(said, _thing_name(what), kind, **fit.day)


def _thing_name(phrase: str) -> str:
    return phrase.replace("’", "'").strip(" '")


@maker
def visited_named(fit: Fit) -> Iterator[Claim]:
    """A town or country by name; other names could be anything."""
    place = fit["place"]
    known = {each.split(",")[0] for each in places(names(f"We went to {place} then."))}
    if place.split(",")[0].casefold() in known:
        yield from _at(fit, "visited", place, **fit.day)


@maker
def made(fit: Fit) -> Iterator[Claim]:
    """What was done to a thing on some day."""
    what = _thing_name(fit["thing"])
    told = tells(what) and not is_faint(what) and _ABSTRACT.isdisjoint(what.lower().split())
    if told and not _FOR_THEN.search(fit.clause):
        yield from fit.says(fit["verb"].lower(), what, "item", **fit.day)


# Name, age, birthday, favourites, and places where people "start" without working there.

_NO_EMPLOYER = re.compile(rf"\b(?:{alternatives('relations', 'no_employer')})\b")


@maker
def aged(fit: Fit) -> Iterator[Claim]:
    """'I am 34', 'my sister turned 30'."""
    if 0 < int(fit["age"]) < 120 and "we" not in fit.clause.lower().split()[:1]:
        yield from fit.says("has age", value=fit["age"], unit="years", since=fit.event() if fit["turned"] else "")


@maker
def birthday(fit: Fit) -> Iterator[Claim]:
    """'My birthday is on 17 March'."""
    if moment := _day_of_year(fit["day"], fit.said_at):
        yield from fit.says("has birthday", value=moment)


@maker
def born(fit: Fit) -> Iterator[Claim]:
    """'I was born on 17 March 1990'."""
    moment = validity.resolve(fit["day"], fit.said_at) if re.search(r"\d{4}", fit["day"]) else ""
    yield from fit.says("has birthday", value=moment) if moment else birthday(fit)


def _day_of_year(said: str, said_at: datetime) -> str:
    """A day without its year, such as "03-17"; with the year if it is given and in the past."""
    moment = validity.resolve(said.removeprefix("the "), said_at)
    if len(moment) != len("2024-05-17"):
        return ""
    return moment if re.search(r"\d{4}", said) and moment[:4] < str(said_at.year) else moment[5:]


@maker
def favourite(fit: Fit) -> Iterator[Claim]:
    """'My favourite colour is green'."""
    yield person_claim(ME, f"favourite {fit['kind'].lower()}", value=fit["what"].strip(" ."))


@maker
def began_at(fit: Fit) -> Iterator[Claim]:
    """'I started at Bosch last week'."""
    yield from _begun(fit, "then")


@maker
def begins_at(fit: Fit) -> Iterator[Claim]:
    """'I start at Bosch on Monday': from then on, as planned."""
    yield from _begun(fit, "planned")


def _begun(fit: Fit, when: str) -> Iterator[Claim]:
    """A job that begins; at places of study or sports, people "start" as well."""
    if fit["role"] or not _NO_EMPLOYER.search(fit["organisation"]):
        yield from Says("works at", "organisation", when).of_clause(fit)
        yield from Says("works as", "role", when).of_clause(fit)


SHAPES = tuple(_shape(**each, family=family) for family, shapes in _TABLE["shape"].items() for each in shapes)
