"""The formats of files to import: which readers there are, and which format a file looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from langmem_tiers.errors import UnreadableFile
from langmem_tiers.transfer import jsonl, locomo, longmemeval
from langmem_tiers.transfer.files import head
from langmem_tiers.transfer.records import Entry

Format = Literal["locomo", "longmemeval", "jsonl"]

_READERS: Mapping[Format, Callable[[Path], Iterator[Entry]]] = {
    "locomo": locomo.read_locomo,
    "longmemeval": longmemeval.read_longmemeval,
    "jsonl": jsonl.read_jsonl,
}
_EXPECTED: Mapping[Format, str] = {
    "locomo": locomo.EXPECTED,
    "longmemeval": longmemeval.EXPECTED,
    "jsonl": jsonl.EXPECTED,
}
# What gives a format away within the first 64 KB. LoCoMo puts its questions first, the conversation behind them.
_MARKS: Mapping[Format, re.Pattern[str]] = {
    "longmemeval": re.compile(r'"(haystack_\w+|answer_session_ids)"\s*:'),
    "locomo": re.compile(r'\A\s*\[.*?"(dia_id|evidence|session_\d+)"\s*:', re.DOTALL),
    "jsonl": re.compile(r'\A\s*\{(?=[^\n]*"role"\s*:)(?=[^\n]*"content"\s*:)'),
}
FORMATS: tuple[Format, ...] = tuple(_READERS)


def guess_format(path: Path) -> Format | None:
    """The format that the beginning of the file looks like; None where it looks like none of them.

    Raises:
        UnreadableFile: the file is missing, not permitted or binary.
    """
    start = head(path, "a file of conversations")
    return next((name for name, marks in _MARKS.items() if marks.search(start)), None)


def read_conversations(path: Path, format: Format) -> Iterator[Entry]:
    """The sessions of a file, lazily, with a problem in place of whatever had to be skipped.

    Raises:
        UnreadableFile: the file can not be read, or is plainly in another format; at once, before anything is read.
    """
    require_format(path, format)
    return _READERS[format](path)


def require_format(path: Path, format: Format) -> None:
    """Refuse a file that is plainly in another format.

    Raises:
        UnreadableFile: it looks like another format; the way out names that one.
    """
    looks_like = guess_format(path)
    if looks_like not in (None, format):
        raise UnreadableFile(
            f"{path} looks like {looks_like}, and {_EXPECTED[format]} was expected.",
            way_out=f"Say --format {looks_like}.",
        )
