"""How a Chroma server holds the vectors of many spaces: a collection for each, or one that a filter divides.

Needs a server of its own, such as `chroma run --path FOLDER --port 8000`: its memory and open files are measured too
(`--process`).
The vectors are random: only times are told here, and those hardly depend on what is near to what.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, time_ns
from typing import Any

import chromadb
import numpy as np
from chromadb.config import Settings
from reporting import Row, parser, report, say

LENGTH = 384
WANTED = 60


def main() -> None:
    arguments = parser(__doc__ or "", "chroma_collections")
    arguments.add_argument("--host", default="127.0.0.1")
    arguments.add_argument("--port", type=int, default=8000)
    arguments.add_argument(
        "--process", type=int, default=None, help="the server's process id, for its memory and files"
    )
    arguments.add_argument("--spaces", type=int, nargs="+", default=[5, 50])
    arguments.add_argument("--vectors", type=int, default=1000, help="in each space")
    arguments.add_argument("--questions", type=int, default=50)
    given = arguments.parse_args()
    client = chromadb.HttpClient(given.host, given.port, settings=Settings(anonymized_telemetry=False))
    random = np.random.default_rng(given.seed)
    rows: list[Row] = []
    for spaces in given.spaces:
        for shared in (False, True):
            say(f"{spaces} spaces, {'shared' if shared else 'one collection each'}")
            rows.append(_measured(client, random, spaces, given, shared=shared))
    report("Spaces on a Chroma server", rows, given.out)


def _measured(client: Any, random: np.random.Generator, spaces: int, given: Any, *, shared: bool) -> Row:
    before = _resident(given.process)
    began = perf_counter()
    made = [_collection(client) for _ in range(1 if shared else spaces)]
    for space in range(spaces):
        held = made[0 if shared else space]
        names = [f"{space}.{number}" for number in range(given.vectors)]
        for start in range(0, given.vectors, 1000):
            ids = names[start : start + 1000]
            held.add(ids=ids, embeddings=_vectors(random, len(ids)), metadatas=[{"space": space}] * len(ids))
    filled = perf_counter() - began
    times = []
    for space in random.integers(0, spaces, given.questions).tolist():
        where: dict[str, Any] = {"where": {"space": space}} if shared else {}
        began = perf_counter()
        made[0 if shared else space].query(query_embeddings=_vectors(random, 1), n_results=WANTED, include=[], **where)
        times.append((perf_counter() - began) * 1000)
    row: dict[str, float | int | str] = {
        "spaces": spaces,
        "vectors in each": given.vectors,
        "collections": len(made),
        "filled ms a vector": filled * 1000 / spaces / given.vectors,
        "query p50 ms": float(np.percentile(times, 50)),
        "query p95 ms": float(np.percentile(times, 95)),
        "server MB more": _resident(given.process) - before,
        "server's open files": _open_files(given.process),
    }
    for each in made:
        client.delete_collection(each.name)
    return row


def _collection(client: Any) -> Any:
    configuration = {"hnsw": {"space": "cosine", "ef_search": 200}}
    return client.create_collection(f"bench-{time_ns()}", embedding_function=None, configuration=configuration)


def _vectors(random: np.random.Generator, count: int) -> Sequence[Any]:
    made = random.standard_normal((count, LENGTH)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)  # type: ignore[no-any-return]


def _resident(process: int | None) -> float:
    """Megabytes of memory that a process takes; 0 where nobody asks."""
    if process is None:
        return 0.0
    told = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in told.splitlines() if line.startswith("VmRSS"))) / 1024


def _open_files(process: int | None) -> int:
    """How many files a process has open; 0 where nobody asks."""
    return 0 if process is None else len(list(Path(f"/proc/{process}/fd").iterdir()))


if __name__ == "__main__":
    main()
