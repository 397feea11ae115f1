"""The tool that forgets messages with everything that rests on them: it shows first, and deletes when called again."""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from langmem_tiers.forgetting.types import LISTS, ForgetPreview
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer

_SHOWN = 160  # characters
_LISTED = 5  # of each kind
_ASK = "Nothing is deleted yet. Tell the user what would go. If they agree, call again with confirm={token} added."


def forget_memory(
    call: Call,
    person: Annotated[Words, Field(description="Forget what names this person, place or thing.")] = None,
    query: Annotated[Words, Field(description="Forget what has all these words, or this meaning.")] = None,
    since: Annotated[Words, Field(description="Forget what was said from this date on, such as 2026-03-02.")] = None,
    until: Annotated[Words, Field(description="Forget what was said until the end of this date.")] = None,
    message: Annotated[Words, Field(description="Forget one message: its pointer, as §W-001/R-02/D-003.")] = None,
    confirm: Annotated[Words, Field(description="What the first call gave, once the user has agreed.")] = None,
) -> ToolAnswer:
    """Forget messages with all that is known from them, for good. The first call shows what would go."""
    about: dict[str, Any] = {"person": person, "query": query, "since": since, "until": until}
    about["messages"] = () if message is None else (message,)
    found: Any = call.space.forget(**about, confirm=confirm)
    if isinstance(found, ForgetPreview):
        if not found:
            return ToolAnswer("Nothing of the kind is stored.", {})
        text = "\n".join((_ASK.format(token=found.token), base.fenced("What would go", list(_lines(found)))))
        return ToolAnswer(text, {"token": found.token})
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in found.counts.items() if count)
    later = "" if found.bytes == "gone" else " Its bytes are erased from the files in a moment."
    return ToolAnswer(f"Forgotten: {counts}.{later}", {"forgotten": found.counts})


def _lines(preview: ForgetPreview) -> Iterator[str]:
    for name in LISTS:
        found = getattr(preview, name)
        for each in found[:_LISTED]:
            yield f"{name.replace('_', ' ')}: {each.text[:_SHOWN]}{' (in part)' if each.partly else ''}"
        if len(found) > _LISTED:
            yield f"{name.replace('_', ' ')}: {len(found) - _LISTED} more"
    if preview.stays:
        yield f"stays, because it also rests on something else: {len(preview.stays)}"
