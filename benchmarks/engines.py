"""A folder beside servers: many users' turns at once, by the number of clients and of users.

A client is a thread that plays turns of users drawn at random: the bare embedding of a question, the recall of that
question, and the tracking of it with a reply. Clients are divided among processes, as web workers are, in which the
background is off. The folder and the servers are asked in turns, so that both have the same machine; the unit is the
embedding that the same client waited for under the same load. Users that are there already, from an earlier run
or moved from the folder, stay as they are.
"""

from __future__ import annotations

import os
import random
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from uuid import uuid4

from embedders import prepared
from reporting import Row, parser, report, say
from texts import message, question, sessions

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.naming import user_space

WARM_UP = 2


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a memory is kept."""

    name: str
    address: str
    chroma: str | None = None

    def open(self) -> Memory:
        """Open it, with the vectors of documents made as fast as words are counted."""
        how = {"embedder": prepared("projection"), "settings": verbatim(Settings()), "background": False}
        return Memory.open(self.address, chroma=self.chroma, **how)


@dataclass(kw_only=True)
class Took:
    """Milliseconds of each step."""

    embedding: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    track: list[float] = field(default_factory=list)

    def add(self, other: Took) -> None:
        """Take in those of another client."""
        self.embedding += other.embedding
        self.recall += other.recall
        self.track += other.track


def main() -> None:
    arguments = parser(__doc__ or "", "engines")
    arguments.add_argument("--postgres", help="address of a PostgreSQL database; without one, only the folder")
    arguments.add_argument("--chroma", help="address of a Chroma server")
    arguments.add_argument("--users", type=int, nargs="+", default=[200], help="how many there are, fewest first")
    arguments.add_argument("--drawers", type=int, default=5_000, help="of each user")
    arguments.add_argument("--asked", type=int, default=200, help="turns are those of so many users")
    arguments.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    arguments.add_argument("--turns", type=int, default=400, help="of all clients together")
    arguments.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="clients are divided among them")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, kept for the next run")
    chosen = arguments.parse_args()
    rows: list[Row] = []
    with nullcontext(chosen.work) if chosen.work else TemporaryDirectory() as folder:
        places = [Place(name="folder", address=str(folder))]
        if chosen.postgres:
            places.append(Place(name="servers", address=chosen.postgres, chroma=chosen.chroma))
        for users in sorted(chosen.users):
            for place in places:
                say(f"{place.name}: {users:,} users of {chosen.drawers:,} drawers")
                fill(place, users, chosen)
            for clients in chosen.clients:
                for place in places:
                    say(f"{place.name}: {clients} clients")
                    rows.append(measure(place, users, clients, chosen))
    report("Turns of many users", rows, chosen.out)


def fill(place: Place, users: int, chosen: Namespace) -> None:
    """Have so many users, each with as many drawers."""
    with place.open() as memory:
        there = set(memory.spaces())
        for user in range(users):
            space = memory.space(user_space(user))
            if space.name in there:
                continue
            start = user * chosen.drawers
            for session, turns in sessions(start, start + chosen.drawers, seed=chosen.seed):
                space.track(turns, session=session).raise_rejected()
            if not space.flush():
                raise SystemExit("The vectors could not be made: see the warning above.")


def measure(place: Place, users: int, clients: int, chosen: Namespace) -> Row:
    """Turns of so many clients in a place, with workers beside them if there are servers."""
    processes = min(clients, chosen.processes)
    asked = min(users, chosen.asked)
    shares = [len(range(number, clients, processes)) for number in range(processes)]
    turns = max(1, chosen.turns // clients)
    play = partial(play_turns, place, asked, turns, chosen.seed)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as others:
        # All have opened the memory before the clock starts.
        list(others.map(play, [1] * processes, ["warm"] * processes))
        started = perf_counter()
        took = Took()
        for each in others.map(play, shares, [uuid4().hex for _ in shares]):
            took.add(each)
        seconds = perf_counter() - started
    unit, recall, track = spread(took.embedding), spread(took.recall), spread(took.track)
    return {
        "place": place.name,
        "users": users,
        "clients": clients,
        "processes": processes,
        "turns a second": len(took.track) / seconds,
        "embedding p50 ms": unit.p50,
        "recall p50 ms": recall.p50,
        "recall p95 ms": recall.p95,
        "recall p50 / embedding p50": recall.p50 / unit.p50,
        "track p50 ms": track.p50,
        "track p95 ms": track.p95,
    }


_OPEN: dict[Place, Memory] = {}


def play_turns(place: Place, users: int, turns: int, seed: int, clients: int, run: str) -> Took:
    """Turns of so many clients in this process, each in a thread of its own."""
    memory = _OPEN.get(place) or _OPEN.setdefault(place, place.open())
    took = Took()
    with ThreadPoolExecutor(clients) as threads:
        rngs = [random.Random(f"{seed}/{run}/{client}") for client in range(clients)]
        for each in threads.map(partial(_client, memory, users, turns), rngs):
            took.add(each)
    return took


def _client(memory: Memory, users: int, turns: int, rng: random.Random) -> Took:
    took = Took()
    embedder = memory.context(user_space(0)).embedder.inner
    for number in range(WARM_UP + turns):
        space = memory.space(user_space(rng.randrange(users)))
        text, session = question(rng), f"s{rng.randrange(10**9)}"
        with _timed(took.embedding):
            embedder.embed_query(text)
        with _timed(took.recall):
            space.recall(text, session=session)
        reply = [Turn(role="user", content=text), Turn(role="assistant", content=message(rng))]
        with _timed(took.track):
            space.track(reply, session=session).raise_rejected()
        if number < WARM_UP:
            took = Took()
    return took


@contextmanager
def _timed(into: list[float]) -> Iterator[None]:
    started = perf_counter()
    yield
    into.append((perf_counter() - started) * 1000)


if __name__ == "__main__":
    main()
