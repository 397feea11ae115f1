"""Quotations over two messages: "Here is the mail:", and the mail in the next one; or one that is cut in the middle.

The message after one that ends with an announcement is somebody else's as a whole, unless it is short and plainly goes
on in the user's own voice. Where nothing is announced, both messages have to show that one text goes on: a fence or a
quotation mark that opens in the first and closes in the second, "(2/3)", or a line that breaks off.
"""

from __future__ import annotations

import re

from langmem_tiers.language.quotation_signs import LONGEST_LINE, PAIRS, SINGLE, lines_of
from langmem_tiers.language.quotations import quotations
from langmem_tiers.language.quoted_lines import announces_more, fences
from langmem_tiers.language.word_lists import named_pattern

_LONGEST_OF_ONES_OWN = 40  # words
_LEAST_BROKEN_OFF = 60  # characters of a line: shorter ones end without a mark anyway
_LOOKED_AT = 20_000  # characters at the end of the first message
_OWN_VOICE = named_pattern("quotations", "own_voice")
_ASKS = named_pattern("quotations", "asks_assistant")
_NEXT_PART = named_pattern("quotations", "next_part")
_COLON_BEFORE = re.compile(r"[:：]\s{0,3}$")


def goes_on(before: str, text: str) -> bool:
    """Whether a user's message only goes on with what their last one announced or left open.

    Example:
        >>> goes_on("Here is the mail:", "I moved to Porto.")
        True
        >>> goes_on("Here is the mail:", "Never mind, I'll paste it later.")
        False
    """
    shown = before[-_LOOKED_AT:]
    if announces_more(lines_of(shown)):
        return not _in_own_voice(text)
    return _closes_fence(shown, text) or _closes_marks(shown, text) or _is_next_part(before, text)


def _in_own_voice(text: str) -> bool:
    """Whether a short message speaks of what is to be pasted, announces it again, or asks the assistant something."""
    lines = [line for line in lines_of(text[: 2 * _LOOKED_AT]) if not line.blank]
    if len(lines) > 2 or len(text.split()) > _LONGEST_OF_ONES_OWN:
        return False
    return bool(_OWN_VOICE.match(text) or _ASKS.match(text)) or announces_more(lines)


def _closes_fence(before: str, text: str) -> bool:
    return fences(before) % 2 == 1 and fences(text) % 2 == 1


def _closes_marks(before: str, text: str) -> bool:
    """Whether a quotation mark behind a colon is closed in the second message only."""
    place = max(before.rfind(mark) for mark in PAIRS if mark not in SINGLE)
    closes = PAIRS.get(before[place], "") if place >= 0 else ""
    open_ones = closes and not any(mark in before[place + 1 :] for mark in closes)
    return bool(open_ones and _COLON_BEFORE.search(before[:place]) and any(mark in text for mark in closes))


def _is_next_part(before: str, text: str) -> bool:
    """Whether what is quoted up to the end of a message goes on: as a numbered part, or in the middle of a sentence."""
    numbered = _NEXT_PART.match(text)
    line = before.rstrip()[-LONGEST_LINE:].rpartition("\n")[2]
    broken = len(line) >= _LEAST_BROKEN_OFF and line[-1] not in '.!?…:;"”»' and text.lstrip()[:1].islower()
    if not (numbered or broken):
        return False
    quoted = quotations(before)
    return bool(quoted) and quoted[-1].stop >= len(before.rstrip())
