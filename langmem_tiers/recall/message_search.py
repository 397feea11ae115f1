"""Explicit message search, outside a turn: for retrievers and search tools."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers import arguments
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
    project: str | None = None,
    task: str | None = None,
    keep_receipt: bool = False,
) -> tuple[RecalledItem, ...]:
    """The drawers of a space and its fallbacks that best fit a query; ignores derived memories and earlier questions.

    `threshold` defaults to the recall setting, `window` holds the ids of messages to leave out; with `project` or
    `task`, only what is about it is found. Nothing is recorded unless `keep_receipt` is set.
    """
    request = RecallRequest.of(
        context.settings,
        settings=context.settings.recall.model_copy(update=_ON_PURPOSE),
        query=query,
        now=context.now,
        until=until,
        window=window,
        window_turns=0,
        project=arguments.optional_name(project, "project"),
        task=arguments.optional_name(task, "task"),
        limit=limit,
        threshold=threshold,
        token_budget=_ENDLESS,
        keep_receipt=keep_receipt,
        selective=False,
    )
    found = recall(context, request, count_tokens=len).items
    wanted = {name: value for name in ("project", "task") if (value := getattr(request, name)) is not None}
    # The answer to a question that was found may be about something else.
    return tuple(each for each in found if all(getattr(each.drawer, name) == wanted[name] for name in wanted))
