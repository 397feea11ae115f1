"""A shape of clause, and what it claims of whom."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from langmem_tiers.knowledge_graph.rules import when
from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.knowledge_graph.rules.when import Span


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A shape that fits a clause: of whom it speaks, in whole, and when it was said."""

    match: re.Match[str]
    subjects: tuple[str, ...]
    clause: str
    said_at: datetime

    def __getitem__(self, group: str) -> str:
        """What a group of the pattern holds, empty where nothing."""
        return (self.match.groupdict().get(group) or "").strip(" ,")

    @property
    def state(self) -> Span:
        """Since when and until when, as the clause says of a state."""
        return when.of_state(self.clause, self.said_at)

    @property
    def past(self) -> Span:
        """As `state`, for what is over: of "in 2019" the end as well, and by now where nothing is said."""
        span = when.of_state(self.clause, self.said_at, over=True)
        if span.until or span.since or when.lasts(self.clause):
            return span
        moment = when.of_event(self.clause, self.said_at)
        return Span(since=moment, until=when.the_end_of(moment)) if moment else span

    def event(self, *, ahead: bool = False) -> str:
        """When that happened which the clause tells of."""
        return when.of_event(self.clause, self.said_at, ahead=ahead)

    def within(self) -> str:
        """As `event`, as far as the words tell: of "last week" the month."""
        return when.within(self.clause, self.said_at)

    def of_all(self, claim: Claim) -> Iterator[Claim]:
        """The claim for each of whom the clause speaks."""
        return (replace(claim, subject=subject) for subject in self.subjects)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A pattern, and the claims of a clause that it fits; `ends` says that a negation is part of it."""

    pattern: re.Pattern[str]
    claims: Callable[[Fit], Iterator[Claim]]
    ends: bool = False


def shape(pattern: str, claims: Callable[[Fit], Iterator[Claim]], *, ends: bool = False) -> Shape:
    """A shape of a pattern that is matched from the beginning of the clause."""
    return Shape(pattern=re.compile(pattern), claims=claims, ends=ends)
