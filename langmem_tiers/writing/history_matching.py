"""Matches a history that a host sends again, perhaps with new message ids, against the stored turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple


class Utterance(NamedTuple):
    """A speaker and text: turns that agree in both may be the same."""

    role: str
    content_hash: bytes


def match_history(
    given: Sequence[Utterance], stored: Sequence[Utterance], known: Mapping[int, int | None]
) -> dict[int, int]:
    """Find the given turns that are stored under other ids; maps their positions in `given` to those in `stored`.

    Unknown turns at the beginning are compared with the end of what is stored, or with what precedes the first known
    turn: a history is sent in full, or without its oldest turns. Stored replies may be missing from it, since some
    clients keep only the last one; user turns may not. After a matched turn, the same words are the same turn if they
    are stored next.

    Args:
        given: The turns as the host has them.
        stored: The current turns of the session.
        known: Positions in `given` that are known by id, mapped to the positions in `stored` with the same words;
            None if there are none.
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


def _tail(
    given: Sequence[Utterance], stored: Sequence[Utterance], taken: Set[int], *, anchored: bool
) -> dict[int, int]:
    """The longest beginning of `given` that matches the end of `stored`, preferably up to its very last turn."""
    loose: dict[int, int] = {}
    for length in range(len(given), 0, -1):
        places = _embedded(given[:length], stored, taken)
        if places is None or not _telling(given, length):
            continue
        if places[length - 1] == len(stored) - 1 or (anchored and length == len(given)):
            return places
        loose = loose or places
    return loose


def _telling(given: Sequence[Utterance], length: int) -> bool:
    """Whether the match includes words of the user: replies alone may well repeat."""
    return length < len(given) or any(said.role == "user" for said in given)


def _embedded(given: Sequence[Utterance], stored: Sequence[Utterance], taken: Set[int]) -> dict[int, int] | None:
    """Where `given` occurs at the end of `stored`, with replies in between, or None."""
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


def _next(said: Utterance, stored: Sequence[Utterance], at: int, taken: Set[int]) -> int | None:
    """The position of `said` after the turn at `at`, before the user says something else."""
    for place in range(at + 1, len(stored)):
        if place not in taken and stored[place] == said:
            return place
        if stored[place].role == "user":
            return None
    return None
