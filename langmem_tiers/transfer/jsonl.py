"""Reading conversations from a JSONL file: one message a line, `{session, role, content, at, speaker?, id?}`.

Lines that can not be used are skipped and come out as `LineProblem` values; other fields of a line are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from langmem_tiers.transfer import checks
from langmem_tiers.transfer.files import decoded, lines, reading
from langmem_tiers.transfer.json_text import Malformed, parse
from langmem_tiers.transfer.pieces import Names, pieces
from langmem_tiers.transfer.records import Entry, ImportedMessage, LineProblem

EXPECTED = "JSONL of {session, role, content, at}"
# Room for a message of a million characters in the longest way to write them, twelve bytes each (\ud83d\ude00).
_LINE_BYTES = 16_000_000


def read_jsonl(path: Path) -> Iterator[Entry]:
    """The sessions and the problems of the file, in its order.

    Raises:
        UnreadableFile: the file can not be opened or read.
    """
    return pieces(_messages(path))


def _messages(path: Path) -> Iterator[ImportedMessage | LineProblem]:
    names = Names()
    with reading(path, EXPECTED) as stream:
        for number, line in lines(stream, _LINE_BYTES):
            if line is not None and not line.strip():
                continue
            try:
                yield _message(line, names)
            except Malformed as error:
                yield LineProblem(line=number, reason=str(error), unit="line")


def _message(line: bytes | None, names: Names) -> ImportedMessage:
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
