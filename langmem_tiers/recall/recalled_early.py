"""What a recall gives before its receipt is stored."""

from __future__ import annotations

import os
from concurrent.futures import Future
from functools import partial
from typing import Any

from langmem_tiers.types import Recalled, Receipt


class RecalledEarly(Recalled):
    """What a recall gives while its receipt is still being stored; whoever looks at that waits for it."""

    __slots__ = ("_kept", "_process", "so_far")
    so_far: Receipt
    _kept: Future[Receipt] | None
    _process: int

    def __init__(self, *, receipt: Receipt, kept: Future[Receipt] | None = None, **given: Any) -> None:
        of_receipt = {"so_far": receipt, "_kept": kept, "_process": os.getpid()}
        for name, value in {"known": (), **given, **of_receipt}.items():
            object.__setattr__(self, name, value)

    @property
    def receipt(self) -> Receipt:
        """The receipt, as soon as it is stored; without a number if it could not be."""
        # In a forked child, nobody stores it.
        return self.so_far if self._kept is None or os.getpid() != self._process else self._kept.result()

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(Recalled, block=self.block, items=self.items, receipt=self.receipt, known=self.known)
        return made, ()


def early(given: Recalled, kept: Future[Receipt]) -> Recalled:
    """What is given, with a receipt that is on its way."""
    of_given = {"block": given.block, "items": given.items, "known": given.known}
    return RecalledEarly(receipt=given.receipt, kept=kept, **of_given)


def receipt_so_far(recalled: Recalled) -> Receipt:
    """The receipt as it is by now; without a number while it is being stored."""
    return recalled.so_far if isinstance(recalled, RecalledEarly) else recalled.receipt
