"""Which of a user's messages only passes on what those before announced: "Here is the mail:", and then the mail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from langmem_tiers.clock import to_millis
from langmem_tiers.language.continued_quotations import goes_on, interjects
from langmem_tiers.storage.drawers import Spoken
from langmem_tiers.writing.turns import IncomingTurn

LOOKED_BACK = 12
"""Turns before a message among which those that it may go on with are looked for."""
_LONGEST_PAUSE = 6 * 3_600_000  # milliseconds after which nobody goes on with a text
_LONGEST_REPLY = 400  # characters: an assistant that says more has got the text in another way, such as attached


def with_origins(
    new: Iterable[IncomingTurn], given: Sequence[IncomingTurn], earlier: Callable[[IncomingTurn], Iterable[Spoken]]
) -> list[IncomingTurn]:
    """The new turns of `given`; those that only pass something on have the origin "quoted".

    `earlier` gives what was said before one of them, newest first, and is lazy. A turn whose origin its host has named
    keeps it.
    """
    places = {each.message_id: place for place, each in enumerate(given)}
    told = [_spoken(each) for each in given]
    judged = 0  # those before have their origins
    found = []
    for each in new:
        place = places[each.message_id]
        for known in range(max(judged, place - LOOKED_BACK), place):  # stored before, with an origin not at hand
            told[known] = _judged(told[known], reversed(told[:known]))
        told[place] = _judged(told[place], chain(reversed(told[:place]), earlier(each)))
        judged = place + 1
        passes_on = told[place].origin == "quoted"
        found.append(replace(each, turn=replace(each.turn, origin="quoted")) if passes_on else each)
    return found


def judged(told: Iterable[Spoken]) -> list[Spoken]:
    """A conversation, oldest first, in which what the user only passes on has the origin "quoted"."""
    found: list[Spoken] = []
    for each in told:
        found.append(_judged(each, reversed(found)))
    return found


def _spoken(each: IncomingTurn) -> Spoken:
    turn = each.turn
    return Spoken(turn.role, turn.speaker, turn.content, to_millis(each.said_at), turn.origin)


def _judged(turn: Spoken, before: Iterable[Spoken]) -> Spoken:
    if turn.role != "user" or turn.origin not in {None, "import"}:
        return turn
    others = _leading_to(turn, before)
    whole = bool(others) and others[-1].origin == "quoted"
    goes = bool(others) and goes_on([each.content for each in others], turn.content, whole=whole)
    return turn._replace(origin="quoted") if goes else turn


def _leading_to(turn: Spoken, before: Iterable[Spoken]) -> list[Spoken]:
    """The user's last message, and if it is a quotation as a whole, what it goes on with; without interjections."""
    found: list[Spoken] = []
    replied = 0
    for other in before:
        if other.role == "user":
            if other.speaker != turn.speaker or not 0 <= turn.said_at - other.said_at <= _LONGEST_PAUSE:
                break
            if other.origin == "quoted" or not interjects(other.content):
                found.append(other)
                replied = 0
                if other.origin != "quoted":
                    break
        replied += len(other.content) if other.role == "assistant" else 0
        if replied > _LONGEST_REPLY:
            break
    return found[::-1]
