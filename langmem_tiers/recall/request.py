"""The request of a recall, and the user's message as a search query."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langmem_tiers.content import content_hash
from langmem_tiers.language.words import STOPWORDS, is_trivial, searchable, words
from langmem_tiers.settings import RecallSettings, Settings

_LONGEST = 1000
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class RecallRequest:
    """One recall, with all defaults filled in from the settings.

    `window` are the ids of the messages the model sees anyway; None means the session's last `window_turns`. `bare` are
    those of them it sees without the block recalled for them. `fade_days` is the half-life of inferred preferences. A
    reranker, if there is one, is only used if `rerank` is set.
    """

    query: str
    now: datetime
    settings: RecallSettings
    window_turns: int
    fade_days: float
    limit: int
    threshold: float
    token_budget: int
    session: str | None = None
    message_id: str | None = None
    window: Collection[str] | None = None
    bare: Collection[str] = ()
    until: datetime | None = None
    keep_receipt: bool = False
    rerank: bool = False

    @classmethod
    def of(cls, settings: Settings, /, **asked: Any) -> RecallRequest:
        """A request, with the settings' defaults for everything not given, or None."""
        how: RecallSettings = asked.get("settings", settings.recall)
        defaults: dict[str, Any] = {
            "settings": how,
            "window_turns": settings.window.turns,
            "fade_days": settings.dream.fade_days,
            "limit": how.limit,
            "threshold": how.threshold,
            "token_budget": how.token_budget,
        }
        return cls(**defaults | {name: value for name, value in asked.items() if value is not None})


@dataclass(frozen=True, kw_only=True)
class Query:
    """A user message as a search query: `terms` are distinct, without function words unless there are no others."""

    text: str
    content_hash: bytes
    terms: tuple[str, ...]
    trivial: bool


def parse(text: str, trivial_words: int) -> Query:
    """Parse a user message into a search query; any text is accepted."""
    clean = _SURROGATE.sub("\ufffd", text).strip()
    found = dict.fromkeys(words(searchable(clean[:_LONGEST])))
    telling = tuple(word for word in found if word not in STOPWORDS)
    return Query(
        text=clean,
        content_hash=content_hash(clean),
        terms=telling or tuple(found),
        trivial=is_trivial(clean, trivial_words),
    )
