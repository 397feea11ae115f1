"""Our memory beside plain Chroma, LangGraph's store and whatever else is installed: retrieval by session, and time.

Every peer gets the same messages and questions, one conversation after the other, each in a folder of its own, in this
process. Retrieval is scored by session: the first hit of a session counts. Without `--data`, the conversation is made
from the seed, which compares times, and little else: its questions are not a person's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import get_args

from peer_data import Conversation, PeerQuestion, from_dataset, made_up
from peer_installed import NEEDS_A_MODEL, Mem0, MemPalace
from peer_local import HalfAndHalf, LangGraphStore, Ours, Peer, PlainChroma, SessionWords
from reporting import Row, parser, report, say

from langmem_tiers.bench.datasets import DatasetName
from langmem_tiers.bench.scoring import recall_all, recall_any, reciprocal_rank, spread
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.storage.folder import size
from langmem_tiers.testing import HashEmbedder

Opened = Callable[[Path, Embedder], Peer]
BASE = "plain Chroma"
# By name: how to open it, and the package that it needs, if it is not ours.
PEERS: Mapping[str, tuple[Opened, str | None]] = {
    BASE: (PlainChroma, None),
    "langmem-tiers": (Ours, None),
    "LangGraph store": (LangGraphStore, None),
    "BM25, sessions": (SessionWords, None),
    "half and half": (HalfAndHalf, None),
    "mem0": (Mem0, "mem0"),
    "mempalace": (MemPalace, "mempalace"),
}
MESSAGES = 50  # asked for: enough for ten different sessions
QUALITY = ("R@1", "any@5", "all@5", "any@10", "MRR")
TIMES = ("ingest s", "MB", "p50 ms", "p95 ms", "p50 / embedding")


@dataclass
class Measured:
    """What one peer came to over all conversations: scores in %, times in seconds and milliseconds, bytes on disk."""

    scores: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in QUALITY})
    ingest: float = 0.0
    size: int = 0
    searches: list[float] = field(default_factory=list)
    units: list[float] = field(default_factory=list)
    """Bare embeddings of the same questions."""

    def means(self) -> dict[str, float]:
        """The means of all questions, and the times."""
        times = spread(self.searches)
        found = {name: fmean(values) for name, values in self.scores.items()}
        unit = spread(self.units).p50
        figures = (self.ingest, self.size / 1_000_000, times.p50, times.p95, times.p50 / unit)
        return {**found, **dict(zip(TIMES, figures, strict=True))}


def main() -> None:
    arguments = parser(__doc__ or "", "peers")
    arguments.add_argument("--dataset", choices=get_args(DatasetName), default="locomo", help="what --data is")
    arguments.add_argument("--data", type=Path, default=None, help="the set's own file; without it, made from the seed")
    arguments.add_argument("--limit", type=int, default=None, help="only the first conversations of the file")
    arguments.add_argument(
        "--timed", type=int, default=0, help="so many questions of other conversations are asked as well, for the time"
    )
    arguments.add_argument("--turns", type=int, default=1_000, help="of the conversation made from the seed")
    arguments.add_argument("--questions", type=int, default=100, help="about the conversation made from the seed")
    arguments.add_argument(
        "--embedder", choices=EMBEDDERS, default="minilm", help="hash needs no model, for trying out"
    )
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memories, on the disk to measure")
    chosen = arguments.parse_args()
    if chosen.data is None:
        conversations = [made_up(chosen.turns, chosen.questions, chosen.seed)]
    else:
        conversations = list(from_dataset(chosen.dataset, chosen.data, chosen.limit))
    others = list(from_dataset(chosen.dataset, chosen.data, None)) if chosen.data and chosen.timed else []
    timed = [question.text for one in others for question in one.questions][-chosen.timed :]
    embedder = EMBEDDERS[chosen.embedder]()
    embedder.prepare()
    rows = [row(name, conversations, embedder, chosen.work, timed) for name in PEERS]
    turns, questions = (sum(len(getattr(one, part)) for one in conversations) for part in ("turns", "questions"))
    told = chosen.data.name if chosen.data else f"made from seed {chosen.seed}"
    title = f"Peers on {told}: {turns:,} messages, {questions:,} questions, {chosen.embedder}; scores in %"
    report(title, table([*rows, *absent()]), chosen.out)


def row(
    name: str, conversations: Sequence[Conversation], embedder: Embedder, work: Path | None, timed: Sequence[str] = ()
) -> dict[str, object]:
    """The means of a peer, or why there are none."""
    open_peer, package = PEERS[name]
    if package is not None and find_spec(package) is None:
        return {"peer": name, "status": "not installed"}
    say(name)
    try:
        measured = measure(open_peer, conversations, embedder, work, timed)
    except Exception as error:  # noqa: BLE001 - somebody else's code, and others are to be measured yet
        return {"peer": name, "status": f"{type(error).__name__}: {error}"[:200]}
    return {"peer": name, "status": "ok", **measured.means()}


def measure(
    open_peer: Opened,
    conversations: Sequence[Conversation],
    embedder: Embedder,
    work: Path | None,
    timed: Sequence[str],
) -> Measured:
    measured = Measured()
    for conversation in conversations:
        with TemporaryDirectory(dir=work) as folder:
            with closing(open_peer(Path(folder), embedder)) as peer:
                started = perf_counter()
                peer.add_turns(conversation.turns)
                measured.ingest += perf_counter() - started
                peer.search(conversation.questions[0].text, MESSAGES)  # not timed: it loads what is loaded once
                sessions = {turn.message_id: turn.session for turn in conversation.turns}
                for question in conversation.questions:
                    ranked = [sessions[message] for message in ask(peer, question.text, embedder, measured)]
                    score(ranked, question, measured)
                for text in timed:
                    ask(peer, text, embedder, measured)
            measured.size += size(Path(folder))
    return measured


def ask(peer: Peer, question: str, embedder: Embedder, measured: Measured) -> list[str]:
    """What is found, timed beside one bare embedding of the question."""
    started = perf_counter()
    embedder.embed_query(question)
    begun = perf_counter()
    found = peer.search(question, MESSAGES)
    measured.units.append((begun - started) * 1000)
    measured.searches.append((perf_counter() - begun) * 1000)
    return found


def score(ranked: Sequence[str], question: PeerQuestion, measured: Measured) -> None:
    scores = (
        recall_any(ranked, question.gold, 1),
        recall_any(ranked, question.gold, 5),
        recall_all(ranked, question.gold, 5),
        recall_any(ranked, question.gold, 10),
        reciprocal_rank(ranked, question.gold),
    )
    for name, value in zip(QUALITY, scores, strict=True):
        measured.scores[name].append(100 * value)


def table(rows: Sequence[dict[str, object]]) -> list[Row]:
    """The figures of every peer, and below them the same as multiples of plain Chroma's."""
    base = next(one for one in rows if one["peer"] == BASE)
    measured = [one for one in rows if one["status"] == "ok"]
    ratios = [_row(one, f"× {BASE}", _ratios(one, base)) for one in measured if one is not base]
    return [*(_row(one, "measured", one) for one in rows), *ratios]


