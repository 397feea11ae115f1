"""What mining works with: turns as it sees them, and what it proposes to keep of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from langmem_tiers.types import Origin, Role

ProposalKind = Literal["fact", "preference", "correction", "decision", "action"]
MiningPath = Literal["rule", "model"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One turn of a conversation: the drawer that holds it, and its place in the room."""

    drawer: int
    place: int
    role: Role
    origin: Origin
    speaker: str | None
    content: str
    said_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A drawer that something rests on, with the words of it that say so."""

    drawer: int
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """Something that may be worth keeping, not checked yet.

    `content` is a declarative sentence ("The user prefers tea."); `corrects` is the wrong value as it was said, where
    this is a correction. `contradicts` says that it was said against something that it does not name ("No, I live in
    Braga"): what is known of the same thing with another value is wrong then.
    """

    kind: ProposalKind
    content: str
    category: str
    evidence: tuple[Evidence, ...]
    tags: tuple[str, ...] = ()
    corrects: str | None = None
    contradicts: bool = False
    expires_at: datetime | None = None
    path: MiningPath = "rule"
