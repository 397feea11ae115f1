"""Recognising turns by where they stand: hosts send a history again under new ids, and replays say the same anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple


class Said(NamedTuple):
    """Who said what: two turns with the same of both may be one."""

    role: str
    content_hash: bytes


def recognised(given: Sequence[Said], stored: Sequence[Said], known: Mapping[int, int | None]) -> dict[int, int]:
    """Which of the given turns are stored under other ids: their places in `given`, to those in `stored`.

    Turns at the beginning that nobody knows are compared with the end of what is stored, or with what stands before
    the first one that is known: a history is sent as a whole, or without its oldest turns. Replies that are stored and
    not given do not matter, since clients keep the last one only; what a user said does. Behind a turn that was found,
    the same words are the same turn where they are stored next.

    Args:
        given: The turns as the host has them.
        stored: Those of the session that stand.
        known: The places in `given` that are known by their ids, to the places in `stored` where they stand with these
            words; None where they do not.
    """
    taken = {place for place in known.values() if place is not None}
    first = min(known, default=len(given))
    until = known.get(first, len(stored))
    found: dict[int, int] = {}
    if first and until is not None:
        found = _tail(given[:first], stored[:until], taken, anchored=first in known)
    at: int | None = None
    for place, said in enumerate(given):
        if place in known or place in found:
            at = known[place] if place in known else found[place]
        elif at is not None:
            at = _next(said, stored, at, taken | set(found.values()))
            if at is not None:
                found[place] = at
    return found


def _tail(given: Sequence[Said], stored: Sequence[Said], taken: Set[int], *, anchored: bool) -> dict[int, int]:
    """The longest beginning of `given` that is the end of `stored`, at best up to its very last turn."""
    loose: dict[int, int] = {}
    for length in range(len(given), 0, -1):
        places = _embedded(given[:length], stored, taken)
        if places is None or not _telling(given, length):
            continue
        if places[length - 1] == len(stored) - 1 or (anchored and length == len(given)):
            return places
        loose = loose or places
    return loose


def _telling(given: Sequence[Said], length: int) -> bool:
    """Replies alone may well be said twice."""
    return length < len(given) or any(said.role == "user" for said in given)


def _embedded(given: Sequence[Said], stored: Sequence[Said], taken: Set[int]) -> dict[int, int] | None:
    """Where `given` stands at the end of `stored`, between replies; None where it does not."""
    places: dict[int, int] = {}
    left = len(given)
    for place in range(len(stored) - 1, -1, -1):
        if not left:
            break
        if place not in taken and stored[place] == given[left - 1]:
            left -= 1
            places[left] = place
        elif stored[place].role == "user":
            return None
    return None if left else places


def _next(said: Said, stored: Sequence[Said], at: int, taken: Set[int]) -> int | None:
    """Where `said` is stored behind the turn at `at`, before the user says something else."""
    for place in range(at + 1, len(stored)):
        if place not in taken and stored[place] == said:
            return place
        if stored[place].role == "user":
            return None
    return None
