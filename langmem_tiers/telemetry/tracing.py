"""Spans of OpenTelemetry, through its API alone: without an SDK that somebody has set up, nothing is recorded.

The API is not imported here before somebody else has done so, or asks for it in the environment: who sets up an SDK
does one of the two. So a program that does not use OpenTelemetry does not pay for it, not even for the import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from langmem_tiers.naming import space_mark
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Result = TypeVar("Result")

SCOPE = "langmem_tiers"
"""What spans and metrics are told under."""
# Of these, the first names an SDK; the API loads it by itself.
_ASKED_FOR = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_METER_PROVIDER")


def wanted() -> bool:
    """Whether OpenTelemetry's API is there and somebody may have set it up."""
    return "opentelemetry.trace" in sys.modules or "opentelemetry.metrics" in sys.modules or _asked_for()


@cache
def _asked_for() -> bool:
    return any(name in os.environ for name in _ASKED_FOR) and find_spec("opentelemetry") is not None


class Noting:
    """The span of a step that is under way; without one, nothing is noted."""

    __slots__ = ("_span",)

    def __init__(self, span: Span | None = None) -> None:
        self._span = span

    @property
    def heard(self) -> bool:
        """Whether anybody listens: what is dear to find out need not be found out else."""
        return self._span is not None and self._span.is_recording()

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes; those that are None are left out."""
        if self._span is not None and self._span.is_recording():
            self._span.set_attributes({name: value for name, value in attributes.items() if value is not None})

    def failed(self, kind: str, *, raised: bool = False) -> None:
        """Mark the step as failed, by the kind of the fault alone: its message may quote what was said.

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


class _Silent:
    """A step that nobody listens to; its failures are counted all the same, as metrics may be set up alone."""

    __slots__ = ("_name",)
    _unheard = Noting()

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> Noting:
        return self._unheard

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            _counted(self._name, error)


def step(name: str, space: str | None = None) -> AbstractContextManager[Noting]:
    """The span `langmem_tiers.<name>` around the block, a child of the caller's current span.

    What the block raises goes on to the caller, is marked on the span, and counted as a failure.
    """
    return _spanned(name, space) if wanted() and _set_up() else _Silent(name)


def _set_up() -> bool:
    """Whether there is a provider of spans: the API's stand-in for one records nothing."""
    api: Any = sys.modules.get("opentelemetry.trace") or import_module("opentelemetry.trace")
    return not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider)


@cache
def _tracer() -> Tracer:
    from opentelemetry.trace import get_tracer

    return get_tracer(SCOPE, __version__)


@contextmanager
def _spanned(name: str, space: str | None) -> Iterator[Noting]:
    full = f"{SCOPE}.{name}"
    with _tracer().start_as_current_span(full, record_exception=False, set_status_on_exception=False) as span:
        noting = Noting(span)
        noting.note({f"{SCOPE}.space": None if space is None else space_mark(space)})
        try:
            yield noting
        except Exception as error:
            noting.failed(type(error).__name__, raised=True)
            _counted(name, error)
            raise


def _counted(name: str, error: Exception) -> None:
    from langmem_tiers.telemetry import metrics

    metrics.failed(name, type(error).__name__)


def carried(call: Callable[[], Result]) -> Callable[[], Result]:
    """The call, whose spans are children of the caller's also where it runs in a thread without a context."""
    if not wanted():
        return call
    from opentelemetry import context

    here = context.get_current()

    def attached() -> Result:
        token = context.attach(here)
        try:
            return call()
        finally:
            context.detach(token)

    return attached
