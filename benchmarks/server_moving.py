"""Moving a memory of many users from a folder to servers and back, and how long its vectors take to be in Chroma.

Starts servers of its own. `--work` names a folder that `engines.py` has filled, with as many users and drawers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from engines import Place, fill
from processor_time import processor_seconds
from reporting import Row, parser, report, say

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory
from langmem_tiers.moving import move
from tests import servers


def main() -> None:
    arguments = parser(__doc__ or "", "server_moving")
    arguments.add_argument("--users", type=int, default=40)
    arguments.add_argument("--drawers", type=int, default=1_000, help="of each user")
    arguments.add_argument("--work", type=Path, default=None, help="folder of the memory, kept for the next run")
    chosen = arguments.parse_args()
    with ExitStack() as last_to_first:
        scratch = Path(last_to_first.enter_context(TemporaryDirectory()))
        postgres, chroma = servers.Postgres(durable=True), servers.Chroma()
        last_to_first.callback(postgres.remove)
        last_to_first.callback(chroma.remove)
        folder = Place(name="folder", address=str(chosen.work or scratch / "memory"))
        there = Place(name="servers", address=postgres.address(), chroma=chroma.address)
        say(f"{chosen.users:,} users of {chosen.drawers:,} drawers")
        fill(folder, chosen.users, chosen)

        def spent() -> dict[str, float]:
            others = {"PostgreSQL": postgres.process, "Chroma": chroma.process}
            return {"here": process_time()} | {name: processor_seconds(each) for name, each in others.items()}

        def timed(what: str, unit: str, act: Callable[[], int]) -> Row:
            say(what)
            before = spent()
            started = perf_counter()
            count = act()
            seconds = perf_counter() - started
            taken = {f"{name}, processor s": each - before[name] for name, each in spent().items()}
            return {"what": what, "of": unit, "count": count, "seconds": seconds, "a second": count / seconds, **taken}

        rows = [
            timed("to servers", "rows", lambda: moved(folder.address, there.address)),
            timed("into Chroma", "vectors", lambda: sent(there)),
            timed("to a folder", "rows", lambda: moved(there.address, str(scratch / "back"))),
        ]
        report("Moving", rows, chosen.out)


def moved(source: str, target: str) -> int:
    """Move a memory, as the command does; how many rows."""
    idle = {"embedder": None, "background": False}
    with Memory.open(source, **idle) as old, Memory.open(target, **idle) as new:
        return sum(move(old, new).rows.values())


def sent(place: Place) -> int:
    """Have all vectors sent to Chroma by this process; how many."""
    with place.open() as memory:
        spaces = [memory.space(name) for name in memory.spaces()]
        for space in spaces:
            if not space.flush():
                raise SystemExit(f"Of {space.name} not all was sent: see the warning above.")
        return sum(space.stats().vectors for space in spaces)


if __name__ == "__main__":
    main()
