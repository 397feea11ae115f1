"""Sifting proposals: what may land in the knowledge, and why the rest may not. Pure, but for the detectors it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.authority import is_users
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Authority, Refused
from langmem_tiers.settings import Settings
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.types import Drawer, Origin
from langmem_tiers.writing.proposals import Evidence, Proposal

# Nothing is learned from what tools and prompts say.
_NO_WITNESS = frozenset({"tool", "system"})
_SAID_BY_ALL = frozenset({"tool", "system", "dream"})


@dataclass(frozen=True, kw_only=True)
class Sound:
    """A proposal that may land: the entry it would be, what it rests on, and the newest drawer of that.

    `by_user` says whether it rests on nothing but the user's own words.
    """

    proposal: Proposal
    new: NewEntry
    evidence: tuple[Evidence, ...]
    newest: int
    by_user: bool = False


@dataclass(frozen=True, kw_only=True)
class Whose:
    """Whose knowledge it will be: the project and the agent of the conversation."""

    project: str | None = None
    agent: str | None = None


def sift(
    proposals: Sequence[Proposal],
    drawers: Mapping[int, Drawer],
    whose: Whose,
    *,
    authority: Authority,
    origin: Origin,
    settings: Settings,
) -> tuple[list[Sound], list[Refused]]:
    """The proposals that may land, and the others with the reason why not, each in order."""
    sound: list[Sound] = []
    refused: list[Refused] = []
    for proposal in proposals:
        evidence = _distinct(proposal.evidence)
        reason = _unfounded(evidence, drawers) or _suspicious(proposal)
        if reason:
            refused.append(Refused(proposal=proposal, reason=reason))
            continue
        by_user = all(is_users(drawers[each.drawer]) for each in evidence)
        rank = _authority(proposal, authority) if by_user else Authority.SYSTEM
        try:
            new = _entry(proposal, whose, rank, origin, settings)
        except InvalidInput as error:
            refused.append(Refused(proposal=proposal, reason=error.message))
            continue
        newest = max(each.drawer for each in evidence)
        sound.append(Sound(proposal=proposal, new=new, evidence=evidence, newest=newest, by_user=by_user))
    return sound, refused


def _distinct(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    return tuple({each.drawer: each for each in reversed(evidence)}.values())[::-1]


def _unfounded(evidence: Sequence[Evidence], drawers: Mapping[int, Drawer]) -> str | None:
    """Why what is cited bears nothing, None where it does."""
    if not evidence:
        return "it rests on nothing"
    return next((reason for each in evidence if (reason := _no_witness(each, drawers.get(each.drawer)))), None)


def _no_witness(evidence: Evidence, drawer: Drawer | None) -> str | None:
    if drawer is None:
        return f"there is no drawer {evidence.drawer}"
    if drawer.status != "active":
        return f"drawer {evidence.drawer} was edited since"
    if drawer.role in _NO_WITNESS or drawer.origin in _SAID_BY_ALL:
        return f"drawer {evidence.drawer} was said by nobody: {drawer.origin}"
    if not evidence.quote.strip():
        return f"it quotes nothing of drawer {evidence.drawer}"
    if not occurs(evidence.quote, drawer.content):
        return f"its quote does not occur in drawer {evidence.drawer}"
    return None


def _suspicious(proposal: Proposal) -> str | None:
    from langmem_tiers.trust.instructions import suspicious

    texts = (proposal.content, *(each.quote for each in proposal.evidence))
    return next((reason for text in texts if (reason := suspicious(text))), None)


def _authority(proposal: Proposal, given: Authority) -> Authority:
    """What the user said has the authority given, a correction by the user the highest."""
    return Authority.CORRECTION if proposal.kind == "correction" else given


def _entry(proposal: Proposal, whose: Whose, rank: Authority, origin: Origin, settings: Settings) -> NewEntry:
    return NewEntry(
        id=checks.new_id(),
        content=checks.content(proposal.content, settings),
        category=checks.category(proposal.category, settings),
        tags=checks.tags(proposal.tags, settings),
        origin=origin,
        path=proposal.path,
        authority=rank,
        project=whose.project,
        agent=whose.agent,
        expires_at=checks.moment(proposal.expires_at, "expires_at"),
    )
