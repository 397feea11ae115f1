"""The context of an operation on one space: its store, the settings and clock, and the models of the memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.guarded_embedder import GuardedEmbedder, NoEmbedder
from langmem_tiers.models.usage import UsageBook
from langmem_tiers.records import Listener
from langmem_tiers.storage.usages import Usage, UsageKey

if TYPE_CHECKING:
    from pathlib import Path

    from langmem_tiers.clock import Clock
    from langmem_tiers.models.chat_model import GuardedModel
    from langmem_tiers.models.guarded_reranker import GuardedReranker
    from langmem_tiers.models.tokens import TokenCounter
    from langmem_tiers.models.usage import UsageTally
    from langmem_tiers.settings import Settings
    from langmem_tiers.store import SpaceStore


@dataclass(frozen=True, kw_only=True)
class SpaceContext:
    """One space of an open memory, for everything below `Memory` and `Space`; made by `Memory.context`.

    Attributes:
        name: The name of the space, such as `users/alice`.
        folder: The folder of the whole memory, which also holds its directives.
        settings: Limits and weights.
        clock: Where "now" comes from.
        open: Keeps the space's store open during a block. Raises MemoryClosed once the memory is closed.
        wake: Makes the background look at the space.
        closing: Whether the memory is being closed: long work stops now.
        embedder: Turns texts into vectors, if that is possible now; its usage is booked for the space.
        model: The chat model that works in the background, if there is one.
        reranker: Picks the best of what a recall found, if there is one.
        count_tokens: Counts the tokens of a text.
        tally: Usage that is counted but not booked yet.
        listeners: Callbacks for what the memory does on its own; read the list afresh on each use.
        fallbacks: Other spaces that a recall also reads.
    """

    name: str
    folder: Path
    settings: Settings
    clock: Clock
    open: Callable[[], AbstractContextManager[SpaceStore]]
    wake: Callable[[], None]
    closing: Callable[[], bool]
    embedder: GuardedEmbedder | NoEmbedder
    model: GuardedModel | None
    reranker: GuardedReranker | None
    count_tokens: TokenCounter
    tally: UsageTally
    listeners: Sequence[Listener]
    fallbacks: tuple[SpaceContext, ...] = ()

    @property
    def now(self) -> datetime:
        """The current moment."""
        return self.clock()

    @property
    def embedding_model(self) -> str | None:
        """The name of the embedding model, None for keyword search only."""
        return self.embedder.inner.name if isinstance(self.embedder, GuardedEmbedder) else None

    def asker(self, store: SpaceStore) -> ModelAsker | None:
        """Asks the memory's model on behalf of the space; None if there is no model."""
        if self.model is None:
            return None
        return ModelAsker(self.model, self.settings.model, UsageBook(store.database), self.clock)

    def count_usage(self, source: str, model: str, took: Usage, *, session: str | None = None) -> None:
        """Count a model's usage on behalf of the space; it is booked with the next background work."""
        key = UsageKey(day=f"{self.clock():%Y-%m-%d}", session=session or "", source=source, model=model)
        self.tally.add(self.name, key, took)
