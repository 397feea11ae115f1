"""What the reader is given for a question: something of the memory, in order of time.

Three grains. `block`: the block that an agent's model would be given. `drawer`: the best drawers, whole, under the
dates of their sessions. `session`: the best sessions, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from langmem_tiers.bench.asking import Plan, stored
from langmem_tiers.bench.datasets import BenchQuestion, Case, Cases, unanswered
from langmem_tiers.bench.logs import AnswerLog, Fields, read_lines
from langmem_tiers.bench.pipeline.runs import BenchRun
from langmem_tiers.bench.workers import Progress, in_processes, unwatched
from langmem_tiers.fencing import escape
from langmem_tiers.models.tokens import estimate
from langmem_tiers.types import Drawer, Recalled

if TYPE_CHECKING:
    from langmem_tiers.space import Space

Grain = Literal["block", "drawer", "session"]

_ALL = 1_000_000  # tokens, where nothing is to be left out
_TOP_K: Mapping[Grain, int] = {"block": 50, "drawer": 10, "session": 5}
_BUDGET: Mapping[Grain, int] = {"block": 4000, "drawer": _ALL, "session": _ALL}
_LEFT_OUT = frozenset({"outside_dates", "below_threshold"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ReaderScope:
    """How much of the memory the reader is given.

    `top_k` is the number of items, drawers or sessions (50, 10 and 5 by default), `token_budget` the most tokens
    (4,000 for a block, else no limit). A drawer counts from the score `threshold` on: by default every one does, since
    whoever asks a question wants an answer, and an agent's own threshold is for what nobody asked. `adversarial` adds
    the questions of LoCoMo's category 5.
    """

    grain: Grain = "block"
    top_k: int | None = None
    token_budget: int | None = None
    threshold: float = 0.0
    adversarial: bool = False

    @property
    def most(self) -> int:
        """The maximum number of items, drawers or sessions."""
        return self.top_k or _TOP_K[self.grain]

    @property
    def tokens(self) -> int:
        """The maximum number of tokens."""
        return self.token_budget or _BUDGET[self.grain]

    def described(self) -> dict[str, object]:
        """What distinguishes this way of reading from others."""
        told = {"grain": self.grain, "top_k": self.most, "token_budget": self.tokens}
        return told | ({"threshold": self.threshold} if self.threshold else {})


def make_contexts(
    run: BenchRun,
    reading: ReaderScope,
    *,
    limit: int | None,
    jobs: int = 1,
    on_progress: Progress | None = None,
) -> Path:
    """The log of contexts for the questions of a run, completed where needed; each way of reading has its own.

    Raises:
        UnreadableFile: the data is not in its format.
        StorageError: a conversation is not stored, and could not be.
    """
    path = run.log("contexts", "-".join(str(value) for value in reading.described().values()))
    log = AnswerLog(path, {**run.described(), **reading.described()}, way_out="Delete that file.")
    cases, before = Cases(run.dataset, run.data, limit=limit, adversarial=reading.adversarial), log.answered
    total = sum(len(case.questions) for case in unanswered(cases, before))
    progress, done = on_progress or unwatched, 0
    progress(0, total)
    for made in in_processes(partial(_of_case, run.plan(), reading), unanswered(cases, before), jobs):
        for line in made:
            log.append(line)
        done += len(made)
        progress(done, total)
    return path


def read_contexts(path: Path) -> dict[str, str]:
    """The texts of a log of contexts by question id."""
    return {str(line["question_id"]): str(line["context"]) for line in read_lines(path)}


def _block(space: Space, question: BenchQuestion, reading: ReaderScope) -> tuple[str, Sequence[Drawer]]:
    recalled = _recall(space, question, reading, limit=reading.most, token_budget=reading.tokens)
    return recalled.block, [item.drawer for item in recalled.items]


def _drawers(space: Space, question: BenchQuestion, reading: ReaderScope) -> tuple[str, Sequence[Drawer]]:
    recalled = _recall(space, question, reading, limit=reading.most, token_budget=_ALL)
    fitting = [*_fitting(([item.drawer] for item in recalled.items), reading.tokens)]
    return _by_session(fitting), fitting


def _sessions(space: Space, question: BenchQuestion, reading: ReaderScope) -> tuple[str, Sequence[Drawer]]:
    recalled = _recall(space, question, reading, limit=1, token_budget=_ALL)
    found = (each.session for each in recalled.receipt.candidates if each.verdict not in _LEFT_OUT)
    best = [*dict.fromkeys(found)][: reading.most]
    whole = ([one for one in space.drawers(session=name) if _in_time(one, question)] for name in best)
    fitting = [*_fitting(whole, reading.tokens)]
    return _by_session(fitting), fitting


_MADE_BY: Mapping[Grain, Callable[[Space, BenchQuestion, ReaderScope], tuple[str, Sequence[Drawer]]]] = {
    "block": _block,
    "drawer": _drawers,
    "session": _sessions,
}


def _recall(space: Space, question: BenchQuestion, reading: ReaderScope, *, limit: int, token_budget: int) -> Recalled:
    return space.recall(
        question.text,
        now=question.asked_at,
        as_of=question.until,
        limit=limit,
        threshold=reading.threshold,
        token_budget=token_budget,
        keep_receipt=False,
    )


def _in_time(drawer: Drawer, question: BenchQuestion) -> bool:
    return question.until is None or drawer.said_at <= question.until


def _fitting(groups: Iterable[Sequence[Drawer]], tokens: int) -> Iterator[Drawer]:
    """The drawers of the groups that fit as a whole, best first."""
    left = tokens
    for group in groups:
        takes = sum(estimate(drawer.content) for drawer in group)
        if takes <= left:
            left -= takes
            yield from group


def _by_session(drawers: Iterable[Drawer]) -> str:
    """The drawers in order of time, each session under the date of the first one shown."""
    first: dict[str, Drawer] = {}
    for drawer in sorted(drawers, key=lambda one: (one.said_at, one.number)):
        first.setdefault(drawer.session, drawer)
    opened = {session: (drawer.said_at, drawer.number) for session, drawer in first.items()}
    ordered = sorted(drawers, key=lambda one: (opened[one.session], one.said_at, one.number))
    parts = []
    for session, said in groupby(ordered, key=lambda one: one.session):
        lines = (f"{escape(one.speaker or one.role)}: {escape(one.content)}" for one in said)
        parts.append("\n".join((f"[session of {first[session].said_at:%Y-%m-%d (%A) %H:%M}]", *lines)))
    return "\n\n".join(parts)


def _of_case(plan: Plan, reading: ReaderScope, case: Case) -> list[Fields]:
    """The lines of the log for the questions of a case."""
    lines: list[Fields] = []
    with stored(case, plan, plan.embedder()) as space:
        for question in case.questions:
            text, drawers = _MADE_BY[reading.grain](space, question, reading)
            numbers = [drawer.number for drawer in drawers]
            about = {"question_id": question.question_id, "tokens": estimate(text), "drawers": numbers}
            lines.append({**about, "context": text})
    return lines
