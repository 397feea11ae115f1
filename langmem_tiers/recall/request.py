"""What a recall is asked to do, with every default filled in from the settings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from langmem_tiers.settings import DreamSettings, RecallSettings


@dataclass(frozen=True, kw_only=True)
class RecallRequest:
    """One recall.

    `window` are the ids of the messages that the model sees anyway; None means the session's last `window_turns`.
    `bare` are those of them that it sees without what was recalled for them.
    `fade_days` is the half-life of preferences that were inferred.
    """

    query: str
    session: str | None
    message_id: str | None
    window: Collection[str] | None
    window_turns: int
    now: datetime
    until: datetime | None
    limit: int
    threshold: float
    token_budget: int
    fallback: bool
    keep_receipt: bool
    settings: RecallSettings
    fade_days: float = DreamSettings().fade_days
    bare: Collection[str] = ()
