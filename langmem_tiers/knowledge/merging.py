"""When two wordings are one fact. Pure.

Vectors can not tell: "The user has two daughters" and "The user has three daughters" are nearly one point. So the words
decide: what the one tells the other has to tell too, in other inflections, synonyms and order, but with the same names,
numbers and negations, and nothing more. Two entries too many are a nuisance; one that swallowed another is a loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from langmem_tiers.knowledge.wordings import NEGATIONS, PAST, Word, Wording, alike, plain, wording

# With fewer words, what stands first is who does it.
_FEWEST_TO_TURN = 3


class Verdict(NamedTuple):
    """Whether two wordings are one fact, and why, or what keeps them apart."""

    same: bool
    why: str


def same_fact(a: str, b: str, similarity: float | None, *, least: float = 0.9) -> Verdict:
    """Whether two sentences tell the same, so that one of them is enough.

    Args:
        a: The one sentence.
        b: The other one.
        similarity: Cosine of their vectors, None where it is not known.
        least: From which similarity on, where it is known, a sentence that is turned round may tell the same.

    Example:
        >>> same_fact("The user likes hiking.", "The user enjoys to hike.", None)
        Verdict(same=True, why='the same in other words')
        >>> same_fact("The user has two cats.", "The user has three cats.", 0.97)
        Verdict(same=False, why='another number: 2, 3')
    """
    if plain(a) == plain(b):
        return Verdict(same=True, why="the same words")
    here, there = wording(a), wording(b)
    conflict = _conflict(here, there)
    if conflict:
        return Verdict(same=False, why=conflict)
    near = similarity is None or similarity >= least
    if _in_step(here.words, there.words) or (near and _turned(here, there)):
        return Verdict(same=True, why="the same in other words")
    return Verdict(same=False, why="another order")


def _conflict(here: Wording, there: Wording) -> str | None:
    """What keeps two wordings apart."""
    only_here, only_there = _unmatched(here.words, there.words)
    if only_here or only_there:
        return _of_words(only_here, only_there)
    if here.turning != there.turning:
        return _of_turning(here.turning, there.turning)
    if here.asks != there.asks:
        return "one asks"
    if not here.words:
        return "nothing to compare"
    if here.being != there.being and here.being and there.being and not _names_somebody(here):
        return "what it is, what it has"
    return None


def _unmatched(here: Sequence[Word], there: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """The words of each that the other does not have."""
    left = list(there)
    only_here = []
    for word in here:
        match = next((each for each in left if alike(word, each)), None)
        if match is None:
            only_here.append(word)
        else:
            left.remove(match)
    return only_here, left


def _of_words(here: Sequence[Word], there: Sequence[Word]) -> str:
    both = (*here, *there)
    told = ", ".join(word.text for word in both)
    if any(word.number for word in both):
        return f"another number: {told}"
    if here and there and any(word.name for word in both):
        return f"another name: {told}"
    return f"another word: {told}" if here and there else f"one tells more: {told}"


def _of_turning(here: Sequence[str], there: Sequence[str]) -> str:
    differ = set((Counter(here) - Counter(there)) + (Counter(there) - Counter(here)))
    told = ", ".join(sorted(differ))
    if differ & NEGATIONS:
        return f"a negation: {told}"
    return f"another time: {told}" if differ & PAST else f"turned by: {told}"


def _names_somebody(wording: Wording) -> bool:
    return any(word.text == "name" for word in wording.words)


def _turned(here: Wording, there: Wording) -> bool:
    """Whether one begins with what the other ends with: "On Mondays the user …"."""
    if not (here.fronted or there.fronted) or len(here.words) < _FEWEST_TO_TURN:
        return False
    turned = (here.words[place:] + here.words[:place] for place in range(1, len(here.words)))
    return any(_in_step(words, there.words) for words in turned)


def _in_step(here: Sequence[Word], there: Sequence[Word]) -> bool:
    return len(here) == len(there) and all(map(alike, here, there))
