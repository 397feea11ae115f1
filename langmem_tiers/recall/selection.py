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
    """What the model has before it already: drawers shown in the session, as (space, number), and those in its window.

    `window` are numbers of the space itself; None stands for the last turns of the session. `asked_again` are messages
    that ask what is asked now, or what a better one asks.
    """

    shown: Collection[tuple[str, int | str]] = ()
    window: Collection[int] | None = None
    query_hash: bytes = b""
    asked_again: Collection[tuple[str, int]] = ()


@dataclass(kw_only=True)
class Chosen:
    """Candidates that passed every rule but the budget, and the verdicts of the others."""

    passed: list[Found] = field(default_factory=list)
    verdicts: dict[tuple[str, int], CandidateVerdict] = field(default_factory=dict)


def choose(ranked: Sequence[Found], request: RecallRequest, before: Before, *, none_fits: bool = False) -> Chosen:
    """Judge the candidates in order; at most `request.limit` pass, and none where a reranker said that `none_fits`."""
    chosen = Chosen()
    *hard, duplicate = _rules(ranked, request, before)

    def unfit(_: Found) -> CandidateVerdict | None:
        return "judged_unfit" if none_fits else None

    def below_threshold(found: Found) -> CandidateVerdict | None:
        # What a reranker promoted fits by its word, and what it was given and did not name has to fit by its own score.
        if found.scores.get("rerank"):
            return None
        opened = "rerank" not in found.scores and any(shown.score >= request.threshold for shown in chosen.passed)
        least = request.threshold * (request.settings.threshold_share if opened else 1)
        return None if found.score >= least else "below_threshold"

    def over_limit(_: Found) -> CandidateVerdict | None:
        return "over_limit" if len(chosen.passed) >= request.limit else None

    _judge(ranked, (*hard, unfit, below_threshold, duplicate, over_limit), chosen)
    return chosen


def showable(ranked: Sequence[Found], request: RecallRequest, before: Before) -> list[Found]:
    """The candidates that only their score, the limit or the budget could keep from being shown."""
    chosen = Chosen()
    _judge(ranked, _rules(ranked, request, before), chosen)
    return chosen.passed


def key(candidate: Found) -> tuple[str, int]:
    """What tells a candidate from all others."""
    return candidate.space, candidate.facts.number


def _judge(ranked: Sequence[Found], rules: Sequence[Rule], chosen: Chosen) -> None:
    for candidate in ranked:
        verdict = next((verdict for rule in rules if (verdict := rule(candidate))), None)
        if verdict is None:
            chosen.passed.append(candidate)
        else:
            chosen.verdicts[key(candidate)] = verdict


def _rules(ranked: Sequence[Found], request: RecallRequest, before: Before) -> tuple[Rule, ...]:
    until = None if request.until is None else to_millis(request.until)
    contents = {before.query_hash}

    def outside_dates(found: Found) -> CandidateVerdict | None:
        return "outside_dates" if until is not None and found.facts.said_at > until else None

    own = {found.facts.content_hash for found in ranked if found.own and not outside_dates(found)}

    def in_window(found: Found) -> CandidateVerdict | None:
        return "in_window" if _is_in_window(found, request, before.window) else None

    def already_shown(found: Found) -> CandidateVerdict | None:
        return "already_shown" if key(found) in before.shown else None

    def asked_again(found: Found) -> CandidateVerdict | None:
        same = found.facts.content_hash in contents
        return "asked_again" if key(found) in before.asked_again and not same else None

    def duplicate(found: Found) -> CandidateVerdict | None:
        # Best first: what comes later is the lesser copy. But the space's own goes before any of a fallback.
        if found.facts.content_hash in contents or (not found.own and found.facts.content_hash in own):
            return "duplicate"
        contents.add(found.facts.content_hash)
        return None

    return (outside_dates, in_window, already_shown, asked_again, duplicate)


def _is_in_window(found: Found, request: RecallRequest, window: Collection[int] | None) -> bool:
    if not found.own:
        return False
    if window is not None:
        return found.facts.number in window
    return found.facts.session == request.session and found.facts.turns_back < request.window_turns
