"""Consolidation without a model: exact and near duplicates, what has expired or is outdated, twins of categories. Pure.

Useful, and never wrong: two entries too many are a nuisance, one too few is a loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from langmem_tiers.dream import cleaning, grounds
from langmem_tiers.dream.grounds import ByWord
from langmem_tiers.dream.types import EntrySeen, Material, MergeEntries, Proposal, RetireEntry
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.slots import slot
from langmem_tiers.settings import Settings

_MOST_TAGS = 20
_MOST_FOLDED = 100  # the others are folded by the next dreams


def consolidation(material: Material, settings: Settings) -> list[Proposal]:
    """What the rules propose for the entries of a dream, the surest first."""
    expired = {entry.id for entry in material.entries if grounds.has_expired(entry, material.at)}
    holding = [entry for entry in material.entries if entry.id not in expired]
    ended: list[Proposal] = [
        RetireEntry(id=entry.id, why="it has expired", path="rule")
        for entry in material.entries
        if entry.id in expired and not grounds.untouchable(entry)
    ]
    doubled = list(_of_one_fact(holding))
    left = [entry for entry in holding if entry.id not in put_aside(doubled)]
    return [*ended, *doubled, *_outdated(left), *cleaning.folded(left)[:_MOST_FOLDED]]


def put_aside(proposals: Iterable[Proposal]) -> set[str]:
    """The entries that would be retired: the union of all that is to be deleted and all sources of merges."""
    return {each for proposal in proposals for each in retired(proposal)}


def retired(proposal: Proposal) -> Sequence[str]:
    """The entries that a proposal would retire."""
    if isinstance(proposal, MergeEntries):
        return proposal.sources
    return (proposal.id,) if isinstance(proposal, RetireEntry) else ()


def _of_one_fact(entries: Sequence[EntrySeen]) -> Iterator[Proposal]:
    """A merge for each group of entries that say the same, or where one of higher standing says it, that one holds."""
    for group in _groups(entries):
        best = max(group, key=_standing)
        equal = [each for each in group if each.authority == best.authority and not grounds.untouchable(each)]
        if len(equal) == len(group):
            yield _merge(best, group)
            continue
        for each in group:
            if each is not best and not grounds.untouchable(each):
                yield RetireEntry(id=each.id, successor=best.id, why=f"entry {best.id} says the same", path="rule")


def _groups(entries: Sequence[EntrySeen]) -> Iterator[list[EntrySeen]]:
    """Entries that all say the same, two and more; each entry is in one group."""
    by_word = ByWord(entries)
    taken: set[str] = set()
    for entry in entries:
        if entry.id in taken:
            continue
        group = [entry]
        for other in by_word.with_words_of(entry.content):
            if other.id not in taken and all(_one(other, each) for each in group):
                group.append(other)
        taken.update(each.id for each in group)
        if len(group) > 1:
            yield group


def _one(here: EntrySeen, there: EntrySeen) -> bool:
    return (
        here.id != there.id
        and grounds.alike_kept(here, there) is None
        and same_fact(here.content, there.content, None).same
    )


def _standing(entry: EntrySeen) -> tuple[int, bool, bool, int, float, str]:
    """Whose wording is kept: that of the higher authority, then not one in capitals, the longer, the earlier one."""
    spoken = not entry.content.isupper()
    return (entry.authority, entry.pinned, spoken, len(entry.content), -entry.created_at.timestamp(), entry.id)


def _merge(best: EntrySeen, group: Sequence[EntrySeen]) -> MergeEntries:
    tags = dict.fromkeys(tag for each in (best, *group) for tag in each.tags)
    return MergeEntries(
        sources=tuple(each.id for each in group),
        content=best.content,
        category=best.category,
        tags=tuple(tags)[:_MOST_TAGS],
        why="they say the same",
        path="rule",
    )


def _outdated(entries: Sequence[EntrySeen]) -> Iterator[RetireEntry]:
    """The entries that tell the earlier value of something that has one value at a time."""
    by_slot: dict[tuple[str, str], list[EntrySeen]] = {}
    for entry in entries:
        told = slot(entry.content)
        if told is not None:
            by_slot.setdefault((told.subject, told.attribute), []).append(entry)
    for rivals in by_slot.values():
        newest = max(rivals, key=lambda each: (each.created_at, each.id))
        for entry in rivals:
            if entry is not newest and not grounds.untouchable(entry) and grounds.outdates(newest, entry):
                why = f"entry {newest.id} tells what holds now"
                yield RetireEntry(id=entry.id, successor=newest.id, why=why, path="rule")
