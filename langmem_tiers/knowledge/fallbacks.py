"""Searches and look-ups that go on in the fallbacks of a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from langmem_tiers.errors import UnknownSpace
from langmem_tiers.knowledge.results import DocumentHit, EntryFound, EpisodeFound
from langmem_tiers.language.wordings import plain
from langmem_tiers.pointers import find_pointers, split_reference

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

_DECIMALS = 4

FoundT = TypeVar("FoundT", EntryFound, EpisodeFound, DocumentHit)
HeldT = TypeVar("HeldT")


def search_all(
    context: SpaceContext,
    search: Callable[[SpaceContext], Sequence[FoundT]],
    *,
    text: Callable[[FoundT], str],
    order: Callable[[FoundT], Any],
    limit: int,
) -> tuple[FoundT, ...]:
    """What a search finds in a space and in its fallbacks, as one list in this order, each with its space.

    The scores of a fallback count for less (`Settings.recall.own_space_boost`), and of what several spaces hold with
    the same text only the first one's is given, the own one before all others; what has no text is like nothing else.
    """
    found: list[list[FoundT]] = []
    for source in context.sources():
        found.append([replace(each, space=source.name) for each in search(source)])
    together, others = found[0], found[1:]
    if not others:
        return tuple(together)
    boost, said = context.settings.recall.own_space_boost, {plain(text(each)) for each in together} - {""}
    for other in others:
        new = [each for each in other if plain(text(each)) not in said]
        said |= {plain(text(each)) for each in new} - {""}
        together += [replace(each, score=round(each.score / boost, _DECIMALS)) for each in new]
    return tuple(sorted(together, key=order)[:limit])


def first_of(context: SpaceContext, reference: str, read: Callable[[SpaceContext, str], HeldT | None]) -> HeldT | None:
    """What an id or pointer refers to, as `read` finds it in the first space that has it; None if none does.

    Raises:
        InvalidPointer: it names a space that is neither the own one nor a fallback.
    """
    name, sources = resolve_reference(context, reference)
    return next((found for source in sources if (found := read(source, name)) is not None), None)


def resolve_reference(context: SpaceContext, reference: str) -> tuple[str, tuple[SpaceContext, ...]]:
    """An id or pointer without the name of a space, and where to look for it.

    That is the space that it names (`3f2a9c01d4e5@teams/research`); without one the own space, and for an id, which no
    two spaces share, the fallbacks as well.

    Raises:
        InvalidPointer: it names a space that is neither the own one nor a fallback.
    """
    pointer = next(iter(find_pointers(reference)), None)
    if pointer is not None:
        return str(replace(pointer, space=None)), (context.source(pointer.space),)
    name, space = split_reference(reference.strip())
    return name, context.sources() if space is None else (context.source(space),)


def still_read(context: SpaceContext, name: str) -> SpaceContext | None:
    """A space that was read at some time, by itself; None if it is read no longer: no fallback any more, or gone."""
    source = next((each for each in context.sources() if each.name == name), None)
    if source is None:
        return None
    try:
        with source.open():
            return source
    except UnknownSpace:
        return None
