"""Quoted passages of whole lines: mails, chats, logs, fences, announced texts, texts for others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile, zip_longest
from typing import NamedTuple

from langmem_tiers.language.quotation_signs import (
    ADDRESS,
    CASTS,
    CLAUSE,
    HANDED_ON,
    HEADS,
    LONGEST_LINE,
    ON_USER,
    PAIRS,
    SIGNED_AT_END,
    TAG,
    Kind,
    Line,
    Quotation,
    is_announced,
    is_own_text,
    named,
    person,
    quotation,
    says_own,
    source,
)
from langmem_tiers.language.quoted_spans import closing
from langmem_tiers.language.word_lists import named_pattern, table

_HEADERS: dict[str, str] = {
    label: name for name, labels in table("quotations")["headers"].items() for label in labels.split()
}
_FROM = frozenset(table("quotations")["headers"]["from"].split())
_LEAST_HEADERS = 2
_MOST_HEADERS = 12
_LEAST_SPOKEN = 2  # lines of a chat that make one
_LEAST_OF_HEAD = 3  # words, if there is but one: "Lunch 12:30" may be an appointment
_SET_APART = re.compile(r"\w(?:[ \t]{2,8}|\t)\d")
_LEAST_LOGGED = 3
_LONGEST_INTRO = 40  # words
_HEADER = re.compile(
    r"[ \t>*_]{0,8}(?P<label>[^\W\d_][^\s:：*_]{0,14}(?: à)?)[*_]{0,3} ?[:：][*_]{0,3}(?P<value>[^\n]*)"
)
_FENCE = re.compile(r"\s{0,8}(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
_MARKED = re.compile(r"[ \t]{0,8}(?:>|&gt;|＞|[›❯|][ \t])")
_ROW = re.compile(r"[ \t]{0,8}\|.*\|\s*$")
_URL = re.compile(r"<?(?:https?://|www\.)\S{3,500}\s*$")
_HOME = re.compile(r"<?(?:https?://|www\.)[^/\s]{3,200}/?>?$")
_HEADING = re.compile(r"#{1,6} +\S|={4,}\s*$")
_OF_ONESELF = re.compile(r"\b(?:me|[Mm]y|I|mine|myself|us|our)\b")
_DIVIDER = named_pattern("quotations", "divider")
_ATTRIBUTION = named_pattern("quotations", "attribution")
_ASKED_OF = named_pattern("quotations", "asked_of")
_COMES_ABROAD = named_pattern("quotations", "comes_next_abroad")
_COMES_NEXT = named_pattern("quotations", "comes_next")
_POINTS_AHEAD = named_pattern("quotations", "points_ahead")
_SPEAKER = named_pattern("quotations", "speaker")
_STAMPED = named_pattern("quotations", "stamped")
_LOGGED = named_pattern("quotations", "logged")
_DASHED = named_pattern("quotations", "dashed")
_CHAT_HEAD = named_pattern("quotations", "chat_head")
_CHAT_TIME = named_pattern("quotations", "chat_time")
_CHAT_WHO = named_pattern("quotations", "chat_who")
_SIGN_OFF = named_pattern("quotations", "sign_off")
_SMALL_PRINT = named_pattern("quotations", "small_print")
_POSTSCRIPT = re.compile(r"(?i)[ \t>]{0,8}p\.? ?s\b")
_AGAIN = named_pattern("quotations", "again")
_OUTSIDE = named_pattern("quotations", "outside")
_ASKS_ABOUT_IT = named_pattern("quotations", "asks_about_it")
_OPENS_LINE = re.compile(r"(?:^[ \t*_]{0,8}|[:：][ \t]{0,3})(?P<mark>[\"“„«»「『‹‘‚'])(?=\w)")
_RULE = re.compile(r"[ \t]{0,8}(?P<sign>[-_=*~#+<>\"'.])(?:[ \t]?(?P=sign)){2,200}[ \t]*$")
_OPPOSITE = {">": "<"}
_BEGINS = named_pattern("quotations", "begins")
_PLAINLY_BEGINS = named_pattern("quotations", "plainly_begins")
_ENDS = named_pattern("quotations", "ends")
_SIGNED_BELOW = named_pattern("quotations", "signed_below")
_NAME_LINE = named_pattern("quotations", "name_line")
_CARD = named_pattern("quotations", "card")
_SALUTATION = named_pattern("quotations", "salutation")
_GREETS = named_pattern("quotations", "greets")
_SENT_FROM = re.compile(r"(?i)[ \t]{0,8}(?:sent from my |get outlook for )")
_REACHED_AT = re.compile(r"\S@\S|\+?\d[\d ()/-]{6,20}")
_LONGEST_CARD = 8
_OF_PROMPTS = tuple(named_pattern("quotations", name) for name in ("of_models", "of_rules", "of_replies", "of_user"))
_LEAST_OF_PROMPT = 2


class _Passage(NamedTuple):
    """A quotation in whole lines, from one number to before another; `open` if nothing marks its end.

    The first `skipped` characters are the user's own.
    """

    first: int
    last: int
    kind: Kind
    who: str = ""
    open: bool = False
    skipped: int = 0


def passages(lines: Sequence[Line]) -> Iterator[tuple[int, int, Kind, str]]:
    """The passages, those without an end mark cut where the author speaks again."""
    until = 0
    for each in sorted(_passages(lines)):
        if not each.open:
            yield lines[each.first].start + each.skipped, lines[each.last - 1].stop, each.kind, each.who
        elif each.first >= until:
            until = _end(lines, each)
            yield lines[each.first].start + each.skipped, lines[until - 1].stop, each.kind, each.who
        else:  # a part of what is quoted, which may say better what it is
            yield lines[each.first].start, lines[each.first].stop, each.kind, each.who


def _passages(lines: Sequence[Line]) -> Iterator[_Passage]:
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line.text)]
    if fences:
        yield from _fenced(lines, fences)
    inside = _in_fences(lines, fences)
    yield from _quoted_lines(lines)
    yield from _mails(lines)
    yield from _chats(lines)
    yield from _copied_chats(lines)
    yield from _interviews(lines)
    yield from _announced(lines, inside)
    yield from _by_register(lines, inside)
    yield from _headed(lines)
    yield from _prompts(lines)
    yield from _signed(lines)
    if len(lines) > 1:
        yield from _in_marks(lines)
        yield from _ruled_off(lines, inside)


def _in_marks(lines: Sequence[Line]) -> Iterator[_Passage]:
    """From a quotation mark that opens at the beginning of a line, or behind a colon, to the line that closes it."""
    opened = [(number, found) for number, line in enumerate(lines) if (found := _OPENS_LINE.search(line.text))]
    opened = [each for each in opened if not closing(lines[each[0]].text.rstrip("\n"), each[1].end(), each[1]["mark"])]
    ends = {mark: _last_closed(lines, mark) for mark in {found["mark"] for _, found in opened}}
    until = 0
    for number, found in opened:
        last = ends[found["mark"]]
        if until <= number < last:
            until = last + 1
            yield _Passage(
                number, until, "text", named(found.string[: found.start("mark")]), skipped=found.start("mark")
            )


def _last_closed(lines: Sequence[Line], mark: str) -> int:
    """The last line that closes a quotation mark which it has not opened; -1 without one."""
    shown = ((number, lines[number].text.rstrip(" .,!?…\n")) for number in range(len(lines) - 1, -1, -1))
    ending = ((number, text) for number, text in shown if text.endswith(tuple(PAIRS[mark])))
    return next((number for number, text in ending if not _pairs_up(text, mark, PAIRS[mark])), -1)


def _pairs_up(shown: str, opening: str, closes: str) -> bool:
    """Whether what a line closes was opened in it."""
    if opening in closes:
        return shown.count(opening) % 2 == 0
    return shown.count(opening) >= sum(map(shown.count, closes))


def _ruled_off(lines: Sequence[Line], inside: set[int]) -> Iterator[_Passage]:
    """What stands between lines of the same signs, such as "---", or between BEGIN and END."""
    ruled: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if number not in inside and not line.blank and (found := _RULE.match(line.text)):
            ruled.setdefault(_OPPOSITE.get(found["sign"], found["sign"]), []).append(number)
    for first, last in ((places[0], places[-1]) for places in ruled.values()):
        if last - first > 1 and not any(is_own_text(line.text[:LONGEST_LINE]) for line in lines[:first]):
            yield _Passage(first, last + 1, "text")
    begins = next((number for number, line in enumerate(lines) if _BEGINS.match(line.text)), None)
    ends = [number for number, line in enumerate(lines) if _ENDS.match(line.text)]
    if begins is not None and ends and ends[-1] > begins:
        yield _Passage(begins, ends[-1] + 1, "text")


def _signed(lines: Sequence[Line]) -> Iterator[_Passage]:
    """What stands above somebody's name: "… -- Tom", "— Tom, 3 March", or the signature of a business mail."""
    written = [number for number, line in enumerate(lines) if not line.blank]
    letters: list[_Passage] = []
    greets = any(_GREETS.match(lines[number].text[:LONGEST_LINE]) for number in written[:-1])
    paragraph, above = 0, ""
    for place, number in enumerate(written):
        paragraph = number if number and lines[number - 1].blank else paragraph
        text = lines[number].text[:LONGEST_LINE]
        if SIGNED_AT_END.search(lines[number].text[-LONGEST_LINE:]):
            yield _Passage(paragraph, number + 1, "text")
        elif (found := _SIGNED_BELOW.match(text)) and _ends_sentence(above):
            letters.append(_Passage(number, number + 1, "text", person(found["who"])))
        elif greets and _SENT_FROM.match(text):
            letters.append(_Passage(number, number + 1, "mail"))
        elif size := _card(lines, written[place : place + _LONGEST_CARD], above, greets=greets):
            letters.append(_Passage(number, written[place + size - 1] + 1, "mail", person(text)))
        above = text
    if letters:
        begins = _letters_begin(lines)
        yield from (
            each._replace(first=max(0, next(place for place in begins if place < each.first))) for each in letters
        )


