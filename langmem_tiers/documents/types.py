"""What callers of the documents get: frozen, keyword-only, documented."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from langmem_tiers.types import Origin

Encoding = Literal["utf-8", "base64"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One file of the notes.

    `content` is its text, or its bytes in base64 where these are no text; `encoding` says which. `version` grows with
    every change, also where a document is deleted and written again. `searched` is true for Markdown.
    """

    path: str
    content: str
    encoding: Encoding
    searched: bool
    origin: Origin
    version: int
    updated_at: datetime

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return b64decode(self.content) if self.encoding == "base64" else self.content.encode()


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentSummary:
    """A document without its content; `size` is in bytes."""

    path: str
    size: int
    searched: bool
    origin: Origin
    version: int
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentHit:
    """A piece of a document that a search found, with its score from 0 to 1; `ordinal` is 0 for the first piece."""

    path: str
    ordinal: int
    text: str
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    """A file or folder that was not taken, and why; `path` is relative to the folder."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderImport:
    """What became of the files of a folder: paths of new, changed and unchanged documents, and what was skipped."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderExport:
    """Paths of the files that were written or are there already as they should be, and what was skipped."""

    written: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
