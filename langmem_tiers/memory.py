"""The façade: a memory folder with its spaces, one embedder, one background worker."""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langmem_tiers import arguments, naming
from langmem_tiers.background import passes
from langmem_tiers.background.embedding import embedded_by
from langmem_tiers.background.passes import Outcome
from langmem_tiers.background.worker import Worker
from langmem_tiers.clock import Clock, utc_now
from langmem_tiers.embeddings import counting, resolve
from langmem_tiers.embeddings.guard import GuardedEmbedder, NoEmbedder
from langmem_tiers.errors import MemoryClosed, MemoryTiersError
from langmem_tiers.llm import guarded_model
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.llm.directives import Directives
from langmem_tiers.llm.guarded_model import GuardedModel
from langmem_tiers.llm.tally import UsageTally
from langmem_tiers.llm.usage_book import UsageBook
from langmem_tiers.paths import default_folder
from langmem_tiers.recall import rerank
from langmem_tiers.recall.rerank_guard import GuardedReranker, guarded
from langmem_tiers.recall.tokens import TokenCounter, estimate
from langmem_tiers.settings import Settings
from langmem_tiers.space import Space
from langmem_tiers.storage.folder import open_memory_folder, space_names, unreadable_spaces
from langmem_tiers.storage.open_spaces import OpenSpaces
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.telemetry.logs import say
from langmem_tiers.twins import twin
from langmem_tiers.writing.listeners import Listener
from langmem_tiers.writing.mining.vectors import embed_with

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.background.deriving import Deriving
    from langmem_tiers.dream.types import DreamReport, Trigger
    from langmem_tiers.embeddings.base import Embedder
    from langmem_tiers.transfer import Format, ImportReport

log = logging.getLogger(__name__)

# Seconds that closing waits for the background step at hand; what is left is done at the next open.
_CLOSING = 30.0
# Seconds until a space is looked at again by itself, at the least.
_SOONEST = 1.0
# Database connections, locks and threads do not survive a fork.
_AFTER_FORK = "Open the memory in each process, after the fork."


