"""Undo generated dreams, and compare every table that a dream may change, byte for byte, with what it was before.

Spaces and decisions are made at random from the seed. After each undo the dream is done again and compared as well;
half of them then stay, so that later ones are dreamt on top of earlier ones.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from time import perf_counter

from dream_making import decision, dump, fill, material, opened
from reporting import Row, parser, report, say

from langmem_tiers import Memory
from langmem_tiers.dream import apply, undo
from langmem_tiers.dream.types import DreamReport
from langmem_tiers.store import SpaceStore
from langmem_tiers.testing import FrozenClock

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass
class Counts:
    """What all changesets together came to."""

    dreams: int = 0
    records: int = 0
    undone_same: int = 0
    redone_same: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    applying: float = 0.0
    undoing: float = 0.0
    differ: list[str] = field(default_factory=list)


def main() -> int:
    arguments = parser(__doc__ or "", "dream_undo")
    arguments.add_argument("--dreams", type=int, default=500)
    arguments.add_argument("--each", type=int, default=25, help="dreams of one space before another is made")
    arguments.add_argument("--entries", type=int, default=40, help="entries of a space")
    chosen = arguments.parse_args()
    counts, seed = Counts(), chosen.seed
    while counts.dreams < chosen.dreams:
        run(seed, min(chosen.each, chosen.dreams - counts.dreams), chosen.entries, counts)
        say(f"{counts.dreams} dreams, {counts.undone_same} undone byte for byte")
        seed += 1
    report(f"{counts.dreams} generated dreams undone", [row(counts)], chosen.out)
    return min(len(counts.differ), 1)


def run(seed: int, dreams: int, entries: int, counts: Counts) -> None:
    """Dream in a space of its own, so many times that something changes."""
    rng, clock = random.Random(seed), FrozenClock(START)
    with TemporaryDirectory() as folder, opened(folder, clock) as memory:
        space = memory.user("bench")
        fill(space, rng, size=entries)
        wanted = counts.dreams + dreams
        with memory.use(space.name) as store:
            while counts.dreams < wanted:
                clock.tick(60)
                dream_and_undo(memory, store, rng, counts)


def dream_and_undo(memory: Memory, store: SpaceStore, rng: random.Random, counts: Counts) -> None:
    """One dream that changes something: applied, undone, done again, compared each time."""
    clock, settings, context = memory.clock, memory.settings, memory.context(store.name)
    before = dump(store)
    seen = material(store, clock())
    draft = DreamReport.begun(store.name, clock()).but(decision=decision(store, seen, rng))
    started = perf_counter()
    applied = apply.apply(store, seen, draft, settings, clock())
    counts.applying += perf_counter() - started
    if not applied.records:
        fill_up(memory, rng)
        return
    after = dump(store)
    started = perf_counter()
    undo.undo(context, draft.id)
    counts.undoing += perf_counter() - started
    undone = list(_differ(before, dump(store)))
    undo.redo(context, draft.id)
    redone = list(_differ(after, dump(store)))
    counts.dreams += 1
    counts.records += len(applied.records)
    counts.kinds.update(each.kind for each in applied.report.decision.accepted)
    counts.undone_same += not undone
    counts.redone_same += not redone
    counts.differ += undone + redone
    if rng.random() < 0.5:
        undo.undo(context, draft.id)


def fill_up(memory: Memory, rng: random.Random) -> None:
    """More to dream of, where a space has run out of it."""
    fill(memory.user("bench"), rng, size=6)


def _differ(here: dict[str, list[tuple[object, ...]]], there: dict[str, list[tuple[object, ...]]]) -> Iterator[str]:
    return (name for name, rows in here.items() if rows != there[name])


def row(counts: Counts) -> Row:
    return {
        "dreams": counts.dreams,
        "rows changed": counts.records,
        "undone byte for byte": counts.undone_same,
        "share": counts.undone_same / counts.dreams,
        "done again byte for byte": counts.redone_same,
        "ms to apply": 1000 * counts.applying / counts.dreams,
        "ms to undo": 1000 * counts.undoing / counts.dreams,
        "kinds": ", ".join(f"{kind} {count}" for kind, count in counts.kinds.most_common()),
        "tables that differed": ", ".join(sorted(set(counts.differ))) or "none",
    }


if __name__ == "__main__":
    sys.exit(main())
