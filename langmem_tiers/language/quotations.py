"""Quotations: the passages of a message that somebody else wrote, and where they are from.

A message that forwards a mail, shows a page or pastes a log is the user's word only around that. What is quoted is
told by signs that need no understanding: marks of quotation, headers of mails, fences and tags, speakers of a chat,
and lines that announce a text. A passage with an end mark of its own ends there. One without goes on to the end of
the message, unless its mail is signed or the last paragraph speaks of it from outside: rather a statement of the user
is missed than a stranger's one taken for theirs. Everything is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, zip_longest
from typing import Literal, NamedTuple

from langmem_tiers.language.word_lists import named_pattern, table

Kind = Literal["mail", "page", "document", "chat", "code", "log", "speech", "ticks", "text"]
"""What is quoted."""

_NAMES: dict[Kind, str] = {
    "mail": "a mail",
    "page": "a web page",
    "document": "a document",
    "chat": "a chat",
    "code": "code",
    "log": "a log",
    "speech": "somebody",
    "ticks": "code",
    "text": "pasted text",
}
_HEADERS: dict[str, str] = {
    label: name for name, labels in table("quotations")["headers"].items() for label in labels.split()
}
_FROM = frozenset(table("quotations")["headers"]["from"].split())
_LEAST_HEADERS, _MOST_HEADERS = 2, 12
_LEAST_SPOKEN = 2  # lines of a chat that make one
_LEAST_LOGGED = 3
_LEAST_SAID = 4  # words in quotation marks: fewer are a name or a title
_LONGEST_INTRO = 40  # words
_LONGEST_LINE = 400  # characters of a line that is looked at for what it announces
_LONGEST_NAME = 40

_HEADER = re.compile(
    r"[ \t>*_]{0,8}(?P<label>[^\W\d_][^\s:：*_]{0,14}(?: à)?)[*_]{0,3} ?[:：][*_]{0,3}(?P<value>[^\n]*)"
)
_FENCE = re.compile(r"\s{0,8}(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_MARKED = re.compile(r"[ \t]{0,8}(?:>|&gt;|\|[ \t])")
_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]{0,40})(?=[\s/>])[^<>]{0,1000}>|\[(?P<shut>/?)(?P<mark>quote|code|cite)\b[^\]\n]{0,80}\]"
)
_MARKUP = re.compile(r"<!--|<!DOCTYPE\b|<\?xml\b", re.IGNORECASE)
# Tags that stand alone, or mark a word or two of one's own: "<b>not</b>".
_VOID = frozenset(["br", "hr", "img", "input", "meta", "link", "wbr"])
_LIGHT = frozenset(["b", "i", "u", "s", "em", "strong", "small", "sub", "sup", "kbd", "br"])
_TICKED = re.compile(r"(?<!`)`(?!`)(?P<said>[^`\n]{1,1000})`(?!`)")
_PAIRS = {"“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』", "‹": "›", '"': '"', "”": "”"}
_OPENS = re.compile('["“„«「『‹]')
_FINITE = re.compile(
    r"\b(?:I|you|we|they|he|she|it|I'm|you're|please|never|always|don't|do not|is|are|was|were|has|have|will|must"
    r"|should|can|loves?|likes?|prefers?|wants?|lives?|works?|hates?|needs?|user)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NAME_LIKE = re.compile(r"[^\W\d_][^\W\d_.'’-]{0,20}\.?(?: [^\W\d_][^\W\d_.'’-]{0,20}\.?){0,3}")
_NOBODY = re.compile(
    r"\b(?:users?|assistant|system|memory|developer|admin\w*|human|tool|me|myself|own)\b", re.IGNORECASE
)
_URL = re.compile(r"<?(?:https?://|www\.)\S{3,500}\s*$")
_HEADING = re.compile(r"#{1,6} +\S|={4,}\s*$")
_COLON = re.compile(r"[:：]\s")
_MOST_COLONS = 4  # of a line, after which it may be announced what follows
_OF_ONESELF = re.compile(r"\b(?:me|my|I|mine|myself|us|our)\b")

_says_own = named_pattern("quotations", "own_speech")
_DIVIDER = named_pattern("quotations", "divider")
_ATTRIBUTION = named_pattern("quotations", "attribution")
_SAYS_SO = named_pattern("quotations", "says_so")
_ANNOUNCED = named_pattern("quotations", "announced")
_ASKED_OF = named_pattern("quotations", "asked_of")
_SOURCES = {kind: named_pattern("quotations", f"source_{kind}") for kind in ("mail", "page", "document", "chat", "log")}
_SPEAKER = named_pattern("quotations", "speaker")
_STAMPED = named_pattern("quotations", "stamped")
_LOGGED = named_pattern("quotations", "logged")
_ADDRESS = named_pattern("quotations", "address")
_SIGN_OFF = named_pattern("quotations", "sign_off")
_SMALL_PRINT = named_pattern("quotations", "small_print")
_AGAIN = named_pattern("quotations", "again")
_SAID_BY = named_pattern("quotations", "said_by")
_NAMED_BEFORE = named_pattern("quotations", "named_before")
_NAMED_BEHIND = named_pattern("quotations", "named_behind")
_POINTS_AT = named_pattern("quotations", "points_at")
_POINTED_AT = named_pattern("quotations", "pointed_at")
_CASTS = named_pattern("quotations", "casts")
_OF_PROMPTS = tuple(named_pattern("quotations", name) for name in ("of_models", "of_rules", "of_replies", "of_user"))
_LEAST_OF_PROMPT = 2
_ON_USER = named_pattern("quotations", "on_user")
_CLAUSE = named_pattern("quotations", "clause")


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotation:
    """A passage from `start` to `stop` that somebody else wrote.

    `origin` is what the message says it is, such as "a mail from Tom Baker".
    """

    start: int
    stop: int
    kind: Kind
    origin: str


class _Line(NamedTuple):
    start: int
    stop: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()


class _Passage(NamedTuple):
    """A quotation in whole lines, from one number to before another; `open` if nothing marks its end."""

    first: int
    last: int
    kind: Kind
    who: str = ""
    open: bool = False


def quotations(text: str) -> tuple[Quotation, ...]:
    r"""The passages of a message that are not its author's own words, in order, without overlaps.

    Example:
        >>> [each.origin for each in quotations("Anna wrote:\n> I moved to Porto.")]
        ['Anna']
    """
    if not _may_quote(text):
        return ()
    lines = _lines(text)
    blocks = [*_tagged(text, lines), *_of_lines(lines)]
    covered = _joined(blocks)
    found = (*covered, *_inline(text, lines, covered))
    return tuple(sorted(found, key=lambda each: each.start))


def own_words(text: str) -> str:
    r"""The message with blanks for whatever is quoted in it: all positions stay as they are.

    Example:
        >>> own_words("> I moved to Porto.\n\nI live in Oslo.").strip()
        'I live in Oslo.'
    """
    return blanked(text, quotations(text))


def blanked(text: str, quoted: Iterable[Quotation]) -> str:
    """The text with blanks for these passages."""
    parts, place = [], 0
    for each in quoted:
        said = text[each.start : each.stop]
        hidden = _SHOWN.sub(" ", said)
        if each.kind == "speech" and _ENDED.search(said) and _BEGINS.match(text, each.stop):
            hidden = f"{hidden[:-1]}."  # the sentence ends with what is quoted
        parts += [text[place : each.start], hidden]
        place = each.stop
    return "".join((*parts, text[place:])) if parts else text


_SHOWN = re.compile(r"[^\n]")
_ENDED = re.compile(r"[.!?…][\"”»“』」›]$")
_BEGINS = re.compile(r"\s+[^\Wa-z]|\s*$")


def marked(text: str, quoted: Iterable[Quotation], start: int = 0, stop: int | None = None) -> str:
    r"""A part of a text, with what is quoted in it in lines of their own that begin with ">".

    Nothing that is quoted stands in another line, whatever its words are. What somebody said, or code, stays in its
    line if it has marks of its own there.

    Example:
        >>> text = "FYI: I moved to Porto."
        >>> marked(text, quotations(text))
        'FYI:\n> I moved to Porto.'
    """
    parts, place, stop = [], start, len(text) if stop is None else stop
    for each in quoted:
        if each.kind in _WITH_MARKS or each.stop <= place or each.start >= stop:
            continue
        begin, end = max(each.start, place), min(each.stop, stop)
        before = text[place:begin]
        parts.append(before if begin == start or before.endswith("\n") else f"{before.rstrip(' ')}\n")
        parts += (_marked_line(line) for line in text[begin:end].splitlines(keepends=True))
        after = text[end:stop]
        parts.append("" if not after or text[begin:end].endswith("\n") or after.startswith("\n") else "\n")
        place = end if text[begin:end].endswith("\n") else end + len(after) - len(after.lstrip(" "))
    return "".join((*parts, text[place:stop]))


def _marked_line(line: str) -> str:
    return line if line.startswith(">") else f"> {line}"


def whole_lines(quoted: Iterable[Quotation]) -> list[Quotation]:
    """The quotations that `marked` shows in lines of their own."""
    return [each for each in quoted if each.kind not in _WITH_MARKS]


def bracketed(text: str, quoted: Iterable[Quotation]) -> str:
    """The text with brackets around what is quoted, and where it is from; in the quotation there are none."""
    parts, place = [], 0
    for each in quoted:
        said = text[each.start : each.stop].strip().translate(_NO_BRACKETS)
        parts += [text[place : each.start], f"[quoted from {each.origin}: {said}] "]
        place = each.stop
    return "".join((*parts, text[place:]))


_NO_BRACKETS = str.maketrans({"[": "(", "]": ")"})
_WITH_MARKS: frozenset[Kind] = frozenset({"speech", "ticks"})


def origins(quoted: Iterable[Quotation]) -> str:
    """Where passages are from, in words: "a mail from Tom Baker and a web page"."""
    return " and ".join(dict.fromkeys(each.origin for each in quoted))


_HINTS = re.compile('[\n:>`<"“„«「『‹：\\[{]')


def _may_quote(text: str) -> bool:
    """Whether a text has any of the signs at all: most messages have none."""
    return any(pattern.search(text) for pattern in (_HINTS, _CASTS)) or any(
        pattern.match(text) for pattern in (_ADDRESS, _ON_USER, _CLAUSE)
    )


def _lines(text: str) -> list[_Line]:
    found, place = [], 0
    for line in text.splitlines(keepends=True):
        found.append(_Line(place, place + len(line), line))
        place += len(line)
    return found


# Passages of whole lines.


def _of_lines(lines: Sequence[_Line]) -> Iterator[tuple[int, int, Kind, str]]:
    """The passages, those without an end mark cut where the author speaks again."""
    until = 0
    for each in sorted(_passages(lines)):
        if not each.open:
            yield lines[each.first].start, lines[each.last - 1].stop, each.kind, each.who
        elif each.first >= until:
            until = _end(lines, each)
            yield lines[each.first].start, lines[until - 1].stop, each.kind, each.who
        else:  # a part of what is quoted, which may say better what it is
            yield lines[each.first].start, lines[each.first].stop, each.kind, each.who


def _passages(lines: Sequence[_Line]) -> Iterator[_Passage]:
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line.text)]
    if fences:
        yield from _fenced(lines, fences)
    inside = _in_fences(lines, fences)
    yield from _quoted_lines(lines)
    yield from _mails(lines)
    yield from _chats(lines)
    yield from _announced(lines, inside)
    yield from _by_register(lines, inside)
    yield from _prompts(lines)


def _fenced(lines: Sequence[_Line], fences: Sequence[int]) -> Iterator[_Passage]:
    """From each fence to the next; an odd one may be part of what is quoted, and nothing between counts then."""
    if len(fences) % 2:
        alone = len(fences) == 1
        yield _Passage(fences[0], len(lines) if alone else fences[-1] + 1, "code", open=alone)
        return
    for first, last in zip(fences[::2], fences[1::2], strict=True):
        yield _Passage(first, last + 1, "code")


def _in_fences(lines: Sequence[_Line], fences: Sequence[int]) -> set[int]:
    pairs = zip(fences[::2], [*fences[1::2], len(lines)], strict=False)
    return {number for first, last in pairs for number in range(first, last + 1)}


def _quoted_lines(lines: Sequence[_Line]) -> Iterator[_Passage]:
    """Lines marked with ">", and what goes on without the mark directly behind them."""
    number = 0
    while number < len(lines):
        first = number
        while number < len(lines) and _MARKED.match(lines[number].text):
            number += 1
        if number == first:
            number += 1
            continue
        lazy = number
        while lazy < len(lines) and not lines[lazy].blank and lines[lazy - 1].text.strip(" >\t\n"):
            lazy += 1
        yield _Passage(first, lazy, "text", _who_above(lines, first))
        number = lazy


def _who_above(lines: Sequence[_Line], first: int) -> str:
    """Who is named in the line above: "Anna wrote:"."""
    above = next(
        (lines[number].text for number in range(first - 1, max(-1, first - 3), -1) if not lines[number].blank), ""
    )
    return _named(above[-_LONGEST_LINE:]) if above.rstrip().endswith((":", "：")) else ""


def _mails(lines: Sequence[_Line]) -> Iterator[_Passage]:
    """What follows headers of a mail, a divider such as "Begin forwarded message:", or "On Monday, Anna wrote:"."""
    number = 0
    while number < len(lines):
        text = lines[number].text[:_LONGEST_LINE]
        headers, sender = _headers(lines, number)
        if headers:
            yield _Passage(number, len(lines), "mail", sender, open=True)
            number += headers
        elif _DIVIDER.match(text):
            yield _Passage(number, len(lines), "mail", _sender_below(lines, number), open=True)
        elif found := _ATTRIBUTION.match(text):
            marked = next((line for line in lines[number + 1 : number + 3] if not line.blank), None)
            if marked is not None and not _MARKED.match(marked.text):
                yield _Passage(number, len(lines), "mail", _person(found["who"] or ""), open=True)
        number += 1


def _headers(lines: Sequence[_Line], first: int) -> tuple[int, str]:
    """How many header lines begin here, if there are enough different ones, and who sent it."""
    names, sender, number = set[str](), "", first
    while number < min(first + _MOST_HEADERS, len(lines)) and (
        found := _HEADER.match(lines[number].text[:_LONGEST_LINE])
    ):
        label = found["label"].casefold()
        if label not in _HEADERS or not found["value"].strip():
            break
        names.add(_HEADERS[label])
        if label in _FROM and not sender:
            sender = _person(found["value"])
        number += 1
    return (number - first, sender) if len(names) >= _LEAST_HEADERS else (0, "")


def _sender_below(lines: Sequence[_Line], number: int) -> str:
    return next(
        (sender for place in range(number + 1, min(number + 4, len(lines))) if (sender := _headers(lines, place)[1])),
        "",
    )


def _chats(lines: Sequence[_Line]) -> Iterator[_Passage]:
    """Lines with their speakers, and logs: from the first to the last one, and what belongs to it."""
    for pattern, least, kind in (
        (_SPEAKER, _LEAST_SPOKEN, "chat"),
        (_STAMPED, 1, "chat"),
        (_LOGGED, _LEAST_LOGGED, "log"),
    ):
        found = [number for number, line in enumerate(lines) if pattern.match(line.text[:_LONGEST_LINE])]
        if kind == "chat" and pattern is _SPEAKER:
            found = [number for number in found if not _is_header(lines[number].text)]
        if len(found) < least or (pattern is _SPEAKER and not _near(found)):
            continue
        last = found[-1] + 1
        while last < len(lines) and not lines[last].blank:
            last += 1
        yield _Passage(found[0], last, kind)  # type: ignore[arg-type]


def _is_header(text: str) -> bool:
    found = _HEADER.match(text[:_LONGEST_LINE])
    return found is not None and found["label"].casefold() in _HEADERS


def _near(found: Sequence[int]) -> bool:
    """Whether two of these lines follow one another, as speakers do."""
    return any(after - before <= 2 for before, after in pairwise(found))


def _announced(lines: Sequence[_Line], inside: set[int]) -> Iterator[_Passage]:
    """What follows a line that says that a text of somebody else comes: "Here is the mail:", "The page says:"."""
    for number, line in enumerate(lines):
        if number in inside or line.blank or _MARKED.match(line.text):
            continue
        text = line.text.strip()[-_LONGEST_LINE:]
        near = range(number + 1, min(number + 4, len(lines)))
        below = next((place for place in near if not lines[place].blank), None)
        if below is None:
            continue
        kind = _source(text)
        if _announces(text, kind):
            last = below + 1 if _is_marked(lines[below].text) else _marked_until(lines, below)
            yield _Passage(below, last or len(lines), kind or "text", _named(text), open=not last)
        elif _URL.match(text):
            yield _Passage(number, len(lines), "page", open=True)


def _is_marked(text: str) -> bool:
    """Whether a passage has marks of its own, which say where it ends."""
    shown = text[:_LONGEST_LINE]
    return any(pattern.match(shown) for pattern in (_MARKED, _FENCE, _TAG, _STAMPED, _LOGGED))


def _marked_until(lines: Sequence[_Line], first: int) -> int:
    """Behind the last line that closes a quotation mark, if one opens here; 0 without such a line."""
    opening = lines[first].text.lstrip()[:1]
    closes = _PAIRS.get(opening, "")
    ends = (
        number for number in range(len(lines) - 1, first - 1, -1) if lines[number].text.rstrip().endswith(tuple(closes))
    )
    return next(ends, -1) + 1 if closes else 0


def _announces(text: str, kind: Kind | None) -> bool:
    if len(text.split()) > _LONGEST_INTRO and not text.endswith((":", "：")):
        return False
    if text.endswith((":", "：")):
        last = re.split(r"(?<=[.!?…])\s", text)[-1]
        return bool(_is_announced(last) or _ASKED_OF.search(last) or (kind and not _says_own.search(last)))
    return _ASKED_OF.search(text) is not None


def _is_announced(intro: str) -> bool:
    """Whether words before a colon say that somebody else's text comes."""
    here = _POINTS_AT.search(intro)
    shown = "" if here is None else intro[here.end() :]
    pointed = _POINTED_AT.search(shown) is not None or _source(shown) is not None
    return pointed or any(pattern.search(intro) for pattern in (_SAYS_SO, _ANNOUNCED))


