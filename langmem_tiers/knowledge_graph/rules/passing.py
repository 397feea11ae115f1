"""Shapes for who has died: what is known of them ends then."""

from __future__ import annotations

from collections.abc import Iterator

from langmem_tiers.knowledge_graph import kinship
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.rules.pets import PET, had_pet
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import (
    FIRST,
    HAPPENED,
    HAS,
    LOOKS,
    MINE,
    OF_SEVERAL,
    WHO,
    is_name,
    is_name_beside,
    is_person,
)

_DEAR = r"(?:(?:[Pp]oor|[Dd]ear|[Ss]weet|[Ll]ittle|[Oo]ld|[Mm]y|[Oo]ur) )*"
_DIED = (
    rf"(?:(?:{HAS} |had )?(?:died|passed away)|(?:is|has been) dead|was put (?:down|to sleep)|had to be put"
    r" (?:down|to sleep))"
)
_PET_OF_MINE = rf"{MINE} {LOOKS}(?P<pet>{PET})(?:,? (?P<called>{FIRST}),?)?"


def _died(fit: Fit) -> Iterator[Claim]:
    """Kin, and who has a first name, died also where nothing else is known of them."""
    at = fit.event()
    for subject in fit.subjects:
        if subject != ME:
            told = "person" if kinship.mine(subject) or is_person(subject) else ""
            yield Claim(
                subject=subject, subject_type=told, predicate="died on", value=fit.within(), until=at, ended="died"
            )


def _named_died(fit: Fit) -> Iterator[Claim]:
    if is_name(fit["being"]):
        yield Claim(subject=fit["being"], predicate="died on", value=fit.within(), until=fit.event(), ended="died")


def _pet_died(fit: Fit) -> Iterator[Claim]:
    """A pet by its name, or the one that there is of its kind; that they had it is news as well."""
    at, called = fit.event(), fit["called"]
    if not called and OF_SEVERAL.search(fit.match.group()):
        return
    if called and is_name_beside(called):
        yield had_pet(called, at)
    yield Claim(subject=called or f"my {fit['pet']}", predicate="died on", value=fit.within(), until=at, ended="died")


SHAPES = (
    shape(rf"{_PET_OF_MINE} {_DIED}{HAPPENED}", _pet_died),
    shape(rf"(?:I|[Ww]e) (?:had to |have )?put {_PET_OF_MINE} (?:down|to sleep){HAPPENED}", _pet_died),
    shape(rf"{WHO} {_DIED}{HAPPENED}", _died),
    shape(rf"{_DEAR}(?P<being>{FIRST}(?: {FIRST})?) {_DIED}{HAPPENED}", _named_died),
)
