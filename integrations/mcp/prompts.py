"""The prompt that says what is worth saving, for clients that let their user pick one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langmem_tiers.integrations.tools import WRITING_GUIDANCE, lines

if TYPE_CHECKING:
    from mcp.types import GetPromptRequestParams, GetPromptResult, ListPromptsResult

_NAME = "writing_guidance"
_DESCRIPTION = "What to save in long-term memory, how to word it, and how to correct it."


async def list_prompts(_context: Any, _params: Any) -> ListPromptsResult:
    """The one prompt."""
    from mcp.types import ListPromptsResult, Prompt

    return ListPromptsResult(prompts=[Prompt(name=_NAME, description=_DESCRIPTION)])


async def get_prompt(_context: Any, params: GetPromptRequestParams) -> GetPromptResult:
    """Its text.

    Raises:
        MCPError: another prompt was asked for.
    """
    from mcp import MCPError
    from mcp.types import INVALID_PARAMS, GetPromptResult, PromptMessage, TextContent

    if params.name != _NAME:
        raise MCPError(INVALID_PARAMS, f"There is no prompt {lines.plain(repr(params.name))}. There is {_NAME}.")
    message = PromptMessage(role="user", content=TextContent(text=WRITING_GUIDANCE))
    return GetPromptResult(description=_DESCRIPTION, messages=[message])
