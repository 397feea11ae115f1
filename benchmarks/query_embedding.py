"""One query embedding, ours beside Chroma's default function: the same model files, and the same vectors."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from reporting import parser, report

from langmem_tiers.models.minilm import MiniLM

QUERIES = (
    "Where does my sister live?",
    "What did I say about the battery of the old boat last autumn?",
    "Who is coming to the party on Saturday, and who is not?",
)


def main() -> None:
    arguments = parser(__doc__ or "", "query_embedding")
    arguments.add_argument("--rounds", type=int, default=20, help="the median counts")
    chosen = arguments.parse_args()
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    ours, theirs = MiniLM(), ONNXMiniLM_L6_V2()
    rows = [row(query, ours.embed_query, lambda text: theirs([text])[0], chosen.rounds) for query in QUERIES]
    report("One query embedding", rows, chosen.out)


def row(query: str, ours: Callable[[str], Any], theirs: Callable[[str], Any], rounds: int) -> dict[str, float | str]:
    difference = float(np.abs(np.asarray(ours(query)) - np.asarray(theirs(query))).max())
    mine, other = milliseconds(ours, query, rounds), milliseconds(theirs, query, rounds)
    return {
        "query": query[:30],
        "ours p50 ms": mine,
        "Chroma's p50 ms": other,
        "ours / Chroma's": mine / other,
        "largest difference, 1e-6": difference * 1e6,
    }


def milliseconds(embed: Callable[[str], Any], query: str, rounds: int) -> float:
    spent = []
    for _ in range(rounds):
        started = perf_counter()
        embed(query)
        spent.append((perf_counter() - started) * 1000)
    return median(spent)


if __name__ == "__main__":
    main()
