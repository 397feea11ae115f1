"""Tools for working memory: scratch space that expires, shared by sessions, patrols and subagents."""

from typing import Annotated

from pydantic import Field

from langmem_tiers.errors import InvalidKey
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import Data, Minutes, Name, Named, Tags, Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.sources import rests_on_a_tool
from langmem_tiers.recall.rendering import excerpt
from langmem_tiers.recall.request import parse
from langmem_tiers.trust.secrets import mask
from langmem_tiers.wording import beginning
from langmem_tiers.working.inventory import described, time_left
from langmem_tiers.working.working_memory import RESULT, WorkingMemory

# A value that fills one answer; a longer one is read by its parts.
_WHOLE = 10_000
_FOUND, _EXCERPT = 8, 400

_KEY = "Such as 'inbox' for your own, or a full path such as 'patrol/heartbeat/alerts' for somebody else's."
_NAMESPACE = "Such as 'subagent/t1b2c3', or 'patrol' for all patrols; your own if left out."


def save_to_working_memory(
    call: Call,
    key: Annotated[Named, Field(description="A short name, such as 'inbox'.")],
    data: Annotated[Data, Field(description="The text to keep, of up to 400,000 characters.")],
    ttl_minutes: Annotated[Minutes, Field(description="How long it stays; 5 if left out.")] = None,
    category: Annotated[Words, Field(description="Such as 'email'.")] = None,
    tags: Annotated[Tags, Field(description="A few words to find it by.")] = None,
) -> ToolAnswer:
    """Keep a large or intermediate result for some minutes, under a key of your own; the same key again replaces it."""
    own = _own(call)
    category = RESULT if category is None and rests_on_a_tool(call, data) else category
    saved = own.save(key, data, ttl_minutes=ttl_minutes, category=category, tags=tags or ())
    entry = saved.entry
    parts = [f"Saved as {base.plain(entry.key)}; it expires in {time_left(entry, entry.stored_at)}."]
    if entry.parts > 1:
        parts.append(f"It was cut into {entry.parts} parts: get that key for the outline, or a part by its number.")
    if saved.dropped:
        gone = ", ".join(map(base.plain, saved.dropped))
        parts.append(f"Your working memory was full, so what would have expired first was dropped: {gone}.")
    return ToolAnswer(" ".join(parts), {"key": entry.key, "parts": entry.parts, "dropped": list(saved.dropped)})


def get_from_working_memory(call: Call, key: Annotated[Named, Field(description=_KEY)]) -> ToolAnswer:
    """Read an entry of working memory: your own by its name, another one by its full path."""
    own = _own(call)
    entry = own.get(key)
    if entry is not None and entry.parts > 1 and len(entry.value) > _WHOLE:
        entry = own.get(f"{key}-index")
    if entry is None:
        raise InvalidKey(f"There is nothing (any more) at {beginning(key, 80)!a}.", way_out="Call list_working_memory.")
    left = time_left(entry, call.space.memory.clock())
    shown = [base.item(base.cut(entry.value, _WHOLE))]
    return ToolAnswer(base.fenced(f"{base.plain(entry.key)}, expires in {left}", shown), {"key": entry.key})


def list_working_memory(call: Call, namespace: Annotated[Name, Field(description=_NAMESPACE)] = None) -> ToolAnswer:
    """List the keys of working memory, with how long they stay; the contents are not shown."""
    own, now = _own(call), call.space.memory.clock()
    found = own.list(namespace)
    where = mask(base.plain(namespace or own.namespace))
    if not found:
        return ToolAnswer(f"There is nothing in working memory below {where}.", {"keys": []})
    shown = [base.item(described(each, now)) for each in found]
    return ToolAnswer(base.fenced(f"{len(found)} in {where}", shown), {"keys": [each.key for each in found]})


def search_working_memory(
    call: Call,
    query: Annotated[Words, Field(description="What to look for.")] = None,
    category: Annotated[Words, Field(description="Only of this category.")] = None,
    tags: Annotated[Tags, Field(description="Only with all of these tags.")] = None,
    namespace: Annotated[Name, Field(description=_NAMESPACE)] = None,
) -> ToolAnswer:
    """Search working memory by words, category and tags."""
    own, asked = _own(call), query or ""
    found = own.search(asked, category=category, tags=tags or (), prefix=namespace, limit=_FOUND)
    where = mask(base.plain(namespace or own.namespace))
    if not found:
        return ToolAnswer(f"Nothing in working memory below {where} fits.", {"keys": []})
    terms = parse(asked, 0).terms
    shown = [base.item(excerpt(each.text, terms, _EXCERPT), f"{base.plain(each.key)}: ") for each in found]
    header = f"{len(found)} in {where}, best first; get_from_working_memory shows one in full"
    return ToolAnswer(base.fenced(header, shown), {"keys": [each.key for each in found]})


def _own(call: Call) -> WorkingMemory:
    return call.space.working.within(call.namespace())
