"""What importers give: messages, facts and documents, and lines that cannot be read."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeVar

ImportedRole = Literal["user", "assistant"]
Unit = Literal["line", "record"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedMessage:
    """One message as a file tells it.

    `at` is aware and in UTC (a date without a zone is taken as UTC), None where the file gives no date.
    `message_id` is the same each time the file is read, which makes importing it twice harmless; `pieces` names the
    messages that have none. `by_name` says that the file tells speakers only by name: which of them is the user is
    chosen at import. `unreadable_times` counts the dates that cannot be read. `line` and `unit` say where in the file
    it is, as those of a `LineProblem`; 0 where the reader does not know.
    """

    session: str
    role: ImportedRole
    content: str
    at: datetime | None = None
    speaker: str | None = None
    by_name: bool = False
    message_id: str = ""
    unreadable_times: int = 0
    line: int = field(default=0, compare=False)
    unit: Unit = field(default="record", compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSession:
    """Messages of one session, in order.

    A session that is very long, or interleaved with others in its file, comes in several pieces of the same name.
    `conversation` is what the session belongs to: a LoCoMo sample or a LongMemEval question. `user` is whose it is,
    where the file says so, and `project` what it is about.
    """

    session: str
    messages: tuple[ImportedMessage, ...]
    conversation: str | None = None
    user: str | None = None
    project: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedFact:
    """Something that another memory remembered, as it says it.

    `source` names that memory, and `fact_id` the fact in it: the same each time it is read. Category, tags and
    `metadata` are as they came; what cannot be kept of them is left out when they are stored. `unreadable_times`
    counts the dates the file gives of it that cannot be read. `keeps_id` says that `fact_id` is to be its id here.
    """

    source: str
    fact_id: str
    content: str
    user: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    unreadable_times: int = 0
    keeps_id: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedDocument:
    """A text that is kept whole under a path. `identity` says that it is about who the user is."""

    path: str
    text: str
    user: str | None = None
    identity: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftBehind:
    """Something that is not to be remembered, such as a hidden message: what, and how many of it."""

    what: str
    count: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class LineProblem:
    """Something in the file that was skipped, and why.

    `line` is a line of the file, or the position of a record in it, as `unit` says. Both count from 1.
    """

    line: int
    reason: str
    unit: Unit = "record"


Entry = ImportedSession | LineProblem
Record = ImportedSession | ImportedFact | ImportedDocument | LeftBehind | LineProblem


Other = TypeVar("Other", bound=LineProblem | LeftBehind)

_PIECE = 500
_PIECE_CHARACTERS = 4_000_000


def pieces(
    entries: Iterable[ImportedMessage | Other], *, user: str | None = None, project: str | None = None
) -> Iterator[ImportedSession | Other]:
    """The sessions of messages in their order, a very long one in several pieces; what else there is, as it comes.

    A message without an id gets one made of what it says and how often that was said before: the same each time the
    file is read, whatever is appended to it.
    """

    def session() -> ImportedSession:
        return ImportedSession(session=piece[0].session, messages=tuple(piece), user=user, project=project)

    piece: list[ImportedMessage] = []
    seen: Counter[str] = Counter()
    for entry in entries:
        if not isinstance(entry, ImportedMessage):
            yield entry
            continue
        message = entry if entry.message_id else _named(entry, seen)
        full = len(piece) >= _PIECE or sum(len(each.content) for each in piece) >= _PIECE_CHARACTERS
        if piece and (full or message.session != piece[0].session):
            yield session()
            piece = []
        piece.append(message)
    if piece:
        yield session()


def _named(message: ImportedMessage, seen: Counter[str]) -> ImportedMessage:
    told = "\0".join((message.session, message.role, str(message.at), message.content))
    digest = hashlib.sha256(told.encode()).hexdigest()[:20]
    seen[digest] += 1
    return replace(message, message_id=f"{digest}.{seen[digest]}")
