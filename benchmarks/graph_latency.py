"""The knowledge graph by size: how long questions and writes take, how long it takes to open, and what it weighs.

Each size has a memory of its own, whose rows are put in at once, past the checks: as many people as a tenth of the
relations, who move, work, know each other and have an age; one relation in twenty leads to one city, the hub. Each is
asked in a fresh process in which NetworkX is loaded before the clock starts.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, NamedTuple

from reporting import Row, parser, report, say
from sqlalchemy import Connection, insert

from langmem_tiers import Memory
from langmem_tiers.bench.scoring import spread
from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.answers import answering
from langmem_tiers.knowledge_graph.projection import FILE
from langmem_tiers.language.slugs import name_key
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage.schema import entities, relation_versions, relations

SPACE = "users/bench"
HUB = "Berlin"
PLACES, FIRMS = 300, 300
WARM_UP = 5
_SYLLABLES = [
    "ka",
    "to",
    "mi",
    "re",
    "sol",
    "vin",
    "dar",
    "el",
    "bru",
    "no",
    "sha",
    "pe",
    "li",
    "gor",
    "an",
    "tes",
    "ula",
]
_SAID = {"origin": "user", "path": "user", "authority": 2}
_AT_ONCE = 5_000


class Taken(NamedTuple):
    """Milliseconds: what passed, and what of it this process worked; the rest, it waited for the disk or for others."""

    wall: float
    cpu: float


def main() -> None:
    arguments = parser(__doc__ or "", "graph_latency")
    arguments.add_argument("--relations", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    arguments.add_argument("--questions", type=int, default=200)
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memories, on the disk to measure")
    chosen = arguments.parse_args()
    opened, asked = [], []
    with TemporaryDirectory(dir=chosen.work) as work:
        for count in sorted(chosen.relations):
            folder = Path(work) / str(count)
            say(f"making {count:,} relations")
            people = _apart(fill, folder, count, chosen.seed)
            say("opening")
            opened.append({"relations": count, **_opening(folder, count)})
            say("asking")
            asked += _apart(ask, folder, people, chosen.questions, chosen.seed, count)
    report("Opening the graph, and what it takes", opened, chosen.out.with_stem(f"{chosen.out.stem}_open"))
    report("Questions and writes, in milliseconds", asked, chosen.out)


def fill(folder: Path, count: int, seed: int) -> list[str]:
    """Make a memory with so many relations, and its file; the names of the people."""
    rng = random.Random(f"{seed}/{count}")
    people = [_name(number) for number in range(max(20, count // 10))]
    places = [HUB, *(f"{_name(number)} town" for number in range(PLACES))]
    firms = [f"{_name(number)} works" for number in range(FIRMS)]
    now = to_millis(datetime.now(UTC))
    with Memory.open(folder, embedder=None, background=False) as memory:
        with memory.use(SPACE) as store, store.writing() as connection:
            numbers = _put_entities(
                connection, store.key, {"person": people, "place": places, "organisation": firms}, now
            )
            _put_relations(connection, store.key, list(_made(rng, count, people, places, firms, numbers)), now)
            change_log.append(connection, store.key, "entities.changed", 1, until=len(numbers), at=now)
            change_log.append(connection, store.key, "relations.changed", 1, until=count, at=now)
        memory.space(SPACE).graph.resolve("nobody")
    return people


def _opening(folder: Path, count: int) -> Row:
    """Milliseconds until the first question is answered, from the file and from the rows; and the bytes of both."""
    (file,) = folder.rglob(FILE)
    kept = file.stat().st_size
    from_file = [_apart(first_answer, folder, False) for _ in range(3)]
    from_rows = [_apart(first_answer, folder, True) for _ in range(3)]
    written = _apart(write_file, folder)
    return {
        "from file ms": min(taken.wall for taken, _ in from_file),
        "CPU ms": min(taken.cpu for taken, _ in from_file),
        "from rows ms": min(taken.wall for taken, _ in from_rows),
        "CPU, rows ms": min(taken.cpu for taken, _ in from_rows),
        "write file ms": written.wall,
        "file B / relation": kept / count,
        "memory B / relation": min(grown for _, grown in from_file) / count,
        "memory.db B / relation": next(folder.rglob("memory.db")).stat().st_size / count,
    }


def first_answer(folder: Path, without_file: bool) -> tuple[Taken, float]:
    """Milliseconds of the first question, and by how many bytes the process has grown."""
    _prepare()
    if without_file:
        next(folder.rglob(FILE)).unlink()
    with Memory.open(folder, embedder=None, background=False) as memory:
        with memory.use(SPACE):
            before = _resident()
        taken = _timed(lambda: memory.space(SPACE).graph.neighbours(HUB))
        gc.collect()
        return taken, _resident() - before


def write_file(folder: Path) -> Taken:
    """Milliseconds of a checkpoint."""
    _prepare()
    with Memory.open(folder, embedder=None, background=False) as memory, memory.use(SPACE) as store:
        memory.space(SPACE).graph.neighbours(HUB)
        store.graph.discard()
        return _timed(store.graph.checkpoint)


def ask(folder: Path, people: list[str], questions: int, seed: int, count: int) -> list[Row]:
    """A row for each kind of question: its median and its 95th percentile."""
    _prepare()
    rng = random.Random(f"{seed}/ask")
    rows: list[Row] = []
    with Memory.open(folder, embedder=None, background=False) as memory:
        space = memory.space(SPACE)
        for name, question in _questions(space, rng, people).items():
            for _ in range(WARM_UP):
                question()
            taken = [_timed(question) for _ in range(questions)]
            wall, cpu = spread(each.wall for each in taken), spread(each.cpu for each in taken)
            figures = {"p50 ms": wall.p50, "p95 ms": wall.p95, "CPU p50 ms": cpu.p50, "CPU p95 ms": cpu.p95}
            rows.append({"relations": count, "what": name, **figures})
    return rows


def _questions(space: Any, rng: random.Random, people: list[str]) -> dict[str, Callable[[], object]]:
    graph = space.graph

    def anybody() -> str:
        return rng.choice(people)

    def named() -> None:
        with answering(space.context) as answer:
            entity_lookup.named_in(answer.view, f"Where did {anybody()} live when I met {anybody()} in {HUB}?")

    def write() -> None:
        graph.add_relation(anybody(), "knows", anybody() + "s", valid_from=f"{rng.randrange(1990, 2020)}")

    def write_and_ask() -> Taken:
        write()
        return _timed(lambda: graph.neighbours(anybody()))

    return {
        "neighbours": lambda: graph.neighbours(anybody()),
        "neighbours, 2 steps": lambda: graph.neighbours(anybody(), depth=2),
        "neighbours of the hub": lambda: graph.neighbours(HUB),
        "as of a year": lambda: graph.neighbours(anybody(), as_of=f"{rng.randrange(1990, 2020)}"),
        "hub as of a year": lambda: graph.neighbours(HUB, as_of=f"{rng.randrange(1990, 2020)}"),
        "known at a moment": lambda: graph.neighbours(anybody(), known_at="2100"),
        "path": lambda: graph.paths(*rng.sample(people, 2)),
        "timeline": lambda: graph.timeline(anybody()),
        "resolve a misspelled name": lambda: graph.resolve(_misspelled(rng, anybody())),
        "names in a text": named,
        "write": write,
        "first question after a write": write_and_ask,
    }


def _put_entities(connection: Connection, space: str, names: dict[str, list[str]], now: int) -> dict[str, int]:
    numbers: dict[str, int] = {}
    rows = []
    for kind, listed in names.items():
        for name in listed:
            numbers[name] = len(numbers) + 1
            times = dict.fromkeys(("first_seen", "last_seen", "created_at", "updated_at"), now)
            row = {"number": numbers[name], "id": _identity("e", numbers[name]), "name": name, "slug": name_key(name)}
            rows.append({"space": space, **row, "type": kind, "metadata": "{}", **_SAID, **times})
    _insert(connection, entities, rows)
    facts.put(connection, space, "newest_entity", str(len(numbers)))
    return numbers


def _made(
    rng: random.Random, count: int, people: list[str], places: list[str], firms: list[str], numbers: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Subject, predicate, target and the years of as many relations; who moves ends where it was before."""
    number = 0
    while number < count:
        person, year = rng.choice(people), rng.randrange(1980, 2015)
        place = HUB if rng.random() < 0.2 else rng.choice(places)
        for predicate, target, end in (
            ("lives_in", numbers[place], rng.choice((None, year + rng.randrange(1, 9)))),
            ("works_at", numbers[rng.choice(firms)], None),
            ("knows", numbers[rng.choice(people)], None),
            ("has_age", None, None),
        ):
            if number < count and target != numbers[person]:
                number += 1
                yield {"subject": numbers[person], "predicate": predicate, "object": target, "years": (year, end)}


