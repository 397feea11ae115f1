"""Which drawers contain a word: FTS5's answers, cached between recalls and in sync with the log.

FTS5 rereads a common word's list for every query, which takes most of a recall's time in a large space.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection

from langmem_tiers.matching import Held, Numbers
from langmem_tiers.storage import change_log, keyword
from langmem_tiers.storage.change_log import Change, Moment

# A word in more drawers than this says little, and is left out if another one says more.
_COMMON = 50_000
# Numbers kept in memory, all words together; 8 bytes each.
_KEPT = 4_000_000
# Overhead of a list, counted in numbers.
_LIST = 40
_NONE: Numbers = np.zeros(0, np.int64)
_KINDS: set[change_log.Kind] = {"drawers.added", "drawers.filed", "room.refiled", "keyword.rebuilt"}


class Postings:
    """Answers which drawers contain a word; drawers superseded in the meantime may be among them.

    Lists are kept up to the last drawer that has been filed in a closet, when the index has its category words.
    A word in `common` drawers or more is left out if others say more; about `kept` numbers stay in memory.
    """

    def __init__(self, space: str, *, common: int = _COMMON, kept: int = _KEPT) -> None:
        self._space = space
        self._common = common
        self._kept = kept
        self._position = 0
        self._filed = 0
        self._newest = 0
        self._lists: OrderedDict[str, Held] = OrderedDict()
        self._upto: dict[str, int] = {}
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many words have their list in memory."""
        return len(self._lists)

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        """For each of the first 32 terms, the drawers that contain it, ascending; and how many drawers there are.

        A word that very many drawers contain is left out if others say more.
        """
        with self._lock:
            held = self._held if self._refresh(moment) else self._read
            found = [held(moment.connection, term) for term in terms[: keyword.MOST_TERMS]]
            total = self._newest
        telling = [held for held in found if _length(held) < self._common]
        return (telling if any(map(_length, telling)) else found), total

    def _refresh(self, moment: Moment) -> bool:
        """Follow the log; False if this moment is older than the one already reached."""
        if moment.head > self._position:
            for change in change_log.follow(moment, self._space, after=self._position, kinds=_KINDS):
                self._follow(change)
            self._position = moment.head
        return moment.head == self._position

    def _follow(self, change: Change) -> None:
        if change.kind == "drawers.filed":
            self._filed = max(self._filed, change.until)
        elif change.kind == "drawers.added" and change.subject > self._newest:
            self._newest = change.until
        else:  # an old drawer was reinstated, or got other words
            self._lists.clear()
            self._upto.clear()
            self._size = 0

    def _held(self, connection: Connection, term: str) -> Held:
        kept = self._settled(connection, term)
        if _length(kept) >= self._common or self._newest <= self._filed:
            return kept
        tail = self._between(connection, term, self._filed, self._newest)
        return _joined(kept, tail) if _length(tail) else kept

    def _settled(self, connection: Connection, term: str) -> Held:
        """The lists of the filed drawers, brought up to date."""
        kept = self._lists.pop(term, None)
        if kept is None:
            kept = (_NONE, _NONE)
            self._size += _LIST
        upto = self._upto.get(term, 0)
        if upto < self._filed and _length(kept) < self._common:
            new = self._between(connection, term, upto, self._filed)
            kept = _joined(kept, new)
            self._size += _length(new)
        self._lists[term], self._upto[term] = kept, self._filed
        self._forget()
        return kept

    def _forget(self) -> None:
        """Evict the least recently used lists."""
        while self._size > self._kept and len(self._lists) > 1:
            oldest, held = self._lists.popitem(last=False)
            del self._upto[oldest]
            self._size -= _length(held) + _LIST

    def _read(self, connection: Connection, term: str) -> Held:
        """The lists as the index has them at the connection's moment."""
        return self._between(connection, term, 0, self._newest)

    def _between(self, connection: Connection, term: str, after: int, upto: int) -> Held:
        return keyword.drawers.holding_between(connection, term, after=after, upto=upto, most=self._common)


def _length(held: Held) -> int:
    return len(held[0]) + len(held[1])


def _joined(kept: Held, new: Held) -> Held:
    return np.concatenate([kept[0], new[0]]), np.concatenate([kept[1], new[1]])
