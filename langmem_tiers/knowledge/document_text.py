"""The text of documents: valid paths, the pieces that are searched, and as much as fits into a prompt."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from langmem_tiers.errors import InvalidPath, InvalidText
from langmem_tiers.knowledge import validation
from langmem_tiers.models.chunking import split
from langmem_tiers.records import Document
from langmem_tiers.settings import Settings
from langmem_tiers.storage import documents
from langmem_tiers.storage.documents import NewDocument, is_markdown
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.trust.safety import asked_first
from langmem_tiers.trust.taint import derived_trust
from langmem_tiers.types import Origin
from langmem_tiers.wording import type_of

MEMORY = ("MEMORY.md", "memory.md")
"""The document for the system prompt: the first of these that is there."""
DREAMT = "_system/dreaming/"
"""Where the documents of dreams are: lists of statements, each on a line of its own and searched by itself."""

_WHAT = "document"
_LONGEST_PATH = 512
# Limits of common file systems.
_LONGEST_NAME_BYTES = 255
_DEEPEST = 16
# Control characters, lone surrogates, line separators, and invisible or direction-changing marks.
_REFUSED = {"Cc", "Cs", "Cf", "Zl", "Zp"}
# Joiners used in emoji and in the scripts of India and Iran.
_KEPT = {"\u200c", "\u200d"}
_SHOWN = 80
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_NOTE = "[… The rest of {name} is left out: {left:,} of its {total:,} characters. Search finds them.]"
# No text has more characters per token than this, so anything longer cannot fit and need not be counted.
_MOST_A_TOKEN = 32
_LEAST_PIECE = 40
# Who changes how a statement is written changes how it is read.
_STATEMENT = re.compile(r"^- (?P<shown>.+)$", re.MULTILINE)
_SAID = re.compile(r"^(?:- )?(?:(?P<who>[^:\n]{1,60}): )?(?P<said>.*?)(?: \((?:[\d-]{10}, )*(?P<day>[\d-]{10})\))?$")


def clean_path(path: Any) -> str:
    """`path` in normalised form: without `.` parts, and with accents composed (NFC).

    Raises:
        InvalidPath: it is empty, absolute, hidden, climbing, too long, too deep, or unfit for a file name.
    """
    if not isinstance(path, str):
        raise InvalidPath(f"{type_of(path)} is no path.")
    if len(path) > _LONGEST_PATH:
        raise InvalidPath(f"{_shown(path)} is no path of a document: it is longer than {_LONGEST_PATH} characters.")
    parts = [part for part in unicodedata.normalize("NFC", path).split("/") if part != "."]
    reason = _fault(parts)
    if reason:
        raise InvalidPath(f"{_shown(path)} is no path of a document: {reason}.")
    return "/".join(parts)


def path(given: Any, settings: Settings) -> str:
    """The path under which a document is stored; see `clean_path`.

    Raises:
        InvalidPath: it is not a valid path.
        SecretRefused: it contains a secret, and secrets are refused.
    """
    return clean_path(validation.name_without_secrets(clean_path(given), "path", settings))


def given(text: Any, settings: Settings) -> str:
    """The text of a document as a caller gives it; secrets are masked if the settings say so.

    Raises:
        InvalidText: it is not a string, or contains a lone surrogate.
        TextTooLong: it is longer than `settings.text.max_characters`.
        SecretRefused: it contains a secret, and secrets are refused.
    """
    if isinstance(text, bytes | bytearray | memoryview):
        raise InvalidText(
            f"A document is written as text, and this is of type {type(text).__name__}.",
            way_out="Give a str; files of bytes come in through `documents.import_folder`.",
        )
    return validation.text(text, _WHAT, settings)


def held_back(text: str, held: Document | None, origin: Origin) -> str:
    """A text for a document, in which new lines that make the assistant less careful wait for the user."""
    return text if origin == "user" else asked_first(text, known="" if held is None else held.content)


def of_text(path: str, text: str, origin: Origin, settings: Settings) -> NewDocument:
    """A document from a validated text, with its pieces for search."""
    content = documents.text_encoded(text)
    searched = is_markdown(path) and content == text
    pieces = tuple(_pieces(path, text, settings)) if searched else ()
    return NewDocument(path=path, content=content, pieces=pieces, origin=origin)


def statement_line(said: str, days: Iterable[str]) -> str:
    """The line of a dream's document for what was said, as `User: I sail.`, on some days."""
    return f"- {said} ({', '.join(days)})"


class Statement(NamedTuple):
    """What a line of a dream's document says, with who said it and the last of its days, if it names them."""

    said: str
    who: str | None = None
    day: str | None = None


def statement(line: str) -> Statement:
    """What a line that `statement_line` wrote says; its bullet and its days may be left out.

    Example:
        >>> statement("- User: I sail. (2026-03-02, 2026-04-01)")
        Statement(said='I sail.', who='User', day='2026-04-01')
    """
    match = _SAID.match(line)
    return Statement(line) if match is None else Statement(**match.groupdict())


