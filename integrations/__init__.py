"""Adapters between the memory and the rest of LangChain, each loaded when its name is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.integrations.offline import OfflineResponder, model_or_offline

__all__ = ["OfflineResponder", "model_or_offline"]

_HOMES = {"OfflineResponder": "offline", "model_or_offline": "offline"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