class Memory:
    """Long-term memory in a folder: any number of spaces that know nothing of each other.

    Open one with `Memory.open` and use it as a context manager; it may be shared by all threads of a process. A script
    that forgets to close it still ends, and what was stored is stored.

    Example:
        >>> with Memory.open("memory", embedder=None) as memory:
        ...     alice = memory.user("alice")
        ...     report = alice.track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="monday")
        ...     "Anna" in alice.recall("Where does my sister live?", session="tuesday").block
        True
    """

    def __init__(
        self,
        path: Path,
        *,
        embedder: Embedder | None,
        settings: Settings,
        background: bool,
        clock: Clock,
        reranker: GuardedReranker | None = None,
        model: GuardedModel | None = None,
    ) -> None:
        self.path = path
        self.settings = settings
        self.clock = clock
        self.count_tokens = TokenCounter()
        self.reranker = reranker
        self.tally = UsageTally()
        self._model = model
        self._embedder = None if embedder is None else self._guarded(embedder)
        self._spaces = OpenSpaces(self._open_space, settings.storage.open_spaces)
        self._other_embedders: dict[str, str] = {}
        self._worker = Worker(self._work, retry_after=self._resting) if background else None
        self._listeners: list[Listener] = []
        self._process = os.getpid()
        self._closing = False
        self._at_exit = _close_at_exit(self)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        embedder: Embeddings | Embedder | str | None = "minilm",
        reranker: BaseDocumentCompressor | BaseChatModel | None = None,
        model: BaseChatModel | None = None,
        settings: Settings | None = None,
        background: bool = True,
        clock: Clock = utc_now,
    ) -> Memory:
        """Open the memory in a folder, making it if it is new.

        Args:
            path: The folder; None takes $LANGMEM_TIERS_PATH, else the user's data folder of this system.
            embedder: "minilm" for Chroma's default model run locally, a name for LangChain's `init_embeddings` such as
                "openai:text-embedding-3-small", any LangChain `Embeddings`, or None or "none" for keyword search only.
                Where a model can not be reached, or does not answer within `Settings.recall.embed_seconds`, keywords
                search, with one warning.
            reranker: A LangChain document compressor, such as a cross-encoder, or chat model that picks the best of
                what a recall found, within `Settings.recall.rerank.timeout_seconds`; None, and nothing waits for a
                model. Where it fails, the order stays as it was, and the receipt says so.
            model: A LangChain chat model that works in the background, within `Settings.model.budget`: it finds what
                is worth keeping and writes summaries. Without one, or where it fails, rules do; no reply waits for it.
            settings: Limits and weights; see `Settings`.
            background: False does embedding and filing only inside `flush`, in the caller's thread.
            clock: Where "now" comes from.

        Raises:
            NotAMemoryFolder, FolderNotWritable, DiskFull, NewerSchema: the folder can not be used.
            InvalidSettings: `embedder`, `reranker` or `model` is none of the above.
            MissingExtra: `embedder` is a name, and a package for it is not installed.
            InvalidInput: another argument is of another type.
        """
        wanted = default_folder() if path is None else arguments.path(path, "path")
        settings = Settings() if settings is None else arguments.instance(settings, "settings", Settings, "a Settings")
        chosen, chosen_reranker = resolve(embedder), guarded(reranker)
        chosen_model = None if model is None else guarded_model.guarded(model, settings.model)
        works = arguments.flag(background, "background")
        tells = arguments.function(clock, "clock")
        return cls(
            open_memory_folder(wanted),
            embedder=chosen,
            settings=settings,
            background=works,
            clock=tells,
            reranker=chosen_reranker,
            model=chosen_model,
        )

    def space(self, name: str, *, fallbacks: Sequence[str] = ()) -> Space:
        """The space of this name; recall also reads the `fallbacks`, ranking its own memories first.

        Raises:
            InvalidSpace: a name that can not be one.
            InvalidInput: `fallbacks` is no list of names.
        """
        others = tuple(arguments.several(fallbacks, "fallbacks", "names of spaces"))
        for each in (name, *others):
            naming.check_space(each)
        return Space(self, name, fallbacks=tuple(each for each in dict.fromkeys(others) if each != name))

    def user(self, user_id: str | int | UUID | None, *, fallbacks: Sequence[str] = ()) -> Space:
        """The space of a user id, whatever signs it holds.

        Raises:
            MissingUser: the id is empty or None.
            InvalidSpace, InvalidInput: it is no id, or `fallbacks` no list of names.
        """
        return self.space(naming.user_space(user_id), fallbacks=fallbacks)

    def spaces(self) -> tuple[str, ...]:
        """The names of all spaces in the folder."""
        return space_names(self.path)

    def unreadable_spaces(self) -> tuple[Path, ...]:
        """Folders of spaces that can not be told by name; opening such a space by its name mends it."""
        return unreadable_spaces(self.path)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the background work of all open spaces is done; True when it is.

        False means that `timeout` seconds were over, or that vectors wait for a model that can not be reached: then it
        comes back at once, and trying again in a loop would not end. `Space.stats().pending` tells how many wait.
        """
        return self.finish(None, arguments.seconds(timeout, "timeout"))

    def dream(self, *, dry_run: bool = False) -> tuple[DreamReport, ...]:
        """Consolidate every space, one after the other; see `Space.dream`.

        Raises:
            StorageError: the spaces before this one are done.
        """
        return tuple(self.space(name).dream(dry_run=dry_run) for name in self.spaces())

    adream = twin(dream)

    def import_file(
        self,
        path: str | Path,
        *,
        format: Format | None = None,
        user: str | int | UUID | None = None,
        dry_run: bool = False,
    ) -> ImportReport:
        """Bring in what other memories and chat programs wrote down: messages, facts and documents, with their dates.

        Importing the same again stores nothing twice. Parts that can not be read are in the report's `problems`.

        Args:
            path: A file, a zip file or a folder.
            format: What it is, one of `langmem_tiers.transfer.FORMATS`; None for what it looks like.
            user: Whose it all is; None for the users that the file names.
            dry_run: Only count what there is, and what would be left behind.

        Raises:
            UnreadableFile: it is in no known format, or in another one; what was read before is stored.
            MissingUser: no user is given, and such a file names none.
            InvalidInput: an argument is of another type.
        """
        from langmem_tiers.transfer import bringing

        return bringing.import_file(self, path, format=format, user=user, dry_run=dry_run)

    aimport_file = twin(import_file)

    def on_activity(self, listener: Listener) -> Callable[[], None]:
        """Have a function called after each thing that the memory does by itself; call the result to end that.

        It is called in the thread that did it, with the activity: what was mined, archived, merged or refused, and why.
        """
        self._listeners.append(arguments.function(listener, "listener"))
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Finish the background step at hand and close every file. Closing twice is no error."""
        if os.getpid() != self._process:
            return  # a forked child: the files belong to the parent
        self._closing = True
        atexit.unregister(self._at_exit)
        if self._worker is not None:
            self._worker.stop(_CLOSING)
        self._book()
        self._spaces.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({str(self.path)!r})"

    # What a Space needs of its memory.

    @property
    def closing(self) -> bool:
        """Whether `close` was called: what takes long ends now."""
        return self._closing

    @property
    def query_embedder(self) -> GuardedEmbedder | NoEmbedder:
        """Turns queries into vectors, as far as that is possible now."""
        return self._embedder or NoEmbedder()

    def embedder_of(self, name: str) -> GuardedEmbedder | NoEmbedder:
        """`query_embedder` on behalf of a space: what it embeds is counted there."""
        if self._embedder is None:
            return NoEmbedder()
        model = self._embedder.inner.name

        def count(texts: Sequence[str], failed: bool) -> None:
            self._tell_other_embedders(name, model)
            took = Usage(calls=1, failures=int(failed), input_tokens=0 if failed else sum(map(estimate, texts)))
            self.tally.add(name, self._usage_key(counting.SOURCE, model), took)

        return self._embedder.counted(count)

    def count_rerank(self, name: str, session: str | None, took: Usage) -> None:
        """Note what the reranker took for a recall in a space."""
        if self.reranker is not None:
            self.tally.add(name, self._usage_key(rerank.SOURCE, self.reranker.name, session or ""), took)

    @property
    def embedding_model(self) -> str | None:
        """The name of the embedding model, None for keyword search only."""
        return None if self._embedder is None else self._embedder.inner.name

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Who is told of what the memory does by itself."""
        return tuple(self._listeners)

    def asker(self, store: SpaceStore) -> ModelAsker | None:
        """Asks the memory's model on behalf of a space; None where there is no model."""
        if self._model is None:
            return None
        return ModelAsker(self._model, self.settings.model, UsageBook(store.database), self.clock)

    def deriving(self, store: SpaceStore) -> Deriving:
        """What derives memories from what was said in a space."""
        # Its rules take a moment to compile: not before there is something to derive from.
        from langmem_tiers.background.deriving import Deriving

        return Deriving(
            store=store,
            settings=self.settings,
            clock=self.clock,
            asker=self.asker(store),
            embed=embed_with(self.embedder_of(store.name)),
            directives=Directives(self.path),
            listeners=self.listeners,
            dream=partial(self._dream, store.name),
        )

    def use(self, name: str) -> AbstractContextManager[SpaceStore]:
        """A space held open during a block.

        Raises:
            MemoryClosed: the memory was closed, or opened by the parent of this forked process.
        """
        self._require_open()
        return self._spaces.use(name)

    def wake(self, name: str) -> None:
        """Have the background look at a space."""
        if self._worker is not None:
            self._worker.wake(name)

    def finish(self, names: set[str] | None, timeout: float | None) -> bool:
        """Do or await the background work of some spaces, or of all that are on disk."""
        self._require_open()
        if self._worker is None:
            wanted = self.spaces() if names is None else sorted(names)
            outcomes = {self._work(name, lambda: False) for name in wanted}
            return outcomes <= {Outcome.DONE}
        for name in names or ():
            self._worker.wake(name)
        return self._worker.wait(names, timeout)

    def _guarded(self, embedder: Embedder) -> GuardedEmbedder:
        """The embedder, which the memory must not hold: an open one that nobody holds ends by itself."""
        held = weakref.ref(self)

        def closing() -> bool:
            memory = held()
            return memory is None or memory.closing

        return GuardedEmbedder.of(embedder, self.settings.recall.embed_seconds, closing)

    def _require_open(self) -> None:
        if os.getpid() != self._process:
            raise MemoryClosed("This memory was opened before this process was forked.", way_out=_AFTER_FORK)
        self._spaces.require_open()

    def _open_space(self, name: str) -> SpaceStore:
        store = SpaceStore(
            self.path, name, self.settings.storage, model=self.embedding_model, graph=self.settings.graph
        )
        before = [] if self.embedding_model is None else embedded_by(store.database)
        if before and self.embedding_model not in before:
            self._other_embedders[name] = ",".join(before)
        # Whatever a crash left undone follows from the log; look at it now.
        self.wake(name)
        return store

    def _tell_other_embedders(self, name: str, model: str) -> None:
        """Say so, once, where the vectors of a space are another model's: till they are made anew, words alone find."""
        if others := self._other_embedders.pop(name, None):
            told: dict[str, Any] = {"model": model, "before": others, "recall": "keywords_until_embedded"}
            say(log, logging.WARNING, "embedder_changed", space=name, **told)

    def _work(self, name: str, stop: Callable[[], bool]) -> Outcome:
        self.count_tokens.prepare()
        batch = self.settings.storage.embed_batch
        with self._spaces.use(name) as store:
            deriving = self.deriving(store)
            embedder = self.embedder_of(name)
            usable = embedder if isinstance(embedder, GuardedEmbedder) else None
            outcome = passes.run(store, usable, deriving, clock=self.clock, batch=batch, stop=stop)
            later = deriving.seconds_to_next()
            self.tally.book(name, store.database)
        if self._worker is not None and later is not None:
            self._worker.wake_later(name, max(later, _SOONEST))
        return outcome

    def _dream(self, name: str, trigger: Trigger) -> DreamReport:
        from langmem_tiers.dream import flow

        return flow.dream(self, name, trigger=trigger, dry_run=False)

    def _usage_key(self, source: str, model: str, session: str = "") -> UsageKey:
        return UsageKey(day=f"{self.clock():%Y-%m-%d}", session=session, source=source, model=model)

    def _book(self) -> None:
        """Write down what was counted and is not booked yet; what can not be is no reason not to close."""
        for name in self.tally.spaces():
            try:
                with self._spaces.use(name) as store:
                    self.tally.book(name, store.database)
            except MemoryTiersError as error:
                say(log, logging.WARNING, "usage_not_booked", space=name, error=error, reason=error)

    def _resting(self) -> float:
        return 0.0 if self._embedder is None else self._embedder.resting


def _close_at_exit(memory: Memory) -> Callable[[], Any]:
    """Close a memory that is still open when the interpreter ends, without keeping it alive until then."""
    reference = weakref.ref(memory)

    def close() -> None:
        open_still = reference()
        if open_still is not None:
            open_still.close()

    atexit.register(close)
    return close
