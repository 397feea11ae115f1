"""The entry that several become: it is trusted as the least trusted of them, and as old as the oldest. Pure."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

from langmem_tiers.clock import to_millis
from langmem_tiers.dream.types import MergeEntries
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.settings import Settings
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.trust.taint import derived_trust

T = TypeVar("T")


def entry(proposal: MergeEntries, sources: Sequence[Entry], settings: Settings) -> NewEntry:
    """The entry that holds instead of its sources.

    Raises:
        InvalidInput: its words, category or tags can not be stored, or the sources concern different projects or
            agents: what is known for one is not known for another.
    """
    if len(sources) < 2:
        raise InvalidInput("A merge of fewer than two entries is none.")
    content = checks.content(proposal.content, settings)
    tags = proposal.tags or _union(source.tags for source in sources)
    return NewEntry(
        id=checks.new_id(),
        content=content,
        category=checks.category(proposal.category or sources[0].category, settings),
        tags=checks.tags(list(tags), settings),
        origin=derived_trust(["dream", *(source.origin for source in sources)]),
        path=proposal.path,
        authority=Authority(min(source.authority for source in sources)),
        flags=tuple(_union([checks.flags(content), *(source.flags for source in sources)])),
        project=_common("project", sources, lambda source: source.project),
        agent=_common("agent", sources, lambda source: source.agent),
        metadata=dict(ChainMap(*(dict(source.metadata) for source in sources))),
        expires_at=_expiry(sources),
    )


def history(sources: Sequence[Entry]) -> dict[str, Any]:
    """The columns that tell how old an entry is, and how often it was recalled."""
    recalled = [source.last_recalled_at for source in sources if source.last_recalled_at is not None]
    return {
        "created_at": to_millis(min(source.created_at for source in sources)),
        "recall_count": sum(source.recall_count for source in sources),
        "last_recalled_at": to_millis(max(recalled)) if recalled else None,
    }


def _union(named: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(named)))


def _common(what: str, sources: Sequence[Entry], of: Callable[[Entry], T]) -> T:
    found = {of(source) for source in sources}
    if len(found) > 1:
        raise InvalidInput(f"The entries are not of one {what}.")
    return found.pop()


def _expiry(sources: Sequence[Entry]) -> int | None:
    """Until when it holds: as long as any of them."""
    ends = [source.expires_at for source in sources]
    return None if None in ends else max(to_millis(end) for end in ends if end is not None)
