"""One commit for several writers: whoever comes while another one writes waits, and is written with the others."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from langmem_tiers.storage.items import NewItem, Place


@dataclass(kw_only=True)
class Changes:
    """What is to be done in one space."""

    puts: list[NewItem] = field(default_factory=list)
    drops: list[Place] = field(default_factory=list)
    refreshed: list[Place] = field(default_factory=list)

    @property
    def written(self) -> set[Place]:
        """The places of what is written or deleted."""
        return {(each.namespace, each.key) for each in self.puts} | set(self.drops)


Commit = Callable[[Changes], None]
"""Writes changes into their space, in one transaction."""


@dataclass(eq=False)
class _Writer:
    """A caller that waits; when it is `called`, it is done, or has to write for itself and the others."""

    changes: Changes
    called: threading.Event = field(default_factory=threading.Event)
    done: bool = False
    error: BaseException | None = None


class SharedCommits:
    """The writers of each space, by its name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[_Writer]] = {}  # there is a list while somebody writes

    def write(self, space: str, changes: Changes, commit: Commit) -> None:
        """Commit changes, with those of others that wait as well; raises what only these changes are to blame for."""
        mine = _Writer(changes)
        with self._lock:
            alone = space not in self._waiting
            self._waiting.setdefault(space, []).extend([] if alone else [mine])
        if alone:
            try:
                commit(changes)
            finally:
                self._pass_on(space)
            return
        self._wait(space, mine)
        if not mine.done:
            self._write_all(space, commit)
        if mine.error is not None:
            raise mine.error

    def _wait(self, space: str, mine: _Writer) -> None:
        try:
            mine.called.wait()
        except BaseException:  # an interrupt: nobody else may wait for this caller
            with self._lock:
                waiting = self._waiting.get(space, [])
                is_next = mine in waiting and mine.called.is_set()
                if mine in waiting:
                    waiting.remove(mine)
            if is_next:
                self._pass_on(space)
            raise

    def _write_all(self, space: str, commit: Commit) -> None:
        together = self._next(space)
        try:
            _commit(together, commit)
        finally:
            with self._lock:  # after an interrupt, the others are still to be written
                self._waiting[space][:0] = [each for each in together[1:] if not each.done]
            for each in together:
                if each.done:
                    each.called.set()
            self._pass_on(space)

    def _next(self, space: str) -> list[_Writer]:
        """The first of those that wait, up to one that writes to the same place as another."""
        with self._lock:
            waiting, together, taken = self._waiting[space], list[_Writer](), set[Place]()
            while waiting and taken.isdisjoint(waiting[0].changes.written):
                together.append(waiting.pop(0))
                taken |= together[-1].changes.written
        return together

    def _pass_on(self, space: str) -> None:
        """Call the first of those that wait to write, or note that nobody writes."""
        with self._lock:
            if self._waiting[space]:
                self._waiting[space][0].called.set()
            else:
                del self._waiting[space]


def _commit(together: list[_Writer], commit: Commit) -> None:
    """Commit all at once; if that fails, one by one, so that each has its own error."""
    if len(together) > 1:
        with suppress(Exception):  # whoever is to blame gets it below
            commit(_joined([each.changes for each in together]))
            for each in together:
                each.done = True
            return
    for each in together:
        try:
            commit(each.changes)
        except Exception as error:  # noqa: BLE001 - raised by the caller whose it is
            each.error = error
        each.done = True


def _joined(several: list[Changes]) -> Changes:
    return Changes(
        puts=[one for each in several for one in each.puts],
        drops=[one for each in several for one in each.drops],
        refreshed=[one for each in several for one in each.refreshed],
    )
