"""What runs beneath a memory: its open spaces, its models, its listeners, and the background worker."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from langmem_tiers import arguments, replies
from langmem_tiers.access import Access
from langmem_tiers.backends import Backend
from langmem_tiers.background import leasing, resting
from langmem_tiers.background.embedding import embedded_by
from langmem_tiers.background.worker import Background, Worker, WorkLeft, after
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import MemoryClosed, MemoryTiersError, StorageError, UnknownSpace
from langmem_tiers.models.chat_model import GuardedModel
from langmem_tiers.models.guarded_embedder import EMBED_SOURCE, GuardedEmbedder, NoEmbedder
from langmem_tiers.models.guarded_reranker import GuardedReranker
from langmem_tiers.models.tokens import TokenCounter, estimate
from langmem_tiers.models.usage import UsageTally
from langmem_tiers.records import Listener
from langmem_tiers.settings import Settings
from langmem_tiers.settings_layers import LayeredSettings, with_more
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.store import Held, OpenSpaces, SpaceStore
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langmem_tiers.background.jobs import Jobs
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.storage.postgres.work_queue import SpaceQueue

log = logging.getLogger(__name__)

# Seconds that closing waits for the current background step; the rest is done at the next open.
_CLOSING = 30.0
_MOST_THREADS = 64
# Minimum seconds until a space is checked again unprompted.
_SOONEST = 1.0
# Seconds until a space is tried again that is being deleted, or whose embedder is away.
_RETRY = 5.0
# Of the files that this process may open, the share that open spaces may take.
_OF_FILES = 0.75
# What is embedded to have the model loaded.
_ANY_TEXT = "Hello"
# Database connections, locks and threads do not survive a fork.
_AFTER_FORK = "Open the memory in each process, after the fork."


# A child that is forked while a thread imports a module can never import it: a fork waits until that is done.
_importing = threading.RLock()
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(
        before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
    )


def _files_allowed() -> int:
    """How many files this process may open; a large number where nothing says so, as on Windows."""
    try:
        import resource
    except ImportError:
        return sys.maxsize
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if most == resource.RLIM_INFINITY else most


class Runtime:
    """The running parts of a memory, for `Memory` and `Space`; other code gets the context of a space."""

    def __init__(
        self,
        backend: Backend,
        path: Path,
        *,
        embedder: Embedder | None,
        settings: LayeredSettings,
        background: bool,
        clock: Clock,
        access: Access,
        reranker: GuardedReranker | None = None,
        model: GuardedModel | None = None,
    ) -> None:
        self.backend = backend
        self.path = path
        self.layered = settings
        self.settings = settings.whole
        self.clock = clock
        self.count_tokens = TokenCounter(tables=self.settings.model.token_tables)
        self.reranker = reranker
        self.tally = UsageTally()
        self.access = access
        self._model = model
        self._embedder = None if embedder is None else self._guarded(embedder)
        self._spaces = OpenSpaces(self._open_space, self._most_held(), leave=self._leave)
        self._other_embedders: dict[str, str] = {}
        self._listeners: list[Listener] = []
        self._used = None if backend.queue is None else leasing.UsedSpaces(backend.queue)
        self._measured = None if backend.queue is None else leasing.WaitingSpaces(backend.queue)
        self._process = os.getpid()
        self._closing = False
        # Spaces of which somebody waits for all work to be done (None: all); those where a few vectors wait for others.
        self._awaited: list[set[str] | None] = []
        self._with_few: set[str] = set()
        self._at_exit = _close_at_exit(self)
        self._worker = self.worker() if background else None

    def worker(self, threads: int = 1) -> Background:
        """Somebody who does the background work from now on; on a server of all spaces, in so many threads.

        Raises:
            InvalidInput: `threads` is no number from 1 to 64.
        """
        arguments.whole(threads, "threads", least=1, most=_MOST_THREADS)
        queue = self.backend.queue
        if queue is None:
            return Worker(self._round, retry_after=self._resting)
        return leasing.LeasingWorker(queue, self._round_on_server, threads=threads)

    def warm_up(self, *, freeze: bool = True) -> None:
        """Make this process ready for its first reply: load what replies need, and connect to servers.

        Else the first recall of a process takes a second longer. What does not answer within a few seconds, such as an
        embedding model or a server, is left to the first call that needs it.

        Args:
            freeze: Whether garbage collections leave alone what is loaded by then (`gc.freeze`), for as long as the
                process lives. One that goes through all of it delays replies by a tenth of a second and more.

        Raises:
            MemoryClosed: It was closed, or opened by the parent of this forked process.

        Example:
            >>> Memory.open("memory", embedder=None).warm_up(freeze=False)
        """
        from langmem_tiers.background import jobs  # noqa: F401 - loading it is what this is for
        from langmem_tiers.language import lazy_patterns, predicates
        from langmem_tiers.recall import pipeline  # noqa: F401 - and so here

        is_to_freeze = arguments.flag(freeze, "freeze")
        self._require_open()
        if self._embedder is not None:
            self._embedder.query(_ANY_TEXT)
        self.backend.health()
        lazy_patterns.compile_all()
        predicates.asks_of_events(_ANY_TEXT)  # makes the table of all phrases
        if is_to_freeze:
            gc.collect()
            gc.freeze()

    def close(self) -> None:
        """Finish the current background step and close every file. Closing twice is harmless.

        Where another process holds the lock of a space, each of the few writes that are left there, such as a receipt
        or the mark that Chroma was closed, waits `Settings.storage.busy_timeout` seconds for it.

        Raises:
            DatabaseLocked, DiskFull: Chroma could not be marked, and will be rebuilt; everything is released.
        """
        if os.getpid() != self._process:
            return  # a forked child: the files belong to the parent
        self._closing = True
        atexit.unregister(self._at_exit)
        if self._measured is not None:
            self._measured.close()
        if self._worker is not None:
            self._worker.stop(_CLOSING)
        self._spaces.finish_writing()
        self._book()
        self._spaces.close()
        self.backend.close()
        if self._embedder is not None:
            self._embedder.close()

    def context(
        self,
        name: str,
        *,
        agent: str | None = None,
        fallbacks: Sequence[str] | None = (),
        settings: Settings | None = None,
        caller: str | None = None,
    ) -> SpaceContext:
        """The context for operations on a space of this name, by an agent if it is named; opens nothing yet.

        None for `fallbacks` means those of the settings. What is set in `settings` goes before everything else.
        `caller` is the own space of whoever it is for, as in `Access.role`.
        """

        def settings_of(agent: str | None) -> Settings:
            known = self.layered.of(name, agent)
            return known if settings is None else with_more(known, settings)

        def fallbacks_of(agent: str | None) -> tuple[SpaceContext, ...]:
            others = settings_of(agent).recall.fallbacks if fallbacks is None else fallbacks
            beside = (self._fallback(each, agent, caller) for each in dict.fromkeys(others) if each != name)
            return tuple(each for each in beside if each.settings.enabled)

        return SpaceContext(
            name=name,
            agent=agent,
            folder=self.path,
            backend=self.backend,
            settings=settings_of(agent),
            settings_of=settings_of,
            fallbacks_of=fallbacks_of,
            clock=self.clock,
            exists=partial(self.backend.has, name),
            use=partial(self._opened, name, caller),
            role=partial(self.access.role, caller, name),
            require_role=partial(self.access.require, caller, name),
            wake=partial(self.wake, name),
            closing=lambda: self._closing or self._spaces.is_kept_closed(name),
            embedder=self._embedder_of(name),
            model=self._model,
            reranker=self.reranker,
            count_tokens=self.count_tokens,
            tally=self.tally,
            listeners=self._listeners,
            fallbacks=fallbacks_of(agent),
        )

    def _fallback(self, name: str, agent: str | None, caller: str | None) -> SpaceContext:
        """The context of a space that is read beside another one: it is not created."""
        made = self.context(name, agent=agent, caller=caller)
        return replace(made, use=partial(self._existing, name, caller))

    def _embedder_of(self, name: str) -> GuardedEmbedder | NoEmbedder:
        """The embedder on behalf of a space: usage is counted there."""
        if self._embedder is None:
            return NoEmbedder()
        model = self._embedder.inner.name

        def count(texts: Sequence[str], failed: bool) -> None:
            self._tell_other_embedders(name, model)
            took = Usage(calls=1, failures=int(failed), input_tokens=0 if failed else sum(map(estimate, texts)))
            self.tally.add(name, self._usage_key(EMBED_SOURCE, model), took)

        return self._embedder.counted(count)

    @property
    def embedding_model(self) -> str | None:
        """The name of the embedding model, None for keyword search only."""
        return None if self._embedder is None else self._embedder.inner.name

    def jobs(self, store: SpaceStore, *, awaited: bool = True) -> Jobs:
        """The background jobs of a space; if they are `awaited`, nothing is left for later that can be done."""
        # Its rules take a moment to compile: not before there is something to derive from.
        with _importing:
            from langmem_tiers.background.jobs import jobs_of

        return jobs_of(self.context(store.name), store, awaited=awaited)

    def use(self, name: str) -> AbstractContextManager[SpaceStore]:
        """A space, kept open during the block, for the host itself; see `SpaceContext.open`."""
        return self.context(name).open()

    def _opened(self, name: str, caller: str | None) -> AbstractContextManager[SpaceStore]:
        """A space, kept open during the block; for a caller that may only read it, a view for reading.

        Raises:
            AccessDenied: the caller has no role in it.
            UnknownSpace: there is no such space, and the caller may not make one.
            MemoryClosed: the memory was closed, or opened by the parent of this forked process.
        """
        self._require_open()
        if self._used is not None:
            self._used.add(name)
        if self.access.require(caller, name) == "leader":
            return self._spaces.use(name)
        return self._reading(name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[SpaceStore]:
        self._require_there(name)
        with self._spaces.use(name) as store:
            yield store.for_reading()

    @contextmanager
    def _existing(self, name: str, caller: str | None) -> Iterator[SpaceStore]:
        """A space that is not created.

        Raises:
            UnknownSpace: there is none of this name.
        """
        self._require_there(name)
        with self._opened(name, caller) as store:
            yield store

    def _require_there(self, name: str) -> None:
        if not self.backend.has(name):
            raise UnknownSpace(
                f"There is no space {name!a} in this memory to read from; none was made.",
                space=name,
                way_out="Correct the name, or store something in it first.",
            )

    @contextmanager
    def keep_closed(self, name: str) -> Iterator[None]:
        """Keep a space closed during the block: its background work is stopped, and usage counted for it is dropped.

        Raises:
            DatabaseLocked: somebody in this process goes on working with it.
        """
        self._require_open()
        with self._spaces.closed(name, _CLOSING):
            yield
            self.tally.drop(name)

    def wake(self, name: str) -> None:
        """Have the background check a space."""
        if self.backend.queue is not None and self.backend.queue.is_at_work(name):
            return
        if self._worker is not None:
            self._worker.wake(name)

    def finish(self, names: set[str] | None, timeout: float | None) -> bool:
        """Do or await the background work of some spaces, or of all on disk; on a server, of all used here."""
        self._require_open()
        self.backend.require_there()
        if self.backend.queue is not None and self._used is not None:
            return self._finish_on_server(self.backend.queue, self._used, names, timeout)
        if self._worker is None:
            wanted = self.backend.names() if names is None else sorted(names)
            over = after(timeout)
            outcomes = {self._round(name, over)[0] for name in wanted}
            return outcomes <= {WorkLeft.DONE}
        until = None if timeout is None else monotonic() + timeout
        self._awaited.append(names)
        try:
            for name in names or ():
                self._worker.wake(name)
            done = self._worker.wait(names, timeout)
            if names is None and (few := [*self._with_few]):
                for name in few:
                    self._worker.wake(name)
                done = self._worker.wait(None, None if until is None else max(0.0, until - monotonic()))
            return done
        finally:
            self._awaited.remove(names)

    def _finish_on_server(
        self, queue: SpaceQueue, used: leasing.UsedSpaces, names: set[str] | None, timeout: float | None
    ) -> bool:
        """The same, for spaces that others may be working on."""
        with used.awaited(names) as wanted:
            if self._worker is None:
                wanted.done = leasing.finish(queue, self._round_on_server, sorted(wanted.names), timeout)
            else:
                wanted.done = self._worker.wait(wanted.names, timeout)
        return wanted.done

    def _guarded(self, embedder: Embedder) -> GuardedEmbedder:
        """The embedder, which must not keep the memory alive: an open memory closes itself once unreferenced."""
        held = weakref.ref(self)

        def closing() -> bool:
            runtime = held()
            return runtime is None or runtime._closing

        return GuardedEmbedder.of(embedder, self.settings.recall.embed_seconds, closing)

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise MemoryClosed("This memory was opened before this process was forked.", way_out=_AFTER_FORK)
        self._spaces.require_open()

    def _open_space(self, name: str) -> SpaceStore:
        store = self.backend.open(name, model=self.embedding_model, graph=self.layered.of(name).graph)
        try:
            before = [] if self.embedding_model is None else embedded_by(store.database)
            longest = self.layered.of(name).dream.prune_hours * 3600
            rest = None if self._worker is None else resting.left(store, self._ways(name), longest, self.clock)
        except BaseException:
            store.close()
            raise
        if before and self.embedding_model not in before:
            self._other_embedders[name] = ",".join(before)
        # Whatever a crash left undone follows from the log; check now, unless nothing happened since the last time.
        if rest is None:
            self.wake(name)
        elif rest.due is not None and isinstance(self._worker, Worker):
            self._worker.wake_later(name, max((rest.due - to_millis(self.clock())) / 1000, _SOONEST))
        return store

    def _ways(self, name: str) -> str:
        return resting.ways_of(self.layered.of(name), self.embedding_model)

    def _chroma_failures(self) -> tuple[str, ...]:
        """Why the vectors of open spaces could not be put into their Chroma folders."""
        indexes = [store.chroma for store in self._spaces.opened()]
        return tuple(dict.fromkeys(each.failure for each in indexes if each is not None and each.failure is not None))

    def _most_held(self) -> Held:
        return Held(self.settings.storage.memory_mb * 1_000_000, int(_OF_FILES * _files_allowed()))

    def _leave(self, store: SpaceStore) -> None:
        """What is kept of a space that is about to be closed; a failure must not prevent that."""
        try:
            self.tally.book(store.name, store.database)
            resting.keep(store)
        except StorageError as error:
            say(log, logging.INFO, "rest_not_noted", space=store.name, error=error, reason=error)

    def _tell_other_embedders(self, name: str, model: str) -> None:
        """Warn once if the vectors of a space come from another model: until they are redone, only words match."""
        if others := self._other_embedders.pop(name, None):
            told: dict[str, Any] = {"model": model, "before": others, "recall": "keywords_until_embedded"}
            say(log, logging.WARNING, "embedder_changed", space=name, **told)

    def _round(self, name: str, stop: Callable[[], bool]) -> tuple[WorkLeft, float | None]:
        """Do the jobs of a space; returns what is left, and in how many seconds it is due again, None if never."""
        leaving = partial(self._spaces.is_kept_closed, name)
        self._with_few.discard(name)

        def stopped() -> bool:
            replies.give_way()
            return stop() or leaving()

        if leaving():
            return WorkLeft.DONE, _RETRY
        if not self.layered.of(name).enabled or not self.backend.has(name):
            return WorkLeft.DONE, None
        self.count_tokens.prepare()
        with self._spaces.use(name) as store:
            awaited = self._worker is None or any(names is None or name in names for names in [*self._awaited])
            jobs, head, store.at_rest = self.jobs(store, awaited=awaited), resting.head_of(store), None
            outcome = jobs.run(stopped)
            if jobs.waits:
                self._with_few.add(name)
            later = jobs.seconds_to_next(store)
            if outcome is WorkLeft.DONE:
                store.at_rest = resting.after_visit(store, head, self._ways(name), later, self.clock)
            self.tally.book(name, store.database)
        return outcome, None if later is None else max(later, _SOONEST)

    def _round_on_server(self, name: str, stop: Callable[[], bool]) -> tuple[WorkLeft, float | None]:
        outcome, later = self._round(name, stop)
        if outcome is WorkLeft.STOPPED:
            return outcome, 0.0
        return outcome, max(self._resting(), _RETRY) if outcome is WorkLeft.WAITING else later

    def _usage_key(self, source: str, model: str, session: str = "") -> UsageKey:
        return UsageKey(day=f"{self.clock():%Y-%m-%d}", session=session, source=source, model=model)

    def _book(self) -> None:
        """Book the usage counted so far; a failure must not prevent closing. That of open spaces is as they close."""
        open_now = {store.name for store in self._spaces.opened()}
        for name in self.tally.spaces():
            if name in open_now:
                continue
            try:
                if not self.backend.has(name):
                    continue  # booking must not bring a deleted space back
                with self._spaces.use(name) as store:
                    self.tally.book(name, store.database)
            except MemoryTiersError as error:
                say(log, logging.WARNING, "usage_not_booked", space=name, error=error, reason=error)

    def _resting(self) -> float:
        return 0.0 if self._embedder is None else self._embedder.resting


def _close_at_exit(runtime: Runtime) -> Callable[[], Any]:
    """Close a memory that is still open when the interpreter exits, without keeping it alive until then."""
    reference = weakref.ref(runtime)

    def close() -> None:
        open_still = reference()
        if open_still is not None:
            open_still.close()

    atexit.register(close)
    return close
