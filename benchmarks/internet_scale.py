"""What a memory on servers takes for ten thousand, a million and a hundred million users: computed, not tried.

    python benchmarks/internet_scale.py

computes from the figures of `MEASURED`. What they are on your servers is measured into a schema of its own by

    python benchmarks/internet_scale.py --measure postgresql://user@host/database?schema=scale \
        --chroma http://host:8000 --chroma-folder FOLDER --chroma-process PID --postgres-process PID

Prices and limits are assumptions of the table, each an argument.
"""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from time import process_time

from reporting import Row, parser, report, say
from texts import sessions

from langmem_tiers import Memory
from langmem_tiers.testing import HashEmbedder

YEAR = 365 * 86_400
LENGTH = 384
SPACES_A_COLLECTION = 8
USERS = (10_000, 1_000_000, 100_000_000)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one message takes on the servers, once all background work on it is done."""

    rows: float
    record_bytes: float
    """In PostgreSQL, with indexes."""
    vectors: float
    vector_disk_bytes: float
    """Of one vector in Chroma's folder."""
    vector_memory_bytes: float
    """Of one vector while its collection is in memory; by `chroma_collections.py`, as the next one."""
    collection_memory_bytes: float
    """Of one collection besides."""
    our_ms: float
    """Of processor time in web process and worker, with a recall for every second message, without any model."""
    postgres_ms: float
    chroma_ms: float


MEASURED = Figures(
    rows=20.8,
    record_bytes=8_100.0,
    vectors=1.25,
    vector_disk_bytes=3500.0,
    vector_memory_bytes=2_000.0,
    collection_memory_bytes=3_000_000.0,
    our_ms=17.7,
    postgres_ms=6.46,
    chroma_ms=2.54,
)


def main() -> None:
    given = _arguments()
    if given.measure:
        found = _measured(given)
        report("One message on servers", [asdict(found)], given.out)
        return
    rows = [_scaled(users, MEASURED, given) for users in USERS]
    report(f"A year of {given.messages:,} messages for each user", rows, given.out)


def _arguments() -> Namespace:
    made = parser(__doc__ or "", "internet_scale")
    made.add_argument("--messages", type=int, default=2_000, help="of a user in a year")
    made.add_argument(
        "--peak", type=float, default=4.0, help="messages in the busiest second, by those of an average one"
    )
    made.add_argument(
        "--active", type=float, default=0.1, help="share of spaces used since Chroma last let go of collections"
    )
    made.add_argument("--process-connections", type=int, default=8)
    made.add_argument("--process-load", type=float, default=0.5, help="share of a core that a process uses at the peak")
    made.add_argument("--database-terabytes", type=float, default=2.0, help="that one database is to hold at most")
    made.add_argument("--database-connections", type=int, default=500)
    made.add_argument("--database-cores", type=int, default=32)
    made.add_argument("--chroma-gigabytes", type=float, default=64.0, help="of memory of one Chroma server")
    made.add_argument("--chroma-cores", type=int, default=16)
    made.add_argument("--price-terabyte", type=float, default=120.0, help="of disk, dollars a month")
    made.add_argument("--price-gigabyte", type=float, default=4.0, help="of memory, dollars a month")
    made.add_argument("--price-core", type=float, default=25.0, help="dollars a month")
    made.add_argument("--measure", metavar="ADDRESS", help="measure with this database instead")
    made.add_argument("--spaces", type=int, default=200)
    made.add_argument("--space-messages", type=int, default=20)
    made.add_argument("--chroma")
    made.add_argument("--chroma-folder", type=Path)
    made.add_argument("--chroma-process", type=int)
    made.add_argument("--postgres-process", type=int)
    given = made.parse_args()
    servers = (given.chroma, given.chroma_folder, given.chroma_process, given.postgres_process)
    if given.measure and None in servers:
        made.error("--measure needs --chroma, --chroma-folder, --chroma-process and --postgres-process")
    return given


