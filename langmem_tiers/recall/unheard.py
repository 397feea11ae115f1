"""Whether a question asks for something of the user's own that nobody ever told of: "What is my cat's name?"."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.language.chatter import asks
from langmem_tiers.language.needs import told_by
from langmem_tiers.language.words import stems
from langmem_tiers.recall.own_messages import own_words
from langmem_tiers.recall.request import Query
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.storage import keyword


def is_unheard(sources: Sequence[SpaceSnapshot], query: Query) -> bool:
    """Whether a question asks for something of the user's own that nobody ever told of, in any of the spaces."""
    sought = told_by(query.text)
    return bool(sought) and not any(_is_heard(source, query, sought) for source in sources)


def _is_heard(source: SpaceSnapshot, query: Query, sought: tuple[str, ...]) -> bool:
    noted = keyword.notes.holding(source.connection, [(term, *keyword.ALL) for term in sought])
    if any(len(said) or len(place) for said, place in noted):
        return True
    named = entity_lookup.named_in(source.store.graph.view(source.moment), f"my {sought[0]}")
    if any(match.found_by == "kinship" for match in named):
        return True
    held, _ = source.store.words.holding(source.drawers_at, sought)
    numbers = {number for said, _ in held for number in said.tolist()}
    asked = stems(query.text)
    told = own_words(source, numbers).values()
    return any(not (asks(drawer.content) and stems(drawer.content) <= asked) for drawer in told)
