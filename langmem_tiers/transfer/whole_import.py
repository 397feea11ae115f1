"""Importing the JSON of a whole space: checked row by row in a database of its own, then taken over in one transaction.

Into an empty space it is taken over as it is, and the two are equal by their fingerprint. Into any other, what is there
stays, and what is new is added under new numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.content import content_hash
from langmem_tiers.errors import DatabaseDamaged, InvalidInput, NewerSchema
from langmem_tiers.json_bounds import DEEPEST, too_deep
from langmem_tiers.knowledge import document_text
from langmem_tiers.records import EntryStatus, RelationKind, TaskStatus
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage import dump
from langmem_tiers.storage.migrations import MIGRATIONS, migrate
from langmem_tiers.storage.sqlite_file import SqliteFile
from langmem_tiers.transfer.entry_files import file_of
from langmem_tiers.transfer.files import Malformed, require_bounded, unreadable
from langmem_tiers.transfer.whole_file import EXPECTED, VERSION, Reader, fingerprint
from langmem_tiers.transfer.whole_merge import Merge
from langmem_tiers.types import Origin, Role
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

_AT_ONCE = 500
_MOST = 2**63 - 1
_LONGEST_TEXT = 64 << 20
# Milliseconds of the years 1 and 9999.
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999
_MOMENTS = frozenset({"at", "until", "valid_from", "valid_to", "stated_to", "first_seen", "last_seen"})
_VALUES: Mapping[tuple[str, str], frozenset[str]] = {
    ("drawers", "role"): frozenset(get_args(Role)),
    ("drawers", "origin"): frozenset(get_args(Origin)),
    ("entries", "status"): frozenset(get_args(EntryStatus)),
    ("entries", "origin"): frozenset(get_args(Origin)),
    ("entities", "origin"): frozenset(get_args(Origin)),
    ("relations", "origin"): frozenset(get_args(Origin)),
    ("relations", "kind"): frozenset(get_args(RelationKind)),
    ("tasks", "status"): frozenset(get_args(TaskStatus)),
}
_JSON: Mapping[tuple[str, str], type] = {
    ("entries", "metadata"): dict,
    ("entities", "metadata"): dict,
    ("store_items", "value"): dict,
    ("working_entries", "cuts"): list,
    ("activities", "body"): dict,
    ("dreams", "report"): dict,
    ("changesets", "key"): dict,
    ("proposals", "body"): dict,
    ("receipts", "body"): dict,
    ("receipts", "shown"): list,
}
# What is stored without a word in the log of changes.
_UNLOGGED = frozenset({"dreams", "golden_questions", "feedback_signals", "receipts", "activities", "usages"})


class Staged:
    """The rows of an export in a database of their own, all of them checked."""

    def __init__(self, database: SqliteFile, reader: Reader) -> None:
        self.database = database
        self.head = reader.head
        self.counts = reader.counts


@contextmanager
def staged(path: Path) -> Iterator[Staged]:
    """Read an export into a database in a temporary folder.

    Raises:
        UnreadableFile: it is no export, or cannot be used; nothing was stored.
        NewerSchema: a newer version wrote it.
    """
    require_bounded(path, EXPECTED)
    reader = Reader(path)
    with TemporaryDirectory(prefix="langmem-tiers-") as folder:
        database = SqliteFile(Path(folder) / "memory.db", StorageSettings(synchronous="NORMAL"))
        try:
            migrate(database)
            try:
                _fill(database, reader)
            except (Malformed, DatabaseDamaged) as error:
                reason = error.message if isinstance(error, DatabaseDamaged) else str(error)
                raise unreadable(path, EXPECTED, _plain(reason)) from error
            yield Staged(database, reader)
        finally:
            database.close()


def _plain(reason: str) -> str:
    return "two of its records have the same key" if "contradict" in reason or "UNIQUE" in reason else reason


def _fill(database: SqliteFile, reader: Reader) -> None:
    with database.writing() as connection:
        table, held = "", list[dump.Row]()
        for name, row in reader.rows():
            if name != table or len(held) >= _AT_ONCE:
                _store(connection, database.space, table, held)
                table, held = name, []
                _require_known(reader.head, name)
            held.append(_checked(name, row))
        _store(connection, database.space, table, held)
        _require_head(reader.head)
        if loose := dump.loose(connection, database.space):
            raise Malformed(loose)
        dump.count_on(connection, database.space)


def _store(connection: Connection, space: str, table: str, rows: list[dump.Row]) -> None:
    if rows:
        dump.add(connection, space, table, rows)


def _require_known(head: Mapping[str, Any], table: str) -> None:
    """Check what an export says of itself before its records are read."""
    _require_head(head)
    if table not in dump.TABLES:
        raise Malformed(f"it has records of an unknown kind, {beginning(table, 40)!r}")


def _require_head(head: Mapping[str, Any]) -> None:
    for name, most in (("version", VERSION), ("schema", len(MIGRATIONS))):
        told = head.get(name)
        if isinstance(told, bool) or not isinstance(told, int) or told < 1:
            raise Malformed(f"it does not say its {name} before its records")
        if told > most:
            raise NewerSchema(f"The export has {name} {told}; this version reads up to {most}.")
    if head.get("format") is None or not isinstance(head.get("space"), str):
        raise Malformed("it does not say its format and its space before its records")


# One row.


def _checked(table: str, row: object) -> dump.Row:
    """A row with every column, of the right type and in its range.

    Raises:
        Malformed: it is not.
    """
    if not isinstance(row, dict):
        raise Malformed(f"one of its {table} is no object")
    columns = dump.columns_of(table)
    if odd := row.keys() - {column.name for column in columns}:
        raise Malformed(f"{table} have no {beginning(min(odd), 40)!r}")
    made = {column.name: _value(table, column, row.get(column.name)) for column in columns}
    if "content_hash" in made and "content" in made and made["content_hash"] != content_hash(made["content"]):
        raise Malformed(f"the hash of {table} {made.get('number')} is not that of its content")
    _require_names(table, made)
    return made


def _require_names(table: str, row: dump.Row) -> None:
    """Check what becomes the name of a file or folder when the space is exported or synced."""
    try:
        if table == "entries":
            file_of(row["id"], row["category"])
        elif table == "documents":
            document_text.clean_path(row["path"])
    except InvalidInput as error:
        raise Malformed(error.message) from error


def _value(table: str, column: dump.ColumnFacts, told: object) -> Any:
    where = f"{table}.{column.name}"
    if told is None:
        return _absent(column, where)
    if column.kind == "bytes":
        return _bytes(told, where)
    if column.kind == "text":
        return _text(table, column.name, told, where)
    if isinstance(told, bool) or not isinstance(told, int) or not -_MOST <= told <= _MOST:
        raise Malformed(f"{where} is no whole number of 64 bits")
    moment = column.name.endswith("_at") or column.name in _MOMENTS
    if moment and column.kind == "big" and table != "changes" and not _FIRST <= told <= _LAST:
        raise Malformed(f"{where} is no moment between the years 1 and 9999")
    if column.name in {"number", "place"} and told < 1:
        raise Malformed(f"{where} is {told}, and counts from 1")
    return told


def _absent(column: dump.ColumnFacts, where: str) -> Any:
    if column.nullable:
        return None
    if column.default is None:
        raise Malformed(f"{where} is missing")
    return column.default


def _bytes(told: object, where: str) -> bytes:
    try:
        found = bytes.fromhex(told) if isinstance(told, str) else b""
    except ValueError:
        found = b""
    if not found or len(found) > _LONGEST_TEXT:
        raise Malformed(f"{where} is no bytes in hexadecimal")
    return found


def _text(table: str, name: str, told: object, where: str) -> str:
    if not isinstance(told, str) or len(told) > _LONGEST_TEXT:
        raise Malformed(f"{where} is no text, or a very long one")
    try:
        told.encode()
    except UnicodeEncodeError:
        raise Malformed(f"{where} holds a lone surrogate") from None
    if (allowed := _VALUES.get((table, name))) and told not in allowed:
        raise Malformed(f"{where} is {beginning(told, 40)!r}")
    if kind := _JSON.get((table, name)):
        _require_json(told, kind, where)
    return told


def _require_json(told: str, kind: type, where: str) -> None:
    try:
        found = json.loads(told, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind) or too_deep(found, DEEPEST):
        raise Malformed(f"{where} is no JSON of the right kind, or nested too deeply")


def _finite(told: str) -> float:
    found = float(told)
    if not math.isfinite(found):
        raise ValueError(told)
    return found


# Into the space.


class Taken:
    """What became of an export: rows stored and known by table, what was left behind, and whether it is identical."""

    def __init__(self) -> None:
        self.read: dict[str, int] = {}
        self.stored: dict[str, int] = {}
        self.left_behind: dict[str, int] = {}
        self.identical = False


def take_over(context: SpaceContext, found: Staged) -> Taken:
    """Take a staged export into a space, in one transaction.

    Raises:
        StorageError: nothing was stored.
    """
    taken = Taken()
    taken.read = dict(found.counts)
    with (
        context.open() as store,
        found.database.reading() as source,
        store.writing() as connection,
    ):
        if fingerprint(connection, store.key) == (told := fingerprint(source, found.database.space)):
            taken.identical = True
        elif _is_followed(found.counts) and dump.is_empty(connection, store.key):
            _copy(source, found, connection, store.key)
            taken.stored = dict(found.counts)
            taken.identical = fingerprint(connection, store.key) == told
        else:
            now = to_millis(context.clock())
            merge = Merge(source, found.database.space, connection, store.key, context.settings, now)
            taken.stored, taken.left_behind = merge.run()
    context.wake()
    return taken


def _is_followed(counts: Mapping[str, int]) -> bool:
    """Whether an export has the log that search indexes follow, or nothing that they take from it."""
    return bool(counts.get("changes")) or not any(counts.get(name) for name in dump.RECORDS if name not in _UNLOGGED)


def _copy(source: Connection, found: Staged, connection: Connection, space: str) -> None:
    dump.clear(connection, space)
    for name in dump.TABLES:
        if found.counts.get(name) or name == "facts":
            held: list[dump.Row] = []
            for row in dump.rows(source, found.database.space, name):
                held.append(row)
                if len(held) >= _AT_ONCE:
                    dump.add(connection, space, name, held)
                    held = []
            dump.add(connection, space, name, held)
    dump.index(connection, space)
