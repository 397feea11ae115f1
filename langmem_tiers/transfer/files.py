"""Opening files to import, plain or gzipped, and cutting them into lines; no format is known here."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.transfer.json_text import Malformed

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 65_536


@contextmanager
def reading(path: Path, expected: str) -> Iterator[IO[bytes]]:
    """The bytes of `path`, unzipped where it is gzipped.

    Raises:
        UnreadableFile: it is missing, a folder, not permitted, binary or a damaged gzip file.
    """
    try:
        with _opened(path) as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise unreadable(path, expected, reason) from error


def unreadable(path: Path, expected: str, reason: str, *, way_out: str | None = None) -> UnreadableFile:
    """The error that names the file, what was expected of it, and what is wrong."""
    return UnreadableFile(f"{path} can not be read as {expected}: {reason.rstrip('.')}.", way_out=way_out)


def head(path: Path, expected: str) -> str:
    """The first 64 KB of a text file.

    Raises:
        UnreadableFile: as `reading`, or the file is binary.
    """
    with reading(path, expected) as stream:
        start = stream.read(_HEAD_BYTES)
    if b"\0" in start:
        raise unreadable(path, expected, "it is a binary file")
    return start.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace")


def lines(stream: IO[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number from 1; None stands for a line over `limit` bytes, which is never held whole."""
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if len(line) > limit and not line.endswith(b"\n"):
            _skip_line(stream, limit)
            yield number, None
        else:
            yield number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line


def decoded(line: bytes | None, limit: int) -> str:
    """The text of a line that `lines` gave.

    Raises:
        Malformed: it was too long, or is not UTF-8.
    """
    if line is None:
        raise Malformed(f"the line is longer than {limit:,} bytes")
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8 at byte {error.start + 1}") from error


def _skip_line(stream: IO[bytes], limit: int) -> None:
    while (rest := stream.readline(limit)) and not rest.endswith(b"\n"):
        pass


def _opened(path: Path) -> IO[bytes]:
    if path.exists() and not path.is_file():
        raise OSError("it is no regular file")  # a pipe could be read only once, and its format is looked at first
    with path.open("rb") as stream:
        zipped = stream.read(2) == _GZIP_MAGIC
    return cast("IO[bytes]", gzip.open(path)) if zipped else path.open("rb")
