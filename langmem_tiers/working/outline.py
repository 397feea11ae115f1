"""The outline of a long value: where each of its parts begins, for a model that reads on from there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_tiers.models.chunking import split

_SHOWN = 100
_HEADING = re.compile(r"^#{1,6} +(?P<title>\S[^\n]{0,200})$", re.MULTILINE)
_HEADINGS = 3


def cuts(value: str, longest: int) -> tuple[int, ...]:
    """The characters at which a value is cut into parts of at most `longest`; none if it is no longer."""
    return () if len(value) <= longest else tuple(stop for _, stop in split(value, longest)[:-1])


def outline(key: str, parts: Sequence[str]) -> str:
    """One line for each part: its key, its size, and what it begins with or its headings."""
    whole = sum(map(len, parts))
    lines = [f"{key}-{number}: {len(part):,} characters, {_about(part)}" for number, part in enumerate(parts, 1)]
    return "\n".join([f"{key} has {whole:,} characters in {len(parts)} parts:", *lines])


def _about(part: str) -> str:
    headings = [match["title"].strip() for match in _HEADING.finditer(part)][:_HEADINGS]
    if headings:
        return " / ".join(_short(each) for each in headings)
    first = next((line for line in part.split("\n") if line.strip()), "")
    return f'"{_short(first)}"'


def _short(text: str) -> str:
    line = " ".join(text[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
