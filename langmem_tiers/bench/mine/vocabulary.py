"""How telling a word is: which messages of the space hold it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import log

from langmem_tiers.palace.phrases import FILLER
from langmem_tiers.palace.words import meaningful_words, stem


@dataclass(frozen=True, kw_only=True, slots=True)
class Vocabulary:
    """The messages that hold each word, by its stem; messages that say the same are to be given once."""

    holders: Mapping[str, frozenset[int]]
    messages: int

    def spread(self, word: str) -> int:
        """How many messages hold the word."""
        return len(self.holders.get(stem(word), ()))

    def rarity(self, word: str) -> float:
        """The inverse document frequency of a word: 0 for one that every message holds."""
        return log((1 + self.messages) / (1 + self.spread(word)))

    def holding_all(self, stems: Collection[str]) -> int:
        """How many messages hold all of these words, given by their stems."""
        found = [self.holders.get(one, frozenset()) for one in stems]
        return len(frozenset.intersection(*found)) if found else self.messages


def vocabulary(texts: Iterable[str]) -> Vocabulary:
    """The vocabulary of some messages.

    Example:
        >>> words = vocabulary(["My cats sleep.", "A cat and a dog."])
        >>> words.spread("cat"), words.holding_all(["cat", "dog"])
        (2, 1)
    """
    holders: dict[str, set[int]] = defaultdict(set)
    number = 0
    for number, text in enumerate(texts, 1):
        for word in meaningful_words(text):
            holders[stem(word)].add(number)
    return Vocabulary(holders={word: frozenset(found) for word, found in holders.items()}, messages=number)


def telling_words(text: str) -> list[str]:
    """The words of a text that say what it is about, each once, in order."""
    return [word for word in dict.fromkeys(meaningful_words(text)) if word not in FILLER and len(word) > 1]


def without(words: Iterable[str], text: str) -> list[str]:
    """Those of the words that are not in a text, in no inflection."""
    taken = {stem(word) for word in meaningful_words(text)}
    return [word for word in words if stem(word) not in taken]
