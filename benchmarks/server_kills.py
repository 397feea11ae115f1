"""Workers, PostgreSQL or Chroma are killed under a memory on servers: what it acknowledged is there, once, and found.

Starts servers of its own (PostgreSQL with fsync), two writers and two workers (`server_process.py`), and for each part
a new database:

- workers are killed at random points, and others started in their place;
- PostgreSQL is stopped and started again, in turn cleanly (SIGINT) and as by a crash (SIGQUIT);
- Chroma is killed and its folder deleted; recall must go on by words and say so. Half of the spaces are not written to
  any more then: it is recall that finds their vectors missing.

After each part all acknowledged turns must be there, once, and be found by words and, once `flush` says that nothing
is left, by vectors, of which the server has none too many; a call that failed must have stored all its turns or none.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep, time
from typing import Self

import psycopg
from reporting import Row, parser, report, say
from server_process import opened, space_of
from writer import made_turn, unique_word

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory
from langmem_tiers.errors import MemoryTiersError
from tests import servers

PROCESS = Path(__file__).with_name("server_process.py")
_AT_WORK = "SELECT space, leased_by FROM langmem_tiers.spaces WHERE leased_by IS NOT NULL"
_DUE = (
    "SELECT count(*) FROM langmem_tiers.spaces "
    "WHERE leased_by IS NOT NULL OR work_at <= extract(epoch FROM clock_timestamp()) * 1000"
)
# Errors that a caller may get while a server is away, and seconds for the rest of the work.
_EXPECTED = {"ServerUnreachable", "ServerBusy", "DatabaseLocked"}
_PATIENCE = 300.0
# Seconds that the workers have for what the writers, who never wait, left to them.
_BACKLOG = 3_600.0
# Of the workers that are killed, those that die while they start.
_EARLY = 0.2
# Seconds: whoever lives has a space for less, and the lease of the dead is longer.
_TAKEN = 20.0


@dataclass
class Told:
    """What the writers said, with the time: acknowledged turns and failed calls by space."""

    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    failed: list[tuple[str, list[str]]] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    successes: list[float] = field(default_factory=list)

    def hear(self, line: str) -> None:
        """One line of a writer; one that is cut off is as good as unsaid."""
        at, what, space, *ids = line.split()
        if what == "acknowledged":
            self.acknowledged.setdefault(space, []).extend(ids)
            self.successes.append(float(at))
        elif what != "recalled":
            self.errors[what] += 1
            self.failed.append((space, ids))

    @property
    def turns(self) -> int:
        """How many turns were acknowledged."""
        return sum(map(len, self.acknowledged.values()))


class Load:
    """Writers and workers on a database of their own."""

    def __init__(self, address: str, chroma: str, spaces: int, folder: Path) -> None:
        self.address, self.chroma, self.spaces = address, chroma, spaces
        self._folder = folder
        self._started: list[subprocess.Popen[str]] = []
        with opened(address, chroma):
            say("the schema is made")
        self.workers = [self.start() for _ in range(2)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._started:
            each.kill()
            each.wait()

    def start(self, name: str = "", spaces: int = 0) -> subprocess.Popen[str]:
        """A worker, or a writer with a name, which writes to so many spaces."""
        command = [sys.executable, str(PROCESS), self.address, "--chroma", self.chroma]
        if name:
            command += ["--name", name, "--spaces", str(spaces or self.spaces)]
        with (self._folder / name).open("w") if name else nullcontext(subprocess.PIPE) as told:
            process = subprocess.Popen(command, stdout=told, text=True)
        self._started.append(process)
        return process

    def wait_until_ready(self) -> None:
        """Wait for the workers, which were not waited for before."""
        for each in self.workers:
            _wait_until_ready(each)

    @contextmanager
    def writing(self, *names: str, spaces: int = 0) -> Iterator[None]:
        """Writers, stopped at the end."""
        writers = [self.start(name, spaces) for name in names]
        self._await(lambda: all((self._folder / name).stat().st_size for name in names))
        try:
            yield
        finally:
            for each in writers:
                each.send_signal(signal.SIGTERM)
            ended = [each.wait(_PATIENCE) for each in writers]
        if any(ended):
            raise SystemExit("A writer ended with an error that is none of the memory's.")

    def told(self) -> Told:
        """What all writers said so far."""
        told = Told()
        for path in sorted(self._folder.iterdir()):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    told.hear(line)
        return told

    def at_work(self) -> set[tuple[str, str]]:
        """Which spaces are being worked on, each with its lease."""
        return set(self._ask(_AT_WORK))

    def finish(self) -> float:
        """Let the workers do all work and end them; the seconds that it took."""
        began = time()
        self._await(lambda: self._ask(_DUE) == [(0,)], _BACKLOG)
        took = time() - began
        for each in self.workers:
            each.send_signal(signal.SIGTERM)
        if any(each.wait(_PATIENCE) for each in self.workers):
            raise SystemExit("A worker did not end well.")
        return took

    def _ask(self, statement: str) -> list[tuple]:
        with psycopg.connect(self.address) as connection:
            return connection.execute(statement).fetchall()

    def _await(self, true: Callable[[], bool], patience: float = _PATIENCE) -> None:
        if not _comes_true(true, patience):
            raise SystemExit("Some work was not done in time.")


def _comes_true(true: Callable[[], bool], seconds: float) -> bool:
    until = time() + seconds
    while not true():
        if time() > until:
            return False
        sleep(0.1)
    return True


def kill_workers(load: Load, kills: int, rng: random.Random) -> Row:
    """Kill workers; how long until what they were at was taken over."""
    left: dict[tuple[str, str], float] = {}
    taken: list[float] = []

    def pause(seconds: float) -> None:
        until = time() + seconds
        while (rest := until - time()) > 0:
            sleep(min(rest, 0.2))
            now, held = time(), load.at_work()
            taken.extend(now - left.pop(each) for each in [*left] if each not in held)

    with load.writing("w0", "w1"):
        for number in range(kills):
            early = rng.random() < _EARLY
            victim = load.workers.pop(-1 if early else 0)
            if not early:
                _wait_until_ready(victim)
            pause(rng.uniform(0, 2))
            victim.kill()
            victim.wait()
            now = time()
            left.update({each: now for each in load.at_work() if each not in left})
            load.workers.append(load.start())
            say(f"kill {number + 1}: {len(left)} spaces held")
    while left:
        pause(0.2)
    # What is given back sooner was held by another one, who lives.
    return {"died at work": sum(each > _TAKEN for each in taken), "slowest take-over s": max(taken, default=0.0)}


def _wait_until_ready(worker: subprocess.Popen[str]) -> None:
    assert worker.stdout is not None
    worker.stdout.readline()


def restart_postgres(load: Load, postgres: servers.Postgres, restarts: int, rng: random.Random) -> Row:
    """Stop and start PostgreSQL; how long until the first success after it was back."""
    back: list[float] = []
    load.wait_until_ready()
    with load.writing("w0", "w1"):
        for number in range(restarts):
            sleep(rng.uniform(1, 4))
            postgres.stop(signal.SIGQUIT if number % 2 else signal.SIGINT)
            sleep(rng.uniform(0, 2))
            postgres.start()
            back.append(time())
            say(f"restart {number + 1}")
        sleep(10)
    told = load.told()
    waits = sorted(min(each for each in told.successes if each > moment) - moment for moment in back)
    return {"failed calls": len(told.failed), "median s to success": waits[len(waits) // 2], "slowest s": waits[-1]}


def lose_chroma(load: Load, chroma: servers.Chroma, losses: int) -> Row:
    """Kill Chroma and delete its data; whether recall goes on without, and how long until all can be found again."""
    load.wait_until_ready()
    with load.writing("w0"):
        sleep(10)
    by_words, whole = 0, []
    with opened(load.address, load.chroma) as memory:
        told = load.told()
        for number in range(losses):
            with load.writing(f"x{number}", spaces=load.spaces // 2):
                chroma.kill()
                chroma.lose_data()
                by_words += sum(_by_words(memory, space, ids[0]) for space, ids in told.acknowledged.items())
                chroma.start()
                back = time()
                if not _comes_true(lambda: all(_is_whole(memory, space) for space in told.acknowledged), _PATIENCE):
                    raise SystemExit("Search was not complete again in time.")
                whole.append(time() - back)
            say(f"loss {number + 1}: complete again after {whole[-1]:.1f} s")
    expected = losses * len(told.acknowledged)
    return {"recalls by words": by_words, "of": expected, "slowest until complete s": max(whole)}


def _by_words(memory: Memory, space: str, turn: str) -> bool:
    """Whether a turn is recalled without vectors, and the receipt says that there were none."""
    recalled = memory.space(space).recall(f"What was that about {unique_word(turn)}?", threshold=0)
    return unique_word(turn) in recalled.block and any("ector" in note for note in recalled.receipt.notes)


def _is_whole(memory: Memory, space: str) -> bool:
    """Whether recall searches vectors again, and the server has all of them."""
    recalled = memory.space(space).recall("What was said of the garden?")
    if recalled.receipt.notes:
        return False
    try:
        return _off(memory, space) in {None, (0, 0)}
    except MemoryTiersError:
        return False


def _off(memory: Memory, space: str) -> tuple[int, int] | None:
    """How many vectors of turns the server lacks, and how many it has too many; None while changes are on their way."""
    with memory.space(space).context.open() as store:
        assert store.shelves
        return store.shelves[0].off()


def examined(load: Load) -> Row:
    """What is wrong with what was acknowledged, and with what was not."""
    told, wrong = load.told(), Counter[str]()
    with opened(load.address, load.chroma) as memory:
        stored = {space: _stored(memory, space) for space in map(space_of, range(load.spaces))}
        for space, ids in told.acknowledged.items():
            say(f"examining {len(ids)} turns of {space}")
            wrong["lost"] += len(set(ids) - stored[space].keys())
            # Vectors that wait for a server that was away are tried again after some seconds.
            if not _comes_true(memory.space(space).flush, _PATIENCE):
                raise SystemExit("Vectors wait and wait.")
            wrong["vectors off"] += _off(memory, space) != (0, 0)
            for name in set(ids) & stored[space].keys():
                scores = _scores(memory, space, name, stored[space][name][0])
                wrong["not found by words"] += "keyword" not in scores
                wrong["not found by vectors"] += "vector" not in scores
    wrong["doubled"] = sum(len(each) - 1 for held in stored.values() for each in held.values())
    wrong["half stored"] = sum(0 < len(stored[space].keys() & set(ids)) < len(ids) for space, ids in told.failed)
    unexpected = Counter({name: count for name, count in told.errors.items() if name not in _EXPECTED})
    wrong["other errors"] = unexpected.total()
    for name, count in told.errors.items():
        say(f"{count} times {name}")
    return {"acknowledged": told.turns, **wrong}


def _stored(memory: Memory, space: str) -> dict[str, list[int]]:
    """The numbers of the drawers of each message, whose words must be as they were said."""
    held: dict[str, list[int]] = {}
    for drawer in memory.space(space).drawers():
        name = str(drawer.message_id)
        assert drawer.content == _turn(name), drawer
        held.setdefault(name, []).append(drawer.number)
    return held


def _scores(memory: Memory, space: str, name: str, drawer: int) -> Collection[str]:
    """By which channels a message is found."""
    ask = partial(memory.space(space).recall, _turn(name), threshold=0, keep_receipt=False)
    while (receipt := ask().receipt).notes:  # on a busy machine, Chroma may take longer than recall waits
        sleep(1)
    return next((each.scores for each in receipt.candidates if each.drawer == drawer), ())


def _turn(name: str) -> str:
    writer, _, number = name.rpartition("-")
    return made_turn(writer, int(number)).content


def main() -> int:
    arguments = parser(__doc__ or "", "server_kills")
    arguments.add_argument("--kills", type=int, default=100, help="of workers")
    arguments.add_argument("--restarts", type=int, default=20, help="of PostgreSQL")
    arguments.add_argument("--losses", type=int, default=5, help="of Chroma with its folder")
    arguments.add_argument("--spaces", type=int, default=24)
    chosen = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the servers end with it
    rng = random.Random(chosen.seed)
    with ExitStack() as last_to_first:
        postgres = servers.Postgres(durable=True)
        last_to_first.callback(postgres.remove)
        chroma = servers.Chroma()
        last_to_first.callback(chroma.remove)
        parts: dict[str, tuple[int, Callable[[Load], Row]]] = {
            "workers killed": (chosen.kills, lambda load: kill_workers(load, chosen.kills, rng)),
            "PostgreSQL restarted": (
                chosen.restarts,
                lambda load: restart_postgres(load, postgres, chosen.restarts, rng),
            ),
            "Chroma lost": (chosen.losses, lambda load: lose_chroma(load, chroma, chosen.losses)),
        }
        failures = 0
        for name, (times, part) in parts.items():
            if times:
                with (
                    TemporaryDirectory() as folder,
                    postgres.new_database() as address,
                    Load(address, chroma.address, chosen.spaces, Path(folder)) as load,
                ):
                    figures = part(load)
                    rest = load.finish()
                    found = examined(load)
                out = chosen.out.with_stem(f"{chosen.out.stem}_{name.split()[0].lower()}")
                report(f"{name}, {times} times", [{**figures, "rest of the work s": rest, **found}], out)
                failures += sum(count for each, count in found.items() if each != "acknowledged")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