def _put_relations(connection: Connection, space: str, made: list[dict[str, Any]], now: int) -> None:
    rows, versions = [], []
    for number, each in enumerate(made, start=1):
        start, end = each.pop("years")
        value = None if each["object"] else str(start)
        row = {
            "number": number,
            "id": _identity("f", number),
            "said": each["predicate"].replace("_", " "),
            "unit": None,
        }
        rows.append(
            {"space": space, **row, **each, "value": value, "kind": "stated", **_SAID, "confidence": 100}
            | {"created_at": now}
        )
        stop = None if end is None else _year(end)
        times = {"valid_from": _year(start), "valid_to": stop, "stated_to": stop, "recorded_at": now, "until": None}
        units = {"from_unit": "year", "to_unit": "year", "from_stated": 1, "reason": "said", "cause": None}
        versions.append({"space": space, "relation": number, "version": 1, **times, **units})
    _insert(connection, relations, rows)
    _insert(connection, relation_versions, versions)
    facts.put(connection, space, "newest_relation", str(len(made)))


def _insert(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _AT_ONCE):
        connection.execute(insert(table), rows[start : start + _AT_ONCE])


def _name(number: int) -> str:
    """A name of two words, another one for each number."""
    first, rest = number % len(_SYLLABLES), number // len(_SYLLABLES)
    second, rest = rest % len(_SYLLABLES), rest // len(_SYLLABLES)
    third, rest = rest % len(_SYLLABLES), rest // len(_SYLLABLES)
    surname = f"{_SYLLABLES[third]}{_SYLLABLES[rest % len(_SYLLABLES)]}{_SYLLABLES[first]}"
    return f"{_SYLLABLES[first]}{_SYLLABLES[second]}".title() + f" {surname}".title()


def _misspelled(rng: random.Random, name: str) -> str:
    place = rng.randrange(1, len(name) - 1)
    return name[:place] + name[place + 1 :]


def _identity(kind: str, number: int) -> str:
    return f"{kind}{number:011x}"


def _year(year: int) -> int:
    return to_millis(datetime(year, 1, 1, tzinfo=UTC))


def _apart(measure: Callable[..., Any], *arguments: object) -> Any:
    """What a function returns in a process of its own, which has nothing in memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, *arguments).result()


def _prepare() -> None:
    import networkx  # noqa: F401 - loading it is no part of what is measured


def _timed(call: Callable[[], object]) -> Taken:
    """What a call takes; what it measured itself, where it returns that."""
    started, worked = perf_counter(), process_time()
    told = call()
    if isinstance(told, Taken):
        return told
    return Taken((perf_counter() - started) * 1000, (process_time() - worked) * 1000)


def _resident() -> float:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
