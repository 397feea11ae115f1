"""What ranking needs to know of every drawer, in memory as columns and in step with the log.

A recall looks at a few hundred drawers; asking the database for each of them took longer than searching did. About 60
bytes a drawer.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, bindparam, select

from langmem_tiers.palace.pointers import Pointer
from langmem_tiers.storage import change_log
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.drawers import DrawerFacts
from langmem_tiers.storage.schema import drawers, rooms

_KINDS: set[change_log.Kind] = {"drawers.added", "drawer.superseded", "keyword.rebuilt"}
_TYPE = np.dtype(
    [
        ("stands", np.bool_),
        ("states", np.uint8),
        ("voice", np.int32),
        ("room", np.int32),
        ("place", np.int32),
        ("said_at", np.int64),
        ("content_hash", "V16"),
    ]
)
_FIRST_ROWS = 1024
# role, origin and speaker of a drawer
Voice = tuple[str, str, str | None]
# session, wing and room of the address
Address = tuple[str, int, int]


class DrawerColumns:
    """The facts of drawers by number; those that were superseded are none."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._position = 0
        self._rows: NDArray[Any] = np.zeros(_FIRST_ROWS, _TYPE)
        self._voices: list[Voice] = []
        self._voice_numbers: dict[Voice, int] = {}
        self._addresses: dict[int, Address] = {}
        self._places: dict[int, int] = {}
        self._lock = threading.Lock()

    def facts(self, connection: Connection, numbers: Collection[int]) -> dict[int, DrawerFacts]:
        """What ranking needs to know of those of these drawers that stand."""
        with self._lock:
            self._refresh(connection)
            held = [number for number in numbers if 0 < number < len(self._rows)]
            rows = self._rows[held]
            return {
                number: self._facts(number, row)
                for number, row in zip(held, rows.tolist(), strict=True)
                if row[0]  # stands
            }

    def previous(self, connection: Connection, numbers: Collection[int]) -> dict[int, int]:
        """For each of these drawers the one said just before it in its room, where that is the number before."""
        with self._lock:
            self._refresh(connection)
            held = np.array([number for number in numbers if 1 < number < len(self._rows)], np.int64)
            rows, before = self._rows[held], self._rows[held - 1]
        same = before["stands"] & (rows["room"] == before["room"]) & (rows["place"] == before["place"] + 1)
        return {number: number - 1 for number in held[same].tolist()}

    def _facts(self, number: int, row: Sequence[Any]) -> DrawerFacts:
        _, states, voice, room, place, said_at, content_hash = row
        role, origin, speaker = self._voices[voice]
        session, wing, address = self._addresses[room]
        return DrawerFacts(
            number=number,
            room=room,
            place=place,
            session=session,
            pointer=str(Pointer(wing, address, place)),
            turns_back=self._places[room] - place,
            content_hash=bytes(content_hash),
            origin=origin,
            role=role,
            speaker=speaker,
            states=states,
            said_at=said_at,
        )

    def _refresh(self, connection: Connection) -> None:
        while news := change_log.read(connection, self._space, after=self._position, kinds=_KINDS):
            for first, last in _ranges(news):
                self._load(connection, first, last)
            self._position = news[-1].position

    def _load(self, connection: Connection, first: int, last: int) -> None:
        """Take in the drawers of a range as they are now."""
        self._grow(last + 1)
        values = {"space": self._space, "first": first, "last": last}
        for row in connection.execute(_between(), values):
            number, room, place, said_at, content_hash, states, superseded_by, *voice = row
            numbered = self._voice((voice[0], voice[1], voice[2]))
            self._rows[number] = (superseded_by is None, states, numbered, room, place, said_at, content_hash)
            self._places[room] = max(place, self._places.get(room, 0))
            if room not in self._addresses:
                self._load_rooms(connection)

    def _load_rooms(self, connection: Connection) -> None:
        """The addresses of the rooms behind those known: an address is written once and never changes."""
        newest = max(self._addresses, default=0)
        columns = (rooms.c.number, rooms.c.session, rooms.c.address_wing, rooms.c.address_room)
        wanted = select(*columns).where(rooms.c.space == self._space, rooms.c.number > newest)
        for number, *address in connection.execute(wanted):
            self._addresses[number] = (address[0], address[1], address[2])

    def _voice(self, voice: Voice) -> int:
        if voice not in self._voice_numbers:
            self._voice_numbers[voice] = len(self._voices)
            self._voices.append(voice)
        return self._voice_numbers[voice]

    def _grow(self, rows: int) -> None:
        if rows > len(self._rows):
            grown = np.zeros(max(rows, len(self._rows) * 3 // 2), _TYPE)
            grown[: len(self._rows)] = self._rows
            self._rows = grown


def _ranges(news: Iterable[Change]) -> list[tuple[int, int]]:
    """The drawers that changes tell of, in few ranges."""
    merged: list[tuple[int, int]] = []
    for change in news:
        last = change.subject if change.kind == "drawer.superseded" else change.until
        if merged and change.subject == merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((change.subject, last))
    return merged


@cache
def _between() -> Select[Any]:
    columns = (
        drawers.c.number,
        drawers.c.room,
        drawers.c.place,
        drawers.c.said_at,
        drawers.c.content_hash,
        drawers.c.states,
        drawers.c.superseded_by,
        drawers.c.role,
        drawers.c.origin,
        drawers.c.speaker,
    )
    these = (drawers.c.space == bindparam("space"), drawers.c.number.between(bindparam("first"), bindparam("last")))
    return select(*columns).where(*these)