def _ends_sentence(text: str) -> bool:
    return text.rstrip(" \n\"”»“'’*_").endswith((".", "!", "?", "…")) and not _SIGN_OFF.match(text)


def _letters_begin(lines: Sequence[Line]) -> tuple[int, ...]:
    """Where a signed text may begin, the likeliest first: at a salutation, behind a first question, above all."""
    greets = (number for number, line in enumerate(lines) if _SALUTATION.match(line.text[:LONGEST_LINE]))
    asks = (number for number, line in enumerate(lines) if line.blank and number)
    behind = (number + 1 for number in asks if lines[number - 1].text.rstrip().endswith("?"))
    return next(greets, len(lines)), next(behind, len(lines)), -1


def _card(lines: Sequence[Line], numbers: Sequence[int], above: str, *, greets: bool) -> int:
    """How many lines a signature has that begins here with a name: a job, a company, an address; 0 if it is none.

    The name is enough below a sign-off, or an address below the name, in a letter that `greets` somebody.
    """
    shown = [lines[number].text[:LONGEST_LINE] for number in numbers]
    if not _NAME_LINE.match(shown[0]):
        return 0
    below = [*takewhile(_CARD.search, shown[1:])]
    reached = len(below) > (not greets) and any(_REACHED_AT.search(each) for each in below)
    signed = _SIGN_OFF.match(above) is not None
    return 1 + len(below) if reached or (signed and (below or greets)) else 0


