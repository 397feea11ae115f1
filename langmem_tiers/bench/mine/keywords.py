"""Keywords: the most telling words of a message in any order, as somebody types them into a search."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from langmem_tiers.bench.mine.facts import facts
from langmem_tiers.bench.mine.questions import Draft
from langmem_tiers.bench.mine.sentences import sentences
from langmem_tiers.bench.mine.vocabulary import Vocabulary, telling_words, without

_LEAST, _MOST = 3, 4
_DRAWN_FROM = 8  # of the most telling words


def keywords(text: str, vocabulary: Vocabulary, rng: Random) -> Iterator[Draft]:
    """Three or four words of a message without its best fact, such as "festival guitar broke"."""
    prose = " ".join(sentences(text))
    ranked = sorted(telling_words(prose), key=lambda word: -vocabulary.rarity(word))
    for answer in _answers(prose, ranked):
        # A word that only this message holds finds it by itself, which measures nothing: others go first.
        telling = sorted(without(ranked, answer), key=lambda word: vocabulary.spread(word) < 2)[:_DRAWN_FROM]
        if len(telling) >= _LEAST:
            chosen = rng.sample(telling, min(len(telling), rng.randint(_LEAST, _MOST)))
            yield Draft(kind="keywords", text=" ".join(chosen), answer=answer)


def _answers(prose: str, ranked: list[str]) -> list[str]:
    """What may be held out: the facts, else the rarest word."""
    return [fact.text for fact in facts(prose)] or ranked[:1]
