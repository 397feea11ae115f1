"""Which memory and whose space a command is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.errors import MissingUser, NotAMemoryFolder

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The options given before the command: the memory folder, the user, and whether a script is reading.

    `path` None means $LANGMEM_TIERS_PATH or the user's data folder, as in `Memory.open`.
    """

    path: Path | None = None
    user: str | None = None
    json: bool = False

    @contextmanager
    def memory(self) -> Iterator[Memory]:
        """The memory, open for one command; the folder is made if there is none."""
        from langmem_tiers.memory import Memory

        with Memory.open(self.path) as memory:
            yield memory

    @contextmanager
    def existing_memory(self, *, settings: Settings | None = None) -> Iterator[Memory]:
        """The memory, for commands that look at what is there: no folder is made, and nothing is embedded meanwhile.

        Raises:
            NotAMemoryFolder: there is no such folder.
        """
        from langmem_tiers.memory import Memory
        from langmem_tiers.paths import default_folder

        folder = self.path.expanduser() if self.path else default_folder()
        if not folder.is_dir():
            raise NotAMemoryFolder(
                f"There is no memory at {folder}.",
                way_out="Name its folder before the command: langmem-tiers --path FOLDER …",
            )
        with Memory.open(folder, settings=settings, background=False) as memory:
            yield memory

    def space(self, memory: Memory) -> Space:
        """The space of the user named.

        Raises:
            MissingUser: nobody was named.
        """
        if not self.user:
            raise MissingUser(
                "This command is about one user's memory, and none was named.",
                way_out="Name one before the command: langmem-tiers --user ID … (or set LANGMEM_TIERS_USER).",
            )
        return memory.user(self.user)

    def spaces(self, memory: Memory) -> tuple[Space, ...]:
        """The space of the user named, or every space when none was."""
        if self.user:
            return (memory.user(self.user),)
        return tuple(memory.space(name) for name in memory.spaces())


def target_of(context: typer.Context, *, json: bool = False) -> Target:
    """The target that the options before the command named; `json` is the command's own flag."""
    target = context.obj
    assert isinstance(target, Target)
    return replace(target, json=target.json or json)
