"""Whether what a dream learns is kept, and whether it changes episodes and the graph. Pure."""

from __future__ import annotations

from langmem_tiers.dream import founding
from langmem_tiers.dream.hearing import Hearing
from langmem_tiers.dream.judge_entries import OWN_TAGS, invalid_filing, saying
from langmem_tiers.dream.orphans import orphaned
from langmem_tiers.dream.types import (
    AntiPattern,
    CloseWindows,
    InferredPreference,
    MergeEntities,
    Synthesis,
    WithdrawRelation,
)
from langmem_tiers.knowledge.types import Authority


def anti_pattern(hearing: Hearing, proposal: AntiPattern) -> str | None:
    """Why an anti-pattern is not written; None where it is."""
    keys = {f"correction:{each.drawer}" for each in proposal.evidence}
    return founding.anti_pattern(proposal, hearing.material, hearing.settings) or hearing.once(keys, "correction")


def preference(hearing: Hearing, proposal: InferredPreference) -> str | None:
    """Why a preference is not inferred; None where it is."""
    reason = founding.preference(proposal, hearing.material, hearing.settings)
    if reason is None:
        reason = invalid_filing(proposal.category, set(proposal.tags), set(OWN_TAGS), hearing.settings)
    return reason or hearing.once({saying(proposal.content)}, "preference")


def synthesis(hearing: Hearing, proposal: Synthesis) -> str | None:
    """Why a synthesis is not written; None where it is."""
    return founding.synthesis(proposal, hearing.material, hearing.settings) or hearing.once({"synthesis"}, "synthesis")


def merge_entities(hearing: Hearing, proposal: MergeEntities) -> str | None:
    """Why two entities do not become one; None where they do."""
    pairs = {frozenset((pair.first, pair.second)) for pair in hearing.material.pairs}
    if frozenset((proposal.source, proposal.target)) not in pairs:
        return "these two entities are no likely pair"
    return hearing.once({f"entity:{proposal.source}", f"entity:{proposal.target}"}, "entity")


def withdraw(hearing: Hearing, proposal: WithdrawRelation) -> str | None:
    """Why a relation is not withdrawn; None where it is."""
    if proposal.path != "rule":
        return "only rules withdraw relations"
    if reason := _has_grounds(hearing, proposal):
        return reason
    most = hearing.settings.dream.retire_most
    if hearing.withdrawn >= most:
        return f"no more than {most} relations are withdrawn or closed by one dream"
    hearing.withdrawn += 1
    return hearing.once({f"relation:{proposal.id}"}, "relation")


def close(hearing: Hearing, proposal: CloseWindows) -> str | None:
    """Why windows are not closed; None where they are."""
    if proposal.path != "rule":
        return "only rules close windows of time"
    same = (proposal.subject, proposal.predicate)
    seen = next((each for each in hearing.material.windows if (each.subject, each.predicate) == same), None)
    if seen is None:
        return f"there are no open windows of {proposal.subject[:40]!r} in this dream"
    if seen.authority > Authority.SYSTEM:
        return "somebody stands behind what would be closed"
    if hearing.withdrawn + seen.closing > hearing.settings.dream.retire_most:
        return f"no more than {hearing.settings.dream.retire_most} relations are withdrawn or closed by one dream"
    hearing.withdrawn += seen.closing
    return hearing.once({f"windows:{proposal.subject} {proposal.predicate}"}, "group of relations")


def _has_grounds(hearing: Hearing, proposal: WithdrawRelation) -> str | None:
    seen = next((each for each in hearing.material.relations if each.id == proposal.id), None)
    if seen is None:
        return f"there is no relation {proposal.id[:40]!r} in this dream"
    if orphaned(seen, hearing.material.at, hearing.settings.dream.mention_days) is None:
        return f"relation {proposal.id} has its grounds"
    return None
