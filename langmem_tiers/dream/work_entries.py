"""What a dream does to entries: merging, putting aside, filing elsewhere."""

from __future__ import annotations

from typing import Any

from langmem_tiers.dream import merged
from langmem_tiers.dream.types import MergeEntries, RefineEntry, RetireEntry
from langmem_tiers.dream.work import Refused, Work
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.storage import entries
from langmem_tiers.writing.proposals import Evidence

CONSOLIDATED = "consolidated"
"""Why an entry that a dream retired is inactive."""


def merge(work: Work, proposal: MergeEntries) -> None:
    """Let one entry hold instead of several, with the evidence of all."""
    sources = [work.untouched(each) for each in dict.fromkeys(proposal.sources)]
    new = merged.entry(proposal, sources, work.settings)
    work.require_new(new, besides={source.id for source in sources})
    holder = work.ledger.add(new, ())
    entries.change(work.connection, work.space, holder.number, merged.history(sources))
    work.own.add(holder.id)
    for source in sources:
        brought = [Evidence(drawer=each.drawer, quote=each.quote) for each in source.evidence]
        holder = work.ledger.join(holder, brought, via=source)
        _retire(work, source, holder.id)


def retire(work: Work, proposal: RetireEntry) -> None:
    """Put an entry aside, for the one that holds instead where there is one."""
    entry = work.ledger.read(proposal.id)
    if entry is not None and proposal.id in work.own and entry.reason == CONSOLIDATED:
        return  # a merge has retired it already
    entry = work.untouched(proposal.id)
    _retire(work, entry, None if proposal.successor is None else _holder(work, proposal.successor, entry).id)


def refine(work: Work, proposal: RefineEntry) -> None:
    """File an entry elsewhere."""
    entry = work.untouched(proposal.id)
    values: dict[str, Any] = {}
    if proposal.category is not None:
        values["category"] = checks.category(proposal.category, work.settings)
    if proposal.tags is not None:
        values["tags"] = checks.tags(proposal.tags, work.settings)
    if all(getattr(entry, name) == value for name, value in values.items()):
        raise Refused(f"entry {entry.id} is so already")
    work.ledger.change(entry, **values)
    work.own.add(entry.id)


def _retire(work: Work, entry: Entry, successor: str | None) -> None:
    work.ledger.retire(entry, CONSOLIDATED, successor)
    work.own.add(entry.id)


def _holder(work: Work, successor: str, entry: Entry) -> Entry:
    """The active entry that a successor is now: this dream may have merged it."""
    holder = work.ledger.read(successor)
    while holder is not None and holder.id in work.own and not holder.active:
        holder = work.ledger.read(holder.successor or "")
    if holder is None or not holder.active or holder.id == entry.id:
        raise Refused(f"entry {successor[:40]} does not hold, and can take the place of nothing")
    return holder
