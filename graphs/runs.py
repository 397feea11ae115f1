"""How runs of memory nodes are described and traced, and what the memory does meanwhile on the custom stream."""

from abc import abstractmethod
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.runtime import Runtime

from langmem_tiers.graphs.identity import current_runtime
from langmem_tiers.naming import space_mark
from langmem_tiers.storage import activities
from langmem_tiers.threads import to_thread

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space


TAGS = ("langmem-tiers", "memory")
"""Tags of every run of the memory, along with the name of its step."""


def described(
    memory: "Memory", step: str, config: RunnableConfig | None = None, *, space: str | None = None
) -> RunnableConfig:
    """The config of a run, tagged as a step of the memory.

    The metadata have `memory_step`, and of a known space `memory_space`: its mark, or its name where
    `Settings.telemetry.space_names` allows for it.

    Args:
        memory: whose step it is.
        step: its kind, such as "recall".
        config: the run's own, which stays as it is.
        space: the name of the space that it works on.
    """
    about: dict[str, Any] = {"memory_step": step}
    if space is not None:
        about["memory_space"] = space if memory.settings.telemetry.space_names else space_mark(space)
    return merge_configs({"tags": [*TAGS, step], "metadata": about}, config)


class TracedCall(Protocol):
    """One call of a node as a run in traces, which show counts and nothing that was said."""

    @property
    def given(self) -> dict[str, Any]:
        """What traces show as its input."""

    @property
    def described(self) -> RunnableConfig:
        """The config of its run."""

    def answered(self, given: dict[str, Any], /) -> dict[str, Any]:
        """Do the work; what traces show as its output."""

    async def aanswered(self, given: dict[str, Any], /) -> dict[str, Any]:
        """`answered`, while the event loop goes on."""
        return await to_thread(self.answered, given)

    def update(self) -> dict[str, Any]:
        """The update to the state, once it is answered."""


class TracedNode(Runnable[Any, dict[str, Any]]):
    """A LangGraph node, for sync and async graphs, that works in a thread where the graph is asynchronous."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Do the node's work on a state; the update to it."""
        call = self._called(input, ensure_config(config), current_runtime())
        self._call_with_config(call.answered, call.given, call.described)
        return call.update()

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """`invoke` without holding up the event loop."""
        call = await to_thread(self._called, input, ensure_config(config), current_runtime())
        await self._acall_with_config(call.aanswered, call.given, call.described)
        return call.update()

    @abstractmethod
    def _called(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> TracedCall:
        """The call for a state."""


# How many activities are told at once, and how many threads and messages are remembered.
_MOST = 20
_THREADS = 10_000
_MESSAGES = 1000

Thread = tuple[str, str]


class ActivityFeed:
    """What the nodes of a memory have reported so far, and to whom; safe to use from any thread.

    Of each thread it knows how far it has heard of the activities of its space. One that is new here begins with what
    comes after; `heard`, the number that its state remembers, lets one go on that another process has begun.
    """

    def __init__(self) -> None:
        self._heard: OrderedDict[Thread, int] = OrderedDict()
        self._told_already: dict[tuple[Thread, int], None] = {}
        self._without_user: dict[str, None] = {}
        self._lock = Lock()

    def news(self, space: "Space", session: str | None, heard: int | None) -> tuple[tuple[dict[str, Any], ...], int]:
        """The activities that a thread has not heard of, as events, and the number of the last one."""
        thread = (space.name, session or "")
        with self._lock:
            known = [number for number in (heard, self._heard.get(thread)) if number is not None]
        # Read without the lock, which all users share: the space of one of them may take long to answer.
        with space.context.open() as store, store.reading() as connection:
            newest = activities.newest(connection, store.key)
            after = max(known, default=newest)
            found = activities.behind(connection, store.key, after, _MOST) if newest > after else []
        with self._lock:
            # Meanwhile, another node may have told the thread as well.
            after = max(after, self._heard.get(thread, after))
            told = [row for row in found if row.number > after and (thread, row.number) not in self._told_already]
            for row in found:
                self._told_already.pop((thread, row.number), None)
            upto = max(after, found[-1].number if found else newest)
            self._heard[thread] = upto
            self._heard.move_to_end(thread)
            while len(self._heard) > _THREADS:
                self._heard.popitem(last=False)
        events = ({**row.body, "type": row.kind, "number": row.number, "session": row.session} for row in told)
        return tuple(events), upto

    def tell_by_itself(self, space: "Space", session: str | None, kind: str) -> None:
        """Note that a node has reported the newest activity of a kind in an event of its own."""
        with space.context.open() as store, store.reading() as connection:
            rows = activities.latest(connection, store.key, 1, kind=kind, session=session)
        with self._lock:
            self._told_already |= {((space.name, session or ""), row.number): None for row in rows}
            while len(self._told_already) > _THREADS:  # of threads that are over
                del self._told_already[next(iter(self._told_already))]

    def first_without_user(self, message: str) -> bool:
        """Whether this is the first time that a missing user is reported for this message."""
        with self._lock:
            new = message not in self._without_user
            self._without_user[message] = None
            if len(self._without_user) > _MESSAGES:
                del self._without_user[next(iter(self._without_user))]
            return new


_feeds: "WeakKeyDictionary[Memory, ActivityFeed]" = WeakKeyDictionary()
_lock = Lock()


def feed_of(memory: "Memory") -> ActivityFeed:
    """The feed that all nodes over a memory share."""
    with _lock:
        return _feeds.setdefault(memory, ActivityFeed())
