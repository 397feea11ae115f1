"""Which memory and whose space a command is about."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.errors import MissingUser, NotAMemoryFolder

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]

_NAME_ONE = "Name one before the command: langmem-tiers --user ID … (or set LANGMEM_TIERS_USER)."
_NAMED_USERS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The options given before the command: the memory folder, the user, its embedder, and whether a script is reading.

    `path` None means $LANGMEM_TIERS_PATH or the user's data folder, as in `Memory.open`.
    """

    path: Path | None = None
    user: str | None = None
    json: bool = False
    embedder: str = "minilm"

    @contextmanager
    def memory(self, *, reranker: BaseChatModel | None = None) -> Iterator[Memory]:
        """The memory, open for one command; the folder is made if there is none."""
        from langmem_tiers.memory import Memory

        with Memory.open(self.path, embedder=self.embedder, reranker=reranker) as memory:
            yield memory

    @contextmanager
    def existing_memory(
        self, *, settings: Settings | None = None, reranker: BaseChatModel | None = None
    ) -> Iterator[Memory]:
        """The memory, for commands that look at what is there: no folder is made, and nothing is embedded meanwhile.

        Raises:
            NotAMemoryFolder: there is no such folder.
        """
        from langmem_tiers.memory import Memory
        from langmem_tiers.paths import default_folder
        from langmem_tiers.storage.errors_border import translated

        folder = self.path.expanduser() if self.path else default_folder()
        with translated(folder):
            there = folder.exists() and (folder.is_file() or any(folder.iterdir()))
        if not there:
            raise NotAMemoryFolder(
                f"There is no memory at {folder}.",
                way_out="Name its folder before the command: langmem-tiers --path FOLDER …",
            )
        options: dict[str, Any] = {"embedder": self.embedder, "reranker": reranker, "settings": settings}
        with Memory.open(folder, background=False, **options) as memory:
            yield memory

    def space_name(self) -> str:
        """The name of the space of the user named, whether there is one or not.

        Raises:
            MissingUser: nobody was named.
            InvalidSpace: nobody can be named so.
        """
        from langmem_tiers.naming import user_space

        if self.user is None:
            raise MissingUser("This command is about one user's memory, and none was named.", way_out=_NAME_ONE)
        if not self.user.strip():
            raise MissingUser("The user id is empty.", way_out=_NAME_ONE)
        return user_space(self.user)

    def space(self, memory: Memory) -> Space:
        """The space of the user named, for commands that only look.

        Raises:
            MissingUser: nobody was named, or nobody of this name is in this memory.
        """
        from langmem_tiers.naming import folder_name

        name = self.space_name()
        if not (memory.path / "spaces" / folder_name(name)).is_dir():
            raise MissingUser(
                f"There is no user {self.user!r} in the memory in {memory.path}.", way_out=self._users(memory)
            )
        return memory.space(name)

    def spaces(self, memory: Memory) -> tuple[Space, ...]:
        """The space of the user named, or every space when none was.

        Raises:
            MissingUser: nobody of this name is in this memory.
        """
        if self.user is not None:
            return (self.space(memory),)
        return tuple(memory.space(name) for name in memory.spaces())

    def unreadable(self, memory: Memory) -> tuple[Path, ...]:
        """Folders of spaces that can not be told by name, for commands about every space."""
        return memory.unreadable_spaces() if self.user is None else ()

    def _users(self, memory: Memory) -> str:
        """The users there are; of many, those whose ids are most like the one named."""
        from langmem_tiers.naming import user_of

        users = [user for user in map(user_of, memory.spaces()) if user is not None]
        if not users:
            return "It has no users yet."
        if len(users) <= _NAMED_USERS:
            return f"It has: {', '.join(users)}."
        alike = difflib.get_close_matches(str(self.user), users, n=_NAMED_USERS, cutoff=0)
        return f"It has {len(users):,}, among them: {', '.join(alike)}."


def target_of(context: typer.Context, *, json: bool = False) -> Target:
    """The target that the options before the command named; `json` is the command's own flag."""
    target = context.obj
    assert isinstance(target, Target)
    return replace(target, json=target.json or json)
