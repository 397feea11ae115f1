"""Shapes for where people live, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator

from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import END, HAS, IS, NAME, PLACE, WHO, is_person, is_place

_LIVES = rf"(?:lives?|resides?|{IS} (?:living|based|residing))"
_BACK = r"(?:back |over |out |down |up |away )?"


def _at(fit: Fit, predicate: str, place: str, since: str = "", until: str = "", ended: str = "") -> Iterator[Claim]:
    if not is_place(place) or is_person(place):
        return
    yield from fit.of_all(
        Claim(
            subject="",
            subject_type="person",
            predicate=predicate,
            object=place,
            object_type="place",
            since=since,
            until=until,
            ended=ended,
        )
    )


def _lives(fit: Fit) -> Iterator[Claim]:
    """In one place, or in two at once: the second is told as such, so that it does not succeed the first."""
    span, second = fit.state, fit["second"]
    if second and f"{fit['place']} and {second}" in _ONE_PLACE:
        yield from _at(fit, "lives in", f"{fit['place']} and {second}", span.since, span.until)
        return
    yield from _at(fit, "also lives in" if fit["also"] else "lives in", fit["place"], span.since, span.until)
    if second and len(fit.subjects) == 1:
        yield from _at(fit, "also lives in", second, span.since, span.until)


def _between(fit: Fit) -> Iterator[Claim]:
    if fit["second"]:
        yield from _lives(fit)


def _has_lived(fit: Fit) -> Iterator[Claim]:
    if fit.state.since:
        yield from _lives(fit)


def _moved(fit: Fit) -> Iterator[Claim]:
    at = fit.event()
    if not at and not fit.state.until and fit.event(ahead=True):
        return  # Nobody has moved in a year to come.
    if fit["before"]:
        yield from _at(fit, "lives in", fit["before"], "", at, "" if at else "said")
    yield from _at(fit, "lives in", fit["place"], at)


def _will_move(fit: Fit) -> Iterator[Claim]:
    """What lies ahead counts where it is said when."""
    if at := fit.event(ahead=True):
        yield from _at(fit, "lives in", fit["place"], at)


def _lived(fit: Fit) -> Iterator[Claim]:
    span = fit.past
    yield from _at(fit, "lives in", fit["place"], span.since, span.until, "" if span.until else "said")


def _no_longer(fit: Fit) -> Iterator[Claim]:
    yield from _at(fit, "lives in", fit["place"], "", fit.event(), "said")


def _from(fit: Fit) -> Iterator[Claim]:
    yield from _at(fit, "is from", fit["place"])


def _born(fit: Fit) -> Iterator[Claim]:
    yield from _at(fit, "born in", fit["place"])


def _grew_up(fit: Fit) -> Iterator[Claim]:
    yield from _at(fit, "grew up in", fit["place"])


_ONE_PLACE = frozenset(
    [
        "Antigua and Barbuda",
        "Bosnia and Herzegovina",
        "Brighton and Hove",
        "Newfoundland and Labrador",
        "Saint Kitts and Nevis",
        "Trinidad and Tobago",
        "Tyne and Wear",
    ]
)
_SECOND = (
    rf"(?: (?:and|as well as) (?:(?:also|partly|sometimes) )?(?:in )?(?P<second>{NAME})(?!['’]s|\w)"
    r"(?= ?$|[,;:.!)]| (?:now|at the moment|these days|since|depending|for|right)\b))?"
)
SHAPES = (
    shape(rf"{WHO} (?P<also>also )?{_LIVES} (?:both )?in {PLACE}{_SECOND}{END}", _lives),
    shape(
        rf"{WHO} (?:{_LIVES} between|(?:split|splits|divide|divides) (?:my|our|his|her|their) time between)"
        rf" {PLACE}{_SECOND}{END}",
        _between,
    ),
    shape(rf"{WHO} {HAS} (?:lived|been living|been based) in {PLACE}{END}", _has_lived),
    shape(
        rf"{WHO} (?:{HAS} )?(?:moved|relocated|emigrated|immigrated) {_BACK}(?:from (?:the"
        rf" )?(?P<before>{NAME}) )?to {PLACE}"
        rf"{END}",
        _moved,
    ),
    shape(rf"{WHO} (?:{IS} (?:moving|relocating)|will (?:move|relocate|be moving)) {_BACK}to {PLACE}{END}", _will_move),
    shape(rf"{WHO} (?:used to live|lived|was living|were living|was based) in {PLACE}{END}", _lived),
    shape(
        rf"{WHO} (?:{IS} no longer (?:living|based)|no longer lives?) in {PLACE}{END}",
        _no_longer,
        ends=True,
    ),
    shape(
        rf"{WHO} (?:(?:do not|does not|don't|doesn't) live|(?:am not|is not|isn't) living) in {PLACE} any ?more\b",
        _no_longer,
        ends=True,
    ),
    shape(rf"{WHO} (?:{IS}|comes?) from {PLACE}(?= ?$|[,;:.!?)]| (?:and|but|originally)\b)", _from),
    shape(rf"{WHO} (?:was|were) born (?:and raised )?in {PLACE}{END}", _born),
    shape(rf"{WHO} (?:grew up|was raised|were raised) in {PLACE}{END}", _grew_up),
    shape(rf"[Mm]y home ?town (?:is|was) {PLACE}{END}", _from),
)
