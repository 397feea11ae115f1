"""What ranking needs to know about every drawer, in memory as columns and in sync with the log.

A recall looks at a few hundred drawers; asking the database for each took longer than the search. About 60 bytes
per drawer, mapped from a file where there is one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Any, NamedTuple, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, bindparam, case, func, select

from langmem_tiers.columns import tuples
from langmem_tiers.pointers import drawer_pointer
from langmem_tiers.storage import change_log
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.drawers import DrawerFacts
from langmem_tiers.storage.index_file import IndexFile, IndexWriter, UnusableIndexFile
from langmem_tiers.storage.schema import drawers, rooms
from langmem_tiers.storage.statements import Prepared, among, here, listed, numbered

_KINDS: set[change_log.Kind] = {"drawers.added", "keyword.rebuilt", *change_log.OUT_OF_INDEX}
_TYPE = np.dtype(
    [
        ("stands", np.bool_),
        ("states", np.uint8),
        ("voice", np.int32),
        ("room", np.int32),
        ("place", np.int32),
        ("before", np.int32),
        ("said_at", np.int64),
        ("content_hash", "V16"),
    ]
)
_FIRST_ROWS = 1024
# Rows read from the database at a time.
_STRIDE = 20_000
# session, wing and room of the address
Address = tuple[str, int, int]


class Voice(NamedTuple):
    """Who said a drawer, and where it comes from."""

    role: str
    origin: str
    speaker: str | None


@dataclass(frozen=True, slots=True)
class Rows:
    """Some current drawers, as columns of equal length.

    `previous` is the drawer said just before each in its room, 0 if there is no current one; `voice` is an index
    into `voices`; `said_at` is in UTC milliseconds, `states` holds the bits of language/first_person.py.
    """

    numbers: NDArray[np.int64]
    previous: NDArray[np.int64]
    room: NDArray[np.int32]
    place: NDArray[np.int32]
    voice: NDArray[np.int32]
    states: NDArray[np.uint8]
    said_at: NDArray[np.int64]
    content_hash: Sequence[bytes]
    voices: Sequence[Voice]
    addresses: dict[int, Address]
    places: dict[int, int]

    def facts(self) -> Iterator[DrawerFacts]:
        """The facts of each, in order."""
        if not len(self.numbers):
            return iter(())
        rooms, places = self.room.tolist(), self.place.tolist()
        sessions, wings, addresses = zip(*map(self.addresses.__getitem__, rooms), strict=True)
        roles, origins, speakers = zip(*map(self.voices.__getitem__, self.voice.tolist()), strict=True)
        by_name = {
            "number": self.numbers.tolist(),
            "room": rooms,
            "place": places,
            "session": sessions,
            "pointer": map(drawer_pointer, wings, addresses, places),
            "turns_back": map(sub, map(self.places.__getitem__, rooms), places),
            "content_hash": self.content_hash,
            "origin": origins,
            "role": roles,
            "speaker": speakers,
            "states": self.states.tolist(),
            "said_at": self.said_at.tolist(),
            "previous": self.previous.tolist(),
        }
        return tuples(DrawerFacts, by_name)


_READ = ("number", "room", "place", "said_at", "content_hash", "states", "superseded_by", "role", "origin", "speaker")
_BETWEEN = (
    select(*(drawers.c[name] for name in _READ))
    .where(*here(drawers), drawers.c.number.between(bindparam("first"), bindparam("last")))
    .order_by(drawers.c.number)
)
_BEFORE = drawers.alias("before")
# Not joined by `place - 1`: with row-level security, no index is searched for what arithmetic makes of other rows.
_PRECEDING = (
    select(case((and_(_BEFORE.c.place == drawers.c.place - 1, _BEFORE.c.superseded_by.is_(None)), _BEFORE.c.number)))
    .where(*here(_BEFORE), _BEFORE.c.room == drawers.c.room, _BEFORE.c.place < drawers.c.place)
    .order_by(_BEFORE.c.place.desc())
    .limit(1)
    .scalar_subquery()
)
_STANDING = Prepared(
    select(
        *(drawers.c[name] for name in ("number", "room", "place", "said_at", "content_hash", "states")),
        *(rooms.c[name] for name in ("session", "address_wing", "address_room", "drawers")),
        func.coalesce(_PRECEDING, 0).label("before"),
        *(drawers.c[name] for name in Voice._fields),
    )
    .select_from(drawers.join(rooms, numbered(rooms, drawers.c.room)))
    .where(*here(drawers), drawers.c.superseded_by.is_(None), listed(drawers.c.number))
)


class _Standing(NamedTuple):
    """Its rows as columns."""

    number: Sequence[int]
    room: Sequence[int]
    place: Sequence[int]
    said_at: Sequence[int]
    content_hash: Sequence[bytes]
    states: Sequence[int]
    session: Sequence[str]
    address_wing: Sequence[int]
    address_room: Sequence[int]
    drawers: Sequence[int]
    before: Sequence[int]
    role: Sequence[str]
    origin: Sequence[str]
    speaker: Sequence[str | None]


_ROOMS = select(
    *(rooms.c[name] for name in ("number", "session", "address_wing", "address_room", "drawers")),
).where(*here(rooms), listed(rooms.c.number))


class Columns(Protocol):
    """The facts of drawers by number; superseded drawers have none."""

    def rows(self, moment: Moment, numbers: Collection[int]) -> Rows:
        """The current ones among these drawers, in this order."""

    def said_after(self, moment: Moment, at: int) -> frozenset[int]:
        """The current drawers that were said after a time."""


class ServerColumns:
    """The facts of drawers, asked of the engine each time; nothing is kept."""

    def __init__(self, space: str) -> None:
        self._space = space

    def rows(self, moment: Moment, numbers: Collection[int]) -> Rows:
        """The current ones among these drawers, in this order."""
        found = {row[0]: row for row in _STANDING.among(moment.connection, list(numbers), space=self._space)}
        rows = [found[number] for number in numbers if number in found]
        held = _Standing._make(zip(*rows, strict=True) if rows else [()] * len(_Standing._fields))
        voices = list(map(Voice, held.role, held.origin, held.speaker))
        known = {each: place for place, each in enumerate(dict.fromkeys(voices))}
        addresses = zip(held.session, held.address_wing, held.address_room, strict=True)
        return Rows(
            numbers=np.array(held.number, np.int64),
            previous=np.array(held.before, np.int64),
            room=np.array(held.room, np.int32),
            place=np.array(held.place, np.int32),
            voice=np.array([known[each] for each in voices], np.int32),
            states=np.array(held.states, np.uint8),
            said_at=np.array(held.said_at, np.int64),
            content_hash=list(map(bytes, held.content_hash)),
            voices=list(known),
            addresses=dict(zip(held.room, addresses, strict=True)),
            places=dict(zip(held.room, held.drawers, strict=True)),
        )

    def said_after(self, moment: Moment, at: int) -> frozenset[int]:
        """The current drawers that were said after a time."""
        later = (*here(drawers, self._space), drawers.c.superseded_by.is_(None), drawers.c.said_at > at)
        return frozenset(moment.connection.execute(select(drawers.c.number).where(*later)).scalars())


class DrawerColumns:
    """The facts of drawers by number, in memory; see `Columns`."""

    def __init__(self, space: str, file: IndexFile) -> None:
        self._space = space
        self._file = file
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget everything: it is read again."""
        with self._lock:
            self._position = 0
            self._rows: NDArray[Any] = np.zeros(_FIRST_ROWS, _TYPE)
            self._voices: dict[Voice, int] = {}
            self._addresses: dict[int, Address] = {}
            self._places: dict[int, int] = {}
            self._newest: dict[int, int] = {}

    def rows(self, moment: Moment, numbers: Collection[int]) -> Rows:
        """The current ones among these drawers, in this order."""
        with self._lock:
            self._refresh(moment)
            held = np.fromiter(numbers, np.int64, len(numbers))
            held = held[(held > 0) & (held < len(self._rows))]
            held = held[self._rows["stands"][held]]
            rows = self._rows[held]
            before = rows["before"].astype(np.int64)
            return Rows(
                numbers=held,
                previous=np.where(self._rows["stands"][before], before, 0),
                **{name: rows[name] for name in ("room", "place", "voice", "states", "said_at")},
                content_hash=list(map(bytes, rows["content_hash"].tolist())),
                voices=list(self._voices),
                addresses=self._addresses,
                places=self._places,
            )

    def said_after(self, moment: Moment, at: int) -> frozenset[int]:
        """The current drawers that were said after a time."""
        with self._lock:
            self._refresh(moment)
            return frozenset(np.flatnonzero(self._rows["stands"] & (self._rows["said_at"] > at)).tolist())

    def bytes_held(self) -> int:
        """How much memory they take, about."""
        return self._rows.nbytes

    def write(self, moment: Moment, writer: IndexWriter) -> None:
        """Write them to a file, as of this moment, without a word of what was deleted."""
        with self._lock:
            self._refresh(moment)
            rows = self._rows[: max(self._newest.values(), default=0) + 1].copy()
            voices, addresses = list(self._voices), dict(self._addresses)
            places = [(room, place, self._newest[room]) for room, place in self._places.items()]
        standing = rows[rows["stands"]]
        heard, lived_in = set(standing["voice"].tolist()), set(standing["room"].tolist())
        words = {
            "voices": [
                tuple(voice) if number in heard else ("", "", str(number)) for number, voice in enumerate(voices)
            ],
            "addresses": [(room, *address) for room, address in addresses.items() if room in lived_in],
        }
        writer.put("rows", rows)
        writer.put("places", np.array(places, np.int32).reshape(-1, 3))
        writer.put("words", np.frombuffer(orjson.dumps(words), np.uint8))

    def _map(self, moment: Moment) -> None:
        """Begin with what the file holds, if there is one."""
        found = self._file.mapped(moment)
        if found is None:
            return
        try:
            rows, places = found.array("rows", _TYPE), found.array("places", np.int32).tolist()
            words = orjson.loads(found.array("words", np.uint8).tobytes())
        except UnusableIndexFile as error:
            self._file.refuse(str(error))
            return
        self._rows, self._position = rows, found.position
        self._voices = {Voice(*each): number for number, each in enumerate(words["voices"])}
        self._addresses = {room: (session, wing, number) for room, session, wing, number in words["addresses"]}
        self._places = {room: place for room, place, _ in places}
        self._newest = {room: newest for room, _, newest in places}

    def _refresh(self, moment: Moment) -> None:
        if not self._position:
            self._map(moment)
        if moment.head <= self._position:
            return
        news = change_log.follow(moment, self._space, after=self._position, kinds=_KINDS)
        spans = ((each.subject, each.subject if each.kind in change_log.OUT_OF_INDEX else each.until) for each in news)
        for first, last in change_log.ranges(spans):
            for start in range(first, last + 1, _STRIDE):
                self._load(moment.connection, start, min(last, start + _STRIDE - 1))
        self._position = moment.head

    def _load(self, connection: Connection, first: int, last: int) -> None:
        """Load the drawers of a range as they are now."""
        if last >= len(self._rows):
            grown = np.zeros(max(last + 1, len(self._rows) * 3 // 2), _TYPE)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        before = self._rows["before"][first : last + 1].copy()
        self._rows[first : last + 1] = np.zeros((), _TYPE)  # those that were forgotten have no row
        self._rows["before"][first : last + 1] = before
        rows = connection.execute(_BETWEEN, {"space": self._space, "first": first, "last": last}).all()
        if not rows:
            return
        number, room, place, said_at, content_hash, states, superseded_by, *voice = zip(*rows, strict=True)
        held = list(number)
        self._rows["place"][held] = place
        self._rows["before"][held] = [self._before(*each) for each in zip(number, room, place, strict=True)]
        self._rows["stands"][held] = [each is None for each in superseded_by]
        voices = (Voice(*each) for each in zip(*voice, strict=True))
        self._rows["voice"][held] = [self._voices.setdefault(each, len(self._voices)) for each in voices]
        self._rows["content_hash"][held] = np.frombuffer(b"".join(content_hash), "V16")
        for name, values in (("room", room), ("said_at", said_at), ("states", states)):
            self._rows[name][held] = values
        self._load_rooms(connection, set(room) - self._addresses.keys())

    def _before(self, number: int, room: int, place: int) -> int:
        """The previous drawer: the newest of the room if this one is new."""
        newest = self._newest.get(room, 0)
        if number <= newest:  # read again
            return int(self._rows["before"][number])
        before = newest if place == self._rows["place"][newest] + 1 else 0
        self._places[room], self._newest[room] = max(place, self._places.get(room, 0)), number
        return before

    def _load_rooms(self, connection: Connection, missing: Collection[int]) -> None:
        """Load the addresses of rooms, which never change, and how many turns each had: some may be forgotten."""
        for number, session, wing, address, turns in among(connection, _ROOMS, missing, space=self._space):
            self._addresses[number] = (session, wing, address)
            self._places[number] = max(turns, self._places.get(number, 0))
