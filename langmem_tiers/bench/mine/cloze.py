"""Cloze: the telling words of a sentence, asked without the fact among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from langmem_tiers.bench.mine.facts import Fact, FactKind, facts
from langmem_tiers.bench.mine.questions import Draft, Kind
from langmem_tiers.bench.mine.sentences import statements
from langmem_tiers.bench.mine.vocabulary import Vocabulary, telling_words, without

_ASKED: Mapping[FactKind, str] = {
    "person": "Who",
    "place": "Where",
    "date": "When",
    "number": "How many",
    "name": "What",
    "word": "What",
}
_MOST_WORDS = 4
_RARE = 1  # messages that may hold a word which is a fact by itself


def cloze(text: str, _vocabulary: Vocabulary, rng: Random) -> Iterator[Draft]:
    """Questions such as "Who moved Porto?" of "My sister Lena moved to Porto last summer."."""
    asked = [(sentence, fact) for sentence in statements(text) for fact in facts(sentence)]
    rng.shuffle(asked)
    for sentence, fact in asked:
        yield _asked("cloze", sentence, fact, rng)


def gap(text: str, vocabulary: Vocabulary, rng: Random) -> Iterator[Draft]:
    """The same of words that no other message holds: for messages without any names, dates or numbers."""
    asked = [(sentence, fact) for sentence in statements(text) for fact in _rare_words(sentence, vocabulary)]
    rng.shuffle(asked)
    for sentence, fact in asked:
        yield _asked("gap", sentence, fact, rng)


def _asked(kind: Kind, sentence: str, fact: Fact, rng: Random) -> Draft:
    words = without(telling_words(sentence), fact.text)
    places = sorted(rng.sample(range(len(words)), min(len(words), _MOST_WORDS)))
    kept = " ".join(words[place] for place in places)
    return Draft(kind=kind, text=f"{_ASKED[fact.kind]} {kept}?", answer=fact.text)


def _rare_words(sentence: str, vocabulary: Vocabulary) -> Iterator[Fact]:
    for word in telling_words(sentence):
        if vocabulary.spread(word) > _RARE:
            continue
        start = sentence.casefold().find(word)
        if start >= 0:
            yield Fact(kind="word", text=sentence[start : start + len(word)], start=start)
