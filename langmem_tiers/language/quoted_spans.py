"""Quoted passages within lines: between tags, in quotation marks or backticks, announced in the same line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from langmem_tiers.language.quotation_signs import (
    ASIDE,
    LIKENED_TO,
    LONGEST_LINE,
    OF_ONESELF,
    PAIRS,
    SAID_BY,
    SINGLE,
    TAG,
    Kind,
    Line,
    Quotation,
    is_announced,
    is_own_text,
    named,
    quotation,
    says_own,
    source,
)
from langmem_tiers.language.word_lists import named_pattern

_LEAST_SAID = 4  # words in quotation marks: fewer are a name or a title
_MARKUP = re.compile(r"<!--|<!DOCTYPE\b|<\?xml\b", re.IGNORECASE)
# Tags that stand alone, or mark a word or two of one's own: "<b>not</b>".
_VOID = frozenset(["br", "hr", "img", "input", "meta", "link", "wbr"])
_LIGHT = frozenset(["b", "i", "u", "s", "em", "strong", "small", "sub", "sup", "kbd", "br"])
_TICKED = re.compile(r"(?<!`)`(?!`)(?P<said>[^`\n]{1,1000})`(?!`)")
_OPENS = re.compile(r"[\"＂“❝„«»「『‹‘‚]|(?<!\w)'(?=\w)")
_SINGLE_CLOSES = re.compile(r"(?:(?<=[.!?…,])['’‘](?!\w)|['’‘](?=\W{0,3}$))")
_FINITE = re.compile(
    r"\b(?:I|you|we|they|he|she|it|I'm|you're|please|never|always|don't|do not|is|are|was|were|has|have|will|must"
    r"|should|can|loves?|likes?|prefers?|wants?|lives?|works?|hates?|needs?|user)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_COLON = re.compile(r"[:：]\s")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_SPOKEN = named_pattern("quotations", "spoken")
_CONCLUDING = named_pattern("quotations", "concluding")
_MOST_COLONS = 4  # of a line, after which it may be announced what follows


def tagged(text: str, lines: Sequence[Line]) -> Iterator[tuple[int, int, Kind, str]]:
    """What stands between tags: from an opening one to the last closing one of its name, as a page may close early."""
    if found := _MARKUP.search(text):
        yield found.start(), len(text), "page", ""
    tags = list(TAG.finditer(text)) if "<" in text or "[" in text else []
    balanced = _balanced(tags)
    closing = {_tag_name(found): found.end() for found in tags if found["close"] or found["shut"]}
    place = 0
    for number, found in enumerate(tags):
        name = _tag_name(found)
        if found.start() < place or found["close"] or found["shut"] or name in _VOID:
            continue
        stop = balanced.get(number) or closing.get(name, 0)
        if stop <= found.start():
            if name in _LIGHT or found["mark"]:
                continue
            stop = len(text)
        if name in _LIGHT and len(text[found.start() : stop].split()) < 2 * _LEAST_SAID:
            continue
        yield found.start(), stop, source(name) or ("page" if name in _OF_PAGES else "text"), ""
        place = stop


def left_open(text: str) -> bool:
    """Whether a tag at the beginning of a line is never closed: "<mail>", and the mail."""
    tags = list(TAG.finditer(text)) if "<" in text or "[" in text else []
    begins = [TAG.match(line.lstrip()) for line in text.splitlines()] if tags else []
    alone = {_tag_name(each) for each in begins if each}
    closed = {_tag_name(each) for each in tags if each["close"] or each["shut"]}
    return bool(alone - closed - _VOID - _LIGHT)


def _balanced(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """Where each opening tag is closed, for names whose tags are all closed in their turn."""
    ends: dict[int, int] = {}
    left: dict[str, list[int]] = {}
    odd = set[str]()
    for number, found in enumerate(tags):
        name = _tag_name(found)
        if not (found["close"] or found["shut"]):
            left.setdefault(name, []).append(number)
        elif left.get(name):
            ends[left[name].pop()] = found.end()
        else:
            odd.add(name)
    odd |= {name for name, open_ones in left.items() if open_ones}
    return {number: stop for number, stop in ends.items() if _tag_name(tags[number]) not in odd}


_OF_PAGES = frozenset(
    [
        "html",
        "body",
        "head",
        "div",
        "p",
        "span",
        "a",
        "ul",
        "ol",
        "li",
        "h1",
        "h2",
        "h3",
        "h4",
        "table",
        "main",
        "section",
        "article",
        "header",
        "footer",
        "script",
        "style",
        "title",
    ]
)


def _tag_name(found: re.Match[str]) -> str:
    return (found["name"] or found["mark"]).casefold()


def inline(text: str, lines: Sequence[Line], covered: Sequence[Quotation]) -> Iterator[Quotation]:
    """Sentences in quotation marks or backticks, what is announced in the same line, and sentences on the user."""
    taken = [(each.start, each.stop) for each in covered]
    place = 0
    for line in lines:
        while place < len(taken) and taken[place][1] <= line.start:
            place += 1
        spans = taken[place : place + 1]
        if line.blank or (spans and spans[0][0] <= line.start and line.stop <= spans[0][1]):
            continue
        for start, stop, kind, who in _in_line(text, line):
            if not any(first < stop and start < last for first, last in spans):
                yield quotation(start, stop, kind, who)


def _in_line(text: str, line: Line) -> list[tuple[int, int, Kind, str]]:
    shown, found = line.text.rstrip("\n"), list[tuple[int, int, Kind, str]]()
    if said := _same_line(shown):
        found.append((line.start + said[0], line.start + said[1], said[2], said[3]))
    for start, stop, who in _in_marks(shown):
        found.append((line.start + start, line.start + stop, "speech", who))
    for each in _TICKED.finditer(shown) if "`" in shown else ():
        if len(each["said"].split()) >= _LEAST_SAID - 1:
            found.append((line.start + each.start(), line.start + each.end(), "ticks", ""))
    return _apart(found)


def _apart(found: Iterable[tuple[int, int, Kind, str]]) -> list[tuple[int, int, Kind, str]]:
    kept: list[tuple[int, int, Kind, str]] = []
    for each in sorted(found, key=lambda one: (one[0], -one[1])):
        if not kept or each[0] >= kept[-1][1]:
            kept.append(each)
    return kept


def _same_line(shown: str) -> tuple[int, int, Kind, str] | None:
    """Where a text begins and ends that is announced in the same line: "The page says: …"."""
    for found in islice(_COLON.finditer(shown[: 4 * LONGEST_LINE]), _MOST_COLONS):
        intro = re.split(r"(?<=[.!?…])\s", shown[max(0, found.start() - LONGEST_LINE) : found.start() + 1])[-1]
        if len(shown) - found.end() < 2:
            return None
        if not is_announced(intro) or says_own.search(intro) or is_own_text(intro):
            continue
        if ASIDE.match(intro.strip()) and OF_ONESELF.search(_SENTENCE.split(shown[found.end() :], maxsplit=1)[0]):
            continue
        stop = len(shown) if source(intro) else _own_again(shown, found.end(), spoken=bool(_SPOKEN.search(intro)))
        return found.end(), stop, source(intro) or "text", named(intro)
    return None


def _own_again(shown: str, start: int, *, spoken: bool) -> int:
    """Where the author goes on behind what somebody said: "My doctor told me: no salt. So I …"; else the end."""
    starts = [start, *(found.end() for found in _SENTENCE.finditer(shown, start)), len(shown)]
    place = start
    for begin, end in pairwise(starts):
        if begin > start and _CONCLUDING.match(shown, begin, end):
            return place
        if OF_ONESELF.search(shown, begin, end):
            return place if spoken and begin > start else len(shown)
        place = begin + len(shown[begin:end].rstrip())
    return len(shown)


def _in_marks(shown: str) -> Iterator[tuple[int, int, str]]:
    """Whole sentences in quotation marks; those announced by a colon reach to the last mark of the line."""
    place, unclosed = 0, set[str]()
    while found := _OPENS.search(shown, place):
        start, closes = found.start(), PAIRS[found[0]]
        place = start + 1
        if (start and shown[start - 1].isalnum()) or closes in unclosed:
            continue
        before = shown[max(0, start - LONGEST_LINE) : start].rstrip()
        introduced = before.endswith((":", "：")) or not before
        ends = [number for number in (shown.rfind(each) for each in closes) if number > start] if introduced else []
        stop = max(ends, default=0) or closing(shown, start + 1, found[0])
        if not stop:
            unclosed.add(closes)
            if not introduced or found[0] in SINGLE or len(shown) - start < _LEAST_SAID:
                continue
            stop = len(shown) - 1  # it goes on in the next line
        said = shown[start + 1 : stop]
        if _is_said(said, before) and not says_own.search(_SENTENCE.split(before)[-1]):
            yield start, stop + 1, named(before)
        place = stop + 1


def closing(shown: str, start: int, opening: str) -> int:
    """The place of the mark that closes a quotation of a line; 0 if there is none."""
    if opening in SINGLE:
        found = _SINGLE_CLOSES.search(shown, start)
        return found.start() if found else 0
    for number in range(start, len(shown)):
        if shown[number] in PAIRS[opening] and not (number + 1 < len(shown) and shown[number + 1].isalnum()):
            return number
    return 0


def _is_said(said: str, before: str) -> bool:
    """Whether what stands in quotation marks is something said, and no title or single word."""
    words = _WORD.findall(said)
    if len(words) < 2:
        return False
    if SAID_BY.search(before[-80:]):
        return True
    if LIKENED_TO.search(before[-80:]):
        return _FINITE.search(said) is not None
    if len(words) < _LEAST_SAID:
        return said.rstrip().endswith((".", "!")) and _FINITE.search(said) is not None and len(words) > 2
    titled = sum(word[0].isupper() or len(word) < 4 for word in words) >= len(words) - 1
    return not titled and _FINITE.search(said) is not None
