"""The memory's tools, as a client lists and calls them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from langmem_tiers.integrations.tools import lines
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, Tool

logger = logging.getLogger(__name__)

# Clients ask their user before a tool that is not among the first, and warn before one of the second.
_ONLY_READ = frozenset(
    {
        "search_memory",
        "list_memory_categories",
        "get_memory",
        "search_history",
        "explain_recall",
        "knowledge_graph_search",
        "entity_timeline",
    }
)
_DESTROY = frozenset({"update_memory", "delete_memory", "memory_write"})


class Told(NamedTuple):
    """What a tool answered, and whether it did what it was asked for."""

    text: str
    refused: bool


class Tools:
    """The tools by name."""

    def __init__(self, tools: Sequence[BaseTool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def list(self, _context: Any, _params: Any) -> ListToolsResult:
        """All of them, each with the JSON schema of its arguments."""
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=[_described(tool) for tool in self._tools.values()])

    async def call(self, _context: Any, params: CallToolRequestParams) -> CallToolResult:
        """The answer of one; whatever goes wrong is an answer, too, marked as an error."""
        from mcp.types import CallToolResult, TextContent

        told = await self.ask(params.name, params.arguments or {})
        return CallToolResult(content=[TextContent(text=told.text)], is_error=told.refused)

    async def ask(self, name: str, arguments: Mapping[str, Any]) -> Told:
        """What a tool says to these arguments."""
        tool = self._tools.get(name)
        if tool is None:
            named = lines.plain(repr(name))
            return Told(f"There is no tool {named}. There are {', '.join(self._tools)}.", refused=True)
        call = {"type": "tool_call", "id": uuid4().hex, "name": name, "args": dict(arguments)}
        try:
            answer: ToolMessage = await tool.ainvoke(call)
        except Exception as error:  # noqa: BLE001 - an error in this package: the client's conversation goes on without this answer
            say(logger, logging.ERROR, "mcp_tool_failed", tool=name, error=error, trace=True)
            return Told(f"Not done: the memory failed ({type(error).__name__}). Go on without it.", refused=True)
        return Told(answer.text, refused=answer.status == "error")


def _described(tool: BaseTool) -> Tool:
    from mcp.types import Tool, ToolAnnotations

    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=convert_to_openai_tool(tool)["function"]["parameters"],
        annotations=ToolAnnotations(
            read_only_hint=tool.name in _ONLY_READ,
            destructive_hint=tool.name in _DESTROY,
            open_world_hint=False,
        ),
    )
