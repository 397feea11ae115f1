"""What callers of the archive get: frozen, keyword-only, documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

EpisodePath = Literal["compaction", "model", "rule"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The summary of a session, of a part of one, or of a task.

    `compaction` counts the summaries that the session had before; what archives a task counts down from -1. `path`
    says what made it: a summary that was there already, a model, or rules. It tells of what was said from `began_at`
    to `ended_at`, in the drawers `first_drawer` to `last_drawer`. Without `expires_at` it is kept for ever.
    """

    number: int
    id: str
    session: str
    compaction: int
    task: str | None
    summary: str
    abstract: str
    topics: tuple[str, ...]
    path: EpisodePath
    first_drawer: int | None
    last_drawer: int | None
    began_at: datetime
    ended_at: datetime
    created_at: datetime
    expires_at: datetime | None
    recall_count: int = 0
    last_recalled_at: datetime | None = None
    promoted_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeFound:
    """An episode that a search found: its score from 0 to 1, and what each channel says of it."""

    episode: Episode
    score: float = 0.0
    channels: Mapping[str, float] = field(default_factory=dict)
