"""Looking through the palace piece by piece, however large: wings, rooms, closets, drawers, and what came of these."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis
from langmem_tiers.errors import UnknownPiece
from langmem_tiers.language.characters import one_line
from langmem_tiers.pointers import Pointer, drawer_pointer, parse_pointer
from langmem_tiers.records import Entity, Entry, Episode, Relation
from langmem_tiers.storage import browsing, drawers, entities, entries, episodes, relations
from langmem_tiers.storage.graph_evidence import of_entities, of_relations
from langmem_tiers.types import Drawer, DrawerStatus

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.storage.browsing import PreviewRow, RoomRow, WingRow

PAGE = 50
_MOST = 1_000
_SHOWN = 160
_AGAIN = "Load the list again."


@dataclass(frozen=True, kw_only=True, slots=True)
class WingShelf:
    """A wing, with how many rooms and drawers it holds and from when to when these are."""

    number: int
    name: str
    slug: str
    kind: str
    rooms: int
    drawers: int
    opened_at: datetime
    last_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomShelf:
    """A room: its session, address and dates, with how many closets and drawers it holds."""

    number: int
    pointer: str
    session: str
    wing: int
    wing_name: str
    project: str | None
    agent: str | None
    opened_at: datetime
    last_at: datetime
    closets: int
    drawers: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosetShelf:
    """A topic of a room. The number 0, without a name, is what is filed nowhere yet; `place` is where it begins."""

    number: int
    name: str | None
    drawers: int
    place: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawerPreview:
    """A drawer before it is opened. `line` is its AAAK line: pointer, tags, and how the message begins.

    `whole` says whether the line has the whole message.
    """

    number: int
    room: int
    pointer: str
    line: str
    beginning: str
    whole: bool
    characters: int
    tags: tuple[str, ...]
    closet: int
    closet_name: str | None
    role: str
    origin: str
    speaker: str | None
    said_at: datetime
    status: DrawerStatus
    recall_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Derived:
    """What rests on a drawer, also what no longer holds: entries, relations, entities, episodes that sum it up."""

    entries: tuple[Entry, ...] = ()
    relations: tuple[Relation, ...] = ()
    entities: tuple[Entity, ...] = ()
    episodes: tuple[Episode, ...] = ()


class PalaceBrowser:
    """The palace in pieces. `after` is the number of the last piece that was shown; a short answer is the last one.

    Example:
        >>> wing = memory.user("alice").browse.wings()[0]
        >>> room = memory.user("alice").browse.rooms(wing.number)[0]
        >>> memory.user("alice").browse.drawers(room.number, limit=1)[0].line
        '§W-001/R-01/D-001 @p anna @l lisbon · My sister Anna lives in Lisbon.'
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"PalaceBrowser({self._context.name!r})"

    def wings(self) -> tuple[WingShelf, ...]:
        """All wings that hold something, the last used first."""
        with self._context.open() as store, store.reading() as connection:
            return tuple(_wing(each) for each in browsing.every_wing(connection, store.key))

    def rooms(self, wing: int | None = None, *, after: int | None = None, limit: int = PAGE) -> tuple[RoomShelf, ...]:
        """The rooms of a wing by its number, or of all wings, the last used first.

        Raises:
            InvalidInput: an argument is no number, or `limit` is not from 1 to 1,000.
            UnknownPiece: the room `after` has gone.
        """
        of = arguments.optional_whole(wing, "wing")
        last, most = arguments.optional_whole(after, "after"), arguments.whole(limit, "limit", least=1, most=_MOST)
        with self._context.open() as store, store.reading() as connection:
            if last is not None and browsing.room(connection, store.key, last) is None:
                raise UnknownPiece(f"There is no room {last}, or no longer.", way_out=_AGAIN)
            found = browsing.some_rooms(connection, store.key, of, after=last, most=most)
        return tuple(map(_room, found))

    def room(self, number: int) -> RoomShelf | None:
        """One room by its number, None if there is none."""
        wanted = arguments.whole(number, "number")
        with self._context.open() as store, store.reading() as connection:
            found = browsing.room(connection, store.key, wanted)
        return None if found is None else _room(found)

    def room_at(self, pointer: str) -> RoomShelf | None:
        """The room that a pointer to it, or to one of its drawers, names; None if there is none.

        Raises:
            InvalidPointer: it is no pointer.
        """
        address = parse_pointer(pointer)
        if address.space not in {None, self._context.name}:
            return None
        with self._context.open() as store, store.reading() as connection:
            found = browsing.room_at(connection, store.key, address.wing, address.room)
        return None if found is None else _room(found)

    def closets(self, room: int) -> tuple[ClosetShelf, ...]:
        """The closets of a room, in the order in which the conversation came to them."""
        wanted = arguments.whole(room, "room")
        with self._context.open() as store, store.reading() as connection:
            found = browsing.closets_of(connection, store.key, wanted)
        return tuple(
            ClosetShelf(number=each.number, name=each.name, drawers=each.drawers, place=each.place) for each in found
        )

    def drawers(
        self, room: int, *, closet: int | None = None, after: int | None = None, limit: int = PAGE
    ) -> tuple[DrawerPreview, ...]:
        """The drawers of a room, or of one of its closets, in the order of the conversation, also superseded ones.

        Raises:
            InvalidInput: an argument is no number, or `limit` is not from 1 to 1,000.
            UnknownPiece: the drawer `after` has gone.
        """
        of, within = arguments.whole(room, "room"), arguments.optional_whole(closet, "closet", least=0)
        last, most = arguments.optional_whole(after, "after"), arguments.whole(limit, "limit", least=1, most=_MOST)
        with self._context.open() as store, store.reading() as connection:
            if last is not None and browsing.room_of(connection, store.key, last) is None:
                raise UnknownPiece(f"There is no drawer {last}, or no longer.", way_out=_AGAIN)
            found = browsing.previews(connection, store.key, of, closet=within, after=last, most=most)
        return tuple(map(_preview, found))

    def room_of(self, drawer: int) -> RoomShelf | None:
        """The room that a drawer is in, None if there is no such drawer."""
        wanted = arguments.whole(drawer, "drawer")
        with self._context.open() as store, store.reading() as connection:
            number = browsing.room_of(connection, store.key, wanted)
            found = None if number is None else browsing.room(connection, store.key, number)
        return None if found is None else _room(found)

    def beside(self, drawer: int) -> tuple[DrawerPreview | None, DrawerPreview | None]:
        """The drawers right before and right after one in its room; None where it is the first or the last."""
        wanted = arguments.whole(drawer, "drawer")
        with self._context.open() as store, store.reading() as connection:
            before, behind = browsing.beside(connection, store.key, wanted)
        return (None if before is None else _preview(before), None if behind is None else _preview(behind))

    def covered(self, episode: Episode, *, after: int = 0, limit: int = PAGE) -> tuple[Drawer, ...]:
        """The drawers that an episode sums up, in the order they were stored; those behind the drawer `after`.

        Raises:
            InvalidInput: an argument is no number, or `limit` is not from 1 to 1,000.
        """
        last, most = arguments.whole(after, "after", least=0), arguments.whole(limit, "limit", least=1, most=_MOST)
        with self._context.open() as store, store.reading() as connection:
            numbers = browsing.covered(connection, store.key, episode, after=last, most=most)
            found = drawers.read(connection, store.key, numbers)
        return tuple(found[number] for number in numbers)

    def covers(self, episode: Episode) -> int:
        """How many drawers an episode sums up."""
        with self._context.open() as store, store.reading() as connection:
            return browsing.covers(connection, store.key, episode)

    def derived(self, drawer: Drawer | int) -> Derived:
        """What rests on a drawer; nothing if there is no such drawer."""
        number = drawer.number if isinstance(drawer, Drawer) else arguments.whole(drawer, "drawer")
        with self._context.open() as store, store.reading() as connection:
            key = store.key
            if not drawers.read(connection, key, [number]):
                return Derived()
            related = relations.by_numbers(connection, key, of_relations.of_drawers(connection, key, [number]))
            spoken_of = entities.by_numbers(connection, key, set(of_entities.of_drawers(connection, key, [number])))
            summed_up = browsing.episodes_about(connection, key, number)
            return Derived(
                entries=tuple(entries.resting_on(connection, key, [number])),
                relations=tuple(related.values()),
                entities=tuple(spoken_of.values()),
                episodes=tuple(episodes.by_numbers(connection, key, summed_up)),
            )


