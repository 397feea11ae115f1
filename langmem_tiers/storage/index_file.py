"""The file that the in-memory index of a space is mapped from: the facts and vectors of its drawers, as plain arrays.

Without it, opening a space reads every vector and the facts of every drawer from the database. It is written by the
background, each time as a whole, and may be deleted at any time. Who maps it follows the change log from its position.

A file is believed only if the database names it by its token, which every writing makes anew: neither a copy from
another memory, nor one from before a restore is. Its head and its arrays are checked when they are mapped, the large
matrix of vectors row by row when a row is first used.
"""

from __future__ import annotations

import logging
import mmap
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import uuid4

import numpy as np
import orjson
from numpy.typing import DTypeLike, NDArray
from sqlalchemy import Connection

from langmem_tiers import private_files
from langmem_tiers.storage import change_log, facts, purging
from langmem_tiers.storage.change_log import Kind, Moment
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

_FORMAT = f"langmem-tiers index 1 {sys.byteorder}"
_PATTERN = "index-*.bin"
_TOKEN = "index_file:"
# Bytes of the head, and what every array begins at a multiple of.
_HEAD = 4096
_DIGEST = 16
_KINDS: frozenset[Kind] = frozenset({"drawers.added", "drawers.embedded", *change_log.OUT_OF_INDEX})
# A file that lacks fewer changes than this, or than one in so many drawers, is left as it is: the work of writing it
# stays a constant for each drawer, and what has to be read from the database stays short.
_LEAST = 256
_SHARE = 20
# Vectors that are compared with their checksums at a time.
_STRIDE = 10_000


class UnusableIndexFile(ValueError):
    """The index cannot be mapped from this file; the message says why. It is then read from the records."""


class WritingStopped(Exception):
    """A file was not finished, since the background is to stop."""


class _Seen(NamedTuple):
    """Up to which position the log was looked through, and how many changes until there the file of a token lacks."""

    token: str | None
    upto: int
    lacking: int


