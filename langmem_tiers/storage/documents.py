"""Documents and their searchable pieces. Their bytes are stored as text: if they are no UTF-8, as base64."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.records import Document, DocumentSummary, Encoding
from langmem_tiers.storage import change_log, notes, tombstones
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.schema import documents
from langmem_tiers.storage.statements import Prepared, here, listed, put_row
from langmem_tiers.types import Origin

# Stands before bytes that are no text.
_MARK = "data:application/octet-stream;base64,"
_MARKDOWN = (".md", ".markdown")


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDocument:
    """A document to be written: its form, and the pieces to search."""

    path: str
    content: str
    pieces: Sequence[NoteText]
    origin: Origin


class Written(NamedTuple):
    """When a document was last written, and whether some of it comes from a tool's result."""

    at: datetime
    from_tool: bool


class _Row(NamedTuple):
    path: str
    content: str
    origin: Origin
    version: int
    updated_at: int


DOCUMENT = tuple(documents.c[name] for name in _Row._fields)
"""As part of a statement: the columns that `of_rows` reads documents from."""
_AT_PATHS = Prepared(select(*DOCUMENT).where(*here(documents), listed(documents.c.path)))
_WHEN = (documents.c.path, documents.c.updated_at, documents.c.origin)
_WRITTEN = Prepared(select(*_WHEN).where(*here(documents), listed(documents.c.path)))


def read(connection: Connection, space: str, path: str) -> Document | None:
    """A document, None if there is none."""
    return read_several(connection, space, [path]).get(path)


def read_several(connection: Connection, space: str, paths: Sequence[str]) -> dict[str, Document]:
    """Those of these documents that there are, by path."""
    return of_rows(_AT_PATHS.among(connection, paths, space=space))


def of_rows(rows: Iterable[Sequence[Any]]) -> dict[str, Document]:
    """The documents in some rows, by path."""
    found = {}
    for row in map(_Row._make, rows):
        content, encoding = decoded(row.content)
        found[row.path] = Document(content=content, encoding=encoding, **_described(row, row.content))
    return found


def put(connection: Connection, space: str, new: NewDocument, at: int) -> Document:
    """Write a document; its pieces can be found by keyword right away."""
    tombstones.lift(connection, space, "document", {content_hash(new.path)})
    # The log only grows, so no version number is reused, even if a document is deleted and written again.
    version = change_log.append(connection, space, "document.changed", None, at=at)
    values = {"content": new.content, "origin": new.origin, "version": version, "updated_at": at}
    put_row(connection, documents, space, {"path": new.path}, values)
    gone = notes.put(connection, space, "document", new.path, new.pieces, at)
    notes.forget_vectors(connection, space, gone)
    stored = read(connection, space, new.path)
    assert stored is not None
    return stored


def drop(connection: Connection, space: str, path: str, at: int) -> None:
    """Delete a document with its pieces, their words and vectors; its tombstone keeps imports off its path."""
    tombstones.put(connection, space, "document", {content_hash(path)}, at)
    connection.execute(delete(documents).where(*here(documents, space, path=path)))
    change_log.append(connection, space, "document.changed", None, at=at)
    notes.forget_texts(connection, space, notes.drop(connection, space, "document", path, at))


def written(connection: Connection, space: str, paths: Collection[str]) -> dict[str, Written]:
    """When each of these documents was last written, and where its text comes from."""
    rows = _WRITTEN.among(connection, paths, space=space)
    return {path: Written(from_millis(at), origin == "tool") for path, at, origin in rows}


def was_deleted(connection: Connection, space: str, path: str) -> bool:
    """Whether the document at a path was deleted and not written again since."""
    return bool(tombstones.among(connection, space, "document", {content_hash(path)}))


def summaries(connection: Connection, space: str, prefix: str) -> list[DocumentSummary]:
    """Summaries of the documents under a path prefix, ordered by path."""
    content = documents.c.content
    columns = (
        documents.c.path,
        documents.c.origin,
        documents.c.version,
        documents.c.updated_at,
        func.size_of(content).label("length"),
        func.substr(content, 1, len(_MARK)).label("head"),
        func.ending(content, 2).label("tail"),
    )
    these = (*here(documents, space), func.substr(documents.c.path, 1, len(prefix)) == prefix)
    found = connection.execute(select(*columns).where(*these).order_by(documents.c.path))
    return [DocumentSummary(size=_size(row.length, row.head, row.tail), **_described(row, row.head)) for row in found]


def paths(connection: Connection, space: str) -> list[str]:
    """All paths, in order."""
    wanted = select(documents.c.path).where(*here(documents, space)).order_by(documents.c.path)
    return list(connection.execute(wanted).scalars())


def is_markdown(path: str) -> bool:
    """Whether a document is searchable."""
    return path.casefold().endswith(_MARKDOWN)


def text_encoded(text: str) -> str:
    """A text as it is stored; one that starts with the mark is treated as bytes, so it reads back unchanged."""
    return bytes_encoded(text.encode()) if text.startswith(_MARK) else text


def bytes_encoded(data: bytes) -> str:
    """The bytes of a file as they are stored."""
    text = as_text(data)
    return _MARK + b64encode(data).decode() if text is None or text.startswith(_MARK) else text


def as_text(data: bytes) -> str | None:
    """The text of a file, None if it is binary."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def decoded(stored: str) -> tuple[str, Encoding]:
    """The content of a document and its encoding."""
    if not stored.startswith(_MARK):
        return stored, "utf-8"
    encoded = stored.removeprefix(_MARK)
    text = as_text(b64decode(encoded))
    return (encoded, "base64") if text is None else (text, "utf-8")


def decoded_bytes(stored: str) -> bytes:
    """The bytes of the file that a document is stored for."""
    content, encoding = decoded(stored)
    return b64decode(content) if encoding == "base64" else content.encode()


def _size(length: int, head: str, tail: str) -> int:
    """Size in bytes of a file that is stored in `length` bytes, beginning with `head` and ending with `tail`."""
    return (length - len(_MARK)) // 4 * 3 - tail.count("=") if head.startswith(_MARK) else length


def _described(row: Any, head: str) -> dict[str, Any]:
    """What a document and its summary both say; `head` is how its stored content begins."""
    return {
        "path": row.path,
        "searched": is_markdown(row.path) and not head.startswith(_MARK),
        "origin": row.origin,
        "version": row.version,
        "updated_at": from_millis(row.updated_at),
    }
