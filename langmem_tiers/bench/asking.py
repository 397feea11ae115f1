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
from langmem_tiers.bench.scoring import Session
from langmem_tiers.bench.verbatim import verbatim
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
    Without `vectors`, recall goes by keywords alone. `embeddings` is the file of vectors made before, by default
    `embeddings.db` in the work folder.
    """

    work: Path
    settings: Settings
    session_number: Callable[[str], Session]
    vectors: bool = True
    keep: bool = False
    embeddings: Path | None = None


def ask_case(case: Case, plan: Plan, embedder: Embedder | None) -> Iterator[Answer]:
    """The answers to the questions of a case, one after the other.

    Raises:
        StorageError: the conversation could not be stored whole.
    """
    with stored(case, plan, embedder) as space:
        turns = {drawer.number: drawer.message_id for drawer in space.drawers()}
        for question in case.questions:
            yield ask(space, question, turns, plan.session_number)


@contextmanager
def stored(case: Case, plan: Plan, embedder: Embedder | None) -> Iterator[Space]:
    """The space with the conversation of a case in it; one that was kept and holds all of it is not stored again.

    Raises:
        StorageError: the conversation could not be stored whole.
    """
    from langmem_tiers.memory import Memory

    with (
        _folder(case, plan) as folder,
        Memory.open(folder, embedder=embedder, settings=verbatim(plan.settings), background=False) as memory,
    ):
        space, rejected = memory.space(case.space), 0
        if space.stats().drawers != sum(len(session.messages) for session in case.sessions):
            track = through_track_node(memory)
            rejected = len(import_conversations(case.sessions, track=track, space=case.space).rejected)
        finish(space, rejected)
        yield space


def ask(
    space: Space, question: Question, turns: Mapping[int, str | None], session_number: Callable[[str], Session]
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


def finish(space: Space, rejected: int) -> None:
    """Have everything filed and embedded; `rejected` is the number of messages that were refused before.

    Raises:
        StorageError: messages were refused, or have no vectors.
    """
    done = space.flush()
    if rejected or not done:
        pending = space.stats().pending
        raise StorageError(
            f"{space.name} is not whole: {rejected} messages refused, {pending} without vectors.",
            way_out="Run `langmem-tiers doctor` on it: a measurement over a part would mislead.",
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
