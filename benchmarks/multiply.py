"""A memory of up to a million drawers in one space, in minutes: its first part tracked, the rest filed as that is.

Tracking and filing take about two milliseconds a drawer, so only the first drawers come in through the front door.
Those after them are what tracking would have stored of `texts.turn`, with their own tags, pieces and vectors; the wing
of a room and its closets, which take the longest to find, are those of a tracked room. Log, cursors and keyword index
are as tracking and the background jobs leave them, and the library builds the Chroma projection from them.
"""

from __future__ import annotations

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from embedders import CHOICES, prepared
from langchain_core.embeddings import Embeddings
from recall_latency import SPACE, fill
from reporting import say
from sqlalchemy import Connection, and_, select
from texts import SESSION_TURNS, sessions

from langmem_tiers import Memory, Turn
from langmem_tiers.background import filing
from langmem_tiers.background.embedding import DRAWERS
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.settings import Settings, StorageSettings, TextSettings
from langmem_tiers.storage import change_log, closets, drawers, embedding_cache, keyword, rooms, schema
from langmem_tiers.storage.drawers import NewDrawer
from langmem_tiers.storage.rooms import Room
from langmem_tiers.store import SpaceStore
from langmem_tiers.writing.turns import IncomingTurn, embedded_text, new_drawer, read

TRACKED = 10_000
# The embedding pass logs at least 128 drawers together: seven sessions.
_EMBEDDED_SESSIONS = 7
# Drawers between two commits.
_COMMITTED = 50 * _EMBEDDED_SESSIONS * SESSION_TURNS
_STORAGE = StorageSettings(synchronous="NORMAL")
# More vectors than any of these memories has.
_EVERY = 10_000_000
IN_MEMORY = StorageSettings(synchronous="NORMAL", exact_below=_EVERY, chroma_above=_EVERY)
"""All vectors are searched in memory, whatever their number, and Chroma has none."""
# Half a gigabyte: the hashes of texts come in no order, and their index is written all over.
_CACHE = "PRAGMA cache_size=-500000"
# A session and the drawers that its turns make.
Analysed = tuple[str, Sequence[NewDrawer]]


@dataclass(frozen=True, kw_only=True)
class Filed:
    """How a tracked room is filed: its wing, the one it had first, and for each place its closet and category."""

    wing: int
    first_wing: int
    closets: Mapping[int, tuple[int, str]]
    categories: Mapping[int, str]


