"""Semantic tags of a drawer: @p people, @l locations, @e events, @i items, @t times."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from langmem_tiers.language.dates import times
from langmem_tiers.language.names import CALENDAR, KIN, names, people, places
from langmem_tiers.language.word_lists import alternatives, listed, named_pattern
from langmem_tiers.language.words import LOOKED_AT, STOPWORDS, beginning_with

LONGEST = 40  # characters of a tag's value; anything longer is no name
# Kinds in output order, each with its share of the sixteen.
_SHARES = {"p": 4, "l": 3, "e": 3, "i": 3, "t": 3}

_EVENTS = alternatives("words", "events")
_EVENT_WORDS = _EVENTS.split("|")
_EVENT = re.compile(rf"\b({_EVENTS})(s|es)?\b(?!\s+(?:over|up|out)\b)")
_PLURAL_IES = re.compile(r"\b(part|ceremon|anniversar|surger)ies\b")

_RUN = r"((?:[a-z][\w-]*)(?: [a-z][\w-]*){0,5})"
_OWNED = re.compile(rf"\b(?:my|our) {_RUN}")
_HANDLING = alternatives("words", "handling")
_HANDLING_WORDS = _HANDLING.split("|")
_HANDLED = re.compile(rf"\b(?:{_HANDLING})(?: (?:me|him|her|us|them|myself))? (?:a|an|the|some|this|my|our) {_RUN}")
_CONCRETE = listed("words", "concrete_things")
_ADJECTIVES = listed("words", "adjectives")
_NOT_OWNED = listed("words", "not_owned")
_END_NOUNS = STOPWORDS | CALENDAR | _ADJECTIVES
_ABSTRACT = re.compile(r"(?:ness|ment|tion|sion|ity|ship|ance|ence|ism|hood|ing)s?$")
_VERB = named_pattern("tags", "verb")


def tags(text: str, *, speaker: str | None, said_at: datetime) -> tuple[str, ...]:
    """At most 16 tags of a message, casefolded, people first; relative times are resolved against `said_at`.

    English works best. A text in another language gets few tags or none: tags that are there should be more
    reliable than complete.

    Example:
        >>> from datetime import UTC
        >>> tags("I flew to Lisbon with my sister Anna", speaker="Judith", said_at=datetime(2023, 5, 8, tzinfo=UTC))
        ('@p judith', '@p anna', '@p sister', '@l lisbon')
    """
    found = names(text)
    by_kind: dict[str, Iterable[str]] = {
        "p": people(text, found, speaker),
        "l": places(found),
        "e": events(text),
        "i": items(text),
        "t": times(text, said_at.date()),
    }
    return tuple(tag for kind, values in by_kind.items() for tag in _written(kind, values))


def events(text: str) -> list[str]:
    """The occasions in a text, casefolded, in the singular."""
    shown = text[:LOOKED_AT].casefold()
    if "ies" in shown:
        shown = _PLURAL_IES.sub(r"\1y", shown)
    return list(dict.fromkeys(match.group(1) for match in beginning_with(_EVENT_WORDS, _EVENT, shown)))


def items(text: str) -> list[str]:
    """The things someone owns, bought or handled, casefolded, without their adjectives.

    What is 'mine' counts if it is tangible: a known thing, or one mentioned as bought, sold or repaired.
    """
    shown = text[:LOOKED_AT].casefold()
    owned = beginning_with(("my ", "our "), _OWNED, shown)
    handled = beginning_with(_HANDLING_WORDS, _HANDLED, shown)
    found = [(match.start(1), _known_thing(match.group(1).split())) for match in owned]
    found += [(match.start(1), _handled_thing(match.group(1).split())) for match in handled]
    return list(dict.fromkeys(thing for _, thing in sorted(found) if thing))


def _written(kind: str, values: Iterable[str]) -> list[str]:
    clean = [" ".join(value.split()).strip("-.'’ ") for value in values]
    return [f"@{kind} {value}" for value in clean if 0 < len(value) <= LONGEST][: _SHARES[kind]]


def _known_thing(run: list[str]) -> str:
    """The run up to its concrete noun: 'electric guitar' in 'new electric guitar broke again'."""
    place = next((place for place, word in enumerate(run[:4]) if word in STOPWORDS or _is_concrete(word)), -1)
    if place < 0 or run[place] in STOPWORDS:
        return ""
    end = place + 2 if _is_concrete(" ".join(run[place + 1 : place + 2])) else place + 1
    return " ".join([*[word for word in run[:place] if word not in _ADJECTIVES][-2:], *run[place:end]])


def _is_concrete(word: str) -> bool:
    return word in _CONCRETE or word.removesuffix("s") in _CONCRETE


def _handled_thing(run: list[str]) -> str:
    """The noun at the start of a run: two words if the run ends after them, otherwise one."""
    known = _known_thing(run)
    while run and run[0] in _ADJECTIVES:
        run = run[1:]
    noun: list[str] = []
    for word in run:
        if word in _END_NOUNS or (noun and _VERB.match(word)):
            break
        noun.append(word)
    kept = noun if len(noun) == 2 else noun[:1]
    return known or (" ".join(kept) if kept and all(_is_thing(word) for word in kept) else "")


def _is_thing(word: str) -> bool:
    return (
        2 < len(word) <= 20
        and not {word, word.removesuffix("s")} & _NOT_OWNED
        and word not in KIN
        and not _ABSTRACT.search(word)
        and not _EVENT.fullmatch(word)
    )