def _fenced(lines: Sequence[Line], fences: Sequence[int]) -> Iterator[_Passage]:
    """From each fence to the next; an odd one may be part of what is quoted, and nothing between counts then."""
    if len(fences) % 2:
        alone = len(fences) == 1
        yield _Passage(fences[0], len(lines) if alone else fences[-1] + 1, "code", open=alone)
        return
    for first, last in zip(fences[::2], fences[1::2], strict=True):
        yield _Passage(first, last + 1, "code")


def _in_fences(lines: Sequence[Line], fences: Sequence[int]) -> set[int]:
    pairs = zip(fences[::2], [*fences[1::2], len(lines)], strict=False)
    return {number for first, last in pairs for number in range(first, last + 1)}


def _quoted_lines(lines: Sequence[Line]) -> Iterator[_Passage]:
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
        table = _ROW.match(lines[lazy - 1].text[:LONGEST_LINE])
        while not table and lazy < len(lines) and not lines[lazy].blank and lines[lazy - 1].text.strip(" >\t\n"):
            lazy += 1
        yield _Passage(first, lazy, "text", _who_above(lines, first))
        number = lazy


def _who_above(lines: Sequence[Line], first: int) -> str:
    """Who is named in the line above: "Anna wrote:"."""
    above = next(
        (lines[number].text for number in range(first - 1, max(-1, first - 3), -1) if not lines[number].blank), ""
    )
    return named(above[-LONGEST_LINE:]) if above.rstrip().endswith((":", "：")) else ""


