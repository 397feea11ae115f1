"""Words that only lead on from what was said before: removed, or a reason to hold back what rests on them."""

from __future__ import annotations

import re

from langmem_tiers.writing.extractive import vocabulary as lists

_FILLERS = r"(?:actually|even|also|finally|just|still|too|recently)"
_AFTER_SUBJECT = re.compile(
    rf"\b(I|[Ww]e|I'm|I've|[Ww]e're|[Ww]e've|(?:I|[Ww]e|[Tt]hey) (?:am|are|have|had|was|were)|is|are|has)"
    rf"(?: {_FILLERS}\b)+(?= [\w'$€£])"
)
_IN_A_ROW = re.compile(r"\b(and|or) (?:even|also|finally|just)\b(?= [a-z])")
_FIRST = re.compile(rf"^(?:(?:{_FILLERS}|lately)\b,? )+(?=\w)", re.IGNORECASE)
_LAST = re.compile(
    r"(?:,? (?:too|as well|(?:just )?like me|also|still|even|recently|lately|just"
    r"|(?<!\bno )(?<!\bany )(?<!\bonce )more))+$",
    re.IGNORECASE,
)
_RESTS = re.compile(
    rf"\b(?:(?<!one )another (?!(?:[\w-]+ )?(?:{lists.KIN}|{lists.PETS})\b)|even more\b|(?:one|some|two|few|any) more\b"
    rf"|the other (?!day|night|week))",
    re.IGNORECASE,
)
_NEWS = re.compile(r"\b(?:just|recently|finally|lately)\b", re.IGNORECASE)


def without_fillers(clause: str) -> str:
    """The clause without the words at its edges that tie it to others.

    Example:
        >>> without_fillers("I also joined a choir recently")
        'I joined a choir'
    """
    shown = _FIRST.sub("", clause)
    shown = _LAST.sub("", shown)
    shown = _AFTER_SUBJECT.sub(r"\1", shown)
    return _IN_A_ROW.sub(r"\1", shown)


def rests_on_others(clause: str) -> bool:
    """Whether the clause counts on from something said before: "another trip", "even more"."""
    return _RESTS.search(clause) is not None


def claims_news(clause: str) -> bool:
    """Whether the clause says by an adverb alone that it is of late."""
    return _NEWS.search(clause) is not None
