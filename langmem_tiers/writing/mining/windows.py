"""Windows: which turns of a room are looked at together."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from langmem_tiers.storage import mined
from langmem_tiers.storage.mined import Again, Waiting
from langmem_tiers.trust.taint import holds_block, tainted
from langmem_tiers.writing.mining.types import Window
from langmem_tiers.writing.proposals import Said

# Turns in front of a window that are shown with it: "Yes, that one" answers the turn before.
_BEFORE = 2


def next_window(connection: Connection, space: str, room: Waiting, *, most: int) -> Window:
    """The first turns of a room that are not mined yet, at most so many that may be."""
    turns: list[Said] = []
    stopped = room.drawers
    for turn in mined.standing(connection, space, room.room, after=room.mined):
        if len(turns) == most:
            stopped = turns[-1].place
            break
        if may_be_shown(turn):
            turns.append(turn)
    return _window(connection, space, room, room.mined + 1, stopped, turns)


def same_window(connection: Connection, space: str, once: Again) -> Window:
    """Turns that were mined before, as they stand now."""
    span = {"after": once.first_place - 1, "upto": once.last_place}
    turns = mined.standing(connection, space, once.room, **span)
    return _window(connection, space, once, once.first_place, once.last_place, filter(may_be_shown, turns))


def _window(
    connection: Connection, space: str, of: Waiting | Again, first: int, last: int, turns: Iterable[Said]
) -> Window:
    in_front = mined.before(connection, space, of.room, place=first, most=_BEFORE)
    return Window(
        room=of.room,
        session=of.session,
        first_place=first,
        last_place=last,
        turns=tuple(turns),
        before=tuple(turn for turn in in_front if may_be_shown(turn)),
    )


def may_be_shown(turn: Said) -> bool:
    """Whether it is a statement of the user, or an assistant's words that help to understand these."""
    if turn.role == "assistant":
        return turn.origin in {"assistant", "import"} and not holds_block(turn.content)
    return tainted(turn) is None
