"""Selection: a verdict for every candidate, best first, until the limit or the budget is reached.

A chain of small rules, each saying why a candidate is not shown; the first that speaks decides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from langmem_tiers.clock import to_millis
from langmem_tiers.recall.candidates import Found
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.types import CandidateVerdict

Rule = Callable[[Found], CandidateVerdict | None]


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the model has before it already: drawers shown in the session, as (space, number)."""

    shown: Collection[tuple[str, int]] = ()
    query_hash: bytes = b""


@dataclass(kw_only=True)
class Chosen:
    """Candidates that passed every rule but the budget, and the verdicts of the others."""

    passed: list[Found] = field(default_factory=list)
    verdicts: dict[tuple[str, int], CandidateVerdict] = field(default_factory=dict)


def choose(ranked: Sequence[Found], request: RecallRequest, before: Before) -> Chosen:
    """Judge the candidates in order; at most `request.limit` pass."""
    chosen = Chosen()
    rules = _rules(ranked, request, before, chosen)
    for candidate in ranked:
        verdict = next((verdict for rule in rules if (verdict := rule(candidate))), None)
        if verdict is None:
            chosen.passed.append(candidate)
        else:
            chosen.verdicts[key(candidate)] = verdict
    return chosen


def key(candidate: Found) -> tuple[str, int]:
    """What tells a candidate from all others."""
    return candidate.space, candidate.facts.number


def _rules(ranked: Sequence[Found], request: RecallRequest, before: Before, chosen: Chosen) -> tuple[Rule, ...]:
    until = None if request.until is None else to_millis(request.until)
    contents = {before.query_hash}

    def outside_dates(found: Found) -> CandidateVerdict | None:
        return "outside_dates" if until is not None and found.facts.said_at > until else None

    own = {found.facts.content_hash for found in ranked if found.own and not outside_dates(found)}

    def in_window(found: Found) -> CandidateVerdict | None:
        return "in_window" if _is_in_window(found, request) else None

    def already_shown(found: Found) -> CandidateVerdict | None:
        return "already_shown" if key(found) in before.shown else None

    def below_threshold(found: Found) -> CandidateVerdict | None:
        # By its best scale: a floor on the fused score alone would shut out what one channel is sure of.
        return "below_threshold" if max(found.score, *found.scores.values()) < request.threshold else None

    def duplicate(found: Found) -> CandidateVerdict | None:
        # Best first: what comes later is the lesser copy. But the space's own goes before any of a fallback.
        if found.facts.content_hash in contents or (not found.own and found.facts.content_hash in own):
            return "duplicate"
        contents.add(found.facts.content_hash)
        return None

    def over_limit(_: Found) -> CandidateVerdict | None:
        return "over_limit" if len(chosen.passed) >= request.limit else None

    return (outside_dates, in_window, already_shown, below_threshold, duplicate, over_limit)


def _is_in_window(found: Found, request: RecallRequest) -> bool:
    if not found.own or (request.session is not None and found.facts.session != request.session):
        return False
    if request.window is None:
        return request.session is not None and found.facts.turns_back < request.window_turns
    return found.facts.message_id in request.window
