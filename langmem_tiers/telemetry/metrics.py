"""Metrics of OpenTelemetry: how long recalls take and what they bring, what waits, what dreams and models came to.

They hold no spaces, users or sessions: their number has no limit, and each would be a series of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from langmem_tiers.telemetry.tracing import SCOPE, wanted
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, Observation

# Seconds. From a recall in a small space to one that waits for a model.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Queue(Protocol):
    """Something that work waits in."""

    def depth(self) -> int:
        """How many spaces wait."""


_queues: WeakSet[Queue] = WeakSet()
_lock = threading.Lock()


def watch(queue: Queue) -> None:
    """Count what waits in a queue until `unwatch`, or until nobody holds it any more."""
    with _lock:
        _queues.add(queue)


def unwatch(queue: Queue) -> None:
    """Count it no longer."""
    with _lock:
        _queues.discard(queue)


def recalled(seconds: float, hits: int, verdict: str) -> None:
    """Count a recall."""
    if found := _instruments():
        about = {f"{SCOPE}.verdict": verdict}
        found.duration.record(seconds, about)
        found.hits.add(hits, about)
        found.empties.add(int(hits == 0), about)


def dreamt(status: str, trigger: str, path: str) -> None:
    """Count a dream by what became of it."""
    if found := _instruments():
        found.dreams.add(1, {f"{SCOPE}.status": status, f"{SCOPE}.trigger": trigger, f"{SCOPE}.path": path})


def asked(source: str, model: str, given: int, made: int) -> None:
    """Count the tokens of a question to a model."""
    if found := _instruments():
        about = {f"{SCOPE}.source": source, "gen_ai.request.model": model}
        found.tokens.add(given, {**about, "gen_ai.token.type": "input"})
        found.tokens.add(made, {**about, "gen_ai.token.type": "output"})


def failed(name: str, kind: str) -> None:
    """Count a step that failed."""
    if found := _instruments():
        found.failures.add(1, {f"{SCOPE}.step": name, "error.type": kind})


@dataclass(frozen=True)
class _Instruments:
    duration: Histogram
    hits: Counter
    empties: Counter
    dreams: Counter
    tokens: Counter
    failures: Counter


def _instruments() -> _Instruments | None:
    return _made() if wanted() else None


@cache
def _made() -> _Instruments:
    """Made once a process: where an SDK is set up later, the API passes on to it what these are given."""
    from opentelemetry.metrics import get_meter

    meter = get_meter(SCOPE, __version__)
    meter.create_observable_gauge(
        f"{SCOPE}.queue.depth", [_depth], unit="{space}", description="Spaces that wait for background work."
    )
    return _Instruments(
        duration=_duration(meter),
        hits=meter.create_counter(f"{SCOPE}.recall.hits", unit="{item}", description="Items that recalls gave."),
        empties=meter.create_counter(
            f"{SCOPE}.recall.empties", unit="{recall}", description="Recalls that gave nothing."
        ),
        dreams=meter.create_counter(f"{SCOPE}.dreams", unit="{dream}", description="Dreams by what became of them."),
        tokens=meter.create_counter(
            f"{SCOPE}.tokens", unit="{token}", description="Tokens that models were given and made for the memory."
        ),
        failures=meter.create_counter(f"{SCOPE}.failures", unit="{failure}", description="Steps that failed."),
    )


def _duration(meter: Meter) -> Histogram:
    about: dict[str, Any] = {"unit": "s", "description": "How long recalls take."}
    name = f"{SCOPE}.recall.duration"
    try:
        return meter.create_histogram(name, **about, explicit_bucket_boundaries_advisory=_SECONDS)
    except TypeError:  # an older API: the buckets are the SDK's own
        return meter.create_histogram(name, **about)


def _depth(_options: CallbackOptions) -> Iterable[Observation]:
    from opentelemetry.metrics import Observation

    with _lock:
        queues = tuple(_queues)
    yield Observation(sum(queue.depth() for queue in queues))
