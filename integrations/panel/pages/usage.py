"""Usage: what models took for this memory, by source, day, conversation and model, and what it cost."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

from starlette.responses import Response

from langmem_tiers.integrations.panel.chart import bars
from langmem_tiers.integrations.panel.page import Page, View, get
from langmem_tiers.storage.usages import UsageBy

if TYPE_CHECKING:
    from langmem_tiers.models.usage import UsageLine
    from langmem_tiers.space import Space

_PERIODS = ("30", "7", "90", "365", "all")
_SOURCES = {
    "memory_embed": "Embeddings: meaning as numbers",
    "memory_extract": "Reading conversations",
    "memory_rerank": "Reranking what was found",
    "memory_dream": "Dreams",
    "memory_qa": "Answering questions",
    "memory_enrich": "Improving entries",
}
_LONGEST_LIST = 50


def show(view: View) -> Response:
    """The figures of a period, as a chart by day and as tables."""
    period = view.query.choice("days", _PERIODS)
    days = None if period == "all" else int(period)
    found = {by: view.space.usage(days=days, by=by) for by in get_args(UsageBy)}
    budget = view.space.context.settings.model.budget
    given: dict[str, Any] = {
        "days": period,
        "periods": _PERIODS,
        "chart": bars(_by_day(view.space, found["day"], days), "Tokens by day"),
        "tables": _tables(found),
        "total": _total(found["source"]),
        "priced": bool(budget.input_price or budget.output_price) or any(each.cost for each in found["source"]),
        "sources": _SOURCES,
    }
    return view.show("usage.html", **given)


def _by_day(space: Space, lines: tuple[UsageLine, ...], days: int | None) -> list[tuple[str, int]]:
    """Tokens of each day of the period, also of those without any, from the first one with some."""
    taken = {line.name: line.input_tokens + line.output_tokens for line in lines}
    if not taken:
        return []
    today = space.context.clock().date()
    back = days or min(365, (today - min(map(type(today).fromisoformat, taken))).days + 1)
    every = [str(today - timedelta(days=ago)) for ago in range(back - 1, -1, -1)]
    return [(day, taken.get(day, 0)) for day in every]


def _tables(found: dict[UsageBy, tuple[UsageLine, ...]]) -> list[tuple[str, str, tuple[UsageLine, ...], int]]:
    """A heading, what a row is, the rows, and how many more there are."""
    newest = found["day"][::-1]
    most = sorted(found["session"], key=lambda line: -(line.input_tokens + line.output_tokens))
    listed = (
        ("By what it was for", "source", found["source"]),
        ("By model", "model", found["model"]),
        ("By conversation", "session", tuple(most)),
        ("By day", "day", newest),
    )
    return [(title, what, rows[:_LONGEST_LIST], max(0, len(rows) - _LONGEST_LIST)) for title, what, rows in listed]


def _total(lines: tuple[UsageLine, ...]) -> dict[str, float]:
    return {
        "calls": sum(line.calls for line in lines),
        "tokens": sum(line.input_tokens + line.output_tokens for line in lines),
        "failures": sum(line.failures for line in lines),
        "cost": sum(line.cost for line in lines),
    }


PAGE = Page(title="Usage", path="/usage", key="u", group="agent", actions=(get("/usage", show),))
