"""Short answers: what they say in full, by the question that they answer."""

from __future__ import annotations

import re
from typing import NamedTuple

from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.sentences import sentences, straight
from langmem_tiers.language.speech_acts import is_question
from langmem_tiers.language.word_lists import COMMON_PARTS, table, written_out

_ASIDE = re.compile(r"^(?:(?:[Yy]eah|[Yy]es|[Yy]ep|[Ww]ell|[Oo]h|[Hh]mm?|[Tt]hanks)[,!.:] )+")


class _Answer(NamedTuple):
    asked: re.Pattern[str]
    said: re.Pattern[str]
    full: str


def in_full(asked: str, answer: str) -> str:
    """What a short answer to the last sentence of a turn says in full; empty if it is none.

    Example:
        >>> in_full("Nice! Where do you live?", "In Porto.")
        'I live in Porto.'
    """
    last = next((each.text for each in reversed(sentences(asked))), "")
    if not is_question(last):
        return ""
    question, said = straight(last).rstrip(" ?!"), _ASIDE.sub("", straight(answer)).rstrip(" .!")
    for each in _ANSWERS:
        match, told = each.asked.search(question), each.said.fullmatch(said)
        if match and told:
            groups = match.groupdict() | told.groupdict()
            return each.full.format(**{name: text if name in _NAMES else text.lower() for name, text in groups.items()})
    return ""


_NAMES = frozenset({"name", "where"})
_TABLE = table("answers")
_PARTS = COMMON_PARTS | _TABLE["parts"]
_ANSWERS = tuple(
    _Answer(
        lazy_pattern(rf"\b{written_out(each['asked'], _PARTS)}$", re.IGNORECASE),
        lazy_pattern(written_out(each["said"], _PARTS)),
        each["full"],
    )
    for each in _TABLE["answer"]
)
