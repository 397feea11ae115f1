"""The JSON file of a whole space: its format, and how its rows are written and read one at a time.

docs/export.md describes it. Each record stands on its own line, so that line tools and `jq` can be used on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

import orjson
from sqlalchemy import Connection

from langmem_tiers.storage import dump
from langmem_tiers.storage.migrations import MIGRATIONS
from langmem_tiers.transfer.files import LIMITS, Malformed, reading, table_rows, unreadable
from langmem_tiers.version import __version__
from langmem_tiers.wording import beginning

FORMAT = "langmem-tiers"
VERSION = 1
EXPECTED = "an export of a whole space"
_MOST_HEADER = 10_000


class Fingerprint:
    """The hash of all records of a space, as they come: equal for equal memories, whatever was derived from them."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=32)
        self._records = {*dump.RECORDS}
        self._table = ""

    def add(self, table: str, line: bytes) -> None:
        """Add a row as it is written; the tables come one after the other."""
        if table not in self._records:
            return
        if table != self._table:
            self._table = table
            self._hash.update(f"\n{table}\n".encode())
        self._hash.update(line)
        self._hash.update(b"\n")

    @property
    def hex(self) -> str:
        """The hash so far."""
        return self._hash.hexdigest()


def line_of(row: dump.Row) -> bytes:
    """A row as its line: sorted by name, bytes in hexadecimal, without what is null."""
    told = {
        name: value.hex() if isinstance(value, bytes) else value for name, value in row.items() if value is not None
    }
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS)


def fingerprint(connection: Connection, space: str) -> str:
    """The fingerprint of the records of a space."""
    told = Fingerprint()
    for table in dump.RECORDS:
        for row in dump.rows(connection, space, table):
            told.add(table, line_of(row))
    return told.hex


def write(
    stream: IO[bytes], connection: Connection, space: str, *, name: str, at: datetime, vectors: bool
) -> tuple[dict[str, int], str]:
    """Write all records of a space, seen by one connection at one moment. Returns the counts and the fingerprint."""
    tables = (*dump.RECORDS, *dump.DERIVED, *((dump.VECTORS,) if vectors else ()))
    counts: dict[str, int] = {}
    told, whole = Fingerprint(), hashlib.blake2b(digest_size=32)
    head = {
        **{"format": FORMAT, "version": VERSION, "schema": len(MIGRATIONS), "package": __version__},
        **{"exported_at": at.isoformat(), "space": name, "vectors": vectors},
    }
    stream.write(json.dumps(head)[:-1].encode() + b',\n"records": {')
    for place, table in enumerate(tables):
        stream.write(f'{"," if place else ""}\n"{table}": ['.encode())
        counts[table] = 0
        for row in dump.rows(connection, space, table, vectors=vectors):
            line = line_of(row)
            stream.write((b",\n" if counts[table] else b"\n") + line)
            told.add(table, line)
            whole.update(line)
            counts[table] += 1
        stream.write(b"]")
    tail = {"counts": counts, "fingerprint": told.hex, "checksum": whole.hexdigest()}
    stream.write(b"},\n" + json.dumps(tail)[1:].encode() + b"\n")
    return counts, told.hex


class Reader:
    """Reads the rows of an export; at the end of `rows`, `head` has all that stands beside them, and it was checked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = LIMITS.get().max_records
        self.head: dict[str, Any] = {}
        self.counts: dict[str, int] = {}

    def rows(self) -> Iterator[tuple[str, object]]:
        """Each record with the name of its table.

        Raises:
            UnreadableFile: it is no such export, is damaged, or was changed and its checksum was left in it.
        """
        whole, told, read = hashlib.blake2b(digest_size=32), Fingerprint(), 0
        try:
            with reading(self._path, EXPECTED) as stream, TextIOWrapper(stream, encoding="utf-8-sig") as text:
                for name, row in table_rows(text):
                    if not name.startswith("records."):
                        self._note(name, row)
                        continue
                    table = name.removeprefix("records.")
                    read += 1
                    self._require_few(read)
                    line = _line(row)
                    whole.update(line)
                    told.add(table, line)
                    self.counts[table] = self.counts.get(table, 0) + 1
                    yield table, row
            self._require_whole(whole.hexdigest(), told.hex)
        except (Malformed, UnicodeDecodeError) as error:
            raise unreadable(self._path, EXPECTED, str(error)) from error

    def _require_few(self, read: int) -> None:
        if read > self._most:
            raise Malformed(f"it holds more than {self._most:,} records")

    def _note(self, name: str, value: object) -> None:
        if name in self.head or len(self.head) > _MOST_HEADER:
            raise Malformed(f"{beginning(name, 40)!r} stands in it twice")
        self.head[name] = value
        if name == "format" and value != FORMAT:
            raise Malformed(f"it does not say that its format is {FORMAT}")

    def _require_whole(self, whole: str, told: str) -> None:
        """Check what stands at the end: a file that was cut off has no end."""
        counts = self.head.get("counts")
        if not isinstance(counts, dict) or {name: n for name, n in counts.items() if n} != self.counts:
            raise Malformed("it does not hold as many records as it says")
        if "checksum" in self.head and self.head["checksum"] != whole:
            raise Malformed(
                "its records do not fit its checksum: it was damaged or changed; if it was changed on purpose, remove "
                "its fields 'checksum' and 'fingerprint'"
            )
        if "fingerprint" in self.head and self.head["fingerprint"] != told:
            raise Malformed("its records do not fit its fingerprint")


def _line(row: object) -> bytes:
    try:
        return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError) as error:
        raise Malformed(f"a record cannot be used: {error}") from error