def _source(text: str) -> Kind | None:
    return next((kind for kind, pattern in _SOURCES.items() if pattern.search(text)), None)  # type: ignore[misc]


def _by_register(lines: Sequence[_Line], inside: set[int]) -> Iterator[_Passage]:
    """What speaks to others than the assistant, or of the user: "Dear customer", "The user loves …", small print."""
    headed = [number for number, line in enumerate(lines) if _HEADING.match(line.text) and number not in inside]
    if len(lines) > 2 and headed and not any(_OF_ONESELF.search(lines[number].text[:200]) for number in headed):
        yield _Passage(headed[0], len(lines), "document", open=True)
    for number, line in enumerate(lines):
        text = line.text[:_LONGEST_LINE]
        if _ADDRESS.match(text):
            yield _Passage(number, len(lines), "mail", open=True)
        elif _CLAUSE.match(text):
            yield _Passage(number, len(lines), "document", open=True)
        elif _ON_USER.match(text):
            yield _Passage(number, number + 1, "text")
        elif _SMALL_PRINT.match(text):
            yield _Passage(number, number + 1, "mail")


def _prompts(lines: Sequence[_Line]) -> Iterator[_Passage]:
    """What is written for a language model, from where it is given a part to play."""
    first = next((number for number, line in enumerate(lines) if _CASTS.search(line.text)), None)
    if first is not None:
        said = "".join(line.text[: 4 * _LONGEST_LINE] for line in lines)
        if sum(pattern.search(said) is not None for pattern in _OF_PROMPTS) >= _LEAST_OF_PROMPT:
            yield _Passage(first, len(lines), "text", open=True)


