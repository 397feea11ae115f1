"""Keeping a receipt: with the reply, or behind it where somebody else is writing, so that no reply waits for that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import DatabaseLocked, MemoryTiersError
from langmem_tiers.recall import derived_hits
from langmem_tiers.storage import drawers, purging, receipts
from langmem_tiers.storage.calls import RecallCall, UnstoredRecall
from langmem_tiers.storage.database import room_for
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

    `stores` are those that the recall read, the space itself first, and `deletions` say by name how often something had
    been deleted in each when it began. A receipt of the same call is only given again if it is `repeatable`.
    """

    def __init__(
        self,
        context: SpaceContext,
        stores: Sequence[SpaceStore],
        kept: KeptRecall,
        call: RecallCall,
        *,
        deletions: Mapping[str, int],
        after: int | None,
        repeatable: Callable[[KeptRecall], bool],
    ) -> None:
        super().__init__(call, kept, deletions=deletions)
        self._most = context.settings.storage.receipts_kept
        self._store, *self._others = stores
        self._after = after
        self._repeatable = repeatable
        self._open = ExitStack()
        self._outcome: Future[Receipt] = Future()
        self._result: int | KeptRecall | None = None
        self._began = perf_counter()

    def at_once(self) -> int | KeptRecall | None:
        """Its number, or the recall of the same call that was stored first.

        None if something was deleted since the recall began: the block may hold it, and is not to be stored after that.

        Raises:
            DatabaseLocked: somebody else writes, or receipts from before are still to be stored.
            DiskFull: nothing was stored.
        """
        if self._store.database.writers.later.waiting():
            raise DatabaseLocked("The memory is locked: earlier receipts wait for that.")
        # Of several databases; within one, no second connection is needed.
        databases = {each.database.connections: each.database for each in (self._store, *self._others)}
        with room_for([*databases.values()]), self._store.writing(durable=False, hurried=True) as connection:
            self.write(connection)
        return self._result

    def later(self, still_open: ExitStack) -> Future[Receipt]:
        """The receipt, stored as soon as nobody else writes; what keeps the stores open is closed then."""
        writers = self._store.database.writers
        if writers.is_mine():  # it would wait for itself
            self.failed(DatabaseLocked("The memory is locked by this thread."))
        else:
            self._open = still_open.pop_all()
            writers.later.add(self)
        return self._outcome

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction in which it can be stored."""
        return self._store.writing(durable=False)

    def write(self, connection: Connection) -> None:
        """Store it in a transaction, unless the same call was stored first, or something was deleted."""
        self._result = None
        if any(_deletions_of(other, connection) != self.deletions[other.name] for other in self._others):
            return
        key, call, kept, after = self._store.key, self.call, self.kept, self._after
        deletions = self.deletions[self._store.name]
        put = partial(receipts.put, connection, key, kept, query_hash=call.query_hash, deletions=deletions)
        while (number := put(after=after, most=self._most)) is None:
            same = receipts.same_call(connection, key, call.session, call.same, call.query_hash)
            if same is None or same.receipt.number == after:
                return
            if self._repeatable(same):
                self._result = same
                return
            after = same.receipt.number
        mine = [which for space, which, _, _ in kept.shown if space == self._store.name]
        at = to_millis(kept.receipt.at)
        drawers.count_recalled(connection, key, [which for which in mine if isinstance(which, int)], at)
        derived_hits.count_recalled(connection, key, [which for which in mine if isinstance(which, str)], at)
        self._result = number

    def written(self) -> None:
        """It was committed."""
        spent = {"store": round((perf_counter() - self._began) * 1000, 3)}
        self._outcome.set_result(with_outcome(self.kept.receipt, self._result, spent))

    def failed(self, error: Exception) -> None:
        """It could not be stored, which the receipt says; what was found is worth more than a record of it."""
        why = error if isinstance(error, MemoryTiersError) else None
        told: dict[str, Any] = {"error": error, "reason": why, "trace": error if why is None else False}
        say(log, logging.WARNING, "receipt_not_kept", space=self._store.name, **told)
        if why is None:
            self._outcome.set_exception(error)
        else:
            self._outcome.set_result(without_number(self.kept.receipt, why.message))

    def release(self) -> None:
        """Let the stores be closed."""
        self._open.close()


def _deletions_of(store: SpaceStore, beside: Connection) -> int:
    with store.database.beside(beside) as connection:
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