def _scaled(users: int, one: Figures, given: Namespace) -> Row:
    """What so many users take after a year, and which limit of a single server comes first."""
    messages = users * given.messages
    peak = messages / YEAR * given.peak
    vectors = messages * one.vectors
    records, disk = messages * one.record_bytes / 1e12, vectors * one.vector_disk_bytes / 1e12
    # A collection is in memory as soon as one of its spaces is used; messages and notes have one each.
    loaded = 1 - (1 - given.active) ** SPACES_A_COLLECTION
    collections = 2 * users / SPACES_A_COLLECTION
    memory = loaded * (vectors * one.vector_memory_bytes + collections * one.collection_memory_bytes) / 1e9
    ours, database, chroma = (peak * each / 1000 for each in (one.our_ms, one.postgres_ms, one.chroma_ms))
    processes = max(2, ceil(ours / given.process_load))
    used = {
        "records": records / given.database_terabytes,
        "connections": processes * given.process_connections / given.database_connections,
        "database cores": database / given.database_cores,
        "Chroma memory": memory / given.chroma_gigabytes,
        "Chroma cores": chroma / given.chroma_cores,
    }
    first = max(used, key=lambda each: used[each])
    databases = max(1, ceil(max(used["records"], used["database cores"])))
    # A process has connections to every database, so each database has some of every process.
    connections = processes * given.process_connections * databases
    servers = max(1, ceil(max(used["Chroma memory"], used["Chroma cores"])))
    # In PostgreSQL's memory, what was said in the last month.
    room = memory + records * 1000 / 12
    price = (records + disk) * given.price_terabyte + room * given.price_gigabyte
    price += (processes + ceil(database) + ceil(chroma)) * given.price_core
    return {
        "users": users,
        "rows (million)": round(messages * one.rows / 1e6),
        "records TB": records,
        "vectors (million)": round(vectors / 1e6),
        "Chroma disk TB": disk,
        "Chroma memory GB": memory,
        "messages/s at peak": peak,
        "processes": processes,
        "connections": connections,
        "databases": databases,
        "Chroma servers": servers,
        "nearest limit": f"{first}: {used[first]:.3g} of one",
        "dollars a month": round(price),
    }


def _measured(given: Namespace) -> Figures:
    """What one message takes, by filling a schema."""
    messages = given.spaces * given.space_messages
    embedder = HashEmbedder(LENGTH)
    with Memory.open(given.measure, chroma=given.chroma, embedder=embedder, background=False) as memory:
        took = [_used(given.postgres_process), _used(given.chroma_process), process_time()]
        rows, size = _in_postgres(given.measure)
        disk = _disk(given.chroma_folder)
        for number in range(given.spaces):
            user, first = memory.user(f"u{number}"), number * given.space_messages
            for session, turns in sessions(first, first + given.space_messages, seed=given.seed):
                for turn in turns:
                    if turn.role == "user":
                        user.recall(turn.content, session=session)
                    user.track([turn], session=session)
            if number % 20 == 19:
                say(f"{number + 1} spaces")
                memory.flush()
        memory.flush()
        more_rows, more_size = _in_postgres(given.measure)
        vectors = sum(memory.space(name).stats().vectors for name in memory.spaces())
        ours = process_time() - took[2]
    return replace(
        MEASURED,
        rows=(more_rows - rows) / messages,
        record_bytes=(more_size - size) / messages,
        vectors=vectors / messages,
        vector_disk_bytes=(_disk(given.chroma_folder) - disk) / vectors,
        our_ms=1000 * ours / messages,
        postgres_ms=1000 * (_used(given.postgres_process) - took[0]) / messages,
        chroma_ms=1000 * (_used(given.chroma_process) - took[1]) / messages,
    )


def _in_postgres(address: str) -> tuple[int, int]:
    """The rows and the bytes of a schema."""
    import psycopg

    url, _, schema = address.partition("?schema=")
    with psycopg.connect(url, autocommit=True) as connection:

        def total(what: str) -> int:
            found = connection.execute(
                f"SELECT coalesce(sum({what}), 0)::bigint FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = %s::regnamespace",
                [schema or "langmem_tiers"],
            ).fetchone()
            return 0 if found is None else int(found[0])

        connection.execute("ANALYZE")
        return total("greatest(reltuples, 0)"), total("pg_total_relation_size(oid)")


def _disk(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _used(process: int) -> float:
    """Seconds of processor time of a process and all that it started."""
    ticks = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if process in {int(stat.parent.name), int(fields[1])}:
            own = stat.parent.name == str(process)
            ticks += sum(map(int, fields[11:15] if own else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
