"""How the bytes of a file are kept as text: as they are where they are UTF-8, else in base64 behind a mark."""

from __future__ import annotations

from base64 import b64decode, b64encode

from langmem_tiers.documents.types import Encoding

MARK = "data:application/octet-stream;base64,"


def of_text(text: str) -> str:
    """The form of a text; one that begins with the mark itself is taken for bytes: each form has one reading only."""
    return of_bytes(text.encode()) if text.startswith(MARK) else text


def of_bytes(data: bytes) -> str:
    """The form of a file."""
    text = as_text(data)
    if text is None or text.startswith(MARK):
        return MARK + b64encode(data).decode()
    return text


def as_text(data: bytes) -> str | None:
    """The text of a file, None where it is none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def read(form: str) -> tuple[str, Encoding]:
    """What a document says, and how."""
    if not form.startswith(MARK):
        return form, "utf-8"
    encoded = form.removeprefix(MARK)
    text = as_text(b64decode(encoded))
    return (encoded, "base64") if text is None else (text, "utf-8")


def size(length: int, head: str, tail: str) -> int:
    """Bytes of a file whose form takes `length` bytes, begins with `head` and ends with `tail`."""
    if not head.startswith(MARK):
        return length
    return (length - len(MARK)) // 4 * 3 - tail.count("=")
