"""The context of an operation on one space: its store, the settings and clock, and the models of the memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.errors import InvalidPointer, MemoryOff
from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.guarded_embedder import GuardedEmbedder, NoEmbedder
from langmem_tiers.models.usage import UsageBook
from langmem_tiers.pointers import named
from langmem_tiers.records import Listener
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from pathlib import Path

    from langmem_tiers.access import Role
    from langmem_tiers.backends import Backend
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
        backend: Where all spaces of the memory are kept.
        settings: Limits and weights, as they are in force for the space and the agent.
        settings_of: Those for another agent.
        fallbacks_of: What is read as well for another agent.
        clock: Where "now" comes from.
        use: Keeps the space's store open during a block; see `open`.
        role: What whoever it is for may do: a leader everything, a member read, None nothing; it may change any time.
        require_role: The same; AccessDenied instead of None.
        exists: Whether there is a space of this name; it is not begun by that.
        wake: Makes the background look at the space.
        closing: Whether the memory is being closed: long work stops now.
        embedder: Turns texts into vectors, if that is possible now; its usage is booked for the space.
        model: The chat model that works in the background, if there is one.
        reranker: Picks the best of what a recall found, if there is one.
        count_tokens: Counts the tokens of a text.
        tally: Usage that is counted but not booked yet.
        listeners: Callbacks for what the memory does on its own; read the list afresh on each use.
        fallbacks: Other spaces that are read as well; those that they have themselves are not.
        agent: Whose memory it is, if it is that of one agent.
    """

    name: str
    folder: Path
    backend: Backend
    settings: Settings
    settings_of: Callable[[str | None], Settings]
    fallbacks_of: Callable[[str | None], tuple[SpaceContext, ...]]
    clock: Clock
    use: Callable[[], AbstractContextManager[SpaceStore]]
    role: Callable[[], Role | None]
    require_role: Callable[[], Role]
    exists: Callable[[], bool]
    wake: Callable[[], None]
    closing: Callable[[], bool]
    embedder: GuardedEmbedder | NoEmbedder
    model: GuardedModel | None
    reranker: GuardedReranker | None
    count_tokens: TokenCounter
    tally: UsageTally
    listeners: Sequence[Listener]
    fallbacks: tuple[SpaceContext, ...] = ()
    agent: str | None = None

    def open(self) -> AbstractContextManager[SpaceStore]:
        """Keep the space's store open during a block.

        Raises:
            MemoryOff: the settings turn it off.
            MemoryClosed: the memory was closed, or opened by the parent of this forked process.
            AccessDenied: whoever it is for has no role in the space.
            UnknownSpace: there is no such space, and whoever it is for may not make one.
        """
        self.require_enabled()
        return self.use()

    def require_enabled(self) -> None:
        """Refuse where the memory is off.

        Raises:
            MemoryOff: the settings turn it off.
        """
        if not self.settings.enabled:
            whose = f"for the agent {self.agent}" if self.settings_of(None).enabled else f"of {self.name}"
            raise MemoryOff(f"The memory {whose} is off.")

    def of_agent(self, agent: str | None) -> SpaceContext:
        """The same for an agent, with its settings and the fallbacks that they name; this one if none is named.

        Fallbacks that were named for the handle itself stay.
        """
        if agent is None or agent == self.agent:
            return self
        return replace(self, agent=agent, settings=self.settings_of(agent), fallbacks=self.fallbacks_of(agent))

    @property
    def now(self) -> datetime:
        """The current moment."""
        return self.clock()

    @property
    def embedding_model(self) -> str | None:
        """The name of the embedding model, None for keyword search only."""
        return self.embedder.inner.name if isinstance(self.embedder, GuardedEmbedder) else None

    def sources(self) -> tuple[SpaceContext, ...]:
        """The space and its fallbacks, each by itself: what a search reads, the own space first.

        Without fallbacks in which whoever it is for has no role.
        """
        alone = replace(self, fallbacks=(), fallbacks_of=lambda agent: ())
        return (alone, *(each for each in self.fallbacks if each.role() is not None))

    def source(self, written: str | None) -> SpaceContext:
        """The space that a reference names, by itself: the own one without a name, or a fallback.

        Raises:
            InvalidPointer: it is neither.
            AccessDenied: whoever it is for has no role in the space itself.
        """
        by_name = {each.name: each for each in self.sources()}
        name = self.name if written is None else named(written, by_name)
        if name is None:
            raise InvalidPointer(
                f"{beginning(str(written), 80)!a} is no space that {self.name!a} reads.",
                way_out="Give a pointer of the space itself, or name the other one among its `fallbacks`.",
            )
        if name != self.name:
            self.require_role()
        return by_name[name]

    def asker(self, store: SpaceStore) -> ModelAsker | None:
        """Asks the memory's model on behalf of the space; None if there is no model."""
        if self.model is None:
            return None
        return ModelAsker(self.model, self.settings.model, UsageBook(store.database), self.clock)

    def count_usage(self, source: str, model: str, took: Usage, *, session: str | None = None) -> None:
        """Count a model's usage on behalf of the space; it is booked with the next background work."""
        key = UsageKey(day=f"{self.clock():%Y-%m-%d}", session=session or "", source=source, model=model)
        self.tally.add(self.name, key, took)
