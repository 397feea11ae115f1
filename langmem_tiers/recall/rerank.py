"""What rerankers are given and what they give: a question, passages, and the places of the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

SOURCE = "memory_rerank"
"""What the usage of rerankers is booked under."""
LONGEST_QUESTION = 1000
"""Characters of a question that are given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What was asked, and when."""

    text: str
    asked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A candidate as a reranker sees it: `text` is verbatim, an excerpt where the drawer is long."""

    space: str
    drawer: int
    pointer: str
    session: str
    speaker: str
    said_at: datetime
    text: str
    score: float


Places = tuple[int, ...]
"""Places in the passages given, from 0, best first and each once; empty says that none of them fits."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """A reply that says no order, and why it does not; `kind` is the class of the error behind it, else a word."""

    reason: str
    kind: str = field(default="invalid", repr=False)
    raised: bool = field(default=False, repr=False)


@dataclass(kw_only=True, slots=True)
class Attempt:
    """What one attempt has taken so far; tokens are None until a provider tells.

    `given_up` is set by who waited: nothing more is to be asked then. `callbacks` are those of the run that it is in.
    """

    calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    given_up: bool = False
    callbacks: Any = None

    def count_tokens(self, given: int | None, made: int | None) -> None:
        """Add the tokens of a call, as far as they are known."""
        if given is not None:
            self.input_tokens = given + (self.input_tokens or 0)
        if made is not None:
            self.output_tokens = made + (self.output_tokens or 0)

    def usage(self) -> dict[str, dict[str, int]]:
        """The numbers that are known, under `memory_rerank`; nothing if nobody was asked."""
        counted = {"calls": self.calls, "input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        known = {name: number for name, number in counted.items() if number is not None}
        return {SOURCE: known} if self.calls else {}


class Ranker(Protocol):
    """Something that puts passages in order of their use for a question.

    `judges` says whether it names those that fit; else what it gives is an order, which always has a first. `name` is
    what the model is called.
    """

    judges: bool
    name: str

    def rank(self, question: Question, passages: Sequence[Passage], most: int, attempt: Attempt) -> Places | Unclear:
        """The best ones, at most `most`; whatever a provider's client raises comes through."""
