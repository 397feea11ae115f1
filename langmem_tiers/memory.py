"""The façade: a memory folder with its spaces, one embedder, one background worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import UUID

from langmem_tiers import arguments, naming
from langmem_tiers.clock import Clock, utc_now
from langmem_tiers.models import chat_model
from langmem_tiers.models.embedder import resolve
from langmem_tiers.models.guarded_reranker import guarded
from langmem_tiers.paths import default_folder
from langmem_tiers.records import Listener
from langmem_tiers.runtime import Runtime
from langmem_tiers.settings import Settings
from langmem_tiers.space import Space
from langmem_tiers.storage.folder import open_memory_folder, space_names, unreadable_spaces
from langmem_tiers.twins import twin

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.transfer import ImportReport
    from langmem_tiers.types import Format


class Memory(Runtime):
    """Long-term memory in a folder: any number of spaces, isolated from each other.

    Open one with `Memory.open` and use it as a context manager; all threads of a process may share it. A script that
    forgets to close it still exits, and loses nothing that was stored.

    Example:
        >>> with Memory.open("memory", embedder=None) as memory:
        ...     alice = memory.user("alice")
        ...     report = alice.track([Turn(role="user", content="My sister Anna lives in Lisbon.")], session="monday")
        ...     "Anna" in alice.recall("Where does my sister live?", session="tuesday").block
        True
    """

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
        """Open the memory in a folder; a new folder is created.

        Args:
            path: The folder; None means $LANGMEM_TIERS_PATH or, if unset, the user's data folder on this system.
            embedder: "minilm" for Chroma's default model run locally, a name for LangChain's `init_embeddings` such as
                "openai:text-embedding-3-small", any LangChain `Embeddings`, or None or "none" for keyword search only.
                If the model cannot be reached, or does not answer within `Settings.recall.embed_seconds`, recall
                searches by keyword and warns once.
            reranker: A LangChain document compressor, such as a cross-encoder, or a chat model, that picks the best of
                what a recall found within `Settings.recall.rerank.timeout_seconds`. With None, no recall waits for a
                model. If it fails, the order stays as it was, and the receipt says so.
            model: A LangChain chat model for background work, within `Settings.model.budget`: it finds what is worth
                keeping and writes summaries. Without one, or when it fails, rules do this. No reply waits for it.
            settings: Limits and weights; see `Settings`.
            background: False does all embedding and mining inside `flush`, in the caller's thread.
            clock: A function that returns the current time.

        Raises:
            NotAMemoryFolder, FolderNotWritable, DiskFull, NewerSchema: The folder cannot be used.
            InvalidSettings: `embedder`, `reranker` or `model` is none of the above.
            MissingExtra: `embedder` is a name whose package is not installed.
            InvalidInput: Another argument has the wrong type.
        """
        wanted = default_folder() if path is None else arguments.path(path, "path")
        settings = Settings() if settings is None else arguments.instance(settings, "settings", Settings, "a Settings")
        chosen, chosen_reranker = resolve(embedder), guarded(reranker)
        chosen_model = None if model is None else chat_model.guarded(model, settings.model)
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
        """Return the space with this name. Its recall also reads the spaces in `fallbacks`, but ranks its own first.

        Raises:
            InvalidSpace: A name is not valid for a space.
            InvalidInput: `fallbacks` is not a list of names.
        """
        others = tuple(arguments.several(fallbacks, "fallbacks", "names of spaces"))
        for each in (name, *others):
            naming.check_space(each)
        return Space(self, name, fallbacks=tuple(each for each in dict.fromkeys(others) if each != name))

    def user(self, user_id: str | int | UUID | None, *, fallbacks: Sequence[str] = ()) -> Space:
        """Return the space of a user; the id may contain any characters.

        Raises:
            MissingUser: The id is empty or None.
            InvalidSpace, InvalidInput: It is not an id, or `fallbacks` is not a list of names.
        """
        return self.space(naming.user_space(user_id), fallbacks=fallbacks)

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces in the folder."""
        return space_names(self.path)

    def unreadable_spaces(self) -> tuple[Path, ...]:
        """Return space folders whose name cannot be read; opening such a space by its name repairs it."""
        return unreadable_spaces(self.path)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the background work of all open spaces is done. Returns whether it is.

        False means that `timeout` seconds passed, or that texts still wait for an embedding model that cannot be
        reached. In the second case it returns at once, so do not retry in a loop. `Space.stats().pending` counts them.
        """
        return self.finish(None, arguments.seconds(timeout, "timeout"))

    def dream(self, *, dry_run: bool = False) -> tuple[DreamReport, ...]:
        """Consolidate every space, one after the other; see `Space.dream`.

        Raises:
            StorageError: A space failed. Those before it are done.
        """
        return tuple(self.space(name).dream(dry_run=dry_run) for name in self.spaces())

    adream = twin(dream)

    def import_file(
        self,
        path: str | Path,
        *,
        format: Format | None = None,
        user: str | int | UUID | None = None,
        user_speaker: str | None = None,
        dry_run: bool = False,
    ) -> ImportReport:
        """Import what other memories and chat programs stored: messages, facts and documents, with their dates.

        Importing the same data again stores nothing twice. Parts that cannot be read are in the report's `problems`.
        What is found in a conversation between people is filed under who said it; `Space.mine` finds it at once.

        Args:
            path: A file, a zip file or a folder.
            format: One of `langmem_tiers.transfer.FORMATS`; None to detect it.
            user: The user it all belongs to; None for the users named in the file.
            user_speaker: Which speaker of conversations between people is the user. None: the one whose name is the
                user's id, or a name the memory knows the user by; if there is none, nobody is.
            dry_run: Only count what is there and what would be left out.

        Raises:
            UnreadableFile: The format is unknown, or not the one given. What was read before that is stored.
            MissingUser: No user is given, and this format names none.
            InvalidInput: An argument has the wrong type, or nobody called `user_speaker` speaks in it.
        """
        from langmem_tiers.transfer import importing

        given = (self.context, self.settings, self.clock, path)
        return importing.import_file(*given, format=format, user=user, user_speaker=user_speaker, dry_run=dry_run)

    aimport_file = twin(import_file)

    def on_activity(self, listener: Listener) -> Callable[[], None]:
        """Call a function after each thing the memory does by itself. Call the result to stop that.

        The listener runs in the thread that did the work. It receives the activity: what was mined, archived, merged or
        refused, and why.
        """
        self._listeners.append(arguments.function(listener, "listener"))
        return lambda: self._listeners.remove(listener)

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({str(self.path)!r})"
