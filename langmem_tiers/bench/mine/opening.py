"""Finding the space to measure: nothing is made by looking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from langmem_tiers.errors import InvalidInput, NotAMemoryFolder
from langmem_tiers.naming import folder_name

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from langmem_tiers.embeddings.base import Embedder
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space

_NAMED = 10


def existing_space(memory: Memory, name: str) -> Space:
    """The space of a name that is in the memory already.

    Raises:
        InvalidInput: there is none.
    """
    space = memory.space(name)
    if not (memory.path / "spaces" / folder_name(name)).is_dir():
        raise InvalidInput(f"There is no space {name!r} in the memory in {memory.path}.", way_out=_those_of(memory))
    return space


@contextmanager
def open_space(
    path: str | Path,
    name: str,
    *,
    settings: Settings | None = None,
    embedder: Embeddings | Embedder | Literal["minilm"] | None = "minilm",
) -> Iterator[Space]:
    """A space of a memory that is there already, opened for looking only: nothing is embedded meanwhile.

    Raises:
        NotAMemoryFolder: there is no memory in the folder.
        InvalidInput: there is no such space in it.
    """
    from langmem_tiers.memory import Memory

    folder = Path(path).expanduser()
    if not folder.is_dir() or not any(folder.iterdir()):
        raise NotAMemoryFolder(f"There is no memory at {folder.absolute()}.", way_out="Name the folder of one.")
    with Memory.open(folder, settings=settings, embedder=embedder, background=False) as memory:
        yield existing_space(memory, name)


def _those_of(memory: Memory) -> str:
    names = memory.spaces()
    if not names:
        return "It has no spaces yet."
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"It has: {', '.join(names[:_NAMED])}{more}."
