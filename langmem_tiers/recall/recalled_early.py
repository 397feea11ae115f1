"""What a recall gives before its receipt is stored."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import Any

from langmem_tiers.types import Recalled, Receipt


class RecalledEarly(Recalled):
    """What a recall gives while its receipt is still being stored; whoever looks at that waits for it."""

    __slots__ = ("_kept", "so_far")

    so_far: Receipt
    _kept: Future[Receipt]

    def __init__(self, given: Recalled, kept: Future[Receipt]) -> None:
        of_given = {"block": given.block, "items": given.items, "known": given.known}
        for name, value in {**of_given, "so_far": given.receipt, "_kept": kept}.items():
            object.__setattr__(self, name, value)

    @property
    def receipt(self) -> Receipt:
        """The receipt, as soon as it is stored; without a number if it could not be."""
        return self._kept.result()

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(Recalled, block=self.block, items=self.items, receipt=self.receipt, known=self.known)
        return made, ()


def receipt_so_far(recalled: Recalled) -> Receipt:
    """The receipt as it is by now; without a number while it is being stored."""
    return recalled.so_far if isinstance(recalled, RecalledEarly) else recalled.receipt