def _mails(lines: Sequence[Line]) -> Iterator[_Passage]:
    """What follows headers of a mail, a divider such as "Begin forwarded message:", or "On Monday, Anna wrote:"."""
    number = 0
    while number < len(lines):
        if lines[number].blank:
            number += 1
            continue
        text = lines[number].text[:LONGEST_LINE]
        headers, sender = _headers(lines, number)
        if headers:
            yield _Passage(number, len(lines), "mail", sender, open=True)
            number += headers
        elif _DIVIDER.match(text):
            yield _Passage(number, len(lines), "mail", _sender_below(lines, number), open=True)
        elif found := _ATTRIBUTION.match(text):
            marked = next((line for line in lines[number + 1 : number + 3] if not line.blank), None)
            if marked is not None and not _MARKED.match(marked.text):
                yield _Passage(number, len(lines), "mail", person(found["who"] or ""), open=True)
        number += 1


def _headers(lines: Sequence[Line], first: int) -> tuple[int, str]:
    """How many header lines begin here, if there are enough different ones, and who sent it."""
    names, sender, number = set[str](), "", first
    while number < min(first + _MOST_HEADERS, len(lines)) and (
        found := _HEADER.match(lines[number].text[:LONGEST_LINE])
    ):
        label = found["label"].casefold()
        if label not in _HEADERS or not found["value"].strip():
            break
        names.add(_HEADERS[label])
        if label in _FROM and not sender:
            sender = person(found["value"])
        number += 1
    return (number - first, sender) if len(names) >= _LEAST_HEADERS else (0, "")


def _sender_below(lines: Sequence[Line], number: int) -> str:
    return next(
        (sender for place in range(number + 1, min(number + 4, len(lines))) if (sender := _headers(lines, place)[1])),
        "",
    )


def _chats(lines: Sequence[Line]) -> Iterator[_Passage]:
    """Lines with their speakers, and logs: from the first to the last one, and what belongs to it."""
    written = [(number, line) for number, line in enumerate(lines) if not line.blank]
    for pattern, least, kind in (
        (_SPEAKER, _LEAST_SPOKEN, "chat"),
        (_STAMPED, 1, "chat"),
        (_LOGGED, _LEAST_LOGGED, "log"),
    ):
        found = [number for number, line in written if pattern.match(line.text[:LONGEST_LINE])]
        if kind == "chat" and pattern is _SPEAKER:
            found = [number for number in found if not _is_header(lines[number].text)]
        if len(found) < least or (pattern is _SPEAKER and not _near(found)):
            continue
        last = found[-1] + 1
        while last < len(lines) and not lines[last].blank:
            last += 1
        yield _Passage(found[0], last, kind)  # type: ignore[arg-type]


