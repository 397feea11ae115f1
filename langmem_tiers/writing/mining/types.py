"""What mining looks at, and what it says that it did."""

from __future__ import annotations

from dataclasses import dataclass

from langmem_tiers.storage.mined import NewProposal
from langmem_tiers.writing.proposals import MiningPath, Proposal, Said


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """Some turns of a room, in order, that are looked at together.

    `turns` are what users and assistants said in these places and may be looked at; `before` the last such turns in
    front, to be understood by and not mined.
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
class RefusedProposal:
    """What was proposed and not kept, with secrets masked, and why."""

    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What one look at a window brought, and what it took.

    `reason` says why the rules did it where there is a model, `temporary` whether the model may be asked later.
    """

    path: MiningPath
    proposals: tuple[Proposal, ...] = ()
    for_graph: tuple[NewProposal, ...] = ()
    refused: tuple[RefusedProposal, ...] = ()
    topics: tuple[str, ...] = ()
    subject: str = ""
    reason: str = ""
    temporary: bool = False
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class MiningReport:
    """What mining some turns of a session did.

    `kept`, `merged`, `known` and `corrected` are ids of entries: made, joined by another wording, known before, and
    made inactive by a correction. `entities` and `relations` count what was kept for the graph. `path` says whether a
    model or the rules did it, `reason` why the rules did where there is a model.
    """

    session: str
    first_place: int
    last_place: int
    path: MiningPath
    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    refused: tuple[RefusedProposal, ...] = ()
    entities: int = 0
    relations: int = 0
    topics: tuple[str, ...] = ()
    subject: str = ""
    reason: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
