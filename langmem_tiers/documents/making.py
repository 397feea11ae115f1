"""From a text or the bytes of a file to a document that can be stored."""

from __future__ import annotations

from typing import Any

from langmem_tiers.documents import form, paths
from langmem_tiers.documents.types import Document
from langmem_tiers.embeddings.chunking import split
from langmem_tiers.errors import InvalidText
from langmem_tiers.settings import Settings
from langmem_tiers.storage.documents import NewDocument
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.types import Origin
from langmem_tiers.writing.storable import name_without_secrets, require_length, storable

_WHAT = "document"


def path(given: Any, settings: Settings) -> str:
    """The path under which a document is stored, as for `paths.clean`.

    Raises:
        InvalidPath: none can be there.
        SecretRefused: it holds a secret, and these are refused.
    """
    return paths.clean(name_without_secrets(paths.clean(given), "path", settings))


def of_text(path: str, text: str, origin: Origin, settings: Settings) -> NewDocument:
    """The document of a text that is checked already, with the pieces of it that are searched."""
    content = form.of_text(text)
    searched = paths.is_markdown(path) and content == text
    pieces = _pieces(path, text, settings.documents.chunk_characters) if searched else ()
    return NewDocument(path=path, content=content, pieces=pieces, origin=origin)


def of_file(path: str, data: bytes, settings: Settings) -> NewDocument:
    """The document of a file that is imported.

    Raises:
        InvalidText: it is text, and can not be stored.
    """
    text = form.as_text(data)
    if text is None:
        return NewDocument(path=path, content=form.of_bytes(data), pieces=(), origin="import")
    return of_text(path, storable(text, _WHAT, settings), "import", settings)


def with_more(path: str, held: Document | None, added: str, origin: Origin, settings: Settings) -> NewDocument:
    """The document with a text that is checked already at its end, on lines of its own.

    Raises:
        InvalidText: what is there is no text.
        TextTooLong: both together are too long.
    """
    if held is not None and held.encoding != "utf-8":
        raise InvalidText(f"{path} is no text: nothing can be added to it.", way_out="Write to another path.")
    parts = ("" if held is None else held.content, added)
    text = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
    require_length(text, _WHAT, settings)
    return of_text(path, text, origin, settings)


def is_same(held: Document, new: NewDocument) -> bool:
    """Whether a document holds already what is to be stored."""
    return form.read(new.content) == (held.content, held.encoding)


def _pieces(path: str, text: str, limit: int) -> tuple[NoteText, ...]:
    """Its paragraphs, as many together as the limit takes, under its name."""
    cut = (text[start:stop].strip() for start, stop in split(text, limit))
    return tuple(NoteText(text=piece, category=paths.name(path)) for piece in cut if piece)
