"""Renders an answer with what it cites in words: as notes at its end, or where it is cited."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from langmem_tiers.citations.types import Citation, Cited, CitedKind, Markup, Place, Style, UnknownCitation
from langmem_tiers.language.calendar import MONTHS
from langmem_tiers.naming import is_personal

_LONGEST = 240
# What may stand between two that are cited together.
_BETWEEN = re.compile(r"[ \t]*[,;]?[ \t]*")
_OPEN, _CLOSE = re.compile(r"[ \t]?[\[(][ \t]*\Z"), re.compile(r"[ \t]*[\])]")
_NEAR = 8
# What Markdown, and what GitHub makes of it, could take for more than a sign.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>()#|~!&:@]|(?<=www)\.", re.IGNORECASE)
_NOT_SHOWN = "it is stored, but was not shown for this answer"


def rendered(answer: str, cited: Sequence[Cited], style: Style, markup: Markup) -> str:
    """The answer with what it cites in words; see `Citations.render`."""
    return _Rendering(answer, cited, style, markup).text()


class _Rendering:
    def __init__(self, answer: str, cited: Sequence[Cited], style: Style, markup: Markup) -> None:
        self._answer = answer
        self._style = style
        self._markup = markup
        self._cited = cited
        self._label = _free_label(answer)

    def text(self) -> str:
        """The whole of it."""
        numbered = {(each.kind, each.ref): number for number, each in enumerate(self._cited, 1)}
        at = sorted(((place, each) for each in self._cited for place in each.places), key=lambda pair: pair[0])
        parts, upto = [], 0
        for run in _runs(self._answer, at):
            start, stop, bracketed = _around(self._answer, run)
            parts.append(self._answer[upto:start])
            parts.append(self._said([each for _, each in run], numbered, bracketed=bracketed))
            upto = stop
        body = "".join([*parts, self._answer[upto:]])
        if self._style == "inline" or not self._cited:
            return body
        notes = "\n".join(self._note(number, each) for number, each in enumerate(self._cited, 1))
        return f"{body.rstrip()}\n\n{notes}"

    def _said(self, run: Sequence[Cited], numbered: dict[tuple[CitedKind | None, str], int], *, bracketed: bool) -> str:
        """What stands at one place instead of the references there."""
        if self._style == "inline":
            if not bracketed:
                return ", ".join(f"{self._source(each)} ({self._ref(each)})" for each in run)
            told = "; ".join(self._inline(each) for each in run)
            return f" ({told})"
        marks = "".join(self._mark(numbered[each.kind, each.ref]) for each in run)
        if bracketed:
            return marks
        # Without brackets it is a part of the sentence: "According to §W-001/R-02/D-003, …".
        return f"{', '.join(self._source(each) for each in run)}{marks}"

    def _inline(self, each: Cited) -> str:
        return f"{self._according(each)}, {self._ref(each)}{self._doubt(each)}"

    def _note(self, number: int, each: Cited) -> str:
        mark = self._mark(number)
        head = f"{mark}: " if self._markup == "markdown" else f"{mark} "
        if isinstance(each, UnknownCitation):
            return f"{head}{self._ref(each)} is not in the memory."
        quote = f": “{self._plain(each.text)}”" if each.kind != "session" else ""
        told = self._according(each)
        return f"{head}{told[:1].upper()}{told[1:]} ({self._ref(each)}{self._doubt(each)}){quote}"

    def _according(self, each: Cited) -> str:
        return self._source(each) if isinstance(each, UnknownCitation) else f"according to {self._source(each)}"

    def _doubt(self, each: Cited) -> str:
        """What speaks against it."""
        if isinstance(each, UnknownCitation):
            return ""
        told = [*each.ended, *([_NOT_SHOWN] if each.shown is False else ())]
        return "".join(f"; {self._plain(one)}" for one in told)

    def _source(self, each: Cited) -> str:
        """Who said it when, in words."""
        if isinstance(each, UnknownCitation):
            return "something that is not in the memory"
        return self._plain(_source(each))

    def _ref(self, each: Cited) -> str:
        named = each.kind in {"entry", "episode", "relation", "item"}
        return self._plain(f"{each.kind} {each.ref}" if named else each.ref)

    def _mark(self, number: int) -> str:
        return f"[^{self._label}{number}]" if self._markup == "markdown" else f"[{number}]"

    def _plain(self, text: str) -> str:
        """Stored text on one short line, in which nothing is markup or a control character."""
        line = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * _LONGEST]).split())
        short = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
        return short if self._markup == "text" else _ACTIVE.sub(lambda found: f"\\{found.group()}", short)


def _source(cited: Citation) -> str:
    when = "" if cited.said_at is None else f" on {_day(cited.said_at)}"
    if cited.kind == "message":
        return f"what {_who(cited)}{when}"
    day = "" if cited.said_at is None else f" of {_day(cited.said_at)}"
    return {
        "session": f"our conversation{day}",
        "entry": f"what is known{'' if cited.said_at is None else f' as of {_day(cited.said_at)}'}",
        "episode": f"the summary of our conversation{day}",
        "relation": f"what is known{'' if cited.said_at is None else f' since {_day(cited.said_at)}'}",
        "document": f"the note {cited.ref}",
        "item": f"what was stored{when}",
    }[cited.kind]


def _who(cited: Citation) -> str:
    if cited.role == "user" and cited.speaker and cited.origin == "import":
        return f"{cited.speaker} said"
    if not is_personal(cited.space):
        return f"{cited.speaker or 'somebody'} said in {cited.space}"
    return {"user": "you said", "assistant": "I said", "tool": "a tool returned"}.get(cited.role or "", "was said")


def _day(at: datetime) -> str:
    return f"{at.day} {MONTHS[at.month - 1].capitalize()} {at.year}"


def _runs(answer: str, at: Iterable[tuple[Place, Cited]]) -> Iterator[list[tuple[Place, Cited]]]:
    """What is cited together, with nothing but a comma between."""
    run: list[tuple[Place, Cited]] = []
    for place, each in at:
        if run and not _is_gap(answer, run[-1][0][1], place[0]):
            yield run
            run = []
        run.append((place, each))
    if run:
        yield run


def _is_gap(answer: str, start: int, stop: int) -> bool:
    return stop - start <= _NEAR and _BETWEEN.fullmatch(answer, start, stop) is not None


def _around(answer: str, run: Sequence[tuple[Place, Cited]]) -> tuple[int, int, bool]:
    """Where a run begins and ends, with the brackets around it and the blank before them."""
    start, stop = run[0][0][0], run[-1][0][1]
    before = _OPEN.search(answer[max(start - _NEAR, 0) : start])
    after = _CLOSE.match(answer, stop, stop + _NEAR)
    if before is None or after is None:
        return start, stop, False
    return max(start - _NEAR, 0) + before.start(), after.end(), True


def _free_label(answer: str) -> str:
    """What the labels of notes begin with: nothing that the answer uses for its own."""
    for label in ("m", "memory-"):
        if f"[^{label}" not in answer:
            return label
    return f"m{hashlib.sha256(answer.encode('utf-8', 'replace')).hexdigest()[:12]}-"
