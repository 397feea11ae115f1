"""A LangGraph store over the memory: one batch of operations after the other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from langchain_core.runnables.config import ensure_config
from langgraph.store.base import (
    NOT_PROVIDED,
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from langmem_tiers import arguments
from langmem_tiers.access import NOBODY
from langmem_tiers.background.embedding import embed_notes_now
from langmem_tiers.background.expiry import ITEMS, ExpiryJob
from langmem_tiers.clock import to_millis
from langmem_tiers.graphs.identity import agent_of, current_runtime, in_a_run, owner_of
from langmem_tiers.graphs.node import memory_of
from langmem_tiers.integrations.store import checks, values
from langmem_tiers.integrations.store.caller import Caller
from langmem_tiers.integrations.store.naming import TIERS, USERS, Namespace, Places, SpaceOf, part, told
from langmem_tiers.integrations.store.shared_commits import Changes, SharedCommits
from langmem_tiers.integrations.store.tiers import Tiers
from langmem_tiers.integrations.store.values import Asked, Looks
from langmem_tiers.recall.request import parse
from langmem_tiers.storage import items, purging
from langmem_tiers.storage.items import ItemRow, NewItem, Place
from langmem_tiers.threads import to_thread

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory


_Item = TypeVar("_Item", bound=Item | None)
Index = Literal[False] | list[str] | None
Ttl = float | NotProvided | None


class FrontDoor(BaseStore):
    """A store that accepts user ids as they are; each method is as in `BaseStore`."""

    places: Places

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item of a key, None if there is none."""
        return _named(super().get(self._whole(namespace), _key(key), refresh_ttl=refresh_ttl))

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """`get` in a thread."""
        return _named(await super().aget(self._whole(namespace), _key(key), refresh_ttl=refresh_ttl))

    def search(self, namespace_prefix: Namespace, /, **asked: Any) -> list[SearchItem]:
        """The items in a namespace and below it that fit, best first; without a query, those changed last."""
        return [_named(each) for each in super().search(self._prefix(namespace_prefix), **asked)]

    async def asearch(self, namespace_prefix: Namespace, /, **asked: Any) -> list[SearchItem]:
        """`search` in a thread."""
        return [_named(each) for each in await super().asearch(self._prefix(namespace_prefix), **asked)]

    def put(
        self, namespace: Namespace, key: str, value: Mapping[str, Any], index: Index = None, *, ttl: Ttl = NOT_PROVIDED
    ) -> None:
        """Store an item, in place of what the key held."""
        super().put(self._whole(namespace), _key(key), value, index, ttl=ttl)

    async def aput(
        self, namespace: Namespace, key: str, value: Mapping[str, Any], index: Index = None, *, ttl: Ttl = NOT_PROVIDED
    ) -> None:
        """`put` in a thread."""
        await super().aput(self._whole(namespace), _key(key), value, index, ttl=ttl)

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete an item if there is one."""
        super().delete(self._whole(namespace), _key(key))

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """`delete` in a thread."""
        await super().adelete(self._whole(namespace), _key(key))

    def list_namespaces(
        self, *, prefix: Namespace | None = None, suffix: Namespace | None = None, **asked: Any
    ) -> list[Namespace]:
        """The namespaces that hold anything, in order."""
        ends: dict[str, Any] = {"prefix": prefix and self._prefix(prefix), "suffix": suffix and part(suffix)}
        return [told(each) for each in super().list_namespaces(**ends, **asked)]

    async def alist_namespaces(
        self, *, prefix: Namespace | None = None, suffix: Namespace | None = None, **asked: Any
    ) -> list[Namespace]:
        """`list_namespaces` in a thread."""
        ends: dict[str, Any] = {"prefix": prefix and self._prefix(prefix), "suffix": suffix and part(suffix)}
        return [told(each) for each in await super().alist_namespaces(**ends, **asked)]

    def _whole(self, namespace: Iterable[Any]) -> Namespace:
        return self.places.labelled(namespace, whole=True)

    def _prefix(self, prefix: Iterable[Any]) -> Namespace:
        return self.places.labelled(prefix, whole=False)


def _key(given: Any) -> str:
    """A key as it is given: `BaseStore` would make a text of anything, and file it under "None"."""
    return arguments.text(given, "key")


def _named(item: _Item) -> _Item:
    """The item with its namespace in the words of callers."""
    if item is not None:
        item.namespace = told(item.namespace)
    return item


@dataclass(frozen=True, kw_only=True)
class StoreReads:
    """Carries out the reads among some operations; `refreshed` collects, by space, whose TTL starts over."""

    caller: Caller
    places: Places
    tiers: Tiers
    omit_expired: bool
    refreshed: defaultdict[str, list[Place]] = field(default_factory=lambda: defaultdict(list))

    def results(self, ops: Sequence[Op]) -> list[Result]:
        """The result of each operation, in order; None for a write."""
        asked = {op.query: self._asked(op) for op in ops if isinstance(op, SearchOp) and _is_query(op)}
        alive_at = to_millis(self.caller.memory.clock()) if self.omit_expired else None
        with Looks(self.caller, alive_at) as looks:
            found = {number: self._result(ops[number], looks, asked) for number in self._by_space(ops)}
        return [found[number] for number in range(len(ops))]

    def _by_space(self, ops: Sequence[Op]) -> list[int]:
        """The numbers of the operations, those about one space together: so it is opened once, and seen as it was then.

        Those about the tiers, which open spaces themselves, come first, then those about several spaces.
        """
        return sorted(range(len(ops)), key=lambda number: self._about(ops[number]))

    def _about(self, op: Op) -> tuple[int, str]:
        if isinstance(op, GetOp) and op.namespace and op.namespace[0] != TIERS:
            return 2, self.places.space(op.namespace)
        if isinstance(op, SearchOp) and op.namespace_prefix[:1] != (TIERS,):
            spaces = self.places.spaces(tuple(op.namespace_prefix))
            return (2, spaces[0]) if spaces and len(spaces) == 1 else (1, "")
        return int(isinstance(op, ListNamespacesOp)), ""

    def _asked(self, op: SearchOp) -> Asked:
        """The query, after what it may find has been embedded."""
        query, memory = parse(op.query or "", 0), self.caller.memory
        wanted = self.caller.readable(self.places.spaces(tuple(op.namespace_prefix)))
        there = [context.name for context in wanted if memory.backend.has(context.name)]
        batch = memory.settings.storage.embed_batch
        # Also for those who may only read, the host embeds.
        hosts = [memory.context(name, agent=self.caller.agent) for name in there]
        for host in hosts:
            with host.open() as store:
                embed_notes_now(store.database, host.embedder, memory.clock, batch)
        return Asked(query, hosts[0].embedder.query(query.text)[0] if hosts else None)

    def _result(self, op: Op, looks: Looks, asked: dict[str | None, Asked]) -> Result:
        if isinstance(op, GetOp):
            return self._get(op, looks)
        if isinstance(op, SearchOp):
            if op.namespace_prefix[:1] == (TIERS,):
                return self.tiers.search(op)
            every = looks.each(self.places.spaces(tuple(op.namespace_prefix)))
            found = values.page((one for look in every for one in values.search(look, op, asked.get(op.query))), op)
            self._read(((each.space, each.row) for each in found), refresh=op.refresh_ttl)
            return [each.told() for each in found]
        if isinstance(op, ListNamespacesOp):
            return values.namespaces(looks.each(self.places.spaces(_begins(op))), op)
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
        return values.told(row)

    def _read(self, found: Iterable[tuple[str, ItemRow]], *, refresh: bool) -> None:
        for name, row in found:
            if refresh and row.ttl is not None and self.caller.context(name).role() == "leader":
                self.refreshed[name].append(row.place)


def _is_query(op: SearchOp) -> bool:
    return bool((op.query or "").strip()) and op.namespace_prefix[:1] != (TIERS,)


def _begins(op: ListNamespacesOp) -> Namespace:
    """The prefix of all namespaces in a listing."""
    prefixes = (tuple(each.path) for each in op.match_conditions or () if each.match_type == "prefix")
    return max(prefixes, key=len, default=())


class Writing:
    """Writes items into the spaces of their namespaces, and through the tiers what belongs to them.

    Nothing is written where the caller may not write to one of the spaces, or one of them is off.

    Raises:
        InvalidInput: one cannot be written; nothing was.
    """

    def __init__(
        self, caller: Caller, places: Places, tiers: Tiers, fields: tuple[str, ...] | None, ops: Iterable[PutOp]
    ) -> None:
        self._caller = caller
        self._memory = caller.memory
        self._tiers = tiers
        self._fields = fields
        self._changes: defaultdict[str, Changes] = defaultdict(Changes)
        self._for_tiers: list[PutOp] = []
        for op in {(op.namespace, op.key): op for op in ops}.values():  # of several for one key the last one
            if op.namespace[0] == TIERS:
                tiers.require_writable(op)
                self._for_tiers.append(op)
                continue
            changes = self._changes[places.space(op.namespace)]
            if op.value is None:
                changes.drops.append((".".join(op.namespace), op.key))
            else:
                changes.puts.append(self._new(op, op.value))

    def refresh(self, read: Mapping[str, list[Place]]) -> None:
        """Also restart the TTL of items."""
        for name, places in read.items():
            self._changes[name].refreshed += places

    def run(self, commits: SharedCommits) -> None:
        """Write all of it, together with what others are writing at the same time.

        Raises:
            ReadOnlyForMembers, AccessDenied: the caller may not write to one of the spaces; nothing was written.
            MemoryOff: the settings turn one of them off; nothing was written.
        """
        for name in (*self._changes, *map(self._tiers.space_of, self._for_tiers)):
            self._caller.require_writable(name)
        for name, changes in self._changes.items():
            if changes.puts or self._memory.backend.has(name):
                commits.write(name, changes, partial(self._commit, name))
        for op in self._for_tiers:
            self._tiers.put(op)

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

    def _commit(self, name: str, changes: Changes) -> None:
        at = to_millis(self._memory.clock())
        # A note that something was read may be lost.
        durable = bool(changes.puts or changes.drops)
        with self._caller.context(name).open() as store, store.writing(durable=durable) as connection:
            items.refresh(connection, store.key, changes.refreshed, at)
            if items.drop(connection, store.key, changes.drops, at):
                purging.request(connection, store.key, at=at)
            items.put_all(connection, store.key, changes.puts, at)
        if durable:
            self._memory.wake(name)


class TieredStore(FrontDoor):
    """A `BaseStore` for `graph.compile(store=…)`, `get_store()`, `langgraph.json` and langmem's tools.

    Items of a user live in the database of that user's space, beside what was said. What langmem's tools write there is
    recalled like what is known. Under `("tiers", user, tier)` the tiers can be searched and read: `knowledge`, which
    can also be written, `drawers`, `episodes`, `documents` and `relations`.

    A put is on disk when it returns, and found by the next search. All puts of a batch into one space are one
    transaction, and so are those that come from several threads or tasks while another one is written.

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
        InvalidSettings, InvalidSpace, InvalidInput: an argument cannot be used.

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
        self.memory = memory_of(memory)
        self.places = Places(space_of, shared)
        self.ttl_config = ttl
        checks.ttl_config(ttl)
        self._fields = None if fields is None else arguments.texts(fields, "fields")
        self._commits = SharedCommits()

    def __repr__(self) -> str:
        return f"TieredStore({self.memory!r})"

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of several ops, in their order. Reads see what was there before any of them wrote.

        Raises:
            InvalidNamespaceError, InvalidInput: one cannot be carried out, and none was.
            MemoryOff: one is about a space that is off, or off for the agent of the run; nothing was written.
            StorageError: what goes into one space is written together; spaces before this one are done.
        """
        asked = list(ops)
        for op in asked:
            checks.check(op)
        puts = (op for op in asked if isinstance(op, PutOp))
        # Outside of a run it is the host itself who asks.
        run = ensure_config(), current_runtime()
        whose = owner_of(*run) or NOBODY if in_a_run() else None
        caller = Caller(memory=self.memory, own_space=whose, agent=agent_of(*run))
        tiers = Tiers(caller)
        writing = Writing(caller, self.places, tiers, self._fields, puts)
        omit_expired = bool((self.ttl_config or {}).get("omit_expired"))
        reading = StoreReads(caller=caller, places=self.places, tiers=tiers, omit_expired=omit_expired)
        results = reading.results(asked)
        writing.refresh(reading.refreshed)
        writing.run(self._commits)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a thread."""
        return await to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete what has expired in all spaces that are on. Returns how many items that were."""
        expired = 0
        for context in map(self.memory.context, self.memory.spaces()):
            if context.settings.enabled:
                with context.open() as store:
                    expired += ExpiryJob(context, store).expire(ITEMS)
        return expired
