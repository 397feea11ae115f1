"""What a network between a memory and its servers costs: trips of each call, and its time when each takes longer.

Sessions of LongMemEval haystacks become the memory of one user on a PostgreSQL and a Chroma server that are started.
The questions of the file are asked, turns are told and the background visits for one of these, through relays that hold
back every answer, in turns. A relay itself costs time: compare with the one that holds nothing back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

from recall_of_conversations import read, tell
from reporting import Row, parser, report, say

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory, Space, Turn
from langmem_tiers.bench.scoring import spread
from tests import servers
from tests.relays import Relay

USER = "alice"
WARM_UP = 8
_numbers = count()


@dataclass
class Way:
    """A way to the servers, with what each call through it took: seconds, trips to PostgreSQL and trips to Chroma."""

    name: str
    memory: Memory
    relays: Sequence[Relay]
    took: dict[str, list[tuple[float, int, int]]] = field(default_factory=dict)

    def note(self, what: str, call: Callable[[], object]) -> None:
        """Note what a call took."""
        before, began = [relay.trips for relay in self.relays], perf_counter()
        call()
        spent = perf_counter() - began
        trips = [relay.trips - so_far for relay, so_far in zip(self.relays, before, strict=True)]
        self.took.setdefault(what, []).append((spent, *trips))


def main() -> None:
    arguments = parser(__doc__ or "", "server_network")
    arguments.add_argument("--data", type=Path, required=True, help="a LongMemEval file")
    arguments.add_argument("--messages", type=int, default=600)
    arguments.add_argument("--rounds", type=int, default=60, help="questions, and turns")
    arguments.add_argument("--away", type=float, nargs="+", default=[0.0, 1.0], help="milliseconds of a trip")
    chosen = arguments.parse_args()
    sessions, questions = read(chosen.data, chosen.messages)
    with ExitStack() as last_to_first:
        postgres = servers.Postgres(durable=True)
        last_to_first.callback(postgres.remove)
        chroma = servers.Chroma()
        last_to_first.callback(chroma.remove)
        with Memory.open(postgres.address(), chroma=chroma.address, background=False) as memory:
            user = memory.user(USER)
            say(f"storing {sum(len(each.messages) for each in sessions):,} messages")
            tell(user, sessions)
            for place in range(len(sessions)):
                user.end_session(f"s{place}")
            memory.flush()
        ways: list[Way] = []
        for away in chosen.away:
            both = [
                last_to_first.enter_context(closing(Relay(address, delay=away / 1000)))
                for address in (postgres.address(), chroma.address)
            ]
            opened = Memory.open(both[0].address, chroma=both[1].address, background=False)
            ways.append(Way(f"{away:g} ms away", last_to_first.enter_context(opened), both))
        say("asking and telling")
        for place, question in enumerate(questions[: WARM_UP + chosen.rounds]):
            for way in ways:
                turn(way, question, place)
    report("A memory and its servers with a network between", [row for way in ways for row in rows(way)], chosen.out)


def turn(way: Way, question: str, place: int) -> None:
    """A question, a turn that is told, and a visit of the background."""
    user: Space = way.memory.user(USER)
    said = Turn(role="user", content=f"My boat number {next(_numbers)} lies at pier {place % 9}.")
    way.note("recall", lambda: user.recall(question, session=f"{way.name} {place}"))
    way.note("track", lambda: user.track([said], session=f"{way.name} told {place}"))
    way.note("visit of the background", user.flush)


def rows(way: Way) -> list[Row]:
    """By call: time, and trips to each server."""
    found: list[Row] = []
    for what, each in way.took.items():
        seconds, to_postgres, to_chroma = zip(*each[WARM_UP:], strict=True)
        times = spread(seconds)
        trips = {"trips to PostgreSQL": median(to_postgres), "most": max(to_postgres), "to Chroma": median(to_chroma)}
        found.append(
            {"servers": way.name, "call": what, "p50 ms": times.p50 * 1000, "p95 ms": times.p95 * 1000, **trips}
        )
    return found


if __name__ == "__main__":
    main()
