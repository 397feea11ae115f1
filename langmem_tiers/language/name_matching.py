"""Whether two names may mean one entity, judged by how people, places and organisations are written.

A verdict is `same` if the names alone are enough, `part` if one is a short form of the other (and the same if no
other entity fits), `like` if the user has to decide, and `other`. Anything a wrong merge would spoil is never `same`:
another number, surname or state, or letters that only look alike.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from langmem_tiers.language.slugs import UNDECOMPOSED, name_key
from langmem_tiers.language.word_lists import listed, table

Kind = Literal["same", "part", "like", "other"]

_SEPARATORS = re.compile(r"[\s\-‐‑–—_/]+")
_MARKS = re.compile(r"[^\w\s]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ROMAN = re.compile(r"[ivx]{1,5}")
_LONG = 6  # from this length on, a spelling mistake is likelier than another name
LOOKALIKE = 99
"""The score of two names that are written with other letters of the same looks."""
_LEAST_TO_MERGE = 92
"""From which score on names that are only spelled alike are merged."""
_ALIKE = 80
_NEARLY = 85


class Likeness(NamedTuple):
    """How alike two names are, 0 to 100, and why."""

    kind: Kind
    score: int
    reason: str


def _nicknames(lines: str) -> dict[str, frozenset[str]]:
    """Each form of a first name with the names it may stand for, including itself."""
    made: dict[str, set[str]] = {}
    for names in lines.split("|"):
        whole, *_ = forms = names.split()
        for form in forms:
            made.setdefault(form, {form}).add(whole)
    return {form: frozenset(names) for form, names in made.items()}


_FORMS = table("name_forms")
COUNTRIES: dict[str, str] = _FORMS["countries"]
NICKNAMES = _nicknames(_FORMS["nicknames"])
_EXCHANGEABLE = [set(types) for types in _FORMS["exchangeable_types"]]
_TITLES = listed("name_forms", "titles")
_OF_MEN, _OF_WOMEN = listed("name_forms", "titles_of_men"), listed("name_forms", "titles_of_women")
_OF_COMPANIES = listed("name_forms", "of_companies")
_STATES = {short: " ".join(name) for short, *name in (state.split() for state in _FORMS["states"].split("|"))}
_LOOKALIKES = str.maketrans({pair[0]: pair[1] for pair in _FORMS["lookalikes"].split()})
_LOOKALIKE_CAPITALS = str.maketrans({pair[0]: pair[1] for pair in _FORMS["lookalike_capitals"].split()})
ALIKE = Likeness("like", LOOKALIKE, "letters that only look alike")


def _other(reason: str = "other names") -> Likeness:
    return Likeness("other", 0, reason)


def compare(first: str, second: str, first_type: str = "other", second_type: str = "other") -> Likeness:
    """Whether two names of entities of these types may mean one entity.

    Example:
        >>> compare("Bosch GmbH", "Bosch", "organisation", "organisation").kind
        'same'
        >>> compare("iPhone 12", "iPhone 13", "item", "item").kind
        'other'
    """
    one, other = name_key(first), name_key(second)
    if look_alike(first, second):
        return ALIKE
    if not compatible(first_type, second_type):
        return _other("of another type")
    if one == other:
        return Likeness("same", 100, "the same name")
    if differ := _numbers(one, other):
        return differ
    kind = first_type if second_type == "other" else second_type
    return _COMPARED.get(kind, _things)(one, other)


def compatible(first: str, second: str) -> bool:
    """Whether one entity can have both types."""
    return first == second or "other" in {first, second} or {first, second} in _EXCHANGEABLE


def look_alike(first: str, second: str) -> bool:
    """Whether two names look the same but are written with different letters."""
    return (
        not (first.isascii() and second.isascii())
        and shape(first) == shape(second)
        and name_key(first) != name_key(second)
    )


def in_latin(text: str) -> str:
    """A text with Latin letters in place of those of other alphabets that look like them."""
    return text if text.isascii() else text.translate(_LOOKALIKE_CAPITALS).translate(_LOOKALIKES)


def shape(name: str) -> str:
    """The visual shape of a name, whatever its alphabet: 'anna' for an Anna with a Cyrillic letter."""
    return name_key(name.translate(_LOOKALIKE_CAPITALS)).translate(_LOOKALIKES)


def bare(name: str) -> str:
    """A name without accents, marks and hyphens, in lower case."""
    plain = unicodedata.normalize("NFKD", name_key(name).translate(UNDECOMPOSED))
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    spaced = _SEPARATORS.sub(" ", letters.replace("&", " and ").replace("+", " plus "))
    return " ".join(_MARKS.sub("", spaced).split())


def nickname(first: str, second: str) -> bool:
    """Whether one first name is a short form of the other, or both are short for a third."""
    one, other = NICKNAMES.get(first, {first}), NICKNAMES.get(second, {second})
    return not one.isdisjoint(other)


def _ratio(first: str, second: str) -> int:
    from rapidfuzz import fuzz

    return round(fuzz.ratio(first, second))


def _numbers(one: str, other: str) -> Likeness | None:
    """Different numbers mean different things; a number that only one of them has leaves it open."""
    here, there = _numerals(one), _numerals(other)
    if here == there:
        return None
    if here and there:
        return _other("another number")
    rest = {
        " ".join(word for word in bare(name).split() if not (re.search(r"\d", word) or _ROMAN.fullmatch(word)))
        for name in (one, other)
    }
    return Likeness("like", _ALIKE, "a number is left out") if len(rest) == 1 else _other("another number")


def _numerals(name: str) -> list[str]:
    words = bare(name).split()
    romans = [word for word in words[1:] if _ROMAN.fullmatch(word)]
    return [*_NUMBER.findall(name), *romans]


def _even(one: str, other: str) -> Likeness | None:
    """Equal except for accents, marks, hyphens and case."""
    here, there = bare(one), bare(other)
    if here == there and here:
        return Likeness("same", 98, "the same but for accents and marks")
    if here and _without_umlauts(one) == _without_umlauts(other):
        return Likeness("same", 97, "the same but for umlauts") if " " in here else Likeness("like", 95, "umlauts")
    return None


def _without_umlauts(name: str) -> str:
    """Treats 'Müller' and 'Mueller' alike, if one of them has the umlaut itself."""
    shown = name_key(name)
    if any(sign in shown for sign in "äöü"):
        for letters, letter in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
            shown = shown.replace(letters, letter)
    return bare(shown)


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
    """What titles and suffixes such as "Jr." say about two people."""
    titles, others = {*here.titles}, {*there.titles}
    if (titles & _OF_MEN and others & _OF_WOMEN) or (titles & _OF_WOMEN and others & _OF_MEN):
        return _other("another title")
    if here.suffix == there.suffix:
        return None
    if here.suffix and there.suffix:
        return _other("another generation")
    return Likeness("like", 90, "one is a junior or senior") if here.words == there.words else _other()


class _Person(NamedTuple):
    words: tuple[str, ...]
    titles: tuple[str, ...]
    suffix: str


def _person(name: str) -> _Person:
    """The words of a name, first names first, without titles and generational suffixes."""
    head, _, tail = name.partition(",")
    suffix = _FORMS["generations"].get(_MARKS.sub("", tail.strip()), "")
    ordered = name if not tail.strip() else head if suffix else f"{tail} {head}"
    words = bare(ordered.replace(".", ". ")).split()
    titles = tuple(word for word in words if word in _TITLES)
    rest = [word for word in words if word not in _TITLES] or words
    if len(rest) > 1 and rest[-1] in _FORMS["generations"]:
        suffix = _FORMS["generations"][rest.pop()]
    return _Person(tuple(rest), titles, suffix)


def _persons(here: _Person, there: _Person) -> Likeness:
    short, long = sorted((here, there), key=lambda each: len(each.words))
    if not short.words:
        return _other()
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
    return _other()


def _part_of_person(short: _Person, long: _Person) -> Likeness:
    word = short.words[0]
    if word == long.words[0] and not short.titles and len(word) > 1:
        return Likeness("part", 90, "the first name of the other")
    if word == long.words[-1]:
        return Likeness("like", 85, "the surname of the other")
    if nickname(word, long.words[0]) and not short.titles:
        return Likeness("like", _ALIKE, "a short form of the first name")
    return _other()


def _whole_persons(short: tuple[str, ...], long: tuple[str, ...]) -> Likeness:
    first, last = (short[0], long[0]), (short[-1], long[-1])
    if last[0] == last[1]:
        return _of_one_surname(short, long)
    if first[0] != first[1]:
        return _other()
    if set(short) <= set(long):
        return Likeness("like", 88, "one has another surname beside it")
    ratio = _ratio(*last)
    if ratio >= _NEARLY and min(map(len, last)) >= _LONG - 1 and len(short) == len(long):
        return Likeness("like", ratio, "surnames that are spelled alike")
    return _other("another surname")


def _of_one_surname(short: tuple[str, ...], long: tuple[str, ...]) -> Likeness:
    first, other = short[0], long[0]
    if first == other:
        middle, others = short[1:-1], long[1:-1]
        goes_with = len(middle) == len(others) and all(map(_may_stand_for, middle, others))
        if middle and others and not goes_with:
            return _other("another middle name")
        return Likeness("like", 91, "a middle name is left out")
    if 1 in {len(first), len(other)}:
        return Likeness("like", 88, "an initial") if _may_stand_for(first, other) else _other("another initial")
    if nickname(first, other):
        return Likeness("like", 88, "a short form of the first name")
    ratio = _ratio(first, other)
    return (
        Likeness("like", ratio, "first names that are spelled alike")
        if ratio >= _ALIKE
        else _other("another first name")
    )


def _may_stand_for(one: str, other: str) -> bool:
    """Whether two first names are one, or one is the initial of the other."""
    return one == other or (1 in {len(one), len(other)} and one[0] == other[0])


# Organisations.


def _organisations(one: str, other: str) -> Likeness:
    (here, form), (there, another) = _company(one), _company(other)
    if here == there and here:
        if form and another and form != another:
            return Likeness("like", 90, "another legal form")
        return Likeness("same", 97, "the same but for its legal form")
    if even := _even(one, other):
        return even
    words, others = here.split(), there.split()
    if _acronym(words, others) or _acronym(others, words):
        return Likeness("like", 82, "the initials of the other")
    if (set(words) < set(others) or set(others) < set(words)) and set(words) ^ set(others) <= _OF_COMPANIES:
        return Likeness("like", 85, "one tells more of what it is")
    return _spelled_alike(here, there)


def _company(name: str) -> tuple[str, str]:
    """The name without article and legal form, plus that form."""
    words = [_FORMS["spelled_out"].get(word, word) for word in bare(name.replace(".", "")).split()]
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    forms = []
    while len(words) > 1 and words[-1] in _FORMS["legal_forms"]:
        forms.append(_FORMS["legal_forms"][words.pop()])
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
        return _other("in another state or country")
    if here == there and here:
        same = Likeness("same", 97, "the same place")
        return same if of == within else Likeness("part", 90, "one tells where it is")
    if even := _even(one, other):
        return even
    if {here, there} in ({f"{here} city", here}, {f"{there} city", there}):
        return Likeness("like", 85, "one tells more of what it is")
    return _spelled_alike(here, there)


def _place(name: str) -> tuple[str, str]:
    """A place without its article, plus the state or country after the comma."""
    head, _, tail = name.partition(",")
    words = [_FORMS["places"].get(word, word) for word in bare(head.replace(".", "")).split()]
    if len(words) > 1 and words[0] == "the":
        words = words[1:]
    whole = " ".join(words)
    within = bare(tail.replace(".", ""))
    return COUNTRIES.get(whole, whole), _STATES.get(within, COUNTRIES.get(within, within))


# Everything else.


def _things(one: str, other: str) -> Likeness:
    here, there = (bare(name).removeprefix("the ") for name in (one, other))
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
    """Names with equally many words, each equal or spelled alike; a long word may have a doubled or swapped letter."""
    words, others = here.split(), there.split()
    if len(words) != len(others):
        return _other()
    differ = [(one, other) for one, other in zip(words, others, strict=True) if one != other]
    if len(differ) != 1 or min(map(len, differ[0])) < _LONG:
        return _other()
    one, other = differ[0]
    ratio = _ratio(here, there)
    if _slip(one, other) and min(len(one), len(other)) >= _LONG + 2 and ratio >= _LEAST_TO_MERGE:
        return Likeness("same", ratio, "a letter doubled or swapped")
    return Likeness("like", ratio, "spelled alike") if _ratio(one, other) >= _NEARLY else _other()


def _slip(one: str, other: str) -> bool:
    """Whether a letter was doubled, or two neighbours swapped."""
    if re.sub(r"(.)\1", r"\1", one) == re.sub(r"(.)\1", r"\1", other):
        return True
    differ = [place for place, (here, there) in enumerate(zip(one, other, strict=False)) if here != there]
    if len(one) != len(other) or len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    return one[differ[0]] == other[differ[1]] and one[differ[1]] == other[differ[0]]


_COMPARED = {"person": _people, "organisation": _organisations, "place": _places}
