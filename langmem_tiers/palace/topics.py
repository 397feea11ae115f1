"""Closets without a model: where a conversation leaves one topic for another, and what the topic is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

from langmem_tiers.palace.phrases import FILLER, Said, phrases_of, read
from langmem_tiers.palace.words import meaningful_words, stem

RECENT = 8  # turns that a new one is compared with, and that name the closet
LEAST_TURNS = 4  # a closet younger than this is left only by an explicit marker
LEAST_WORDS = 4  # a turn with fewer words says too little to open a topic
LOOKED_AT = 4000  # characters of a turn that are compared; a pasted file needs no more to be told apart
OTHERS_BEGIN = 200  # characters of an assistant's turn that may name the closet
SIMILAR = 0.08  # cosine below which a turn hardly overlaps

_MARKER = re.compile(
    r"\b(?:by the way|btw|another thing|chang(?:e|ing) (?:the )?(?:subject|topic)|on (?:another|a different) note"
    r"|on an? (?:(?:completely|totally) )?(?:unrelated|separate) (?:note|matter)|new topic|different (?:topic|question)"
    r"|unrelated(?: question)?[:,]|speaking of something else|moving on to|let'?s (?:talk about|switch|move on))\b",
    re.IGNORECASE,
)
_MARKER_STANDS_WITHIN = 160  # characters from the start of the turn


@dataclass(frozen=True, kw_only=True)
class TopicTurn:
    """One turn as the topics see it: its drawer number, role and text, which is analysed once."""

    number: int
    role: str
    text: str

    @cached_property
    def meaningful(self) -> list[str]:
        """Its words that are neither function words nor pleasantries."""
        return meaningful_words(self.text[:LOOKED_AT])

    @cached_property
    def stems(self) -> Counter[str]:
        """How often it says each thing that a topic is known by."""
        return Counter(stem(word) for word in self.meaningful if word not in FILLER)

    @cached_property
    def said(self) -> Said:
        """What may name its topic; of other than users only how they begin: lists and code name no topic."""
        return read(self.text[: LOOKED_AT if self.role == "user" else OTHERS_BEGIN])


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenCloset:
    """The closet that the last turn of a room was filed in.

    `recent` are its last turns, oldest first (the last `RECENT` are looked at); `size` counts all of them; `number` is
    the caller's own and None for a closet not stored yet.
    """

    number: int | None = None
    name: str | None = None
    recent: tuple[TopicTurn, ...] = ()
    size: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosetDecision:
    """Where one turn belongs: in a closet that it opens, or in the one of the turn before.

    `name` is what the closet is called from here on: None while nothing was said that could name it. The last
    decision of a closet holds its name.
    """

    turn: int
    opens: bool
    name: str | None


def decide_closets(turns: Sequence[TopicTurn], open_closet: OpenCloset | None = None) -> list[ClosetDecision]:
    """A decision for each turn, in order; the same whether turns come at once or in batches.

    A user's turn opens a closet when it says so ("by the way") or hardly shares a word with the turns before it.
    Nobody else's does, except the very first of a room.
    """
    closet = open_closet
    decisions: list[ClosetDecision] = []
    for turn in turns:
        opens = closet is None or _leaves(closet, turn)
        closet = _with_turn(OpenCloset() if closet is None or opens else closet, turn)
        decisions.append(ClosetDecision(turn=turn.number, opens=opens, name=closet.name))
    return decisions


def _leaves(closet: OpenCloset, turn: TopicTurn) -> bool:
    if turn.role != "user" or closet.size == 0:
        return False
    if _MARKER.search(turn.text[:_MARKER_STANDS_WITHIN]):
        return closet.size > 1
    if closet.size < LEAST_TURNS:
        return False
    if len(turn.meaningful) < LEAST_WORDS:
        return False
    return len(turn.stems) > 1 and _cosine(turn.stems, _recent_stems(closet)) < SIMILAR


def _with_turn(closet: OpenCloset, turn: TopicTurn) -> OpenCloset:
    """The closet with one turn more; it is named by its first turns, and keeps that name."""
    recent = (*closet.recent, turn)[-RECENT:]
    name = _named(recent) or closet.name if closet.size < RECENT else closet.name
    return replace(closet, recent=recent, size=closet.size + 1, name=name)


def _named(turns: Sequence[TopicTurn]) -> str | None:
    """What the turns are about."""
    phrases = phrases_of([turn.said for turn in turns], limit=1)
    return phrases[0][:1].upper() + phrases[0][1:] if phrases else None


def _recent_stems(closet: OpenCloset) -> Counter[str]:
    """The words of the last turns; a word in several turns counts for each."""
    recent: Counter[str] = Counter()
    for turn in closet.recent[-RECENT:]:
        recent.update(turn.stems.keys())
    return recent


def _cosine(first: Counter[str], second: Counter[str]) -> float:
    dot = sum(count * second[word] for word, count in first.items())
    norms = sqrt(sum(n * n for n in first.values()) * sum(n * n for n in second.values()))
    return dot / norms if norms else 0.0