def _wing(row: WingRow) -> WingShelf:
    return WingShelf(
        number=row.number,
        name=row.name,
        slug=row.slug,
        kind=row.kind,
        rooms=row.rooms,
        drawers=row.drawers,
        opened_at=from_millis(row.opened_at),
        last_at=from_millis(row.last_at),
    )


def _room(row: RoomRow) -> RoomShelf:
    return RoomShelf(
        number=row.number,
        pointer=str(Pointer(row.address_wing, row.address_room)),
        session=row.session,
        wing=row.wing,
        wing_name=row.wing_name,
        project=row.project,
        agent=row.agent,
        opened_at=from_millis(row.opened_at),
        last_at=from_millis(row.last_at),
        closets=row.closets,
        drawers=row.drawers,
    )


def _preview(row: PreviewRow) -> DrawerPreview:
    pointer = drawer_pointer(row.address_wing, row.address_room, row.place)
    tags = tuple(row.tags.split("\n")) if row.tags else ()
    beginning = one_line(row.beginning, _SHOWN)
    return DrawerPreview(
        number=row.number,
        room=row.room,
        pointer=pointer,
        line=f"{' '.join((pointer, *tags))} · {beginning}",
        beginning=beginning,
        whole=not beginning.endswith("…") and row.characters <= browsing.BEGINNING,
        characters=row.characters,
        tags=tags,
        closet=row.closet or 0,
        closet_name=row.closet_name,
        role=row.role,
        origin=row.origin,
        speaker=row.speaker,
        said_at=from_millis(row.said_at),
        status="active" if row.superseded_by is None else "superseded",
        recall_count=row.recall_count,
    )
