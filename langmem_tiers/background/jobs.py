"""All background jobs of a space: those that follow its log, and those that derive memories or run by the clock.

A new kind of work is one class with the methods of `Job`, and one line in `jobs_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from sqlalchemy import Connection

from langmem_tiers.background.dreaming import DreamJob
from langmem_tiers.background.embedding import EmbedderAway, EmbedJob
from langmem_tiers.background.expiry import ExpiryJob
from langmem_tiers.background.filing import FileJob
from langmem_tiers.background.graphing import GraphJob
from langmem_tiers.background.mining import ArchiveJob, EnrichJob, MineJob, ReviseJob
from langmem_tiers.background.projecting import IndexFileJob, ProjectJob, ServerProjectJob, VectorServerAway
from langmem_tiers.background.purging import PurgeJob
from langmem_tiers.background.worker import WorkLeft
from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import ProjectionDamaged, StorageError
from langmem_tiers.models.guarded_embedder import GuardedEmbedder
from langmem_tiers.store import FolderStore, SpaceStore

Stop = Callable[[], bool]
# Drawers that Chroma gets at once while the embedder computes, which then waits: Chroma keeps Python's lock, for ten
# drawers 37 ms, for a hundred 64, for five hundred 168.
_LARGE = 256
# And of those that it gets as long as nobody waits for them.
_FEW = 64


class Job(Protocol):
    """Background work on one space: durable, since it is derived from the records, and safe to repeat."""

    @property
    def name(self) -> str:
        """Its name, one word."""

    def due(self, connection: Connection) -> int | None:
        """When it is due by the clock, in UTC milliseconds, possibly in the past; None if never as things stand.

        A job that follows the log is never due by the clock: it runs whenever the space is visited.
        """

    def step(self, stop: Stop) -> bool:
        """Do part of the pending work, and return whether anything was done. `stop` is checked between parts.

        Raises:
            EmbedderAway, VectorServerAway, ProjectionDamaged: what it needs is unavailable.
            StorageError: the rest is done later.
        """


@dataclass(frozen=True)
class Jobs:
    """The jobs of one space, in their order.

    Those that follow the log update the search indexes, before and after each round of the others: these may call a
    model, so they come after everything that a recall waits for.
    """

    context: SpaceContext
    following: tuple[Job, ...]
    deriving: tuple[Job, ...]
    projecting: tuple[ProjectJob, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether a few vectors were left to wait for others."""
        return any(job.waited for job in self.projecting)

    def run(self, stop: Stop) -> WorkLeft:
        """Do all that the log or the clock asks for; `stop` is checked between steps."""
        outcome = self._follow(stop)
        while outcome is not WorkLeft.STOPPED and self.derive(stop):
            # Derived memories are indexed like everything else.
            outcome = WorkLeft.STOPPED if stop() else self._follow(stop)
        return outcome

    def derive(self, stop: Stop) -> bool:
        """One round of the deriving jobs; returns whether anything was done."""
        worked = False
        for job in self.deriving:
            if stop():
                break
            worked = job.step(stop) or worked
        return worked

    def seconds_to_next(self, store: SpaceStore) -> float | None:
        """Seconds until something is due, 0 if it is now; None if never as things stand.

        Never longer than `prune_hours`, since machines sleep, and clocks are set.
        """
        with store.reading() as connection:
            moments = [job.due(connection) for job in (*self.following, *self.deriving)]
        due = [moment for moment in moments if moment is not None]
        latest = self.context.settings.dream.prune_hours * 3600
        return min(max(0.0, (min(due) - to_millis(self.context.clock())) / 1000), latest) if due else None

    def _follow(self, stop: Stop) -> WorkLeft:
        outcome = WorkLeft.DONE
        for job in self.following:
            try:
                while job.step(stop):
                    if stop():
                        return WorkLeft.STOPPED
            except (EmbedderAway, VectorServerAway):
                outcome = WorkLeft.WAITING
            except ProjectionDamaged:  # Chroma comes last, and nothing depends on it
                outcome = WorkLeft.FAILED
        return outcome


@dataclass(frozen=True)
class _StepOfEach:
    """A step of each of some jobs, while the embedder computes."""

    jobs: tuple[Job, ...]

    def __call__(self, stop: Stop) -> None:
        # They come again after the embedder, where what fails is an error: here, it would keep texts without vectors.
        with suppress(StorageError):
            for job in self.jobs:
                if not stop():
                    job.step(stop)


def jobs_of(context: SpaceContext, store: SpaceStore, *, awaited: bool) -> Jobs:
    """The jobs of an open space; if they are `awaited`, nothing is left for later that can be done."""
    following: list[Job] = [FileJob(store.database, context.clock)]
    project = None if store.chroma is None else partial(ProjectJob, store.chroma, context.clock)
    projecting = [] if project is None else [project(0 if awaited else _FEW)]
    meanwhile: list[Job] = [] if project is None else [project(_LARGE)]
    if isinstance(context.embedder, GuardedEmbedder):
        embed = EmbedJob(
            database=store.database,
            embedder=context.embedder,
            clock=context.clock,
            batch=context.settings.storage.embed_batch,
            beside=_StepOfEach((*following, *meanwhile)),
        )
        following.insert(0, embed)
    if isinstance(store, FolderStore):
        # Before Chroma, which takes far longer: until it is written, each opening reads all records.
        following.append(IndexFileJob(store))
    following += (ServerProjectJob(each, store.name) for each in store.shelves)
    following += projecting
    kinds: list[Callable[[SpaceContext, SpaceStore], Job]] = [
        ExpiryJob,
        PurgeJob,
        EnrichJob,
        MineJob,
        ReviseJob,
        ArchiveJob,
        *([GraphJob] if context.settings.graph.enabled else []),
        DreamJob,
    ]
    return Jobs(context, tuple(following), tuple(kind(context, store) for kind in kinds), tuple(projecting))
