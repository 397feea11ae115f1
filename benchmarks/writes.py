"""What one write takes, by door and by size, as multiples of one durable commit; and 3,000 facts at once.

The floor is a transaction that inserts one row into a database of its own on the same disk, with the same settings:
BEGIN IMMEDIATE, INSERT, COMMIT with synchronous=FULL. It and the doors take turns, so that all have the same machine.
Statements are counted at the driver, with BEGIN, COMMIT and two PRAGMAs that wait for nothing, and each row of a
statement for several; what triggers and the keyword index run inside of them is counted apart.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple

from langgraph.store.base import PutOp
from reporting import Row, parser, report, say

from langmem_tiers import Memory, Turn
from langmem_tiers.bench.scoring import spread
from langmem_tiers.integrations.store import TieredStore

USER = "bench"
ITEMS = ("notes", "of", "users")
FACTS = 3_000
FIRST_DAY = date(2012, 1, 1)
_CONNECT = sqlite3.connect

Door = Callable[[int], Any]


class Taken(NamedTuple):
    """Milliseconds: what passed, and what this thread computed."""

    wall: float
    cpu: float


def main() -> None:
    arguments = parser(__doc__ or "", "writes")
    arguments.add_argument("--sizes", type=int, nargs="+", default=[50, 3_000], help="records of each kind before")
    arguments.add_argument("--writes", type=int, default=200, help="of each door")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memories, on the disk to measure")
    chosen = arguments.parse_args()
    single = [row for size in chosen.sizes for row in one_by_one(chosen.work, size, chosen.writes)]
    report("Single writes, in milliseconds", single, chosen.out)
    report(f"{FACTS:,} at once", [*at_once(chosen.work)], chosen.out.with_stem(f"{chosen.out.stem}_at_once"))


def one_by_one(work: Path | None, size: int, writes: int) -> Iterator[Row]:
    """Each door in turns with the floor, in a space with so many records of each kind."""
    with opened(work) as (memory, folder), floor(folder) as commit, counting() as statements:
        doors = doors_of(memory, size)
        say(f"filling up to {size:,} of each kind")
        for door in doors.values():
            for number in range(size):
                door(number)
        say("measuring")
        taken: dict[str, list[Taken]] = {name: [] for name in ("floor", *doors)}
        counted: dict[str, list[tuple[int, int]]] = {name: [] for name in doors}
        for number in range(size, size + writes):
            taken["floor"].append(timed(commit))
            for name, door in doors.items():
                statements.clear()
                taken[name].append(timed(door, number))
                counted[name].append(of(statements))
        least = spread([each.wall for each in taken["floor"]]).p50
        for name, times in taken.items():
            wall = spread([each.wall for each in times])
            told, inside = max(counted.get(name, [(3, 0)]))
            yield {
                "records": size,
                "door": name,
                "p50": wall.p50,
                "p95": wall.p95,
                "times the floor": wall.p50 / least,
                "computed": spread([each.cpu for each in times]).p50,
                "statements": told,
                "inside": inside,
            }


def doors_of(memory: Memory, size: int) -> dict[str, Door]:
    """What writes one record each."""
    space, store = memory.user(USER), TieredStore(memory)
    graph, knowledge = space.graph, space.knowledge
    return {
        "add_relation, new names": lambda n: graph.add_relation(f"Person {n}", "knows", f"Friend {n}"),
        "add_relation, known names": lambda n: graph.add_relation(f"Person {n}", "met", f"Person {n // 2 + n % 2 - 1}"),
        "add_relation, ends another": lambda n: graph.add_relation(f"Person {n % size}", "lives in", f"Town {n}"),
        "add_relation, one more value": lambda n: graph.add_relation(
            "Atlas", "has status", f"phase {n}", valid_from=(FIRST_DAY + timedelta(days=n)).isoformat()
        ),
        "knowledge.save": lambda n: knowledge.save(f"Dish number {n} has {n * 3} onions and a pinch of {_spice(n)}."),
        "store put": lambda n: store.put(ITEMS, f"k{n}", {"text": f"fact {n} is {n * 7919 % 1013}"}),
        "store put, in place of another": lambda n: store.put(ITEMS, f"k{n % size}", {"text": f"fact {n} is new"}),
    }


def _spice(number: int) -> str:
    return f"spice{number % 97}"


def at_once(work: Path | None) -> Iterator[Row]:
    """3,000 facts by each door that takes many, and by a loop over one that does not; each into a new space."""
    said = {f"k{number}": f"Fact number {number} of Alice is {number * 7919 % 1013}." for number in range(FACTS)}
    puts = [PutOp(ITEMS, key, {"text": text}) for key, text in said.items()]
    for name, write in {
        "store.batch": lambda store, _: store.batch(puts),
        "await store.abatch": lambda store, _: asyncio.run(store.abatch(puts)),
        "as many await store.aput at once": lambda store, _: asyncio.run(_gathered(store, said)),
        "a loop of store.put": lambda store, _: [store.put(ITEMS, key, {"text": text}) for key, text in said.items()],
        "memory.import_file, facts of mem0": lambda store, folder: store.memory.import_file(_of_mem0(folder, said)),
        "graph.import_": lambda store, folder: store.memory.user(USER).graph.import_(folder / "graph.json"),
        "track and mine, by rules": lambda store, _: _mined(store.memory, FACTS),
    }.items():
        with opened(work) as (memory, folder), floor(folder) as commit:
            if name == "graph.import_":
                _graph_of(folder, FACTS)
            least = spread([timed(commit).wall for _ in range(50)]).p50
            say(name)
            began, computed = perf_counter(), process_time()
            write(TieredStore(memory), folder)
            wall = perf_counter() - began
            yield {
                "by": name,
                "seconds": wall,
                "computed": process_time() - computed,
                "floors a fact": wall * 1000 / FACTS / least,
            }


async def _gathered(store: TieredStore, said: dict[str, str]) -> None:
    await asyncio.gather(*(store.aput(ITEMS, key, {"text": text}) for key, text in said.items()))


def _of_mem0(folder: Path, said: dict[str, str]) -> Path:
    file = folder / "mem0.json"
    rows = [{"id": key, "memory": text, "user_id": USER, "created_at": "2024-05-08"} for key, text in said.items()]
    file.write_text(json.dumps({"results": rows}), encoding="utf-8")
    return file


def _graph_of(folder: Path, relations: int) -> None:
    """A graph in a file."""
    with Memory.open(folder / "other", embedder=None, background=False) as memory:
        graph = memory.user(USER).graph
        for number in range(relations):
            graph.add_relation(f"Person {number // 3}", "knows", f"Friend {number}")
        graph.export(folder / "graph.json")


def _mined(memory: Memory, facts: int) -> None:
    space = memory.user(USER)
    said = [f"I love hiking on trail {number}." for number in range(facts)]
    for start in range(0, facts, 100):
        turns = [Turn(role="user", content=text) for text in said[start : start + 100]]
        space.track(turns, session=f"s{start}")
    space.mine()
    say(f"{space.knowledge.page(limit=1).total:,} of {facts:,} messages became entries")


@contextmanager
def opened(work: Path | None) -> Iterator[tuple[Memory, Path]]:
    """A new memory, and a folder beside it."""
    with (
        TemporaryDirectory(dir=work) as folder,
        Memory.open(Path(folder) / "memory", embedder=None, background=False) as memory,
    ):
        yield memory, Path(folder)


@contextmanager
def floor(folder: Path) -> Iterator[Callable[[], None]]:
    """One durable commit."""
    connection = _CONNECT(folder / "floor.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE rows (text TEXT)"):
        connection.execute(statement)

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows VALUES (?)", ("x" * 200,))
        connection.execute("COMMIT")

    yield commit
    connection.close()


@contextmanager
def counting() -> Iterator[list[str]]:
    """The statements that connections execute that are made from now on, as SQLite reports them."""
    told: list[str] = []

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        connection = _CONNECT(*given, **named)
        connection.set_trace_callback(told.append)
        return connection

    sqlite3.connect = connect
    try:
        yield told
    finally:
        sqlite3.connect = _CONNECT


def of(statements: list[str]) -> tuple[int, int]:
    """How many were executed, and how many ran inside of these: SQLite tells a statement again for each trigger."""
    inside = sum(
        each.startswith("--") or (place > 0 and each == statements[place - 1]) for place, each in enumerate(statements)
    )
    return len(statements) - inside, inside


def timed(write: Callable[..., Any], *given: int) -> Taken:
    """Milliseconds of one call."""
    began, computed = perf_counter(), thread_time()
    write(*given)
    return Taken((perf_counter() - began) * 1000, (thread_time() - computed) * 1000)


if __name__ == "__main__":
    main()
