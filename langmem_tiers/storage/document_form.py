"""How file contents are stored as text: unchanged if they are UTF-8, otherwise as base64 behind a marker."""

from __future__ import annotations

from base64 import b64decode, b64encode

from langmem_tiers.records import Encoding

MARK = "data:application/octet-stream;base64,"
_MARKDOWN = (".md", ".markdown")


def is_markdown(path: str) -> bool:
    """Whether a document is searchable."""
    return path.casefold().endswith(_MARKDOWN)


def of_text(text: str) -> str:
    """The stored form of a text; one that starts with the marker is treated as bytes, so it reads back unchanged."""
    return of_bytes(text.encode()) if text.startswith(MARK) else text


def of_bytes(data: bytes) -> str:
    """The stored form of a file's bytes."""
    text = as_text(data)
    if text is None or text.startswith(MARK):
        return MARK + b64encode(data).decode()
    return text


def as_text(data: bytes) -> str | None:
    """The text of a file, None if it is binary."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def read(form: str) -> tuple[str, Encoding]:
    """The content of a document and its encoding."""
    if not form.startswith(MARK):
        return form, "utf-8"
    encoded = form.removeprefix(MARK)
    text = as_text(b64decode(encoded))
    return (encoded, "base64") if text is None else (text, "utf-8")


def size(length: int, head: str, tail: str) -> int:
    """Size in bytes of a file whose form is `length` bytes long, begins with `head` and ends with `tail`."""
    if not head.startswith(MARK):
        return length
    return (length - len(MARK)) // 4 * 3 - tail.count("=")
