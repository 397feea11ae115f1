"""Proposals that say nearly the same: which of them is kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from langmem_tiers.palace.words import STOPWORDS, stem, word_set, words
from langmem_tiers.writing.proposals import Proposal

_LEAST_SHARED = 3  # words of a proposal that another may hold whole
_SHARE = 0.75
_DATES = re.compile(r" \((?:about )?[\d, -]+\)")
_NEGATION = re.compile(r"\b(?:not|never|no longer|used to|quit|stopped|rarely|hates?|dislikes?|avoids?)\b|n't\b")
_NAMED = re.compile(
    r"(?<!^)\b[A-Z][\w'-]*|\d[\d.,:]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|first|second|third)\b"
)
_LIGHT = word_set("user said want plan hope aim look work think go get start begin try really new")


def without_near_repeats(found: Sequence[Proposal]) -> list[Proposal]:
    """The proposals without those that another says in more words; the one kept has the evidence of all."""
    kept: list[Proposal] = []
    known: list[frozenset[str]] = []
    for proposal in found:
        told = _told(proposal)
        place = next((at for at, other in enumerate(kept) if _repeats(proposal, told, other, known[at])), None)
        if place is None:
            kept.append(proposal)
            known.append(told)
        else:
            evidence = (*kept[place].evidence, *proposal.evidence)
            if _worth(proposal, told) > _worth(kept[place], known[place]):
                kept[place], known[place] = proposal, told
            kept[place] = replace(kept[place], evidence=evidence)
    return kept


def _worth(proposal: Proposal, told: frozenset[str]) -> tuple[bool, int]:
    return _DATES.search(proposal.content) is not None, len(told)


def _told(proposal: Proposal) -> frozenset[str]:
    """The stems of what it tells."""
    shown = words(_DATES.sub("", proposal.content))
    return frozenset(stem(word) for word in shown if word not in STOPWORDS) - _LIGHT


def _repeats(one: Proposal, told: frozenset[str], other: Proposal, known: frozenset[str]) -> bool:
    if {one.kind, other.kind} & {"correction", "action"} or one.contradicts or other.contradicts:
        return False
    fewer, more = sorted((told, known), key=len)
    same = (fewer <= more and len(fewer) >= _LEAST_SHARED) or len(told & known) >= _SHARE * len(told | known)
    return bool(fewer) and same and _opening(one) == _opening(other) and not _differ(one.content, other.content)


def _opening(proposal: Proposal) -> str:
    return proposal.content.partition(" ")[0]


def _differ(one: str, other: str) -> bool:
    """Whether one denies what the other says, or they name different days, people or figures."""
    dates = [frozenset(_DATES.findall(content)) for content in (one, other)]
    if dates[0] and dates[1] and dates[0] != dates[1]:
        return True
    if bool(_NEGATION.search(one)) != bool(_NEGATION.search(other)):
        return True
    named = [frozenset(_NAMED.findall(_DATES.sub("", content))) for content in (one, other)]
    return bool(named[0] - named[1]) and bool(named[1] - named[0])
