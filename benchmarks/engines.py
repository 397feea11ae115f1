"""A folder beside servers: many users at once, by the number of clients and of users.

A client is a thread; clients are divided among processes, as web workers are, in which the background is off. Each kind
of call is measured for itself: all clients embed questions, which is the unit, then all recall such questions of users
drawn at random, then all track them with a reply. The folder and the servers are asked in turns, so that both have the
same machine. Processor time is that of the clients, and after it that of each server that `--servers` names. Users that
are there already, from an earlier run or moved from the folder, stay as they are.
"""

from __future__ import annotations

import os
import random
import shutil
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from uuid import uuid4

from embedders import prepared
from processor_time import processor_seconds
from reporting import Row, parser, report, say
from texts import message, question, sessions

from langmem_tiers import Memory, Settings, Space, Turn
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.naming import folder_name, user_space
from langmem_tiers.storage.folder import has_space, mark_space


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


def main() -> None:
    arguments = parser(__doc__ or "", "engines")
    arguments.add_argument("--postgres", help="address of a PostgreSQL database; without one, only the folder")
    arguments.add_argument("--chroma", help="address of a Chroma server")
    arguments.add_argument(
        "--servers", type=int, nargs="+", default=[], help="ids of their processes here, for their processor time"
    )
    arguments.add_argument("--users", type=int, nargs="+", default=[200], help="how many there are, fewest first")
    arguments.add_argument("--drawers", type=int, default=5_000, help="of each user")
    arguments.add_argument("--told", type=int, help="only so many are told their messages: the others are copies")
    arguments.add_argument("--asked", type=int, default=200, help="so many users are asked")
    arguments.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    arguments.add_argument("--turns", type=int, default=400, help="calls of each kind, by all clients together")
    arguments.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="clients are divided among them")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, kept for the next run")
    chosen = arguments.parse_args()
    rows: list[Row] = []
    with nullcontext(chosen.work) if chosen.work else TemporaryDirectory() as folder:
        places = [Place(name="folder", address=str(folder))]
        if chosen.postgres:
            places.append(Place(name="servers", address=chosen.postgres, chroma=chosen.chroma))
        for users in sorted(chosen.users):
            if chosen.told:
                fill(places[0], min(chosen.told, users), chosen)
                copy(Path(folder), chosen.told, users)
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
            if space.name not in there:
                tell(space, range(user * chosen.drawers, (user + 1) * chosen.drawers), chosen.seed)


def copy(folder: Path, told: int, users: int) -> None:
    """Have so many users in a folder, those after the first ones as copies of them."""
    unmarked = shutil.ignore_patterns("space.json")
    for user in range(told, users):
        if not has_space(folder, user_space(user)):
            first, copied = (folder / "spaces" / folder_name(user_space(each)) for each in (user % told, user))
            shutil.copytree(first, copied, ignore=unmarked, dirs_exist_ok=True)
            mark_space(copied, user_space(user))


def tell(space: Space, numbers: range, seed: int) -> None:
    """Have the turns of these numbers said in a space, and its background work done."""
    for session, turns in sessions(numbers.start, numbers.stop, seed=seed):
        space.track(turns, session=session).raise_rejected()
    if not space.flush():
        raise SystemExit("The vectors could not be made: see the warning above.")


def measure(place: Place, users: int, clients: int, chosen: Namespace) -> Row:
    """Each kind of call by so many clients in a place."""
    processes = min(clients, chosen.processes)
    shares = [len(range(number, clients, processes)) for number in range(processes)]
    row: Row = {"place": place.name, "users": users, "clients": clients, "processes": processes}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as others:
        unit = 0.0
        for kind in ("embedding", "recall", "track"):
            play = partial(play_calls, place, kind, min(users, chosen.asked), chosen.seed)
            # All have opened the memory, and the spaces, before the clock starts.
            list(others.map(play, [chosen.asked // processes] * processes, [1] * processes, ["warm"] * processes))
            turns = max(1, chosen.turns // clients)
            before = [processor_seconds(process) for process in (os.getpid(), *chosen.servers)]
            started = perf_counter()
            took = [each for some in others.map(play, [turns] * processes, shares, _runs(shares)) for each in some]
            seconds = perf_counter() - started
            after = [processor_seconds(process) for process in (os.getpid(), *chosen.servers)]
            worked = [(late - early) * 1000 / len(took) for early, late in zip(before, after, strict=True)]
            spent = spread(took)
            unit = unit or spent.p50
            row |= {f"{kind} p50 ms": spent.p50, f"{kind} p95 ms": spent.p95, f"{kind}s a second": len(took) / seconds}
            row |= {} if kind == "embedding" else {f"{kind} p50 / embedding p50": spent.p50 / unit}
            row |= {f"{kind}, processor ms": " + ".join(f"{each:.1f}" for each in worked)}
    return row


def _runs(shares: list[int]) -> list[str]:
    return [uuid4().hex for _ in shares]


_OPEN: dict[Place, Memory] = {}


def play_calls(place: Place, kind: str, users: int, seed: int, calls: int, clients: int, run: str) -> list[float]:
    """Milliseconds of each call of so many clients in this process, each in a thread of its own."""
    memory = _OPEN.get(place) or _OPEN.setdefault(place, place.open())
    with ThreadPoolExecutor(clients) as threads:
        rngs = [random.Random(f"{seed}/{run}/{client}") for client in range(clients)]
        return [each for took in threads.map(partial(_client, memory, kind, users, calls), rngs) for each in took]


def _client(memory: Memory, kind: str, users: int, calls: int, rng: random.Random) -> list[float]:
    took: list[float] = []
    embedder = memory.context(user_space(0)).embedder.inner
    for _ in range(calls):
        space = memory.space(user_space(rng.randrange(users)))
        text, session = question(rng), f"s{rng.randrange(10**9)}"
        turns = [Turn(role="user", content=text), Turn(role="assistant", content=message(rng))]
        with _timed(took):
            if kind == "embedding":
                embedder.embed_query(text)
            elif kind == "recall":
                space.recall(text, session=session)
            else:
                space.track(turns, session=session).raise_rejected()
    return took


@contextmanager
def _timed(into: list[float]) -> Iterator[None]:
    started = perf_counter()
    yield
    into.append((perf_counter() - started) * 1000)


if __name__ == "__main__":
    main()
