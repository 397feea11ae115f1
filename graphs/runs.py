"""How runs of memory nodes are described, and what the memory does meanwhile on the custom stream."""

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from langmem_tiers.naming import space_mark
from langmem_tiers.storage import activities

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.records import Activity
    from langmem_tiers.space import Space


TAGS = ("langmem-tiers", "memory")
"""What every run of the memory has among its tags; the name of its step is another one."""


def described(
    memory: "Memory", step: str, config: RunnableConfig | None = None, *, space: str | None = None
) -> RunnableConfig:
    """The config of a run, with what says that it is a step of the memory.

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


# Activities told at once, and threads kept in mind.
_MOST = 20
_THREADS = 10_000

Thread = tuple[str, str]


class ActivityFeed:
    """How far each thread has heard of the activities of its space; may be used from any thread of the process.

    A thread that is new here begins with what comes after; `heard`, the number that its state remembers, lets one go
    on that another process has begun.
    """

    def __init__(self) -> None:
        self._heard: OrderedDict[Thread, int] = OrderedDict()
        self._told_already: set[tuple[Thread, int]] = set()
        self._lock = Lock()

    def news(self, space: "Space", session: str | None, heard: int | None) -> tuple[tuple[dict[str, Any], ...], int]:
        """The activities that a thread has not heard of, as events, and the number of the last one."""
        thread = (space.name, session or "")
        with self._lock, space.memory.use(space.name) as store, store.reading() as connection:
            known = [number for number in (heard, self._heard.get(thread)) if number is not None]
            newest = activities.newest(connection, store.key)
            after = max(known, default=newest)
            found = activities.behind(connection, store.key, after, _MOST) if newest > after else []
            told = [row for row in found if (thread, row.number) not in self._told_already]
            self._told_already -= {(thread, row.number) for row in found}
            upto = found[-1].number if found else max(after, newest)
            self._remember(thread, upto)
        return tuple(map(_event, told)), upto

    def tell_by_itself(self, space: "Space", session: str | None, kind: str) -> None:
        """A node has told the newest activity of a kind in an event of its own."""
        with space.memory.use(space.name) as store, store.reading() as connection:
            rows = activities.latest(connection, store.key, 1, kind=kind, session=session)
        with self._lock:
            self._told_already |= {((space.name, session or ""), row.number) for row in rows}

    def _remember(self, thread: Thread, number: int) -> None:
        self._heard[thread] = number
        self._heard.move_to_end(thread)
        while len(self._heard) > _THREADS:
            self._heard.popitem(last=False)


_feeds: "WeakKeyDictionary[Memory, ActivityFeed]" = WeakKeyDictionary()
_lock = Lock()


def feed_of(memory: "Memory") -> ActivityFeed:
    """The feed that all nodes over a memory share."""
    with _lock:
        return _feeds.setdefault(memory, ActivityFeed())


def _event(row: "Activity") -> dict[str, Any]:
    return {**row.body, "type": row.kind, "number": row.number, "session": row.session}
