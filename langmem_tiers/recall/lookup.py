"""Looking among the messages on purpose, outside a turn: for a retriever or a tool that searches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.recall.pipeline import Recall
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.telemetry import figures

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.types import Recalled, RecalledItem

_ENDLESS = 10**9
# A single word is a query here, and who looks on purpose has other ways to what is known besides.
_ON_PURPOSE = {"enabled": True, "trivial_words": 0, "knowledge": 0}


def drawers(
    space: Space,
    query: str,
    *,
    limit: int,
    threshold: float | None = None,
    until: datetime | None = None,
    window: Sequence[str] | None = None,
    keep_receipt: bool = False,
) -> tuple[RecalledItem, ...]:
    """The drawers that fit a query best, with their scores; what is known and what was asked before play no part.

    `threshold` is the setting of recall where nothing is said, `window` holds the ids of messages that are left out.
    Only with `keep_receipt` anything is noted of it.
    """
    memory = space.memory
    settings = memory.settings.recall.model_copy(update=_ON_PURPOSE)
    request = RecallRequest(
        query=query,
        session=None,
        message_id=None,
        window=window,
        window_turns=0,
        now=memory.clock(),
        until=until,
        limit=limit,
        threshold=settings.threshold if threshold is None else threshold,
        token_budget=_ENDLESS,
        fallback=False,
        keep_receipt=keep_receipt,
        settings=settings,
        fade_days=memory.settings.dream.fade_days,
    )
    return figures.recall(space.name, lambda: _looked(space, request)).items


def _looked(space: Space, request: RecallRequest) -> Recalled:
    memory, kept = space.memory, space.memory.settings.storage.receipts_kept
    with memory.use(space.name) as store:
        embedder = memory.embedder_of(space.name)
        return Recall(request, (), own=store, embedder=embedder, count_tokens=len, receipts_kept=kept).run()
