"""The memory as a LangGraph store."""

from langmem_tiers.integrations.store.naming import user_label
from langmem_tiers.integrations.store.store import TieredStore

__all__ = ["TieredStore", "user_label"]
