"""Saving an entry on somebody's word: written at once, merged where it is known, and what it corrects put aside."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.knowledge import authority, changing, forgetting, landing
from langmem_tiers.knowledge.landing import Landing
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.nearby import Nearby
from langmem_tiers.knowledge.types import Entry, Saved
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.writing.proposals import Evidence


def save(
    ledger: Ledger, new: NewEntry, evidence: Sequence[Evidence], nearby: Nearby, *, corrects: str | None, least: float
) -> Saved:
    """Write an entry down, and make the one that it corrects inactive.

    Raises:
        UnknownEntry: there is no entry to correct.
        AuthorityTooLow: somebody of higher authority stands behind it, or corrected what is to be saved.
    """
    wrong = None if corrects is None else _holding(ledger, changing.existing(ledger, corrects))
    if wrong is not None:
        authority.require(wrong, new.authority)
    forgetting.unearth(ledger, new.content)
    landed = _landed(ledger, new, evidence, nearby, wrong.id if wrong else None, least)
    if wrong is None or wrong.id == landed.entry.id:
        return Saved(entry=landed.entry, outcome=landed.outcome, merged=landed.merged)
    if wrong.active:
        ledger.retire(wrong, "corrected", landed.entry.id)
    return Saved(entry=landed.entry, outcome=landed.outcome, merged=landed.merged, corrected=wrong.id)


def _holding(ledger: Ledger, named: Entry) -> Entry:
    """The entry to correct: the one that holds instead, where the one named was corrected or merged meanwhile."""
    seen, here = {named.id}, named
    while not here.active and here.successor is not None and here.successor not in seen:
        after = ledger.read(here.successor)
        if after is None:
            break
        seen.add(after.id)
        here = after
    return here


def _landed(
    ledger: Ledger, new: NewEntry, evidence: Sequence[Evidence], nearby: Nearby, wrong: str | None, least: float
) -> Landing:
    twin = landing.twin(ledger, new.content, project=new.project, agent=new.agent)
    holder = None if twin is None else landing.holder(ledger, twin)
    if twin is not None and holder is not None and holder.id != wrong:
        return landing.confirm(ledger, twin, holder, new, evidence)
    if twin is not None and not twin.active:
        if twin.successor != wrong:
            landing.require_may_return(ledger, twin, new.authority)
        return landing.revive(ledger, twin, new, evidence)
    if twin is not None:
        return landing.confirm(ledger, twin, twin, new, evidence)
    # What is wrong is not another wording of what is right.
    near = [each for each in nearby.of(ledger, new.content) if each.entry.id != wrong]
    return landing.settle(ledger, new, evidence, near, least=least)
