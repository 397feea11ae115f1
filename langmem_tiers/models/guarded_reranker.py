"""The reranker for recall: calls have a deadline, and failures cause a pause."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.models.calls import parents
from langmem_tiers.models.provider_errors import loggable, without_quotes
from langmem_tiers.models.rerank_chat import ByChatModel
from langmem_tiers.models.reranker import (
    SOURCE,
    Attempt,
    ByCompressor,
    Passage,
    Places,
    Ranker,
    RerankQuery,
    UnclearOrder,
)
from langmem_tiers.models.rest import Rest
from langmem_tiers.models.threads import finished, in_thread
from langmem_tiers.models.tokens import estimate
from langmem_tiers.storage.usages import Usage
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.settings import RerankSettings

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
# How much of an error's message goes into a note.
_MESSAGE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Reranked:
    """The outcome of one attempt: `places` in the passages, or None and the `reason`; and its usage.

    `usage` has the numbers that are known, `took` also estimates if the provider gives no count.
    """

    places: Places | None = None
    reason: str = ""
    usage: dict[str, dict[str, int]] = field(default_factory=dict)
    took: Usage = field(default_factory=Usage)


class GuardedReranker:
    """Never raises errors of the model's client, keeps to its deadline, and pauses longer after each failure."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._rest = Rest(_FIRST_PAUSE, _LONGEST_PAUSE)

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._ranker.name

    @property
    def judges(self) -> bool:
        """Whether it selects the passages that fit, rather than just ordering them."""
        return self._ranker.judges

    def rank(self, question: RerankQuery, passages: Sequence[Passage], how: RerankSettings) -> Reranked:
        """The best `how.keep` passages, or why there are none; the model is not called during a pause."""
        if self._rest.left(monotonic()):
            return Reranked(reason=f"{self._rest.reason}, not asked again yet")
        attempt = Attempt(callbacks=parents())
        sent = (question.text, *(passage.text for passage in passages))
        with otel.step("ask") as span:
            outcome = self._attempt(question, passages, how, attempt, sent)
            fault = outcome if isinstance(outcome, UnclearOrder) else None
            took = _taken(attempt, sent, failed=fault is not None)
            span.note(otel.named({"calls": took.calls}))
            kind, raised = (fault.kind, fault.raised) if fault else ("", False)
            otel.question(span, SOURCE, self.name, took.input_tokens, took.output_tokens, kind, raised=raised)
        if isinstance(outcome, UnclearOrder):
            return Reranked(reason=outcome.reason, usage=attempt.usage(), took=took)
        return Reranked(places=outcome, usage=attempt.usage(), took=took)

    def _attempt(
        self,
        question: RerankQuery,
        passages: Sequence[Passage],
        how: RerankSettings,
        attempt: Attempt,
        sent: Sequence[str],
    ) -> Places | UnclearOrder:
        try:
            running = in_thread(lambda: self._ranker.rank(question, passages, how.keep, attempt))
            outcome = running.result() if finished(running, how.timeout_seconds) else None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - each provider's client raises what it likes, with no common base
            kind = type(error).__name__
            return self._failed(UnclearOrder(without_quotes(error, sent, _MESSAGE), kind, raised=True), loggable(error))
        if outcome is None:
            attempt.given_up = True
            reason = f"timed out after {how.timeout_seconds:g} s"
            return self._failed(UnclearOrder(reason, "timeout"), reason)
        self._rest.works()
        return UnclearOrder(f"reply not understood: {outcome.reason}") if isinstance(outcome, UnclearOrder) else outcome

    def _failed(self, fault: UnclearOrder, log_reason: str) -> UnclearOrder:
        level = self._rest.failed(monotonic(), fault.reason)
        say(log, level, "reranker_unavailable", recall="fused_order", model=self.name, reason=log_reason)
        return fault


def _taken(attempt: Attempt, sent: Sequence[str], *, failed: bool) -> Usage:
    """What an attempt took, estimated where the provider gives no count."""
    if not attempt.calls:
        return Usage()
    given = attempt.input_tokens
    if given is None:
        given = attempt.calls * sum(map(estimate, sent))
    made = attempt.output_tokens or 0
    return Usage(calls=attempt.calls, failures=int(failed), input_tokens=given, output_tokens=made)


def guarded(reranker: BaseDocumentCompressor | BaseChatModel | None) -> GuardedReranker | None:
    """The guarded reranker for an argument, None for none.

    Raises:
        InvalidSettings: it is neither a document compressor nor a chat model.
    """
    if reranker is None:
        return None
    # By their methods, not by their classes: importing those would cost a tenth of a second.
    if not isinstance(reranker, type):  # a class has the methods too, and would fail at the first question
        if callable(getattr(reranker, "compress_documents", None)):
            return GuardedReranker(ByCompressor(reranker))  # type: ignore[arg-type]
        if callable(getattr(reranker, "invoke", None)):
            return GuardedReranker(ByChatModel(reranker))  # type: ignore[arg-type]
    raise InvalidSettings(
        f"{reranker!r} is no reranker.", way_out="Give a LangChain document compressor or chat model, or None."
    )