def _end(lines: Sequence[_Line], passage: _Passage) -> int:
    """Where a passage without an end mark ends: behind a signature, or before a last paragraph from outside of it."""
    after = range(passage.first + 1, len(lines))
    starts = [number for number in after if lines[number - 1].blank and not lines[number].blank]
    for number, coming in zip_longest(starts, starts[1:]):
        text = lines[number].text.lstrip()[:_LONGEST_LINE]
        if _SMALL_PRINT.match(text):
            continue
        if passage.kind in _SIGNED and _is_signed(lines, passage.first, number):
            return number
        if _AGAIN.match(text) and (coming is None or _starts_next(lines, number, coming)):
            return number
    return len(lines)


_SIGNED: frozenset[Kind] = frozenset({"mail", "text"})


def _is_signed(lines: Sequence[_Line], first: int, number: int) -> bool:
    """Whether a mail's signature ends right before a line: "Best regards," and a name."""
    above = [place for place in range(number - 1, max(first, number - 7), -1) if not lines[place].blank][:3]
    return any(_SIGN_OFF.match(lines[place].text[:_LONGEST_LINE]) for place in above)


def _starts_next(lines: Sequence[_Line], first: int, coming: int) -> bool:
    """Whether the paragraph behind another one, which begins at `first`, is quoted anew."""
    opens = lines[coming].text[:_LONGEST_LINE]
    if _FENCE.match(opens) or _MARKED.match(opens) or _headers(lines, coming)[0] or _DIVIDER.match(opens):
        return True
    last = next(lines[place].text for place in range(coming - 1, first - 1, -1) if not lines[place].blank)
    return _announces(last.strip()[-_LONGEST_LINE:], _source(last))


