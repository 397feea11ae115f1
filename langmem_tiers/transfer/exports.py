"""What another program exported: a zip file, the folder that was in it, or one file of it; nothing is ever unpacked."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, cast

from langmem_tiers.transfer.entries import list_entries
from langmem_tiers.transfer.files import reading, unreadable
from langmem_tiers.transfer.json_text import Malformed, parse

ZIP_MAGIC = b"PK\x03\x04"
# JSON shrinks to a tenth, seldom to a thirtieth; what shrinks to less than this was made to fill a disk.
_MOST_SHRUNK = 200
_SMALL = 64 << 20
_LARGEST = 8 << 30
_MOST_MEMBERS = 200_000
_WHOLE = 256 << 20


class Export:
    """The JSON files of an export, named by their path in it. To be closed: use it as a context manager.

    Raises:
        UnreadableFile: it is missing, not permitted or a damaged zip file.
    """

    def __init__(self, path: Path, expected: str) -> None:
        self.path = path
        self._expected = expected
        try:
            self._zip = _zip_of(path, expected) if is_zip(path) else None
            self.members = tuple(sorted(self._names()))
        except OSError as error:
            raise unreadable(path, expected, error.strerror or str(error)) from error

    def __enter__(self) -> Export:
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    def named(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """The members whose path ends like this, from the beginning of a name."""
        return tuple(name for name in self.members if pattern.search(f"/{name}"))

    @contextmanager
    def open(self, name: str) -> Iterator[BufferedReader[RawIOBase]]:
        """The bytes of a member.

        Raises:
            UnreadableFile: it is damaged, encrypted, or would fill the disk.
        """
        try:
            with self._opened(name) as stream, BufferedReader(cast("RawIOBase", stream)) as buffered:
                yield buffered
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
            raise unreadable(self.path, self._expected, f"{name}: {error}") from error

    def entries(self, name: str) -> Iterator[tuple[int, object]]:
        """The elements of a member that is a JSON list, one at a time; the one value of another.

        Raises:
            UnreadableFile: it is no JSON.
        """
        with self.open(name) as stream:
            if stream.peek(64)[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
                yield from list_entries(self.path, self._expected, stream)
            else:
                yield 1, self._whole(stream)

    def _whole(self, stream: IO[bytes]) -> object:
        held = stream.read(_WHOLE + 1)
        if len(held) > _WHOLE:
            raise unreadable(self.path, self._expected, f"it is no list, and larger than {_WHOLE:,} bytes")
        try:
            return parse(held.decode("utf-8-sig"))
        except (Malformed, UnicodeDecodeError) as error:
            raise unreadable(self.path, self._expected, str(error)) from error

    def _names(self) -> Iterator[str]:
        if self._zip is not None:
            yield from (info.filename for info in self._zip.infolist() if not info.is_dir())
        elif self.path.is_dir():
            yield from (str(each.relative_to(self.path).as_posix()) for each in json_files(self.path))
        else:
            yield self.path.name

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        if self._zip is None:
            with reading(self.path / name if self.path.is_dir() else self.path, self._expected) as stream:
                yield stream
        else:
            with self._zip.open(self._harmless(self._zip.getinfo(name))) as packed:
                yield packed

    def _harmless(self, member: zipfile.ZipInfo) -> zipfile.ZipInfo:
        """A member that does not grow beyond what JSON does; more than it says is never unpacked."""
        grows = member.file_size > max(_SMALL, _MOST_SHRUNK * member.compress_size)
        if member.file_size > _LARGEST or grows:
            reason = f"{member.filename} would unpack to {member.file_size:,} bytes from {member.compress_size:,}"
            raise unreadable(self.path, self._expected, reason, way_out="Unpack it yourself, if you trust it.")
        return member


def is_zip(path: Path) -> bool:
    """Whether a file begins like a zip file."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == ZIP_MAGIC


def json_files(folder: Path) -> Iterator[Path]:
    """The JSON files below a folder, in the order of their paths; hidden folders and links are not followed."""
    for each in sorted(folder.iterdir()):
        if each.name.startswith(".") or each.is_symlink():
            continue
        if each.is_dir():
            yield from json_files(each)
        elif each.suffix.lower() == ".json":
            yield each


def _zip_of(path: Path, expected: str) -> zipfile.ZipFile:
    try:
        opened = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise unreadable(path, expected, str(error)) from error
    if len(opened.infolist()) > _MOST_MEMBERS:
        opened.close()
        raise unreadable(path, expected, f"it holds more than {_MOST_MEMBERS:,} files")
    return opened
