"""Landing a new entry among those that are there: known, merged, made to hold again, or stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from langmem_tiers.knowledge import authority
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.nearby import Near
from langmem_tiers.knowledge.types import Authority, Entry, Outcome
from langmem_tiers.storage import entries
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.writing.proposals import Evidence


class Landing(NamedTuple):
    """The entry that holds now, how that came about, and the id of the one that gave way to it or gave it way."""

    entry: Entry
    outcome: Outcome
    merged: str | None = None
    news: bool = True


def twin(ledger: Ledger, content: str) -> Entry | None:
    """The entry that says exactly this, an active one before an inactive one, of the inactive ones the last."""
    found = entries.of_content(ledger.connection, ledger.space, content)
    return max(found, key=lambda entry: (entry.active, entry.updated_at, entry.number), default=None)


def holder(ledger: Ledger, entry: Entry) -> Entry | None:
    """The active entry that an entry was merged into, itself where it is active, None where it ended otherwise."""
    seen: set[str] = set()
    here: Entry | None = entry
    while here is not None and not here.active:
        if here.reason != "merged" or here.id in seen:
            return None
        seen.add(here.id)
        here = ledger.read(here.successor or "")
    return here


def confirm(ledger: Ledger, entry: Entry, new: NewEntry, evidence: Sequence[Evidence]) -> Landing:
    """Note that an entry was said again: by whom, and where."""
    joined = ledger.join(entry, evidence)
    raised = ledger.raise_to(joined, new.authority, pinned=new.pinned)
    return Landing(raised, "known", news=raised != entry)


def revive(ledger: Ledger, entry: Entry, new: NewEntry, evidence: Sequence[Evidence]) -> Landing:
    """Let an inactive entry hold again, as it is said now."""
    values = {name: getattr(new, name) for name in ("category", "tags", "flags", "pinned", "metadata", "expires_at")}
    raised = max(entry.authority, new.authority)
    return Landing(ledger.join(ledger.revive(entry, authority=raised, **values), evidence), "reactivated")


def settle(
    ledger: Ledger, new: NewEntry, evidence: Sequence[Evidence], near: Sequence[Near], *, least: float
) -> Landing:
    """Store an entry that is not there yet, or merge it with another wording of it."""
    for each in near:
        if same_fact(new.content, each.entry.content, each.similarity, least=least).same:
            landed = _merged(ledger, new, evidence, each.entry)
            if landed is not None:
                return landed
    return Landing(ledger.add(new, evidence), "saved")


def _merged(ledger: Ledger, new: NewEntry, evidence: Sequence[Evidence], there: Entry) -> Landing | None:
    """One entry out of two wordings: that of the higher authority, then the longer one, then the earlier one.

    The other stays as an inactive one, so that the two can be told apart again. None where each may not give way.
    """
    if (new.authority, len(new.content)) <= (there.authority, len(there.content)):
        if new.pinned and not there.pinned:
            return None
        kept, gone = there, ledger.add(_giving_way(new, there), evidence)
    else:
        if there.pinned and not new.pinned:
            return None
        kept, gone = ledger.add(new, evidence), there
        ledger.retire(there, "merged", kept.id)
    brought = [Evidence(drawer=each.drawer, quote=each.quote) for each in gone.evidence]
    return Landing(ledger.join(kept, brought, via=gone), "merged", merged=gone.id)


def _giving_way(new: NewEntry, there: Entry) -> NewEntry:
    return replace(new, status="inactive", reason="merged", successor=there.id)


def unmerge(ledger: Ledger, entry: Entry) -> Entry:
    """Let a merged entry hold again, and take what it brought from those it was merged into."""
    child = entry
    above = ledger.read(entry.successor or "")
    revived = ledger.revive(entry)
    while above is not None:
        above = ledger.take_back(above, via=child)
        if child is not entry:
            rest = [Evidence(drawer=each.drawer, quote=each.quote) for each in child.evidence]
            above = ledger.join(above, rest, via=child)
        child, above = above, ledger.read(above.successor or "") if above.reason == "merged" else None
    return revived


def require_may_return(ledger: Ledger, entry: Entry, by: Authority) -> None:
    """Nothing, where a call of this authority may bring back what was corrected.

    Raises:
        AuthorityTooLow: somebody of higher authority corrected it.
    """
    instead = ledger.read(entry.successor or "")
    if entry.reason == "corrected" and instead is not None and instead.active:
        authority.require(instead, by)
