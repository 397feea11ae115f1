"""Measuring one case: store its conversation in a memory of its own, then ask every question through real recall."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from langmem_tiers.bench.log import Answer
from langmem_tiers.bench.questions import Case, Question
from langmem_tiers.bench.replay import through_track_node
from langmem_tiers.errors import StorageError
from langmem_tiers.settings import Settings
from langmem_tiers.transfer import import_conversations

if TYPE_CHECKING:
    from langmem_tiers.embeddings.base import Embedder
    from langmem_tiers.space import Space

_ALL_TOKENS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How cases are measured.

    `work` is the folder for their memories; with `keep` these stay there, and a later run takes them as they are.
    Without `vectors`, recall goes by keywords alone.
    """

    work: Path
    settings: Settings
    session_number: Callable[[str], int]
    vectors: bool = True
    keep: bool = False


def ask_case(case: Case, plan: Plan, embedder: Embedder | None) -> Iterator[Answer]:
    """The answers to the questions of a case, one after the other.

    Raises:
        StorageError: the conversation could not be stored whole.
    """
    from langmem_tiers.memory import Memory

    with (
        _folder(case, plan) as folder,
        Memory.open(folder, embedder=embedder, settings=plan.settings, background=False) as memory,
    ):
        track = through_track_node(memory)
        report = import_conversations(case.sessions, track=track, space=case.space)
        space = memory.space(case.space)
        space.flush()
        _require_whole(space, len(report.rejected), embedder)
        turns = {drawer.number: drawer.message_id for drawer in space.drawers()}
        for question in case.questions:
            yield ask(space, question, turns, plan.session_number)


def ask(
    space: Space, question: Question, turns: Mapping[int, str | None], session_number: Callable[[str], int]
) -> Answer:
    """One question through the real recall path; everything that recall looked at is in the answer, best first."""
    started = perf_counter()
    recalled = space.recall(
        question.text,
        now=question.asked_at,
        until=question.until,
        threshold=0,
        token_budget=_ALL_TOKENS,
        fallback=False,
        keep_receipt=False,
    )
    elapsed = (perf_counter() - started) * 1000
    receipt = recalled.receipt
    found = [candidate for candidate in receipt.candidates if candidate.verdict != "outside_dates"]
    return Answer(
        question_id=question.question_id,
        question_type=question.question_type,
        sessions=tuple(dict.fromkeys(session_number(candidate.session) for candidate in found)),
        drawers=tuple(candidate.drawer for candidate in found),
        turns=tuple(turns.get(candidate.drawer) for candidate in found),
        recall_ms=elapsed,
        embed_ms=receipt.timings.get("embed", 0.0),
        verdict=receipt.verdict,
        abstention=question.abstention,
    )


@contextmanager
def _folder(case: Case, plan: Plan) -> Iterator[Path]:
    """The folder of the case's memory: one of its own that goes when the case is done, or one that stays."""
    if plan.keep:
        yield plan.work / "kept" / hashlib.sha256(case.space.encode()).hexdigest()[:16]
    else:
        plan.work.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="memory-", dir=plan.work) as folder:
            yield Path(folder)


def _require_whole(space: Space, rejected: int, embedder: Embedder | None) -> None:
    pending = space.stats().pending if embedder is not None else 0
    if rejected or pending:
        raise StorageError(
            f"{space.name} is not whole: {rejected} messages refused, {pending} without vectors.",
            way_out="Run `langmem-tiers doctor` on it: a measurement over a part would mislead.",
        )
