"""Long-term memory for LangGraph and LangChain agents, kept in a folder of your own.

The whole story is five calls: open a folder, take somebody's space in it, track what is said,
recall what matters now, close.

    >>> from langmem_tiers import Memory, Turn
    >>> memory = Memory.open("memory")
    >>> alice = memory.user("alice")
    >>> report = alice.track([Turn(role="user", content="My sister Lena moved to Porto.")], session="monday")
    >>> print(alice.recall("Where does my sister Lena live?").block)
    >>> memory.close()

Nodes for a LangGraph graph are in `langmem_tiers.graphs`, adapters for LangChain in `langmem_tiers.integrations`,
deterministic doubles for your own tests in `langmem_tiers.testing`.

Names are loaded when they are first used, so importing this package is quick and loads no database or model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from langmem_tiers import errors
    from langmem_tiers.memory import Memory, MemoryBuilder
    from langmem_tiers.settings import (
        BudgetSettings,
        DocumentSettings,
        DreamSettings,
        EpisodeSettings,
        FlushSettings,
        GraphSettings,
        IdentitySettings,
        ImportSettings,
        KnowledgeSettings,
        ListSettings,
        MiningSettings,
        ModelSettings,
        PrivacySettings,
        ProfileSettings,
        RecallSettings,
        RerankSettings,
        SessionSettings,
        Settings,
        StorageSettings,
        TaskSettings,
        TelemetrySettings,
        TextSettings,
        TrackingSettings,
        WindowSettings,
        WorkingSettings,
    )
    from langmem_tiers.space import Space
    from langmem_tiers.types import (
        Candidate,
        Drawer,
        Explanation,
        FeedbackSignal,
        Finding,
        Health,
        KnownCandidate,
        KnownItem,
        PalaceCloset,
        PalaceRoom,
        PalaceWing,
        Recalled,
        RecalledItem,
        Receipt,
        RejectedTurn,
        Session,
        SpacePositions,
        SpaceStats,
        TrackReport,
        Turn,
    )

__all__ = [
    "BudgetSettings",
    "Candidate",
    "DocumentSettings",
    "Drawer",
    "DreamSettings",
    "EpisodeSettings",
    "Explanation",
    "FeedbackSignal",
    "Finding",
    "FlushSettings",
    "GraphSettings",
    "Health",
    "IdentitySettings",
    "ImportSettings",
    "KnowledgeSettings",
    "KnownCandidate",
    "KnownItem",
    "ListSettings",
    "Memory",
    "MemoryBuilder",
    "MiningSettings",
    "ModelSettings",
    "PalaceCloset",
    "PalaceRoom",
    "PalaceWing",
    "PrivacySettings",
    "ProfileSettings",
    "RecallSettings",
    "Recalled",
    "RecalledItem",
    "Receipt",
    "RejectedTurn",
    "RerankSettings",
    "Session",
    "SessionSettings",
    "Settings",
    "Space",
    "SpacePositions",
    "SpaceStats",
    "StorageSettings",
    "TaskSettings",
    "TelemetrySettings",
    "TextSettings",
    "TrackReport",
    "TrackingSettings",
    "Turn",
    "WindowSettings",
    "WorkingSettings",
    "__version__",
    "errors",
]

_HOMES = {"Memory": "memory", "MemoryBuilder": "memory", "Space": "space", "errors": "errors"}


def _home(name: str) -> str:
    """The module that defines a public name."""
    return _HOMES.get(name) or ("settings" if name.endswith("Settings") else "types")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_home(name)}")
    value = module if name == "errors" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
