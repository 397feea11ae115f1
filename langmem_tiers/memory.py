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
    from langmem_tiers.transfer import Format, ImportReport


class Memory(Runtime):
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
        from langmem_tiers.transfer import importing
        from langmem_tiers.transfer.storing import Storing

        storing = Storing(self.context, self.settings, self.clock)
        return importing.import_file(storing, path, format=format, user=user, dry_run=dry_run)

    aimport_file = twin(import_file)

    def on_activity(self, listener: Listener) -> Callable[[], None]:
        """Have a function called after each thing that the memory does by itself; call the result to end that.

        It is called in the thread that did it, with the activity: what was mined, archived, merged or refused, and why.
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
