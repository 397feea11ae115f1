"""Quotations: the passages of a message that somebody else wrote, and where they are from.

A message that forwards a mail, shows a page or pastes a log is the user's word only around that. What is quoted is
told by signs that need no understanding: marks of quotation, headers of mails, fences and tags, speakers of a chat,
and lines that announce a text. A passage with an end mark of its own ends there. One without goes on to the end of
the message, unless its mail is signed or the last paragraph speaks of it from outside: rather a statement of the user
is missed than a stranger's one taken for theirs. Everything is linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace

from langmem_tiers.language.quotation_signs import (
    ADDRESS,
    CASTS,
    CLAUSE,
    HANDED_ON,
    HEADS,
    LONGEST_LINE,
    ON_USER,
    SIGNED_AT_END,
    Kind,
    Quotation,
    lines_of,
    quotation,
)
from langmem_tiers.language.quoted_lines import asked_about, passages
from langmem_tiers.language.quoted_spans import inline, tagged
from langmem_tiers.language.remembering import remembered
from langmem_tiers.language.roles import spoken_as_another
from langmem_tiers.language.sentences import Sentence, sentences
from langmem_tiers.types import Drawer


@remembered
def quotations(text: str) -> tuple[Quotation, ...]:
    r"""The passages of a message that are not its author's own words, in order, without overlaps.

    Example:
        >>> [each.origin for each in quotations("Anna wrote:\n> I moved to Porto.")]
        ['Anna']
    """
    played = [(start, stop, _TEXT, "") for start, stop in spoken_as_another(text)]
    if not (played or _may_quote(text)):
        return ()
    lines = lines_of(text)
    blocks = [*tagged(text, lines), *passages(lines), *played]
    covered = _joined(blocks)
    found = (*covered, *inline(text, lines, covered)) or (*asked_about(lines),)
    return tuple(sorted(found, key=lambda each: each.start))


def quoted_in(message: Drawer) -> tuple[Quotation, ...]:
    """What a user's message only quotes: all of it if it goes on with what the one before announced."""
    if message.role != "user":
        return ()
    found = quotations(message.content)
    if message.origin != "quoted":
        return found
    whole = quotation(0, len(message.content), "text", "")
    return (replace(whole, origin=found[0].origin) if found else whole,)


def own_words_of(message: Drawer) -> str:
    """A user's message with blanks for what it only quotes."""
    return blanked(message.content, quoted_in(message))


def own_words(text: str) -> str:
    r"""The message with blanks for whatever is quoted in it: all positions stay as they are.

    Example:
        >>> own_words("> I moved to Porto.\n\nI live in Oslo.").strip()
        'I live in Oslo.'
    """
    return blanked(text, quotations(text))


def own_sentences(text: str) -> str:
    r"""As `own_words`, with blanks also for the sentences in which something is quoted: half of one says another thing.

    Example:
        >>> own_sentences('I live in Oslo. Anna said "I want to go home." and I cried.').strip()
        'I live in Oslo.'
    """
    quoted = quotations(text)
    shown = blanked(text, quoted)
    starts = [each.start for each in quoted]
    parts, place = [], 0
    for each in sentences(shown) if quoted else ():
        follows = bisect_left(starts, each.start)
        if follows < len(starts) and starts[follows] <= _reach(each, text):
            parts += [shown[place : each.start], _hidden(each.text)]
            place = each.stop
    return "".join((*parts, shown[place:]))


def announces(sentence: Sentence, text: str) -> bool:
    """Whether a sentence of a message's own words only says that a quotation comes: "My boss wrote:"."""
    end = sentence.start + len(sentence.text.rstrip(" ."))
    follows = _NEXT.search(text, end, _reach(sentence, text) + 1)
    return follows is not None and any(each.start <= follows.start() < each.stop for each in quotations(text))


def _reach(sentence: Sentence, text: str) -> int:
    """The end of a sentence; behind a colon, where the text goes on."""
    if not sentence.text.endswith((":", "：")):
        return sentence.stop
    goes_on = _NEXT.search(text, sentence.stop)
    return goes_on.start() if goes_on else sentence.stop


_NEXT = re.compile(r"\S")


def blanked(text: str, quoted: Iterable[Quotation]) -> str:
    """The text with blanks for these passages."""
    parts, place = [], 0
    for each in quoted:
        said = text[each.start : each.stop]
        hidden = _hidden(said)
        if (
            (each.kind == "speech" or text[each.stop : each.stop + 1] == " ")
            and _ENDED.search(said)
            and _BEGINS.match(text, each.stop)
        ):
            hidden = f"{hidden[:-1]}."  # the sentence ends with what is quoted
        parts += [text[place : each.start], hidden]
        place = each.stop
    return "".join((*parts, text[place:])) if parts else text


def _hidden(text: str) -> str:
    """Blanks in lines of the same lengths."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


_ENDED = re.compile(r"[.!?…][\"”»“』」›]?\Z")
_BEGINS = re.compile(r"\s+[^\Wa-z]|\s*$")


def marked(text: str, quoted: Iterable[Quotation], start: int = 0, stop: int | None = None) -> str:
    r"""A part of a text, with what is quoted in it in lines of their own that begin with ">".

    Nothing that is quoted stands in another line, whatever its words are. What somebody said, or code, stays in its
    line if it has marks of its own there.

    Example:
        >>> text = "FYI: The shop moved to Porto."
        >>> marked(text, quotations(text))
        'FYI:\n> The shop moved to Porto.'
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


_TEXT: Kind = "text"
_HINTS = re.compile('[\n:>＞`<"＂“❝„«»「『‹›‘‚：\\[{]')
_SINGLE_OPENS = re.compile(r"'(?<!\w')\w")


def _may_quote(text: str) -> bool:
    """Whether a text has any of the signs at all: most messages have none."""
    return (
        any(pattern.search(text) for pattern in (_HINTS, _SINGLE_OPENS, CASTS, HANDED_ON))
        or any(pattern.match(text) for pattern in (ADDRESS, ON_USER, CLAUSE, *HEADS))
        or SIGNED_AT_END.search(text[-LONGEST_LINE:]) is not None
    )


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
    return [quotation(*each) for each in joined]
