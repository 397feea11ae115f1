"""What the memory nodes share: resolving the scope, not costing the user the reply, and speaking in both colours."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from langmem_tiers.graphs.identity import Scope, SpaceChoice, current_runtime, resolve_scope
from langmem_tiers.graphs.messages import peek, read_messages
from langmem_tiers.graphs.state import PROFILE, MemoryInput, memory_input

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space

OnError = Literal["log", "raise"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One call of a node: the scope, and the messages and blocks of the state.

    The blocks are not ours where the thread worked on another space before, such as another user's. The `profile` is
    what this session began with, None where it begins now.
    """

    scope: Scope
    space: "Space"
    messages: Sequence[BaseMessage]
    blocks: dict[str, str]
    blocks_are_ours: bool
    profile: str | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a node did: the update to the state, and what it tells the custom stream."""

    update: dict[str, Any] = field(default_factory=dict)
    event: dict[str, Any] | None = None


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """A LangGraph node over a memory, for sync and async graphs.

    With `on_error="log"` a fault of the memory is logged and the run goes on; with `"raise"` it ends the run.
    """

    def __init__(
        self,
        memory: "Memory",
        *,
        name: str,
        space: SpaceChoice | None = None,
        fallbacks: Sequence[str] = (),
        on_error: OnError = "log",
        messages_key: str = "messages",
    ) -> None:
        self.memory = memory
        self.name = self.__name__ = name  # `add_node` asks for the one, `add_sequence` for the other
        self.on_error = on_error
        self._space = space
        self._fallbacks = tuple(fallbacks)
        self._messages_key = messages_key

    def __call__(self, state: MemoryInput) -> dict[str, Any]:
        """The node as a function: `add_node` reads from this signature which keys of the state it wants."""
        return self.invoke(state)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Do the node's work on a state; the update to it."""
        runtime = current_runtime()
        return _told(self._visited(input, ensure_config(config), runtime), runtime)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """`invoke` without holding up the event loop."""
        runtime = current_runtime()
        return _told(await asyncio.to_thread(self._visited, input, ensure_config(config), runtime), runtime)

    @abstractmethod
    def _work(self, visit: Visit) -> Outcome:
        """What this node is for."""

    def _at_least(self, visit: Visit) -> Outcome:
        """What the node does even where its work fails: by default nothing."""
        return Outcome()

    def _visited(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> Outcome:
        outcome = Outcome()
        with self._faults():
            visit = self._visit(state, config, runtime)
            outcome = self._at_least(visit)
            return self._work(visit)
        return outcome

    def _visit(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> Visit:
        remembered = peek(state, "memory_scope") or {}
        scope = resolve_scope(config, runtime, remembered=remembered, space=self._space)
        same_session = all(remembered.get(key) == value for key, value in scope.as_state().items())
        return Visit(
            scope=scope,
            space=self.memory.space(scope.space, fallbacks=self._fallbacks),
            messages=read_messages(state, self._messages_key),
            blocks=peek(state, "memory_blocks") or {},
            blocks_are_ours=remembered.get("space") == scope.space,
            profile=remembered.get(PROFILE) if same_session else None,
        )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except GraphBubbleUp:
            raise  # an interrupt is LangGraph's way to pause, no fault
        except Exception as error:
            if self.on_error == "raise":
                raise
            # Whatever goes wrong here, a broken disk or a custom embedder: the user gets the reply all the same.
            logger.exception("memory_node_failed node=%s error=%s", self.name, type(error).__name__)


NodeT = TypeVar("NodeT", bound=MemoryNode)


def reading(messages_key: str, kind: type[NodeT]) -> type[NodeT]:
    """`kind`, made to ask its host for the messages under `messages_key`."""
    if messages_key == "messages":
        return kind

    def call(self: NodeT, state: Any) -> dict[str, Any]:
        return self.invoke(state)

    call.__annotations__ = {"state": memory_input(messages_key), "return": dict[str, Any]}
    return cast("type[NodeT]", type(kind.__name__, (kind,), {"__call__": call}))


def _told(outcome: Outcome, runtime: Runtime[Any] | None) -> dict[str, Any]:
    if outcome.event is not None and runtime is not None:
        runtime.stream_writer(outcome.event)
    return outcome.update
