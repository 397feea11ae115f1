"""The rows of documents and their searchable pieces; document_form.py says how their bytes are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Connection, LargeBinary, delete, func, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.records import Document, DocumentSummary
from langmem_tiers.storage import change_log, notes, tombstones
from langmem_tiers.storage import document_form as form
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.schema import documents
from langmem_tiers.types import Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDocument:
    """A document to be written: its form, and the pieces to search."""

    path: str
    content: str
    pieces: Sequence[NoteText]
    origin: Origin


def read(connection: Connection, space: str, path: str) -> Document | None:
    """A document, None if there is none."""
    row = connection.execute(select(documents).where(documents.c.space == space, documents.c.path == path)).first()
    return None if row is None else _document(row)


def put(connection: Connection, space: str, new: NewDocument, at: int) -> Document:
    """Write a document; its pieces can be found by keyword right away."""
    tombstones.lift(connection, space, "document", {content_hash(new.path)})
    # The log only grows, so no version number is reused, even if a document is deleted and written again.
    version = change_log.append(connection, space, "document.changed", None, at=at)
    values = {"content": new.content, "origin": new.origin, "version": version, "updated_at": at}
    row = insert_or(documents).values(space=space, path=new.path, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "path"], set_=values))
    gone = notes.put(connection, space, "document", new.path, new.pieces, at)
    notes.forget_vectors(connection, space, gone)
    stored = read(connection, space, new.path)
    assert stored is not None
    return stored


def drop(connection: Connection, space: str, path: str, at: int) -> None:
    """Delete a document with its pieces, their words and vectors; its tombstone keeps imports off its path."""
    tombstones.put(connection, space, "document", {content_hash(path)}, at)
    connection.execute(delete(documents).where(documents.c.space == space, documents.c.path == path))
    change_log.append(connection, space, "document.changed", None, at=at)
    notes.forget_vectors(connection, space, notes.drop(connection, space, "document", path, at))


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
        func.length(content.cast(LargeBinary)).label("length"),
        func.substr(content, 1, len(form.MARK)).label("head"),
        func.substr(content, -2).label("tail"),
    )
    these = (documents.c.space == space, func.substr(documents.c.path, 1, len(prefix)) == prefix)
    found = connection.execute(select(*columns).where(*these).order_by(documents.c.path))
    return [_summary(row) for row in found]


def paths(connection: Connection, space: str) -> list[str]:
    """All paths, in order."""
    wanted = select(documents.c.path).where(documents.c.space == space).order_by(documents.c.path)
    return list(connection.execute(wanted).scalars())


def _document(row: Any) -> Document:
    content, encoding = form.read(row.content)
    return Document(
        path=row.path,
        content=content,
        encoding=encoding,
        searched=form.is_markdown(row.path) and not row.content.startswith(form.MARK),
        origin=cast(Origin, row.origin),
        version=row.version,
        updated_at=from_millis(row.updated_at),
    )


def _summary(row: Any) -> DocumentSummary:
    return DocumentSummary(
        path=row.path,
        size=form.size(row.length, row.head, row.tail),
        searched=form.is_markdown(row.path) and not row.head.startswith(form.MARK),
        origin=cast(Origin, row.origin),
        version=row.version,
        updated_at=from_millis(row.updated_at),
    )