def _copied_chats(lines: Sequence[Line]) -> Iterator[_Passage]:
    """What stands below "Anna Berg  10:42 AM", as chats are copied, in one line or two."""
    heads = [(number, head) for number in range(len(lines) - 1) if (head := _chat_head(lines, number))]
    plain = len(heads) == 1 and len(heads[0][1].split()) < _LEAST_OF_HEAD and not _SET_APART.search(heads[0][1])
    if heads and not plain:
        yield _Passage(heads[0][0], len(lines), "chat", open=True)


def _chat_head(lines: Sequence[Line], number: int) -> str:
    """The name and the time above a line of a chat that begins here; "" if none, or if nothing is said below."""
    text, after = lines[number].text[:LONGEST_LINE], lines[number + 1].text[:LONGEST_LINE]
    if _CHAT_HEAD.match(text):
        head, said = text, number + 1
    elif _CHAT_TIME.match(after) and _CHAT_WHO.match(text):
        head, said = f"{text} {after}", number + 2
    else:
        return ""
    below = next((each for each in lines[said : said + 2] if not each.blank), None)
    return "" if below is None or _CHAT_HEAD.match(below.text[:LONGEST_LINE]) else head


def _interviews(lines: Sequence[Line]) -> Iterator[_Passage]:
    """Lines such as "Guest — I was born in Ghent." if one asks, or speaks again after another."""
    spoken = {number: found["who"] for number, line in enumerate(lines) if (found := _DASHED.match(line.text[:80]))}
    if len(spoken) < _LEAST_SPOKEN or not _near([*spoken]):
        return
    asks = any(lines[number].text.rstrip().endswith("?") for number in spoken)
    who = Counter(spoken.values())
    if len(who) > 1 and (asks or max(who.values()) > 1):
        yield _Passage(min(spoken), len(lines), "chat", open=True)


def _is_header(text: str) -> bool:
    found = _HEADER.match(text[:LONGEST_LINE])
    return found is not None and found["label"].casefold() in _HEADERS


def _near(found: Sequence[int]) -> bool:
    """Whether two of these lines follow one another, as speakers do."""
    return any(after - before <= 2 for before, after in pairwise(found))


def _announced(lines: Sequence[Line], inside: set[int]) -> Iterator[_Passage]:
    """What follows a line that says that a text of somebody else comes: "Here is the mail:", "The page says:"."""
    for number, line in enumerate(lines):
        if number in inside or line.blank or _MARKED.match(line.text):
            continue
        text = line.text.strip()[-LONGEST_LINE:]
        if not (text.endswith((":", "：")) or _asks_for(text) or _URL.match(text)):
            continue
        if _HOME.match(text) and number + 1 < len(lines) and not lines[number + 1].blank:
            continue  # whose page it is, as in "https://acme.example", and what one says of it
        near = range(number + 1, min(number + 4, len(lines)))
        below = next((place for place in near if not lines[place].blank), None)
        if below is None:
            continue
        kind = source(text)
        if _announces(text, kind):
            last = below + 1 if _is_marked(lines[below].text) else _marked_until(lines, below)
            yield _Passage(below, last or len(lines), kind or "text", named(text), open=not last)
        elif _URL.match(text):
            yield _Passage(number, len(lines), "page", open=True)


