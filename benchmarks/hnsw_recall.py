"""Chroma's recall@10 against exact search, on vectors of real messages, by size and parameters of its index.

The vectors come from a NumPy file, or are made with MiniLM of the distinct messages of users and assistants in
LongMemEval's haystacks and of all speakers in LoCoMo's conversations. The questions are messages that are not in the
index, so there is nothing to find that is equal to them. Sizes beyond the number of vectors are left out: nothing is
made up.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reporting import Row, parser, report, say

from langmem_tiers.models.minilm import MiniLM

Vectors = NDArray[np.float32]
NEAREST = 10
ADDED_AT_ONCE = 1000


def main() -> None:
    arguments = parser(__doc__ or "", "hnsw_recall")
    arguments.add_argument("--vectors", type=Path, default=None, help="a .npy file; it is written if it is not there")
    arguments.add_argument("--longmemeval", type=Path, default=None, help="gzipped lines of its questions")
    arguments.add_argument("--locomo", type=Path, default=None, help="its JSON file")
    arguments.add_argument("--sizes", type=int, nargs="+", default=[1_000, 5_000, 10_000, 20_000, 40_000])
    arguments.add_argument("--construction", type=int, nargs="+", default=[100, 200])
    arguments.add_argument("--neighbours", type=int, nargs="+", default=[16, 32])
    arguments.add_argument("--search", type=int, nargs="+", default=[10, 100, 200])
    arguments.add_argument("--questions", type=int, default=300)
    chosen = arguments.parse_args()
    vectors = np.load(chosen.vectors) if chosen.vectors and chosen.vectors.exists() else made(chosen)
    asked, held = vectors[: chosen.questions], vectors[chosen.questions :]
    rows = [
        row(held[:size], asked, construction, neighbours, search)
        for size in chosen.sizes
        if size <= len(held)
        for construction, neighbours, search in product(chosen.construction, chosen.neighbours, chosen.search)
    ]
    report(f"Chroma's recall@{NEAREST} against exact search", rows, chosen.out)


def made(chosen: Any) -> Vectors:
    texts = [*dict.fromkeys(messages(chosen.longmemeval, chosen.locomo))]
    some = np.random.default_rng(chosen.seed).permutation(len(texts))[: max(chosen.sizes) + chosen.questions]
    say(f"embedding {len(some):,} of {len(texts):,} messages")
    model = MiniLM()
    model.prepare()
    vectors = model.embed_documents([texts[place] for place in some])
    if chosen.vectors:
        np.save(chosen.vectors, vectors)
    return vectors


def messages(longmemeval: Path | None, locomo: Path | None) -> Iterator[str]:
    if longmemeval:
        with gzip.open(longmemeval, "rt", encoding="utf-8") as lines:
            for line in lines:
                for session in json.loads(line)["haystack_sessions"]:
                    yield from (turn["content"] for turn in session)
    if locomo:
        for conversation in json.loads(locomo.read_text(encoding="utf-8")):
            for session in conversation["conversation"].values():
                yield from (turn["text"] for turn in session if isinstance(session, list))


def row(held: Vectors, asked: Vectors, construction: int, neighbours: int, search: int) -> Row:
    parameters = {"space": "cosine", "ef_construction": construction, "max_neighbors": neighbours, "ef_search": search}
    say(f"{len(held):,} vectors, {parameters}")
    folder = mkdtemp()
    try:
        collection, building = built(Path(folder), held, parameters)
        found, spent = [], []
        for query in asked:
            started = perf_counter()
            answer = collection.query(query_embeddings=[query], n_results=NEAREST, include=[])
            spent.append((perf_counter() - started) * 1000)
            found.append({int(name) for name in answer["ids"][0]})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    recalls = [len(one & other) / NEAREST for one, other in zip(found, exact(held, asked), strict=True)]
    return {
        "vectors": len(held),
        "ef_construction": construction,
        "M": neighbours,
        "ef_search": search,
        "recall@10 %": 100 * float(np.mean(recalls)),
        "worst question %": 100 * min(recalls),
        "built, vectors/s": len(held) / building,
        "asked p50 ms": float(np.median(spent)),
    }


def built(folder: Path, held: Vectors, parameters: dict[str, Any]) -> tuple[Any, float]:
    """The collection with these vectors, and the seconds it took to make it."""
    import chromadb

    client = chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))
    configuration: Any = {"hnsw": parameters}
    collection = client.create_collection("vectors", embedding_function=None, configuration=configuration)
    started = perf_counter()
    for first in range(0, len(held), ADDED_AT_ONCE):
        some = held[first : first + ADDED_AT_ONCE]
        collection.add(ids=[str(number) for number in range(first, first + len(some))], embeddings=some)
    return collection, perf_counter() - started


def exact(held: Vectors, asked: Vectors) -> Sequence[set[int]]:
    return [set(np.argsort(-(held @ query), kind="stable")[:NEAREST].tolist()) for query in asked]


if __name__ == "__main__":
    main()
