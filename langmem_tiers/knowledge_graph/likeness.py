"""When two names may be one: by what is known of how people, places and organisations are written. Pure.

A verdict is `same` where the names alone say so, `part` where one is the shorter form of the other and is the same if
no other entity can be meant, `like` where somebody has to say, and `other`. What merging would spoil is never `same`:
another number, another surname, another state, letters that only look alike.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from langmem_tiers.knowledge_graph import name_tables as tables
from langmem_tiers.knowledge_graph.naming import slug

Kind = Literal["same", "part", "like", "other"]

_SEPARATORS = re.compile(r"[\s\-‐‑–—_/]+")
_MARKS = re.compile(r"[^\w\s]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ROMAN = re.compile(r"[ivx]{1,5}")
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ß": "ss"})
_LONG = 6  # letters from which on a name is long enough for a slip of the pen to be likelier than another name
LOOKALIKE = 99
"""The score of two names that are written with other letters of the same looks."""
_ALIKE = 80
_NEARLY = 85


class Likeness(NamedTuple):
    """How like two names are, 0 to 100, and why."""

    kind: Kind
    score: int
    reason: str


_OTHER = Likeness("other", 0, "other names")
ALIKE = Likeness("like", LOOKALIKE, "letters that only look alike")


def compare(first: str, second: str, first_type: str = "other", second_type: str = "other") -> Likeness:
    """Whether two names of entities of these types may be one.

    Example:
        >>> compare("Bosch GmbH", "Bosch", "organisation", "organisation").kind
        'same'
        >>> compare("iPhone 12", "iPhone 13", "item", "item").kind
        'other'
    """
    one, other = slug(first), slug(second)
    if look_alike(first, second):
        return ALIKE
    if not compatible(first_type, second_type):
        return Likeness("other", 0, "of another type")
    if one == other:
        return Likeness("same", 100, "the same name")
    if differ := _numbers(one, other):
        return differ
    kind = first_type if second_type == "other" else second_type
    return _COMPARED.get(kind, _things)(one, other)


def compatible(first: str, second: str) -> bool:
    """Whether one entity may be said to be of both types."""
    return first == second or "other" in {first, second} or {first, second} in tables.EXCHANGEABLE


def look_alike(first: str, second: str) -> bool:
    """Whether two names look the same and are written with other letters."""
    return not (first.isascii() and second.isascii()) and shape(first) == shape(second) and slug(first) != slug(second)


def shape(name: str) -> str:
    """What a name looks like, whatever alphabet its letters are of: 'anna' for an Anna with a Cyrillic letter."""
    return slug(name.translate(tables.LOOKALIKE_CAPITALS)).translate(tables.LOOKALIKES)


def folded(name: str) -> str:
    """A name without accents, marks and hyphens, in small letters."""
    plain = unicodedata.normalize("NFKD", slug(name).translate(_UNDECOMPOSED))
    bare = "".join(sign for sign in plain if not unicodedata.combining(sign))
    spaced = _SEPARATORS.sub(" ", bare.replace("&", " and ").replace("+", " plus "))
    return " ".join(_MARKS.sub("", spaced).split())


def nickname(first: str, second: str) -> bool:
    """Whether one first name is a short form of the other, or both are of a third."""
    one, other = tables.NICKNAMES.get(first, {first}), tables.NICKNAMES.get(second, {second})
    return not one.isdisjoint(other)


def _ratio(first: str, second: str) -> int:
    from rapidfuzz import fuzz

    return round(fuzz.ratio(first, second))


def _numbers(one: str, other: str) -> Likeness | None:
    """Another number is another thing; a number that one of them leaves out leaves it open."""
    here, there = _numerals(one), _numerals(other)
    if here == there:
        return None
    if here and there:
        return Likeness("other", 0, "another number")
    rest = [" ".join(word for word in folded(name).split() if not _is_numeral(word)) for name in (one, other)]
    return (
        Likeness("like", _ALIKE, "a number is left out")
        if rest[0] == rest[1]
        else Likeness("other", 0, "another number")
    )


def _numerals(name: str) -> list[str]:
    words = folded(name).split()
    romans = [word for word in words[1:] if _ROMAN.fullmatch(word)]
    return [*_NUMBER.findall(name), *romans]


def _is_numeral(word: str) -> bool:
    return any(map(str.isdigit, word)) or _ROMAN.fullmatch(word) is not None


def _even(one: str, other: str) -> Likeness | None:
    """The same but for accents, marks, hyphens and case."""
    here, there = folded(one), folded(other)
    if here == there and here:
        return Likeness("same", 98, "the same but for accents and marks")
    if here and _without_umlauts(one) == _without_umlauts(other):
        return Likeness("same", 97, "the same but for umlauts") if " " in here else Likeness("like", 95, "umlauts")
    return None


def _without_umlauts(name: str) -> str:
    """'Müller' and 'Mueller' alike, where one of them has the letter itself."""
    shown = slug(name)
    if any(sign in shown for sign in "äöü"):
        for letters, letter in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
            shown = shown.replace(letters, letter)
    return folded(shown)


# People.


def _people(one: str, other: str) -> Likeness:
    here, there = _person(one), _person(other)
    if apart := _beside_the_name(here, there):
        return apart
    if len(here.words) > 1 and _without_umlauts(one) == _without_umlauts(other):
        return Likeness("same", 97, "the same but for umlauts")
    even = _even(" ".join(here.words), " ".join(there.words))
    if even is None:
        return _persons(here, there)
    titled = here.titles and there.titles and here.titles != there.titles
    return Likeness("like", 90, "another title") if titled else even


def _beside_the_name(here: _Person, there: _Person) -> Likeness | None:
    """What titles, and "Jr." and the like, say of two."""
    titles, others = {*here.titles}, {*there.titles}
    if (titles & tables.MEN and others & tables.WOMEN) or (titles & tables.WOMEN and others & tables.MEN):
        return Likeness("other", 0, "another title")
    if here.suffix == there.suffix:
        return None
    if here.suffix and there.suffix:
        return Likeness("other", 0, "another generation")
    return Likeness("like", 90, "one is a junior or senior") if here.words == there.words else _OTHER


class _Person(NamedTuple):
    words: tuple[str, ...]
    titles: tuple[str, ...]
    suffix: str


def _person(name: str) -> _Person:
    """The words of a name, first names first, without titles and what tells father and son apart."""
    head, _, tail = name.partition(",")
    suffix = tables.GENERATIONS.get(_MARKS.sub("", tail.strip()), "")
    ordered = name if not tail.strip() else head if suffix else f"{tail} {head}"
    words = folded(ordered.replace(".", ". ")).split()
    titles = tuple(word for word in words if word in tables.TITLES)
    rest = [word for word in words if word not in tables.TITLES] or words
    if len(rest) > 1 and rest[-1] in tables.GENERATIONS:
        suffix = tables.GENERATIONS[rest.pop()]
    return _Person(tuple(rest), titles, suffix)


def _persons(here: _Person, there: _Person) -> Likeness:
    short, long = sorted((here, there), key=lambda each: len(each.words))
    if len(long.words) == 1:
        return _single(short.words[0], long.words[0])
    if len(short.words) == 1:
        return _part_of_person(short, long)
    if sorted(short.words) == sorted(long.words):
        return Likeness("like", 92, "the same names in another order")
    return _whole_persons(short.words, long.words)


def _single(one: str, other: str) -> Likeness:
    if nickname(one, other):
        return Likeness("like", _ALIKE, "a short form of the name")
    ratio = _ratio(one, other)
    if ratio >= _NEARLY and min(len(one), len(other)) >= _LONG:
        return Likeness("like", ratio, "spelled alike")
    return _OTHER


def _part_of_person(short: _Person, long: _Person) -> Likeness:
    word = short.words[0]
    if word == long.words[0] and not short.titles and len(word) > 1:
        return Likeness("part", 90, "the first name of the other")
    if word == long.words[-1]:
        return Likeness("like", 85, "the surname of the other")
    if nickname(word, long.words[0]) and not short.titles:
        return Likeness("like", _ALIKE, "a short form of the first name")
    return _OTHER


def _whole_persons(short: tuple[str, ...], long: tuple[str, ...]) -> Likeness:
    first, last = (short[0], long[0]), (short[-1], long[-1])
    if last[0] == last[1]:
        return _of_one_surname(short, long)
    if first[0] != first[1]:
        return _OTHER
    if set(short) <= set(long):
        return Likeness("like", 88, "one has another surname beside it")
    ratio = _ratio(*last)
    if ratio >= _NEARLY and min(map(len, last)) >= _LONG - 1 and len(short) == len(long):
        return Likeness("like", ratio, "surnames that are spelled alike")
    return Likeness("other", 0, "another surname")


def _of_one_surname(short: tuple[str, ...], long: tuple[str, ...]) -> Likeness:
    first, other = short[0], long[0]
    middle = (short[1:-1], long[1:-1])
    if first == other:
        clash = middle[0] and middle[1] and not _goes_with(middle[0], middle[1])
        return (
            Likeness("other", 0, "another middle name") if clash else Likeness("like", 91, "a middle name is left out")
        )
    if 1 in {len(first), len(other)}:
        fits = first[0] == other[0]
        return Likeness("like", 88, "an initial") if fits else Likeness("other", 0, "another initial")
    if nickname(first, other):
        return Likeness("like", 88, "a short form of the first name")
    ratio = _ratio(first, other)
    if ratio >= _ALIKE:
        return Likeness("like", ratio, "first names that are spelled alike")
    return Likeness("other", 0, "another first name")


def _goes_with(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) == len(other) and all(
        here == there or (1 in {len(here), len(there)} and here[0] == there[0])
        for here, there in zip(one, other, strict=True)
    )


# Organisations.


def _organisations(one: str, other: str) -> Likeness:
    (here, form), (there, another) = _company(one), _company(other)
    if here == there and here:
        if form and another and form != another:
            return Likeness("like", 90, "another legal form")
        return Likeness("same", 97, "the same but for its legal form")
    return _even(one, other) or _part_of_company(here.split(), there.split()) or _spelled_alike(here, there)


def _part_of_company(words: list[str], others: list[str]) -> Likeness | None:
    if _acronym(words, others) or _acronym(others, words):
        return Likeness("like", 82, "the initials of the other")
    extra = set(words) ^ set(others)
    if (set(words) < set(others) or set(others) < set(words)) and extra <= tables.OF_COMPANIES:
        return Likeness("like", 85, "one tells more of what it is")
    return None


def _company(name: str) -> tuple[str, str]:
    """The name without article and legal form, and that form."""
    words = [tables.SPELLED_OUT.get(word, word) for word in folded(name.replace(".", "")).split()]
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    forms = []
    while len(words) > 1 and words[-1] in tables.LEGAL_FORMS:
        forms.append(tables.LEGAL_FORMS[words.pop()])
        if len(words) > 2 and words[-1] == "and":
            words.pop()
    return " ".join(words), " ".join(sorted(forms))


def _acronym(short: list[str], long: list[str]) -> bool:
    if len(short) != 1 or len(long) < 2 or len(short[0]) < 2:
        return False
    whole, telling = long, [word for word in long if word not in {"of", "the", "for", "and", "in", "de"}]
    return short[0] in {"".join(word[0] for word in words) for words in (whole, telling)}


# Places.


def _places(one: str, other: str) -> Likeness:
    (here, of), (there, within) = _place(one), _place(other)
    if of and within and of != within:
        return Likeness("other", 0, "in another state or country")
    if here == there and here:
        same = Likeness("same", 97, "the same place")
        return same if of == within else Likeness("part", 90, "one tells where it is")
    even = _even(one, other)
    if even is not None:
        return even
    if {here, there} in ({f"{here} city", here}, {f"{there} city", there}):
        return Likeness("like", 85, "one tells more of what it is")
    return _spelled_alike(here, there)


def _place(name: str) -> tuple[str, str]:
    """A place without its article, and the state or country behind the comma."""
    head, _, tail = name.partition(",")
    words = [tables.PLACES.get(word, word) for word in folded(head.replace(".", "")).split()]
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    whole = " ".join(words)
    within = folded(tail.replace(".", ""))
    return tables.COUNTRIES.get(whole, whole), tables.STATES.get(within, tables.COUNTRIES.get(within, within))


# Everything else.


def _things(one: str, other: str) -> Likeness:
    here, there = (folded(name).removeprefix("the ") for name in (one, other))
    if here == there and here:
        return Likeness("same", 98, "the same but for accents and marks")
    if here.replace(" ", "") == there.replace(" ", ""):
        return Likeness("same", 97, "the same but for blanks")
    if _singular(here) == _singular(there):
        return Likeness("like", 88, "one of them, or several")
    return _spelled_alike(here, there)


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") and len(name) > 3 else name


def _spelled_alike(here: str, there: str) -> Likeness:
    """Names of as many words, each the same or spelled alike; a letter doubled or swapped in a long word is a slip."""
    words, others = here.split(), there.split()
    if len(words) != len(others):
        return _OTHER
    differ = [(one, other) for one, other in zip(words, others, strict=True) if one != other]
    if len(differ) != 1 or min(map(len, differ[0])) < _LONG:
        return _OTHER
    one, other = differ[0]
    ratio = _ratio(here, there)
    if _slip(one, other) and min(len(one), len(other)) >= _LONG + 2 and ratio >= tables.LEAST_TO_MERGE:
        return Likeness("same", ratio, "a letter doubled or swapped")
    return Likeness("like", ratio, "spelled alike") if _ratio(one, other) >= _NEARLY else _OTHER


def _slip(one: str, other: str) -> bool:
    """Whether a letter was doubled, or two neighbours changed places."""
    if re.sub(r"(.)\1", r"\1", one) == re.sub(r"(.)\1", r"\1", other):
        return True
    differ = [place for place, (here, there) in enumerate(zip(one, other, strict=False)) if here != there]
    if len(one) != len(other) or len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    return one[differ[0]] == other[differ[1]] and one[differ[1]] == other[differ[0]]


_COMPARED = {"person": _people, "organisation": _organisations, "place": _places}
