"""Searching the layers of a memory at once: the identity (L0), the knowledge (L1) and the archive (L2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers.knowledge.episodes import Episodes
from langmem_tiers.knowledge.identity import Identity
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.knowledge.search import terms
from langmem_tiers.language.words import searchable, stem, words

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.knowledge.results import EntryFound, EpisodeFound
    from langmem_tiers.records import Entry, Episode

Layer = Literal["L0", "L1", "L2"]

_DECIMALS = 4
_HEADING = "#"


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerFound:
    """A search result, and its layer.

    `text` is a line of the identity, the content of an entry, or the abstract of an episode; `id` is empty for the
    identity. `score` is from 0 to 1, and 0 without a query. `at` is when it was last said or changed, or when a session
    ended. `ended` is what says that an entry or a summary no longer holds, and `space` the space that it is in, as in
    `EntryFound`.
    """

    layer: Layer
    id: str
    text: str
    score: float
    at: datetime | None
    entry: Entry | None = None
    episode: Episode | None = None
    ended: tuple[str, ...] = ()
    space: str = ""


def search(
    context: SpaceContext,
    query: str,
    layer: Layer | None,
    *,
    since: datetime | None,
    until: datetime | None,
    project: str | None,
    task: str | None,
    limit: int,
) -> tuple[LayerFound, ...]:
    """What matches a query in one layer or in all, best first; without a query, layer by layer, newest first.

    The identity is that of the space itself, the others are those of its fallbacks as well.
    """
    found: list[LayerFound] = []
    filters: dict[str, Any] = {"since": since, "until": until, "project": project, "task": task}
    if layer in (None, "L0") and not any(filters.values()):
        found += _identity(context, query)
    if layer in (None, "L1"):
        for entry in Knowledge(context).search(query, **filters, limit=limit):
            found.append(_of_entry(entry))
    if layer in (None, "L2"):
        for episode in Episodes(context).search(query, **filters, limit=limit):
            found.append(_of_episode(episode))
    return tuple(sorted(found, key=lambda each: (bool(each.ended), -each.score))[:limit])


def _identity(context: SpaceContext, query: str) -> Iterator[LayerFound]:
    """The lines of the identity with a word of the query, scored by the share of its words that they contain."""
    identity = Identity(context).read()
    wanted = {stem(term) for term in terms(query)}
    for line in identity.text.splitlines():
        said = line.strip().removeprefix("- ")
        held = {stem(word) for word in words(searchable(said))}
        share = len(wanted & held) / len(wanted) if wanted else 0.0
        if said and not said.startswith(_HEADING) and (share or not query.strip()):
            yield LayerFound(
                layer="L0", id="", text=said, score=round(share, _DECIMALS), at=identity.updated_at, space=context.name
            )


def _of_entry(found: EntryFound) -> LayerFound:
    return LayerFound(
        layer="L1",
        id=found.entry.id,
        text=found.entry.content,
        score=found.score,
        at=found.entry.said_at,
        entry=found.entry,
        ended=found.ended,
        space=found.space,
    )


def _of_episode(found: EpisodeFound) -> LayerFound:
    episode = found.episode
    text = episode.abstract or episode.summary or f"About: {', '.join(episode.topics)}"
    return LayerFound(
        layer="L2",
        id=episode.id,
        text=text,
        score=found.score,
        at=episode.ended_at,
        episode=episode,
        ended=found.ended,
        space=found.space,
    )
