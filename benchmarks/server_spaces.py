"""What the other users of a memory on servers cost one: few spaces beside many, and beside one of very many messages.

Starts servers of its own, with two databases: one with few spaces, whose messages are tracked and embedded, and one in
which each of them has been copied, by SQL, until there are many. The same users are asked in both, in turns, by one
client: a question is embedded, which is the unit, recalled, and tracked with a reply; then a worker claims a space. The
copies are all due for that. Their vectors are among the records only: no more collections are in Chroma.
"""

from __future__ import annotations

import random
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import psycopg
from engines import Place, fill, tell
from reporting import Row, parser, report, say
from texts import message, question

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory, Turn
from langmem_tiers.bench.scoring import spread
from langmem_tiers.naming import user_space
from langmem_tiers.storage.postgres import ddl
from langmem_tiers.storage.postgres.work_queue import Held
from tests import servers

KINDS = ("embedding", "recall", "track", "claim")
LARGE = user_space("large")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Some users of a memory, with what each call took, in milliseconds."""

    name: str
    memory: Memory
    spaces: Sequence[str]
    took: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def turn(self, rng: random.Random, number: int) -> None:
        """One call of each kind."""
        space = self.memory.space(self.spaces[number % len(self.spaces)])
        text, session = question(rng), f"s{rng.randrange(10**9)}"
        turns = [Turn(role="user", content=text), Turn(role="assistant", content=message(rng))]
        with self._timed("embedding"):
            space.context.embedder.inner.embed_query(text)
        with self._timed("recall"):
            space.recall(text, session=session)
        with self._timed("track"):
            space.track(turns, session=session).raise_rejected()
        with self._timed("claim"):
            held = self.memory.backend.queue.take()
        assert held is not None
        self._give_back(held, after=0.0)
        # Done with, so that the next turn has to say again that there is work.
        if held := self.memory.backend.queue.take_this(space.name):
            self._give_back(held, after=None)

    def row(self) -> Row:
        """The figures."""
        unit = spread(self.took["embedding"]).p50
        row: Row = {"asked": self.name, "users asked": len(self.spaces), "embedding p50 ms": unit}
        for kind in KINDS[1:]:
            spent = spread(self.took[kind])
            row |= {f"{kind} p50 ms": spent.p50, f"{kind} p95 ms": spent.p95, f"{kind} / embedding": spent.p50 / unit}
        return row

    def _give_back(self, held: Held, *, after: float | None) -> None:
        held.after = after
        with self.memory.backend.queue.working_on(held):
            pass

    @contextmanager
    def _timed(self, kind: str) -> Iterator[None]:
        started = perf_counter()
        yield
        self.took[kind].append((perf_counter() - started) * 1000)


def main() -> None:
    arguments = parser(__doc__ or "", "server_spaces")
    arguments.add_argument("--spaces", type=int, nargs=2, default=[100, 10_000], help="few and many")
    arguments.add_argument("--drawers", type=int, default=50, help="of each user")
    arguments.add_argument("--large", type=int, default=0, help="drawers of one more user beside the many")
    arguments.add_argument("--asked", type=int, default=40, help="so many users are asked")
    arguments.add_argument("--turns", type=int, default=300, help="of each kind")
    chosen = arguments.parse_args()
    with ExitStack() as last_to_first:
        postgres, chroma = servers.Postgres(durable=True), servers.Chroma()
        last_to_first.callback(postgres.remove)
        last_to_first.callback(chroma.remove)
        few, many = filled(postgres, chroma, chosen)
        small = [user_space(number) for number in range(min(chosen.asked, chosen.spaces[0]))]
        alone, beside = (last_to_first.enter_context(place.open()) for place in (few, many))
        asked = [Asked(name=place.name, memory=each, spaces=small) for place, each in ((few, alone), (many, beside))]
        if chosen.large:
            asked.append(Asked(name=f"the one of {chosen.large:,}", memory=beside, spaces=[LARGE]))
        play(asked, chosen)
        report("Beside other users", [each.row() for each in asked], chosen.out)


def filled(postgres: servers.Postgres, chroma: servers.Chroma, chosen: Namespace) -> tuple[Place, Place]:
    """The two databases."""
    small, large = chosen.spaces
    few, many = (
        Place(name=f"{spaces:,} spaces", address=postgres.address(database=name), chroma=chroma.address)
        for spaces, name in ((small, "few"), (large, "many"))
    )
    postgres.as_superuser(f"CREATE DATABASE few OWNER {servers.OWNER}")
    say(f"{small:,} spaces of {chosen.drawers:,} drawers")
    fill(few, small, chosen)
    postgres.as_superuser(f"CREATE DATABASE many TEMPLATE few OWNER {servers.OWNER}")
    say(f"copied to {large:,}")
    copy(postgres.address("postgres", "many"), large // small - 1)
    if chosen.large:
        say(f"one of {chosen.large:,}")
        with many.open() as memory:
            tell(memory.space(LARGE), range(chosen.large), chosen.seed)
    for database in ("few", "many"):
        postgres.as_superuser("VACUUM ANALYZE", database=database)
    return few, many


def copy(address: str, times: int) -> None:
    """Copy every space so many times, under names of their own, due for background work."""
    order = "-c search_path=langmem_tiers -c session_replication_role=replica"  # all that is referred to is copied, too
    with psycopg.connect(address, options=order) as connection:
        for table in (ddl.spaces, *ddl.tables().values(), *ddl.keyword_tables.values()):
            values = {each.name: f'"{each.name}"' for each in table.columns if each.identity is None}
            values["space"] = "space || '-' || copy"
            if table is ddl.spaces:
                values["work_at"] = "extract(epoch FROM now()) * 1000"
            names = ", ".join(f'"{name}"' for name in values)
            connection.execute(
                f"INSERT INTO {table.name} ({names}) SELECT {', '.join(values.values())} "
                f"FROM {table.name}, generate_series(1, {times}) AS copy"
            )


def play(asked: Sequence[Asked], chosen: Namespace) -> None:
    """Ask all of them in turns, after each space has been opened."""
    rng = random.Random(chosen.seed)
    for each in asked:
        for number in range(2 * len(each.spaces)):
            each.turn(rng, number)
        for took in each.took.values():
            took.clear()
    for number in range(chosen.turns):
        for each in asked if number % 2 else reversed(asked):
            each.turn(rng, number)


if __name__ == "__main__":
    main()
