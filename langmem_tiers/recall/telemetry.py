"""Timings of a recall's stages, and its span, metrics and log record."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from langmem_tiers.recall.recalled_early import receipt_so_far
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import Recalled

log = logging.getLogger(__name__)


class Stopwatch:
    """Adds up the time of each named stage."""

    def __init__(self) -> None:
        self._started = perf_counter()
        self._stages: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the block as part of a stage."""
        started = perf_counter()
        try:
            yield
        finally:
            self._stages[name] = self._stages.get(name, 0.0) + (perf_counter() - started) * 1000

    def timings(self) -> dict[str, float]:
        """Milliseconds by stage so far, and in total."""
        total = (perf_counter() - self._started) * 1000
        return {name: round(spent, 3) for name, spent in (*self._stages.items(), ("total", total))}


def traced(space: str, recall: Callable[[], Recalled]) -> Recalled:
    """The result of a recall, with a span, metrics and a log record."""
    began = perf_counter()
    with otel.step("recall", space) as span:
        recalled = recall()
        if span.heard:
            span.note(_attributes(recalled))
    seconds = perf_counter() - began
    hits, verdict = len(recalled.items) + len(recalled.known), receipt_so_far(recalled).verdict
    otel.recalled(seconds, hits, verdict)
    say(log, logging.DEBUG, "recalled", space=space, verdict=verdict, hits=hits, ms=round(seconds * 1000, 3))
    return recalled


def _attributes(recalled: Recalled) -> dict[str, Any]:
    receipt = receipt_so_far(recalled)
    scores = [*(each.scores for each in receipt.candidates), *(each.scores for each in receipt.known)]
    channels = Counter(channel for each in scores for channel in each)
    hits = len(recalled.items) + len(recalled.known)
    return otel.named(
        {
            **{"verdict": receipt.verdict, "hits": hits, "empty": hits == 0, "tokens": receipt.tokens},
            **{"candidates": len(receipt.candidates) + len(receipt.known), "notes": len(receipt.notes)},
            **{f"channel.{name}": count for name, count in channels.items()},
            **{f"ms.{stage}": spent for stage, spent in receipt.timings.items()},
        }
    )
