"""Windows: the turns of a room that are mined together, and what was found in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.knowledge.transcript import may_be_shown
from langmem_tiers.records import MiningPath, Proposal, RefusedProposal, Said
from langmem_tiers.storage import progress
from langmem_tiers.storage.feedback import FeedbackRow
from langmem_tiers.storage.progress import Again, ProposalRow
from langmem_tiers.storage.rooms import Unfinished

# Preceding turns shown with a window: "Yes, that one" answers the turn before.
_BEFORE = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Consecutive turns of a room that are mined together.

    `turns` are what users and assistants said in this range and may be mined; `before` the last such turns before
    it, given for context only.
    """

    room: int
    session: str
    first_place: int
    last_place: int
    turns: tuple[Said, ...]
    before: tuple[Said, ...] = ()

    @property
    def told(self) -> tuple[Said, ...]:
        """What the user said."""
        return tuple(turn for turn in self.turns if turn.role == "user")


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowFindings:
    """What was found in a window, and what it cost.

    `reason` says why the rules were used although there is a model, `temporary` whether the model may be asked later.
    """

    path: MiningPath
    proposals: tuple[Proposal, ...] = ()
    for_graph: tuple[ProposalRow, ...] = ()
    refused: tuple[RefusedProposal, ...] = ()
    topics: tuple[str, ...] = ()
    subject: str = ""
    feedback: tuple[FeedbackRow, ...] = ()
    reason: str = ""
    temporary: bool = False
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def next_window(connection: Connection, space: str, room: Unfinished, *, most: int) -> Window:
    """The next unmined turns of a room, up to `most`."""
    turns: list[Said] = []
    stopped = room.drawers
    for turn in progress.standing(connection, space, room.room, after=room.done):
        if len(turns) == most:
            stopped = turns[-1].place
            break
        if may_be_shown(turn):
            turns.append(turn)
    return _window(connection, space, room, room.done + 1, stopped, turns)


def same_window(connection: Connection, space: str, once: Again) -> Window:
    """A window that was mined before, in its current state."""
    span = {"after": once.first_place - 1, "upto": once.last_place}
    turns = progress.standing(connection, space, once.room, **span)
    return _window(connection, space, once, once.first_place, once.last_place, filter(may_be_shown, turns))


def _window(
    connection: Connection, space: str, of: Unfinished | Again, first: int, last: int, turns: Iterable[Said]
) -> Window:
    in_front = progress.before(connection, space, of.room, place=first, most=_BEFORE)
    return Window(
        room=of.room,
        session=of.session,
        first_place=first,
        last_place=last,
        turns=tuple(turns),
        before=tuple(turn for turn in in_front if may_be_shown(turn)),
    )
