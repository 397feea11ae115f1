"""All settings with their defaults, ranges and where a default comes from.

Settings are frozen values: derive another with `settings.model_copy(update=...)` or build one from keywords.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

# Fitted on the development files of two conversation sets at once (docs/decisions.md), rounded.
SIGNAL_WEIGHTS: dict[str, float] = {
    "match": 8.0,
    "previous": 2.7,
    "session": 7.0,
    "support": 1.0,
    "asked": 2.1,
    "statement": 1.0,
    "preference": 0.7,
    "time": 3.0,
}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextSettings(_Frozen):
    """Limits on one message, and how a long one is cut for embedding (it is always kept whole)."""

    max_characters: int = Field(default=1_000_000, ge=1, description="A longer message is refused with TextTooLong.")
    chunk_characters: int = Field(
        default=1000, ge=100, le=20_000, description="Longest piece that gets one vector (GoClaw)."
    )


class SessionSettings(_Frozen):
    """When a conversation counts as ended."""

    idle_minutes: float = Field(
        default=60, gt=0, description="Minutes of silence after which a session has ended (RockBot)."
    )


class WindowSettings(_Frozen):
    """How much of the conversation itself goes to the model."""

    turns: int = Field(default=20, ge=1, description="Last turns sent to the model (RockBot MaxLlmContextTurns).")


class RerankSettings(_Frozen):
    """How a reranker is used, where `Memory.open` was given one."""

    enabled: bool = True
    candidates: int = Field(default=20, ge=1, le=200, description="Best candidates it is given (AgentStudio).")
    keep: int = Field(default=5, ge=1, le=200, description="Most candidates it promotes (AgentStudio).")
    timeout_seconds: float = Field(default=5.0, gt=0, le=600, description="Longest that a reply waits for it.")
    item_characters: int = Field(default=500, ge=50, description="Of a longer drawer it is given an excerpt.")
    may_empty: bool = Field(default=True, description="Where it says that none fits, there is no block.")


class RecallSettings(_Frozen):
    """What is searched, how it is ranked, and how much of it is shown."""

    enabled: bool = True
    limit: int = Field(default=8, ge=1, le=200, description="Most items in a block (RockBot MaxResults).")
    candidates: int = Field(default=60, ge=1, le=1000, description="Most candidates taken from each channel.")
    item_characters: int = Field(
        default=400, ge=50, description="A longer drawer is shown as an excerpt around what was found."
    )
    token_budget: int = Field(default=1000, ge=1, description="Most tokens in a block.")
    keyword_weight: float = Field(default=0.4, ge=0, description="Weight of the words in a drawer's match.")
    vector_weight: float = Field(default=0.6, ge=0, description="Weight of cosine similarity in a drawer's match.")
    weights: dict[str, float] = Field(
        default=SIGNAL_WEIGHTS, description="Weight of each signal in the log-odds of a drawer; see docs/decisions.md."
    )
    min_similarity: float = Field(default=0.3, ge=-1, le=1, description="A vector hit below this is not a hit.")
    threshold: float = Field(
        default=0.05, ge=0, le=1, description="An item is shown if its score reaches this; see docs/figures.md."
    )
    own_space_boost: float = Field(
        default=1.2, ge=1, le=2, description="Factor for the space itself over fallbacks (GoClaw)."
    )
    recency_weight: float = Field(default=0.05, ge=0, le=0.5, description="Largest gain of a drawer said just now.")
    recency_half_life_days: float = Field(default=90, gt=0)
    trust: dict[str, float] = Field(
        default={"user": 1.0, "import": 1.0, "assistant": 0.95, "dream": 0.95, "tool": 0.9, "system": 0.9},
        description="Factor by origin: the user's own words first.",
    )
    first_turn_fallback: int = Field(
        default=5, ge=0, description="Items shown on a session's first turn without a match."
    )
    trivial_words: int = Field(
        default=3, ge=0, description="Messages with fewer meaningful words recall nothing (GoClaw)."
    )
    rerank: RerankSettings = RerankSettings()


class StorageSettings(_Frozen):
    """How records and vectors are kept."""

    busy_timeout: float = Field(default=5.0, ge=0, description="Seconds to wait for another process's transaction.")
    synchronous: Literal["FULL", "NORMAL"] = Field(
        "FULL", description="NORMAL may lose the last commits at power loss, never at a crash of the process."
    )
    open_spaces: int = Field(
        default=16, ge=1, description="Spaces kept open at once; the least recently used is closed."
    )
    exact_below: int = Field(
        default=20_000, ge=0, description="Up to so many vectors, exact search answers; above, Chroma."
    )
    receipts_kept: int = Field(default=1000, ge=1, description="Receipts kept in a space; older ones are dropped.")
    embed_batch: int = Field(default=128, ge=1, description="Texts embedded at once; closing waits for one such batch.")


class Settings(_Frozen):
    """Everything that can be set on a memory.

    Example:
        >>> Settings(recall=RecallSettings(limit=5)).recall.limit
        5
    """

    text: TextSettings = TextSettings()
    sessions: SessionSettings = SessionSettings()
    window: WindowSettings = WindowSettings()
    recall: RecallSettings = RecallSettings()
    storage: StorageSettings = StorageSettings()