# Passages within lines.


def _tagged(text: str, lines: Sequence[_Line]) -> Iterator[tuple[int, int, Kind, str]]:
    """What stands between tags: from an opening one to the last closing one of its name, as a page may close early."""
    if found := _MARKUP.search(text):
        yield found.start(), len(text), "page", ""
    tags = list(_TAG.finditer(text)) if "<" in text or "[" in text else []
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
        yield found.start(), stop, _source(name) or ("page" if name in _OF_PAGES else "text"), ""
        place = stop


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


def _inline(text: str, lines: Sequence[_Line], covered: Sequence[Quotation]) -> Iterator[Quotation]:
    """Sentences in quotation marks or backticks, what is announced in the same line, and sentences on the user."""
    taken = [(each.start, each.stop) for each in covered]
    place = 0
    for line in lines:
        while place < len(taken) and taken[place][1] <= line.start:
            place += 1
        spans = taken[place : place + 1]
        if spans and spans[0][0] <= line.start and line.stop <= spans[0][1]:
            continue
        for start, stop, kind, who in _in_line(text, line):
            if not any(first < stop and start < last for first, last in spans):
                yield _quotation(start, stop, kind, who)


def _in_line(text: str, line: _Line) -> list[tuple[int, int, Kind, str]]:
    shown, found = line.text.rstrip("\n"), list[tuple[int, int, Kind, str]]()
    if said := _same_line(shown):
        found.append((line.start + said[0], line.start + len(shown), said[1], said[2]))
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


