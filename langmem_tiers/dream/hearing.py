"""What of a dream was decided so far, and what follows from that for what comes next. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from langmem_tiers.dream import grounds
from langmem_tiers.dream.grounds import ByWord
from langmem_tiers.dream.types import EntrySeen, Material, MergeEntries, Proposal, RefineEntry, Rejected
from langmem_tiers.knowledge.wordings import plain
from langmem_tiers.settings import Settings

_LEAST = 2


def cap(material: Material, settings: Settings) -> int:
    """How many entries a dream may retire: a share of those that are active, and no more than a number."""
    return _most(settings.dream.retire_share, settings.dream.retire_most, material.active)


def _most(share: float, most: int, active: int) -> int:
    """A share of the active entries, and no more than a number; none where either is 0.

    Two at least: in a small memory, two entries can still become one.
    """
    return min(max(_LEAST, int(share * active)), most) if share and active else 0


def of_the_very_same_words(merge: MergeEntries, entries: Mapping[str, EntrySeen]) -> bool:
    """Whether a merge by rule only takes repetitions away: these do not count against the cap."""
    return merge.path == "rule" and all(plain(entries[each].content) == plain(merge.content) for each in merge.sources)


@dataclass
class Hearing:
    """What was decided so far, and what follows from that for what comes next."""

    material: Material
    settings: Settings
    accepted: list[Proposal] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    heard: set[Proposal] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    """Entries that are retired."""
    leant_on: set[str] = field(default_factory=set)
    """Entries that others were retired for: these have to stay."""
    refused: set[str] = field(default_factory=set)
    """Sources of merges that a model proposed in vain: it does not have them deleted instead."""
    taken: set[str] = field(default_factory=set)
    """What may be in one proposal only: refined entries, drawers of corrections, entities, relations, contents."""
    entries: dict[str, EntrySeen] = field(init=False)
    by_word: ByWord = field(init=False)
    left: int = field(init=False)
    withdrawn: int = 0
    """How many relations are withdrawn."""
    refinements: int = 0
    """How many entries a model has filed elsewhere."""

    def __post_init__(self) -> None:
        self.entries = {entry.id: entry for entry in self.material.entries}
        self.by_word = ByWord(self.material.entries)
        self.left = cap(self.material, self.settings)

    def answer(self, proposal: Proposal, shown: Proposal, reason: str | None) -> None:
        """Note that a proposal is accepted, or why it is refused; a report keeps it as it is `shown`."""
        self.heard.add(proposal)
        if reason is None:
            self.accepted.append(proposal)
        else:
            self.rejected.append(Rejected(proposal=shown, reason=reason))

    def retire(self, ids: Iterable[str], *, cost: int) -> None:
        """Note that entries go."""
        self.gone.update(ids)
        self.left -= cost

    def missing(self, entry_id: str) -> str | None:
        """Why an entry can not be changed by this dream; None where it may be."""
        entry = self.entries.get(entry_id)
        if entry is None:
            return f"there is no entry {entry_id[:40]!r} in this dream"
        if entry_id in self.gone:
            return f"entry {entry_id} is retired already"
        return grounds.untouchable(entry)

    def over(self, cost: int) -> str | None:
        """Why so many entries more can not be retired; None where they may be."""
        most = cap(self.material, self.settings)
        return f"no more than {most} entries are retired by one dream" if cost > self.left else None

    def refined_too_many(self, proposal: RefineEntry) -> str | None:
        """Why a model can not file an entry elsewhere; None where it may."""
        dream = self.settings.dream
        most = _most(dream.refine_share, dream.refine_most, self.material.active)
        if proposal.path == "rule":
            return None
        self.refinements += 1
        return f"a model files no more than {most} entries elsewhere in one dream" if self.refinements > most else None

    def once(self, keys: set[str], what: str) -> str | None:
        """Why a proposal is one too many: one dream takes up each of these once."""
        if keys & self.taken:
            return f"another proposal takes up this {what} already"
        self.taken |= keys
        return None
