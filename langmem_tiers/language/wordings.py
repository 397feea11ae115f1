"""Sentences prepared for comparison: their content words in order, and the words that change the meaning.

English only; for other languages inflection and synonyms are unknown, so only identical words count as equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from langmem_tiers.content import content_hash
from langmem_tiers.language import synonyms
from langmem_tiers.language.calendar import MONTH_NAMES, WEEKDAYS
from langmem_tiers.language.word_lists import listed, word_set
from langmem_tiers.language.words import FUNCTION_WORDS

NEGATIONS = word_set("not never none nobody nothing neither nor without nolonger formerly hardly seldom rarely")
PAST = word_set("was were had did became")
# Words that mean little alone and change the meaning of others.
TURNING = NEGATIONS | PAST | listed("words", "turning")
_DROPPED = (FUNCTION_WORDS - TURNING - {"like", "one"}) | word_set(
    "really very quite currently presently simply particularly especially got owns"
)
# What a thing has is not what it is.
BEING = dict.fromkeys(("am", "is", "are", "be", "been", "being"), "be")
BEING |= dict.fromkeys(("have", "has", "having", "owns"), "have")
_FRONTED = word_set("on in at for during every each after before with when whenever if while by since until within")

_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": " "})
_EDGES = "\"'`()[]{}<>*_.,;:!?…。！"
_CLOCK = re.compile(r"(?<=\d)\s+([ap])\.?m\b\.?", re.IGNORECASE)
_DAY = re.compile(rf"\b({MONTH_NAMES})\s+(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_DAY_OF = re.compile(rf"\b(\d+)(?:st|nd|rd|th)(?=\s+(?:of\s+)?(?:{MONTH_NAMES})\b)", re.IGNORECASE)
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_CLITIC = re.compile(r"'(?:s|m|re|ve|ll|d)?$", re.IGNORECASE)
_VOWEL = re.compile("[aeiouy]")
_CONSONANTS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrtv")
# The first of the letters of scripts that are written without blanks: a sentence is one word.
_WITHOUT_FORMS = "\u2e80"
_SIBILANTS = ("ses", "xes", "zes", "ches", "shes")
# "On Mondays" is not "on Monday".
_NO_PLURALS = word_set("news series species glasses") | {*WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)}


Joint = Literal["", ",", "and"]


@dataclass(frozen=True, slots=True)
class Word:
    """A content word: `text` in comparable form; `name` if it names someone or something.

    `single` means one of its kind, after "a" or "an"; `joined` is what connects it to the previous one: "and" (or
    "or"), a comma, or other words.
    """

    text: str
    name: bool = False
    single: bool = False
    joined: Joint = ""

    @property
    def number(self) -> bool:
        """Whether it is a number, an amount, a time or an ordinal."""
        return any(character.isdigit() for character in self.text)


@dataclass(frozen=True, slots=True)
class Wording:
    """A sentence in comparable form. `fronted` is true if it begins with when, where or for what.

    `fixed` are the words that no other form stands for: names, and what is no word of letters. `likeness` is one word
    that all sentences have which may say the same, to find them by.
    """

    words: tuple[Word, ...]
    turning: tuple[str, ...]
    asks: bool
    being: frozenset[str]
    fronted: bool
    texts: frozenset[str]
    fixed: frozenset[str]
    likeness: str

    def may_be(self, other: Wording) -> bool:
        """Whether each word may have one that is alike in the other; most pairs of sentences are told apart by this."""
        return len(self.words) == len(other.words) and self.fixed <= other.texts and other.fixed <= self.texts


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """A text without case, blanks and outer punctuation, to recognise repetitions."""
    whole = unicodedata.normalize("NFKC", text).translate(_STRAIGHT).replace('"', "").casefold()
    return " ".join(whole.split()).strip(".!…,;。！ ")


@lru_cache(maxsize=4096)
def wording(text: str) -> Wording:
    """A text in comparable form."""
    tokens = list(_tokens(text))
    words = tuple(_lists_sorted(word for place in range(len(tokens)) if (word := _word(place, tokens))))
    if not any(word.name for word in words):
        # Loving a thing is liking it; loving a person is not.
        words = tuple(replace(word, text="like") if word.text == "love" else word for word in words)
    return Wording(
        words=words,
        turning=tuple(sorted(token.folded for token in tokens if token.turns)),
        asks=text.rstrip("\"' ").endswith("?"),
        being=frozenset(BEING[token.folded] for token in tokens if token.folded in BEING),
        fronted=bool(tokens) and tokens[0].folded in _FRONTED,
        texts=frozenset(word.text for word in words),
        fixed=frozenset(word.text for word in words if word.name or not word.text.isalpha()),
        likeness=_likeness(tokens),
    )


def _likeness(tokens: Iterable[_Token]) -> str:
    """The content words of a sentence, in any order and inflection, names or not, as a word that no stemmer changes."""
    meant = (each.folded for each in tokens if each.folded not in TURNING and each.folded not in _DROPPED)
    begun = sorted(_beginning(_canonical(word, name=False)) for word in meant)
    return content_hash(" ".join(begun)).hex().translate(_CONSONANTS)


def _beginning(word: str) -> str:
    """What all forms of a word have in common; of a word without forms, all of it."""
    if not word.isalpha() or word[0] >= _WITHOUT_FORMS:
        return word
    return ("like" if "love" in forms(word) else word)[:2]


def in_order(text: str) -> tuple[Word, ...]:
    """The meaningful and meaning-changing words of a text, in order."""
    tokens = list(_tokens(text))
    found = (Word(text=each.folded) if each.turns else _word(place, tokens) for place, each in enumerate(tokens))
    return tuple(word for word in found if word is not None)


def alike(here: Word, there: Word) -> bool:
    """Whether two words are one, inflected or not; names are not inflected, and one thing is not several."""
    if here.text == there.text:
        return True
    if here.name or there.name or here.single != there.single:
        return False
    return not forms(here.text).isdisjoint(forms(there.text))


@lru_cache(maxsize=8192)
def forms(word: str) -> frozenset[str]:
    """A word and its possible base forms; past tense is excluded: what was is not what is.

    Example:
        >>> sorted(forms("hiking"))
        ['hik', 'hike', 'hiking']
    """
    found = {word}
    if word.isalpha() and word not in _NO_PLURALS and len(word) > 3:
        found |= _without_s(word) | _without_ing(word)
    return frozenset(found)


def _without_s(word: str) -> set[str]:
    if word.endswith("ies") and len(word) > 4:
        return {f"{word[:-3]}y"}
    if word.endswith(_SIBILANTS):
        return {word[:-2], word[:-1]}
    return {word[:-1]} if word.endswith("s") and not word.endswith(("ss", "us", "is")) else set()


def _without_ing(word: str) -> set[str]:
    base = word.removesuffix("ing")
    if base == word or len(base) < 3 or not _VOWEL.search(base):
        return set()
    doubled = base[-1] == base[-2] and base[-1] not in "lsz"
    return {base[:-1]} if doubled else {base, f"{base}e"}


@dataclass(frozen=True, slots=True)
class _Token:
    """A word as written, and what precedes it: whether it `turns` the meaning of others, or is a content word."""

    text: str
    folded: str
    first: bool
    after_comma: bool
    turns: bool
    is_content: bool


def _tokens(text: str) -> Iterator[_Token]:
    """The words of a text, with numbers, days and phrases in one form."""
    shown = unicodedata.normalize("NFKC", text).translate(_STRAIGHT).replace(" & ", " and ")
    shown = _DAY_OF.sub(r"\1", _DAY.sub(r"\1 \2", _CLOCK.sub(r"\1m", shown)))
    shown = synonyms.phrases(_THOUSANDS.sub("", _ORDINAL.sub(r"#\1", shown)))
    first, comma = True, False
    for written in shown.split():
        # Signs that belong to numbers and names such as C++ stay.
        bare = written.strip(_EDGES)
        parts = synonyms.CONTRACTIONS.get(bare.casefold()) or (_CLITIC.sub("", bare),)
        for part in filter(None, parts):
            folded = part.casefold()
            # A capital makes a name of what would be a small word: IT, Will, vitamin A.
            stands_out = part[0].isupper() and not first and part not in {"I", "The"}
            yield _Token(
                text=part,
                folded=folded,
                first=first,
                after_comma=comma,
                turns=folded in TURNING and not stands_out,
                is_content=stands_out or (folded not in TURNING and folded not in _DROPPED),
            )
            first = comma = False
        first, comma = written.endswith((".", "!", "?", ":")), written.endswith(",")


def _word(place: int, tokens: list[_Token]) -> Word | None:
    """The content word of a token, None if it is not one."""
    token = tokens[place]
    if not token.is_content:
        return None
    before = tokens[place - 1].folded if place else ""
    name = token.text[0].isupper() and not (token.first and token.folded in synonyms.COMMON)
    return Word(
        text=_canonical(token.folded, name=name),
        name=name,
        single=_single(place, tokens),
        joined="and" if before in {"and", "or"} else "," if token.after_comma else "",
    )


def _single(place: int, tokens: list[_Token]) -> bool:
    """Whether this word ends a noun phrase that begins with "a" or "an": in "a red car", the car is single."""
    if place + 1 < len(tokens) and tokens[place + 1].is_content:
        return False
    while place and tokens[place].is_content:
        place -= 1
    return tokens[place].folded in {"a", "an"}


def _canonical(word: str, *, name: bool) -> str:
    """The word that represents all its synonyms."""
    if word in synonyms.NUMBERS:
        return synonyms.NUMBERS[word]
    spelled = synonyms.spelled(word)
    if name:
        return spelled
    return next((synonyms.CLASSES[form] for form in sorted(forms(spelled)) if form in synonyms.CLASSES), spelled)


def _lists_sorted(words: Iterable[Word]) -> Iterator[Word]:
    """The words with each list in a fixed order: "tea, milk and rum" equals "rum, milk and tea"."""
    run: list[Word] = []
    for word in words:
        if run and not word.joined:
            yield from _sorted(run)
            run = []
        run.append(word)
    yield from _sorted(run)


def _sorted(run: list[Word]) -> list[Word]:
    """The items sorted, if "and" precedes the last one: otherwise it was no list."""
    return sorted(run, key=lambda word: word.text) if run and run[-1].joined == "and" else run
