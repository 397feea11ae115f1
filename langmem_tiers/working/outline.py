"""The outline of a long value: where each of its parts begins, for a model that reads on from there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_tiers.models.chunking import split

_SHOWN = 100
_HEADING = re.compile(r"^#{1,6} +(?P<title>\S[^\n]{0,200})$", re.MULTILINE)
_HEADINGS = 3
_LONGEST_HEADING = 250
_LAST_HEADING = re.compile(r"(?<=\n)#{1,6} [^\n]{1,200}\s*+\Z")


def cuts(value: str, longest: int) -> tuple[int, ...]:
    """The characters at which a value is cut into parts of about `longest`, none if it is no longer.

    A heading stays with what it is the heading of.
    """
    if len(value) <= longest:
        return ()
    return tuple(_before_heading(value, start, stop) for start, stop in split(value, longest)[:-1])


def _before_heading(value: str, start: int, stop: int) -> int:
    """The end of a part, before a heading that it would end with."""
    end = _LAST_HEADING.search(value, max(start + 1, stop - _LONGEST_HEADING), stop)
    return stop if end is None else end.start()


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
