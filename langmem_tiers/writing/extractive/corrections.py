"""Corrections: the user says that something is wrong, and what is right instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.palace.names import names
from langmem_tiers.writing.extractive.prose import sentences
from langmem_tiers.writing.extractive.rewriting import Subject
from langmem_tiers.writing.proposals import Said

_START = r"^(?:(?:sorry|oh|hmm|wait|well|um|ah|hey|hi|ok(?:ay)?|but)[,.!]* )*"
_OPENING = re.compile(
    _START + r"(?:(?:no|nope|nah)\b[,.!:;-]+ ?|actually[,:]? |correction[:,] ?"
    r"|(?:that's|that is|this is|it's)(?: just| still)? (?:wrong"
    r"|incorrect|not (?:right|correct|true))[,.:;!-]+ ?"
    r"|i meant(?: to say)? |i mean,? |scratch that[,:;.-]* ?|let me correct (?:that"
    r"|myself|you)[,:;.-]* ?|(?:you're|you are) wrong[,:;.-]+ ?|not quite[,:;.-]+ ?)+",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:wrong|incorrect|not right|not correct|not true|correction|i meant|scratch that|let me correct)\b",
    re.IGNORECASE,
)
_NOT_BEHIND = re.compile(
    r"^(?P<right>.+?)(?:,| -| –|;)? (?:and )?(?:not|instead of|rather than) (?P<wrong>(?:in "
    r"|on |at |a |an |the |my )?[\w€$£%.'-]+(?: [\w€$£%.'-]+){0,4})$"
)
_NOT_BEFORE = re.compile(
    r"^(?P<head>(?:it|my [\w ]{2,30}?|the [\w ]{2,30}?)(?:'s| is"
    r"| was)|i|i'm|i am)(?: do| am| don't)?(?: not|n't|'s not|'m not"
    r"|(?<=don't)) (?:[a-z]+ (?:in|at|for|on) )?(?P<wrong>[\w€$£%.'-]+(?: [\w€$£%.'-]+){0,3}?)(?: anym"
    r"ore)?(?:,|;| -| –| but|\.)+ (?:but )?(?P<right>.+)$",
    re.IGNORECASE,
)
_VALUES = (
    re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE),
    re.compile(
        r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
    ),
    re.compile(r"[$€£]?\b\d[\d.,:]*(?<![.,:])\b"),
)
_IT_IS = re.compile(r"^(?:it's|it is|it was|that's|they're|he's|she's|in fact it's)\b", re.IGNORECASE)
_MOOD = re.compile(
    r"\b(?:fine|ok|okay|good|great|cool|nice|all right|alright|glad|happy|thanks?|worries|problem|way|idea)\b",
    re.IGNORECASE,
)
_MEASURABLE = re.compile(r"\d|\b[A-Z][a-z]+|day\b")
_LONGEST = 200
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|am|do|does|did|can|could|should|would|will|have|has|had|that|it)$", re.IGNORECASE
)
_OWN = re.compile(r"^(?:i|i'm|i've|my|we|our|the)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What is right; what is wrong, as it was said; and whether the right can be understood alone."""

    right: str
    wrong: str | None
    alone: bool
    of: str | None = None


def read(sentence: str, before: Said | None) -> Correction | None:
    """The correction that a sentence makes, of what it names itself or of the turn before; None when it makes none."""
    opening = _OPENING.match(sentence)
    rest = re.sub(r"[\s.!…]+$", "", sentence[opening.end() :] if opening else sentence)
    if len(rest) > _LONGEST or not rest:
        return None
    if opening is None:
        return _of_itself(rest)
    return _with_wrong(rest) or _of_turn_before(rest, before, strong=_STRONG.search(opening.group()) is not None)


def told(sentence: str, corrected: Correction, subject: Subject) -> str:
    """The correction in the user's words, with the statement it is about."""
    words = re.sub(r"\s*[.!]+$", "", sentence)
    if corrected.of:
        return f'{subject.opening} corrected "{corrected.of}": "{words}."'
    return f'{subject.opening} said: "{words}."'


def _of_itself(rest: str) -> Correction | None:
    """'It's not 30, it's 45', 'I don't live in Oslo anymore, I live in Bergen', without a no before it."""
    match = _NOT_BEFORE.match(rest)
    if match is None or not _MEASURABLE.search(match["wrong"]) or not _MEASURABLE.search(match["right"]):
        return None
    return _with_wrong(rest)


def _with_wrong(rest: str) -> Correction | None:
    """'It's Friday, not Thursday', 'it's not Thursday, it's Friday'."""
    match = _NOT_BEHIND.match(rest) or _NOT_BEFORE.match(rest)
    if match is None or not _is_value(match["wrong"]) or _AUXILIARY.search(match["right"]):
        return None
    right = match["right"]
    return Correction(right=right, wrong=match["wrong"], alone=_OWN.match(right) is not None)


def _is_value(wrong: str) -> bool:
    return not _MOOD.search(wrong) and wrong.split(maxsplit=1)[0].casefold() not in {
        "so",
        "really",
        "very",
        "too",
        "that",
        "sure",
        "just",
        "only",
        "because",
        "even",
        "yet",
        "going",
        "to",
    }


def _of_turn_before(rest: str, before: Said | None, *, strong: bool) -> Correction | None:
    """'No, it's on Friday', after a statement that names another day."""
    if before is None or before.role in {"tool", "system"} or _MOOD.search(rest):
        return None
    wrong = next(filter(None, (_other_value(rest, sentence.text) for sentence in sentences(before.content))), None)
    if wrong is None or not (strong or _IT_IS.match(rest) or _OWN.match(rest)):
        return None
    return Correction(right=rest, wrong=wrong[0], alone=_OWN.match(rest) is not None, of=wrong[1])


def _other_value(right: str, statement: str) -> tuple[str, str] | None:
    """The value in a statement that the right one is set against, of the same kind, and the statement."""
    for pattern in _VALUES:
        new, old = pattern.findall(right), pattern.findall(statement)
        if len(set(new)) == 1 and len(set(old)) == 1 and new[0].casefold() != old[0].casefold():
            return old[0], statement
    new_names = {name.text for name in names(f"x {right}")}
    old_names = {name.text for name in names(f"x {statement}")}
    if len(new_names) == 1 and len(old_names) == 1 and new_names != old_names and not statement.endswith("?"):
        return old_names.pop(), statement
    return None
