"""Names that foreign files give, made into ones that can be kept: paths of documents, categories, tags, spaces."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

FOLDER = "imported"
"""Where imported documents stand."""

_SIGNS = re.compile(r"[^\w.-]+")
_CATEGORY = re.compile(r"[^a-z0-9_-]+")
_LONGEST = 64
_DEEPEST = 8
_MOST_TAGS = 20


def document_path(source: str, *names: str) -> str:
    """The path of a Markdown document, such as `imported/letta/support/persona.md`; no name can leave the folder."""
    parts = [_file_name(name) for name in names]
    path = "/".join((FOLDER, source, *(part for part in parts if part)))
    return path if path.endswith(".md") else f"{path}.md"


class Paths:
    """Paths of the documents of one file, no two of them the same: a name that was taken is numbered."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._taken: Counter[str] = Counter()

    def path(self, *names: str) -> str:
        """The path of the next document of these names."""
        path = document_path(self._source, *names)
        self._taken[path.casefold()] += 1
        number = self._taken[path.casefold()]
        return path if number == 1 else f"{path.removesuffix('.md')}~{number}.md"


def category(told: str | None) -> str | None:
    """A category as entries have it, `work/habits`; None where nothing is left of it."""
    folded = unicodedata.normalize("NFKD", told or "").encode("ascii", "ignore").decode().lower()
    parts = [_CATEGORY.sub("-", part).strip("-")[:_LONGEST] for part in folded.split("/")]
    return "/".join([part for part in parts if part][:_DEEPEST]) or None


def tags(told: tuple[str, ...]) -> tuple[str, ...]:
    """The first tags that entries can have."""
    fitting = dict.fromkeys(" ".join(tag.split()).lower() for tag in told if is_text(tag))
    return tuple([tag for tag in fitting if 0 < len(tag) <= _LONGEST][:_MOST_TAGS])


def _file_name(name: str) -> str:
    composed = unicodedata.normalize("NFC", name if is_text(name) else name.encode("ascii", "replace").decode())
    return _SIGNS.sub("-", composed).strip(".-_")[:_LONGEST].strip(".-_")


def is_text(name: str) -> bool:
    """Whether a text can be stored: it holds no lone surrogate."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
