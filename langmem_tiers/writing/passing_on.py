"""Which of a user's messages only passes on what the one before announced: "Here is the mail:", and then the mail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from langmem_tiers.clock import to_millis
from langmem_tiers.language.continued_quotations import goes_on
from langmem_tiers.storage.drawers import Spoken
from langmem_tiers.writing.turns import IncomingTurn

LOOKED_BACK = 8
"""Turns before a message among which the user's last one is looked for."""
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
    told = [Spoken(each.turn.role, each.turn.speaker, each.turn.content, to_millis(each.said_at)) for each in given]

    def is_quoted(each: IncomingTurn) -> bool:
        place = places[each.message_id]
        may_be = each.turn.role == "user" and each.turn.origin in {None, "import"}
        return may_be and _passes_on(told[place], chain(reversed(told[:place]), earlier(each)))

    return [replace(each, turn=replace(each.turn, origin="quoted")) if is_quoted(each) else each for each in new]


def _passes_on(turn: Spoken, before: Iterable[Spoken]) -> bool:
    replied = 0
    for other in before:
        if other.role == "user":
            in_time = 0 <= turn.said_at - other.said_at <= _LONGEST_PAUSE
            return in_time and other.speaker == turn.speaker and goes_on(other.content, turn.content)
        replied += len(other.content) if other.role == "assistant" else 0
        if replied > _LONGEST_REPLY:
            return False
    return False
