"""Milliseconds by stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Adds up how long each named stage took."""

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
