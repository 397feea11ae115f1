"""Capitalised names in a text, and which of them are people and places, judged by the words around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from langmem_tiers.language.calendar import MONTHS, SHORT_MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from langmem_tiers.language.word_lists import alternatives, listed, named_pattern
from langmem_tiers.language.words import FUNCTION_WORDS, LOOKED_AT, PLEASANTRIES, QUESTION_WORDS, beginning_with
from langmem_tiers.lazy_property import lazy_property

CALENDAR = frozenset({*MONTHS, *SHORT_MONTHS, *WEEKDAYS, *SHORT_WEEKDAYS}) | listed("names", "calendar")
LANGUAGES = listed("names", "languages")
PRODUCTS = listed("names", "products")
NO_PLACES = PRODUCTS | CALENDAR | LANGUAGES | listed("names", "no_places")
"""Words that name nothing that somebody can live in."""

FIRST_NAMES = listed("names", "first_names")
NOT_NAMES = FUNCTION_WORDS | PLEASANTRIES | QUESTION_WORDS | CALENDAR | LANGUAGES | listed("names", "sentence_openers")

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f\u0386-\u03ab\u0400-\u042f"
# The text before a name is checked from the capital backwards: searching for capitals alone is far faster.
_CAPITALISED = rf"[{_UPPER}](?<![\w'’@#/.].)\w*(?:['’-]\w+)*"
_JOINT = r"(?: |\. (?<=\b[A-Z]\. )| (?:of|de|da|do|del|della|di|van|von|der|den|la|le|el|al|bin) )"
_RUN = re.compile(rf"{_CAPITALISED}(?:{_JOINT}{_CAPITALISED})*")
_POSSESSIVE = re.compile(r"['’](?:s|m|re|ve|ll|d)$|['’]$")
_WORD = re.compile(r"\S+")
_NEIGHBOUR = re.compile(r"[\w'’]+")
# 'Hey Anna', 'Thanks, Anna', 'Anna, guess what', '…, Anna!'
_ADDRESSED = named_pattern("names", "addressed")
_GREETINGS = listed("names", "greetings")
_CALLS = [*_GREETINGS, *map(str.capitalize, _GREETINGS), ". ", "! ", "? ", ", "]

_KIN = alternatives("names", "kin")
KIN = frozenset(re.sub(r"[?]", "", _KIN).split("|")) | {"neighbor", "coworker", "twin", "fiance", "fiancé"}
_OUR = ["".join(cased) for word in ("my", "our") for cased in product(*zip(word, word.upper(), strict=True))]
_KINSHIP = re.compile(rf"\b(?:my|our)\s++(?:\w++\s++)?({_KIN})\b(?!['’-]\w\w)", re.IGNORECASE)
_TITLES = listed("names", "titles")
_TITLED = re.compile(rf"^(?:{'|'.join(map(re.escape, _TITLES))})\.* (?=.)", re.DOTALL)
NOT_ALONE = NOT_NAMES | KIN | _TITLES | listed("name_forms", "titles") | listed("relations", "also_names")
NOT_ALONE |= listed("words", "adjectives") | listed("verbs", "bare") | listed("names", "also_words")
"""Parts of names that name nobody by themselves: titles, words for kin, and ordinary words such as Mark or Young."""
_BEFORE_PERSON = listed("names", "before_person")
_GENERIC_SPEAKERS = listed("names", "generic_speakers")
_SPEECH = named_pattern("names", "speech")
_OF_A_NAME = re.compile(r"(?:friend|colleague|boss|brother|sister|son|daughter|cousin|neighbou?r)")

_PLACES = listed("names", "places")
_PLACES_OF_TWO_WORDS = named_pattern("names", "places_of_two_words")
_KINDS_OF_PLACES = listed("names", "kinds_of_places")
_BEFORE_PLACE = listed("names", "before_place")
_BEFORE_LISTENER = listed("names", "before_listener")


@dataclass(frozen=True)
class Name:
    """A run of capitalised words in a text, with its surroundings.

    `folded` is the name as tags have it, casefolded; `opens` says that it starts a sentence; `possessive`
    that 's followed it. `within` is the whole text, in which it spans `start` to `end`.
    """

    text: str
    folded: str
    opens: bool
    possessive: bool
    within: str
    start: int
    end: int

    @lazy_property
    def before(self) -> tuple[str, ...]:
        """The words before it, at most three, casefolded."""
        return tuple(_NEIGHBOUR.findall(self.within[max(0, self.start - 40) : self.start].casefold())[-3:])

    @lazy_property
    def after(self) -> str:
        """The word after it, casefolded, or empty."""
        found = _NEIGHBOUR.search(self.within[self.end : self.end + 20].casefold())
        return found.group() if found else ""


def names(text: str) -> list[Name]:
    """The capitalised names in the first 20,000 characters, without words that are only capitalised to open a sentence.

    Calendar words, languages and pleasantries are not names; a text all in capitals has none.
    """
    shown = text[:LOOKED_AT]
    upper = sum(map(str.isupper, shown[:400]))
    if upper > 12 and upper > sum(map(str.islower, shown[:400])):  # all in capitals
        return []
    found = (name for match in _RUN.finditer(shown) for name in _split(shown, match))
    return [name for name in found if name.folded != "new"]  # 'New York' is a name, 'New' is not


def addressed(text: str) -> set[str]:
    """The names, casefolded, of people that a text addresses."""
    calls = beginning_with(_CALLS, _ADDRESSED, text[:LOOKED_AT])
    called = {name.casefold() for call in calls for name in call.groups() if name}
    return called - NOT_NAMES


def people(text: str, found: Sequence[Name], speaker: str | None) -> list[str]:
    """The people in a text, the speaker first, casefolded; kin appear as 'sister', and by name if it is given."""
    said_by = " ".join((speaker or "").casefold().split())
    counted = Counter(name.folded for name in found)
    # One clear mention settles all others.
    named = [_TITLED.sub("", name.folded) for name in found if is_person(name, counted[name.folded])]
    kin = [match.group(1).casefold() for match in beginning_with(_OUR, _KINSHIP, text[:LOOKED_AT])]
    speakers = [said_by] if said_by and said_by not in _GENERIC_SPEAKERS else []
    return list(dict.fromkeys([*speakers, *named, *kin]))


def is_person(name: Name, times: int = 1) -> bool:
    """Whether the name is a person's, judged by its first word or its surroundings."""
    parts = name.folded.split()
    if len(parts) > 3 or not PRODUCTS.isdisjoint(parts) or name.text.isupper():
        return False
    if parts[0] in FIRST_NAMES or (len(parts) > 1 and parts[0].rstrip(".") in _TITLES):
        return True
    return _is_addressed(name) or _is_spoken_of(name, times)


