"""Scoring: the signals of a drawer, a calibrated score computed from them, and small bounded factors on top.

The score estimates how likely the answer to the query was given in a drawer's session: the logistic function of a
weighted sum of signals, each between 0 and 1. The functions are pure, and take one drawer or columns of many; the
weights are settings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.language.questions import TimeSpan, asks_advice, asks_for_answers
from langmem_tiers.language.words import FIRST_PERSON, words
from langmem_tiers.matching import Values
from langmem_tiers.settings import RecallSettings

_DAY = 86_400_000
# Platt scaling (1999) of the weighted sum to the probability that the session holds the answer.
_SLOPE, _OFFSET = 0.5, -6.6
# Beyond this, exp() overflows a float; the score is 0 or 1 long before.
_FAR = 700.0
# How many further matches of a session support its best one.
_SUPPORTING = 3
# The share of the best match that a drawer needs to count among those of which the latest is asked for.
_NEARLY_BEST = 0.6


def score(signals: Mapping[str, Values], factors: Mapping[str, Values], settings: RecallSettings) -> Values:
    """The probability, 0 to 1, that a drawer with these signals has the answer; factors multiply its odds."""
    total: Values = 0.0
    for name, weight in settings.weights.items():
        total = total + weight * signals.get(name, 0.0)
    odds: Values = 1.0
    for factor in factors.values():
        odds = odds * factor
    estimate: Values = odds / (odds + np.exp(np.clip(-_SLOPE * total - _OFFSET, -_FAR, _FAR)))
    return estimate


def factors(*, own: bool, trust: Values, age: Values, settings: RecallSettings) -> dict[str, Values]:
    """The factors of a drawer by name; `age` in milliseconds, negative ages count as zero."""
    half_lives = np.maximum(age, 0) / _DAY / settings.recency_half_life_days
    return {
        "own_space": settings.own_space_boost if own else 1.0,
        "recency": 1.0 + settings.recency_weight * 0.5**half_lives,
        "trust": trust,
    }


def trust(origin: str, settings: RecallSettings) -> float:
    """The factor for a drawer's origin; an origin missing from the settings gets the lowest."""
    return settings.trust.get(origin, min(settings.trust.values(), default=1.0))


def evidence(room: NDArray[np.int32], match: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each drawer the evidence for its room: its best match, and the mean of the next three (missing ones count 0).

    Several modest hits in one session count for more than one lucky hit: the best match raises all of its drawers, and
    so, less, do the three that follow.

    Example:
        >>> best, support = evidence(np.array([7, 8, 7]), np.array([0.5, 0.9, 0.375]))
        >>> best.tolist(), support.tolist()
        ([0.5, 0.9, 0.5], [0.125, 0.0, 0.125])
    """
    order = np.lexsort((-match, room))
    begins = np.concatenate([[True], room[order][1:] != room[order][:-1]])[: len(order)]
    session, first = np.cumsum(begins) - 1, np.flatnonzero(begins)
    behind = np.arange(len(order)) - first[session]
    counted = np.where((behind > 0) & (behind <= _SUPPORTING), match[order], 0.0)
    of_each = np.empty_like(session)
    of_each[order] = session
    return match[order][first][of_each], (np.bincount(session, counted) / _SUPPORTING)[of_each]


def nearness(asked: Sequence[TimeSpan], said_at: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each moment (UTC milliseconds): 1 within a span, falling to 0 at its margin; the best span counts."""
    days = said_at / _DAY
    best = np.zeros(len(days))
    for span in asked:
        off = np.maximum(np.maximum(span.start - days, days - span.stop), 0.0)
        best = np.maximum(best, 1.0 - off / span.margin)
    return best


def newness(match: NDArray[np.float64], room: NDArray[np.int32], said_at: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each drawer that matches nearly as well as the best: 1 in the latest such session, then 1/2, 1/3; else 0.

    Example:
        >>> newness(np.array([0.8, 0.9, 0.2]), np.array([1, 2, 3]), np.array([20, 10, 30])).tolist()
        [1.0, 0.5, 0.0]
    """
    near = match >= _NEARLY_BEST * np.max(match, initial=0.0)
    newest: dict[int, int] = {}
    for number, moment in zip(room[near].tolist(), said_at[near].tolist(), strict=True):
        newest[number] = max(moment, newest.get(number, moment))
    by_time = sorted(newest, key=lambda number: -newest[number])
    share = {number: 1 / place for place, number in enumerate(by_time, start=1)}
    return np.where(near, [share.get(number, 0.0) for number in room.tolist()], 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawerSpeaker:
    """The speaker of a drawer."""

    role: str
    speaker: str | None


Asked = Callable[[DrawerSpeaker], float]


def asked(query: str, speakers: Collection[str]) -> Asked:
    """A function that gives 1 for the voice the query asks for and 0 for others; `speakers` are those named.

    A query that names a speaker asks for that speaker's words, one about earlier answers ("you recommended") for the
    assistant's, one in the first person for the user's own, unless it asks for advice: then "I" is the one to help,
    not the one who said it.

    Example:
        >>> about = asked("What did Lena paint?", {"Lena", "Tom"})
        >>> [about(DrawerSpeaker(role="user", speaker=name)) for name in ("Lena", "Tom")]
        [1.0, 0.0]
    """
    said = set(words(query))
    named = {speaker for speaker in speakers if not said.isdisjoint(words(speaker))}
    if len(named) == 1:
        name = named.pop()
        return lambda voice: float(voice.speaker == name)
    if named:  # any of them may have said it
        return lambda _: 0.0
    if asks_for_answers(query):
        return lambda voice: float(voice.role == "assistant")
    if not FIRST_PERSON.isdisjoint(word.partition("'")[0] for word in said) and not asks_advice(query):
        return lambda voice: float(voice.role == "user")
    return lambda _: 0.0
