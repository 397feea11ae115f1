"""The rows of documents, and their searched pieces; a document's bytes are kept in the form of documents/form.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import Connection, LargeBinary, delete, func, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.documents import form
from langmem_tiers.documents.paths import is_markdown
from langmem_tiers.documents.types import Document, DocumentSummary
from langmem_tiers.storage import change_log, notes, tombstones
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.schema import documents
from langmem_tiers.types import Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDocument:
    """A document on its way in: its form, and the pieces that are searched."""

    path: str
    content: str
    pieces: Sequence[NoteText]
    origin: Origin


def read(connection: Connection, space: str, path: str) -> Document | None:
    """A document, None where there is none."""
    row = connection.execute(select(documents).where(documents.c.space == space, documents.c.path == path)).first()
    return None if row is None else _document(row)


def put(connection: Connection, space: str, new: NewDocument, at: int) -> Document:
    """Let a document be this from now on; its pieces are found at once by their words."""
    tombstones.lift(connection, space, "document", {content_hash(new.path)})
    # The log never goes back: no version comes twice, not even where a document is deleted and written again.
    version = change_log.head(connection, space) + 1
    change_log.append(connection, space, "document.changed", version, at=at)
    values = {"content": new.content, "origin": new.origin, "version": version, "updated_at": at}
    row = insert_or(documents).values(space=space, path=new.path, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "path"], set_=values))
    gone = notes.put(connection, space, "document", new.path, new.pieces, at)
    notes.forget_vectors(connection, space, gone)
    stored = read(connection, space, new.path)
    assert stored is not None
    return stored


def drop(connection: Connection, space: str, path: str, at: int) -> None:
    """Take a document away, with its pieces, their words and vectors; its tombstone keeps imports from its path."""
    tombstones.put(connection, space, "document", {content_hash(path)}, at)
    connection.execute(delete(documents).where(documents.c.space == space, documents.c.path == path))
    change_log.append(connection, space, "document.changed", change_log.head(connection, space) + 1, at=at)
    notes.forget_vectors(connection, space, notes.drop(connection, space, "document", path, at))


def was_deleted(connection: Connection, space: str, path: str) -> bool:
    """Whether the document that was under a path was deleted, and none written there since."""
    return bool(tombstones.among(connection, space, "document", {content_hash(path)}))


def summaries(connection: Connection, space: str, prefix: str) -> list[DocumentSummary]:
    """What there is under paths that begin so, in the order of paths."""
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
        searched=is_markdown(row.path) and not row.content.startswith(form.MARK),
        origin=cast(Origin, row.origin),
        version=row.version,
        updated_at=from_millis(row.updated_at),
    )


def _summary(row: Any) -> DocumentSummary:
    return DocumentSummary(
        path=row.path,
        size=form.size(row.length, row.head, row.tail),
        searched=is_markdown(row.path) and not row.head.startswith(form.MARK),
        origin=cast(Origin, row.origin),
        version=row.version,
        updated_at=from_millis(row.updated_at),
    )
