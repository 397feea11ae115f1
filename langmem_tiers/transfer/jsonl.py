"""Reading conversations from a JSONL file: one message a line, `{session, role, content, at, speaker?, id?}`.

Lines that can not be used are skipped and come out as `LineProblem` values; other fields of a line are ignored.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from langmem_tiers.transfer import checks
from langmem_tiers.transfer.files import decoded, lines, reading
from langmem_tiers.transfer.json_text import Malformed, parse
from langmem_tiers.transfer.records import Entry, ImportedMessage, ImportedSession, LineProblem

EXPECTED = "JSONL of {session, role, content, at}"
# Room for a message of a million characters in the longest way to write them, twelve bytes each (\ud83d\ude00).
_LINE_BYTES = 16_000_000
_PIECE = 500
_PIECE_CHARACTERS = 4_000_000


def read_jsonl(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of the file, in its order.

    Raises:
        UnreadableFile: the file can not be opened or read.
    """
    piece: list[ImportedMessage] = []
    for entry in _messages(path):
        if isinstance(entry, LineProblem):
            yield entry
            continue
        if piece and (entry.session != piece[0].session or _is_full(piece)):
            yield _session(piece)
            piece = []
        piece.append(entry)
    if piece:
        yield _session(piece)


def _is_full(piece: list[ImportedMessage]) -> bool:
    return len(piece) >= _PIECE or sum(len(message.content) for message in piece) >= _PIECE_CHARACTERS


def _session(piece: list[ImportedMessage]) -> ImportedSession:
    return ImportedSession(session=piece[0].session, messages=tuple(piece))


def _messages(path: Path) -> Iterator[ImportedMessage | LineProblem]:
    names = _Names()
    with reading(path, EXPECTED) as stream:
        for number, line in lines(stream, _LINE_BYTES):
            if line is not None and not line.strip():
                continue
            try:
                yield _message(line, names)
            except Malformed as error:
                yield LineProblem(line=number, reason=str(error))


def _message(line: bytes | None, names: _Names) -> ImportedMessage:
    entry = checks.mapping(parse(decoded(line, _LINE_BYTES)), "the line")
    at = checks.optional_text(entry, "at")
    message = ImportedMessage(
        session=checks.text(entry, "session"),
        role=checks.role(entry),
        content=checks.text(entry, "content"),
        at=None if at is None else checks.iso_time(at, "at"),
        speaker=checks.optional_text(entry, "speaker"),
        message_id=checks.optional_text(entry, "id") or "",
    )
    return message if message.message_id else names.named(message)


class _Names:
    """Ids for messages that come without one: the same each time the file is read, whatever is appended to it."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def named(self, message: ImportedMessage) -> ImportedMessage:
        """`message` with an id made from what it says and how often that was said before."""
        told = "\0".join((message.session, message.role, str(message.at), message.content))
        digest = hashlib.sha256(told.encode()).hexdigest()[:20]
        self._seen[digest] += 1
        return replace(message, message_id=f"{digest}.{self._seen[digest]}")
