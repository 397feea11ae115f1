"""Where recall finds the answering messages, under one choice of settings or two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import comb, inf
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from langmem_tiers.bench.mine.questions import LEAST, Kind, MinedQuestion
from langmem_tiers.bench.scoring import Spread, reciprocal_rank, spread
from langmem_tiers.bench.workers import Progress, unwatched
from langmem_tiers.content import content_hash
from langmem_tiers.errors import InvalidInput, NotAMemoryFolder
from langmem_tiers.naming import folder_name

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from langmem_tiers.memory import Memory
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space
    from langmem_tiers.types import Drawer


_NAMED = 10


def existing_space(memory: Memory, name: str) -> Space:
    """The space with this name, which must exist in the memory.

    Raises:
        InvalidInput: there is none.
    """
    space = memory.space(name)
    if not (memory.path / "spaces" / folder_name(name)).is_dir():
        names = memory.spaces()
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        raise InvalidInput(
            f"There is no space {name!r} in the memory in {memory.path}.",
            way_out=f"It has: {', '.join(names[:_NAMED])}{more}." if names else "It has no spaces yet.",
        )
    return space


@contextmanager
def open_space(
    path: str | Path,
    name: str,
    *,
    settings: Settings | None = None,
    embedder: Embeddings | Embedder | Literal["minilm"] | None = "minilm",
) -> Iterator[Space]:
    """A space of an existing memory, opened without background work: nothing is embedded meanwhile.

    Raises:
        NotAMemoryFolder: there is no memory in the folder.
        InvalidInput: there is no such space in it.
    """
    from langmem_tiers.memory import Memory

    folder = Path(path).expanduser()
    if not folder.is_dir() or not any(folder.iterdir()):
        raise NotAMemoryFolder(f"There is no memory at {folder.absolute()}.", way_out="Name the folder of one.")
    with Memory.open(folder, settings=settings, embedder=embedder, background=False) as memory:
        yield existing_space(memory, name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The rank of the message that answers a question among everything that recall found.

    `rank` counts messages from 1 and `session_rank` their sessions; None: it was not found. `shown`: it would be in the
    block that a model is given. `milliseconds` are those of the whole recall.
    """

    question_id: str
    kind: Kind
    rank: int | None
    session_rank: int | None
    shown: bool
    milliseconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredRow:
    """The means over some questions, from 0 to 1.

    `recall_at_k` is the share whose message is among the first k found, `mrr` the mean of 1 / its rank,
    `session_recall_at_5` the share whose session is among the first 5, `shown` the share whose message is in the block.
    """

    kind: str
    questions: int
    recall_at_1: float
    recall_at_5: float
    recall_at_10: float
    mrr: float
    session_recall_at_5: float
    shown: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The result: a row for each kind of question, the row of all, and the place of every answer.

    `gone` questions were not asked, because their message is not in the space (any more). `pending` messages have no
    vectors yet, and are found by their words only. `notes` say what else was degraded.
    """

    space: str
    rows: tuple[MeasuredRow, ...]
    overall: MeasuredRow
    places: tuple[Place, ...]
    gone: int
    pending: int
    notes: tuple[str, ...]
    recall_ms: Spread

    @property
    def recall_at_1(self) -> float:
        """The share of questions whose message was found first."""
        return self.overall.recall_at_1

    @property
    def recall_at_5(self) -> float:
        """The share of questions whose message was among the first five."""
        return self.overall.recall_at_5

    @property
    def recall_at_10(self) -> float:
        """The share of questions whose message was among the first ten."""
        return self.overall.recall_at_10

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank."""
        return self.overall.mrr

    @property
    def shown(self) -> float:
        """The share of questions whose message a model would be given."""
        return self.overall.shown


def measure(space: Space, questions: Iterable[MinedQuestion], *, on_progress: Progress | None = None) -> Measured:
    """Ask the questions, outside of any session, and record the ranks of the messages that answer them.

    The settings are those that the memory was opened with. Nothing is left in the space: no receipt, no count.

    Args:
        space: The space that the questions were made from.
        questions: What `mine_questions` or `read_questions` gave.
        on_progress: Is told how many were asked, and how many will be.

    Raises:
        InvalidInput: fewer than five of the questions have their message in this space.
    """
    progress = on_progress or unwatched
    wanted = list(questions)
    gold = _Gold(space.drawers())
    asked = [question for question in wanted if question.content_hash in gold.drawers]
    if len(asked) < LEAST:
        raise InvalidInput(
            f"Of {len(wanted)} questions only {len(asked)} are about messages in {space.name};"
            f" at least {LEAST} are needed.",
            way_out="Name the space that they were made from, or make new ones.",
        )
    notes: dict[str, None] = {}
    places = []
    for done, question in enumerate(asked, 1):
        places.append(_ask(space, question, gold, notes))
        progress(done, len(asked))
    return _measured(space, places, gone=len(wanted) - len(asked), notes=tuple(notes))


