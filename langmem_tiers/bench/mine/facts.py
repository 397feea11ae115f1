"""The facts of a sentence that a question can hold out: people, places, dates, numbers and other names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from langmem_tiers.palace.names import Name, addressed, names
from langmem_tiers.palace.tag_people import is_person
from langmem_tiers.palace.tag_places import places

FactKind = Literal["person", "place", "date", "number", "name", "word"]

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?:[a-z]{1,3}day|day|s|rs|r)?"
_YEAR = r"(?:19|20)\d\d"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?\b"
_COUNT = r"(?:\d{1,3}|a couple of|a few|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
# With the preposition in front: without it, what is left of the sentence still reads as one.
_DATE = re.compile(
    rf"(?:\b(?:on|in|since|until|by|from|around|last|next|this) (?:the )?)*"
    rf"(?:\b{_MONTH} {_ORDINAL}(?:,? {_YEAR})?|\b{_ORDINAL}(?: of)? {_MONTH}(?:,? {_YEAR})?"
    rf"|\b{_MONTH},? {_YEAR}|\b\d{{4}}-\d\d-\d\d\b|(?<=in )\b{_MONTH}|(?<=last )\b{_MONTH}|(?<=since )\b{_MONTH}"
    rf"|(?<=(?:on|st|xt) )\b{_DAY}s?\b|(?<=in )\b{_YEAR}\b|(?<=since )\b{_YEAR}\b)"
    rf"|\b(?:yesterday|tomorrow|tonight|(?:last|next|this) (?:night|week|weekend|month|year|spring|summer|autumn|fall"
    rf"|winter|morning|evening))\b|\b(?:(?:about|around|almost) )?{_COUNT} (?:day|week|weekend|month|year)s? ago\b",
)
_NUMBER = re.compile(r"(?<![\w.,:/#+-])[$€£]?\d{1,3}(?:[,.]?\d{1,3})*(?:\.\d+)?%?(?![\w:/-])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """Something that a sentence says, and where: `sentence[start:stop]`."""

    kind: FactKind
    text: str
    start: int

    @property
    def stop(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)


def facts(sentence: str) -> list[Fact]:
    """The facts of a sentence in its order; none lies within another.

    Example:
        >>> [(fact.kind, fact.text) for fact in facts("I flew to Lisbon with Anna on 3 May 2024 for 120 euros.")]
        [('place', 'Lisbon'), ('person', 'Anna'), ('date', 'on 3 May 2024'), ('number', '120')]
    """
    found: list[Fact] = []
    for fact in (*_dates(sentence), *_named(sentence), *_numbers(sentence)):
        if all(fact.stop <= other.start or other.stop <= fact.start for other in found):
            found.append(fact)
    return sorted(found, key=lambda fact: fact.start)


def _dates(sentence: str) -> Iterator[Fact]:
    for match in _DATE.finditer(sentence):
        yield Fact(kind="date", text=match.group(), start=match.start())


def _numbers(sentence: str) -> Iterator[Fact]:
    for match in _NUMBER.finditer(sentence):
        yield Fact(kind="number", text=match.group(), start=match.start())


def _named(sentence: str) -> Iterator[Fact]:
    spoken_to = addressed(sentence)
    for name in names(sentence):
        kind = _kind(name)
        start = sentence.find(name.text)
        if kind is not None and start >= 0 and name.folded not in spoken_to:
            yield Fact(kind=kind, text=name.text, start=start)


def _kind(name: Name) -> FactKind | None:
    if is_person(name):
        return "person"
    if places([name]):
        return "place"
    # At the start of a sentence, a capital is no evidence for a name.
    return None if name.opens else "name"
