"""A LangGraph store over the memory: items in the spaces of their users, and the tiers as namespaces."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from langgraph.store.base import Op, PutOp, Result, TTLConfig

from langmem_tiers import arguments
from langmem_tiers.background.sweeping import SweepingPass
from langmem_tiers.integrations.store import checks
from langmem_tiers.integrations.store.front import FrontDoor
from langmem_tiers.integrations.store.naming import USERS, Places, SpaceOf
from langmem_tiers.integrations.store.reading import Reading
from langmem_tiers.integrations.store.tiers import Tiers
from langmem_tiers.integrations.store.writing import Writing

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory


class TieredStore(FrontDoor):
    """A `BaseStore` for `graph.compile(store=…)`, `get_store()`, `langgraph.json` and langmem's tools.

    Items of a user live in the database of that user's space, beside what was said. What langmem's tools write there is
    recalled like what is known. Under `("tiers", user, tier)` the tiers can be searched and read: `knowledge`, which
    can also be written, `drawers`, `episodes`, `documents` and `relations`.

    A put is on disk when it returns, and found by the next search. All puts of a batch into one space are one
    transaction.

    Args:
        memory: The open memory.
        space_of: Where a namespace names its user: a template such as `("memories", "{user}")`, several of them, or a
            function from the namespace to the name of a space (None: the shared one). By default `("memories", user)`,
            `("users", user)` and `(user, "memories")`, whatever follows.
        shared: The space of all other namespaces.
        fields: Paths of what is searched of a value, such as `["title", "messages[*].content"]`; by default all of it.
            `put(..., index=[...])` chooses for one item.
        ttl: As for LangGraph's own stores, in minutes: `default_ttl`, `refresh_on_read`, `omit_expired`. What has
            expired is deleted in the background, or by `sweep_ttl`.

    Raises:
        InvalidSettings, InvalidSpace, InvalidInput: an argument can not be used.

    Example:
        >>> store = TieredStore(memory)
        >>> store.put(("memories", "alice@example.com"), "1", {"content": "Lena lives in Porto."})
        >>> store.search(("memories", "alice@example.com"), query="Where does Lena live?")[0].value
        {'content': 'Lena lives in Porto.'}
    """

    supports_ttl = True

    def __init__(
        self,
        memory: "Memory",
        *,
        space_of: SpaceOf = USERS,
        shared: str = "global",
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        self.memory = checks.memory(memory)
        self.places = Places(space_of, shared)
        self.ttl_config = ttl
        checks.ttl_config(ttl)
        self._fields = None if fields is None else arguments.texts(fields, "fields")
        self._tiers = Tiers(memory)

    def __repr__(self) -> str:
        return f"TieredStore({self.memory!r})"

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of several ops, in their order. Reads see what was there before any of them wrote.

        Raises:
            InvalidNamespaceError, InvalidInput: one can not be carried out, and none was.
            StorageError: what goes into one space is written together; spaces before this one are done.
        """
        asked = list(ops)
        for op in asked:
            checks.check(op)
        puts = (op for op in asked if isinstance(op, PutOp))
        writing = Writing(self.memory, self.places, self._tiers, self._fields, puts)
        omit_expired = bool((self.ttl_config or {}).get("omit_expired"))
        reading = Reading(memory=self.memory, places=self.places, tiers=self._tiers, omit_expired=omit_expired)
        results = reading.results(asked)
        writing.refresh(reading.refreshed)
        writing.run()
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete what has expired, in all spaces; how many items that were."""
        return sum(self._sweep(name) for name in self.memory.spaces())

    def _sweep(self, name: str) -> int:
        with self.memory.use(name) as store:
            return SweepingPass(store, self.memory.clock).sweep()
