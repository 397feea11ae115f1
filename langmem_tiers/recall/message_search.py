"""Explicit message search, outside a turn: for retrievers and search tools."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.recall.pipeline import recall
from langmem_tiers.recall.request import RecallRequest

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.types import RecalledItem

_ENDLESS = 10**9
# A single word is accepted as a query here, and derived memories have search methods of their own.
_ON_PURPOSE = {"enabled": True, "trivial_words": 0, "knowledge": 0}


def search_messages(
    context: SpaceContext,
    query: str,
    *,
    limit: int,
    threshold: float | None = None,
    until: datetime | None = None,
    window: Sequence[str] | None = None,
    keep_receipt: bool = False,
) -> tuple[RecalledItem, ...]:
    """The drawers that best fit a query, with their scores; ignores derived memories and earlier questions.

    `threshold` defaults to the recall setting, `window` holds the ids of messages to leave out. Nothing is recorded
    unless `keep_receipt` is set.
    """
    request = RecallRequest.of(
        context.settings,
        settings=context.settings.recall.model_copy(update=_ON_PURPOSE),
        query=query,
        now=context.now,
        until=until,
        window=window,
        window_turns=0,
        limit=limit,
        threshold=threshold,
        token_budget=_ENDLESS,
        keep_receipt=keep_receipt,
        selective=False,
    )
    return recall(context, request, fallbacks=(), count_tokens=len).items
