"""Adapters between the memory and the rest of LangChain, each loaded when its name is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.integrations.citations import CitationRunnable, citation_runnable
    from langmem_tiers.integrations.classic import TieredMemory
    from langmem_tiers.integrations.lcel import RecallRunnable, recall_runnable
    from langmem_tiers.integrations.message_history import TieredChatMessageHistory
    from langmem_tiers.integrations.middleware import MemoryMiddleware
    from langmem_tiers.integrations.offline import OfflineResponder, model_or_offline
    from langmem_tiers.integrations.retriever import TieredRetriever
    from langmem_tiers.integrations.store import TieredStore, user_label
    from langmem_tiers.integrations.tools import (
        EPISODE_TOOLS,
        FEEDBACK_TOOLS,
        FORGETTING_TOOLS,
        GRAPH_TOOLS,
        MEMORY_TOOLS,
        NOTE_TOOLS,
        TASK_TOOLS,
        WORKING_TOOLS,
        WRITING_GUIDANCE,
        memory_tools,
        space_tools,
    )

__all__ = [
    "EPISODE_TOOLS",
    "FEEDBACK_TOOLS",
    "FORGETTING_TOOLS",
    "GRAPH_TOOLS",
    "MEMORY_TOOLS",
    "NOTE_TOOLS",
    "TASK_TOOLS",
    "WORKING_TOOLS",
    "WRITING_GUIDANCE",
    "CitationRunnable",
    "MemoryMiddleware",
    "OfflineResponder",
    "RecallRunnable",
    "TieredChatMessageHistory",
    "TieredMemory",
    "TieredRetriever",
    "TieredStore",
    "citation_runnable",
    "memory_tools",
    "model_or_offline",
    "recall_runnable",
    "space_tools",
    "user_label",
]

_MODULES = {
    "citations": ("CitationRunnable", "citation_runnable"),
    "classic": ("TieredMemory",),
    "lcel": ("RecallRunnable", "recall_runnable"),
    "message_history": ("TieredChatMessageHistory",),
    "middleware": ("MemoryMiddleware",),
    "offline": ("OfflineResponder", "model_or_offline"),
    "retriever": ("TieredRetriever",),
    "store": ("TieredStore", "user_label"),
    "tools": (
        "EPISODE_TOOLS",
        "FEEDBACK_TOOLS",
        "FORGETTING_TOOLS",
        "GRAPH_TOOLS",
        "MEMORY_TOOLS",
        "NOTE_TOOLS",
        "TASK_TOOLS",
        "WORKING_TOOLS",
        "WRITING_GUIDANCE",
        "memory_tools",
        "space_tools",
    ),
}


def __getattr__(name: str) -> Any:
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
