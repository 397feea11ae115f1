"""Reading files, JSON and exports of other programs piece by piece, whatever their size."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BufferedReader, RawIOBase, TextIOWrapper
from itertools import count
from math import isfinite
from pathlib import Path
from typing import IO, NoReturn, TextIO, cast

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.json_bounds import too_deep
from langmem_tiers.settings import ImportSettings
from langmem_tiers.transfer.records import LineProblem
from langmem_tiers.wording import beginning

_CHUNK = 1 << 20

LIMITS: ContextVar[ImportSettings] = ContextVar("LIMITS", default=ImportSettings())  # noqa: B039 - a frozen value
"""What a file may be at most, for the import that runs."""


@contextmanager
def limited(limits: ImportSettings) -> Iterator[None]:
    """Read files within these limits during the block."""
    token = LIMITS.set(limits)
    try:
        yield
    finally:
        LIMITS.reset(token)


class Malformed(ValueError):
    """Why one entry of a file cannot be used; readers turn it into a `LineProblem`."""


def parse(text: str) -> object:
    """The value of one JSON text.

    Raises:
        Malformed: it is no JSON, holds NaN or Infinity, or is nested too deeply.
    """
    try:
        return _shallow(text, json.loads(text, parse_constant=_refuse_constant, parse_float=_finite))
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON: {_told(error)} at column {error.colno}") from error
    except RecursionError as error:
        raise Malformed("not usable JSON: nested too deeply") from error
    except Malformed:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise Malformed(f"not usable JSON: {error}") from error


def _shallow(text: str, value: object) -> object:
    deepest = LIMITS.get().max_depth
    if text.count("[") + text.count("{") > deepest and too_deep(value, deepest):
        raise Malformed("not usable JSON: nested too deeply")
    return value


def list_elements(text: TextIO) -> Iterator[object]:
    """The elements of a JSON list, one at a time, so that a file of gigabytes is never held whole.

    Raises:
        Malformed: the text is no JSON list.
    """
    window = _Window(text)
    window.take("[")
    if window.peek() == "]":
        return
    while True:
        yield window.value()
        if window.take(",]") == "]":
            return


def table_rows(text: TextIO) -> Iterator[tuple[str, object]]:
    """The items of a JSON object, one at a time, and of its object `records` of lists each element of each list.

    It is `{"a": 1, "records": {"drawers": [{…}, …], …}}`; the elements come as `records.drawers`.

    Raises:
        Malformed: the text is no such object.
    """
    window = _Window(text)
    window.take("{")
    while True:
        name = window.name()
        if name == "records":
            yield from _lists(window)
        else:
            yield name, window.value()
        if window.take(",}") == "}":
            break
    if window.peek():
        raise Malformed("something follows its end")


def _lists(window: _Window) -> Iterator[tuple[str, object]]:
    window.take("{")
    seen: set[str] = set()
    if window.peek() == "}":
        window.take("}")
        return
    while True:
        name = window.name()
        if name in seen:
            raise Malformed(f"{beginning(name, 40)!r} stands in it twice")
        seen.add(name)
        window.take("[")
        if window.peek() == "]":
            window.take("]")
        else:
            while True:
                yield f"records.{name}", window.value()
                if window.take(",]") == "]":
                    break
        if window.take(",}") == "}":
            return


class _Window:
    """The part of the text that is held: grows until the next element is whole, then moves on."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._longest = LIMITS.get().max_record_bytes
        self._held = ""
        self._at = 0
        self._passed = 0
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            while self._at < len(self._held):
                if not self._held[self._at].isspace():
                    return self._held[self._at]
                self._at += 1
            if not self._grow():
                return ""

    def take(self, allowed: str) -> str:
        """Step over the next character, which must be one of `allowed`."""
        found = self.peek()
        if not found or found not in allowed:
            self._fail(f"expected {' or '.join(allowed)}, found {found or 'the end'}")
        self._at += 1
        return found

    def name(self) -> str:
        """Step over the name of an item of an object, and the colon behind it."""
        found = self.value()
        if not isinstance(found, str):
            self._fail("expected a name")
        self.take(":")
        return found

    def value(self) -> object:
        """Step over the next JSON value."""
        self.peek()
        while True:
            try:
                value, stop = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                fault = self._passed + error.pos  # growing moves what is held
                # Cut off in the middle, perhaps: only the end of the text can tell.
                if len(self._held) - self._at > self._longest or not self._grow():
                    self._fail(_told(error), fault)
            except RecursionError:
                self._fail("nested too deeply")
            except Malformed:
                raise
            except ValueError as error:  # an integer of thousands of digits
                self._fail(f"not usable JSON: {error}")
            else:
                return self._passed_over(value, stop)

    def _passed_over(self, value: object, stop: int) -> object:
        deepest = LIMITS.get().max_depth
        opened = self._held.count("[", self._at, stop) + self._held.count("{", self._at, stop)
        if opened > deepest and too_deep(value, deepest):
            self._fail("nested too deeply")
        if stop - self._at > self._longest:
            self._fail(f"a record of more than {self._longest:,} characters")
        self._at = stop
        return value

    def _grow(self) -> bool:
        chunk = self._text.read(max(_CHUNK, len(self._held) - self._at))
        self._passed += self._at
        self._held, self._at = self._held[self._at :] + chunk, 0
        return bool(chunk)

    def _fail(self, reason: str, fault: int | None = None) -> NoReturn:
        """Say what is wrong and where in the text: at `fault`, counted from 0, else where the window is."""
        place = self._passed + self._at if fault is None else fault
        raise Malformed(f"{reason} at character {place + 1}")


