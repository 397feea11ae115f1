"""Adapters between the memory and the rest of LangChain, each loaded when its name is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.integrations.classic import TieredMemory
    from langmem_tiers.integrations.lcel import RecallRunnable, recall_runnable
    from langmem_tiers.integrations.message_history import TieredChatMessageHistory
    from langmem_tiers.integrations.middleware import MemoryMiddleware
    from langmem_tiers.integrations.offline import OfflineResponder, model_or_offline
    from langmem_tiers.integrations.retriever import TieredRetriever
    from langmem_tiers.integrations.store import TieredStore, user_label
    from langmem_tiers.integrations.tools import (
        GRAPH_TOOLS,
        MEMORY_TOOLS,
        WRITING_GUIDANCE,
        memory_tools,
        space_tools,
    )

__all__ = [
    "GRAPH_TOOLS",
    "MEMORY_TOOLS",
    "WRITING_GUIDANCE",
    "MemoryMiddleware",
    "OfflineResponder",
    "RecallRunnable",
    "TieredChatMessageHistory",
    "TieredMemory",
    "TieredRetriever",
    "TieredStore",
    "memory_tools",
    "model_or_offline",
    "recall_runnable",
    "space_tools",
    "user_label",
]

_HOMES = {
    "GRAPH_TOOLS": "tools",
    "MEMORY_TOOLS": "tools",
    "MemoryMiddleware": "middleware",
    "OfflineResponder": "offline",
    "RecallRunnable": "lcel",
    "TieredChatMessageHistory": "message_history",
    "TieredMemory": "classic",
    "TieredRetriever": "retriever",
    "TieredStore": "store",
    "WRITING_GUIDANCE": "tools",
    "memory_tools": "tools",
    "model_or_offline": "offline",
    "recall_runnable": "lcel",
    "space_tools": "tools",
    "user_label": "store",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