def _same_line(shown: str) -> tuple[int, Kind, str] | None:
    """Where a text begins that is announced in the same line: "The page says: …"."""
    for found in islice(_COLON.finditer(shown[: 4 * _LONGEST_LINE]), _MOST_COLONS):
        intro = re.split(r"(?<=[.!?…])\s", shown[max(0, found.start() - _LONGEST_LINE) : found.start() + 1])[-1]
        if len(shown) - found.end() < 2:
            return None
        if _is_announced(intro) and not _says_own.search(intro):
            return found.end(), _source(intro) or "text", _named(intro)
    return None


def _in_marks(shown: str) -> Iterator[tuple[int, int, str]]:
    """Whole sentences in quotation marks; those announced by a colon reach to the last mark of the line."""
    place, unclosed = 0, set[str]()
    while found := _OPENS.search(shown, place):
        start, closes = found.start(), _PAIRS[found[0]]
        place = start + 1
        if (start and shown[start - 1].isalnum()) or closes in unclosed:
            continue
        before = shown[max(0, start - _LONGEST_LINE) : start].rstrip()
        introduced = before.endswith((":", "：")) or not before
        ends = [number for number in (shown.rfind(each) for each in closes) if number > start] if introduced else []
        stop = max(ends, default=0) or _closing(shown, start + 1, closes)
        if not stop:
            unclosed.add(closes)
            if not introduced or len(shown) - start < _LEAST_SAID:
                continue
            stop = len(shown) - 1  # it goes on in the next line
        said = shown[start + 1 : stop]
        if _is_said(said, before) and not _says_own.search(before):
            yield start, stop + 1, _named(before)
        place = stop + 1


