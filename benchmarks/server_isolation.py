"""Random use by many users, in several processes, on one PostgreSQL and one Chroma server: nothing foreign anywhere.

All that is stored for a user holds that user's mark. No answer may hold another mark, and at the end no row of any
table; nor may Chroma hold vectors in a space that its records do not know. SIGTERM to a process of users ends its part
early; the figures are of what was done.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import threading
from argparse import SUPPRESS, Namespace
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from time import perf_counter

import psycopg
from reporting import parser, report, say
from server_process import opened

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory, Space, Turn
from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations import TieredStore
from tests import servers

MARK = re.compile(r"kanari\d+q")
THINGS = ("kettle", "ladder", "violin", "anchor", "lantern", "saddle")
COLOURS = ("red", "green", "blue", "white")


class User:
    """What one user does with a memory that others use too."""

    def __init__(self, memory: Memory, number: int, rng: random.Random) -> None:
        self.name, self.mark = f"user{number}", f"kanari{number}q"
        self.space: Space = memory.user(self.name)
        self.rng = rng
        self._memory = memory
        self._store = TieredStore(memory, space_of=("{user}",))

    def text(self) -> str:
        """Something to store."""
        colour, thing = self.rng.choice(COLOURS), self.rng.choice(THINGS)
        return f"I keep the {colour} {thing} of {self.mark} in room {self.rng.randrange(10**6)}."

    def question(self) -> str:
        """What any user might ask."""
        thing = self.rng.choice(THINGS)
        return f"Where is the {thing}, and what colour has the {thing} in room {self.rng.randrange(10**6)}?"

    def track(self) -> object:
        """Say something, under a message id that others have as well."""
        turn = Turn(role="user", content=self.text(), message_id=f"m{self.rng.randrange(1000)}")
        return self.space.track([turn], session=f"s{self.rng.randrange(3)}")

    def relate(self) -> object:
        """Add to the graph, between names that others use too."""
        thing = self.rng.choice(THINGS)
        return self.space.graph.add_relation(f"the {thing}", "located_in", f"room of {self.mark}")

    def put(self) -> object:
        """A store item."""
        return self._store.put((self.name, "rooms"), f"k{self.rng.randrange(20)}", {"content": self.text()})

    def forget(self) -> object:
        """Forget a message."""
        return self.space.forget(messages=f"m{self.rng.randrange(1000)}", confirm=True)

    def leave(self) -> object:
        """Be deleted with everything."""
        return self._memory.delete_user(self.name, confirm=True)


DOORS: dict[str, tuple[float, Callable[[User], object]]] = {
    "track": (20, User.track),
    "save": (8, lambda user: user.space.knowledge.save(user.text(), category="rooms")),
    "note": (3, lambda user: user.space.documents.append("memory/rooms.md", f"{user.text()}\n\n")),
    "summarise": (3, lambda user: user.space.archive.write(f"t{user.rng.randrange(50)}", summary=user.text())),
    "relate": (6, User.relate),
    "store put": (8, User.put),
    "recall": (15, lambda user: user.space.recall(user.question(), session="r", threshold=0.0)),
    "search": (6, lambda user: user.space.search(user.question())),
    "knowledge": (5, lambda user: user.space.knowledge.search(user.question())),
    "archive": (3, lambda user: user.space.archive.search(user.question())),
    "documents": (3, lambda user: user.space.documents.search(user.question())),
    "drawers": (3, lambda user: user.space.drawers(session="s1")),
    "receipts": (2, lambda user: user.space.receipts(limit=2)),
    "entities": (3, lambda user: user.space.graph.entities()),
    "timeline": (3, lambda user: user.space.graph.timeline("the kettle")),
    "store search": (5, lambda user: user._store.search((user.name,), query=user.question())),
    "store get": (2, lambda user: user._store.get((user.name, "rooms"), f"k{user.rng.randrange(20)}")),
    "prompt": (1, lambda user: user.space.prompt_block()),
    "forget": (2, User.forget),
    "dream": (0.5, lambda user: user.space.dream()),
    "leave": (0.1, User.leave),
}
"""Each way in or out, with how often it is used."""


def use(memory: Memory, chosen: Namespace, stopped: threading.Event) -> tuple[int, int, list[str]]:
    """Random operations of random users: how many, how many could not be done, and what was shown that is foreign."""
    rng, refused, foreign, done = random.Random(chosen.seed), Counter[str](), [], 0
    names, weights = [*DOORS], [weight for weight, _ in DOORS.values()]
    for done in takewhile(lambda _: not stopped.is_set(), range(1, chosen.operations + 1)):
        user = User(memory, rng.randrange(chosen.users), rng)
        (door,) = rng.choices(names, weights)
        try:
            shown = repr(DOORS[door][1](user))
        except (InvalidInput, LookupError, OSError) as error:
            refused[f"{door}: {type(error).__name__}"] += 1
            shown = str(error)
        if others := set(MARK.findall(shown)) - {user.mark}:
            foreign.append(f"{door} of {user.name} shows {others}")
        if done % 500 == 0:
            say(f"{done} operations")
    for each, count in refused.items():
        say(f"{count} times {each}")
    return done, refused.total(), foreign


def foreign_rows(superuser: str) -> tuple[int, int]:
    """How many rows hold a mark, and how many of them another one than that of their space."""
    marked = foreign = 0
    with psycopg.connect(superuser) as connection:
        named = "SELECT table_name FROM information_schema.columns WHERE table_schema = %s AND column_name = 'space'"
        for (table,) in connection.execute(named, ["langmem_tiers"]).fetchall():
            wanted = f"SELECT space, one::text FROM ONLY langmem_tiers.{table} AS one WHERE one::text ~ 'kanari'"
            for space, row in connection.execute(wanted):
                marked += 1
                if set(MARK.findall(row)) != {f"kanari{space.removeprefix('users/user')}q"}:
                    foreign += 1
                    say(f"{table} of {space}: {row}")
    return marked, foreign


def vectors_off(memory: Memory) -> int:
    """Vectors that Chroma has too many or too few, in all spaces."""
    off = 0
    for name in memory.spaces():
        with memory.space(name).context.open() as store:
            off += sum(sum(each.off() or (0, 0)) for each in store.shelves)
    return off


def main() -> int:
    arguments = parser(__doc__ or "", "server_isolation")
    arguments.add_argument("--operations", type=int, default=50_000)
    arguments.add_argument("--users", type=int, default=200)
    arguments.add_argument("--processes", type=int, default=8)
    arguments.add_argument("--at", nargs=2, metavar=("POSTGRES", "CHROMA"), help=SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.at:
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        with opened(*chosen.at, background=True) as memory:
            done, refused, foreign = use(memory, chosen, stopped)
        print(done, refused, *foreign, sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the servers end with it
    with ExitStack() as last_to_first:
        postgres = servers.Postgres()
        last_to_first.callback(postgres.remove)
        chroma = servers.Chroma()
        last_to_first.callback(chroma.remove)
        at = (postgres.address(), chroma.address)
        with opened(*at) as memory:
            began = perf_counter()
            told = _of_processes(chosen, at)
            seconds = perf_counter() - began
            memory.worker(2)
            for name in memory.spaces():
                memory.space(name).flush()
            off = vectors_off(memory)
        marked, foreign = foreign_rows(postgres.address("postgres", servers.OWNER))
    shown = [line for _, _, *lines in told for line in lines]
    for line in shown:
        say(line)
    row = {
        "operations": sum(int(done) for done, *_ in told),
        "users": chosen.users,
        "processes": chosen.processes,
        "not done": sum(int(refused) for _, refused, *_ in told),
        "foreign answers": len(shown),
        "rows with a mark": marked,
        "foreign rows": foreign,
        "vectors off": off,
        "seconds": seconds,
    }
    report("Random use by many users through several processes on servers", [row], chosen.out)
    return int(bool(shown or foreign or off or not marked))


def _of_processes(chosen: Namespace, at: tuple[str, str]) -> list[list[str]]:
    """The lines of all processes that did the operations."""
    command = [sys.executable, __file__, "--at", *at, "--users", str(chosen.users)]
    command += ["--operations", str(chosen.operations // chosen.processes)]
    running = [
        subprocess.Popen([*command, "--seed", str(chosen.seed * 100 + number)], stdout=subprocess.PIPE, text=True)
        for number in range(chosen.processes)
    ]
    told = [each.communicate()[0].splitlines() for each in running]
    if any(each.returncode for each in running):
        raise SystemExit("A process ended with an error that is none of the memory's.")
    return told


if __name__ == "__main__":
    sys.exit(main())
