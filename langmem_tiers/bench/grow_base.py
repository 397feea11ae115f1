"""The base memory of grown haystacks: the first sessions of the pool, stored once, from which every question starts.

A base is built under a temporary name and renamed when it is complete: what has its name is whole, and later runs use
it again. The name comes from everything that made it. What a killed build left is thrown away by the next.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from langmem_tiers.bench.asking import finish
from langmem_tiers.bench.grow_pool import Pool, write_pool
from langmem_tiers.bench.grow_survey import read_pool, survey
from langmem_tiers.bench.replay import through_track_node
from langmem_tiers.bench.verbatim import verbatim
from langmem_tiers.errors import InvalidInput
from langmem_tiers.settings import Settings
from langmem_tiers.transfer import import_conversations
from langmem_tiers.transfer.formats import require_format
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from langmem_tiers.embeddings.base import Embedder

# Copies go on with the space of the base, so it has one name for all questions.
SPACE = "longmemeval/grown"
_MEMORY, _POOL, _DESCRIPTION = "memory", "pool.db", "base.json"
# Sessions between two flushes: filed and projected in portions, as it is while people talk.
_PORTION = 32
# What does not change what is stored: one base serves all values of these.
_ASIDE: Mapping[str, bool | set[str]] = {
    "recall": True,
    "window": True,
    "storage": {"exact_below", "synchronous", "busy_timeout", "open_spaces", "receipts_kept"},
}

Told = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Growth:
    """What to grow haystacks by: `others` more sessions of the file `data`, drawn by `seed`."""

    data: Path
    others: int
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """A base that is whole. `others` is how many sessions were asked for, `pool` how many the file has for it."""

    folder: Path
    others: int
    pool: int

    @property
    def memory(self) -> Path:
        """The memory folder. Open copies of it only."""
        return self.folder / _MEMORY

    @property
    def sessions(self) -> Pool:
        """The sessions in the memory, and as many after them as a haystack may need in place of its own."""
        return Pool(self.folder / _POOL)


def base_for(
    growth: Growth,
    *,
    work: Path,
    settings: Settings,
    embedder: Embedder | None,
    on_progress: Told | None = None,
) -> Base:
    """The base of a growth from the folder `work`, built if it is not there.

    While it is built, `on_progress` is told the number of sessions stored and that to come to.

    Raises:
        InvalidInput: fewer than one session is asked for, or the file has none to add.
        UnreadableFile: the file can not be read.
        StorageError: a session could not be stored whole.
    """
    if growth.others < 1:
        raise InvalidInput(f"A haystack can not be grown by {growth.others} sessions.", way_out="Say 1 or more.")
    require_format(growth.data, "longmemeval")
    made_from = _made_from(growth, settings, None if embedder is None else embedder.name)
    folder = work / "grown" / hashlib.sha256(made_from.encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not (folder / _DESCRIPTION).exists():
            building = folder.with_name(f"{folder.name}.building")
            shutil.rmtree(building, ignore_errors=True)
            pool = _write_pool(building, growth)
            _fill(building, min(growth.others, pool), settings, embedder, on_progress or _nobody)
            (building / _DESCRIPTION).write_text(json.dumps({"pool": pool, **json.loads(made_from)}, indent=2) + "\n")
            building.rename(folder)
    pool = json.loads((folder / _DESCRIPTION).read_text())["pool"]
    return Base(folder=folder, others=growth.others, pool=pool)


def hasty(settings: Settings) -> Settings:
    """The same settings, without waiting for the disk: what a power loss takes from a base or a copy is made anew."""
    hasty = settings.storage.model_copy(update={"synchronous": "NORMAL"})
    return verbatim(settings.model_copy(update={"storage": hasty}))


def _made_from(growth: Growth, settings: Settings, model: str | None) -> str:
    """Everything that a base depends on, as JSON."""
    with growth.data.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    told = {
        "version": __version__,
        "data": {"name": growth.data.name, "bytes": growth.data.stat().st_size, "sha256": digest},
        "others": growth.others,
        "seed": growth.seed,
        "model": model,
        "settings": settings.model_dump(mode="json", exclude=_ASIDE),
    }
    return json.dumps(told, sort_keys=True)


def _write_pool(building: Path, growth: Growth) -> int:
    """Put the sessions that are needed of the pool on disk; how many it has."""
    found = survey(growth.data, growth.seed)
    if not found.order:
        raise InvalidInput(
            f"{growth.data} has no sessions to grow haystacks by.",
            way_out="Name a file with 'haystack_session_ids', and sessions that are evidence for no question.",
        )
    building.mkdir()
    # A haystack replaces what it has itself: that many more are needed at most.
    write_pool(building / _POOL, read_pool(growth.data, found, growth.others + found.longest))
    return len(found.order)


def _fill(building: Path, total: int, settings: Settings, embedder: Embedder | None, told: Told) -> None:
    from langmem_tiers.memory import Memory

    waiting = Pool(building / _POOL).sessions(0, total)
    done = rejected = 0
    told(done, total)
    choices = hasty(settings)
    with Memory.open(building / _MEMORY, embedder=embedder, settings=choices, background=False) as memory:
        track, space = through_track_node(memory), memory.space(SPACE)
        while portion := list(islice(waiting, _PORTION)):
            report = import_conversations(portion, track=track, space=SPACE)
            space.flush()
            done, rejected = done + len(portion), rejected + len(report.rejected)
            told(done, total)
        finish(space, rejected)


def _nobody(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""
