"""Prose in a message: the sentences that someone wrote, without code, logs, tables and quotations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from langmem_tiers.language.words import LOOKED_AT

_BLANKS = str.maketrans("\u00a0\t", "  ")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_LOG_LINE = re.compile(
    r"^\s*+(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b"
    r"|\[(?:debug|info|warn(?:ing)?|error|fatal)\]|Traceback \(|File \".+\", line \d+|at [\w.$<>]+\(.*\)$"
    r"|[\w.]+(?:Error|Exception)\b:?|(?:GET|POST|PUT|DELETE) /|\w{3} +\d+ \d\d:\d\d:\d\d |npm ERR!|[$#>%] \w)",
    re.IGNORECASE,
)
_CODE_LINE = re.compile(
    r"^\s*+(?:(?:def|class|fn|func|function|public|private|static|const|let|var|import|from \w+ import|return|#include"
    r"|package|elif|else:|try:|except\b.*:$|<\/?\w[^>]*>|@\w+$|SELECT\b|INSERT\b|UPDATE \w+ SET)\b.*[(){};:=<>*]?"
    r"(?<=[(){};:=<>*])|\w[\w.\[\]]* ?[-+*/|]?= ?\S.*|(?:#|//|/\*"
    r"|\*/|--) .*|\"\"\".*|'''.*|.*(?:[{};]|=>|\)\s*:)\s*$|\}.*)"
)
# What an importer wrote in place of a picture, and quotations from elsewhere.
_ASIDE = re.compile(r"^\s*(?:\[[^\]]*\]\s*$|>|\|)")
_LEAST_FOREIGN = 3  # lines of code or log that make a message a pasted one
_ABBREVIATED = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|etc|e\.g|i\.e|approx|No|Inc|Jr|Sr|Ltd|Sgt|Lt|Col|Gen|Rev|Mt|Ave|Rd|Blvd|Dept"
    r"|Fig|Vol)|\b[A-Z])\.$"
)
_REMEMBERED = 4000  # characters of a message whose sentences are kept for the next rule
_ABBREVIATION = 8  # characters of the longest, with what stands before it
_END = re.compile(r"(?:(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s|$)|[。！？؟।]+[”」』]?)\s*|\n\s*")
_MARK = re.compile(r"\s*(?:[-*•]\s+|\d{1,2}[.)]\s+)?")
# Nearly all letters of English prose are Latin ones.
_LATIN_SHARE = 0.9
# A prefix that is not part of a passage: who said it and when in a summary, or a bullet.
_LEAD = re.compile(r"\s*(?:\[\d{4}-\d\d-\d\d\] [^:\n]{1,80}:\s+|[-*•>]\s+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence and its position in its message."""

    text: str
    start: int

    @property
    def stop(self) -> int:
        """The position after its last character."""
        return self.start + len(self.text)


def straight(text: str) -> str:
    """The text with straight apostrophes and plain blanks, same length."""
    return text.replace("’", "'").replace("ʼ", "'").translate(_BLANKS)


def is_latin(text: str) -> bool:
    """Whether the text has letters, and nearly all of them are Latin."""
    shown = text[:LOOKED_AT]
    if shown.isascii():
        return any(map(str.isalpha, shown))
    letters = [char for char in shown if char.isalpha()]
    latin = sum(char.isascii() or unicodedata.name(char, "").startswith("LATIN") for char in letters)
    return bool(letters) and latin >= _LATIN_SHARE * len(letters)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a message that are prose, in order, in any script; verbatim except for apostrophes."""
    shown = text[:LOOKED_AT]
    return [*(_sentences(shown) if len(shown) <= _REMEMBERED else _found(shown))]


def _found(text: str) -> tuple[Sentence, ...]:
    shown = straight(text)
    found = (sentence for start, stop in _prose(shown) for sentence in _cut(shown, start, stop))
    return tuple(sentence for sentence in found if any(map(str.isalpha, sentence.text)))


_sentences = lru_cache(maxsize=128)(_found)  # rules of all kinds read the same messages one after the other


def passages(text: str) -> list[str]:
    """The passages in order; none extends beyond the end of its line.

    Example:
        >>> passages("I like tea. Anna does not.")
        ['I like tea.', 'Anna does not.']
    """
    return [line[start:stop] for line in text.splitlines() for start, stop in _passages_of_line(line)]


def without(text: str, gone: Callable[[str], bool]) -> str:
    """The text without the passages that are `gone`, and without lines that are then empty.

    Example:
        >>> without("[2026-03-02] User: I like tea. Anna does not.", lambda passage: "Anna" in passage)
        '[2026-03-02] User: I like tea.'
    """
    lines = text.splitlines(keepends=True)
    left = [_line_without(line, gone) for line in lines]
    if left == lines:
        return text
    return "".join(left).rstrip("\n") if not text.endswith("\n") else "".join(left)


def _prose(text: str) -> list[tuple[int, int]]:
    """The lines of prose; if the message is mostly pasted, only those before the pasted part."""
    lines = list(_lines(text))
    foreign = [place for place, (_, _, prose) in enumerate(lines) if not prose]
    pasted = len(foreign) >= _LEAST_FOREIGN and len(foreign) * 2 > len(lines)
    read = lines[: foreign[0]] if pasted else lines
    return [(start, stop) for start, stop, prose in read if prose and not _ASIDE.match(text, start, stop)]


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Each line that is not blank, and whether it may be prose."""
    fenced, place = False, 0
    for line in text.splitlines(keepends=True):
        start, place = place, place + len(line)
        fence = _FENCE.match(line) is not None
        if line.strip():
            yield start, place, not (fenced or fence or _LOG_LINE.match(line) or _CODE_LINE.match(line))
        fenced ^= fence


def _cut(text: str, start: int, stop: int) -> Iterator[Sentence]:
    begin = _MARK.match(text, start, stop).end()  # type: ignore[union-attr]  # it matches the empty text as well
    for end in _END.finditer(text, begin, stop):
        if not _ABBREVIATED.search(text[max(begin, end.start() - _ABBREVIATION) : end.end()].rstrip()):
            yield _sentence(text, begin, end.end())
            begin = end.end()
    if begin < stop:
        yield _sentence(text, begin, stop)


def _sentence(text: str, start: int, stop: int) -> Sentence:
    shown = text[start:stop]
    stripped = shown.lstrip()
    return Sentence(text=stripped.rstrip(), start=start + len(shown) - len(stripped))


def _line_without(line: str, gone: Callable[[str], bool]) -> str:
    spans = _passages_of_line(line)
    kept = [(start, stop) for start, stop in spans if not gone(line[start:stop])]
    if len(kept) == len(spans):
        return line
    if not kept:
        return ""
    end = "\n" if line.endswith("\n") else ""
    return line[: spans[0][0]] + " ".join(line[start:stop] for start, stop in kept) + end


def _passages_of_line(line: str) -> list[tuple[int, int]]:
    """The positions of the passages in a line."""
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    found = [(start + each.start, start + each.stop) for each in sentences(line[start:])]
    whole = (start, len(line.rstrip()))
    return found or ([whole] if whole[0] < whole[1] else [])
