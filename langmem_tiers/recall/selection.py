"""Selection: a verdict for every candidate, best first, until the limit or the budget is reached."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from langmem_tiers.clock import to_millis
from langmem_tiers.language.first_person import TELLS
from langmem_tiers.language.words import STOPWORDS, searchable, stem, words
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import Key, SpaceSnapshot, read_drawers
from langmem_tiers.types import CandidateVerdict

_ASKS = re.compile(r"[?？][\s\d()\"'”’]*$")
# Minimum fit to count as repeating the question, and the rank beyond which nothing is shown anyway.
_LEAST_MATCH = 0.5
_QUESTIONS_LOOKED_AT = 100
_LONGEST_QUESTION = 300


@dataclass(frozen=True, kw_only=True)
class Before:
    """What the model already has: drawers shown in the session, as (space, number), and those in its window.

    `window` are numbers of the space itself; None stands for the last turns of the session. `asked_again` are messages
    that repeat this question, or a better candidate's.
    """

    shown: Collection[tuple[str, int | str]] = ()
    window: Collection[int] | None = None
    query_hash: bytes = b""
    asked_again: Collection[Key] = ()


@dataclass(kw_only=True)
class Chosen:
    """Candidates that passed all rules except the budget, and the verdicts on the others."""

    passed: list[FoundDrawer] = field(default_factory=list)
    verdicts: dict[Key, CandidateVerdict] = field(default_factory=dict)


def choose(ranked: Sequence[FoundDrawer], request: RecallRequest, before: Before, *, none_fits: bool = False) -> Chosen:
    """Judge the candidates in order; at most `request.limit` pass, and none if a reranker found that `none_fits`."""
    chosen, best = Chosen(), _Best(ranked, request, before)
    for found in ranked:
        verdict = best.not_new(found)
        if verdict is None:
            verdict = "judged_unfit" if none_fits else _below_threshold(found, chosen, request)
        if verdict is None and best.is_copy(found):
            verdict = "duplicate"
        if verdict is None and len(chosen.passed) >= request.limit:
            verdict = "over_limit"
        if verdict is None:
            chosen.passed.append(found)
        else:
            chosen.verdicts[found.key] = verdict
    return chosen


def showable(ranked: Sequence[FoundDrawer], request: RecallRequest, before: Before) -> list[FoundDrawer]:
    """The candidates that only their score, the limit or the budget could exclude."""
    best = _Best(ranked, request, before)
    return [found for found in ranked if best.not_new(found) is None and not best.is_copy(found)]


class _Best:
    """Tracks duplicates among the candidates, which are examined best first."""

    def __init__(self, ranked: Sequence[FoundDrawer], request: RecallRequest, before: Before) -> None:
        self._request, self._before = request, before
        self._until = None if request.until is None else to_millis(request.until)
        self._contents = {before.query_hash}
        self._own = {found.facts.content_hash for found in ranked if found.own and not self._is_later(found)}

    def not_new(self, found: FoundDrawer) -> CandidateVerdict | None:
        """Why the model does not need such a candidate, whatever its score, or None."""
        if self._is_later(found):
            return "outside_dates"
        if self._is_in_window(found):
            return "in_window"
        if found.key in self._before.shown:
            return "already_shown"
        if found.key in self._before.asked_again and found.facts.content_hash not in self._contents:
            return "asked_again"
        return None

    def is_copy(self, found: FoundDrawer) -> bool:
        """Whether a better one says the same. The space's own come before those of a fallback."""
        content = found.facts.content_hash
        if content in self._contents or (not found.own and content in self._own):
            return True
        self._contents.add(content)
        return False

    def _is_later(self, found: FoundDrawer) -> bool:
        return self._until is not None and found.facts.said_at > self._until

    def _is_in_window(self, found: FoundDrawer) -> bool:
        if not found.own:
            return False
        if self._before.window is not None:
            return found.facts.number in self._before.window
        return found.facts.session == self._request.session and found.facts.turns_back < self._request.window_turns


def _below_threshold(found: FoundDrawer, chosen: Chosen, request: RecallRequest) -> CandidateVerdict | None:
    # A reranker's choice always fits; a candidate it was sent but did not choose must fit by its own score.
    if found.scores.get("rerank"):
        return None
    opened = "rerank" not in found.scores and any(shown.score >= request.threshold for shown in chosen.passed)
    least = request.threshold * (request.settings.threshold_share if opened else 1)
    return None if found.score >= least else "below_threshold"


def asked_again(sources: Sequence[SpaceSnapshot], ranked: Sequence[FoundDrawer], query: Query) -> frozenset[Key]:
    """The candidates that repeat the question, or a better candidate's, without any further content word.

    They hold no answer and would only fill the block.
    """
    likely = [
        found.key
        for found in ranked[:_QUESTIONS_LOOKED_AT]
        if found.facts.role == "user"
        and not found.facts.states & TELLS
        and found.signals.get("match", 0.0) >= _LEAST_MATCH
    ]
    if not likely:
        return frozenset()
    texts = read_drawers(sources, likely)
    questions: dict[Key, frozenset[str]] = {}
    for key in likely:
        telling = _question(texts[key].content) if key in texts else None
        if telling is not None:
            questions[key] = telling
    best = {telling: key for key, telling in reversed(questions.items())}
    asked = set(map(stem, query.terms))
    return frozenset(key for key, telling in questions.items() if telling <= asked or best[telling] != key)


def _question(content: str) -> frozenset[str] | None:
    """The content words of a message that asks, without numbers; None if it is not a question."""
    if len(content) > _LONGEST_QUESTION or not _ASKS.search(content):
        return None
    return frozenset(stem(word) for word in words(searchable(content)) if word not in STOPWORDS and not word.isdigit())
