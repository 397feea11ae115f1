"""English words and phrases that mean the same in a sentence about a person, and their lookup."""

from __future__ import annotations

import re
from functools import cache

from langmem_tiers.language.numbers import CARDINALS, ORDINALS
from langmem_tiers.language.word_lists import any_of, listed, table, word_set

_TABLE = table("synonyms")
_PHRASES: dict[str, str] = _TABLE["phrases"]
_SPELLINGS: dict[str, str] = _TABLE["spellings"]
CLASSES = {word: line.split()[0] for line in _TABLE["classes"].strip().splitlines() for word in line.split()}
"""Each word that others mean the same as, with the one that stands for all of them."""
NUMBERS = {word: str(value) for word, value in CARDINALS.items()}
NUMBERS |= {word: f"#{value}" for word, value in ORDINALS.items()}
CONTRACTIONS = {word: tuple(whole.split()) for word, whole in _TABLE["contractions"].items()}
_VERBS = "do does did is are was were has have had could should would might must need"
CONTRACTIONS |= {f"{verb}n't": (verb, "not") for verb in _VERBS.split()}
# Capitalised at the start of a sentence without being names.
COMMON = word_set("user users") | frozenset(CLASSES)
_PHRASE = re.compile(
    rf"(?<!\w){any_of(re.escape(each) for each in sorted(_PHRASES, key=len, reverse=True))}(?!\w)",
    re.IGNORECASE,
)
_BRITISH = re.compile(r"([aeiouy][a-z]{0,30}[bcdfghklmnprt])is(e|es|ed|ing|er|ers|ation)$")
_NOT_BRITISH = listed("synonyms", "not_british")


def phrases(text: str) -> str:
    """A text with phrases replaced by the word or phrase that represents their meaning."""
    return _PHRASE.sub(lambda found: _PHRASES[found.group().lower()], text)


@cache
def spelled(word: str) -> str:
    """A word in American spelling."""
    if word in _SPELLINGS:
        return _SPELLINGS[word]
    plural = word.removesuffix("s")
    if plural in _SPELLINGS:
        return f"{_SPELLINGS[plural]}s"
    known = any(word.startswith(each.removesuffix("e")) for each in _NOT_BRITISH)
    return word if known else _BRITISH.sub(r"\1iz\2", word)
