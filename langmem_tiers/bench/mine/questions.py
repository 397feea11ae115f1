"""What is mined: a question, the words that it holds out, and the message that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["paraphrase", "cloze", "keywords", "gap", "model"]
LEAST = 5  # questions; the means of fewer say nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A question as a rule or a model proposes it; `answer` are the words of the message that it asks for."""

    kind: Kind
    text: str
    answer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MinedQuestion:
    """One question about one message of a space.

    The message is known by the hash of its content, so that a question outlives new numbers: every message that says
    the same answers it. `asked_at` is the moment that recency is counted from.
    """

    question_id: str
    kind: Kind
    text: str
    answer: str
    content_hash: bytes
    asked_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionSet:
    """Questions, and how they came about.

    `wanted` were asked for; `messages` of the user could be asked about; `dropped` replies of a model were of no use,
    and rules took their place.
    """

    space: str
    questions: tuple[MinedQuestion, ...]
    wanted: int
    messages: int
    dropped: int = 0

    def __iter__(self) -> Iterator[MinedQuestion]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)
