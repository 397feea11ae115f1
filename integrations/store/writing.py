"""The writes of a batch: made ready before anything is written, then one transaction for each space."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langgraph.store.base import PutOp

from langmem_tiers.clock import to_millis
from langmem_tiers.integrations.store import checks, values
from langmem_tiers.integrations.store.naming import TIERS, Places
from langmem_tiers.integrations.store.tiers import Tiers
from langmem_tiers.storage import items
from langmem_tiers.storage.folder import has_space
from langmem_tiers.storage.items import NewItem, Place

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory


@dataclass(kw_only=True)
class _Changes:
    """What is to be done in one space."""

    puts: list[NewItem] = field(default_factory=list)
    drops: list[Place] = field(default_factory=list)
    refreshed: list[Place] = field(default_factory=list)


class Writing:
    """Writes items into the spaces of their namespaces, and what is for the tiers through these.

    Raises:
        InvalidInput: one can not be written; nothing was.
    """

    def __init__(
        self, memory: "Memory", places: Places, tiers: Tiers, fields: tuple[str, ...] | None, ops: Iterable[PutOp]
    ) -> None:
        self._memory = memory
        self._tiers = tiers
        self._fields = fields
        self._changes: defaultdict[str, _Changes] = defaultdict(_Changes)
        self._for_tiers: list[PutOp] = []
        for op in {(op.namespace, op.key): op for op in ops}.values():  # of several for one key the last one
            if op.namespace[0] == TIERS:
                tiers.require_writable(op)
                self._for_tiers.append(op)
            else:
                self._take(self._changes[places.space(op.namespace)], op)

    def refresh(self, read: Mapping[str, list[Place]]) -> None:
        """Let the time of items begin anew, too."""
        for name, places in read.items():
            self._changes[name].refreshed += places

    def run(self) -> None:
        """Write all of it."""
        for name, changes in self._changes.items():
            if changes.puts or has_space(self._memory.path, name):
                self._run(name, changes)
        for op in self._for_tiers:
            self._tiers.put(op)

    def _take(self, changes: _Changes, op: PutOp) -> None:
        if op.value is None:
            changes.drops.append((".".join(op.namespace), op.key))
        else:
            changes.puts.append(self._new(op, op.value))

    def _new(self, op: PutOp, value: Mapping[str, Any]) -> NewItem:
        settings = self._memory.settings
        text = values.dumped(value, op.key, settings)
        plain, index = values.loaded(text), op.index
        return NewItem(
            namespace=".".join(op.namespace),
            key=op.key,
            value=text,
            texts=() if index is False else values.pieces(plain, index, self._fields, settings),
            recalled=values.is_memory(plain),
            ttl=checks.milliseconds(op.ttl),
        )

    def _run(self, name: str, changes: _Changes) -> None:
        at = to_millis(self._memory.clock())
        # That something was read is no memory.
        durable = bool(changes.puts or changes.drops)
        with self._memory.use(name) as store, store.writing(durable=durable) as connection:
            items.refresh(connection, store.key, changes.refreshed, at)
            items.drop(connection, store.key, changes.drops, at)
            for new in changes.puts:
                items.put(connection, store.key, new, at)
        if durable:
            self._memory.wake(name)
