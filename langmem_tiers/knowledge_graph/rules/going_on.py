"""What a sentence goes on with: the end of what it has just told, as in "… in 2018 and left in 2021"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from langmem_tiers.knowledge_graph.rules import when
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.rules.wording import END, HAPPENED, NAME, is_place

_AT_WORK = frozenset({"works at", "also works at", "studies at"})
_AT_HOME = frozenset({"lives in", "also lives in"})
_TOGETHER = frozenset({"is married to", "is engaged to", "is dating"})
_OWNED = frozenset({"owns", "bought"})
_LATER = r"(?:(?:then|later|eventually|finally|again) )?"
# What ends, and the words for it, which name nothing else.
_ENDS = (
    (
        _AT_WORK,
        rf"{_LATER}(?:left|quit|resigned|retired|moved on|(?:was|were|got) (?:fired|laid off|let go)"
        rf"|stayed(?: there)? (?=until|till))(?: (?:it|there|again|the company|that job))?",
    ),
    (
        _AT_HOME,
        rf"{_LATER}(?:left|moved (?:away|out|on)|stayed(?: there)? (?=until|till))(?: (?:it|there|again|the city))?",
    ),
    (
        _TOGETHER,
        rf"{_LATER}(?:(?:divorced|left|broke up with|split up with|separated from) (?:him|her)"
        rf"|divorced|got divorced|separated|broke up|split up)",
    ),
    (_OWNED, rf"{_LATER}(?:sold|lost|returned|scrapped|donated|gave away|got rid of) (?:it|them)(?: again)?"),
)
_ENDED = tuple((ended, re.compile(rf"{words}(?:{HAPPENED}|(?= ?(?:until|till)\b))")) for ended, words in _ENDS)
_ON_TO = re.compile(rf"{_LATER}(?:back |over |on )?to (?P<place>{NAME})(?!['’]s|\w){END}")
_WHO = re.compile(r"(?:I|[Ww]e) ")


def of_same(clause: str, told: Sequence[Claim]) -> str:
    """What a clause goes on with of whom the sentence told of; empty where it may be of somebody else."""
    if who := _WHO.match(clause):
        return clause[who.end() :] if told and told[-1].subject == ME else ""
    return clause if clause[:1].islower() else ""


def joined(told: Sequence[Claim], goes_on: str, said_at: datetime) -> list[Claim] | None:
    """What was told, with the end that the sentence goes on with; None where it goes on with something else."""
    for ending, pattern in _ENDED:
        if pattern.match(goes_on) and any(_may_end(claim, ending) for claim in told):
            until = when.of_state(goes_on, said_at).until or when.of_event(goes_on, said_at)
            return [each for claim in told for each in _until(claim, ending, until)]
    moved = _ON_TO.match(goes_on)
    if moved is None or not told or not _may_end(told[-1], frozenset({"lives in"})) or not is_place(moved["place"]):
        return None
    return _moved_on(told, moved["place"], when.of_event(goes_on, said_at))


def _may_end(claim: Claim, ending: frozenset[str]) -> bool:
    return claim.predicate in ending and not (claim.until or claim.ended)


def _until(claim: Claim, ending: frozenset[str], until: str) -> list[Claim]:
    """A claim with its end; nothing of one that would end before it began."""
    if not _may_end(claim, ending):
        return [claim]
    if not until:
        return [replace(claim, ended="said")]
    if claim.since and until <= claim.since:
        until = when.the_end_of(until)
    return [replace(claim, until=until)] if until > claim.since else []


def _moved_on(told: Sequence[Claim], place: str, since: str) -> list[Claim]:
    """'I moved to Paris in 2018, then to Rome in 2021'; of a move of no date only that the first home is over."""
    *others, home = told
    if not since:
        return [*others, replace(home, ended="said")]
    return [*told, replace(home, object=place, since=since)] if since > home.since else [*others]
