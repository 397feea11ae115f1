"""The reranker of a memory as recall sees it: it has a deadline, may be away for a while, and comes back."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.llm.runs import parents
from langmem_tiers.llm.threads import finished, in_thread
from langmem_tiers.recall.rerank import SOURCE, Attempt, Passage, Places, Question, Ranker, Unclear
from langmem_tiers.recall.rerank_chat import ByChatModel
from langmem_tiers.recall.rerank_compressor import ByCompressor
from langmem_tiers.recall.tokens import estimate
from langmem_tiers.storage.usages import Usage
from langmem_tiers.telemetry import figures, tracing
from langmem_tiers.telemetry.faults import loggable
from langmem_tiers.telemetry.logs import say, without_quotes

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.settings import RerankSettings

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
# Of an error's message, what goes into a note.
_MESSAGE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Reranked:
    """What came of one attempt: `places` in the passages, or None and the `reason`; and what it took.

    `usage` are the numbers that are known, `took` those with an estimate where the provider tells none.
    """

    places: Places | None = None
    reason: str = ""
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    took: Usage = field(default_factory=Usage)


class GuardedReranker:
    """Raises nothing that a model's client raises, waits no longer than it may, and rests longer after each failure."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._pause = _FIRST_PAUSE
        self._again_at = 0.0
        self._warned = False
        self._reason = ""
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """What the model is called."""
        return self._ranker.name

    @property
    def judges(self) -> bool:
        """Whether it names the passages that fit, or else only puts them in order."""
        return self._ranker.judges

    def rank(self, question: Question, passages: Sequence[Passage], how: RerankSettings) -> Reranked:
        """The best `how.keep` passages, or why there are none; nobody is asked while it rests after a failure."""
        if monotonic() < self._again_at:
            return Reranked(reason=f"{self._reason}, not asked again yet")
        attempt = Attempt(callbacks=parents())
        with tracing.step("ask") as span:
            outcome = self._attempt(question, passages, how, attempt)
            took = _taken(attempt, question, passages, failed=isinstance(outcome, Unclear))
            figures.rerank(span, SOURCE, self.name, took, *_fault(outcome))
        if isinstance(outcome, Unclear):
            return Reranked(reason=outcome.reason, usage=attempt.usage(), took=took)
        return Reranked(places=outcome, usage=attempt.usage(), took=took)

    def _attempt(
        self, question: Question, passages: Sequence[Passage], how: RerankSettings, attempt: Attempt
    ) -> Places | Unclear:
        try:
            running = in_thread(lambda: self._ranker.rank(question, passages, how.keep, attempt))
            outcome = running.result() if finished(running, how.timeout_seconds) else None
        except Exception as error:  # noqa: BLE001 - each provider's client raises what it likes, with no common base
            sent = (question.text, *(passage.text for passage in passages))
            kind = type(error).__name__
            return self._failed(Unclear(without_quotes(error, sent, _MESSAGE), kind, raised=True), loggable(error))
        if outcome is None:
            attempt.given_up = True
            told = f"timed out after {how.timeout_seconds:g} s"
            return self._failed(Unclear(told, "timeout"), told)
        self._works()
        return Unclear(f"reply not understood: {outcome.reason}") if isinstance(outcome, Unclear) else outcome

    def _failed(self, fault: Unclear, told: str) -> Unclear:
        """Note a failure: one warning that says what may be logged of it, and a longer pause each time."""
        with self._lock:
            if monotonic() >= self._again_at:  # else one that was asked at the same time has failed first
                self._again_at = monotonic() + self._pause
                self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            level = logging.DEBUG if self._warned else logging.WARNING
            self._warned = True
            self._reason = fault.reason
        say(log, level, "reranker_unavailable", recall="fused_order", model=self.name, reason=told)
        return fault

    def _works(self) -> None:
        """Note a success: the next failure is news again."""
        with self._lock:
            self._pause, self._again_at, self._warned = _FIRST_PAUSE, 0.0, False


def guarded(reranker: BaseDocumentCompressor | BaseChatModel | None) -> GuardedReranker | None:
    """The reranker that is meant, None for none.

    Raises:
        InvalidSettings: it is neither a document compressor nor a chat model.
    """
    if reranker is None:
        return None
    # By what they can do, not by their classes: importing those would cost a tenth of a second.
    if not isinstance(reranker, type):  # a class has the methods too, and would fail at the first question
        if callable(getattr(reranker, "compress_documents", None)):
            return GuardedReranker(ByCompressor(reranker))  # type: ignore[arg-type]
        if callable(getattr(reranker, "invoke", None)):
            return GuardedReranker(ByChatModel(reranker))  # type: ignore[arg-type]
    raise InvalidSettings(
        f"{reranker!r} is no reranker.", way_out="Give a LangChain document compressor or chat model, or None."
    )


def _fault(outcome: Places | Unclear) -> tuple[str | None, bool]:
    return (outcome.kind, outcome.raised) if isinstance(outcome, Unclear) else (None, False)


def _taken(attempt: Attempt, question: Question, passages: Sequence[Passage], *, failed: bool) -> Usage:
    if not attempt.calls:
        return Usage()
    given = attempt.input_tokens
    if given is None:
        given = attempt.calls * sum(estimate(text) for text in (question.text, *(each.text for each in passages)))
    made = attempt.output_tokens or 0
    return Usage(calls=attempt.calls, failures=int(failed), input_tokens=given, output_tokens=made)
