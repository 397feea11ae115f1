"""The passages of a text: its sentences, and whole lines where it is no prose. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from langmem_tiers.writing.extractive.prose import sentences

# What stands before a passage and is none of its words: who said it and when in a summary, or a bullet.
_LEAD = re.compile(r"\s*(?:\[\d{4}-\d\d-\d\d\] [^:\n]{1,80}:\s+|[-*•>]\s+)?")


def passages(text: str) -> list[str]:
    """The passages in order; none goes on behind the end of its line.

    Example:
        >>> passages("I like tea. Anna does not.")
        ['I like tea.', 'Anna does not.']
    """
    return [line[start:stop] for line in text.splitlines() for start, stop in _spans(line)]


def without(text: str, gone: Callable[[str], bool]) -> str:
    """The text without the passages that are `gone`, and without lines that held nothing else.

    Example:
        >>> without("[2026-03-02] User: I like tea. Anna does not.", lambda passage: "Anna" in passage)
        '[2026-03-02] User: I like tea.'
    """
    lines = text.splitlines(keepends=True)
    left = [_line_without(line, gone) for line in lines]
    if left == lines:
        return text
    return "".join(left).rstrip("\n") if not text.endswith("\n") else "".join(left)


def _line_without(line: str, gone: Callable[[str], bool]) -> str:
    spans = _spans(line)
    kept = [(start, stop) for start, stop in spans if not gone(line[start:stop])]
    if len(kept) == len(spans):
        return line
    if not kept:
        return ""
    end = "\n" if line.endswith("\n") else ""
    return line[: spans[0][0]] + " ".join(line[start:stop] for start, stop in kept) + end


def _spans(line: str) -> list[tuple[int, int]]:
    """Where the passages of a line stand."""
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    found = [(start + each.start, start + each.stop) for each in sentences(line[start:])]
    whole = (start, len(line.rstrip()))
    return found or ([whole] if whole[0] < whole[1] else [])