def places(found: Sequence[Name]) -> list[str]:
    """The places among names, casefolded: well-known ones, and names after 'in', 'at', 'to', 'visited' and the like."""
    return list(dict.fromkeys(name.folded for name in found if _is_place(name)))


def _split(text: str, match: re.Match[str]) -> list[Name]:
    """The names in a run: 'Yesterday Anna' holds one, 'Tom I' holds one, 'New York' is one."""
    if " " not in match.group():
        return [_name(text, *match.span())] if _is_name_word(match.group()) else []
    found: list[Name] = []
    start: int | None = None
    end = match.start()
    for word in _WORD.finditer(match.group()):
        begins, ends = match.start() + word.start(), match.start() + word.end()
        if _is_name_word(word.group()) or (start is not None and word.group().islower()):
            start = begins if start is None else start
            end = ends if not word.group().islower() else end
        elif start is not None:
            found.append(_name(text, start, end))
            start = None
    if start is not None:
        found.append(_name(text, start, end))
    return found


@lru_cache(maxsize=8192)
def _is_name_word(word: str) -> bool:
    bare = _POSSESSIVE.sub("", word.rstrip(".")).casefold()
    return word[0].isupper() and len(bare) > 1 and bare not in NOT_NAMES


def _name(text: str, start: int, end: int) -> Name:
    shown = text[start:end]
    bare = _POSSESSIVE.sub("", shown)
    # Only quotes and brackets may lie between a name that opens a sentence and the one before.
    before = text[max(0, start - 8) : start].rstrip(" \t\"'“‘(*_[")
    return Name(
        text=bare,
        folded=bare.casefold(),
        opens=not before or not (before[-1].isalnum() or before[-1] in ",;)'\"%&/’”-"),
        possessive=bare != shown,
        within=text,
        start=start,
        end=end,
    )


def _is_addressed(name: Name) -> bool:
    """'Hey Judith', 'Dr. Okafor', 'my friend Oluwaseun', 'told Mbali'."""
    last = "".join(name.before[-1:])
    if name.opens:  # then the preceding words belong to another sentence, unless the full stop is a title's
        return last in _TITLES
    if last in {"named", "called"}:  # films and bands are "called" something too, in several words
        return " " not in name.text
    return last in _BEFORE_PERSON or last in _TITLES or _OF_A_NAME.fullmatch(last) is not None


def _is_spoken_of(name: Name, times: int) -> bool:
    """'Oluwaseun said', 'Oluwaseun's wife'; for a name that occurs twice, 'with Oluwaseun' is enough."""
    if _SPEECH.fullmatch(name.after) or (name.possessive and name.after in KIN):
        return True
    return times > 1 and not name.opens and name.before[-1:] in {("with",), ("and",)}


def _is_place(name: Name) -> bool:
    folded, parts = name.folded, name.folded.split()
    ends_as_place = len(parts) > 1 and (parts[-1] in _KINDS_OF_PLACES or _PLACES_OF_TWO_WORDS.fullmatch(folded))
    if folded in _PLACES or ends_as_place:
        return True
    if name.opens or name.possessive or len(parts) > 4 or not PRODUCTS.isdisjoint(parts):
        return False
    leading = name.before[:-1] if name.before[-1:] == ("the",) else name.before
    if not leading or leading[-1] not in _BEFORE_PLACE or name.text.isupper():
        return False
    spoken_to = leading[-1] in {"to", "at", "from"} and any(word in _BEFORE_LISTENER for word in leading[:-1])
    return not spoken_to and not is_person(name)
