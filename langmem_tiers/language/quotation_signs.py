"""What a quotation is, where it is from, and the signs that several ways to find one look for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

from langmem_tiers.language.word_lists import named_pattern

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
LONGEST_LINE = 400  # characters of a line that is looked at for what it announces
_LONGEST_NAME = 40
TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][\w:.-]{0,40})(?=[\s/>])[^<>]{0,1000}>|\[(?P<shut>/?)(?P<mark>quote|code|cite)\b[^\]\n]{0,80}\]"
)
PAIRS = {"“": "”", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』", "‹": "›", '"': '"', "”": "”"}
PAIRS |= {"❝": "❞", "＂": "＂"}
PAIRS |= {"‘": "’", "‚": "‘’", "'": "'"}
SINGLE = frozenset("‘‚'")
"""Marks that also are apostrophes: they close behind the end of a sentence or a line only."""
_NAME_LIKE = re.compile(r"[^\W\d_][^\W\d_.'’-]{0,20}\.?(?: [^\W\d_][^\W\d_.'’-]{0,20}\.?){0,3}")
_NOBODY = re.compile(
    r"\b(?:users?|assistant|system|memory|developer|admin\w*|human|tool|me|myself|own)\b", re.IGNORECASE
)
says_own = named_pattern("quotations", "own_speech")
_OWN_TEXT = named_pattern("quotations", "own_text")
_OF_AUTHOR = re.compile(r"\b(?:I|[Ww]e|[Yy]ou)(?:['’]ve| have)?(?: just| also| already)? $")
_SAYS_SO = named_pattern("quotations", "says_so")
_ANNOUNCED = named_pattern("quotations", "announced")
_ABROAD = named_pattern("quotations", "announced_abroad")
_SOURCES = {kind: named_pattern("quotations", f"source_{kind}") for kind in ("mail", "page", "document", "chat", "log")}
ASIDE = named_pattern("quotations", "aside")
OF_ONESELF = named_pattern("quotations", "of_oneself")
SAID_BY = named_pattern("quotations", "said_by")
LIKENED_TO = named_pattern("quotations", "likened_to")
_NAMED_BEFORE = named_pattern("quotations", "named_before")
_NAMED_BEHIND = named_pattern("quotations", "named_behind")
_POINTS_AT = named_pattern("quotations", "points_at")
_POINTED_AT = named_pattern("quotations", "pointed_at")
ADDRESS = named_pattern("quotations", "address")
CASTS = named_pattern("quotations", "casts")
ON_USER = named_pattern("quotations", "on_user")
CLAUSE = named_pattern("quotations", "clause")
HANDED_ON = named_pattern("quotations", "handed_on")
SIGNED_AT_END = named_pattern("quotations", "signed_at_end")
HEADS = tuple(named_pattern("quotations", name) for name in ("title", "byline", "ticket", "taken_down"))
"""What stands above a text that somebody else wrote, or opens its first line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotation:
    """A passage from `start` to `stop` that somebody else wrote.

    `origin` is what the message says it is, such as "a mail from Tom Baker".
    """

    start: int
    stop: int
    kind: Kind
    origin: str


class Line(NamedTuple):
    """A line of a text, with its end, and where it stands."""

    start: int
    stop: int
    text: str
    blank: bool


def lines_of(text: str) -> list[Line]:
    """The lines of a text; blank lines that follow one another are one."""
    found, place = [], 0
    for blank, group in groupby(text.splitlines(keepends=True), str.isspace):
        for line in ("".join(group),) if blank else group:
            found.append(Line(place, place + len(line), line, blank))
            place += len(line)
    return found


def is_announced(intro: str) -> bool:
    """Whether words before a colon say that somebody else's text comes."""
    here = _POINTS_AT.search(intro)
    shown = "" if here is None else intro[here.end() :]
    pointed = _POINTED_AT.search(shown) is not None or source(shown) is not None
    return pointed or any(pattern.search(intro) for pattern in (_SAYS_SO, _ANNOUNCED, _ABROAD))


def is_own_text(intro: str) -> bool:
    """Whether words say that a text is one's own, or about oneself: "my bio", "I wrote this", "for my doctor"."""
    if not _OWN_TEXT.search(intro):
        return False
    said = _SAYS_SO.search(intro)
    return said is None or _OF_AUTHOR.search(intro[: said.start()]) is not None


def source(text: str) -> Kind | None:
    """What kind of text some words speak of: "the mail below"; None if of none."""
    return next((kind for kind, pattern in _SOURCES.items() if pattern.search(text)), None)  # type: ignore[misc]


def quotation(start: int, stop: int, kind: Kind, who: str) -> Quotation:
    """A quotation of somebody, or of nobody who is named."""
    if not who:
        origin = _NAMES[kind]
    else:
        origin = who if kind in {"speech", "text", "code", "ticks"} else f"{_NAMES[kind]} from {who}"
    return Quotation(start=start, stop=stop, kind=kind, origin=origin)


def named(intro: str) -> str:
    """Who is said to have written it; "" if nobody is named."""
    shown = intro[-200:]
    said = SAID_BY.search(shown)
    found = (said and _NAMED_BEFORE.search(shown[: said.start()])) or _NAMED_BEHIND.search(shown)
    return person(found["who"]) if found else ""


def person(said: str) -> str:
    """A name as a person's or company's is written; anything else could pretend to be more than a name."""
    name = re.split(r"[<(\[,;|\n]|\s\S*@", said.strip(" \"'*_\t"))[0].strip(" \"'*_\t")
    if len(name) > _LONGEST_NAME or not _NAME_LIKE.fullmatch(name) or _NOBODY.search(name):
        return ""
    return name if all(word[0].isupper() for word in name.split()) else ""
