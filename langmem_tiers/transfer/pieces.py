"""Messages as they come from a file, put together into sessions, long ones in pieces; ids for those without one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from langmem_tiers.transfer.records import ImportedMessage, ImportedSession, LeftBehind, LineProblem

Other = TypeVar("Other", bound=LineProblem | LeftBehind)

_PIECE = 500
_PIECE_CHARACTERS = 4_000_000


def pieces(
    entries: Iterable[ImportedMessage | Other], *, user: str | None = None, project: str | None = None
) -> Iterator[ImportedSession | Other]:
    """The sessions of messages in their order, a very long one in several pieces; what else there is, as it comes."""
    piece: list[ImportedMessage] = []
    for entry in entries:
        if not isinstance(entry, ImportedMessage):
            yield entry
            continue
        if piece and (entry.session != piece[0].session or _is_full(piece)):
            yield _session(piece, user, project)
            piece = []
        piece.append(entry)
    if piece:
        yield _session(piece, user, project)


class Names:
    """Ids for messages that come without one: the same each time the file is read, whatever is appended to it."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def named(self, message: ImportedMessage) -> ImportedMessage:
        """`message` with an id made from what it says and how often that was said before."""
        told = "\0".join((message.session, message.role, str(message.at), message.content))
        digest = hashlib.sha256(told.encode()).hexdigest()[:20]
        self._seen[digest] += 1
        return replace(message, message_id=f"{digest}.{self._seen[digest]}")


def _is_full(piece: list[ImportedMessage]) -> bool:
    return len(piece) >= _PIECE or sum(len(message.content) for message in piece) >= _PIECE_CHARACTERS


def _session(piece: list[ImportedMessage], user: str | None, project: str | None) -> ImportedSession:
    return ImportedSession(session=piece[0].session, messages=tuple(piece), user=user, project=project)
