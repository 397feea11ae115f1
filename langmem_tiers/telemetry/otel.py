"""OpenTelemetry spans and metrics, through its API alone: without an SDK, nothing is recorded.

The API is only imported if someone else has imported it or asks for it in the environment: whoever sets up an SDK
does one of the two. So a program that does not use OpenTelemetry does not pay for it, not even for the import.

Metrics have no attributes for spaces, users or sessions: their number is unlimited, and each would be a new series.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import WeakSet

from langmem_tiers.naming import space_mark
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, Observation
    from opentelemetry.trace import Span, Tracer

SCOPE = "langmem_tiers"
"""What spans and metrics are told under."""
# The first of these names an SDK; the API loads it on its own.
_ASKED_FOR = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_METER_PROVIDER")
# Seconds. From a recall in a small space to one that waits for a model.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


def wanted() -> bool:
    """Whether OpenTelemetry's API is available and someone may have set it up."""
    return "opentelemetry.trace" in sys.modules or "opentelemetry.metrics" in sys.modules or _asked_for()


@cache
def _asked_for() -> bool:
    return any(name in os.environ for name in _ASKED_FOR) and find_spec("opentelemetry") is not None


class Noting:
    """The span of the current step; without one, nothing is recorded."""

    __slots__ = ("_span",)

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    @property
    def heard(self) -> bool:
        """Whether anyone records it: expensive attributes need not be computed otherwise."""
        return self._span is not None and self._span.is_recording()

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes; those that are None are left out."""
        if self._span is not None and self._span.is_recording():
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def failed(self, kind: str, *, raised: bool = False) -> None:
        """Mark the step as failed, by the kind of the failure alone: its message may quote what was said.

        Args:
            kind: The class of an error, or a word for what else went wrong.
            raised: Whether it is the class of an error.
        """
        if self._span is not None and self._span.is_recording():
            from opentelemetry.trace import Status, StatusCode

            if raised:
                self._span.add_event("exception", {"exception.type": kind})
            self._span.set_attribute("error.type", kind)
            self._span.set_status(Status(StatusCode.ERROR, kind))


@contextmanager
def step(name: str, space: str | None = None) -> Iterator[Noting]:
    """The span `langmem_tiers.<name>` around the block, a child of the caller's current span.

    Whatever the block raises is passed on to the caller, recorded on the span if there is one, and counted as a
    failure: metrics may be set up alone.
    """
    with _span(name) as span:
        noting = Noting(span)
        noting.note({f"{SCOPE}.space": None if space is None else space_mark(space)})
        try:
            yield noting
        except Exception as error:
            kind = type(error).__name__
            noting.failed(kind, raised=True)
            failed(name, kind)
            raise


def _span(name: str) -> AbstractContextManager[Span | None]:
    """A span, None if nobody provides any: the API's placeholder records nothing."""
    if not wanted():
        return nullcontext()
    # Another thread may be importing it: an import waits for that one, `sys.modules` shows what is half made.
    api: Any = import_module("opentelemetry.trace")
    if isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return nullcontext()
    found: AbstractContextManager[Span | None] = _tracer().start_as_current_span(
        f"{SCOPE}.{name}", record_exception=False, set_status_on_exception=False
    )
    return found


@cache
def _tracer() -> Tracer:
    from opentelemetry.trace import get_tracer

    return get_tracer(SCOPE, __version__)


def named(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes in this library's own namespace."""
    return {f"{SCOPE}.{name}": value for name, value in counts.items()}


def tokens(given: int, made: int) -> dict[str, int]:
    """Input and output tokens, named as in OpenTelemetry's conventions."""
    return {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made}


def question(span: Noting, source: str, model: str, given: int, made: int, failure: str, *, raised: bool) -> None:
    """Record the usage of a question to a model; a failure is a word, or the class of an error that was raised."""
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, f"{SCOPE}.source": source}
    span.note({**about, **tokens(given, made)})
    asked(source, model, given, made)
    if failure:
        span.failed(failure, raised=raised)
        failed("ask", failure)


class Waiting(NamedTuple):
    """How many spaces wait for somebody, and for how many seconds the first of them does."""

    spaces: int
    seconds: float


class Queue(Protocol):
    """A queue of work."""

    def waiting(self) -> Waiting | None:
        """What waits in it, None if that cannot be told."""


_queues: WeakSet[Queue] = WeakSet()
_lock = threading.Lock()


def watch(queue: Queue) -> None:
    """Report what waits in a queue until `unwatch`, or until it is garbage-collected."""
    with _lock:
        _queues.add(queue)
    # A worker may have nothing else to measure.
    _instruments()


def unwatch(queue: Queue) -> None:
    """Stop reporting what waits in it."""
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
    """Count a dream by its outcome."""
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
    """Created once per process: if an SDK is set up later, the API forwards to it."""
    from opentelemetry.metrics import get_meter

    meter = get_meter(SCOPE, __version__)
    meter.create_observable_gauge(
        f"{SCOPE}.queue.depth", [_depth], unit="{space}", description="Spaces that wait for background work."
    )
    meter.create_observable_gauge(
        f"{SCOPE}.queue.lag", [_lag], unit="s", description="How long the first of them has been waiting."
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
    return _observed(lambda found: sum(each.spaces for each in found))


def _lag(_options: CallbackOptions) -> Iterable[Observation]:
    return _observed(lambda found: max((each.seconds for each in found), default=0.0))


def _observed(measure: Callable[[Sequence[Waiting]], float]) -> Iterable[Observation]:
    """What is measured of all queues; nothing while one cannot be asked, rather than too little."""
    from opentelemetry.metrics import Observation

    with _lock:
        queues = tuple(_queues)
    found = [waiting for queue in queues if (waiting := queue.waiting()) is not None]
    return [Observation(measure(found))] if len(found) == len(queues) else []
