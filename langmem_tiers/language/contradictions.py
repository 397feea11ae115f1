"""When statements contradict each other: they give different values to what has one at a time, such as a home.

Two statements that give such an attribute different values cannot both be true. A sentence is only read this way if
its form is unambiguous: "likes" and "has been to" have many values, and what has a red car may be fast as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from langmem_tiers.language.calendar import MONTH_NAMES, WEEKDAY_NAMES
from langmem_tiers.language.contrasts import is_one_of_several, value_of
from langmem_tiers.language.names import KIN
from langmem_tiers.language.synonyms import NUMBERS
from langmem_tiers.language.word_lists import named_pattern, table, word_set
from langmem_tiers.language.words import STOPWORDS, meaningful_words, stem, stems

Kind = Literal["day", "date", "number", "name", "other"]


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute of someone or something, and its value; `clue` occurs in every sentence with the same slot."""

    subject: str
    attribute: str
    value: frozenset[str]
    kind: Kind
    clue: str


_ATTRIBUTES = table("attributes")
_CLUES = {"live": " in ", "employer": "work", "profession": "work"}
_STATES = tuple(map(word_set, _ATTRIBUTES["states"]))
_ALTERNATIVES = tuple(map(word_set, _ATTRIBUTES["alternatives"]))
# What may follow the value and merely adds detail.
_TAIL = named_pattern("contradictions", "tail")
_DATES = re.compile(r" \((?:about )?[\d, -]+\)$")
_SEVERAL = re.compile(r"\b(?:and|or|but|also|both|sometimes|used to|not|never|no longer|who|which|where)\b|[,;]|n't\b")
_OTHERS = re.compile(r"^(.+?) and others$")
_MONTHS, _WEEKDAYS = f"(?:{MONTH_NAMES})", f"(?:{WEEKDAY_NAMES})"
_MONTH = re.compile(rf"\b{_MONTHS}\b")
_WEEKDAY = re.compile(rf"\b{_WEEKDAYS}\b", re.IGNORECASE)
# Nothing but a day, a date, a time or an amount.
_MEASURED = named_pattern("contradictions", "measured")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_TOKEN = re.compile(r"(?<![\w'$€£%.:-])[\w'$€£%.:-]*\w")
_SMALL = word_set("the a an of on at in by my")
_PAST = word_set("was were had did been")
_DENIED = re.compile(r"\b(?:no longer|(?:can)?not|never|used to)\b|n['’]t\b", re.IGNORECASE)
# For a value to be wrong: the share of the words around it that the right statement must have too.
_SAME_ATTRIBUTE = 0.5
# For a whole statement to be wrong: the share of its words that the entry must contain.
_SAME_STATEMENT = 0.75
# Most entries are about the user.
_OF_ALL = frozenset({"user"})
_KIN = frozenset(map(stem, KIN))
_NAME = re.compile(r"\b(?!The\b)[A-Z][\w-]+")


def differ(right: str, other: str) -> bool:
    """Whether two sentences give one attribute different values.

    Example:
        >>> differ("The user lives in Braga.", "The user lives in Oslo with the user's cat.")
        True
        >>> differ("The user likes tea.", "The user likes coffee.")
        False
    """
    here, there = slot(right), slot(other)
    if here is None or there is None or (here.subject, here.attribute) != (there.subject, there.attribute):
        return False
    return exclude(here, there)


def exclude(here: Slot, there: Slot) -> bool:
    """Whether two values of one attribute cannot both hold: values of different kinds are not compared."""
    if here.kind in {"name", "other"}:
        return here.kind == there.kind and not here.value & there.value
    return here.kind == there.kind and not (here.value <= there.value or there.value <= here.value)


def slot(sentence: str) -> Slot | None:
    """The attribute that a sentence gives a value to, None if that is unclear.

    A sentence that says more than one thing has none: replacing it would lose the rest.
    """
    told = _DATES.sub("", sentence.strip().rstrip(".!"))
    if says_several(told):
        return None
    found = (read(match) for pattern, read in _READERS if (match := pattern.match(told)))
    return next(filter(None, found), None)


def says_several(sentence: str) -> bool:
    """Whether a sentence says more than one thing, or what is not so; then `slot` finds none."""
    return _SEVERAL.search(sentence.replace(" and others", "")) is not None


def denies(sentence: str) -> bool:
    """Whether a sentence denies something, or says that it is over."""
    return _DENIED.search(sentence) is not None


def is_denied(denial: str, statement: str, other: str) -> bool:
    """Whether another sentence states what a denial denies.

    Args:
        denial: What holds now ("The user no longer works at Bosch.").
        statement: What it denies ("The user works at Bosch").
        other: The sentence that may state it ("The user works at Bosch as an engineer.").

    """
    if not denies(denial) or denies(other) or _is_over(other, statement):
        return False
    wanted = [stem(word) for word in meaningful_words(statement)]
    held = [stem(word) for word in meaningful_words(_DATES.sub("", other.strip().rstrip(".!")))]
    if not wanted or held[: len(wanted)] != wanted:
        return False
    place = 0  # behind these words
    for word in meaningful_words(other)[: len(wanted)]:
        found = other.casefold().find(word, place)
        place = found + len(word) if found >= 0 else place
    return not _SEVERAL.search(other[place:])