def _told(error: json.JSONDecodeError) -> str:
    """What is wrong, without the "at" that some messages end with."""
    return error.msg.removesuffix(" at").removesuffix(" starting")


def _finite(told: str) -> float:
    found = float(told)
    if not isfinite(found):
        raise Malformed(f"not usable JSON: {told[:40]} is too large a number")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise Malformed(f"not JSON: {name} is no number")


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 65_536
_OBJECT = re.compile(rb'^[ \t]*+\{\s*+"', re.MULTILINE)


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


_WAY_OUT = "Check the path and --format: `langmem-tiers import --help` names the formats."


def unreadable(path: Path, expected: str, reason: str, *, way_out: str | None = None) -> UnreadableFile:
    """The error that names the file, what was expected of it, and what is wrong."""
    return UnreadableFile(f"{path} cannot be read as {expected}: {reason.rstrip('.')}.", way_out=way_out or _WAY_OUT)


def head(path: Path, expected: str) -> str:
    """The first 64 KB of a text file.

    Where a line of it begins a JSON object, a NUL is a fault of its line or record, which is found when that is read.

    Raises:
        UnreadableFile: as `reading`, or the file is binary.
    """
    with reading(path, expected) as stream:
        start = stream.read(_HEAD_BYTES)
    if b"\0" in start and not _OBJECT.search(start):
        raise unreadable(path, expected, "it is a binary file")
    return start.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace")


