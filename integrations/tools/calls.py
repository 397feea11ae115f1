"""One call of a tool: whose memory it is for, and what the conversation holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.prebuilt import ToolRuntime

from langmem_tiers.graphs.identity import Scope, SpaceChoice, current_runtime, resolve_scope
from langmem_tiers.graphs.messages import kept_in, read_messages

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space


@dataclass(frozen=True, kw_only=True)
class Call:
    """The space that a tool works on, the conversation it is called from, and its messages, oldest first.

    Outside of a graph no messages are known.
    """

    space: "Space"
    scope: Scope
    messages: Sequence[BaseMessage] = ()


Reach = Callable[[RunnableConfig | None, Any], Call]
"""From the config of a run, and what was injected into the tool, to the call."""


def of_run(memory: "Memory", space: SpaceChoice | None) -> Reach:
    """Calls for whomever the run names, in the same way as the memory nodes find out."""

    def reach(config: RunnableConfig | None, injected: Any) -> Call:
        state = _state(injected)
        remembered = kept_in(state, "memory_scope")
        scope = resolve_scope(ensure_config(config), _runtime(injected), remembered=remembered, space=space)
        return Call(space=memory.space(scope.space), scope=scope, messages=read_messages(state))

    return reach


def of_space(space: "Space") -> Reach:
    """Calls for one space, whatever the run says."""

    def reach(config: RunnableConfig | None, injected: Any) -> Call:
        scope = resolve_scope(ensure_config(config), _runtime(injected), remembered=None, space=space.name)
        return Call(space=space, scope=scope, messages=read_messages(_state(injected)))

    return reach


def _runtime(injected: Any) -> Any:
    """The runtime of the run; a tool that a host calls on its own authority has only what was injected."""
    return current_runtime() or (injected if isinstance(injected, ToolRuntime) else None)


def _state(injected: Any) -> Any:
    """The graph's state. A model may have written something under the injected name: that is no runtime."""
    state = injected.state if isinstance(injected, ToolRuntime) else None
    # A node that is given a bare list of messages hands it on as the state.
    return {"messages": state} if isinstance(state, list) else state
