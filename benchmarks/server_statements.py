"""What a recall costs on servers: processor time of the process, Chroma and PostgreSQL, and each statement's time.

Starts servers of its own, with PostgreSQL's extension pg_stat_statements. That tells the time of making and running
plans by the clock, without what comes before and after. One client asks users in turns, who were asked before.
"""

from __future__ import annotations

import os
import random
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psycopg
from engines import Place, fill
from processor_time import processor_seconds
from reporting import Row, parser, report, say
from texts import question

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Space
from langmem_tiers.naming import user_space
from tests import servers

EXTENSION = "pg_stat_statements"
# Characters of a statement that are told.
_LONGEST = 90
# Calls of each user before it is measured: from the sixth on, the driver has prepared a statement on a connection.
_BEFORE = 8


class Spent(NamedTuple):
    """What a statement has taken so far."""

    calls: int = 0
    rows: int = 0
    milliseconds: float = 0.0

    def since(self, before: Spent) -> Spent:
        """What it has taken since then."""
        return Spent(*(late - early for late, early in zip(self, before, strict=True)))


def main() -> None:
    arguments = parser(__doc__ or "", "server_statements")
    arguments.add_argument("--users", type=int, default=8)
    arguments.add_argument("--drawers", type=int, default=5_000, help="of each user")
    arguments.add_argument("--turns", type=int, default=200, help="recalls")
    chosen = arguments.parse_args()
    settings = [f"shared_preload_libraries={EXTENSION}", f"{EXTENSION}.track_planning=on"]
    with ExitStack() as last_to_first:
        postgres = servers.Postgres(settings=settings)
        last_to_first.callback(postgres.remove)
        chroma = servers.Chroma()
        last_to_first.callback(chroma.remove)
        postgres.as_superuser(f"CREATE EXTENSION {EXTENSION}", database=servers.OWNER)
        place = Place(name="servers", address=postgres.address(), chroma=chroma.address)
        say(f"{chosen.users:,} users of {chosen.drawers:,} drawers")
        fill(place, chosen.users, chosen)
        postgres.as_superuser("ANALYZE", database=servers.OWNER)  # as it does by itself within a minute or two
        processes = {"process": os.getpid(), "Chroma server": chroma.process, "PostgreSQL server": postgres.process}
        report("A recall on servers", measure(place, processes, chosen), chosen.out)


def measure(place: Place, processes: Mapping[str, int], chosen: Namespace) -> list[Row]:
    """Processor time, then the statements that most recalls make, by their time."""
    rng = random.Random(chosen.seed)
    with place.open() as memory, psycopg.connect(place.address, autocommit=True) as connection:
        spaces = [memory.space(user_space(user)) for user in range(chosen.users)]
        ask(spaces, rng, chosen.users * _BEFORE)
        before = spent(connection, processes)
        ask(spaces, rng, chosen.turns)
        after = spent(connection, processes)
    took = {what: each.since(before.get(what, Spent())) for what, each in after.items()}
    often = [what for what, each in took.items() if what not in processes and each.calls * 3 >= chosen.turns]
    by_time = sorted(often, key=lambda what: -took[what].milliseconds)
    return [row(what, took[what], chosen.turns) for what in (*processes, *by_time)]


def ask(spaces: list[Space], rng: random.Random, times: int) -> None:
    """Have questions answered, each user's in turn."""
    for number in range(times):
        spaces[number % len(spaces)].recall(question(rng), session=f"s{rng.randrange(10**9)}")


def spent(connection: psycopg.Connection, processes: Mapping[str, int]) -> dict[str, Spent]:
    """What each process and each statement has taken."""
    taken = {name: Spent(milliseconds=processor_seconds(process) * 1000) for name, process in processes.items()}
    rows = connection.execute(f"SELECT query, calls, rows, total_plan_time + total_exec_time FROM {EXTENSION}")
    return taken | {" ".join(text.split()): Spent(*each) for text, *each in rows}


def row(what: str, taken: Spent, recalls: int) -> Row:
    """What was taken for a recall."""
    each = {"times": taken.calls / recalls, "rows": taken.rows / recalls, "ms": taken.milliseconds / recalls}
    return {"a recall": what[:_LONGEST], **each}


if __name__ == "__main__":
    main()
