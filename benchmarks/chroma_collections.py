"""How a Chroma server holds the vectors of many spaces.

Each space has a collection of its own, or all have one that a filter divides, or some share one where each is apart, as
in the package.

Needs a server of its own, such as `chroma run --path FOLDER --port 8000`: its memory and open files are measured too
(`--process`).
The vectors are random: only times are told here, and those hardly depend on what is near to what.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter, time_ns
from typing import Any, Literal

import chromadb
import numpy as np
from chromadb.config import Settings
from numpy.typing import NDArray
from reporting import Row, parser, report, say

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers.storage.shared_collection import SPACES, seated

Vectors = NDArray[np.float32]
Way = Literal["own", "filtered", "apart"]

LENGTH = 384
WANTED = 120
WAYS: tuple[Way, ...] = ("own", "filtered", "apart")


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
        for way in WAYS:
            say(f"{spaces} spaces, {way}")
            rows.append(_measured(client, random, spaces, given, way))
    report("Spaces on a Chroma server", rows, given.out)


def _measured(client: Any, random: np.random.Generator, spaces: int, given: Any, way: Way) -> Row:
    before = _resident(given.process)
    began = perf_counter()
    sharing = {"own": 1, "filtered": spaces, "apart": SPACES}[way]
    made = [_collection(client) for _ in range(0, spaces, sharing)]
    for space in range(spaces):
        names = [f"{space}.{number}" for number in range(given.vectors)]
        for start in range(0, given.vectors, 1000):
            ids = names[start : start + 1000]
            some = _placed(_vectors(random, len(ids)), space, way)
            made[space // sharing].add(ids=ids, embeddings=[*some], metadatas=[{"space": space}] * len(ids))
    filled = perf_counter() - began
    times = []
    for space in random.integers(0, spaces, given.questions).tolist():
        where: dict[str, Any] = {"where": {"space": space}} if way == "filtered" else {}
        asked = [*_placed(_vectors(random, 1), space, way)]
        began = perf_counter()
        made[space // sharing].query(query_embeddings=asked, n_results=WANTED, include=[], **where)
        times.append((perf_counter() - began) * 1000)
    row: dict[str, float | int | str] = {
        "spaces": spaces,
        "vectors in each": given.vectors,
        "collections": len(made),
        "way": way,
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
    configuration = {"hnsw": {"space": "cosine", "ef_search": 200, "ef_construction": 200}}
    return client.create_collection(f"bench-{time_ns()}", embedding_function=None, configuration=configuration)


def _placed(vectors: Vectors, space: int, way: Way) -> Vectors:
    return seated(vectors, space % SPACES) if way == "apart" else vectors


def _vectors(random: np.random.Generator, count: int) -> Vectors:
    made = random.standard_normal((count, LENGTH)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


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
