"""The entries of a file that is either one JSON list or JSONL, read one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from langmem_tiers.transfer.files import decoded, head, lines, reading, unreadable
from langmem_tiers.transfer.json_text import Malformed, list_elements, parse
from langmem_tiers.transfer.records import LineProblem

_LINE_BYTES = 1 << 28


def entries(path: Path, expected: str) -> Iterator[tuple[int, object | LineProblem]]:
    """Each entry with its position (or line) from 1; a JSONL line that can not be parsed is a problem.

    Raises:
        UnreadableFile: the file can not be read, or is neither.
    """
    start = head(path, expected).lstrip()[:1]
    if start not in ("[", "{"):
        raise unreadable(path, expected, "it begins with neither a JSON list nor a JSON object")
    with reading(path, expected) as stream:
        yield from list_entries(path, expected, stream) if start == "[" else _of_lines(stream)


def list_entries(path: Path, expected: str, stream: IO[bytes]) -> Iterator[tuple[int, object]]:
    """Each element of a JSON list with its position from 1.

    Raises:
        UnreadableFile: it is none; what came before is given, and counted in the way out.
    """
    position = 0
    try:
        with TextIOWrapper(stream, encoding="utf-8-sig") as text:
            for position, element in enumerate(list_elements(text), 1):
                yield position, element
    except (Malformed, UnicodeDecodeError) as error:
        before = f"Repair the file: {position} entries before were read, and importing them again stores nothing twice."
        way_out = before if position else None
        raise unreadable(path, expected, str(error), way_out=way_out) from error


def _of_lines(stream: IO[bytes]) -> Iterator[tuple[int, object | LineProblem]]:
    for number, line in lines(stream, _LINE_BYTES):
        if line is not None and not line.strip():
            continue
        try:
            yield number, parse(decoded(line, _LINE_BYTES))
        except Malformed as error:
            yield number, LineProblem(line=number, reason=str(error), unit="line")