def _closing(shown: str, start: int, closes: str) -> int:
    """The place of the mark that closes a quotation; 0 if there is none."""
    for number in range(start, len(shown)):
        if shown[number] in closes and not (number + 1 < len(shown) and shown[number + 1].isalnum()):
            return number
    return 0


def _is_said(said: str, before: str) -> bool:
    """Whether what stands in quotation marks is something said, and no title or single word."""
    words = _WORD.findall(said)
    if len(words) < 2:
        return False
    if _SAID_BY.search(before[-80:]):
        return True
    if len(words) < _LEAST_SAID:
        return said.rstrip().endswith((".", "!")) and _FINITE.search(said) is not None and len(words) > 2
    titled = sum(word[0].isupper() or len(word) < 4 for word in words) >= len(words) - 1
    return not titled and _FINITE.search(said) is not None


# Where it is from.


def _quotation(start: int, stop: int, kind: Kind, who: str) -> Quotation:
    if not who:
        origin = _NAMES[kind]
    else:
        origin = who if kind in {"speech", "text", "code", "ticks"} else f"{_NAMES[kind]} from {who}"
    return Quotation(start=start, stop=stop, kind=kind, origin=origin)


def _named(intro: str) -> str:
    """Who is said to have written it; "" if nobody is named."""
    shown = intro[-200:]
    said = _SAID_BY.search(shown)
    found = (said and _NAMED_BEFORE.search(shown[: said.start()])) or _NAMED_BEHIND.search(shown)
    return _person(found["who"]) if found else ""


def _person(said: str) -> str:
    """A name as a person's or company's is written; anything else could pretend to be more than a name."""
    name = re.split(r"[<(\[,;|\n]|\s\S*@", said.strip(" \"'*_\t"))[0].strip(" \"'*_\t")
    if len(name) > _LONGEST_NAME or not _NAME_LIKE.fullmatch(name) or _NOBODY.search(name):
        return ""
    return name if all(word[0].isupper() for word in name.split()) else ""


def _joined(found: Iterable[tuple[int, int, Kind, str]]) -> list[Quotation]:
    """The passages without overlaps: one within another is part of it, and gives it the name that it lacks."""
    joined: list[tuple[int, int, Kind, str]] = []
    for start, stop, kind, who in sorted(found, key=lambda each: (each[0], -each[1])):
        if joined and start < joined[-1][1]:
            first, last, known, name = joined[-1]
            plain = known in {"text", "code"}
            joined[-1] = (
                first,
                max(last, stop),
                kind if plain else known,
                name or (who if plain or kind == known else ""),
            )
        else:
            joined.append((start, stop, kind, who))
    return [_quotation(*each) for each in joined]
