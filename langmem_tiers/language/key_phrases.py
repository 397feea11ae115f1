"""Key phrases: what a few texts are about, in their own words, such as 'battery wiring'."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from langmem_tiers.language.names import addressed
from langmem_tiers.language.word_lists import listed
from langmem_tiers.language.words import LOOKED_AT, STOPWORDS, stem

FILLER = listed("words", "fillers")
"""Meaningful in a question, and yet the name of no topic."""
_LONGEST = 3  # words in a phrase
_RUN = re.compile(r"[^\W\d_][\w]*(?:[-'’]\w+)*|[^\w\s]|\n")
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]+\.\w+")
_CLITIC = re.compile(r"['’](?:s|m|re|ve|ll|d)$", re.IGNORECASE)
_NO_TOPICS = STOPWORDS | FILLER


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that can name a topic: as written, casefolded, and its stem."""

    shown: str
    folded: str
    key: str


@dataclass(frozen=True, slots=True)
class PhraseWords:
    """The words of a text that can be part of a phrase, in order, None where a run ends; and who is addressed."""

    words: tuple[_Word | None, ...]
    spoken_to: frozenset[str]


def key_phrases(texts: Iterable[str], limit: int = 5) -> list[str]:
    """The phrases of one to three words that best say what the texts are about, best first.

    Phrases are runs between function words (as in RAKE, Rose et al. 2010), weighted by how many texts contain them;
    they are written as they first occur, and no two share a word. People addressed ("Hey Anna") are left out.

    Example:
        >>> key_phrases(["The battery wiring overheats.", "Is battery wiring hard?"], limit=1)
        ['battery wiring']
    """
    return phrases_of([phrase_words(text) for text in texts], limit)


def phrase_words(text: str) -> PhraseWords:
    """What `phrases_of` needs to know about a text."""
    shown = text[:LOOKED_AT]
    if "@" in shown or "://" in shown or "www." in shown:  # hardly any text has links or mail addresses
        shown = _ADDRESS.sub("\n", shown)
    return PhraseWords(words=tuple(map(_word, _RUN.findall(shown))), spoken_to=frozenset(addressed(shown)))


def phrases_of(said: Sequence[PhraseWords], limit: int = 5) -> list[str]:
    """The `key_phrases` of texts that were prepared with `phrase_words`."""
    spoken_to = frozenset[str]().union(*(text.spoken_to for text in said))
    runs = [list(_runs(text.words, spoken_to)) for text in said]
    spread = Counter(key for text in runs for key in {word.key for run in text for word in run})
    phrases = _counted(runs)
    ranked = sorted(phrases, key=lambda keys: -_weight(keys, phrases[keys], spread))
    return _distinct(ranked, phrases, limit)


@lru_cache(maxsize=8192)
def _word(token: str) -> _Word | None:
    """The word in a token, None for punctuation, function words and fillers."""
    shown = _CLITIC.sub("", token)
    folded = shown.casefold()
    if folded in _NO_TOPICS or folded.endswith(("ly", "ed", "n't")) or not any(map(str.isalnum, folded)):
        return None
    # Two characters are a whole word in Chinese.
    return _Word(shown, folded, stem(folded)) if len(folded) > 2 or not folded.isascii() else None


def _runs(words: Iterable[_Word | None], without: Collection[str]) -> Iterator[list[_Word]]:
    """The runs of words between function words, fillers and punctuation."""
    run: list[_Word] = []
    for word in words:
        if word is not None and word.folded not in without:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _counted(texts: Sequence[Sequence[list[_Word]]]) -> dict[tuple[str, ...], tuple[str, int]]:
    """By stems: how each phrase is first written, and how often it occurs."""
    counted: dict[tuple[str, ...], tuple[str, int]] = {}
    for run in (run for text in texts for run in text):
        stems = [word.key for word in run]
        for length in range(1, min(_LONGEST, len(run)) + 1):
            for start in range(len(run) - length + 1):
                keys = tuple(stems[start : start + length])
                known = counted.get(keys)
                shown = known[0] if known else " ".join(word.shown for word in run[start : start + length])
                counted[keys] = (shown, known[1] + 1 if known else 1)
    return counted


def _weight(keys: tuple[str, ...], phrase: tuple[str, int], spread: Counter[str]) -> float:
    """The best word of a phrase counts fully, the others half, or fully in a phrase that is repeated.

    A lone 'booking' ranks below a noun that is equally frequent.
    """
    shown, count = phrase
    verbal = len(keys) == 1 and shown.endswith("ing")
    texts = [spread[key] for key in keys]
    best = max(texts)
    return best + (sum(texts) - best) * (1.0 if count > 1 else 0.5) + 0.5 * (count - 1) - 0.25 * verbal


def _distinct(
    ranked: Iterable[tuple[str, ...]], phrases: dict[tuple[str, ...], tuple[str, int]], limit: int
) -> list[str]:
    chosen: list[str] = []
    taken: set[str] = set()
    for keys in ranked:
        if len(chosen) == limit:
            break
        if len(set(keys)) == len(keys) and not taken.intersection(keys):
            taken.update(keys)
            chosen.append(phrases[keys][0])
    return chosen