def of_file(path: str, data: bytes, held: Document | None, origin: Origin, settings: Settings) -> NewDocument:
    """A document from a file.

    Raises:
        InvalidText: it is text, but cannot be stored.
    """
    text = documents.as_text(data)
    if text is None:
        return NewDocument(path=path, content=documents.bytes_encoded(data), pieces=(), origin=origin)
    return of_text(path, held_back(validation.text(text, _WHAT, settings), held, origin), origin, settings)


def with_more(path: str, held: Document | None, added: str, origin: Origin, settings: Settings) -> NewDocument:
    """The document with a validated text appended on a new line.

    Raises:
        InvalidText: the existing document is not text.
        DatabaseDamaged: its words were altered since they were stored.
        TextTooLong: the result is too long.
    """
    if held is not None and held.encoding != "utf-8":
        raise InvalidText(f"{path} is no text: nothing can be added to it.", way_out="Write to another path.")
    before = "" if held is None else validation.as_stored(held.content, _WHAT)
    together = "".join(part if part.endswith("\n") else f"{part}\n" for part in (before, added) if part)
    text = held_back(together, held, origin)
    validation.require_length(text, _WHAT, settings)
    return of_text(path, text, origin if held is None else derived_trust([held.origin, origin]), settings)


def is_same(held: Document, new: NewDocument) -> bool:
    """Whether a document already has the content to be stored."""
    return documents.decoded(new.content) == (held.content, held.encoding)


def beginning(text: str, name: str, most: int, count: Callable[[str], int]) -> str:
    """`text` if it takes at most `most` tokens, else its first paragraphs and a note on what is left out.

    An over-long first paragraph is cut after a sentence, else at white space. Empty if not even the note fits.

    Args:
        text: The document.
        name: What the note calls it.
        most: Maximum tokens, including the note.
        count: Counts the tokens of a text as it will be shown.
    """
    whole = text.strip()
    if not whole or (len(whole) <= most * _MOST_A_TOKEN and count(whole) <= most):
        return whole
    ends = [found.start() for found in _PARAGRAPH.finditer(whole, 0, most * _MOST_A_TOKEN) if found.start()]
    return _longest(whole, ends, name, most, count) or _longest(whole, _ends(whole, most), name, most, count)


def _pieces(path: str, text: str, settings: Settings) -> Iterator[NoteText]:
    statements = _STATEMENT.findall(text) if path.startswith(DREAMT) else []
    for part in statements or [text]:
        for start, stop in split(part, settings.documents.chunk_characters):
            if piece := part[start:stop].strip():
                yield NoteText(text=piece, category="" if statements else _title(path))


def _title(path: str) -> str:
    """The title by which a document is found: its path without the common folder and suffix.

    Example:
        >>> _title("memory/trips/lisbon.md"), _title("MEMORY.md")
        ('trips/lisbon', '')
    """
    stem = path[: path.rindex(".")].removeprefix("memory/") if is_markdown(path) else path
    return "" if stem.casefold() == "memory" else stem


def _fault(parts: list[str]) -> str:
    if not parts:
        return "it names no file"
    if len(parts) > _DEEPEST:
        return f"it is more than {_DEEPEST} folders deep"
    return next((fault for part in parts if (fault := _part_fault(part))), "")


def _part_fault(part: str) -> str:
    if not part.strip():
        return "a part of it is empty" if not part else "a part of it is blank"
    if part.startswith("."):
        return "it climbs" if part == ".." else "a part of it begins with a dot: it would be hidden"
    if "\\" in part or any(unicodedata.category(sign) in _REFUSED and sign not in _KEPT for sign in part):
        return "it holds a backslash, a control character or an invisible one"
    if len(part.encode()) > _LONGEST_NAME_BYTES:
        return f"a part of it takes more than {_LONGEST_NAME_BYTES} bytes"
    return ""


def _shown(path: str) -> str:
    return ascii(path if len(path) <= _SHOWN else path[:_SHOWN] + "…")


def _longest(text: str, ends: list[int], name: str, most: int, count: Callable[[str], int]) -> str:
    """The text up to the last of these ends at which it still fits, found by bisection."""
    fits, low, high = "", 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        note = _NOTE.format(name=name, left=len(text) - ends[middle], total=len(text))
        shown = f"{text[: ends[middle]].rstrip()}\n\n{note}"
        if count(shown) <= most:
            fits, low = shown, middle + 1
        else:
            high = middle
    return fits


def _ends(text: str, most: int) -> list[int]:
    """Possible ends within the first paragraph: after sentences if possible, else between words."""
    first = _PARAGRAPH.search(text)
    paragraph = text[: min(first.start() if first else len(text), most * _MOST_A_TOKEN)]
    return [stop for _, stop in split(paragraph, _LEAST_PIECE)]