def json_lines(stream: IO[bytes], limit: int) -> Iterator[tuple[int, object | LineProblem]]:
    """The value of each line that is not blank, with its number from 1; a problem where it cannot be read.

    A line over `limit` bytes is one of these, and never held whole.
    """
    for number in count(1):
        line = stream.readline(limit + 1)
        if not line:
            return
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if len(line) > limit and not line.endswith(b"\n"):
            while (rest := stream.readline(limit)) and not rest.endswith(b"\n"):
                pass
            yield number, LineProblem(line=number, reason=f"the line is longer than {limit:,} bytes", unit="line")
            continue
        try:
            if line.strip():
                yield number, parse(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield number, LineProblem(line=number, reason=f"not UTF-8 at byte {error.start + 1}", unit="line")
        except Malformed as error:
            yield number, LineProblem(line=number, reason=str(error), unit="line")


def _opened(path: Path) -> IO[bytes]:
    if path.exists() and not path.is_file():
        raise OSError("it is no regular file")  # a pipe could be read only once, and its format is looked at first
    zipped = begins_with(path, b"\x1f\x8b")
    return cast("IO[bytes]", gzip.open(path)) if zipped else path.open("rb")


def begins_with(path: Path, magic: bytes) -> bool:
    """Whether it is a file that begins with these bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(magic)) == magic


_LINE_BYTES = 1 << 28


def entries(path: Path, expected: str) -> Iterator[tuple[int, object | LineProblem]]:
    """Each entry with its position (or line) from 1; a JSONL line that cannot be parsed is a problem.

    Raises:
        UnreadableFile: the file cannot be read, or is neither.
    """
    start = head(path, expected).lstrip()[:1]
    if start not in ("[", "{"):
        raise unreadable(path, expected, "it begins with neither a JSON list nor a JSON object")
    with reading(path, expected) as stream:
        yield from list_entries(path, expected, stream) if start == "[" else json_lines(stream, _LINE_BYTES)


def list_entries(path: Path, expected: str, stream: IO[bytes]) -> Iterator[tuple[int, object]]:
    """Each element of a JSON list with its position from 1.

    Raises:
        UnreadableFile: it is none; what came before is given, and counted in the way out.
    """
    position = 0
    try:
        with TextIOWrapper(stream, encoding="utf-8-sig") as text:
            for position, element in enumerate(list_elements(text), 1):
                yield position, element
    except (Malformed, UnicodeDecodeError) as error:
        before = f"Repair the file: {position} entries before were read, and importing them again stores nothing twice."
        way_out = before if position else None
        raise unreadable(path, expected, str(error), way_out=way_out) from error


CONVERSATIONS = re.compile(r"/conversations(-\d+)?\.json$")
# JSON shrinks to a tenth, seldom to a thirtieth; what shrinks far more, and is not small, was made to fill a disk.
_SMALL = 64 << 20
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

    def conversations(self) -> tuple[str, ...]:
        """The members that hold conversations: those of that name, or the only one there is."""
        alone = self.path.is_file() and len(self.members) == 1
        return self.members if alone else self.named(CONVERSATIONS)

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
            return
        member, limits = self._zip.getinfo(name), LIMITS.get()  # more than it says is never unpacked
        grows = member.file_size > max(_SMALL, limits.max_ratio * member.compress_size)
        if member.file_size > limits.max_unpacked_bytes or grows:
            reason = f"{name} would unpack to {member.file_size:,} bytes from {member.compress_size:,}"
            raise unreadable(self.path, self._expected, reason, way_out="Unpack it yourself, if you trust it.")
        try:
            packed = self._zip.open(member)
        except (OSError, ValueError) as error:  # it is said to begin where no file can
            raise unreadable(self.path, self._expected, f"{name}: {error}") from error
        with packed:
            yield packed


def is_zip(path: Path) -> bool:
    """Whether a file begins like a zip file."""
    return begins_with(path, b"PK\x03\x04")


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
    if reason := _excess(opened, path.stat().st_size):
        opened.close()
        raise unreadable(path, expected, reason)
    return opened


def _excess(opened: zipfile.ZipFile, size: int) -> str:
    """In which way a zip file was made to fill the memory or the disk; empty if in none."""
    members, limits = opened.infolist(), LIMITS.get()
    if len(members) > limits.max_files:
        return f"it holds more than {limits.max_files:,} files"
    if sum(each.file_size for each in members) > limits.max_unpacked_bytes:
        return f"it would unpack to more than {limits.max_unpacked_bytes:,} bytes"
    if sum(each.compress_size for each in members) > size:
        return "its files overlap each other"
    return ""


def require_bounded(path: Path, expected: str) -> None:
    """Refuse a file or folder that is larger than an import may be.

    Raises:
        UnreadableFile: it is; the limits are settings (`Settings.imports`).
    """
    limits, files, size = LIMITS.get(), 0, 0
    try:
        for each in _sizes(path):
            files, size = files + 1, size + each
            if files > limits.max_files:
                raise unreadable(path, expected, f"it holds more than {limits.max_files:,} files", way_out=_RAISE)
            if size > limits.max_bytes:
                raise unreadable(path, expected, f"it has more than {limits.max_bytes:,} bytes", way_out=_RAISE)
    except OSError as error:
        raise unreadable(path, expected, error.strerror or str(error)) from error
    if begins_with(path, b"\x1f\x8b"):
        _require_small_inside(path, expected, max(_SMALL, limits.max_ratio * size), limits.max_unpacked_bytes)


_RAISE = "Split it, or raise the limit: `Settings.imports`."


def _sizes(path: Path) -> Iterator[int]:
    """The sizes of the files of a folder, without following links; that of a file. Nothing else may be in a folder.

    Raises:
        OSError: a pipe, a socket or a device is in it: reading one may never end.
    """
    if not path.is_dir():
        if path.is_file():
            yield path.stat().st_size
        return
    for folder, _, names in os.walk(path):
        for name in names:
            told = os.lstat(Path(folder) / name)
            if not (stat.S_ISREG(told.st_mode) or stat.S_ISLNK(told.st_mode)):
                raise OSError(f"{name!r} is no regular file")
            yield told.st_size


def _require_small_inside(path: Path, expected: str, shrunk: int, largest: int) -> None:
    size = 0
    with reading(path, expected) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > min(shrunk, largest):
                raise unreadable(path, expected, f"it unpacks to more than {size:,} bytes", way_out=_RAISE)