class _Gold:
    """The drawers and sessions that hold a text, by its hash, whoever said it and wherever."""

    def __init__(self, drawers: Iterable[Drawer]) -> None:
        self.drawers: dict[bytes, set[int]] = defaultdict(set)
        self.sessions: dict[bytes, set[str]] = defaultdict(set)
        for drawer in drawers:
            if drawer.status == "active":
                digest = content_hash(drawer.content)
                self.drawers[digest].add(drawer.number)
                self.sessions[digest].add(drawer.session)


def _ask(space: Space, question: MinedQuestion, gold: _Gold, notes: dict[str, None]) -> Place:
    started = perf_counter()
    # Under the settings' own threshold, limit and budget: they say what is shown, and change nothing about the ranks.
    recalled = space.recall(question.text, now=question.asked_at, keep_receipt=False)
    milliseconds = (perf_counter() - started) * 1000
    found = recalled.receipt.candidates
    notes.update(dict.fromkeys(recalled.receipt.notes))
    drawers = {(space.name, number) for number in gold.drawers[question.content_hash]}
    sessions = {(space.name, session) for session in gold.sessions[question.content_hash]}
    return Place(
        question_id=question.question_id,
        kind=question.kind,
        rank=_rank([(one.space, one.drawer) for one in found], drawers),
        session_rank=_rank([(one.space, one.session) for one in found], sessions),
        shown=any((item.space, item.drawer.number) in drawers for item in recalled.items),
        milliseconds=milliseconds,
    )


def _rank(ranked: Sequence[Hashable], gold: set[tuple[str, int]] | set[tuple[str, str]]) -> int | None:
    reciprocal = reciprocal_rank(ranked, gold)
    return round(1 / reciprocal) if reciprocal else None


def _measured(space: Space, places: Sequence[Place], *, gone: int, notes: tuple[str, ...]) -> Measured:
    by_kind: Mapping[str, list[Place]] = defaultdict(list)
    for place in places:
        by_kind[place.kind].append(place)
    stats = space.stats()
    return Measured(
        space=space.name,
        rows=tuple(_row(kind, group) for kind, group in sorted(by_kind.items())),
        overall=_row("all", places),
        places=tuple(places),
        gone=gone,
        pending=stats.pending if stats.embedding_model is not None else 0,
        notes=notes,
        recall_ms=spread(place.milliseconds for place in places),
    )


def _row(kind: str, places: Sequence[Place]) -> MeasuredRow:
    ranks, sessions = ([getattr(place, name) for place in places] for name in ("rank", "session_rank"))
    return MeasuredRow(
        kind=kind,
        questions=len(places),
        recall_at_1=_within(ranks, 1),
        recall_at_5=_within(ranks, 5),
        recall_at_10=_within(ranks, 10),
        mrr=fmean(1 / rank if rank else 0.0 for rank in ranks),
        session_recall_at_5=_within(sessions, 5),
        shown=fmean(place.shown for place in places),
    )


def _within(ranks: Sequence[int | None], k: int) -> float:
    return fmean(rank is not None and rank <= k for rank in ranks)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The effect of a change: ids of the questions whose message ranks better or worse than before.

    `differences` are those of the means by name, after less before. `chance` is how likely so unequal a split is
    when the change does nothing (two-sided sign test): above 0.05 there is nothing to conclude.
    """

    better: tuple[str, ...]
    worse: tuple[str, ...]
    same: int
    differences: Mapping[str, float]
    chance: float


def compare(before: Measured, after: Measured) -> Comparison:
    """The effect of other settings, or another version, on the same questions.

    Raises:
        InvalidInput: the two were not asked the same.
    """
    first, second = (
        {place.question_id: place.rank or inf for place in measured.places} for measured in (before, after)
    )
    if first.keys() != second.keys():
        raise InvalidInput(
            "These are measurements of different questions.", way_out="Measure one question set under both settings."
        )
    better = tuple(name for name, rank in second.items() if rank < first[name])
    worse = tuple(name for name, rank in second.items() if rank > first[name])
    return Comparison(
        better=better,
        worse=worse,
        same=len(first) - len(better) - len(worse),
        differences=_differences(before.overall, after.overall),
        chance=sign_test(len(better), len(worse)),
    )


def sign_test(better: int, worse: int) -> float:
    """How likely chance alone splits so many changes at least as unequally.

    Example:
        >>> sign_test(5, 5), round(sign_test(9, 1), 3)
        (1.0, 0.021)
    """
    changed, fewer = better + worse, min(better, worse)
    tail = sum(comb(changed, count) for count in range(fewer + 1))
    return min(1.0, float(2 * tail / 2**changed))


def _differences(before: MeasuredRow, after: MeasuredRow) -> dict[str, float]:
    means = [field.name for field in fields(MeasuredRow) if field.name not in {"kind", "questions"}]
    return {name: getattr(after, name) - getattr(before, name) for name in means}
