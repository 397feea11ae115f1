"""The questions of a conversation set, what they are asked over, and what counts as found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from langmem_tiers.transfer.records import ImportedSession, LineProblem


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question. `asked_at` is its moment; nothing said after `until` may be recalled for it."""

    question_id: str
    question_type: str
    text: str
    asked_at: datetime | None
    until: datetime | None = None
    abstention: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A conversation, the name of the space it goes to, and the questions about it.

    `names` are the set's own names of its sessions, by place: they tell which session two cases share, and are never
    stored, since they may give the answer away.
    """

    conversation: str
    space: str
    sessions: tuple[ImportedSession, ...]
    questions: tuple[Question, ...]
    problems: tuple[LineProblem, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Gold:
    """Where the answer to a question is: the sessions, and the messages where the set names them.

    `abstention` marks questions that have no answer in the conversation.
    """

    question_id: str
    question_type: str
    sessions: frozenset[int]
    turns: frozenset[str] = frozenset()
    abstention: bool = False


Cases = Iterator[Case | LineProblem]
Golds = Iterator[Gold | LineProblem]
