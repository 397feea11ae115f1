"""Adapters between the memory and the rest of LangChain, each loaded when its name is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.integrations.offline import OfflineResponder, model_or_offline
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
    "OfflineResponder",
    "memory_tools",
    "model_or_offline",
    "space_tools",
]

_HOMES = {
    "GRAPH_TOOLS": "tools",
    "MEMORY_TOOLS": "tools",
    "OfflineResponder": "offline",
    "WRITING_GUIDANCE": "tools",
    "memory_tools": "tools",
    "model_or_offline": "offline",
    "space_tools": "tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
