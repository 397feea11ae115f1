"""Storing every conversation of a run in a memory of its own, which stays for the steps that follow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from langmem_tiers.bench.asking import Plan, stored
from langmem_tiers.bench.log import cut_partial_line
from langmem_tiers.bench.pipeline.instances import Cases
from langmem_tiers.bench.pipeline.runs import BenchRun
from langmem_tiers.bench.pools import in_processes
from langmem_tiers.bench.questions import Case
from langmem_tiers.bench.retrieval import embedder_of
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.transfer.records import LineProblem

Told = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingested:
    """What the step did: conversations and messages stored now, conversations stored before, what was skipped."""

    conversations: int
    messages: int
    before: int
    seconds: float
    problems: tuple[LineProblem, ...]


def ingest(run: BenchRun, *, limit: int | None, jobs: int = 1, on_progress: Told | None = None) -> Ingested:
    """Store the conversations of the first `limit` questions that are not stored yet, through the real track node.

    `on_progress` is told the number of conversations stored now and that to come to.

    Raises:
        UnreadableFile: the data is not in its format.
        EmbeddingUnavailable: the model is neither there nor can it be downloaded.
        StorageError: a conversation could not be stored whole.
    """
    record = run.work / "ingested.jsonl"
    known = _known(record)
    cases = Cases(run.dataset, run.data, limit=limit)
    total = sum(case.conversation not in known for case in cases)
    if run.vectors and total:
        embedder_of(run.plan()).prepare()  # once here, so that processes do not all begin to download
    told = on_progress or (lambda _done, _total: None)
    told(0, total)
    started, messages, before = perf_counter(), 0, _Counted()
    for done, line in enumerate(in_processes(partial(_stored, run.plan()), before.left(cases, known), jobs), 1):
        with translated(record), record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        messages += int(line["messages"])
        told(done, total)
    return Ingested(
        conversations=total,
        messages=messages,
        before=before.known,
        seconds=round(perf_counter() - started, 1),
        problems=tuple(cases.problems),
    )


class _Counted:
    """The cases that are left to store, and how many were not."""

    def __init__(self) -> None:
        self.known = 0

    def left(self, cases: Cases, known: AbstractSet[str]) -> Iterator[Case]:
        for case in cases:
            if case.conversation in known:
                self.known += 1
            else:
                yield case


def _stored(plan: Plan, case: Case) -> dict[str, str | int | float]:
    started = perf_counter()
    with stored(case, plan, embedder_of(plan) if plan.vectors else None) as space:
        counts = space.stats()
    return {
        "conversation": case.conversation,
        "sessions": counts.sessions,
        "messages": counts.drawers,
        "seconds": round(perf_counter() - started, 3),
    }


def _known(record: Path) -> frozenset[str]:
    """The conversations that are stored whole."""
    with translated(record):
        record.parent.mkdir(parents=True, exist_ok=True)
        if not record.exists():
            return frozenset()
        cut_partial_line(record)
        return frozenset(json.loads(line)["conversation"] for line in record.read_text(encoding="utf-8").splitlines())
