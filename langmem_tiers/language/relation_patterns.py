"""What clauses that claim a relation are made of: their normal form, names, and a clause that fits a shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from langmem_tiers.language import kinship, validity
from langmem_tiers.language.calendar import MONTH_NAMES, SHORT_MONTHS, SHORT_WEEKDAYS, WEEKDAY_NAMES
from langmem_tiers.language.claims import Claim
from langmem_tiers.language.clauses import OPENING_TIME
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.names import CALENDAR, FIRST_NAMES, LANGUAGES, NO_PLACES, NOT_NAMES, PRODUCTS
from langmem_tiers.language.numbers import cardinals
from langmem_tiers.language.rewriting import spelled_out
from langmem_tiers.language.validity import StatedTime
from langmem_tiers.language.word_lists import (
    COMMON_PARTS,
    contractions,
    listed,
    named_pattern,
    table,
    word_set,
    written_out,
)

_TABLE = table("relations")
_RAW = COMMON_PARTS | table("vocabulary") | _TABLE["fragments"]
_RAW |= {
    "kin": kinship.WORDS,
    "several_kin": "|".join(kinship.PLURALS),
    "months": MONTH_NAMES.title(),
    "short_names": "|".join((*SHORT_MONTHS[:12], *SHORT_WEEKDAYS[:7])).title(),
    "up_to_ten": cardinals(1, 10),
    "kinds_of_place": _TABLE["heads"]["place"],
    "head": "(?:" + "|".join(f"(?P<{kind}>{heads})" for kind, heads in _TABLE["heads"].items()) + ")",
    "took_part": "|".join(f"(?P<v{place}>{verbs})" for place, verbs in enumerate(_TABLE["took_part"].values())),
}
PARTS: dict[str, str] = {name: written_out(text, _RAW) for name, text in _RAW.items()}
"""Fragments of the patterns for clauses, such as `@who@`, a subject, and `@end@`, what may follow a name."""


def compiled(text: str) -> re.Pattern[str]:
    """A pattern with the fragments that it names as `@name@`."""
    return lazy_pattern(written_out(text, PARTS))


OF_SEVERAL = re.compile(r"\b(?:new|old|first|second|used|big|small|tiny|red|blue|black|white|gr[ea]y|yellow) ")
"""What tells one animal from another one of the same owner."""
_ADVERBS = named_pattern("relation_patterns", "adverbs")
_BETWEEN = named_pattern("relation_patterns", "between")
_spelled_plainly = contractions("plain")
NEGATED = re.compile(r"\b(?:not|never|no longer|hardly|nor|neither|nobody|cannot)\b|n't\b|\bno\b", re.IGNORECASE)
_MONTHS_AND_DAYS = "|".join((MONTH_NAMES, *SHORT_WEEKDAYS[:7])).title()
_OPENS = re.compile(rf"{OPENING_TIME}(?=(?:I|[Ww]e|[Hh]e|[Ss]he|[Mm]y|[Oo]ur)\b)")
_OPENS_NAME = compiled(rf"{OPENING_TIME}(?=[@upper@])(?!(?:{WEEKDAY_NAMES.title()})|(?:{_MONTHS_AND_DAYS})\b)")
# Capitalised, but nobody's employer or home.
_NO_NAMES = NOT_NAMES | LANGUAGES | CALENDAR | word_set("mom mum mother dad father grandma grandpa aunt uncle god lord")
_NO_NAMES -= {"jan"}
_ALSO_NAMES = listed("relations", "also_names")
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "prof", "st", "mt", "ft"})
_DEPARTMENTS = listed("relations", "departments")
_COMPANY = named_pattern("relation_patterns", "company")


def plain(clause: str) -> str:
    """The clause without contractions and adverbs, as the patterns expect it."""
    shown = _spelled_plainly(spelled_out(clause))
    return _BETWEEN.sub(r"\1", _ADVERBS.sub("", f" {shown}").strip())


def without_time(clause: str) -> str:
    """The clause without a time at its beginning: "Last week I …"."""
    opening = _OPENS.match(clause) or _OPENS_NAME.match(clause)
    rest = clause[opening.end() :] if opening else clause
    return rest or clause


def is_name(text: str) -> bool:
    """Whether a capitalised run is a name rather than a word that opens a sentence, a day or a language."""
    first, *rest = text.split()
    first = first.rstrip(".,")
    bare = first.partition("'")[0].casefold()
    if bare in _TITLES and not rest:
        return False
    return len(text) > 1 and bare not in _NO_NAMES and (len(first) > 1 or first.isupper())


def is_name_beside(text: str) -> bool:
    """Whether a capitalised run after "my brother" is a name: there it may be Hope or Will, too."""
    return text.split(maxsplit=1)[0].casefold() in _ALSO_NAMES or is_name(text)


def is_person(text: str) -> bool:
    """Whether a name is a person's, judged by its first word."""
    parts = text.casefold().split()
    titled = len(parts) > 1 and parts[0].rstrip(".") in _TITLES - {"st", "mt", "ft"}
    return (titled or parts[0] in FIRST_NAMES) and PRODUCTS.isdisjoint(parts) and not _COMPANY.search(text)


