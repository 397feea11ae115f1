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
# What says of what was said before that it is wrong, by itself or before what is right.
_ALL_WRONG = re.compile(
    r"(?:(?:oh|oops|sorry|wait|hm+|lol|haha|ah|well|ok|okay)[,.!]* )*(?:correction"
    r"|i (?:was (?:wrong|mistaken)|misspoke|made a (?:mistake|typo))"
    r"|that (?:was|is) (?:wrong|incorrect|not (?:true|right|correct)|a (?:mistake|typo))|that's (?:wrong|incorrect|not"
    r" (?:true|right|correct)|a (?:mistake|typo))|(?:my|a) mistake|forget (?:that|it|what i (?:just )?said)"
    r"|scratch that|strike that)(?:[,:;.!]+ ?| [-–—]+ |$)",
    re.IGNORECASE,
)
_LAUGHED_NO = re.compile(r"(?:lol|haha+|hehe|lmao|oops)[,.!]* no[,.!]* (?=I\b|I'|[Mm]y\b|[Ww]e\b)", re.IGNORECASE)
_NEVER = re.compile(
    r"(?P<who>I|[Ww]e|(?:[Mm]y|[Oo]ur) [\w -]{2,40}?|[^\W\d_a-z][\w'-]*(?: [^\W\d_a-z][\w'-]*)?)"
    r" (?:(?:(?:have|has) )?never|(?P<did>did not|didn't)(?: actually| really)?)"
    r" (?P<verb>lived|worked|studied|moved|owned|live|work|study|move|own)"
    r"(?P<what> (?:(?:in|at|for|to|an?) )?(?:the )?[^\W\d_a-z][\w&.' -]*?)(?P<after> after all)?"
    r"(?:[.!]*$|, (?:that|it) (?:was|is)\b.*$|, (?:never|not ever)[.!]*$)"
)
_NOT_MOVING = re.compile(
    r"(?P<who>I|[Ww]e|(?:[Mm]y|[Oo]ur) [\w -]{2,40}?|[^\W\d_a-z][\w'-]*)(?:'m|'re|'s| am| are| is)(?: not|n't) moving"
    r"(?P<what> (?:back )?to (?:the )?[^\W\d_a-z][\w&.' -]*?) (?:after all|any ?more)[.!]*$"
)
_NOT_TRUE = re.compile(
    r"(?:no, )?it(?:'s| is) (?:not (?:true|right|correct|the case)|wrong|false) that (?P<held>.+?)[.!]*$", re.IGNORECASE
)
_PRESENT = {"live": "lives", "work": "works", "study": "studies", "own": "owns"}
_BARE = {"lived": "live", "worked": "work", "studied": "study", "owned": "own", "moved": "move"}
_DATE = re.compile(r"\d{2,}|\b(?:before|after(?! all)|until|till|since|when|while|long|yet|full[- ]time)\b")
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
    if never := _never(text):
        return Righting(never=never)
    if right := _against_before(reading, text):
        return Righting(right=right, wrong=ANY_OTHER)
    if _CHANGED.search(text):
        both = _told_apart(text)
        return Righting(right=both.right) if both else None
    return _with_wrong(reading, text) or _told_apart(text) or _against_all(reading, text)


def unlaughed(text: str) -> str:
    """'lol no I live in Kiel' as 'No, I live in Kiel': laughed at is what was said before."""
    laughed = _LAUGHED_NO.match(text)
    return f"No, {text[laughed.end() :]}" if laughed else text


def _never(text: str) -> str:
    """What a sentence says never to have been so, as it would have been said: 'Nils lives in Oslo'."""
    if said := _NOT_TRUE.match(text):
        return said["held"]
    if moving := _NOT_MOVING.match(text):
        return f"{moving['who']} moved{moving['what']}"
    never = _NEVER.match(text)
    if never is None or _DATE.search(never["what"]):
        return ""
    verb = _BARE.get(never["verb"], never["verb"])
    if verb == "move":
        return f"{never['who']} moved{never['what']}"
    # "I didn't live in Oslo" may be of another time.
    others = never["who"].lower() not in {"i", "we"}
    return "" if never["did"] else f"{never['who']} {_PRESENT[verb] if others else verb}{never['what']}"


def _against_before(reading: Reading, text: str) -> str:
    """What is right behind words that say that all before was wrong, in the sentence or in one of their own."""
    if opening := _ALL_WRONG.match(text):
        right = text[opening.end() :]
    else:
        before = _ALL_WRONG.fullmatch(reading.before.text.strip()) if reading.before else None
        right = text if before else ""
    return "" if _CHANGED.search(right) or corrections.told_apart(right) else right


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
