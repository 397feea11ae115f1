"""What spans, metrics and log records say of what a step came to: counts and times, nothing that was said."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from langmem_tiers.telemetry import metrics
from langmem_tiers.telemetry.logs import say
from langmem_tiers.telemetry.tracing import SCOPE, Noting, step

if TYPE_CHECKING:
    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.llm.answers import Answer
    from langmem_tiers.storage.usages import Usage
    from langmem_tiers.types import Recalled, TrackReport
    from langmem_tiers.writing.mining.types import MiningReport

log = logging.getLogger(__name__)

# In whose name a client of LangChain's speaks to whom, as OpenTelemetry's conventions call them.
_PROVIDERS = {"google_genai": "gcp.gemini", "google_vertexai": "gcp.vertex_ai", "aws": "aws.bedrock"}


def recall(space: str, made: Callable[[], Recalled]) -> Recalled:
    """What a recall gives, told of."""
    began = perf_counter()
    with step("recall", space) as span:
        recalled = made()
        if span.heard:
            span.note(_of_recall(recalled))
    seconds = perf_counter() - began
    hits, verdict = len(recalled.items) + len(recalled.known), recalled.receipt.verdict
    metrics.recalled(seconds, hits, verdict)
    say(log, logging.DEBUG, "recalled", space=space, verdict=verdict, hits=hits, ms=_ms(seconds))
    return recalled


def track(space: str, made: Callable[[], TrackReport]) -> TrackReport:
    """What storing turns came to, told of."""
    began = perf_counter()
    with step("track", space) as span:
        report = made()
        counts: dict[str, Any] = {
            "stored": len(report.stored),
            "revised": len(report.revised),
            "known": report.known,
            "rejected": len(report.rejected),
        }
        span.note(_named(counts))
    say(log, logging.DEBUG, "tracked", space=space, **counts, ms=_ms(perf_counter() - began))
    return report


def mine(space: str, made: Callable[[], MiningReport | None]) -> MiningReport | None:
    """What mining a window came to, told of."""
    began = perf_counter()
    with step("mine", space) as span:
        report = made()
        if report is None:
            return None
        counts: dict[str, Any] = {
            "path": report.path,
            "kept": len(report.kept),
            "merged": len(report.merged),
            "known": len(report.known),
            "corrected": len(report.corrected),
            "refused": len(report.refused),
            "relations": report.relations,
            "calls": report.calls,
        }
        span.note({**_named(counts), **_tokens(report.input_tokens, report.output_tokens)})
    say(log, logging.INFO, "mined", space=space, **counts, ms=_ms(perf_counter() - began))
    return report


def dream(span: Noting, report: DreamReport) -> None:
    """Tell what became of a dream."""
    counts: dict[str, Any] = {
        "status": report.status,
        "trigger": report.trigger,
        "path": report.path,
        "accepted": len(report.decision.accepted),
        "rejected": len(report.decision.rejected),
    }
    span.note(_named(counts))
    if report.status == "failed":
        span.failed("failed")
    metrics.dreamt(report.status, report.trigger, report.path)
    say(log, logging.INFO, "dreamt", space=report.space, dream=report.id, **counts)


def question(span: Noting, source: str, model: str, answer: Answer[Any], *, provider: str, longest: int) -> None:
    """Tell what came of a question to the memory's model."""
    about = {"gen_ai.provider.name": provider, "gen_ai.output.type": "json", "gen_ai.request.max_tokens": longest}
    span.note({**about, f"{SCOPE}.calls": answer.calls})
    _of_question(span, source, model, answer.input_tokens, answer.output_tokens)
    _of_fault(span, answer.raised or answer.failure, raised=bool(answer.raised))


def rerank(span: Noting, source: str, model: str, took: Usage, failure: str | None, raised: bool) -> None:
    """Tell what came of a question to a reranker; a failure is a word, or the class of an error that was raised."""
    span.note({f"{SCOPE}.calls": took.calls})
    _of_question(span, source, model, took.input_tokens, took.output_tokens)
    _of_fault(span, failure, raised=raised)


def embedding(span: Noting, model: str, texts: int, dimension: int | None = None) -> None:
    """Tell what is embedded, and in how many dimensions."""
    if not span.heard:
        return
    span.note(
        {
            "gen_ai.operation.name": "embeddings",
            "gen_ai.request.model": model,
            "gen_ai.embeddings.dimension.count": dimension,
            f"{SCOPE}.texts": texts,
        }
    )


def provider_of(model: object) -> str:
    """Who provides a chat model, by the package of its class: `openai` for one of `langchain_openai`."""
    package = type(model).__module__.partition(".")[0].removeprefix("langchain_")
    return _PROVIDERS.get(package, package)


def _of_question(span: Noting, source: str, model: str, given: int, made: int) -> None:
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, f"{SCOPE}.source": source}
    span.note({**about, **_tokens(given, made)})
    metrics.asked(source, model, given, made)


def _of_fault(span: Noting, failure: str | None, *, raised: bool) -> None:
    if failure:
        span.failed(failure, raised=raised)
        metrics.failed("ask", failure)


def _of_recall(recalled: Recalled) -> dict[str, Any]:
    receipt = recalled.receipt
    scores = [*(each.scores for each in receipt.candidates), *(each.scores for each in receipt.known)]
    channels = Counter(channel for each in scores for channel in each)
    hits = len(recalled.items) + len(recalled.known)
    return {
        **_named({"verdict": receipt.verdict, "hits": hits, "empty": hits == 0, "tokens": receipt.tokens}),
        **_named({"candidates": len(receipt.candidates) + len(receipt.known), "notes": len(receipt.notes)}),
        **_named({f"channel.{name}": count for name, count in channels.items()}),
        **_named({f"ms.{stage}": spent for stage, spent in receipt.timings.items()}),
    }


def _tokens(given: int, made: int) -> dict[str, int]:
    return {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made}


def _named(counts: dict[str, Any]) -> dict[str, Any]:
    return {f"{SCOPE}.{name}": value for name, value in counts.items()}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
