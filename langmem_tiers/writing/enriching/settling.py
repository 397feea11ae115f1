"""Writing what an entry was enriched to: its first fact takes its place, the others are entries beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import changing, forgetting, landing
from langmem_tiers.knowledge.checks import new_id
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.nearby import Nearby
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.storage import tombstones
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.writing.enriching.checking import Part
from langmem_tiers.writing.proposals import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """What became of an entry: ids of what holds its facts now, and of the inactive one that keeps it as it was.

    `kept` are entries of its own, `known` say a fact of it already, `merged` took one in or gave way to one. `reason`
    says why nothing was done.
    """

    former: str | None = None
    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    reason: str = ""


def settle(ledger: Ledger, entry: Entry, parts: Sequence[Part], near: Nearby, *, least: float) -> Settled:
    """Let an entry be its parts. What it was stays as an inactive one, so that this can be taken back."""
    if not parts or _as_it_is(entry, parts):
        return Settled()
    if reason := next(filter(None, (_reason_against(ledger, entry, part) for part in parts)), None):
        return Settled(reason=reason)
    known = {part: held for part in parts if (held := _holder(ledger, entry, part)) is not None}
    new = [part for part in parts if part not in known]
    evidence = [Evidence(drawer=each.drawer, quote=each.quote) for each in entry.evidence]
    for held in known.values():
        ledger.join(held, evidence)
    told = tuple(dict.fromkeys(held.id for held in known.values()))
    if not new:
        ledger.retire(entry, "enriched", told[0])
        return Settled(former=entry.id, known=told)
    return _divided(ledger, entry, new, evidence, near, told=told, least=least)


def _divided(
    ledger: Ledger,
    entry: Entry,
    new: Sequence[Part],
    evidence: Sequence[Evidence],
    near: Nearby,
    *,
    told: tuple[str, ...],
    least: float,
) -> Settled:
    """The first of the new parts in the entry's place, the others beside it."""
    former = changing.keep_former(ledger, entry, "enriched")
    _take_place(ledger, entry, new[0])
    others = [
        landing.settle(ledger, _made(entry, part), evidence, near.of(ledger, part.content), least=least)
        for part in new[1:]
    ]
    kept = [each.entry.id for each in others if each.outcome == "saved"]
    merged = [each.entry.id for each in others if each.outcome == "merged"]
    return Settled(former=former.id, kept=(entry.id, *kept), merged=tuple(merged), known=told)


def _as_it_is(entry: Entry, parts: Sequence[Part]) -> bool:
    return list(parts) == [Part(content=entry.content, category=entry.category, tags=entry.tags)]


def _reason_against(ledger: Ledger, entry: Entry, part: Part) -> str | None:
    """Why a part of an entry must not hold by itself, though all of it was saved."""
    if part.content == entry.content:
        return None
    if tombstones.among(ledger.connection, ledger.space, "entry", {forgetting.key(part.content)}):
        return "a part of it was deleted before"
    twin = landing.twin(ledger, part.content, project=entry.project, agent=entry.agent)
    if twin is not None and landing.holder(ledger, twin) is None:
        return f"a part of it was put aside before: {twin.reason}"
    return None


def _holder(ledger: Ledger, entry: Entry, part: Part) -> Entry | None:
    """Another entry that says this already."""
    twin = landing.twin(ledger, part.content, project=entry.project, agent=entry.agent)
    held = None if twin is None else landing.holder(ledger, twin)
    return None if held is None or held.id == entry.id else held


def _take_place(ledger: Ledger, entry: Entry, part: Part) -> Entry:
    values = {"category": part.category, "tags": part.tags}
    if part.content != entry.content:
        values |= {"content": part.content, "path": "model"}
    return ledger.change(entry, **values)


def _made(entry: Entry, part: Part) -> NewEntry:
    """An entry of its own, trusted as the one that it is a part of."""
    return NewEntry(
        id=new_id(),
        content=part.content,
        category=part.category,
        tags=part.tags,
        origin=entry.origin,
        path="model",
        authority=entry.authority,
        project=entry.project,
        agent=entry.agent,
        metadata=entry.metadata,
        expires_at=None if entry.expires_at is None else to_millis(entry.expires_at),
    )