def main() -> None:
    arguments = ArgumentParser(description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    arguments.add_argument("folder", type=Path, help="a new folder, or one that was made by this before")
    arguments.add_argument("--drawers", type=int, default=100_000)
    arguments.add_argument("--tracked", type=int, default=TRACKED, help="how many come in through the front door")
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--seed", type=int, default=1)
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    make(chosen.folder, chosen.drawers, embedder=embedder, seed=chosen.seed, tracked=chosen.tracked)


def make(
    folder: Path,
    size: int,
    *,
    embedder: Embedder | Embeddings,
    seed: int = 1,
    tracked: int = TRACKED,
    length: int | None = None,
    storage: StorageSettings = _STORAGE,
) -> None:
    """Bring the space `SPACE` of a memory to `size` drawers from as many as it has; whole sessions only.

    `length` is how many sentences each has, as in `texts.message`.
    """
    if size % SESSION_TURNS or tracked % SESSION_TURNS:
        raise SystemExit(f"Sizes have to be multiples of {SESSION_TURNS}.")
    settings = verbatim(Settings(storage=storage))
    with Memory.open(folder, embedder=embedder, background=False, settings=settings) as memory:
        present, front = _present(memory), min(tracked, size)
        if present < front:
            with _timed(f"tracked {front - present:,} drawers"):
                fill(memory, present, front, seed, length)
        if max(present, front) < size:
            with _timed(f"multiplied to {size:,} drawers"):
                multiply(memory, max(present, front), size, seed=seed, tracked=tracked, length=length)
        with _timed("brought Chroma up to date"):
            memory.space(SPACE).flush()


def multiply(
    memory: Memory, start: int, stop: int, *, seed: int = 1, tracked: int = TRACKED, length: int | None = None
) -> None:
    """Put in the turns numbered `start` to `stop`, filed as the first `tracked` are. Nobody else may be writing."""
    # Analysing texts and writing rows take about the same time: each gets a process.
    with memory.use(SPACE) as store, ProcessPoolExecutor(1, mp_context=get_context("spawn")) as others:
        ranges = [range(first, min(first + _COMMITTED, stop)) for first in range(start, stop, _COMMITTED)]
        copier = _Copier(memory, store, tracked // SESSION_TURNS)
        for analysed in others.map(partial(_analysed, seed=seed, length=length, settings=memory.settings.text), ranges):
            copier.put(analysed)


class _Copier:
    """Writes sessions as tracking and the background jobs do, many in a transaction."""

    def __init__(self, memory: Memory, store: SpaceStore, patterns: int) -> None:
        self._embedder = memory.context(store.name).embedder.inner
        self._text = memory.settings.text
        self._clock = memory.clock
        self._store = store
        self._space = store.key
        with store.reading() as connection:
            tracked = rooms.every(connection, self._space)[:patterns]
            self._patterns = cycle([_filed(connection, self._space, room) for room in tracked])

    def put(self, analysed: Sequence[Analysed]) -> None:
        with self._store.writing() as connection:
            connection.exec_driver_sql(_CACHE)
            for first in range(0, len(analysed), _EMBEDDED_SESSIONS):
                self._put_embedded(connection, analysed[first : first + _EMBEDDED_SESSIONS])
            head = change_log.head(connection, self._space)
            for follower in (filing.CURSOR, DRAWERS.cursor_name(self._embedder.name)):
                change_log.reset_cursor(connection, self._space, follower, head)

    def _put_embedded(self, connection: Connection, analysed: Sequence[Analysed]) -> None:
        numbers: list[int] = []
        texts: dict[bytes, str] = {}
        for session, new in analysed:
            numbers += self._put_filed(connection, session, new)
            texts |= {text_hash: _text(each, *span) for each in new for *span, text_hash in each.chunks}
        name, vectors = self._embedder.name, self._embedder.embed_documents(list(texts.values()))
        embedding_cache.put(connection, self._space, name, list(texts), vectors)
        self._log(connection, "drawers.embedded", numbers[0], until=numbers[-1], detail=name)

    def _put_filed(self, connection: Connection, session: str, new: Sequence[NewDrawer]) -> list[int]:
        first, last, now = new[0].said_at, new[-1].said_at, to_millis(self._clock())
        filed = next(self._patterns)
        taken = {"drawers": len(new), "first": first, "last": last, "at": now}
        room = rooms.open_room(connection, self._space, session=session, wing=filed.first_wing, **taken)
        number = drawers.newest(connection, self._space) + 1
        follows = [None, *range(number, number + len(new) - 1)]
        place = {"session": session, "room": room, "place": 1, "number": number, "follows": follows}
        numbers = drawers.put(connection, self._space, new, **place, at=now)
        self._log(connection, "drawers.added", numbers[0], until=numbers[-1])
        self._file(connection, room, numbers, filed)
        if filed.wing != filed.first_wing:
            rooms.refile(connection, self._space, room, filed.wing)
            self._log(connection, "room.refiled", room, until=filed.wing)
        places = enumerate(zip(numbers, new, strict=True), 1)
        rows = (
            keyword.drawer_words(number, each.content, each.tags, filed.categories[place])
            for place, (number, each) in places
        )
        keyword.drawers.add(connection, rows)
        self._log(connection, "drawers.filed", numbers[0], until=numbers[-1])
        return numbers

    def _file(self, connection: Connection, room: int, numbers: Sequence[int], filed: Filed) -> None:
        held: dict[tuple[int, str], list[int]] = {}
        for place, number in enumerate(numbers, 1):
            held.setdefault(filed.closets[place], []).append(number)
        opened = closets.open_closets(connection, self._space, [(room, name) for _, name in held])
        filed_in = ((each, closet) for closet, those in zip(opened, held.values(), strict=True) for each in those)
        closets.put(connection, self._space, filed_in)

    def _log(
        self, connection: Connection, kind: change_log.Kind, first: int, *, until: int, detail: str | None = None
    ) -> None:
        now = to_millis(self._clock())
        change_log.append(connection, self._space, kind, first, until=until, detail=detail, at=now)


def _analysed(numbers: range, *, seed: int, length: int | None, settings: TextSettings) -> list[Analysed]:
    """The sessions of some turns as drawers that are not stored yet."""
    told = sessions(numbers.start, numbers.stop, seed=seed, length=length)
    return [(session, [new_drawer(each, settings) for each in _read(turns, settings)]) for session, turns in told]


def _read(turns: Sequence[Turn], settings: TextSettings) -> list[IncomingTurn]:
    accepted, _ = read(turns, settings, utc_now())
    return accepted


def _filed(connection: Connection, space: str, room: Room) -> Filed:
    held = (schema.drawers.c.space == space, schema.drawers.c.room == room.number)
    same = and_(schema.closets.c.space == schema.drawers.c.space, schema.closets.c.number == schema.drawers.c.closet)
    columns = (schema.drawers.c.number, schema.drawers.c.place, schema.closets.c.number, schema.closets.c.name)
    rows = connection.execute(select(*columns).select_from(schema.drawers.join(schema.closets, same)).where(*held))
    categories = dict(closets.categories(connection, space, room.number))
    places = [(place, categories[drawer], (closet, name)) for drawer, place, closet, name in rows]
    return Filed(
        wing=room.wing,
        first_wing=room.address_wing,
        closets={place: closet for place, _, closet in places},
        categories={place: category for place, category, _ in places},
    )


def _present(memory: Memory) -> int:
    with memory.use(SPACE) as store, store.reading() as connection:
        return drawers.newest(connection, store.key)


def _text(drawer: NewDrawer, start: int, stop: int) -> str:
    return embedded_text(drawer.speaker, drawer.content[start:stop])


@contextmanager
def _timed(done: str) -> Iterator[None]:
    started = perf_counter()
    yield
    say(f"{done} in {perf_counter() - started:,.1f} s")


if __name__ == "__main__":
    main()
