"""The steps of a dream as spans, and what became of the dream once it is over."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

from langmem_tiers.dream.state import DreamState
from langmem_tiers.dream.types import DreamReport
from langmem_tiers.telemetry import figures, tracing

Owner = TypeVar("Owner")
Taken = Callable[[Owner, str, DreamState], DreamState]
ATaken = Callable[[Owner, str, DreamState], Coroutine[Any, Any, DreamState]]


def traced(method: Taken[Owner]) -> Taken[Owner]:
    """A method that takes a dream through a step, told of."""

    @wraps(method)
    def step(self: Owner, name: str, state: DreamState) -> DreamState:
        with tracing.step(f"dream.{name}", state.space) as span:
            return _noted(span, state, method(self, name, state))

    return step


def atraced(method: ATaken[Owner]) -> ATaken[Owner]:
    """`traced` for a coroutine."""

    @wraps(method)
    async def step(self: Owner, name: str, state: DreamState) -> DreamState:
        with tracing.step(f"dream.{name}", state.space) as span:
            return _noted(span, state, await method(self, name, state))

    return step


def ended(report: DreamReport) -> None:
    """Tell of a dream that was ended by who drives it, outside of its steps."""
    figures.dream(tracing.Noting(), report)


def _noted(span: tracing.Noting, before: DreamState, after: DreamState) -> DreamState:
    span.note({f"{tracing.SCOPE}.proposals": len(after.proposals)})
    if before.report is None and after.report is not None:
        figures.dream(span, after.report)
    return after
