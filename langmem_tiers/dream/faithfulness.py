"""Whether one sentence can replace several: what must agree, and what must not be lost or added. Pure.

A model that consolidates blends: two cats and three cats become several, "does not eat meat" loses its "not", and what
was true of Anna becomes true of Ben. So a sentence is split into phrases ("The user works" "at Bosch" "as an
engineer"), and one that replaces others has to consist of all of theirs, word for word, and nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, takewhile
from typing import NamedTuple

from langmem_tiers.language.characters import one_line
from langmem_tiers.language.contradictions import differ
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.wordings import NEGATIONS, TURNING, Word, Wording, alike, wording

# Words that start a phrase that only adds detail: without it the sentence is still true.
_LINKS = """
    in on at as with for from by of near since until during about into over under through between against along
    among behind beyond before after named called who whom whose which that where because and or
"""
_BREAK = re.compile(
    rf"(?:[,;]\s{{0,8}}+|\s{{1,8}}+)(?=(?P<link>{'|'.join(_LINKS.split())})\s)|[,;]\s+|[.:!?]\s+(?=\S)", re.IGNORECASE
)
_LISTING = word_set(", and or")
# Words for who, where and when. All others that change the meaning must be the same in both: all, never, may, only.
_LOOSE = word_set(
    """
    with within over under above below up down off out into by through during between against across along among behind
    beyond near away back about around here there from before after until till since because although than then
    i me my mine we us our ours you your yours he him his she her hers they them their theirs own
    who whom whose which what when where why how this that
    """
)
_HARD = TURNING - _LOOSE


# "Anna, the user's sister, lives in Rome."
_APPOSED = re.compile(r"^(?P<name>[A-Z]\w+), the user's (?P<who>[a-z]+), (?=[a-z])")


class Phrase(NamedTuple):
    """A part of a sentence: the word linking it to the part before (empty for the first), and its wording."""

    link: str
    said: Wording


def objection(content: str, sources: Sequence[str]) -> str | None:
    """Why a sentence cannot replace others; None if it says everything they say, and nothing else.

    Example:
        >>> objection("Ann works at Bosch as a cook.", ["Ann works at Bosch.", "Ann works as a cook."])
        >>> objection("The user has cats.", ["The user has two cats.", "The user has three cats."])
        'they give one thing different values'
    """
    content, sources = _named_first(content), [_named_first(each) for each in sources]
    conflict = next((why for here, there in combinations(sources, 2) if (why := clash(here, there))), None)
    if conflict:
        return conflict
    for source in sources:
        if not says(content, source):
            return f"it would lose {one_line(source, 80)!r}"
    return _added(content, sources)


def clash(here: str, there: str) -> str | None:
    """Why two sentences must not be merged; None if one only adds detail to the other.

    Example:
        >>> clash("The user eats meat.", "The user never eats meat.")
        'a negation keeps them apart: never'
    """
    here, there = _named_first(here), _named_first(there)
    if same_fact(here, there, None).same:
        return None
    if differ(here, there) or differ(there, here):
        return "they give one thing different values"
    return _of_words(wording(here), wording(there)) or _of_phrases(phrases(here), phrases(there))


def says(whole: str, part: str) -> bool:
    """Whether a sentence says everything that another one says.

    Example:
        >>> says("The user likes hiking in the Alps.", "The user likes hiking.")
        True
        >>> says("The user owns a car shop.", "The user owns a car.")
        False
    """
    whole, part = _named_first(whole), _named_first(part)
    if same_fact(whole, part, None).same:
        return True
    here, there = wording(whole), wording(part)
    if here.asks != there.asks or not there.words or _hard(here) != _hard(there):
        return False
    return _in_order(phrases(whole), phrases(part))


def _named_first(text: str) -> str:
    """Move an apposition before the name: "The user's sister Anna lives in Rome."."""
    return _APPOSED.sub(r"The user's \g<who> \g<name> ", text)


@lru_cache(maxsize=4096)
def phrases(text: str) -> tuple[Phrase, ...]:
    """The phrases of a sentence, without meaningless ones."""
    found, link, start = [], "", 0
    for piece in _BREAK.finditer(text):
        found.append(Phrase(link, wording(text[start : piece.start()])))
        listing = "," if piece[0].strip() in {",", ";"} else ""
        link, start = piece["link"].casefold() if piece["link"] else listing, piece.end()
    found.append(Phrase(link, wording(text[start:])))
    return tuple(phrase for phrase in found if phrase.said.words)


def _of_words(here: Wording, there: Wording) -> str | None:
    """How the words of two sentences conflict."""
    only_here, only_there = unmatched(here.words, there.words), unmatched(there.words, here.words)
    both = ", ".join(word.text for word in (*only_here, *only_there))
    for what in ("number", "name"):
        if all(any(getattr(word, what) for word in only) for only in (only_here, only_there)):
            return f"another {what}: {both}"
    if here.asks != there.asks:
        return "one asks"
    first, second = _hard(here), _hard(there)
    if first != second:
        differing = (first - second) + (second - first)
        told = ", ".join(sorted(differing))
        return f"a negation keeps them apart: {told}" if differing.keys() & NEGATIONS else f"turned by: {told}"
    # Of the other function words, such as before and after, only the more detailed sentence may have more.
    first, second = Counter(here.turning), Counter(there.turning)
    if (first - second and not only_here) or (second - first and not only_there):
        return f"turned by: {', '.join(sorted((first - second) + (second - first)))}"
    return None


def _of_phrases(here: Sequence[Phrase], there: Sequence[Phrase]) -> str | None:
    """How the phrases of two sentences conflict."""
    if _in_order(here, there) or _in_order(there, here):
        return None
    # Who does what: the first phrase, with what is listed there, since "Anna and Ben" has no verb yet.
    one, other = ([*told[:1], *takewhile(lambda each: each.link in _LISTING, told[1:])] for told in (here, there))
    if not one or len(one) != len(other) or not all(map(_same, one, other)):
        return "they tell different things"
    tied = {phrase.link: phrase for phrase in there if phrase.link not in {"", *_LISTING}}
    for phrase in here:
        rival = tied.get(phrase.link)
        if rival is not None and not _same(phrase, rival):
            return f"they differ {phrase.link}: {_words(phrase)}, {_words(rival)}"
    return None


def _in_order(whole: Sequence[Phrase], part: Sequence[Phrase]) -> bool:
    """Whether one has all phrases of the other, in the same order."""
    rest = iter(whole)
    return bool(part) and all(any(_same(each, wanted) for each in rest) for wanted in part)


def _added(content: str, sources: Sequence[str]) -> str | None:
    """What a sentence says that none of the others does."""
    if any(same_fact(content, source, None).same for source in sources):
        return None
    told = [phrase for source in sources for phrase in phrases(source)]
    new = [phrase for phrase in phrases(content) if not any(_same(phrase, each) for each in told)]
    return f"nobody said {', '.join(map(repr, map(_words, new)))}" if new else None


def unmatched(here: Sequence[Word], there: Sequence[Word]) -> list[Word]:
    """The words of one that the other lacks."""
    left, missing = list(there), []
    for word in here:
        match = next((each for each in left if alike(word, each)), None)
        if match is None:
            missing.append(word)
        else:
            left.remove(match)
    return missing


def _same(here: Phrase, there: Phrase) -> bool:
    linked = here.link == there.link or {here.link, there.link} <= {",", "and"}
    words, others = here.said.words, there.said.words
    in_step = len(words) == len(others) and all(map(alike, words, others))
    return linked and in_step and here.said.turning == there.said.turning


def _hard(said: Wording) -> Counter[str]:
    return Counter(word for word in said.turning if word in _HARD)


def _words(phrase: Phrase) -> str:
    return " ".join(word.text for word in phrase.said.words)