def is_wrong(right: str, wrong: str, other: str) -> bool:
    """Whether another sentence has a wrong value for what a right statement says, about the same thing.

    Args:
        right: The statement that holds ("The user lives in Oslo.").
        wrong: The value or statement that does not, as it was said ("Bergen").
        other: The sentence in question ("The user lives in Bergen.").

    """
    if is_denied(right, wrong, other):
        return True
    if is_one_of_several(other, value_of(wrong)):
        return False
    here, there = stems(right) - _OF_ALL, stems(other) - _OF_ALL
    if not _holds_wrong_value(here, stems(wrong) - _OF_ALL, there):
        return False
    # One may be about the user's sister, say, and the other about the user or someone else.
    return here & _KIN == there & _KIN or bool({*_NAME.findall(right)} & {*_NAME.findall(other)})


def _by_age(match: re.Match[str]) -> Slot | None:
    return _slot(match, "age", match["value"], clue=f"{match['subject']} ", kind="number")


def _by_count(match: re.Match[str]) -> Slot | None:
    if match["what"].split()[-1] in STOPWORDS:
        return None
    what = " ".join(map(stem, match["what"].split()))
    return _slot(match, f"has {what}", _number(match["value"]), clue=what, kind="number")


def _by_state(match: re.Match[str]) -> Slot | None:
    group = next((states for states in _STATES if match["value"] in states), None)
    return _slot(match, f"is {min(group)}", match["value"], clue=f"{match['subject']} ") if group else None


def _by_preference(match: re.Match[str]) -> Slot | None:
    """Preferences are of one kind if the preferred things are."""
    value = _TAIL.sub("", match["value"]).casefold().split()
    group = next((each for each in _ALTERNATIVES if value and value[0] in each), None)
    if group is None or (len(value) > 1 and value[-1] in STOPWORDS):
        return None
    return _slot(match, f"prefers {' '.join((min(group), *value[1:]))}", value[0], clue="prefer", kind="other")


def _by_noun(match: re.Match[str]) -> Slot | None:
    attribute = re.sub(r"\bfav(?:ou?rite|e)\b", "favourite", match["said"])
    kind: Kind | None = "other" if attribute.startswith("favourite") else None
    return _slot(match, attribute, match["value"], clue=match["said"].split()[-1], kind=kind)


def _by_verb(match: re.Match[str], attribute: str) -> Slot | None:
    if re.match(r"(?:it|this|that|these|there|here)\b", match["value"]):
        return None
    return _slot(match, attribute, match["value"], clue=_CLUES.get(attribute, match["said"].split()[0]))


def _by_measure(match: re.Match[str]) -> Slot | None:
    value, kind = match["value"], _kind(match["value"])
    if not _MEASURED.fullmatch(value) or (kind != "number" and match["subject"] in {"The user", "The user and others"}):
        return None
    unit = re.sub(r"[\d.,:$€£]+", "", value).strip() if kind == "number" else kind
    return _slot(match, f"{match['said']} {unit}", value, clue=f"{match['subject']} ", kind=kind)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Slot | None]], ...] = (
    (named_pattern("contradictions", "of_age"), _by_age),
    (named_pattern("contradictions", "of_count"), _by_count),
    (named_pattern("contradictions", "of_state"), _by_state),
    (named_pattern("contradictions", "of_preference"), _by_preference),
    (named_pattern("contradictions", "of_noun"), _by_noun),
    (named_pattern("contradictions", "of_favourite"), _by_noun),
    *(
        (named_pattern("contradictions", "by_verb", verb=verb), partial(_by_verb, attribute=attribute))
        for attribute, verb in _ATTRIBUTES["verbs"].items()
    ),
    # For any other noun, only measurements have a single value: "The call is on Friday", "The flight leaves at 14:00".
    (named_pattern("contradictions", "of_measured"), _by_measure),
)


def _slot(match: re.Match[str], attribute: str, value: str, *, clue: str, kind: Kind | None = None) -> Slot | None:
    told = value if kind else _TAIL.sub("", f" {value}").strip() or value
    words = {_ORDINAL.sub("", _number(word)) for word in _TOKEN.findall(told.casefold())} - _SMALL
    if not words:
        return None
    subject = _OTHERS.sub(r"\1", match["subject"]).casefold()
    return Slot(subject, attribute, frozenset(words), kind or _kind(told), clue)


def _kind(value: str) -> Kind:
    """The kind of a value: only values of one kind are compared."""
    if _WEEKDAY.search(value):
        return "day"
    if _MONTH.search(value.casefold()):
        return "date"
    if re.search(r"\d", value) or value.casefold() in NUMBERS:
        return "number"
    return "name" if re.search(r"(?:^| )[A-Z]", value) else "other"


def _number(word: str) -> str:
    folded = word.casefold()
    return {"a": "1", "an": "1", "no": "0"}.get(folded) or NUMBERS.get(folded, folded)


def _is_over(other: str, statement: str) -> bool:
    """Whether another sentence puts in the past what a statement puts in the present: that is not denied."""
    now = set(statement.casefold().split())
    then = [word for word in other.casefold().rstrip(".").split() if word not in now]
    return any(word in _PAST or (word.endswith("ed") and stem(word) in stems(statement)) for word in then)


def _holds_wrong_value(right: set[str], wrong: set[str], held: set[str]) -> bool:
    value = wrong - right  # the words that are wrong
    if not value & held or len(value & held) < _SAME_STATEMENT * len(value):
        return False
    frame = held - value
    states_whole = len(wrong) > len(value) and len(wrong & held) >= _SAME_STATEMENT * len(wrong)
    return states_whole or len(frame & right) >= _SAME_ATTRIBUTE * len(frame)
