"""A sentence as it is compared with another: its telling words in order, and the words that turn its meaning. Pure.

English; in other languages nothing is known of inflection and synonyms, so that only the same words count as the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from langmem_tiers.knowledge import synonyms
from langmem_tiers.palace.words import FUNCTION_WORDS, word_set

NEGATIONS = word_set("not never none nobody nothing neither nor without nolonger formerly hardly seldom rarely")
PAST = word_set("was were had did became")
# Words that say little by themselves and turn what the others say.
TURNING = (
    NEGATIONS
    | PAST
    | word_set(
        """
        always often sometimes all both some any few many several most much more less least only once twice or if
        unless except until till since before after from with within over under above below up down off out into by
        than then else instead against during between through across behind beyond another other such almost nearly
        may might must shall should will would can could he him his she her hers why whose whom own everybody
        everyone somebody someone
        """
    )
)
_DROPPED = (FUNCTION_WORDS - TURNING - {"like", "one", "once"}) | word_set(
    "really very quite currently presently simply particularly especially got owns"
)
# What a thing has is not what it is.
BEING = {word: "be" for word in ("am", "is", "are", "be", "been", "being")}
BEING |= {word: "have" for word in ("have", "has", "having", "owns")}
_FRONTED = word_set("on in at for during every each after before with when whenever if while by since until within")

_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": " "})
_EDGES = "\"'`()[]{}<>*_.,;:!?…"
_CLOCK = re.compile(r"(?<=\d)\s+([ap])\.?m\b\.?", re.IGNORECASE)
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_CLITIC = re.compile(r"'(?:s|m|re|ve|ll|d)?$")
_VOWEL = re.compile("[aeiouy]")
_SIBILANTS = ("ses", "xes", "zes", "ches", "shes")
_NO_PLURALS = frozenset({"news", "always", "perhaps", "series", "species"})


@dataclass(frozen=True, slots=True)
class Word:
    """A telling word: `text` as it is compared; `name` where it names somebody or something.

    `single` follows "a" or "an"; `joined` stands beside the one before it in a list.
    """

    text: str
    name: bool = False
    single: bool = False
    joined: bool = False

    @property
    def number(self) -> bool:
        """Whether it is a number, an amount, a time or a place in an order."""
        return any(character.isdigit() for character in self.text)


@dataclass(frozen=True, slots=True)
class Wording:
    """A sentence as it is compared. `fronted` is true where it begins with when, where or for what."""

    words: tuple[Word, ...]
    turning: tuple[str, ...]
    being: frozenset[str]
    fronted: bool


def plain(text: str) -> str:
    """A text without its case, its blanks and the marks at its ends: what a repetition has in common."""
    whole = unicodedata.normalize("NFKC", text).translate(_STRAIGHT).replace('"', "").casefold()
    return " ".join(whole.split()).strip(".!?…,; ")


@lru_cache(maxsize=4096)
def wording(text: str) -> Wording:
    """A text as it is compared."""
    tokens = list(_tokens(_evened(text)))
    found = [_word(place, tokens) for place in range(len(tokens))]
    words = tuple(word for word in found if word is not None)
    lowered = [token.text.casefold() for token in tokens]
    return Wording(
        words=tuple(_lists_sorted(words)),
        turning=tuple(sorted(word for word in lowered if word in TURNING)),
        being=frozenset(BEING[word] for word in lowered if word in BEING),
        fronted=bool(lowered) and lowered[0] in _FRONTED,
    )


def alike(here: Word, there: Word) -> bool:
    """Whether two words are one, inflected or not; a name is not inflected, and one thing is not several."""
    if here.text == there.text:
        return True
    if here.name or there.name or here.single != there.single:
        return False
    return not forms(here.text).isdisjoint(forms(there.text))


@lru_cache(maxsize=8192)
def forms(word: str) -> frozenset[str]:
    """A word and what it may be an inflected form of; the past is none: what was is not what is.

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
    """A word as it is written; `listed` where a comma or "and" stands before it and nothing else."""

    text: str
    first: bool
    after_comma: bool


def _evened(text: str) -> str:
    shown = unicodedata.normalize("NFKC", text).translate(_STRAIGHT)
    shown = _THOUSANDS.sub("", _ORDINAL.sub(r"\1", _CLOCK.sub(r"\1m", shown)))
    return synonyms.phrases(shown)


def _tokens(text: str) -> Iterator[_Token]:
    first, comma = True, False
    for written in text.split():
        bare = _bare(written)
        for part in synonyms.CONTRACTIONS.get(bare.casefold(), (bare,)) if bare else ():
            yield _Token(text=part, first=first, after_comma=comma)
            first = comma = False
        first, comma = written.endswith((".", "!", "?", ":")), written.endswith(",")


def _bare(written: str) -> str:
    """A word without the marks around it; the signs of numbers and of names such as C++ belong to it."""
    bare = written.strip(_EDGES)
    return bare if bare.casefold() in synonyms.CONTRACTIONS else _CLITIC.sub("", bare)


def _word(place: int, tokens: list[_Token]) -> Word | None:
    """The telling word of a token, None where it is not one."""
    token = tokens[place]
    folded = token.text.casefold()
    if folded in TURNING or folded in _DROPPED:
        return None
    before = tokens[place - 1].text.casefold() if place else ""
    capital = token.text[0].isupper() and not (token.first and len(tokens) > 1 and folded in synonyms.COMMON)
    return Word(
        text=_canonical(folded, name=capital),
        name=capital,
        single=before in {"a", "an"},
        joined=token.after_comma or before in {"and", "or"},
    )


def _canonical(word: str, *, name: bool) -> str:
    """The one word for all that mean the same."""
    if word in synonyms.NUMBERS:
        return synonyms.NUMBERS[word]
    spelled = synonyms.spelled(word)
    if name:
        return spelled
    return next((synonyms.CLASSES[form] for form in sorted(forms(spelled)) if form in synonyms.CLASSES), spelled)


def _lists_sorted(words: tuple[Word, ...]) -> Iterator[Word]:
    """The words with those of each list in one order: "tea, milk and rum" is "rum, milk and tea"."""
    run: list[Word] = []
    for word in words:
        if run and not word.joined:
            yield from _sorted(run)
            run = []
        run.append(word)
    yield from _sorted(run)


def _sorted(run: list[Word]) -> list[Word]:
    return [replace(word, joined=False) for word in sorted(run, key=lambda word: word.text)] if len(run) > 1 else run
