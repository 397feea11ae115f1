"""What every command shares: which memory and whose space it is about, and how its result is printed."""

from __future__ import annotations

import difflib
import functools
import inspect
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from langmem_tiers.cli import completion
from langmem_tiers.cli.terminal import print_json, print_shown
from langmem_tiers.errors import (
    InvalidText,
    MemoryTiersError,
    MergeRefused,
    MissingUser,
    NaiveDatetime,
    NotAMemoryFolder,
    StorageError,
    UnknownEntity,
    UnknownReceipt,
    UnknownRelation,
    UnknownTask,
)

if TYPE_CHECKING:
    from datetime import datetime

    from langchain_core.language_models import BaseChatModel
    from rich.console import RenderableType

    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space

OfSpace = Annotated[
    str | None,
    typer.Option(
        "--space",
        metavar="SPACE",
        autocompletion=completion.spaces,
        help="A space by name: users/alice. Default: that of --user.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="DATE", help="What was known at the end of this day, month or year: 2026-03-02, 2026-03."
    ),
]
OfProject = Annotated[str | None, typer.Option("--project", metavar="NAME", help="Only of this project.")]
OfTask = Annotated[str | None, typer.Option("--task", metavar="ID", help="Only of the task with this id.")]
FromFile = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Take the text from this file; '-' is standard input.")
]
NewUser = Annotated[bool, typer.Option("--new", help="Begin the memory of a user who has none yet.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


DEFAULT_EMBEDDER = "default"


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command found or did: `data` is printed as JSON for scripts, the lines and tables of `text` otherwise.

    A command that `failed` ends with exit code 1.
    """

    data: object
    text: Iterable[RenderableType]
    failed: bool = False


_NAME_ONE = "Name one before the command: langmem-tiers --user ID … (or set LANGMEM_TIERS_USER)."
_NAMED_USERS = 10


def require_memory(place: Path | str, *, way_out: str) -> None:
    """Refuse a folder that holds no memory; a database is opened to see.

    Raises:
        NotAMemoryFolder: it holds none.
    """
    from langmem_tiers.storage.errors_border import translated

    if isinstance(place, Path):
        with in_words_of_commands(), translated(place):
            there = place.exists() and (place.is_file() or any(place.iterdir()))
        if not there:
            raise NotAMemoryFolder(f"There is no memory at {place} yet.", way_out=way_out)


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a command is about: the memory folder, the user or the space, the embedder, and whether a script is reading.

    `path` None means $LANGMEM_TIERS_PATH or the user's data folder, as in `Memory.open`; it may be the address of a
    database, with `chroma` for its vectors. A `space` by name goes before
    that of the user. `fallbacks` are further spaces to read, None for those of the settings.
    """

    path: Path | str | None = None
    chroma: str | None = None
    user: str | None = None
    space: str | None = None
    json: bool = False
    embedder: str = DEFAULT_EMBEDDER
    fallbacks: tuple[str, ...] | None = None

    @property
    def folder(self) -> Path:
        """The folder of the memory, whether it is there or not; that of its settings, if it is on a server."""
        from langmem_tiers.paths import default_folder

        return self.path.expanduser() if isinstance(self.path, Path) else default_folder()

    @property
    def place(self) -> Path | str:
        """The folder of the memory, or the address of its database."""
        from langmem_tiers.paths import default_place

        return default_place() if self.path is None else self.path if isinstance(self.path, str) else self.folder

    @contextmanager
    def memory(self, *, reranker: BaseChatModel | None = None) -> Iterator[Memory]:
        """The memory, open for one command; the folder is made if there is none."""
        from langmem_tiers.memory import Memory

        with (
            in_words_of_commands(),
            Memory.open(self.path, chroma=self.chroma, embedder=self.embedder, reranker=reranker) as memory,
        ):
            yield memory

    @contextmanager
    def existing_memory(
        self, *, settings: Settings | None = None, reranker: BaseChatModel | None = None, background: bool = False
    ) -> Iterator[Memory]:
        """The memory, for commands that look at what is there: no folder is made.

        Nothing is embedded or mined meanwhile, unless with `background`.

        Raises:
            NotAMemoryFolder: there is no such folder.
        """
        from langmem_tiers.memory import Memory

        place = self.place
        require_memory(place, way_out=self._begin())
        with (
            in_words_of_commands(),
            Memory.open(
                place,
                chroma=self.chroma,
                embedder=self.embedder,
                reranker=reranker,
                settings=settings,
                background=background,
            ) as memory,
        ):
            yield memory

    @contextmanager
    def existing_space(self) -> Iterator[Space]:
        """The space named, for commands that look at what is there.

        Raises:
            MissingUser: nobody was named, or there is no such space.
        """
        with self.existing_memory() as memory:
            yield self.one_space(memory)

    @contextmanager
    def space_to_change(self) -> Iterator[Space]:
        """The space named, for commands that begin a new one only with `--new`: a name may be mistyped.

        Raises:
            MissingUser: nobody was named, or there is no such space.
            NotAMemoryFolder: there is no memory.
        """
        try:
            with self.existing_memory() as memory:
                space = self.one_space(memory)
                yield space
        except (MissingUser, NotAMemoryFolder) as error:
            error.way_out = f"{error.way_out} To begin a new one all the same, add --new."
            raise

    @contextmanager
    def any_space(self) -> Iterator[Space]:
        """The space named, which may be new; where none is named, no folder is made."""
        name = self.space_name()
        with self.memory() as memory:
            yield self.open(memory, name)

    def only_space(self, memory: Memory) -> Space:
        """The space named; without a name, the only one there is."""
        names = memory.spaces()
        if not self.names_one and len(names) == 1:
            return self.open(memory, names[0])
        return self.one_space(memory)

    def open(self, memory: Memory, name: str) -> Space:
        """A space of the memory, with the fallbacks given."""
        return memory.space(name, fallbacks=self.fallbacks)

    def space_name(self) -> str:
        """The name of the space, or of that of the user named, whether there is one or not.

        Raises:
            MissingUser: nobody was named.
            InvalidSpace: nobody can be named so.
        """
        from langmem_tiers.naming import check_space, user_space

        if self.space is not None:
            return check_space(self.space)
        if self.user is None:
            raise MissingUser("This command is about one user's memory, and none was named.", way_out=self._whose())
        if not self.user.strip():
            raise MissingUser("The user id is empty.", way_out=self._whose())
        return user_space(self.user)

    def one_space(self, memory: Memory) -> Space:
        """The space named, for commands that only look.

        Raises:
            MissingUser: nobody was named, or nothing of this name is in this memory.
        """
        name, where = self.space_name(), memory.backend.where
        if not memory.backend.has(name):
            if self.space is not None:
                raise MissingUser(
                    f"There is no space {name!r} in the memory in {where}.",
                    way_out=f"`langmem-tiers --path {where} stats` shows those there are.",
                )
            raise MissingUser(f"There is no user {self.user!r} in the memory in {where}.", way_out=self._users(memory))
        return self.open(memory, name)

    def spaces(self, memory: Memory) -> tuple[Space, ...]:
        """The space named, or every space when none was.

        Raises:
            MissingUser: nothing of this name is in this memory.
        """
        if self.names_one:
            return (self.one_space(memory),)
        every = (memory.space(name) for name in memory.spaces())
        return tuple(space for space in every if space.enabled)

    def command_line(self, space: str, *words: str) -> str:
        """A command about a space, as it is typed, with the options that were given before this one."""
        from langmem_tiers.naming import user_of
        from langmem_tiers.paths import shown

        where = [] if self.path is None else ["--path", shown(self.path)]
        where += [] if self.chroma is None else ["--chroma", shown(self.chroma)]
        embedder = [] if self.embedder == DEFAULT_EMBEDDER else ["--embedder", self.embedder]
        user = user_of(space)
        whose, named = ([], ["--space", space]) if user is None else (["--user", user], [])
        return shlex.join(["langmem-tiers", *where, *whose, *embedder, *words, *named])

    @property
    def names_one(self) -> bool:
        """Whether one space is named, by itself or by its user."""
        return self.user is not None or self.space is not None

    def unreadable(self, memory: Memory) -> tuple[Path, ...]:
        """Folders of spaces whose name cannot be read, for commands about every space."""
        return () if self.names_one or isinstance(self.place, str) else memory.unreadable_spaces()

    def show(self, found: Shown) -> None:
        """Print what a command found, and end it with exit code 1 if it failed."""
        if self.json:
            print_json(found.data)
        else:
            print_shown(found.text)
        if found.failed:
            raise typer.Exit(1)

    def _begin(self) -> str:
        """How to begin a memory, and where to look for one that is there."""
        first = self.command_line(self.space or f"users/{self.user or 'ID'}", "chat")
        return f"Begin one with `{first}`, or name the folder of one before the command: langmem-tiers --path FOLDER …"

    def _whose(self) -> str:
        """How to name a user, and which there are, if there are few."""
        place = self.place
        users = _users_in(place) if isinstance(place, Path) and place.is_dir() else []
        return f"{_NAME_ONE} It has: {', '.join(users)}." if 0 < len(users) <= _NAMED_USERS else _NAME_ONE

    def _users(self, memory: Memory) -> str:
        """The users of the memory; if there are many, those with the most similar ids."""
        users = _users_of(memory.spaces())
        if not users:
            return f"It has no users yet. Begin with `{self.command_line(self.space_name(), 'chat')}`."
        if len(users) <= _NAMED_USERS:
            return f"It has: {', '.join(users)}."
        alike = difflib.get_close_matches(str(self.user), users, n=_NAMED_USERS, cutoff=0)
        return f"It has {len(users):,}, among them: {', '.join(alike)}."


def _users_in(folder: Path) -> list[str]:
    """The ids of the users in a memory folder."""
    from langmem_tiers.storage.folder import space_names

    return _users_of(space_names(folder))


def _users_of(names: Iterable[str]) -> list[str]:
    """The ids of those users whose spaces are among these."""
    from langmem_tiers.naming import user_of

    return [user for user in map(user_of, names) if user is not None]


def moments(since: str | None, until: str | None) -> dict[str, datetime | None]:
    """The filters that the options `--since` and `--until` mean: until the end of the day, month or year."""
    from langmem_tiers.clock import utc_now
    from langmem_tiers.language.periods import last_of, parse, parse_optional

    now = utc_now()
    last = None if until is None else last_of(*parse(until, now=now))
    return {"since": parse_optional(since, now=now)[0], "until": last}


def target_of(context: typer.Context, *, json: bool = False, space: str | None = None) -> Target:
    """The target given by the options before the command; `json` and `space` are the command's own."""
    target = context.obj
    assert isinstance(target, Target)
    return replace(target, json=target.json or json, space=space)


def command(
    function: Callable[..., Shown], *, given: Mapping[str, object] | None = None, without: Collection[str] = ()
) -> Callable[..., None]:
    """The command that calls `function` with a `Target` and its options, and prints the result; it has `--json`, too.

    Arguments in `given` are no options of the command, and neither are those in `without`, which keep their defaults.
    """
    return _command(function, given or {}, without, {"json": (JsonFlag, False)})


def command_of_space(function: Callable[..., Shown]) -> Callable[..., None]:
    """Like `command`, for functions about one space: it has `--space`, too."""
    return _command(function, {}, (), {"space": (OfSpace, None), "json": (JsonFlag, False)})


def _command(
    function: Callable[..., Shown],
    fixed: Mapping[str, object],
    without: Collection[str],
    added: Mapping[str, tuple[Any, Any]],
) -> Callable[..., None]:

    def run(*, context: typer.Context, json: bool, **options: Any) -> None:
        target = target_of(context, json=json, space=options.pop("space") if "space" in added else None)
        target.show(function(target, **fixed, **options))

    return with_options(run, function, added, without={*fixed, *without})


def space_command(*, new_user: bool = False) -> Callable[[Callable[..., Shown]], Callable[..., None]]:
    """A decorator like `command_of_space`, for functions that are called with the open `Space`.

    With `new_user`, the space may be a new one.
    """

    def made(function: Callable[..., Shown]) -> Callable[..., None]:
        def run(*, context: typer.Context, json: bool, space: str | None = None, **options: Any) -> None:
            target = target_of(context, json=json, space=space)
            with target.any_space() if new_user else target.existing_space() as opened:
                target.show(function(opened, **options))

        return with_options(run, function, {"space": (OfSpace, None), "json": (JsonFlag, False)})

    return made


def with_options(
    run: Callable[..., None],
    function: Callable[..., Any],
    added: Mapping[str, tuple[Any, Any]],
    *,
    without: Collection[str] = (),
) -> Callable[..., None]:
    """`run` as Typer is to see it: with the options of `function` behind its first argument, and those added.

    `added` gives the annotation and the default of each.
    """
    # `Space` is not imported at run time: the modules of commands are to load fast.
    hints = get_type_hints(function, localns={"Space": object}, include_extras=True)
    own = [each.replace(annotation=hints[name]) for name, each in inspect.signature(function).parameters.items()]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in added.items()
    ]
    parameters = [context, *(each for each in own[1:] if each.name not in without), *more]
    functools.update_wrapper(run, function)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


_ENTITIES = "`langmem-tiers entities list` shows those there are."


@contextmanager
def in_words_of_commands() -> Iterator[None]:
    """In errors raised inside, advice for programmers becomes advice for users of commands."""
    try:
        yield
    except MemoryTiersError as error:
        error.way_out = _ways_out().get(error.way_out, error.way_out)
        raise


def _ways_out() -> dict[str, str]:
    """For the advice of an error, the advice given instead."""
    from langmem_tiers.knowledge.tasks import REOPEN
    from langmem_tiers.knowledge_graph import entity_lookup, importing, merging
    from langmem_tiers.language import predicates
    from langmem_tiers.transfer import exporting, restoring

    return {
        StorageError.way_out: "The cause is in brackets; what is stored already is safe.",
        InvalidText.way_out: "Write it in UTF-8.",
        UnknownEntity.way_out: _ENTITIES,
        entity_lookup.NONE_LIKE: f"No name is like it: {_ENTITIES}",
        UnknownReceipt.way_out: "`langmem-tiers receipts list` shows those there are.",
        UnknownTask.way_out: "`langmem-tiers tasks list --status all` shows those there are.",
        REOPEN: "`langmem-tiers tasks update ID --reopen` opens it again.",
        UnknownRelation.way_out: "`langmem-tiers timeline ENTITY` shows the ids of its relations.",
        MergeRefused.way_out: "`langmem-tiers entities show ID` says what each is.",
        NaiveDatetime.way_out: "Add one, such as 2024-05-17T10:00+02:00, or Z for UTC.",
        merging.NO_MERGE: "`langmem-tiers entities merges` lists those that stand.",
        merging.UNDO: "`langmem-tiers entities unmerge NUMBER` undoes a merge, if they are two.",
        merging.KEPT_APART: "If they are one, `langmem-tiers entities allow-merge ID ID` takes that back.",
        predicates.OVER: "Say what held, such as 'lives in', with --to; `relations end ID` ends what is known.",
        predicates.NOT_SO: (
            "`relations withdraw ID` takes back what was never so, `relations end ID` ends what is over."
        ),
        exporting.FORCE: "Name another one, or give --force to replace it.",
        restoring.FORCE: "Name a new folder, or give --force: then the memory that is there is kept beside it.",
        importing.WAY_OUT: "Give a file that `langmem-tiers graph --out FILE.json` wrote.",
    }
