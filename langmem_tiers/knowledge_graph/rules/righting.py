"""What a sentence sets right, as mining recognises it: the value that is wrong, or that whatever was said before is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.knowledge_graph import kinship
from langmem_tiers.knowledge_graph.rules.claim import ANY_OTHER
from langmem_tiers.writing.extractive import corrections, denials
from langmem_tiers.writing.extractive.turn import Reading

# What became another one was right before.
_CHANGED = re.compile(
    r"\b(?:any ?more|any longer|no longer|now|nowadays|these days|just|recently|finally|since|until|ago|last|yesterday"
    r"|today|used to|mov(?:ed|ing)|relocated|start(?:ed|ing)|began|joined|left|quit|became|switched|new"
    r"|bought|got|sold|ordered|chose|picked|took|went|visited|met|married|adopted|graduated)\b",
    re.IGNORECASE,
)
_IN_FRONT = re.compile(r"^(?:in|on|at|an?|the|to) (?=[A-Z\d])")
_VALUE = re.compile(r"[^\W_a-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Righting:
    """What is right, in a sentence of its own, and the value that is wrong, if any; or what was never so."""

    right: str = ""
    wrong: str = ""
    never: str = ""


def read(reading: Reading, text: str) -> Righting | None:
    """What a sentence sets right; of what has changed only what holds now, and None where it sets nothing right."""
    if _CHANGED.search(text):
        both = _told_apart(text)
        return Righting(right=both.right) if both else None
    return _with_wrong(reading, text) or _told_apart(text) or _against_all(reading, text)


def _with_wrong(reading: Reading, text: str) -> Righting | None:
    """'Correction: I live in Turin, not Rome', 'I don't live in Rome, I live in Turin'."""
    found = corrections.read(text, reading.earlier())
    if found is None or not found.stands:
        return None
    return Righting(right=found.again or found.right, wrong=_value(found.wrong))


def _told_apart(text: str) -> Righting | None:
    """'I live in Turin, not Rome', 'Nils is my cousin, not my brother'."""
    both = corrections.told_apart(text)
    wrong = _value(both.wrong) if both else ""
    if both is None or not (_VALUE.match(wrong) or kinship.mine(wrong)):
        return None
    return Righting(right=both.right, wrong=wrong)


def _against_all(reading: Reading, text: str) -> Righting | None:
    """'No, I live in Turin', 'Actually, I don't live in Rome'."""
    stated = corrections.set_right(text, reading.before.text if reading.before else None)
    if not stated:
        return None
    clause = re.sub(r"[\s.!…]+$", "", stated)
    denial = denials.read(clause, against=True)
    return Righting(right=clause, wrong=ANY_OTHER) if denial is None else Righting(never=denial.held)


def _value(said: str) -> str:
    return _IN_FRONT.sub("", said)
