"""A dream from its beginning to its report: the two ways to go through its steps.

    gather -> consolidate -> preferences -> synthesize -> graph -> gate -> commit

Each step takes the state of a dream and gives the next one (`steps`), so that another process goes on from there, and
what was committed is not committed again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from langmem_tiers.dream.state import begun, report_of
from langmem_tiers.dream.steps import STEPS, Dreaming
from langmem_tiers.dream.types import DreamReport, Trigger
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.telemetry import tracing

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory


def dream(memory: Memory, space_name: str, *, trigger: Trigger = "hand", dry_run: bool = False) -> DreamReport:
    """Have a space dream, and wait for it; `skipped` where another dream of it is under way.

    Raises:
        LeaseLost: it took so long that another dream has begun; nothing was written.
        StorageError: nothing was written.
    """
    with tracing.step("dream", space_name), memory.use(space_name) as store:
        dreaming = Dreaming(memory, store)
        state = begun(memory, space_name, trigger=trigger, dry_run=dry_run)
        try:
            for name in STEPS:
                state = dreaming.step(name, state)
        finally:
            dreaming.release(state)
    return report_of(state)


async def adream(memory: Memory, space_name: str, *, trigger: Trigger = "hand", dry_run: bool = False) -> DreamReport:
    """`dream`, while the event loop goes on."""
    with tracing.step("dream", space_name):
        async with opened(memory, space_name) as store:
            dreaming = Dreaming(memory, store)
            state = begun(memory, space_name, trigger=trigger, dry_run=dry_run)
            try:
                for name in STEPS:
                    state = await dreaming.astep(name, state)
            finally:
                await asyncio.to_thread(dreaming.release, state)
    return report_of(state)


@asynccontextmanager
async def opened(memory: Memory, space_name: str) -> AsyncIterator[SpaceStore]:
    """`Memory.use`, while the event loop goes on."""
    held = memory.use(space_name)
    store = await asyncio.to_thread(held.__enter__)
    try:
        yield store
    finally:
        await asyncio.to_thread(held.__exit__, None, None, None)
