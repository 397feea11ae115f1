"""How the memory's own questions to models are called in traces, and which run they are part of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManager
    from langchain_core.runnables import RunnableConfig

# LangGraph's word for a model whose tokens are not those of the agent.
_NOT_STREAMED = "nostream"


def run_config(source: str, callbacks: Any = None) -> RunnableConfig:
    """The config of a question that is booked under `source`, as a child of the run that the callbacks are of."""
    named: RunnableConfig = {
        "run_name": source,
        "tags": ["langmem-tiers", "memory", source, _NOT_STREAMED],
        "metadata": {"memory_step": "ask", "memory_source": source},
    }
    return named if callbacks is None else {**named, "callbacks": callbacks}


def parents() -> CallbackManager | None:
    """The callbacks of the LangChain run that is going on, None outside of one.

    Without those that stream: to users, what the memory asks a model would look like the agent's reply. And without
    asynchronous ones: a question is asked in a thread of its own, away from the loop that these belong to.
    """
    config = sys.modules.get("langchain_core.runnables.config")
    if config is None:
        return None
    given = (config.var_child_runnable_config.get() or {}).get("callbacks")
    parent = getattr(given, "parent_run_id", None)
    return None if parent is None else _tracing(given)


def _tracing(given: Any) -> CallbackManager:
    from langchain_core.callbacks import AsyncCallbackHandler, CallbackManager

    def tells(handler: Any) -> bool:
        # By the names of the classes that mark them: these are private to LangChain.
        streams = any("StreamingCallbackHandler" in kind.__name__ for kind in type(handler).__mro__)
        return not streams and not isinstance(handler, AsyncCallbackHandler)

    handlers = [handler for handler in given.inheritable_handlers if tells(handler)]
    return CallbackManager(
        handlers,
        list(handlers),
        given.parent_run_id,
        inheritable_tags=list(given.inheritable_tags),
        inheritable_metadata=dict(given.inheritable_metadata),
    )
