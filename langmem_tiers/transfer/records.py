"""What a reader yields: sessions of messages, and the problems it met on the way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ImportedRole = Literal["user", "assistant"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedMessage:
    """One message as a file tells it.

    `at` is aware and in UTC (a date without a zone is taken as UTC), None where the file gives no date.
    `message_id` is the same each time the file is read, which makes importing it twice harmless.
    """

    session: str
    role: ImportedRole
    content: str
    at: datetime | None
    speaker: str | None
    message_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSession:
    """Messages of one session, in order.

    A session that is very long, or interleaved with others in its file, comes in several pieces of the same name.
    `conversation` is what the session belongs to: a LoCoMo sample or a LongMemEval question.
    """

    session: str
    messages: tuple[ImportedMessage, ...]
    conversation: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LineProblem:
    """Something in the file that was skipped, and why.

    `line` is the line of a JSONL file; in a JSON list it is the position of the entry. Both count from 1.
    """

    line: int
    reason: str


Entry = ImportedSession | LineProblem
