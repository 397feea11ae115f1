"""Chroma's recall@10 against exact search, on vectors of real messages, by size and parameters of its index.

The vectors come from a NumPy file, or are made with MiniLM of the distinct messages of users and assistants in
LongMemEval's haystacks and of all speakers in LoCoMo's conversations. The questions are messages that are not in the
index, so there is nothing to find that is equal to them. Sizes beyond the number of vectors are left out: nothing is
made up, except where `--made` says by which embedder.

With `--signs`, search in memory is compared beside it: so many vectors with the most signs in common are looked at.

With `--spaces`, a Chroma server of its own is asked as the package asks one: so many spaces of these sizes are in
collections with the parameters in use, each in a seat of its own, and a question is asked of one space. They are filled
in turns, or with `--one-by-one` each before the next, as after a move. With `--same`, so many vectors of each are the
same in all of them, as greetings are and answers from templates; the others are drawn.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from time import perf_counter
from typing import Any

import numpy as np
from embedders import CHOICES, prepared
from numpy.typing import NDArray
from reporting import Row, parser, report, say
from texts import message

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers.language.sentences import sentences
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.storage.chroma_client import ChromaServer, Named
from langmem_tiers.storage.shared_collection import SPACES, seated
from tests import servers

Vectors = NDArray[np.float32]
NEAREST = 10
NAME = "vectors"
ADDED_AT_ONCE = 1000
# What a space adds to a shared collection before it is another one's turn.
ADDED_IN_TURN = 50
# So many vectors a recall asks for.
WANTED = 120


def main() -> None:
    arguments = parser(__doc__ or "", "hnsw_recall")
    arguments.add_argument("--vectors", type=Path, default=None, help="a .npy file; it is written if it is not there")
    arguments.add_argument("--longmemeval", type=Path, default=None, help="gzipped lines of its questions")
    arguments.add_argument("--locomo", type=Path, default=None, help="its JSON file")
    arguments.add_argument("--sentences", action="store_true", help="of the sentences of messages, which are many more")
    arguments.add_argument("--made", choices=CHOICES, default=None, help="vectors of made-up messages instead")
    arguments.add_argument("--spaces", type=int, default=0, help="so many that share collections, of each of the sizes")
    arguments.add_argument("--one-by-one", action="store_true", help="each space is filled before the next")
    arguments.add_argument("--same", type=int, default=0, help="so many vectors of each space are those of all")
    arguments.add_argument("--sizes", type=int, nargs="+", default=[1_000, 5_000, 10_000, 20_000, 40_000])
    arguments.add_argument("--construction", type=int, nargs="*", default=[100, 200])
    arguments.add_argument("--neighbours", type=int, nargs="+", default=[16, 32])
    arguments.add_argument("--search", type=int, nargs="*", default=[10, 100, 200])
    arguments.add_argument("--signs", type=int, nargs="*", default=[], help="so many are compared in memory")
    arguments.add_argument("--questions", type=int, default=300)
    chosen = arguments.parse_args()
    most = max(chosen.sizes) * max(chosen.spaces, 1) + chosen.questions
    vectors = np.load(chosen.vectors) if chosen.vectors and chosen.vectors.exists() else made(chosen, most)
    asked, held = vectors[: chosen.questions], vectors[chosen.questions :]
    if chosen.spaces:
        shared = [
            shared_row(spaces, asked, chosen.one_by_one)
            for size in chosen.sizes
            if (spaces := divided(held, size, chosen))
        ]
        report(f"Recall@{NEAREST} of spaces that share a collection, against exact search", shared, chosen.out)
        return
    sizes = [size for size in chosen.sizes if size <= len(held)]
    if chosen.signs:
        by_signs = [row for size in sizes for row in sign_rows(held[:size], asked, chosen.signs)]
        report(
            f"Recall@{NEAREST} of search in memory by signs", by_signs, chosen.out.with_stem(f"{chosen.out.stem}_signs")
        )
    rows = [
        row
        for size in sizes
        for construction, neighbours in product(chosen.construction, chosen.neighbours)
        for row in rows_of(held[:size], asked, construction, neighbours, chosen.search)
    ]
    if rows:
        report(f"Chroma's recall@{NEAREST} against exact search", rows, chosen.out)


def divided(held: Vectors, size: int, chosen: Any) -> Sequence[Vectors]:
    """The vectors of each space; nothing if there are not enough."""
    if not chosen.same:
        enough = size * chosen.spaces <= len(held)
        return np.split(held[: size * chosen.spaces], chosen.spaces) if enough else []
    if size > len(held):
        return []
    drawn = np.random.default_rng(chosen.seed)
    same, others = held[: chosen.same], held[chosen.same :]
    own = (drawn.choice(len(others), size - len(same), replace=False) for _ in range(chosen.spaces))
    return [np.concatenate([same, others[some]]) for some in own]


def made(chosen: Any, most: int) -> Vectors:
    if chosen.made:
        texts, model = invented(chosen.seed, most), prepared(chosen.made)
    else:
        said = messages(chosen.longmemeval, chosen.locomo)
        texts, model = [*dict.fromkeys(sentences_of(said) if chosen.sentences else said)], MiniLM()
        model.prepare()
    some = np.random.default_rng(chosen.seed).permutation(len(texts))[:most]
    say(f"embedding {len(some):,} of {len(texts):,} messages")
    vectors = model.embed_documents([texts[place] for place in some])
    if chosen.vectors:
        np.save(chosen.vectors, vectors)
    return vectors


def invented(seed: int, most: int) -> list[str]:
    rng = random.Random(seed)
    return [message(rng) for _ in range(most)]


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


def sentences_of(said: Iterable[str]) -> Iterator[str]:
    """Of what was said, each once, sentences that say something and are no lists or code."""
    for text in dict.fromkeys(said):
        yield from (each.text for each in sentences(text) if 20 <= len(each.text) <= 400)


def rows_of(
    held: Vectors, asked: Vectors, construction: int, neighbours: int, searches: Sequence[int]
) -> Iterator[Row]:
    """One index, asked with each of these values of `ef_search`."""
    parameters = {"space": "cosine", "ef_construction": construction, "max_neighbors": neighbours}
    say(f"{len(held):,} vectors, {parameters}")
    nearest = exact(held, asked)
    folder = mkdtemp()
    try:
        building = build(folder, held, parameters)
        for search in searches:
            collection = searched_with(folder, search)
            found, spent = [], []
            for query in asked:
                started = perf_counter()
                answer = collection.query(query_embeddings=[query], n_results=NEAREST, include=[])
                spent.append((perf_counter() - started) * 1000)
                found.append({int(name) for name in answer["ids"][0]})
            recalls = [len(one & other) / NEAREST for one, other in zip(found, nearest, strict=True)]
            yield {
                "vectors": len(held),
                "ef_construction": construction,
                "M": neighbours,
                "ef_search": search,
                "recall@10 %": 100 * float(np.mean(recalls)),
                "worst question %": 100 * min(recalls),
                "built, vectors/s": len(held) / building,
                "asked p50 ms": float(np.median(spent)),
            }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sign_rows(held: Vectors, asked: Vectors, compared: Sequence[int]) -> Iterator[Row]:
    """Search in memory as the package does it among many vectors, for each number of those that are compared."""
    signs, nearest = signs_of(held), exact(held, asked)
    for most in compared:
        found = []
        for query, own in zip(asked, signs_of(asked), strict=True):
            unlike = np.bitwise_count(signs ^ own).sum(axis=1)
            near = np.argpartition(unlike, most)[:most]
            found.append({*near[np.argsort(-(held[near] @ query), kind="stable")[:NEAREST]].tolist()})
        recalls = [len(one & other) / NEAREST for one, other in zip(found, nearest, strict=True)]
        yield {
            "vectors": len(held),
            "compared": most,
            "recall@10 %": 100 * float(np.mean(recalls)),
            "worst question %": 100 * min(recalls),
        }


def signs_of(vectors: Vectors) -> NDArray[np.uint64]:
    return np.packbits(vectors > 0, axis=1).view(np.uint64)


def shared_row(held: Sequence[Vectors], asked: Vectors, one_by_one: bool) -> Row:
    """How well each space is searched; each question is asked of one space, in turn."""
    say(f"{len(held):,} spaces of {len(held[0]):,} vectors")
    in_turn = len(held[0]) if one_by_one else ADDED_IN_TURN
    spent, recalls, short = [], [], 0
    server = servers.Chroma()
    try:
        with closing(ChromaServer(server.address)) as client:
            places = [client.begin(f"shared-{number // SPACES}") for number in range(len(held))]
            started = perf_counter()
            for first in range(0, len(held[0]), in_turn):
                for number, vectors in enumerate(held):
                    some = vectors[first : first + in_turn]
                    names = [str(place) for place in range(first, first + len(some))]
                    client.upsert(places[number], f"space-{number}", Named(names, seated(some, number % SPACES)))
            building = perf_counter() - started
            for turn, query in enumerate(asked):
                number = turn % len(held)
                started = perf_counter()
                wanted = seated(query[np.newaxis], number % SPACES, asked=True)
                (found,) = client.query(places[number], wanted, WANTED) or [[]]
                spent.append((perf_counter() - started) * 1000)
                mark, vectors = f"space-{number}:", held[number]
                own = [int(name.removeprefix(mark)) for name, _ in found if name.startswith(mark)]
                short += len(own) < min(WANTED, len(vectors))
                recalls.append(len({*own[:NEAREST]} & exact(vectors, query[np.newaxis])[0]) / NEAREST)
    finally:
        server.remove()
    return {
        "spaces": len(held),
        "vectors of each": len(held[0]),
        "recall@10 %": 100 * float(np.mean(recalls)),
        "worst question %": 100 * min(recalls),
        "fewer than asked for": short,
        "added, vectors/s": sum(map(len, held)) / building,
        "asked p50 ms": float(np.median(spent)),
    }


def build(folder: str, held: Vectors, parameters: dict[str, Any]) -> float:
    """Make the collection with these vectors. Returns the seconds that took."""
    configuration: Any = {"hnsw": parameters}
    collection = opened(folder).create_collection(NAME, embedding_function=None, configuration=configuration)
    started = perf_counter()
    for first in range(0, len(held), ADDED_AT_ONCE):
        some = held[first : first + ADDED_AT_ONCE]
        collection.add(ids=[str(number) for number in range(first, first + len(some))], embeddings=some)
    return perf_counter() - started


def searched_with(folder: str, search: int) -> Any:
    """The collection with this `ef_search`, which a client reads when it opens the collection."""
    changed: Any = {"hnsw": {"ef_search": search}}
    opened(folder).get_collection(NAME, embedding_function=None).modify(configuration=changed)
    return opened(folder).get_collection(NAME, embedding_function=None)


def opened(folder: str) -> Any:
    """A client that has nothing of the folder in memory."""
    import chromadb

    chromadb.api.client.SharedSystemClient.clear_system_cache()
    return chromadb.PersistentClient(folder, settings=chromadb.Settings(anonymized_telemetry=False))


def exact(held: Vectors, asked: Vectors) -> Sequence[set[int]]:
    return [set(np.argsort(-(held @ query), kind="stable")[:NEAREST].tolist()) for query in asked]


if __name__ == "__main__":
    main()
