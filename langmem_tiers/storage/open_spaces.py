"""The spaces that are open: a few at a time, the least recently used closed first, never one that is in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from langmem_tiers.errors import MemoryClosed
from langmem_tiers.storage.store import SpaceStore


@dataclass
class _Slot:
    """A space, opened by the first who asks; others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    store: SpaceStore | None = None
    users: int = 0


class OpenSpaces:
    """Gives out open spaces; `most` may be exceeded while more than that many are in use."""

    def __init__(self, open_space: Callable[[str], SpaceStore], most: int) -> None:
        self._open_space = open_space
        self._most = most
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def use(self, name: str) -> Iterator[SpaceStore]:
        """The open space, kept open during the block.

        Raises:
            MemoryClosed: `close` was called.
        """
        slot = self._taken(name)
        try:
            with slot.lock:
                if slot.store is None:
                    slot.store = self._open_space(name)
            yield slot.store
        finally:
            self._give_back(name, slot)

    def close(self) -> None:
        """Close all spaces; those in use are closed when they are given back."""
        with self._lock:
            self._closed = True
            idle = self._drop_idle(most=0)
        _close(idle)

    def require_open(self) -> None:
        """Nothing, while `close` was not called.

        Raises:
            MemoryClosed: it was.
        """
        if self._closed:
            raise MemoryClosed("This memory is closed.")

    def _taken(self, name: str) -> _Slot:
        with self._lock:
            self.require_open()
            slot = self._slots.setdefault(name, _Slot())
            self._slots.move_to_end(name)
            slot.users += 1
            return slot

    def _give_back(self, name: str, slot: _Slot) -> None:
        with self._lock:
            slot.users -= 1
            if slot.store is None and slot.users == 0:
                self._slots.pop(name, None)
            idle = self._drop_idle(0 if self._closed else self._most)
        _close(idle)

    def _drop_idle(self, most: int) -> list[SpaceStore]:
        """Take out the least recently used spaces that nobody uses, until `most` are left."""
        dropped: list[SpaceStore] = []
        for name, slot in list(self._slots.items()):
            if len(self._slots) <= most:
                break
            if slot.users == 0:
                del self._slots[name]
                if slot.store is not None:
                    dropped.append(slot.store)
        return dropped


def _close(stores: list[SpaceStore]) -> None:
    for store in stores:
        store.close()
