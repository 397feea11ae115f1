"""Errors, as a model is told of them: what was not done, and what to do about it."""

from collections.abc import Callable

from langmem_tiers.errors import (
    AmbiguousEntity,
    AuthorityTooLow,
    EntryChanged,
    IdentityFull,
    InvalidText,
    MemoryClosed,
    MemoryTiersError,
    MissingUser,
    SecretRefused,
    StorageError,
    TextTooLong,
    UnknownEntity,
    UnknownEntry,
    UnknownRelation,
)
from langmem_tiers.integrations.tools import lines

_WITHOUT = "Go on without the memory, and tell the user that it can not be reached."
_ASK = (
    "The user has said so. Ask them; when they say otherwise in a message, update it with what they say, or delete it "
    "if they want it gone."
)
_ONCE_MORE = f"Try once more; if that fails, too: {_WITHOUT}"


def told(error: MemoryTiersError) -> str:
    """What a model reads of an error."""
    if isinstance(error, StorageError):  # where the files are is nothing for a conversation
        return f"Not done: the memory's files could not be used ({type(error).__name__}). {_ONCE_MORE}"
    way_out = next((way for kind, way in _WAYS_OUT.items() if isinstance(error, kind)), _own)
    return f"Not done: {lines.plain(error.message)} {way_out(error)}"


def _own(error: MemoryTiersError) -> str:
    return lines.plain(error.way_out)


def _full(error: IdentityFull) -> str:
    held = lines.fenced("The profile as it stands", [lines.item(error.text)]) if error.text else ""
    return (
        f"Write it {error.overflow:,} characters shorter, or first merge or remove what matters least: "
        f"action=update without target_id replaces the whole profile.\n{held}"
    )


def _unclear(error: InvalidText) -> str:
    return "Write it again in plain characters." if error.way_out is InvalidText.way_out else _own(error)


def _unknown_entity(error: UnknownEntity) -> str:
    return "Give an id, or another name." if error.way_out == UnknownEntity.way_out else _own(error)


def _overruled(error: AuthorityTooLow) -> str:
    return _ASK if error.way_out == AuthorityTooLow.way_out else _own(error)


# The ways out of the errors themselves speak to whoever writes the program.
_WAYS_OUT: dict[type[MemoryTiersError], Callable[..., str]] = {
    MissingUser: lambda _: "Nobody said whose memory this is, and calling again does not help. " + _WITHOUT,
    MemoryClosed: lambda _: _WITHOUT,
    IdentityFull: _full,
    UnknownEntry: lambda _: "Call search_memory to find its id.",
    EntryChanged: lambda _: "Call get_memory to see what it says now.",
    TextTooLong: lambda _: "Split it into single facts, or leave out what does not matter.",
    SecretRefused: _own,
    InvalidText: _unclear,
    AmbiguousEntity: lambda _: "Call again with the id of the one that is meant.",
    UnknownEntity: _unknown_entity,
    UnknownRelation: lambda _: "Call entity_timeline to find its id.",
    AuthorityTooLow: _overruled,
}
