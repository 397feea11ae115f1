"""What a dream learns: anti-patterns and inferred preferences, new, or borne out once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langmem_tiers.dream import anti_patterns, preferences
from langmem_tiers.dream.types import AntiPattern, Cited, InferredPreference
from langmem_tiers.dream.work import Refused, Work
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.storage import drawers, entries
from langmem_tiers.storage.entries import Filters, NewEntry
from langmem_tiers.writing.proposals import Evidence

PREFERENCE_TAG = "inferred"
ANTI_PATTERN_TAG = "anti-pattern"

_Metadata = Mapping[str, Any]


def avoid(work: Work, proposal: AntiPattern) -> None:
    """Store an anti-pattern, or count that its mistake came back."""
    category = checks.category(f"anti-patterns/{proposal.domain}", work.settings)

    def metadata(held: _Metadata | None, news: Sequence[Cited]) -> dict[str, Any]:
        return {} if held is None else anti_patterns.came_back(held, len(news))

    _learn(work, proposal, category, (ANTI_PATTERN_TAG,), metadata)


def prefer(work: Work, proposal: InferredPreference) -> None:
    """Store a preference, or be surer of the one that is known."""
    category = checks.category(proposal.category, work.settings)

    def metadata(held: _Metadata | None, news: Sequence[Cited]) -> dict[str, Any]:
        return preferences.metadata(proposal.model_copy(update={"evidence": tuple(news)}), held)

    _learn(work, proposal, category, (PREFERENCE_TAG, *proposal.tags), metadata)


def _learn(
    work: Work,
    proposal: AntiPattern | InferredPreference,
    category: str,
    tags: Sequence[str],
    metadata: Callable[[_Metadata | None, Sequence[Cited]], dict[str, Any]],
) -> None:
    """Store what was found, or let what says so already rest on this too."""
    evidence = _cited(work, proposal.evidence)
    content = checks.content(proposal.content, work.settings)
    known = _known(work, content, category)
    if known is not None:
        news = [each for each in proposal.evidence if each.drawer not in {one.drawer for one in known.evidence}]
        _bear_out(work, known, evidence, metadata(known.metadata, news) if news else None)
        return
    new = NewEntry(
        id=checks.new_id(),
        content=content,
        category=category,
        tags=checks.tags(tags, work.settings),
        origin="dream",
        path=proposal.path,
        authority=Authority.SYSTEM,
        flags=checks.flags(content),
        metadata=metadata(None, proposal.evidence),
    )
    work.require_new(new)
    work.own.add(work.ledger.add(new, evidence).id)


def _bear_out(work: Work, known: Entry, evidence: Sequence[Evidence], metadata: _Metadata | None) -> None:
    """Let an entry rest on more, which is as good as said anew; what somebody stands behind keeps its own date."""
    if metadata is None:
        raise Refused(f"entry {known.id} says so already")
    if known.authority is Authority.SYSTEM and not known.pinned:
        known = work.ledger.change(known, metadata=metadata)
        work.own.add(known.id)
    work.ledger.join(known, evidence)


def _known(work: Work, content: str, category: str) -> Entry | None:
    there = entries.find(work.connection, work.space, Filters(status="active", category=category), -1)
    return next((each for each in there if same_fact(content, each.content, None).same), None)


def _cited(work: Work, cited: Sequence[Cited]) -> list[Evidence]:
    found = drawers.read(work.connection, work.space, {each.drawer for each in cited})
    if not cited:
        raise Refused("it rests on nothing")
    for each in cited:
        drawer = found.get(each.drawer)
        if drawer is None or drawer.status != "active":
            raise Refused(f"drawer {each.drawer} does not stand")
        if not occurs(each.quote, drawer.content):
            raise Refused(f"drawer {each.drawer} does not hold {each.quote[:80]!r}")
    return [Evidence(drawer=each.drawer, quote=each.quote) for each in cited]
