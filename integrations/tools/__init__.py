"""LangChain tools over a memory: what an agent saves, corrects, deletes, looks up and explains by itself."""

from langmem_tiers.integrations.tools.making import (
    EPISODE_TOOLS,
    FEEDBACK_TOOLS,
    FORGETTING_TOOLS,
    GRAPH_TOOLS,
    MEMORY_TOOLS,
    NOTE_TOOLS,
    TASK_TOOLS,
    TOOL_GROUPS,
    WORKING_TOOLS,
    WRITING_GUIDANCE,
    memory_tools,
    space_tools,
    tools_named,
)

__all__ = [
    "EPISODE_TOOLS",
    "FEEDBACK_TOOLS",
    "FORGETTING_TOOLS",
    "GRAPH_TOOLS",
    "MEMORY_TOOLS",
    "NOTE_TOOLS",
    "TASK_TOOLS",
    "TOOL_GROUPS",
    "WORKING_TOOLS",
    "WRITING_GUIDANCE",
    "memory_tools",
    "space_tools",
    "tools_named",
]
