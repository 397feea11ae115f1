"""What models took, by source, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_MILLION = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Of a million tokens, in whatever money; None where it is not known."""

    tokens_in: float | None = None
    tokens_out: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The calls of one source and their tokens. `untold` calls did not say how many they took."""

    source: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    untold: int
    cost: float | None = None


def usage_of(source: str, lines: Iterable[Mapping[str, object]], prices: Prices) -> Usage:
    """The sum over the lines of a log."""
    calls = prompt = completion = untold = 0
    for line in lines:
        count = _known(line, "calls") or 1
        calls += count
        untold += count if line.get("prompt_tokens") is None else 0
        prompt += _known(line, "prompt_tokens") or 0
        completion += _known(line, "completion_tokens") or 0
    return Usage(
        source=source,
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        untold=untold,
        cost=_cost(prompt, completion, prices),
    )


def with_earlier(line: Mapping[str, object], earlier: Mapping[str, object] | None) -> Mapping[str, object]:
    """A line of a log with what earlier attempts took added to it."""
    if earlier is None:
        return line
    tokens = {
        name: added((_known(line, name), _known(earlier, name))) for name in ("prompt_tokens", "completion_tokens")
    }
    return {**line, **tokens, "calls": (_known(line, "calls") or 1) + (_known(earlier, "calls") or 1)}


def added(numbers: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None when none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _cost(prompt: int, completion: int, prices: Prices) -> float | None:
    if prices.tokens_in is None and prices.tokens_out is None:
        return None
    return (prompt * (prices.tokens_in or 0) + completion * (prices.tokens_out or 0)) / _MILLION


def _known(line: Mapping[str, object], name: str) -> int | None:
    value = line.get(name)
    return value if isinstance(value, int) else None
