"""All background work of one space, in order: file, embed, project, derive."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from langmem_tiers.background.embedding import EmbeddingPass
from langmem_tiers.background.filing import FilingPass
from langmem_tiers.background.noting import NotingPass
from langmem_tiers.clock import Clock
from langmem_tiers.embeddings.guard import GuardedEmbedder
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector, ProjectionDamaged
from langmem_tiers.storage.chroma_index import ChromaIndex
from langmem_tiers.storage.store import SpaceStore

if TYPE_CHECKING:
    from langmem_tiers.background.deriving import Deriving

log = logging.getLogger(__name__)


class Outcome(Enum):
    """What is left after the passes ran."""

    DONE = "done"
    WAITING = "waiting"
    """Vectors are still missing: the embedder can not be used now."""
    STOPPED = "stopped"


def run(
    store: SpaceStore,
    embedder: GuardedEmbedder | None,
    deriving: Deriving,
    *,
    clock: Clock,
    batch: int,
    stop: Callable[[], bool],
) -> Outcome:
    """Do what the log of a space asks for, and what its clock does; between steps `stop` is asked."""
    outcome = _follow(store, embedder, clock=clock, batch=batch, stop=stop)
    while outcome is not Outcome.STOPPED and deriving.step(stop):
        # What was derived is searched like everything else.
        outcome = Outcome.STOPPED if stop() else _follow(store, embedder, clock=clock, batch=batch, stop=stop)
    return outcome


def _follow(
    store: SpaceStore, embedder: GuardedEmbedder | None, *, clock: Clock, batch: int, stop: Callable[[], bool]
) -> Outcome:
    steps = FilingPass(store.database, clock).step
    while steps():
        if stop():
            return Outcome.STOPPED
    outcome = Outcome.DONE if embedder is None else _embed(store, embedder, clock=clock, batch=batch, stop=stop)
    if outcome is not Outcome.STOPPED and store.chroma is not None and not _project(store, stop):
        return Outcome.STOPPED
    return outcome


def _embed(
    store: SpaceStore, embedder: GuardedEmbedder, *, clock: Clock, batch: int, stop: Callable[[], bool]
) -> Outcome:
    passes = (
        EmbeddingPass(store.database, embedder.inner, clock, batch),
        NotingPass(store.database, embedder.inner, clock, batch),
    )
    waiting = [each for each in passes if not each.idle()]
    if not waiting:
        return Outcome.DONE
    if embedder.resting:
        return Outcome.WAITING
    try:
        embedder.inner.prepare()
        for each in waiting:
            while each.step(stop):
                embedder.works()
                if stop():
                    return Outcome.STOPPED
    except (EmbeddingUnavailable, InvalidVector) as error:
        embedder.failed(error)
        return Outcome.WAITING
    return Outcome.DONE


def _project(store: SpaceStore, stop: Callable[[], bool]) -> bool:
    """Bring the Chroma projection up to date if this process may; False when stopped on the way."""
    chroma = store.chroma
    if chroma is None or not (chroma.owned or chroma.wanted()):
        return True
    try:
        return _catch_up(chroma, stop)
    except ProjectionDamaged:
        # A damaged index is built anew, once; if that fails as well, the next pass tries again.
        chroma.distrust()
        return _catch_up(chroma, stop)


def _catch_up(chroma: ChromaIndex, stop: Callable[[], bool]) -> bool:
    if not chroma.own():
        return True
    while chroma.step():
        if stop():
            return False
    return True