def announces_more(lines: Sequence[Line]) -> bool:
    """Whether a message ends where it says that somebody else's text comes: "Here is the mail:", headers of a mail."""
    written = [number for number, line in enumerate(lines) if not line.blank]
    if not written:
        return False
    last = lines[written[-1]].text.strip()[-LONGEST_LINE:]
    ahead = last.endswith((":", "：")) or _POINTS_AHEAD.search(last) or _COMES_NEXT.search(last)
    if (ahead or _COMES_ABROAD.search(last)) and _announces(last, source(last)):
        return True
    if _DIVIDER.match(last) or _ATTRIBUTION.match(last):
        return True
    near = written[-_MOST_HEADERS:]
    return any(_headers(lines, number)[0] == written[-1] - number + 1 for number in near)


def fences(text: str) -> int:
    """How many lines of a text open or close a fence."""
    return sum(_FENCE.match(line) is not None for line in text.splitlines()) if "```" in text or "~~~" in text else 0


def never_ends(text: str) -> bool:
    """Whether a line such as "-----BEGIN MAIL-----" has none behind it that ends it."""
    open_ = False
    for line in text.splitlines():
        shown = line[:LONGEST_LINE]
        open_ = _PLAINLY_BEGINS.match(shown) is not None or (open_ and not _ENDS.match(shown))
    return open_


def _is_marked(text: str) -> bool:
    """Whether a passage has marks of its own, which say where it ends."""
    shown = text[:LONGEST_LINE]
    return any(pattern.match(shown) for pattern in (_MARKED, _FENCE, TAG, _STAMPED, _LOGGED))


def _marked_until(lines: Sequence[Line], first: int) -> int:
    """Behind the last line that closes a quotation mark, if one opens here; 0 without such a line."""
    opening = lines[first].text.lstrip()[:1]
    closes = PAIRS.get(opening, "")
    ends = (
        number for number in range(len(lines) - 1, first - 1, -1) if lines[number].text.rstrip().endswith(tuple(closes))
    )
    return next(ends, -1) + 1 if closes else 0


def _announces(text: str, kind: Kind | None) -> bool:
    if len(text.split()) > _LONGEST_INTRO and not text.endswith((":", "：")):
        return False
    if text.endswith((":", "：")):
        last = re.split(r"(?<=[.!?…])\s", text)[-1]
        announced = is_announced(last) or _asks_for(last) or (kind and not says_own.search(last))
        return bool(announced) and not is_own_text(last)
    return _asks_for(text) and not is_own_text(text)


def _asks_for(text: str) -> bool:
    """Whether words without a colon ask for work on a text that follows, or say that one does."""
    return any(pattern.search(text) for pattern in (_ASKED_OF, _COMES_NEXT, _COMES_ABROAD))


def _by_register(lines: Sequence[Line], inside: set[int]) -> Iterator[_Passage]:
    """What speaks to others than the assistant, or of the user: "Dear customer", "The user loves …", small print."""
    headed = [number for number, line in enumerate(lines) if _HEADING.match(line.text) and number not in inside]
    if len(lines) > 2 and headed and not any(_OF_ONESELF.search(lines[number].text[:200]) for number in headed):
        yield _Passage(headed[0], len(lines), "document", open=True)
    for number, line in enumerate(lines):
        if line.blank:
            continue
        text = line.text[:LONGEST_LINE]
        if CLAUSE.match(text):
            yield _Passage(number, len(lines), "document", open=True)
        elif ON_USER.match(text):
            yield _Passage(number, number + 1, "text")
        elif _SMALL_PRINT.match(text) and (number or not _POSTSCRIPT.match(text)):
            yield _Passage(number, number + 1, "mail")
    yield from _addressed(lines)


def _addressed(lines: Sequence[Line]) -> Iterator[_Passage]:
    """A letter to others than the assistant, if no line above says that it is the user's own."""
    found = [number for number, line in enumerate(lines) if ADDRESS.match(line.text[:LONGEST_LINE])]
    above = range(found[-1] if found else 0)
    own = next((number for number in above if is_own_text(lines[number].text[:LONGEST_LINE])), len(lines))
    for number in found:
        if number <= own:
            yield _Passage(number, len(lines), "mail", open=True)


