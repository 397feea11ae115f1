"""Saying a statement again with another value in the place of one: "Your sister Anna …" as "My sister Hanna …"."""

from __future__ import annotations

import re

from langmem_tiers.palace.words import meaningful_words, stem
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.clauses import clauses
from langmem_tiers.writing.extractive.turn import Statement

_BEFORE_A_VALUE = re.compile(
    r"^(?:in fact )?(?:it's|it is|it was|that's|that is|they're|he's|she's|he is|she is|i meant(?: to say)?)? ?"
    r"(?:(?:called|named|spelled|spelt|on|in|at|a|an|the) )*",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|we|us|our)\b")
_TO_THE_SPEAKER = (
    (re.compile(r"\b[Yy]our\b"), "my"),
    (re.compile(r"\b[Yy]ou(?:'re| are)\b"), "I am"),
    (re.compile(r"\b[Yy]ou\b(?!')"), "I"),
)
_LONGEST_VALUE = 4  # words


def value(said: str) -> str:
    """The value in words such as "it's on Friday"."""
    return _BEFORE_A_VALUE.sub("", said)


def holds(statement: Statement, wrong: str) -> bool:
    """Whether a statement holds a value."""
    return _whole(wrong).search(statement.sentence.text) is not None


def said_again(statement: Statement, wrong: str, right: str, *, said: str) -> str | None:
    """The statement with the right value, as the speaker would say it; None where that is not sure, or not all.

    Args:
        statement: What was said before, by the speaker or to the speaker.
        wrong: The value in it that is wrong.
        right: The one that is right ("Friday", "it's on Friday").
        said: All that was said to set it right.

    """
    new, own = value(right), _as_own(statement)
    if own is None or not 0 < len(new.split()) <= _LONGEST_VALUE or _says_more(said, new, statement):
        return None
    clause = _only_clause(own, _whole(wrong)) or ""
    again = _whole(wrong).sub(lambda _: new, clause)
    return again if again and sifting.standing_alone(again) == again else None


def _says_more(said: str, new: str, statement: Statement) -> bool:
    return bool(stems(said) - stems(new) - stems(statement.sentence.text))


def stems(text: str) -> set[str]:
    """The stems of what a text tells."""
    return {stem(word) for word in meaningful_words(text)}


def _as_own(statement: Statement) -> str | None:
    """A statement in the speaker's first person; None where it is somebody else's, or states nothing."""
    text = statement.sentence.text
    if not sifting.is_stated(text):
        return None
    if statement.mine:
        return text
    if _FIRST_PERSON.search(text):
        return None
    for pattern, form in _TO_THE_SPEAKER:
        text = pattern.sub(form, text)
    return text


def _only_clause(text: str, wrong: re.Pattern[str]) -> str | None:
    """The clause that holds a value, where it stands but once in the text."""
    if len(wrong.findall(text)) != 1:
        return None
    return next((clause for clause, _ in clauses(text) if wrong.search(clause)), None)


def _whole(wrong: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$€£]){re.escape(value(wrong))}(?!\w)", re.IGNORECASE)
