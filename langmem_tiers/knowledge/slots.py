"""What has one value at a time: where somebody lives, how old they are, how many cats there are. Pure.

Two statements that give one of these different values can not both hold. Only where a sentence is surely of such a
shape it is read so: "likes" and "has been to" have many values, and what has a red car may be fast as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from langmem_tiers.knowledge import synonyms
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.palace.words import STOPWORDS, meaningful_words, stem, word_set

Kind = Literal["day", "date", "number", "name", "other"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Of whom or what, which attribute, and its value; `clue` is a text that a sentence with the same slot holds."""

    subject: str
    attribute: str
    value: frozenset[str]
    kind: Kind
    clue: str


_SUBJECT = r"(?P<subject>The user(?: and others)?(?:'s [\w '-]+?)?|[A-Z][\w-]+(?: and others)?(?:'s [\w '-]+?)?)"
_NOW = r"(?: currently| now| actually| still)?"
# Attributes that are a noun of somebody's: "The user's birthday is …".
_NOUNS = (
    r"(?:(?:first |last |middle |full |maiden )?name|surname|nickname|birthday|age|e-?mail(?: address)?|phone number"
    r"|(?:home )?address|zip code|postcode|job(?: title)?|profession|occupation|major|hometown|native language"
    r"|mother tongue|nationality|height|weight|shoe size|blood type|time ?zone|username|employer|anniversary|salary"
    r"|budget|rent|deadline|pronouns|fav(?:ou?rite|e) [\w-]+(?: [\w-]+)?)"
)
_MEASURED_NOUN = r"(?:The|[\w-]+(?: and others)?'s|The user's) (?:[\w'-]+ ){0,3}[\w'-]+"
_COUNT = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|no|\d+"
_VERBS = {
    "live": r"(?:lives?|is living|are living|resides?|is based|are based) in",
    "employer": r"(?:works?|is working|are working) (?:at|for)",
    "profession": r"(?:works?|is working) as",
    "origin": r"(?:is|comes?|are) from",
    "birthplace": r"was born in",
    "called": r"(?:wants to be called|goes by)",
    "drives": r"drives? an?",
    "weight": r"weighs?",
    "studies": r"(?:studies|is studying)(?! (?:at|in|with|for)\b)",
    "studies at": r"(?:studies|is studying) (?:at|in)",
    "runs on": r"(?:runs on|is hosted (?:on|at|in)|is written in|is built (?:with|on|in))",
    "named": r"is (?:called|named)",
}
_CLUES = {"live": " in ", "employer": "work", "profession": "work"}
_BY_VERB = tuple(
    (attribute, re.compile(rf"^{_SUBJECT}{_NOW} (?P<said>{verb}) (?P<value>.+)$")) for attribute, verb in _VERBS.items()
)
_OF_NOUN = re.compile(rf"^(?P<subject>The user|[A-Z][\w' -]*?)'s (?P<said>{_NOUNS}) (?:is|are) (?P<value>.+)$")
_OF_FAVOURITE = re.compile(
    r"^(?P<value>.+?) (?:is|are) (?P<subject>the user|[A-Z][\w-]+)'s (?P<said>fav(?:ou?rite|e) [\w-]+(?: [\w-]+)?)$"
)
# Of any other noun, only what is measured has one value: "The call is on Friday", "The flight leaves at 14:00".
_OF_MEASURED = re.compile(
    rf"^(?P<subject>{_MEASURED_NOUN}) (?P<said>is|are|costs?|starts?|begins?|ends?|leaves?|departs?|arrives?|opens?"
    r"|closes?|expires?)(?: due)?(?: on| at| in| by)? (?P<value>.+)$"
)
_OF_AGE = re.compile(rf"^{_SUBJECT} (?P<said>is|turned) (?P<value>\d{{1,3}})(?: years old)?$")
_OF_COUNT = re.compile(rf"^{_SUBJECT} (?P<said>has|have|owns) (?P<value>{_COUNT}) (?P<what>[a-z-]+(?: [a-z-]+)?)$")
_OF_STATE = re.compile(rf"^{_SUBJECT} (?P<said>is|are) (?:an? )?(?P<value>[a-z-]+)$")
_OF_PREFERENCE = re.compile(
    rf"^{_SUBJECT} (?P<said>prefers?) (?P<value>.+?)(?: (?:to|over|rather than|instead of) (?P<less>.+))?$"
)
# One can be one of each at a time.
_STATES = (
    word_set("vegan vegetarian pescatarian omnivore"),
    word_set("single married divorced widowed engaged"),
    word_set("left-handed right-handed ambidextrous lefty"),
    word_set("unemployed employed self-employed retired"),
)
# What is preferred instead of another of its kind.
_ALTERNATIVES = (
    word_set("tea coffee water juice cola milk beer wine cocoa"),
    word_set("dog dogs cat cats"),
    word_set("train trains plane planes bus buses car cars bike bikes flying driving cycling walking"),
    word_set("morning mornings afternoon afternoons evening evenings night nights"),
    word_set("summer winter spring autumn fall"),
    word_set("metric imperial celsius fahrenheit"),
    word_set("email emails phone call calls text texts"),
    word_set("light dark"),
    word_set("aisle window"),
    word_set("monday tuesday wednesday thursday friday saturday sunday"),
)
# What stands behind the value and only says more of it.
_TAIL = re.compile(
    r",? (?:with|as|in|on|at|since|for|near|because|from|until|by|now|again|these days|any ?more|instead)\b.*$"
)
_DATES = re.compile(r" \((?:about )?[\d, -]+\)$")
_SEVERAL = re.compile(r"\b(?:and|or|but|also|both|sometimes|used to|not|never|no longer|who|which|where)\b|[,;]|n't\b")
_OTHERS = re.compile(r"^(.+?) and others$")
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE)
_MONTH = re.compile(r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b")
_MONTHS = _MONTH.pattern[2:-2]
# Nothing but a day, a date, a time or an amount.
_MEASURED = re.compile(
    rf"(?i:(?:next |this )?{_WEEKDAY.pattern[2:-2]}|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTHS}(?: \d{{4}})?"
    rf"|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|[$€£]?\d[\d.,:]*(?: ?[a-z%€$£]+)?(?: (?:a|per) [a-z]+)?)"
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_TOKEN = re.compile(r"[\w'$€£%.:-]*\w")
_SMALL = word_set("the a an of on at in by my")
_PAST = word_set("was were had did been")
_DENIED = re.compile(r"\b(?:no longer|not|never|used to)\b|n't\b")


def rivals(right: str, there: Iterable[Entry]) -> list[Entry]:
    """The entries that give another value to the one thing that a right statement tells, in the order given.

    Example:
        >>> from langmem_tiers.knowledge.slots import differ
        >>> differ("The user lives in Braga.", "The user lives in Oslo with the user's cat.")
        True
        >>> differ("The user likes tea.", "The user likes coffee.")
        False
    """
    return [entry for entry in there if differ(right, entry.content)]


def differ(right: str, other: str) -> bool:
    """Whether two sentences give one thing different values."""
    here, there = slot(right), slot(other)
    if here is None or there is None or (here.subject, here.attribute) != (there.subject, there.attribute):
        return False
    if here.kind in {"name", "other"}:
        return here.kind == there.kind and not here.value & there.value
    return here.kind == there.kind and not (here.value <= there.value or there.value <= here.value)


def slot(sentence: str) -> Slot | None:
    """What a sentence gives a value to, None where that is not sure.

    What tells more than one thing is none: with the value, the rest would be lost.
    """
    told = _DATES.sub("", sentence.strip().rstrip(".!"))
    if _SEVERAL.search(told.replace(" and others", "")):
        return None
    return next(_readings(told), None)


def is_denied(denial: str, statement: str, other: str) -> bool:
    """Whether another sentence tells what a denial takes back.

    Args:
        denial: What holds now ("The user no longer works at Bosch.").
        statement: What it denies ("The user works at Bosch").
        other: The sentence that may tell it ("The user works at Bosch as an engineer.").

    """
    if not _DENIED.search(denial) or _DENIED.search(other) or _is_over(other, statement):
        return False
    wanted, held = _stems(statement), _stems(_DATES.sub("", other.strip().rstrip(".!")))
    rest = other[_place_behind(other, len(wanted)) :]
    return bool(wanted) and held[: len(wanted)] == wanted and not _SEVERAL.search(rest)


def _readings(told: str) -> Iterator[Slot]:
    for read in (_by_age, _by_count, _by_state, _by_preference, _by_noun, _by_verb, _by_measure):
        found = read(told)
        if found is not None:
            yield found


def _by_age(told: str) -> Slot | None:
    match = _OF_AGE.match(told)
    return _slot(match, "age", match["value"], clue=f"{match['subject']} ", kind="number") if match else None


def _by_count(told: str) -> Slot | None:
    match = _OF_COUNT.match(told)
    if match is None or match["what"].split()[-1] in STOPWORDS:
        return None
    what = " ".join(map(stem, match["what"].split()))
    return _slot(match, f"has {what}", _number(match["value"]), clue=what, kind="number")


def _by_state(told: str) -> Slot | None:
    match = _OF_STATE.match(told)
    group = next((states for states in _STATES if match and match["value"] in states), None)
    return _slot(match, f"is {min(group)}", match["value"], clue=f"{match['subject']} ") if match and group else None


def _by_preference(told: str) -> Slot | None:
    """Preferences are of one kind where what is preferred is."""
    match = _OF_PREFERENCE.match(told)
    if match is None:
        return None
    value = _TAIL.sub("", match["value"]).casefold().split()
    group = next((each for each in _ALTERNATIVES if value and value[0] in each), None)
    if group is None or (len(value) > 1 and value[-1] in STOPWORDS):
        return None
    attribute = f"prefers {' '.join((min(group), *value[1:]))}"
    return _slot(match, attribute, value[0], clue="prefer", kind="other")


def _by_noun(told: str) -> Slot | None:
    match = _OF_NOUN.match(told) or _OF_FAVOURITE.match(told)
    if match is None:
        return None
    attribute = re.sub(r"\bfav(?:ou?rite|e)\b", "favourite", match["said"])
    kind: Kind | None = "other" if attribute.startswith("favourite") else None
    return _slot(match, attribute, match["value"], clue=match["said"].split()[-1], kind=kind)


def _by_verb(told: str) -> Slot | None:
    for attribute, pattern in _BY_VERB:
        match = pattern.match(told)
        if match and not re.match(r"(?:it|this|that|these|there|here)\b", match["value"]):
            return _slot(match, attribute, match["value"], clue=_CLUES.get(attribute, match["said"].split()[0]))
    return None


def _by_measure(told: str) -> Slot | None:
    match = _OF_MEASURED.match(told)
    if match is None:
        return None
    value, kind = match["value"], _kind(match["value"])
    if not _MEASURED.fullmatch(value) or (kind != "number" and match["subject"] in {"The user", "The user and others"}):
        return None
    unit = re.sub(r"[\d.,:$€£]+", "", value).strip() if kind == "number" else kind
    return _slot(match, f"{match['said']} {unit}", value, clue=f"{match['subject']} ", kind=kind)


def _slot(match: re.Match[str], attribute: str, value: str, *, clue: str, kind: Kind | None = None) -> Slot | None:
    told = value if kind else _TAIL.sub("", f" {value}").strip() or value
    words = {_ORDINAL.sub("", _number(word)) for word in _TOKEN.findall(told.casefold())} - _SMALL
    if not words:
        return None
    subject = _OTHERS.sub(r"\1", match["subject"]).casefold()
    return Slot(subject, attribute, frozenset(words), kind or _kind(told), clue)


def _kind(value: str) -> Kind:
    """Of what kind a value is: only values of one kind are set against each other."""
    if _WEEKDAY.search(value):
        return "day"
    if _MONTH.search(value.casefold()):
        return "date"
    if re.search(r"\d", value) or value.casefold() in synonyms.NUMBERS:
        return "number"
    return "name" if re.search(r"(?:^| )[A-Z]", value) else "other"


def _number(word: str) -> str:
    folded = word.casefold()
    return {"a": "1", "an": "1", "no": "0"}.get(folded) or synonyms.NUMBERS.get(folded, folded)


def _is_over(other: str, statement: str) -> bool:
    """Whether another sentence tells of the past what a statement tells of now: that is not denied."""
    now = set(statement.casefold().split())
    then = [word for word in other.casefold().rstrip(".").split() if word not in now]
    return any(word in _PAST or (word.endswith("ed") and stem(word) in _stems(statement)) for word in then)


def _stems(text: str) -> list[str]:
    return [stem(word) for word in meaningful_words(text)]


def _place_behind(text: str, count: int) -> int:
    """Where the first so many meaningful words of a text end."""
    place = 0
    for word in meaningful_words(text)[:count]:
        found = text.casefold().find(word, place)
        place = found + len(word) if found >= 0 else place
    return place
