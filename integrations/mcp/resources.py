"""What a client can read without a tool: the profile, an outline of the palace, and timelines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.integrations.mcp.tools import Tools
from langmem_tiers.integrations.tools import lines
from langmem_tiers.integrations.tools.telling import told
from langmem_tiers.types import PalaceRoom, PalaceWing

if TYPE_CHECKING:
    from mcp.types import (
        ListResourcesResult,
        ListResourceTemplatesResult,
        ReadResourceRequestParams,
        ReadResourceResult,
    )

    from langmem_tiers.space import Space

_IDENTITY, _PALACE, _TIMELINE = "memory://identity", "memory://palace", "memory://timeline/"
_TEXT = "text/plain"
_SHOWN = 120


class Resources:
    """The resources of one space."""

    def __init__(self, space: Space, tools: Tools) -> None:
        self._space = space
        self._tools = tools

    async def list(self, _context: Any, _params: Any) -> ListResourcesResult:
        """Those with an address of their own."""
        from mcp.types import ListResourcesResult, Resource

        identity = Resource(
            uri=_IDENTITY, name="identity", description="The user's short profile: who they are.", mime_type=_TEXT
        )
        palace = Resource(
            uri=_PALACE,
            name="palace",
            description="An outline of what was said: subjects, sessions with their pointers and dates, topics.",
            mime_type=_TEXT,
        )
        return ListResourcesResult(resources=[identity, palace])

    async def templates(self, _context: Any, _params: Any) -> ListResourceTemplatesResult:
        """Those with a name in their address."""
        from mcp.types import ListResourceTemplatesResult, ResourceTemplate

        timeline = ResourceTemplate(
            uri_template=f"{_TIMELINE}{{entity}}",
            name="timeline",
            description="Everything that ever held of one person, place or thing, in order, with dates.",
            mime_type=_TEXT,
        )
        return ListResourceTemplatesResult(resource_templates=[timeline])

    async def read(self, _context: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        """The text of one.

        Raises:
            MCPError: there is no such resource, or the memory can not be read.
        """
        from mcp import MCPError
        from mcp.types import INTERNAL_ERROR, ReadResourceResult, TextResourceContents

        try:
            text = await self._text(params.uri)
        except MemoryTiersError as error:
            raise MCPError(INTERNAL_ERROR, told(error)) from error
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=_TEXT, text=text)])

    async def _text(self, uri: str) -> str:
        if uri == _IDENTITY:
            return await asyncio.to_thread(_identity, self._space)
        if uri == _PALACE:
            return await asyncio.to_thread(_palace, self._space)
        if uri.startswith(_TIMELINE):
            return await self._timeline(unquote(uri.removeprefix(_TIMELINE)))
        raise _unknown(f"There is no resource {lines.plain(repr(uri))}.")

    async def _timeline(self, entity: str) -> str:
        answer = await self._tools.ask("entity_timeline", {"entity": entity})
        if answer.refused:
            raise _unknown(answer.text)
        return answer.text


def _unknown(message: str) -> Exception:
    from mcp import MCPError
    from mcp.types import INVALID_PARAMS

    return MCPError(INVALID_PARAMS, message)


def _identity(space: Space) -> str:
    return space.identity.prompt_block() or "The profile is empty."


def _palace(space: Space) -> str:
    # Of a large palace only the beginning has room: the newest has to stand there.
    wings = sorted((wing for wing in space.palace() if wing.rooms), key=_last, reverse=True)
    if not wings:
        return "Nothing was said yet."
    return lines.fenced("Subjects with their sessions, newest first", [line for wing in wings for line in _wing(wing)])


def _last(wing: PalaceWing) -> Any:
    return max(room.last_at for room in wing.rooms)


def _wing(wing: PalaceWing) -> Iterator[str]:
    yield lines.item(lines.cut(f"{wing.name} ({wing.kind})", _SHOWN))
    for room in sorted(wing.rooms, key=lambda room: room.last_at, reverse=True):
        yield lines.item(_topics(room), f"[{room.pointer}] {lines.days(room.opened_at, room.last_at)} ")


def _topics(room: PalaceRoom) -> str:
    counted = (f"{closet.name or 'not filed yet'} ({len(closet.drawers)})" for closet in room.closets)
    return f"session {lines.cut(room.session, _SHOWN)}: {', '.join(counted)}"
