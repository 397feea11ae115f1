"""Quotations over several messages: "Here is the mail:", and the mail in the next one; or one that is cut in two.

The message after one that ends with an announcement, or with a quotation that nothing has closed, is somebody else's
as a whole, unless it is short and plainly goes on in the user's own voice. Where nothing is announced or left open,
both messages have to show that one text goes on: "(2/3)", or a line that breaks off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_tiers.language.quotation_signs import LONGEST_LINE, PAIRS, lines_of
from langmem_tiers.language.quotations import quotations
from langmem_tiers.language.quoted_lines import announces_more, fences, never_ends
from langmem_tiers.language.quoted_spans import left_open
from langmem_tiers.language.roles import leaves_part, plays_on
from langmem_tiers.language.word_lists import named_pattern

_LONGEST_OF_ONES_OWN = 40  # words
_LONGEST_INTERJECTION = 8  # words
_LEAST_BROKEN_OFF = 60  # characters of a line: shorter ones end without a mark anyway
_LOOKED_AT = 20_000  # characters at the end of the message before
_OWN_VOICE = named_pattern("quotations", "own_voice")
_TAKES_BACK = named_pattern("quotations", "takes_back")
_SAYS_WHAT = named_pattern("quotations", "says_what")
_ASKS = named_pattern("quotations", "asks_assistant")
_NEXT_PART = named_pattern("quotations", "next_part")
_MORE_PARTS = named_pattern("quotations", "more_parts")
_IN_MID_SENTENCE = named_pattern("quotations", "in_mid_sentence")
_OPENING = re.compile(r"(?:[:：]\s{0,3}(?P<any>[\"“„«»「『‹❝＂])|(?<!\S)(?P<sure>[“„«「『❝])(?=\s?\w))")


def goes_on(before: Sequence[str], text: str, *, whole: bool = False) -> bool:
    """Whether a user's message only goes on with what those before it announced or left open.

    `before` ends with their last one, which is a quotation as a `whole` or not; more are those that it goes on with.

    Example:
        >>> goes_on(["Here is the mail:"], "I moved to Porto.")
        True
        >>> goes_on(["Here is the mail:"], "Never mind, I'll paste it later.")
        False
    """
    if any(map(plays_on, before)):
        return not (leaves_part(text) or any(map(leaves_part, before[1:])) or _in_own_voice(text))
    if announces_more(lines_of(before[-1][-_LOOKED_AT:])) or _is_open("\n".join(before)):
        return not _in_own_voice(text)
    return _is_next_part(before[-1], text, whole=whole)


def interjects(text: str) -> bool:
    """Whether a message only keeps one waiting for a text: "oops, one sec", "ok sending", "can you see it?"."""
    if len(text) > LONGEST_LINE or len(text.split()) > _LONGEST_INTERJECTION or _TAKES_BACK.match(text):
        return False
    return bool(_OWN_VOICE.match(text) or _ASKS.match(text)) and not announces_more(lines_of(text))


def _in_own_voice(text: str) -> bool:
    """Whether a short message speaks of what is to be pasted, or announces it again, or asks or answers something."""
    lines = [line for line in lines_of(text[: 2 * _LOOKED_AT]) if not line.blank]
    if len(lines) > 2 or len(text.split()) > _LONGEST_OF_ONES_OWN:
        return False
    return any(pattern.match(text) for pattern in (_OWN_VOICE, _TAKES_BACK, _SAYS_WHAT, _ASKS)) or announces_more(lines)


def _is_open(text: str) -> bool:
    """Whether a fence, a tag, a quotation mark or a line such as BEGIN opens what nothing has closed."""
    return (
        fences(text) % 2 == 1
        or any(text.count(mark) % 2 == 1 for mark in ('"""', "'''"))
        or _opens_marks(text)
        or left_open(text)
        or never_ends(text)
    )


def _opens_marks(text: str) -> bool:
    """Whether a quotation mark opens behind a colon, or before a word, and none behind it closes."""
    opened = [(found.end(), found["any"] or found["sure"]) for found in _OPENING.finditer(text)]
    if not opened:
        return False
    place, mark = opened[-1]
    return not any(closing in text[place:] for closing in PAIRS[mark])


def _is_next_part(before: str, text: str, *, whole: bool) -> bool:
    """Whether what is quoted up to the end of a message goes on: as a numbered part, or in the middle of a sentence."""
    line = before.rstrip()[-LONGEST_LINE:].rpartition("\n")[2]
    unended = bool(line) and line[-1] not in '.!?…:;"”»'
    broken = unended and (whole or len(line) >= _LEAST_BROKEN_OFF) and text.lstrip()[:1].islower()
    if not (_NEXT_PART.match(text) or broken or (whole and (_IN_MID_SENTENCE.search(line) or _has_more(before)))):
        return False
    quoted = () if whole else quotations(before)
    return whole or (bool(quoted) and quoted[-1].stop >= len(before.rstrip()))


def _has_more(before: str) -> bool:
    """Whether a message is a part of several, and not the last: "(1/3)"."""
    found = _MORE_PARTS.match(before)
    return found is not None and int(found["part"]) < int(found["of"])