class IndexFile:
    """The file of one space and embedding model, None for keywords only."""

    def __init__(self, folder: Path, database: Database, model: str | None) -> None:
        digest = blake2b((model or "").encode(), digest_size=6).hexdigest()
        self.path = folder / _PATTERN.replace("*", digest)
        self._model = model
        self._token = f"{_TOKEN}{digest}"
        self._database = database
        self._space = database.space
        self.refused = False
        self._seen = _Seen(None, 0, 0)

    def mapped(self, moment: Moment) -> MappedIndex | None:
        """The file, if it is there and belongs to these records; a warning says why it is not used.

        It may be newer than the moment.
        """
        if self.refused:
            return None
        try:
            return self.require_usable(moment.connection)
        except UnusableIndexFile as error:
            self.refuse(str(error))
            return None

    def refuse(self, reason: str) -> None:
        """Use the file no more: the background writes another one."""
        say(log, logging.WARNING, "index_file_refused", file=self.path, reason=reason)
        self.refused = True

    def require_usable(self, connection: Connection) -> MappedIndex | None:
        """The file, None if there is none.

        Raises:
            UnusableIndexFile: it is damaged, or belongs to other records.
        """
        try:
            found = MappedIndex(self.path)
        except FileNotFoundError:
            return None
        except UnusableIndexFile:
            raise
        except (OSError, ValueError) as error:
            raise UnusableIndexFile(f"it cannot be read ({error})") from error
        token = facts.get(connection, self._space, self._token)
        if found.token != token:  # another process may have written it since this connection began to read
            with self._database.reading() as fresh:
                token = facts.get(fresh, self._space, self._token)
        if found.token != token or found.head["model"] != self._model:
            raise UnusableIndexFile("it was made from other records")
        return found

    def check(self, *, deep: bool) -> int | None:
        """Compare the file with its checksums, with every vector if `deep`; returns up to which drawer it goes.

        None if there is no file.

        Raises:
            UnusableIndexFile: it is damaged, or belongs to other records.
        """
        with self._database.reading() as connection:
            found = self.require_usable(connection)
        if found is None:
            return None
        for name in found.head["arrays"]:
            array = found.array(name)
            if name == "matrix" and deep and len(array):
                for start in range(0, len(array), _STRIDE):
                    some = slice(start, start + _STRIDE)
                    if (sums_of(array[some]) != found.array("sums")[some]).any():
                        raise UnusableIndexFile("its vectors are damaged")
        return int(found.head["drawers"])

    def is_behind(self, connection: Connection) -> bool:
        """Whether it lacks so much, or cannot be used, that it should be written."""
        known = None
        with suppress(UnusableIndexFile):
            known = None if self.refused else self.require_usable(connection)
        token, position, held = (known.token, known.position, known.head["drawers"]) if known else (None, 0, 0)
        if token != self._seen.token:
            self._seen = _Seen(token, position, 0)
        now, lacking = change_log.moment(connection, self._space), self._seen.lacking
        for each in change_log.follow(now, self._space, after=self._seen.upto, kinds=_KINDS):
            lacking += 1 if each.kind in change_log.OUT_OF_INDEX else each.until - each.subject + 1
        self._seen = _Seen(token, now.head, lacking)
        return lacking >= max(_LEAST, held // _SHARE)

    @contextmanager
    def writing(self, moment: Moment, drawers: int, stop: Callable[[], bool]) -> Iterator[IndexWriter]:
        """Arrays for a new file at this moment, which takes the place of the old one at the end of the block.

        It does not if something was deleted meanwhile, which it may still hold.

        Raises:
            WritingStopped: `stop` said so; the old one is as it was.
            StorageError: it cannot be written; the same.
        """
        fresh = self.path.with_name(f".{self.path.name}.{uuid4().hex}")
        purged = purging.wanted(moment.connection, self._space)
        token = uuid4().hex
        head = {"token": token, "model": self._model, "position": moment.head, "drawers": drawers}
        with translated(self.path):
            private_files.drop_abandoned(self.path)
            try:
                with private_files.create(fresh) as file:
                    writer = IndexWriter(file, stop)
                    yield writer
                    writer.finish(head)
                # The place of the file and its token change together, whoever else writes.
                with self._database.writing(durable=False) as connection:
                    if purging.wanted(connection, self._space) == purged:
                        facts.put(connection, self._space, self._token, token)
                        fresh.replace(self.path)
                        self.refused = False
                private_files.sync_folder(self.path.parent)
            finally:
                fresh.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the files of all models, also those that a process is about to write.

        Raises:
            StorageError: one cannot be deleted.
        """
        with translated(self.path):
            for file in (*files(self.path.parent), *self.path.parent.glob(f".{_PATTERN}.*")):
                file.unlink(missing_ok=True)


def files(space: Path) -> list[Path]:
    """The index files of a space, those of all models."""
    return sorted(space.glob(_PATTERN))


class IndexWriter:
    """Writes arrays one after the other; the head comes last, so that no unfinished file has one."""

    def __init__(self, file: IO[bytes], stop: Callable[[], bool]) -> None:
        self._file = file
        self._stop = stop
        self._arrays: dict[str, dict[str, Any]] = {}
        file.write(bytes(_HEAD))

    def put(self, name: str, parts: NDArray[Any] | Iterable[NDArray[Any]], *, checked: bool = True) -> None:
        """Write an array, or its parts; one that is not `checked` as a whole is the reader's to check."""
        self._file.seek(-(-self._file.tell() // _HEAD) * _HEAD)
        start, checksum, rows = self._file.tell(), 0, 0
        kind, width = np.dtype(np.uint8), ()
        for part in (parts,) if isinstance(parts, np.ndarray) else parts:
            if self._stop():
                raise WritingStopped
            held = np.ascontiguousarray(part)
            self._file.write(_plain(held))
            checksum = zlib.crc32(_plain(held), checksum) if checked else 0
            rows, kind, width = rows + len(held), held.dtype, held.shape[1:]
        self._arrays[name] = {
            "start": start,
            "shape": [rows, *width],
            "type": np.lib.format.dtype_to_descr(kind),
            "checksum": checksum if checked else None,
        }

    def finish(self, head: Mapping[str, Any]) -> None:
        """Write the head, and have the disk keep all of it."""
        size = self._file.truncate()  # an empty array at the end only moved the place
        written = orjson.dumps({"format": _FORMAT, **head, "arrays": self._arrays, "size": size})
        self._file.seek(0)
        self._file.write(_digest(written) + written.ljust(_HEAD - _DIGEST))
        self._file.flush()
        os.fsync(self._file.fileno())


class MappedIndex:
    """The arrays of a file. They may be changed: the file stays as it is."""

    def __init__(self, path: Path) -> None:
        """Map a file.

        Raises:
            UnusableIndexFile: it is damaged, or of another version.
            OSError: it is not there, or cannot be read.
        """
        with private_files.open_carefully(path) as file:
            size = os.fstat(file.fileno()).st_size
            self.head = _head(file.read(_HEAD), size)
            # Where a mapped file cannot be deleted, it is read.
            if os.name == "posix":
                self._bytes: Any = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
            else:
                file.seek(0)
                self._bytes = bytearray(file.read())
        self.token: str = self.head["token"]
        self.position: int = self.head["position"]

    def has(self, name: str) -> bool:
        """Whether it has an array of this name."""
        return name in self.head["arrays"]

    def array(self, name: str, kind: DTypeLike | None = None) -> NDArray[Any]:
        """An array by its name, checked if it has a checksum; `kind` is its type if that is known.

        Raises:
            UnusableIndexFile: it is damaged, or not there.
        """
        try:
            told = self.head["arrays"][name]
            dtype = np.dtype([tuple(each) for each in told["type"]] if isinstance(told["type"], list) else told["type"])
            count = int(np.prod(told["shape"]))
            found = np.frombuffer(self._bytes, dtype, count, told["start"]).reshape(told["shape"])
        except (KeyError, ValueError, TypeError) as error:
            raise UnusableIndexFile(f"its {name} cannot be read ({error})") from error
        if kind is not None and dtype != kind:
            raise UnusableIndexFile(f"its {name} are of another version")
        if told["checksum"] not in (None, zlib.crc32(_plain(found))):
            raise UnusableIndexFile(f"its {name} are damaged")
        return found


def sums_of(vectors: NDArray[Any]) -> NDArray[np.uint64]:
    """A checksum of each vector: the sum of its bytes, two by two."""
    sums: NDArray[np.uint64] = vectors.view(np.uint16).sum(axis=1, dtype=np.uint64)
    return sums


def _plain(array: NDArray[Any]) -> memoryview:
    """The bytes of an array."""
    return array.reshape(-1).view(np.uint8).data


def _head(written: bytes, size: int) -> dict[str, Any]:
    head = written[_DIGEST:].rstrip()
    if len(written) < _HEAD or written[:_DIGEST] != _digest(head):
        raise UnusableIndexFile("its head is damaged")
    known: dict[str, Any] = orjson.loads(head)
    if known["format"] != _FORMAT:
        raise UnusableIndexFile("it is of another version")
    if known["size"] != size:
        raise UnusableIndexFile("it is cut off")
    return known


def _digest(head: bytes) -> bytes:
    return blake2b(head, digest_size=_DIGEST).digest()
