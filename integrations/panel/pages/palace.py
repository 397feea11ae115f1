"""The palace: wings, rooms, closets and drawers, each loaded when it is opened, and the verbatim text of a drawer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from starlette.responses import Response

from langmem_tiers.errors import InvalidPointer, UnknownPiece
from langmem_tiers.integrations.panel.page import Page, View, get
from langmem_tiers.palace.browse import PAGE as SOME
from langmem_tiers.palace.browse import RoomShelf, WingShelf
from langmem_tiers.pointers import parse_pointer

T = TypeVar("T")
_LOOK = "The palace shows what there is."


def show(view: View) -> Response:
    """All wings; with a pointer in the address, what it points to."""
    pointer = view.query.word("pointer")
    if pointer:
        return view.go(_path_to(view, pointer))
    return view.show("palace.html", wings=view.space.browse.wings())


def wing(view: View) -> Response:
    """The rooms of a wing."""
    shelf = _wing(view, view.number("wing"))
    found, more = _some(view.space.browse.rooms(shelf.number, after=view.query.number("after"), limit=SOME + 1))
    values: dict[str, Any] = {"rooms": found, "more": more, "here": f"/palace/wings/{shelf.number}"}
    if view.wants_piece:
        return view.piece("_rooms.html", **values)
    return view.show("wing.html", wing=shelf, **values)


def room(view: View) -> Response:
    """The drawers of a room, or of one of its closets."""
    shelf, closet = _room(view, view.number("room")), view.query.number("closet")
    browse = view.space.browse
    found, more = _some(browse.drawers(shelf.number, closet=closet, after=view.query.number("after"), limit=SOME + 1))
    values: dict[str, Any] = {"drawers": found, "more": more, "closet": closet, "here": f"/palace/rooms/{shelf.number}"}
    if view.wants_piece:
        return view.piece("_drawers.html", **values)
    return view.show("room.html", room=shelf, closets=browse.closets(shelf.number), **values)


def drawer(view: View) -> Response:
    """A drawer with its verbatim text, and what came of it."""
    number = view.number("drawer")
    found = view.space.drawer(number)
    if found is None:
        raise UnknownPiece(f"There is no drawer {number} in this memory, or no longer.", way_out=_LOOK)
    browse = view.space.browse
    values: dict[str, Any] = {
        "drawer": found,
        "room": browse.room_of(number),
        "derived": browse.derived(found),
        "ended": view.space.ended([found])[number] if found.status == "active" else (),
    }
    if view.wants_piece:
        return view.piece("_drawer.html", **values)
    before, behind = browse.beside(number)
    return view.show("drawer.html", before=before, behind=behind, **values)


def _path_to(view: View, pointer: str) -> str:
    """The address of the room or drawer that a pointer, or the number of a drawer, names."""
    address = None if pointer.isdecimal() else parse_pointer(pointer)
    if address is not None and address.drawer is None:
        found = view.space.browse.room_at(pointer)
        path = None if found is None else f"/palace/rooms/{found.number}"
    else:
        held = view.space.drawer(pointer)
        path = None if held is None else f"/palace/drawers/{held.number}"
    if path is None:
        raise InvalidPointer(f"Nothing in this memory is at {pointer[:80]}.")
    return path


def _some(found: Sequence[T]) -> tuple[Sequence[T], bool]:
    """What is shown at once, and whether there is more."""
    return found[:SOME], len(found) > SOME


def _wing(view: View, number: int) -> WingShelf:
    found = next((each for each in view.space.browse.wings() if each.number == number), None)
    if found is None:
        raise UnknownPiece(f"There is no wing {number} in this memory.", way_out=_LOOK)
    return found


def _room(view: View, number: int) -> RoomShelf:
    found = view.space.browse.room(number)
    if found is None:
        raise UnknownPiece(f"There is no room {number} in this memory, or no longer.", way_out=_LOOK)
    return found


PAGE = Page(
    title="Palace",
    path="/palace",
    key="p",
    actions=(
        get("/palace", show),
        get("/palace/wings/{wing:int}", wing),
        get("/palace/rooms/{room:int}", room),
        get("/palace/drawers/{drawer:int}", drawer),
    ),
)