def is_place(text: str) -> bool:
    """Whether a name after "live in" can be a place."""
    parts = set(text.casefold().replace(",", "").split())
    return is_name(text) and parts.isdisjoint(NO_PLACES | _DEPARTMENTS)


def is_organisation(text: str) -> bool:
    """Whether a name after "work at" can be an organisation."""
    parts = set(text.casefold().split())
    return is_name(text) and parts.isdisjoint(CALENDAR) and not (is_person(text) and len(parts) <= 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A match of a shape with a clause: its subjects, the whole clause, and when it was said."""

    match: re.Match[str]
    subjects: tuple[str, ...]
    clause: str
    said_at: datetime

    def __getitem__(self, group: str) -> str:
        """The text of a group of the pattern, empty if there is none."""
        return (self.match.groupdict().get(group) or "").strip(" ,")

    @property
    def state(self) -> StatedTime:
        """Start and end, if the clause describes a state."""
        return validity.of_state(self.clause, self.said_at)

    def event(self, *, ahead: bool = False) -> str:
        """When the event in the clause happened."""
        return validity.of_event(self.clause, self.said_at, ahead=ahead)

    @property
    def day(self) -> dict[str, str]:
        """The times of an event, which is over with its day, or with its month if only the week is known."""
        moment = validity.within(self.clause, self.said_at)
        return {"since": moment, "until": validity.the_end_of(moment)} if moment else {}

    @property
    def over(self) -> dict[str, str]:
        """The times of a claim about the past: "in 2019" has an end as well; one that is unknown just came."""
        span = validity.of_state(self.clause, self.said_at, over=True)
        moment = "" if span.until or span.since or validity.lasts(self.clause) else self.event()
        if moment:
            span = StatedTime(since=moment, until=validity.the_end_of(moment))
        return {"since": span.since, "until": span.until, "ended": "" if span.until else "said"}

    def says(self, predicate: str, object_: str = "", kind: str = "", **told: str) -> Iterator[Claim]:
        """One claim for each subject of the clause."""
        for subject in self.subjects:
            yield person_claim(subject, predicate, object_, kind, **told)


def person_claim(subject: str, predicate: str, object_: str = "", kind: str = "", **told: str) -> Claim:
    """A claim about a person; `kind` is the type of its object."""
    claim = Claim(subject=subject, subject_type="person", predicate=predicate, object=object_, object_type=kind)
    return replace(claim, **told)  # type: ignore[arg-type]  # they are all texts


Claims = Callable[[Fit], Iterator[Claim]]
MAKERS: dict[str, Claims] = {}
"""The functions that shapes in `relations.toml` are `made_by`."""


def maker(function: Claims) -> Claims:
    """Register a function that makes the claims of a shape."""
    MAKERS[function.__name__] = function
    return function
