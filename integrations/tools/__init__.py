"""LangChain tools over a memory: what an agent saves, corrects, deletes, looks up and explains by itself."""

from langmem_tiers.integrations.tools.making import (
    GRAPH_TOOLS,
    MEMORY_TOOLS,
    WORKING_TOOLS,
    WRITING_GUIDANCE,
    memory_tools,
    space_tools,
)

__all__ = ["GRAPH_TOOLS", "MEMORY_TOOLS", "WORKING_TOOLS", "WRITING_GUIDANCE", "memory_tools", "space_tools"]
