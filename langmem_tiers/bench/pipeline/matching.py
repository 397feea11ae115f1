"""Comparing an answer with the gold answer word by word: deterministic, and not what the sets' authors report."""

from __future__ import annotations

import re
import string
from collections import Counter

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))
_ABSTAINS = re.compile(
    r"\b(?:(?:do|does|did|could|can|is|was|has|have|are|were)(?: not|n['’]t) "
    r"(?:know|say|tell|mention\w*|specif\w+|state\w*|contain|hold|include|provided?|enough|find|have|recorded?|given)"
    r"|not (?:mentioned|specified|stated|provided|known|enough|available|recorded|said)|cannot (?:answer|tell|say|find)"
    r"|no (?:information|mention|record|answer|evidence|details?)|nothing about|unanswerable|unknown|insufficient"
    r"|incomplete)\b",
    re.IGNORECASE,
)


def exact(answer: str, gold: str) -> float:
    """1 when both have the same words in the same order, apart from case, punctuation and articles."""
    return float(_words(answer) == _words(gold))


def contains(answer: str, gold: str) -> float:
    """1 when the words of the gold answer stand together in the answer."""
    return float(f" {' '.join(_words(gold))} " in f" {' '.join(_words(answer))} ")


def token_f1(answer: str, gold: str) -> float:
    """The harmonic mean of precision and recall over words (as SQuAD counts them)."""
    ours, theirs = Counter(_words(answer)), Counter(_words(gold))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def abstains(answer: str) -> float:
    """1 when the answer says, in one of the usual phrases, that it does not know."""
    return float(_ABSTAINS.search(answer) is not None)


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
