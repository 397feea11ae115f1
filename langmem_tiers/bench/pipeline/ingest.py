"""The conversations of a run, each stored in a memory of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from langmem_tiers.bench.asking import Plan, stored
from langmem_tiers.bench.datasets import Case, Cases
from langmem_tiers.bench.logs import cut_partial_line
from langmem_tiers.bench.pipeline.runs import BenchRun
from langmem_tiers.bench.workers import Progress, in_processes, unwatched
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.transfer.records import LineProblem


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestedConversations:
    """The result of the step: conversations and messages stored now, conversations stored before, what was skipped."""

    conversations: int
    messages: int
    before: int
    seconds: float
    problems: tuple[LineProblem, ...]


def ingest(
    run: BenchRun, *, limit: int | None, jobs: int = 1, on_progress: Progress | None = None
) -> IngestedConversations:
    """Store the conversations of the first `limit` questions that are not stored yet, through the real track node.

    `on_progress` is called with the number of conversations stored now and the total.

    Raises:
        UnreadableFile: the data is not in its format.
        EmbeddingUnavailable: the model is neither there nor can it be downloaded.
        StorageError: a conversation could not be stored whole.
    """
    record, plan, progress = run.work / "ingested.jsonl", run.plan(), on_progress or unwatched
    known = _known(record)
    cases = Cases(run.dataset, run.data, limit=limit)
    there = [case.conversation in known for case in cases]
    total = there.count(False)
    if total and (embedder := plan.embedder()):
        embedder.prepare()  # once here, so that processes do not all begin to download
    progress(0, total)
    started, messages = perf_counter(), 0
    left = (case for case in cases if case.conversation not in known)
    for done, line in enumerate(in_processes(partial(_stored, plan), left, jobs), 1):
        with translated(record), record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        messages += int(line["messages"])
        progress(done, total)
    return IngestedConversations(
        conversations=total,
        messages=messages,
        before=there.count(True),
        seconds=round(perf_counter() - started, 1),
        problems=tuple(cases.problems),
    )


def _stored(plan: Plan, case: Case) -> dict[str, str | int | float]:
    started = perf_counter()
    with stored(case, plan, plan.embedder()) as space:
        counts = space.stats()
    return {
        "conversation": case.conversation,
        "sessions": counts.sessions,
        "messages": counts.drawers,
        "seconds": round(perf_counter() - started, 3),
    }


def _known(record: Path) -> frozenset[str]:
    """The conversations that are stored completely."""
    with translated(record):
        record.parent.mkdir(parents=True, exist_ok=True)
        if not record.exists():
            return frozenset()
        cut_partial_line(record)
        return frozenset(json.loads(line)["conversation"] for line in record.read_text(encoding="utf-8").splitlines())