def _headed(lines: Sequence[Line]) -> Iterator[_Passage]:
    """What stands below a title, an author or a number of a ticket, or behind words that hand it on in its line."""
    first = 0  # line of the paragraph
    for number, line in enumerate(lines):
        if line.blank:
            first = number + 1
            continue
        text = line.text[:LONGEST_LINE]
        if any(pattern.match(text) for pattern in HEADS):
            yield _Passage(first, len(lines), source(text) or "text", open=True)
        elif (found := HANDED_ON.search(text)) and (line.text[found.end() :].strip() or number + 1 < len(lines)):
            kind = source(text[: found.end()]) or "text"
            yield _Passage(number, len(lines), kind, open=True, skipped=found.end())


def asked_about(lines: Sequence[Line]) -> Iterator[Quotation]:
    """What stands above a last line that asks for work on "this page", or speaks of the text above."""
    last = next((number for number in range(len(lines) - 1, -1, -1) if not lines[number].blank), 0)
    asked = lines[last].text[-LONGEST_LINE:] if last else ""
    if _ASKS_ABOUT_IT.search(asked) and not (is_own_text(asked) or is_own_text(lines[0].text[:LONGEST_LINE])):
        yield quotation(lines[0].start, lines[last - 1].stop, source(asked) or "text", "")


def _prompts(lines: Sequence[Line]) -> Iterator[_Passage]:
    """What is written for a language model, from where it is given a part to play."""
    first = next((number for number, line in enumerate(lines) if CASTS.search(line.text)), None)
    if first is not None:
        said = "".join(line.text for line in lines)
        if sum(pattern.search(said) is not None for pattern in _OF_PROMPTS) >= _LEAST_OF_PROMPT:
            yield _Passage(first, len(lines), "text", open=True)


def _end(lines: Sequence[Line], passage: _Passage) -> int:
    """Where a passage without an end mark ends: behind a signature, or before a last paragraph from outside of it."""
    after = range(passage.first + 1, len(lines))
    starts = [number for number in after if lines[number - 1].blank and not lines[number].blank]
    for number, coming in zip_longest(starts, starts[1:]):
        text = lines[number].text.lstrip()[:LONGEST_LINE]
        if _SMALL_PRINT.match(text):
            continue
        if passage.kind in _SIGNED and _is_signed(lines, passage.first, number):
            return number
        if _speaks_again(lines, number, coming) and (coming is None or _starts_next(lines, number, coming)):
            return number
    return len(lines)


def _speaks_again(lines: Sequence[Line], first: int, coming: int | None) -> bool:
    """Whether a paragraph speaks of what was pasted, or of oneself besides: where it begins, or where it ends."""
    if _AGAIN.match(lines[first].text.lstrip()[:LONGEST_LINE]):
        return True
    ending = next(lines[number] for number in range((coming or len(lines)) - 1, -1, -1) if not lines[number].blank)
    return _OUTSIDE.search(ending.text[-LONGEST_LINE:]) is not None


_SIGNED: frozenset[Kind] = frozenset({"mail", "text"})


def _is_signed(lines: Sequence[Line], first: int, number: int) -> bool:
    """Whether a mail's signature ends right before a line: "Best regards," and a name."""
    above = [place for place in range(number - 1, max(first, number - 7), -1) if not lines[place].blank][:3]
    return any(_SIGN_OFF.match(lines[place].text[:LONGEST_LINE]) for place in above)


def _starts_next(lines: Sequence[Line], first: int, coming: int) -> bool:
    """Whether the paragraph behind another one, which begins at `first`, is quoted anew."""
    opens = lines[coming].text[:LONGEST_LINE]
    if _FENCE.match(opens) or _MARKED.match(opens) or _headers(lines, coming)[0] or _DIVIDER.match(opens):
        return True
    last = next(lines[place].text for place in range(coming - 1, first - 1, -1) if not lines[place].blank)
    return _announces(last.strip()[-LONGEST_LINE:], source(last))