def _ratios(one: dict[str, object], base: dict[str, object]) -> dict[str, float]:
    pairs = {name: (one.get(name), base.get(name)) for name in (*QUALITY, *TIMES)}
    return {
        name: figure / unit
        for name, (figure, unit) in pairs.items()
        if isinstance(figure, float) and isinstance(unit, float) and unit > 0
    }


def _row(one: dict[str, object], unit: str, figures: Mapping[str, object]) -> Row:
    found = {name: figure if isinstance(figure := figures.get(name), float) else "-" for name in (*QUALITY, *TIMES)}
    return {"peer": str(one["peer"]), "unit": unit, **found, "status": str(one["status"])}


def absent() -> list[dict[str, object]]:
    """The memories that cannot be compared here, and why."""
    return [
        {"peer": name, "status": "needs an LLM" + ("" if find_spec(package) else ", not installed")}
        for name, package in NEEDS_A_MODEL.items()
    ]


def hashed() -> Embedder:
    """The test double in the model's dimension: fast, and with little sense."""
    from langmem_tiers.models.embedder import resolve
    from langmem_tiers.models.minilm import DIMENSION

    made = resolve(HashEmbedder(DIMENSION))
    assert made is not None
    return made


EMBEDDERS: Mapping[str, Callable[[], Embedder]] = {"minilm": MiniLM, "hash": hashed}


if __name__ == "__main__":
    main()
