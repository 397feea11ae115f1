"""The façade: a memory folder with its spaces, one embedder, one background worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langmem_tiers import arguments, backends, naming, settings_layers
from langmem_tiers.access import NOBODY, Access, Roles
from langmem_tiers.clock import Clock, utc_now
from langmem_tiers.errors import InvalidInput, InvalidSpace, NotInAFolder
from langmem_tiers.models import chat_model, providers, tokens
from langmem_tiers.models.embedder import resolve
from langmem_tiers.models.guarded_reranker import guarded
from langmem_tiers.paths import default_folder, default_place, is_address, require_folder, separate
from langmem_tiers.records import Listener
from langmem_tiers.runtime import Runtime
from langmem_tiers.settings import DreamSettings, Settings, fitting
from langmem_tiers.space import Space
from langmem_tiers.storage.folder import resolved, unreadable_spaces
from langmem_tiers.twins import twin

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.dream.types import DreamReport
    from langmem_tiers.forgetting.types import ForgetReceipt, SpacePreview
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.transfer import BackupReport, ImportReport, RestoreReport
    from langmem_tiers.types import Format, Health


class Memory(Runtime):
    """Long-term memory in a folder: any number of spaces, isolated from each other.

    Open one with `Memory.open` and use it as a context manager, `async with` where an event loop runs: closing waits
    for the current background work. All threads of a process may share it. A script that forgets to close it still
    exits, and loses nothing that was stored.

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
        path: str | Path | Sequence[str] | None = None,
        *,
        chroma: str | Sequence[str] | None = None,
        embedder: Embeddings | Embedder | str | None = "default",
        reranker: BaseDocumentCompressor | BaseChatModel | str | None = None,
        model: BaseChatModel | str | None = None,
        settings: Settings | None = None,
        background: bool = True,
        clock: Clock = utc_now,
        roles: Roles | None = None,
    ) -> Memory:
        """Open the memory in a folder; a new folder is created.

        A service that answers many calls `warm_up` next, so that its first reply takes no longer than the others, and
        no garbage collection delays them: see docs/server.md.

        Args:
            path: The folder, relative to the current directory, with `~` for the home folder; or the address of a
                PostgreSQL database, such as "postgresql://user@host/database", or a list of several, among which the
                spaces are divided. None means $LANGMEM_TIERS_PATH or, if unset, the user's data folder on this system.
                See docs/scaling.md for servers.
            chroma: With a PostgreSQL database, the Chroma server that keeps and searches the vectors, such as
                "http://host:8000", or a list of several. None is what `Settings.storage.chroma` names.
            embedder: "minilm" for Chroma's default model run locally, a name for LangChain's `init_embeddings` such as
                "openai:text-embedding-3-small", any LangChain `Embeddings`, or None or "none" for keyword search only.
                "default" is what `Settings.embedder` names: "minilm", unless it is set. If the model cannot be
                reached, or does not answer within `Settings.recall.embed_seconds`, recall searches by keyword and
                warns once.
            reranker: A LangChain document compressor, such as a cross-encoder, or a chat model or its name, that picks
                the best of what a recall found within `Settings.recall.rerank.timeout_seconds`. None is what
                `Settings.recall.rerank.model` names; unless it is set, no recall waits for a model. If it fails, the
                order stays as it was, and the receipt says so.
            model: A LangChain chat model, or its name such as "openai:gpt-5-mini", for background work, within
                `Settings.model.budget`: it finds what is worth keeping and writes summaries. None is what
                `Settings.model.name` names; without one, or when it fails, rules do this. No reply waits for it.
            settings: Limits and weights; see `Settings`. What is set here goes before environment variables such as
                LANGMEM_TIERS_RECALL__LIMIT, these before `langmem-tiers.toml` in the folder, and that before defaults.
            background: False does all embedding and mining inside `flush`, in the caller's thread.
            clock: A function that returns the current time.
            roles: Who may do what in which space: a table such as `{"teams/research": {"ana": "leader", "ben":
                "member"}}`, or a function that is asked for the role of a caller in a space on every operation.
                Everybody may do everything in their own space, `users/…` or `agents/…`, and nothing in that of others
                without a role. With a table, spaces that it does not name are open to all. See docs/teams.md.

        Raises:
            ServerUnreachable, ServerRefused: The database does not answer, or does not let this user in.
            OtherDatabases: The list of databases is not the one that the memory was divided among.
            NotAMemoryFolder, FolderNotWritable, DiskFull, NewerSchema: The folder cannot be used.
            ForeignFolder, LinkRefused: It belongs to another user, or holds links where the memory has its own files.
            InvalidSettings: `embedder`, `reranker` or `model` is none of the above, or a setting of the file or the
                environment cannot be used; of a file that cannot be read at all, UnreadableSettings.
            MissingExtra: A package is not installed that `embedder`, `model` or `token_tables` in the settings needs.
            InvalidInput: Another argument has the wrong type, or `chroma` goes with a folder.
        """
        named = default_place() if path is None else path
        databases = _databases(named)
        if not databases:
            require_folder(named)
        wanted = default_folder() if databases else resolved(arguments.whole_path(named, "path"))
        in_code = None if settings is None else arguments.instance(settings, "settings", Settings, "a Settings")
        layers = settings_layers.load(wanted, in_code)
        known = layers.whole
        chosen = resolve(known.embedder if isinstance(embedder, str) and embedder == "default" else embedder)
        chosen_reranker = guarded(_or_named(reranker, known.recall.rerank.model))
        asked = _or_named(model, known.model.name)
        chosen_model = None if asked is None else chat_model.guarded(asked, known.model)
        if known.model.token_tables:
            tokens.require_tables()
        works = arguments.flag(background, "background")
        tells = arguments.function(clock, "clock")
        servers = _addresses(chroma, "chroma")
        if servers and not databases:
            raise InvalidInput(
                "A memory in a folder has its vectors there, and none on a Chroma server.",
                way_out="Leave `chroma` out, or name the address of a PostgreSQL database instead of the folder.",
            )
        vectors = servers or separate(known.storage.chroma or "")
        access = Access(roles)
        # Last, so that no connection stays open where something else is refused.
        return cls(
            backends.on_servers(databases, vectors, known) if databases else backends.in_folder(wanted, known),
            wanted,
            embedder=chosen,
            settings=layers,
            background=works,
            clock=tells,
            access=access,
            reranker=chosen_reranker,
            model=chosen_model,
        )

    @classmethod
    def builder(cls, path: str | Path | Sequence[str] | None = None) -> MemoryBuilder:
        """Begin a memory step by step, for those who like that better than the arguments of `open`.

        Args:
            path: The folder or the databases, as for `open`.

        Raises:
            InvalidInput: `path` is neither.

        Example:
            >>> builder = Memory.builder("memory").with_embeddings(None).with_settings(Settings(enabled=True))
            >>> with builder.open() as memory:
            ...     memory.embedding_model is None
            True
        """
        return MemoryBuilder(path)

    def space(
        self,
        name: str,
        *,
        agent: str | None = None,
        fallbacks: Sequence[str] | None = None,
        settings: Settings | None = None,
        caller: str | int | UUID | None = None,
    ) -> Space:
        """Return the space with this name. What is first stored in a new one creates it.

        Args:
            name: Such as `users/alice`, `teams/research` or `global`.
            agent: Which agent uses it: its settings are in force, and what it tracks is noted as its own.
            fallbacks: Other spaces that recall and searches read as well, with the space's own results before theirs;
                by default `Settings.recall.fallbacks`. They are never written, and what they name as theirs is not
                read. One that does not exist is an `UnknownSpace` when it is to be read.
            settings: What is set in these goes before the settings of the memory, the space and the agent. They can
                have what a space can have of its own.
            caller: On whose behalf: the id of a user, or an own space, `users/…` or `agents/…`. Their role counts on
                every operation; an empty text is nobody. None is the host itself, who may do everything. Of an id that
                may begin with `users/` or `agents/`, give the space: `caller=memory.user(user_id).name`.

        Raises:
            InvalidSpace: A name is not valid for a space.
            InvalidSettings: `settings` holds what is for the whole memory, such as `storage`.
            InvalidInput: An argument has the wrong type.
        """
        arguments.optional_text(agent, "agent")
        if settings is not None:
            fitting(arguments.instance(settings, "settings", Settings, "a Settings"), "one handle of a space")
        others = None if fallbacks is None else tuple(arguments.several(fallbacks, "fallbacks", "names of spaces"))
        for each in (name, *(others or ())):
            naming.check_space(each)
        whose = _own_space(caller)
        return Space(self, self.context(name, agent=agent, fallbacks=others, settings=settings, caller=whose))

    def user(
        self,
        user_id: str | int | UUID | None,
        *,
        agent: str | None = None,
        fallbacks: Sequence[str] | None = None,
        settings: Settings | None = None,
        caller: str | int | UUID | None = None,
    ) -> Space:
        """Return the space of a user; the id may contain any characters. For the other arguments see `space`.

        Raises:
            MissingUser: The id is empty or None.
            InvalidSpace, InvalidInput: It is not an id, or another argument has the wrong type.
        """
        name = naming.user_space(user_id)
        return self.space(name, agent=agent, fallbacks=fallbacks, settings=settings, caller=caller)

    def spaces(self) -> tuple[str, ...]:
        """Return the names of all spaces in the folder.

        Raises:
            StorageError: It was moved or deleted since the memory was opened.
        """
        return self.backend.names()

    def health(self) -> Health:
        """Whether what the memory is kept by answers: its folder, or its databases and Chroma servers.

        It also says where the background could not use the Chroma folder of a space that is open. For the readiness of
        a service; it takes a few seconds where a server does not answer. See docs/scaling.md.

        Example:
            >>> Memory.open("memory", embedder=None).health()
            Health(records=True, vectors=True, problems=())
        """
        found, failed = self.backend.health(), self._chroma_failures()
        return replace(found, vectors=found.vectors and not failed, problems=(*found.problems, *failed))

    ahealth = twin(health)

    awarm_up = twin(Runtime.warm_up)
    aclose = twin(Runtime.close)

    def unreadable_spaces(self) -> tuple[Path, ...]:
        """Return space folders whose name cannot be read; opening such a space by its name repairs it."""
        return unreadable_spaces(self.path)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until the background work of all open spaces is done. Returns whether it is.

        False means that `timeout` seconds passed, that texts still wait for an embedding model that cannot be reached,
        or that vectors are not in Chroma, which failed: see `health`. In the last two cases it returns at once, so do
        not retry in a loop. `Space.stats().pending` counts the texts.
        """
        return self.finish(None, arguments.seconds(timeout, "timeout"))

    aflush = twin(flush)

    def dream(self, *, dry_run: bool = False) -> tuple[DreamReport, ...]:
        """Consolidate every space, one after the other; see `Space.dream`.

        Raises:
            StorageError: A space failed. Those before it are done.
        """
        every = map(self.space, self.spaces())
        return tuple(space.dream(dry_run=dry_run) for space in every if space.enabled)

    adream = twin(dream)

    def delete_space(self, name: str, *, confirm: str | bool = False) -> SpacePreview | ForgetReceipt:
        """Delete a whole space from everywhere: first a preview, then for good, while the memory is open.

        Its folder goes, its section in the settings file, and the receipts of other spaces that showed something of it.
        Background work on it is stopped. What is stored in it afterwards begins an empty space.

        Args:
            name: Such as `users/alice`.
            confirm: The token of a preview; True to delete without having seen one.

        Raises:
            InvalidSpace: It is no name of a space.
            ForgetChanged: The space has changed since the token was given. Nothing was deleted.
            DatabaseLocked: Another process has it open. Nothing was deleted.
            InvalidInput: `confirm` is neither.
        """
        from langmem_tiers import deleting

        naming.check_space(arguments.text(name, "name"))
        token = confirm if isinstance(confirm, bool) else arguments.text(confirm, "confirm")
        return deleting.preview(self, name) if token is False else deleting.delete(self, name, token)

    def delete_user(self, user_id: str | int | UUID, *, confirm: str | bool = False) -> SpacePreview | ForgetReceipt:
        """Delete the space of a user from everywhere; see `delete_space`.

        Raises:
            MissingUser: The id is empty.
            InvalidInput: It is not an id, or `confirm` is neither a token nor True or False.
        """
        return self.delete_space(naming.user_space(user_id), confirm=confirm)

    adelete_space = twin(delete_space)
    adelete_user = twin(delete_user)

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

    def backup(
        self,
        target: str | Path,
        *,
        users: Sequence[str | int | UUID] | None = None,
        advance: Callable[[int, int | None], None] | None = None,
    ) -> BackupReport:
        """Copy the memory while it is in use, and verify the copy by opening it.

        Each space is copied as it is at one moment: everything that was acknowledged before the call is in it. Records,
        settings and prompts are copied; the vector index is not, since it is rebuilt from the records without asking an
        embedding model. The copy holds everything in plain text, and only its owner can read it.

        Args:
            target: A new file that ends with `.tar.gz`, `.tar` or `.zip`, else a new or empty folder.
            users: Only these users; None for every space.
            advance: Called with the bytes copied so far.

        Raises:
            AlreadyThere: Something is at `target`; it is not overwritten.
            MissingUser, InvalidSpace, UnknownSpace: There is no such user.
            DiskFull, FolderNotWritable: It could not be written; nothing is left of it.
            StorageError: The only space, or all, cannot be read, or the memory's folder is gone. Else such spaces are
                in the report's `left_out`.
            NotInAFolder: It is on servers.
            BackupDamaged: It could not be restored, such as for a prompt with a line break in its name; none is made.
        """
        from langmem_tiers.transfer import backups

        wanted = self._backed_up(users)
        place = arguments.whole_path(target, "target")
        told = None if advance is None else arguments.function(advance, "advance")
        if self.backend.queue is not None:  # a space would say so, but there may be none
            raise NotInAFolder(f"The memory in {self.backend.where} is on servers, and has no files here.")
        prompts, whole = self.settings.directives, users is None
        given = (self.context, self.path, wanted, place, self.clock)
        return backups.back_up(*given, prompts=prompts, whole=whole, advance=told)

    abackup = twin(backup)

    def _backed_up(self, users: Sequence[str | int | UUID] | None) -> tuple[str, ...]:
        if users is None:
            return self.spaces()
        names = tuple(dict.fromkeys(naming.user_space(each) for each in arguments.several(users, "users", "user ids")))
        for name in names:
            self._require_there(name)
        return names

    @classmethod
    def restore(
        cls, backup: str | Path, path: str | Path, *, force: bool = False, clock: Clock = utc_now
    ) -> RestoreReport:
        """Put a backup in a folder: checked in every file, opened, and switched in at once.

        Into an empty or new folder, unless `force` is given. Then the memory that is there is kept beside it, under the
        path in the report, and what was forgotten in it after the backup is forgotten in the restored one as well. If
        the backup is of some users only, the other spaces stay as they are. Open the memory afterwards.

        Args:
            backup: What `backup` wrote.
            path: The folder of the restored memory.
            force: Whether it may take the place of a memory, which must be closed.
            clock: A function that returns the current time.

        Raises:
            BackupDamaged: It is incomplete or was changed; nothing was restored.
            NewerSchema: A newer version of this package made it.
            AlreadyThere, NotAMemoryFolder: Something is in the folder.
            DatabaseLocked: The memory in the folder is open.
            DiskFull, FolderNotWritable: It could not be written.
        """
        from langmem_tiers.transfer import restoring

        source, target = arguments.whole_path(backup, "backup"), arguments.whole_path(path, "path")
        arguments.function(clock, "clock")
        with restoring.prepared(source, target, force=arguments.flag(force, "force")) as ready:
            again = restoring.ForgottenAgain()
            if restoring.is_memory(target):
                idle: dict[str, Any] = {"embedder": None, "background": False, "clock": clock}
                with cls.open(target, **idle) as old, cls.open(ready.at, **idle) as new:
                    restoring.carry_over(ready, old.context)
                    again = restoring.forget_again(new.context, old.context, ready, old.spaces())
            kept = restoring.switch(ready, target, source, clock)
        return restoring.report(ready, target, kept, again)

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

    async def __aenter__(self) -> Memory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Memory({str(self.path)!r})"


class MemoryBuilder:
    """A memory that is put together step by step; `Memory.builder` begins one.

    Each step gives another builder and leaves this one as it is, so that one can be the beginning of several. Steps
    come in any order and may be left out, as the arguments of `Memory.open` may. Settings add up: what is set later
    goes before what was set earlier. Models are looked up by `open`.
    """

    def __init__(self, path: str | Path | Sequence[str] | None = None, /, **given: Any) -> None:
        self._path = path if path is None or _databases(path) else arguments.path(path, "path")
        self._given = given

    def with_model(self, model: BaseChatModel | str | None) -> MemoryBuilder:
        """The same with a chat model for background work, by itself or by name."""
        return self._with(model=model)

    def with_embeddings(self, embedder: Embeddings | Embedder | str | None) -> MemoryBuilder:
        """The same with an embedder, by itself or by name; with None, recall goes by keywords."""
        return self._with(embedder=embedder)

    def with_reranker(self, reranker: BaseDocumentCompressor | BaseChatModel | str | None) -> MemoryBuilder:
        """The same with a reranker, by itself or by name."""
        return self._with(reranker=reranker)

    def with_dreaming(self, dream: DreamSettings | None = None) -> MemoryBuilder:
        """The same with settings of the dream; by default it is turned on, whatever the settings file says.

        Raises:
            InvalidInput: `dream` is something else.
        """
        wanted = DreamSettings(enabled=True) if dream is None else dream
        arguments.instance(wanted, "dream", DreamSettings, "a DreamSettings")
        return self.with_settings(Settings(dream=wanted))

    def with_settings(self, settings: Settings) -> MemoryBuilder:
        """The same with more settings.

        Raises:
            InvalidInput: `settings` is something else.
        """
        arguments.instance(settings, "settings", Settings, "a Settings")
        return self._with(settings=settings_layers.overlaid(self._given.get("settings", Settings()), settings))

    def with_background(self, background: bool) -> MemoryBuilder:
        """The same with background work or without, as in `Memory.open`.

        Raises:
            InvalidInput: it is neither True nor False.
        """
        return self._with(background=arguments.flag(background, "background"))

    def with_clock(self, clock: Clock) -> MemoryBuilder:
        """The same with another clock.

        Raises:
            InvalidInput: it is no function.
        """
        return self._with(clock=arguments.function(clock, "clock"))

    def open(self) -> Memory:
        """Open the memory.

        Raises:
            MemoryTiersError: as `Memory.open` does.
        """
        return Memory.open(self._path, **self._given)

    def _with(self, **more: Any) -> MemoryBuilder:
        return MemoryBuilder(self._path, **{**self._given, **more})


def _databases(named: Any) -> tuple[str, ...]:
    """The addresses of the databases that are named; none if it is a folder, or nothing of the kind."""
    several = separate(named) if isinstance(named, str) else named if isinstance(named, list | tuple) else ()
    return tuple(several) if all(map(is_address, several)) else ()


def _addresses(given: Any, name: str) -> tuple[str, ...]:
    """Addresses in a list, or in a text with commas between.

    Raises:
        InvalidInput: it is neither.
    """
    if given is None or isinstance(given, str):
        return separate(arguments.optional_text(given, name) or "")
    return arguments.texts(given, name)


def _own_space(caller: str | int | UUID | None) -> str | None:
    """The own space of a caller; None for the host itself."""
    if caller is None:
        return None
    if caller == NOBODY:
        return NOBODY
    try:
        return naming.caller_space(caller)
    except InvalidSpace as error:
        raise InvalidSpace(f"The argument `caller`: {error.message}", way_out=error.way_out) from error


def _or_named(given: Any, name: str | None) -> Any:
    """What is given, else what the settings name; of a name, the chat model."""
    chosen = name if given is None else given
    return providers.chat_model(chosen) if isinstance(chosen, str) else chosen
