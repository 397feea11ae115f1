"""Background work on servers by the number of workers, a user with much to do beside many, and recall as a worker dies.

Starts servers of its own. Turns are tracked while nobody works on them; then so many `langmem-tiers worker` processes
embed, file and index them with the local model. In the last part a worker is killed (SIGKILL) while it works, and
recall goes on in this process.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, sleep

import psycopg
from reporting import Row, parser, report, say
from texts import question, sessions

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory
from langmem_tiers.bench.scoring import spread
from langmem_tiers.naming import user_space
from tests import servers

_DUE = (
    "SELECT space FROM langmem_tiers.spaces "
    "WHERE leased_by IS NOT NULL OR work_at <= extract(epoch FROM clock_timestamp()) * 1000"
)
_EMBEDDED = "SELECT coalesce(sum(until - subject + 1), 0) FROM langmem_tiers.changes WHERE kind = 'drawers.embedded'"


class Place:
    """A database of its own, and the processes that work on it."""

    def __init__(self, postgres: servers.Postgres, address: str, chroma: servers.Chroma) -> None:
        self._address, self._chroma, self._superuser = address, chroma, postgres.address("postgres", _name(address))
        self._workers: list[subprocess.Popen[bytes]] = []

    def opened(self) -> Memory:
        """The memory, in which no work is done."""
        return Memory.open(self._address, chroma=self._chroma.address, background=False)

    @contextmanager
    def working(self, workers: int) -> Iterator[list[subprocess.Popen[bytes]]]:
        """So many workers, ended by SIGTERM."""
        program = str(Path(sys.executable).with_name("langmem-tiers"))
        command = [program, "--path", self._address, "--chroma", self._chroma.address, "worker"]
        started = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(workers)]
        try:
            for each in started:
                assert each.stderr is not None
                each.stderr.readline()  # it says that it works
            yield started
        finally:
            for each in started:
                each.send_signal(signal.SIGTERM)
            for each in started:
                each.wait()

    def due(self) -> set[str]:
        """The spaces in which something is left to do."""
        return {space for (space,) in self._asked(_DUE)}

    def embedded(self) -> int:
        """How many messages have their vectors."""
        return int(self._asked(_EMBEDDED)[0][0])

    def _asked(self, statement: str) -> list[tuple]:
        with psycopg.connect(self._superuser) as connection:
            return connection.execute(statement).fetchall()


def _name(address: str) -> str:
    return address.rpartition("/")[2]


def main() -> None:
    arguments = parser(__doc__ or "", "server_workers")
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    arguments.add_argument("--users", type=int, default=20)
    arguments.add_argument("--turns", type=int, default=60, help="of each user")
    arguments.add_argument("--many", type=int, default=2_000, help="turns of the user with much to do")
    arguments.add_argument("--recalls", type=int, default=200, help="before and after a worker's death")
    chosen = arguments.parse_args()
    with ExitStack() as last_to_first:
        postgres, chroma = servers.Postgres(durable=True), servers.Chroma()
        last_to_first.callback(postgres.remove)
        last_to_first.callback(chroma.remove)

        def on_new(part: Callable[[Place], Row]) -> Row:
            with postgres.new_database() as address:
                return part(Place(postgres, address, chroma))

        rows = [on_new(lambda place, n=each: throughput(place, n, chosen)) for each in chosen.workers]  # type: ignore[misc]
        report("Turns a second", rows, chosen.out)
        report(
            "One with much to do",
            [on_new(lambda place: beside(place, chosen))],
            chosen.out.with_stem(f"{chosen.out.stem}_beside"),
        )
        report(
            "A worker dies",
            [on_new(lambda place: death(place, chosen))],
            chosen.out.with_stem(f"{chosen.out.stem}_death"),
        )


def told(place: Place, users: range, turns: int, seed: int) -> None:
    """Have each of these users say so much."""
    with place.opened() as memory:
        for user in users:
            for session, some in sessions(user * turns, (user + 1) * turns, seed=seed):
                memory.space(user_space(user)).track(some, session=session).raise_rejected()


def throughput(place: Place, workers: int, chosen: Namespace) -> Row:
    """Turns a second of so many workers, until nothing is left to do."""
    told(place, range(chosen.users), chosen.turns, chosen.seed)
    with place.working(workers):
        started = perf_counter()
        while place.due():
            sleep(0.1)
        seconds = perf_counter() - started
    turns = chosen.users * chosen.turns
    say(f"{workers} workers: {turns / seconds:.0f} turns a second")
    return {
        "workers": workers,
        "cores": os.cpu_count(),
        "turns": turns,
        "seconds": seconds,
        "a second": turns / seconds,
    }


def beside(place: Place, chosen: Namespace) -> Row:
    """When the work of many users is done, who said something after one who said very much."""
    told(place, range(1), chosen.many, chosen.seed)
    told(place, range(1, chosen.users), 2, chosen.seed)
    heavy = user_space(0)
    with place.working(1):
        started = perf_counter()
        while place.due() - {heavy}:
            sleep(0.1)
        others = perf_counter() - started
        done = place.embedded()
        while place.due():
            sleep(0.1)
        return {"others done s": others, "embedded by then": done, "all done s": perf_counter() - started}


def death(place: Place, chosen: Namespace) -> Row:
    """Recall before and after one of two workers is killed at work, and how long its spaces wait."""
    rng = random.Random(chosen.seed)
    told(place, range(chosen.users), 100, chosen.seed)
    with place.opened() as memory, place.working(2) as workers:

        def recalled() -> Row:
            took: list[float] = []
            for number in range(chosen.recalls):
                started = perf_counter()
                memory.space(user_space(rng.randrange(chosen.users))).recall(
                    question(rng), session=f"{number}/{rng.random()}"
                )
                took.append((perf_counter() - started) * 1000)
            return {"p50": spread(took).p50, "p95": spread(took).p95}

        before = recalled()
        workers[0].kill()
        killed = perf_counter()
        after = recalled()
        while place.due():
            sleep(0.2)
        whole = perf_counter() - killed
    return {
        **{f"before, {name} ms": each for name, each in before.items()},
        **{f"after, {name} ms": each for name, each in after.items()},
        "all done after s": whole,
    }


if __name__ == "__main__":
    main()
