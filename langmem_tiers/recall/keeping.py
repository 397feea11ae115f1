"""Keeping a receipt: with the reply, or behind it where somebody else is writing, so that no reply waits for that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import DatabaseLocked, DiskFull, MemoryTiersError
from langmem_tiers.recall import derived_hits
from langmem_tiers.storage import drawers, purging, receipts
from langmem_tiers.storage.calls import RecallCall, UnstoredRecall
from langmem_tiers.storage.receipts import KeptRecall
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import Receipt

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

log = logging.getLogger(__name__)

_NOT_KEPT = "no receipt was kept: "
_DELETED = "something was deleted during this recall"


class ReceiptKeeping(UnstoredRecall):
    """A receipt that is to be stored, what the block showed with it, and what counts as recalled by that.

    `deletions` says how often something had been deleted in the space and in each of the `others` when the recall
    began. A receipt of the same call is only given again if it is `repeatable`.
    """

    def __init__(
        self,
        context: SpaceContext,
        store: SpaceStore,
        kept: KeptRecall,
        call: RecallCall,
        *,
        deletions: int,
        others: Mapping[str, int],
        after: int | None,
        repeatable: Callable[[KeptRecall], bool],
    ) -> None:
        super().__init__(call, kept, deletions=None if others else deletions)
        self.outcome: Future[Receipt] = Future()
        self._context, self._store = context, store
        self._deletions, self._others = deletions, others
        self._after = after
        self._repeatable = repeatable

    def at_once(self, stores: Sequence[SpaceStore]) -> int | KeptRecall | None:
        """Its number, or the recall of the same call that was stored first; `stores` are open, of the others.

        None if something was deleted since the recall began: the block may hold it, and is not to be stored after that.

        Raises:
            DatabaseLocked: somebody else writes, or receipts from before are still to be stored.
            DiskFull: nothing was stored.
        """
        if self._store.database.writers.later.waiting():
            raise DatabaseLocked("The memory is locked: earlier receipts wait for that.")
        opened = {store.name: nullcontext(store) for store in stores}
        return self._keep(opened, hurried=True)

    def later(self) -> Future[Receipt]:
        """The receipt, stored as soon as nobody else writes."""
        writers = self._store.database.writers
        if writers.is_mine():  # it would wait for itself
            self._failed(DatabaseLocked("The memory is locked by this thread."))
        else:
            writers.later.add(self)
        return self.outcome

    def write(self) -> None:
        """Store it, or say in the receipt why not."""
        before = perf_counter()
        try:
            opened = {each.name: each.open() for each in self._context.sources() if each.name in self._others}
            done = self._keep(opened, hurried=False)
        except Exception as error:  # noqa: BLE001 - not swallowed: it is raised by whoever looks at the receipt
            self._failed(error)
            return
        spent = {"store": round((perf_counter() - before) * 1000, 3)}
        self.outcome.set_result(with_outcome(self.kept.receipt, done, spent))

    def _failed(self, error: Exception) -> None:
        why = error if isinstance(error, MemoryTiersError) else None
        told: dict[str, Any] = {"error": error, "reason": why, "trace": why is None}
        say(log, logging.WARNING, "receipt_not_kept", space=self._store.name, **told)
        if isinstance(error, DatabaseLocked | DiskFull):  # what was found is worth more than a record of it
            self.outcome.set_result(without_number(self.kept.receipt, error.message))
        else:
            self.outcome.set_exception(error)

    def _keep(
        self, others: Mapping[str, AbstractContextManager[SpaceStore]], *, hurried: bool
    ) -> int | KeptRecall | None:
        key, call, kept, after = self._store.key, self.call, self.kept, self._after
        most = self._context.settings.storage.receipts_kept
        with self._store.writing(durable=False, hurried=hurried) as connection:
            if any(name not in others or _deletions_of(others[name]) != count for name, count in self._others.items()):
                return None
            put = partial(receipts.put, connection, key, kept, query_hash=call.query_hash, deletions=self._deletions)
            while (number := put(after=after, most=most)) is None:
                same = receipts.same_call(connection, key, call.session, call.same, call.query_hash)
                if same is None:
                    return None
                if self._repeatable(same):
                    return same
                if same.receipt.number == after:
                    return None
                after = same.receipt.number
            mine = [which for space, which, _, _ in kept.shown if space == self._store.name]
            at = to_millis(kept.receipt.at)
            drawers.count_recalled(connection, key, [which for which in mine if isinstance(which, int)], at)
            derived_hits.count_recalled(connection, key, [which for which in mine if isinstance(which, str)], at)
        return number


def _deletions_of(opened: AbstractContextManager[SpaceStore]) -> int:
    with opened as store, store.reading() as connection:
        return purging.wanted(connection, store.key)


def with_outcome(receipt: Receipt, kept: int | KeptRecall | None, spent: Mapping[str, float]) -> Receipt:
    """The receipt after it was stored, that of the same call that was stored first, or the one that was not stored."""
    if kept is None:
        return without_number(receipt, _DELETED)
    total = receipt.timings.get("total", 0.0) + sum(spent.values())
    timings = {**receipt.timings, **spent, "total": round(total, 3)}
    if isinstance(kept, KeptRecall):
        return replace(kept.receipt, verdict="repeated", timings=timings)
    return replace(receipt, number=kept, timings=timings)


def without_number(receipt: Receipt, why: str) -> Receipt:
    """The receipt of a recall that left none."""
    return replace(receipt, notes=(*receipt.notes, f"{_NOT_KEPT}{why}"))
