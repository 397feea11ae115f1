"""The reads of a batch: items, searches and listings, all of one moment of each space."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from langgraph.store.base import GetOp, Item, ListNamespacesOp, Op, Result, SearchOp

from langmem_tiers.background.noting import embed_due
from langmem_tiers.clock import to_millis
from langmem_tiers.integrations.store import looking
from langmem_tiers.integrations.store.looking import Asked, Looks
from langmem_tiers.integrations.store.naming import TIERS, Namespace, Places
from langmem_tiers.integrations.store.tiers import Tiers
from langmem_tiers.recall.query import parse
from langmem_tiers.storage.folder import has_space
from langmem_tiers.storage.items import ItemRow, Place

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Carries out the reads among some ops; `refreshed` says whose time begins anew by it, by space."""

    memory: "Memory"
    places: Places
    tiers: Tiers
    omit_expired: bool
    refreshed: defaultdict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))

    def results(self, ops: Sequence[Op]) -> list[Result]:
        """What each op gives, in their order; a write gives None."""
        asked = {op.query: self._asked(op) for op in ops if isinstance(op, SearchOp) and _is_query(op)}
        alive_at = to_millis(self.memory.clock()) if self.omit_expired else None
        with Looks(self.memory, alive_at) as looks:
            return [self._result(op, looks, asked) for op in ops]

    def _asked(self, op: SearchOp) -> Asked:
        """The query, once what it may find has its vectors."""
        query, memory = parse(op.query or "", 0), self.memory
        wanted = self.places.spaces(tuple(op.namespace_prefix))
        names = [name for name in (memory.spaces() if wanted is None else wanted) if has_space(memory.path, name)]
        batch = memory.settings.storage.embed_batch
        for name in names:
            with memory.use(name) as store:
                embed_due(store.database, memory.embedder_of(name), memory.clock, batch)
        counted = memory.embedder_of(names[0]) if names else None
        return Asked(query, counted.query(query.text)[0] if counted else None)

    def _result(self, op: Op, looks: Looks, asked: dict[str | None, Asked]) -> Result:
        if isinstance(op, GetOp):
            return self._get(op, looks)
        if isinstance(op, SearchOp):
            if op.namespace_prefix[:1] == (TIERS,):
                return self.tiers.search(op)
            every = looks.each(self.places.spaces(tuple(op.namespace_prefix)))
            found = looking.page((one for look in every for one in looking.search(look, op, asked.get(op.query))), op)
            self._read(((each.space, each.row) for each in found), refresh=op.refresh_ttl)
            return [each.told() for each in found]
        if isinstance(op, ListNamespacesOp):
            return looking.namespaces(looks.each(self.places.spaces(_begins(op))), op)
        return None

    def _get(self, op: GetOp, looks: Looks) -> Item | None:
        if not op.namespace:
            return None
        if op.namespace[0] == TIERS:
            return self.tiers.get(op.namespace, op.key)
        look = looks.at(self.places.space(op.namespace))
        row = None if look is None else look.item((".".join(op.namespace), op.key))
        if look is None or row is None:
            return None
        self._read([(look.name, row)], refresh=op.refresh_ttl)
        return looking.told(row)

    def _read(self, found: Iterable[tuple[str, ItemRow]], *, refresh: bool) -> None:
        for name, row in found:
            if refresh and row.ttl is not None:
                self.refreshed[name].append(row.place)


def _is_query(op: SearchOp) -> bool:
    return bool((op.query or "").strip()) and op.namespace_prefix[:1] != (TIERS,)


def _begins(op: ListNamespacesOp) -> Namespace:
    """What all namespaces of a listing begin with."""
    prefixes = (tuple(each.path) for each in op.match_conditions or () if each.match_type == "prefix")
    return max(prefixes, key=len, default=())
