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

# Why entries are inactive that another one says as well; what a dream retired without one has no successor.
_GAVE_WAY = frozenset({"merged", "consolidated"})


class Landing(NamedTuple):
    """The entry that holds now, how that came about, and the id of the one that gave way to it or gave it way."""

    entry: Entry
    outcome: Outcome
    merged: str | None = None


def twin(ledger: Ledger, content: str, *, project: str | None, agent: str | None) -> Entry | None:
    """The entry that says exactly this, an active one before an inactive one, of the inactive ones the last.

    What is known for one project or agent is not known for another.
    """
    found = entries.of_content(ledger.connection, ledger.space, content)
    here = [entry for entry in found if concerns(entry, project=project, agent=agent)]
    return max(here, key=lambda entry: (entry.active, entry.updated_at, entry.number), default=None)


def concerns(entry: Entry, *, project: str | None, agent: str | None) -> bool:
    """Whether an entry is of this project and agent, or one of the two is of none in particular."""
    return all(None in pair or pair[0] == pair[1] for pair in ((entry.project, project), (entry.agent, agent)))


def holder(ledger: Ledger, entry: Entry) -> Entry | None:
    """The active entry that an entry was merged into, itself where it is active, None where it ended otherwise."""
    seen: set[str] = set()
    here: Entry | None = entry
    while here is not None and not here.active:
        if here.reason not in _GAVE_WAY or here.id in seen:
            return None
        seen.add(here.id)
        here = ledger.read(here.successor or "")
    return here


def confirm(ledger: Ledger, twin: Entry, holder: Entry, new: NewEntry, evidence: Sequence[Evidence]) -> Landing:
    """Note that an entry was said again, by whom and where: `twin` says the same, and was merged into `holder`."""
    merged = twin.id != holder.id
    if merged:
        twin = ledger.join(twin, evidence)
    joined = ledger.join(holder, evidence, via=twin if merged else None)
    raised = ledger.raise_to(joined, new.authority, pinned=new.pinned)
    return Landing(raised, "known")


def revive(ledger: Ledger, entry: Entry, new: NewEntry, evidence: Sequence[Evidence]) -> Landing:
    """Let an inactive entry hold again, as it is said now."""
    values = {name: getattr(new, name) for name in ("category", "tags", "flags", "pinned", "metadata", "expires_at")}
    raised = max(entry.authority, new.authority)
    return Landing(ledger.join(ledger.revive(entry, authority=raised, **values), evidence), "reactivated")


def settle(
    ledger: Ledger, new: NewEntry, evidence: Sequence[Evidence], near: Sequence[Near], *, least: float
) -> Landing:
    """Store an entry that is not there yet, or merge it with another wording of it."""
    concerned = (each for each in near if concerns(each.entry, project=new.project, agent=new.agent))
    for each in concerned:
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
    return Landing(ledger.join(kept, _brought(gone), via=gone), "merged", merged=gone.id)


def _giving_way(new: NewEntry, there: Entry) -> NewEntry:
    return replace(new, status="inactive", reason="merged", successor=there.id)


def unmerge(ledger: Ledger, entry: Entry) -> Entry:
    """Let a merged entry hold again, and take what it brought from those it was merged into."""
    revived = ledger.revive(entry)
    child, above = entry, ledger.read(entry.successor or "")
    while above is not None:
        above = ledger.take_back(above, via=entry)
        if child is not entry:
            above = ledger.join(ledger.take_back(above, via=child), _brought(child), via=child)
        child, above = above, ledger.read(above.successor or "") if above.reason in _GAVE_WAY else None
    return revived


def _brought(entry: Entry) -> list[Evidence]:
    """What an entry rests on, as it is passed on."""
    return [Evidence(drawer=each.drawer, quote=each.quote) for each in entry.evidence]


def require_may_return(ledger: Ledger, entry: Entry, by: Authority) -> None:
    """Nothing, where a call of this authority may bring back what was corrected.

    Raises:
        AuthorityTooLow: somebody of higher authority corrected it.
    """
    instead = ledger.read(entry.successor or "")
    if entry.reason == "corrected" and instead is not None and instead.active:
        authority.require(instead, by)
