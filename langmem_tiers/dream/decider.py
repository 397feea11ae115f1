"""The decider: what of a dream's proposals is carried out, and why the rest is not. Pure.

It takes nobody's word. Each proposal is held against the material: a reply may be cut off, forged, or written by who
wrote a mail that was remembered. What is not borne out is refused with a reason, never mended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from langmem_tiers.dream import judge_entries, judge_others
from langmem_tiers.dream.hearing import Hearing
from langmem_tiers.dream.types import AntiPattern, Decision, InferredPreference, Material, MergeEntries, Proposal
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets

_LONGEST_SHOWN = 2000
_TEXTS = ("content", "text", "why", "domain", "category")
_JUDGES: Mapping[str, Callable[[Hearing, Any], str | None]] = MappingProxyType(
    {
        "merge": judge_entries.merge,
        "retire": judge_entries.retire,
        "refine": judge_entries.refine,
        "anti_pattern": judge_others.anti_pattern,
        "preference": judge_others.preference,
        "synthesis": judge_others.synthesis,
        "merge_entities": judge_others.merge_entities,
        "withdraw_relation": judge_others.withdraw,
        "close_windows": judge_others.close,
    }
)
_ORDER = {kind: place for place, kind in enumerate(_JUDGES)}


def decide(material: Material, proposals: Sequence[Proposal], settings: Settings) -> Decision:
    """What is to be carried out, and what is not, each with a reason.

    The order in which the proposals come does not matter: merges are looked at before what is to be retired by itself,
    and within a kind the rules' before the model's. What was accepted before may stand in the way of what comes after.

    Args:
        material: What the dream saw.
        proposals: From rules and models, in any order.
        settings: Of the memory: `settings.dream` has the caps.
    """
    hearing = Hearing(material, settings)
    for proposal in sorted(proposals, key=_place):
        twice = proposal in hearing.heard
        reason = "it is proposed twice" if twice else _JUDGES[proposal.kind](hearing, proposal)
        hearing.answer(proposal, proposal if reason is None else showable(proposal, settings), reason)
    return Decision(accepted=tuple(hearing.accepted), rejected=tuple(hearing.rejected))


def showable(proposal: Proposal, settings: Settings) -> Proposal:
    """A proposal as a report may keep it: without secrets, and cut where it is very long."""
    texts = {name: text for name in _TEXTS if (text := getattr(proposal, name, None))}
    shown: dict[str, Any] = {name: _showable(text, settings) for name, text in texts.items()}
    if isinstance(proposal, AntiPattern | InferredPreference):
        cited = (each.model_copy(update={"quote": _showable(each.quote, settings)}) for each in proposal.evidence)
        shown["evidence"] = tuple(cited)
    return proposal.model_copy(update=shown)


def _showable(text: str, settings: Settings) -> str:
    whole = text.encode("utf-8", "replace").decode()  # halves of characters can not be stored
    short = whole if len(whole) <= _LONGEST_SHOWN else f"{whole[:_LONGEST_SHOWN]}…"
    return short if settings.privacy.derived == "keep" else secrets.mask(short)


def _place(proposal: Proposal) -> tuple[int, bool, int, str]:
    length = len(proposal.sources) if isinstance(proposal, MergeEntries) else 0
    return (_ORDER[proposal.kind], proposal.path == "model", length, repr(proposal))
