"""The memories that an answer cites, as records."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from langmem_tiers.types import Origin, Role

CitedKind = Literal["message", "session", "entry", "episode", "relation", "document", "item"]
Place = tuple[int, int]
"""Where something is cited: its first character in the answer, and the one behind its last."""
Style = Literal["notes", "inline"]
Markup = Literal["markdown", "text"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """A memory that an answer cites, and that exists.

    `ref` is its pointer, id or path as blocks show it, with the name of the space if that is a fallback; `text` what it
    says. Of a message, `role`, `origin` and `speaker` say who said it. `shown` is whether the model had it before it,
    None if nothing was given to tell that by. `ended` is what says that it no longer holds.
    """

    kind: CitedKind
    ref: str
    space: str
    text: str
    said_at: datetime | None = None
    role: Role | None = None
    origin: Origin | None = None
    speaker: str | None = None
    shown: bool | None = None
    ended: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownCitation:
    """Something that an answer cites and that the memory does not hold: made up, or deleted since."""

    kind: CitedKind | None
    ref: str
    places: tuple[Place, ...] = ()


Cited = Citation | UnknownCitation
"""Something that an answer cites, whether it exists or not."""
