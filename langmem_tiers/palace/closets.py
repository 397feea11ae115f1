"""Closets: where a conversation changes its topic, and what the topic is called, by rules and by a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import sqrt

from langmem_tiers.language.key_phrases import FILLER, PhraseWords, phrase_words, phrases_of
from langmem_tiers.language.names import PRODUCTS
from langmem_tiers.language.slugs import UNNAMED, slug_words, slugify
from langmem_tiers.language.words import STOPWORDS, meaningful_words, stem, stems
from langmem_tiers.palace.wings import GENERAL
from langmem_tiers.storage.closets import ClosetTurn, OpenCloset

RECENT = 8  # turns that a new one is compared with, and that name the closet
_LEAST_TURNS = 4  # a closet smaller than this is only left on an explicit marker
_LEAST_WORDS = 4  # a turn with fewer words says too little to open a topic
LOOKED_AT = 4000  # characters of a turn that are compared; more do not help to tell pasted files apart
_OTHERS_BEGIN = 200  # characters of an assistant's turn that may name the closet
_SIMILAR = 0.08  # cosine below which a turn hardly overlaps

_MARKER = re.compile(
    r"\b(?:by the way|btw|another thing|chang(?:e|ing) (?:the )?(?:subject|topic)|on (?:another|a different) note"
    r"|on an? (?:(?:completely|totally) )?(?:unrelated|separate) (?:note|matter)|new topic|different (?:topic|question)"
    r"|unrelated(?: question)?[:,]|speaking of something else|moving on to|let'?s (?:talk about|switch|move on))\b",
    re.IGNORECASE,
)
_MARKER_STANDS_WITHIN = 160  # characters from the start of the turn

# A name from a model for a closet or a wing.
_LONGEST = 40
_MOST_WORDS = 4
_LEAST_LETTERS = 3
_SAYS_NOTHING = STOPWORDS | PRODUCTS | {UNNAMED, GENERAL, "user", "conversation", "chat", "untitled", "misc", "other"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosetDecision:
    """Where turns that follow each other belong: in a closet that the first of them opens, or in the one open before.

    `name` is the closet's name with them: None if nothing was said yet that could name it.
    """

    turns: tuple[int, ...]
    opens: bool
    name: str | None


def decide_closets(turns: Iterable[ClosetTurn], open_closet: OpenCloset | None = None) -> list[ClosetDecision]:
    """The closets of turns, in order; the same whether turns arrive at once or in batches.

    A user's turn opens a closet if it announces a change ("by the way") or hardly shares a word with the turns before
    it. Nobody else's does, except the very first of a room.
    """
    closet, new = open_closet or OpenCloset(), list[ClosetTurn]()
    opens = open_closet is None
    decisions: list[ClosetDecision] = []
    for turn in turns:
        if _leaves([*closet.recent, *new[-RECENT:]][-RECENT:], closet.size + len(new), turn):
            decisions += _decided(closet, new, opens)
            closet, new, opens = OpenCloset(), [], True
        new.append(turn)
    return decisions + _decided(closet, new, opens)


def _decided(closet: OpenCloset, new: Sequence[ClosetTurn], opens: bool) -> list[ClosetDecision]:
    """What was decided about the `new` turns of a closet."""
    numbers = tuple(turn.number for turn in new)
    return [ClosetDecision(turns=numbers, opens=opens, name=_named(closet, new))] if new else []


def is_weak(name: str) -> bool:
    """Whether the name from a rule says little: one word, or none."""
    return len(slug_words(name)) < 2


def topics_of(texts: Mapping[int, str], topics: Sequence[str]) -> dict[int, str]:
    """A topic for each closet with a matching one: the one that shares most words with it, preferably still unused.

    Args:
        texts: What was said in each closet, by its number.
        topics: What the model calls the topics of all of them, in order.

    Example:
        >>> topics_of({1: "The eFoil needs a battery.", 2: "Anna moved to Porto."}, ["Anna in Porto", "eFoil battery"])
        {1: 'eFoil battery', 2: 'Anna in Porto'}
    """
    named = [shown for topic in topics if (shown := _fit(topic))]
    found: dict[int, str] = {}
    for closet, text in texts.items():
        said = stems(text)
        shares = [
            (_share(topic, said), topic not in found.values(), -place, topic) for place, topic in enumerate(named)
        ]
        best = max(shares, default=None)
        if best is not None and best[0] > 0:
            found[closet] = best[3]
    return found


def subject_of(text: str, subject: str) -> str | None:
    """The subject that a model names, if all its words were said; None if it is not a usable name."""
    shown = _fit(subject)
    return shown if shown and _share(shown, stems(text)) == 1 else None


def _leaves(recent: Sequence[ClosetTurn], size: int, turn: ClosetTurn) -> bool:
    """Whether a turn opens a closet of its own after one of this size, of which these are the last turns."""
    if turn.role != "user" or size == 0:
        return False
    if _MARKER.search(turn.text[:_MARKER_STANDS_WITHIN]):
        return size > 1
    count, topic = _topic_words(turn)
    if size < _LEAST_TURNS or count < _LEAST_WORDS or len(topic) < 2:
        return False
    # A stem in several of the last turns counts for each.
    last = Counter(chain.from_iterable(_topic_words(each)[1] for each in recent))
    return _cosine(topic, last) < _SIMILAR


def _named(closet: OpenCloset, new: Sequence[ClosetTurn]) -> str | None:
    """The name of a closet with some turns added: its first turns name it, and then it keeps its name."""
    naming = [*closet.recent, *new][:RECENT]
    for size in range(len(naming), closet.size, -1):
        if phrases := phrases_of([_said(each) for each in naming[:size]], limit=1):
            return phrases[0][:1].upper() + phrases[0][1:]
    return closet.name


@lru_cache(maxsize=1024)
def _topic_words(turn: ClosetTurn) -> tuple[int, Counter[str]]:
    """How many meaningful words a turn has, and how often each stem that tells its topic."""
    meaningful = meaningful_words(turn.text[:LOOKED_AT])
    return len(meaningful), Counter(stem(word) for word in meaningful if word not in FILLER)


@lru_cache(maxsize=1024)
def _said(turn: ClosetTurn) -> PhraseWords:
    """The part that may name its topic; for others than users, only the beginning: lists and code name no topic."""
    return phrase_words(turn.text[: LOOKED_AT if turn.role == "user" else _OTHERS_BEGIN])


def _cosine(first: Counter[str], second: Counter[str]) -> float:
    dot = sum(count * second[word] for word, count in first.items())
    norms = sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))
    return dot / norms if norms else 0.0


def _fit(name: str) -> str | None:
    """A name in display form, None if it says nothing or too much."""
    shown = " ".join(name.split())
    words = slug_words(shown)
    telling = [word for word in words if word not in _SAYS_NOTHING]
    long = len(shown) > _LONGEST or len(words) > _MOST_WORDS
    if long or not telling or len(slugify(shown)) < _LEAST_LETTERS:
        return None
    return shown if any(map(str.isupper, shown)) else shown[:1].upper() + shown[1:]


def _share(name: str, said: set[str]) -> float:
    wanted = stems(name)
    return len(wanted & said) / len(wanted) if wanted else 0.0
