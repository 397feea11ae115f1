"""Finding a drawer by its number or its AAAK pointer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.errors import InvalidPointer
from langmem_tiers.pointers import Pointer, beside, parse_pointer
from langmem_tiers.storage import drawers, rooms

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.types import Drawer


def find_drawer(context: SpaceContext, which: int | str) -> Drawer | None:
    """The drawer of the space itself for a number or pointer, None if there is none.

    Raises:
        InvalidPointer: it is a text but neither of these, it points to a room or into another space.
        InvalidInput: it is neither a text nor a whole number.
    """
    number = _number(which)
    if number is not None:
        with context.open() as store, store.reading() as connection:
            return drawers.read(connection, store.key, [number]).get(number)
    pointer = parse_pointer(str(which))
    if context.source(pointer.space).name != context.name:
        raise InvalidPointer(
            f"{pointer} is a message of another space, not of {context.name!a}.",
            way_out="Give one of the space itself.",
        )
    return _at(context, pointer)


def look_up(context: SpaceContext, which: int | str) -> Drawer | None:
    """The drawer for a number or pointer, also where the pointer names a fallback; see `Space.drawer`."""
    if _number(which) is not None:
        return find_drawer(context, which)
    pointer = parse_pointer(str(which))
    source = context.source(pointer.space)
    found = _at(source, pointer)
    if found is None or source.name == context.name:
        return found
    return replace(found, pointer=beside(found.pointer, source.name))


def _at(context: SpaceContext, pointer: Pointer) -> Drawer | None:
    if pointer.drawer is None:
        raise InvalidPointer(
            f"{pointer} is a room, not a drawer.", way_out=f"Add a drawer: {replace(pointer, drawer=1)}."
        )
    with context.open() as store, store.reading() as connection:
        room = rooms.at_address(connection, store.key, pointer.wing, pointer.room)
        return None if room is None else drawers.at_place(connection, store.key, room.number, pointer.drawer)


def _number(which: int | str) -> int | None:
    """The drawer number in the input, None if it is not one; no drawer has the number 0."""
    if not isinstance(which, str):
        number = arguments.integer(which, "which", "a drawer's number or pointer")
        return number if 0 < number <= arguments.MOST else 0
    text = which.strip()
    return int(text) if text.isdecimal() and len(text) <= len(str(arguments.MOST)) else None
