"""The decider: what of a dream's proposals is carried out, and why the rest is not. Pure.

It takes nobody's word. Each proposal is held against the material: a reply may be cut off, forged, or written by who
wrote a mail that was remembered. What is not borne out is refused with a reason, never mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from langmem_tiers.dream import founding, grounds
from langmem_tiers.dream.blending import blended
from langmem_tiers.dream.cleaning import filed_on_purpose
from langmem_tiers.dream.grounds import ByWord
from langmem_tiers.dream.types import (
    AntiPattern,
    Decision,
    EntrySeen,
    InferredPreference,
    Material,
    MergeEntities,
    MergeEntries,
    Proposal,
    RefineEntry,
    Rejected,
    RetireEntry,
    Synthesis,
    WithdrawRelation,
)
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import checks
from langmem_tiers.knowledge.wordings import plain
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets

_MOST_SOURCES = 10
_LONGEST_SHOWN = 2000
_TEXTS = ("content", "text", "why", "domain", "category")
_OWN_TAGS = frozenset({"anti-pattern", "inferred"})
_KINDS = (
    "merge",
    "retire",
    "refine",
    "anti_pattern",
    "preference",
    "synthesis",
    "merge_entities",
    "withdraw_relation",
)


def decide(material: Material, proposals: Sequence[Proposal], settings: Settings) -> Decision:
    """What is to be carried out, and what is not, each with a reason.

    The order in which the proposals come does not matter: merges are looked at before what is to be retired by itself,
    and within a kind the rules' before the model's. What was accepted before may stand in the way of what comes after.

    Args:
        material: What the dream saw.
        proposals: From rules and models, in any order.
        settings: Of the memory: `settings.dream` has the caps.
    """
    bench = _Bench(material, settings)
    for proposal in sorted(proposals, key=_place):
        bench.hear(proposal)
    return Decision(accepted=tuple(bench.accepted), rejected=tuple(bench.rejected))


def cap(material: Material, settings: Settings) -> int:
    """How many entries a dream may retire: a share of those that are active, and no more than a number."""
    return min(int(settings.dream.retire_share * material.active), settings.dream.retire_most)


def of_the_very_same_words(merge: MergeEntries, entries: Mapping[str, EntrySeen]) -> bool:
    """Whether a merge by rule only takes repetitions away: these do not count against the cap."""
    return merge.path == "rule" and all(plain(entries[each].content) == plain(merge.content) for each in merge.sources)


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
    return (_KINDS.index(proposal.kind), proposal.path == "model", length, repr(proposal))


@dataclass
class _Bench:
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
    refinements: int = 0
    """How many entries a model has filed elsewhere."""

    def __post_init__(self) -> None:
        self.entries = {entry.id: entry for entry in self.material.entries}
        self.by_word = ByWord(self.material.entries)
        self.left = cap(self.material, self.settings)

    def hear(self, proposal: Proposal) -> None:
        """Accept a proposal, or refuse it."""
        reason = "it is proposed twice" if proposal in self.heard else _JUDGES[type(proposal)](self, proposal)
        self.heard.add(proposal)
        if reason is not None:
            self.rejected.append(Rejected(proposal=showable(proposal, self.settings), reason=reason))
            return
        self.accepted.append(proposal)

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
        most = self.settings.dream.retire_most
        if proposal.path == "rule":
            return None
        self.refinements += 1
        return f"a model files no more than {most} entries elsewhere in one dream" if self.refinements > most else None


def _merge(bench: _Bench, merge: MergeEntries) -> str | None:
    reason = _unsound(bench, merge)
    if reason is not None:
        bench.refused.update(merge.sources if merge.path == "model" else ())
        return reason
    free = of_the_very_same_words(merge, bench.entries)
    bench.retire(merge.sources, cost=0 if free else len(merge.sources))
    bench.taken.add(_saying(merge.content))
    return None


def _unsound(bench: _Bench, merge: MergeEntries) -> str | None:
    """Why a merge is not carried out; None where it is."""
    if reason := _wrong_sources(bench, merge.sources):
        return reason
    sources = [bench.entries[each] for each in merge.sources]
    if reason := next((why for each in sources[1:] if (why := grounds.alike_kept(sources[0], each))), None):
        return reason
    if not any(each.evidence for each in sources):
        return "it would rest on no message"
    if reason := _wrong_text(bench, merge) or _wrong_filing(merge, sources, bench.settings):
        return reason
    if reason := blended(merge.content, [each.content for each in sources]):
        return reason
    return None if of_the_very_same_words(merge, bench.entries) else bench.over(len(sources))


def _wrong_sources(bench: _Bench, sources: Sequence[str]) -> str | None:
    if reason := next((why for each in sources if (why := bench.missing(each))), None):
        return reason
    if len(set(sources)) < len(sources):
        return "it names an entry twice"
    if len(sources) < 2:
        return "it has fewer than two sources"
    if len(sources) > _MOST_SOURCES:
        return f"it has more than {_MOST_SOURCES} sources"
    expired = next((each for each in sources if grounds.has_expired(bench.entries[each], bench.material.at)), None)
    return f"entry {expired} has expired" if expired else None


def _wrong_text(bench: _Bench, merge: MergeEntries) -> str | None:
    if reason := founding.content(merge.content, bench.settings):
        return reason
    if _saying(merge.content) in bench.taken:
        return "another merge says it already"
    others = (each for each in bench.by_word.with_words_of(merge.content) if each.id not in merge.sources)
    twin = next((each for each in others if plain(each.content) == plain(merge.content)), None)
    return f"entry {twin.id} says it already" if twin else None


def _saying(content: str) -> str:
    return f"content:{plain(content)}"


def _wrong_filing(merge: MergeEntries, sources: Sequence[EntrySeen], settings: Settings) -> str | None:
    own = grounds.special(sources[0].category)
    if merge.category and grounds.special(merge.category) != own:
        return f"{merge.category[:40]!r} is no category for these entries"
    kept = {tag for each in sources for tag in each.tags}
    return _invalid_filing(merge.category, set(merge.tags), kept, settings)


def _invalid_filing(category: str | None, tags: set[str], kept: set[str], settings: Settings) -> str | None:
    """Why a category and tags can not be given; None where they may be. Tags with a meaning of their own are kept."""
    if own := _OWN_TAGS & (tags - kept):
        return f"the tag {min(own)!r} is not given by a refinement"
    texts = (*([category] if category else []), *sorted(tags))
    if reason := next((why for each in texts if (why := founding.unfit(each, "filing", settings))), None):
        return reason
    try:
        checks.category(category, settings)
        checks.tags(tags, settings)
    except InvalidInput as error:
        return error.message
    return None


def _retire(bench: _Bench, proposal: RetireEntry) -> str | None:
    reason = bench.missing(proposal.id) or _needed(bench, proposal) or bench.over(1)
    if reason is not None:
        return reason
    entry = bench.entries[proposal.id]
    if _needs_no_successor(bench, proposal, entry):
        bench.retire([entry.id], cost=1)
        return None
    instead = next((each for each in _successors(bench, proposal, entry) if _stands_for(bench, each, entry)), None)
    if instead is None:
        return _groundless(proposal)
    bench.retire([entry.id], cost=1)
    bench.leant_on.add(instead.id)
    return None


def _needed(bench: _Bench, proposal: RetireEntry) -> str | None:
    if proposal.id in bench.leant_on:
        return f"another entry is retired because entry {proposal.id} stays"
    in_vain = proposal.path == "model" and proposal.id in bench.refused
    return f"the merge of entry {proposal.id} was refused" if in_vain else None


def _needs_no_successor(bench: _Bench, proposal: RetireEntry, entry: EntrySeen) -> bool:
    if proposal.successor is not None:
        return False
    at, faded = bench.material.at, bench.settings.dream.fade_days
    return grounds.has_expired(entry, at) or grounds.says_nothing(entry) or grounds.has_faded(entry, at, faded)


def _successors(bench: _Bench, proposal: RetireEntry, entry: EntrySeen) -> Iterable[EntrySeen]:
    if proposal.successor is None:
        return bench.by_word.with_words_of(entry.content)
    named = bench.entries.get(proposal.successor)
    return [] if named is None else [named]


def _stands_for(bench: _Bench, other: EntrySeen, entry: EntrySeen) -> bool:
    stays = other.id not in bench.gone and not grounds.has_expired(other, bench.material.at)
    return stays and (grounds.covers(other, entry) or grounds.outdates(other, entry))


def _groundless(proposal: RetireEntry) -> str:
    if proposal.successor is None:
        return "nothing shows that it is noise: no other entry says it, and it has not expired"
    return f"entry {proposal.successor[:40]!r} does not stand for it"


def _refine(bench: _Bench, proposal: RefineEntry) -> str | None:
    if reason := bench.missing(proposal.id):
        return reason
    entry = bench.entries[proposal.id]
    if _as_it_is(proposal, entry):
        return "it changes nothing"
    if filed_on_purpose(entry) or (proposal.category and grounds.special(proposal.category)):
        return "its place is chosen by the user, or has a meaning of its own"
    if reason := _invalid_filing(proposal.category, set(proposal.tags or ()), set(entry.tags), bench.settings):
        return reason
    if proposal.tags is not None and _OWN_TAGS & (set(entry.tags) - set(proposal.tags)):
        return "it would lose a tag with a meaning of its own"
    return _once(bench, {f"refined:{entry.id}"}, "entry") or bench.refined_too_many(proposal)


def _as_it_is(proposal: RefineEntry, entry: EntrySeen) -> bool:
    return proposal.category in (None, entry.category) and proposal.tags in (None, entry.tags)


def _anti_pattern(bench: _Bench, proposal: AntiPattern) -> str | None:
    keys = {f"correction:{each.drawer}" for each in proposal.evidence}
    return founding.anti_pattern(proposal, bench.material, bench.settings) or _once(bench, keys, "correction")


def _preference(bench: _Bench, proposal: InferredPreference) -> str | None:
    reason = founding.preference(proposal, bench.material, bench.settings)
    if reason is None:
        reason = _invalid_filing(proposal.category, set(proposal.tags), set(_OWN_TAGS), bench.settings)
    return reason or _once(bench, {_saying(proposal.content)}, "preference")


def _synthesis(bench: _Bench, proposal: Synthesis) -> str | None:
    return founding.synthesis(proposal, bench.material, bench.settings) or _once(bench, {"synthesis"}, "synthesis")


def _merge_entities(bench: _Bench, proposal: MergeEntities) -> str | None:
    pairs = {frozenset((pair.first, pair.second)) for pair in bench.material.pairs}
    if frozenset((proposal.source, proposal.target)) not in pairs:
        return "these two entities are no likely pair"
    return _once(bench, {f"entity:{proposal.source}", f"entity:{proposal.target}"}, "entity")


def _withdraw(bench: _Bench, proposal: WithdrawRelation) -> str | None:
    if proposal.path != "rule":
        return "only rules withdraw relations"
    return _once(bench, {f"relation:{proposal.id}"}, "relation")


def _once(bench: _Bench, keys: set[str], what: str) -> str | None:
    """Why a proposal is one too many: one dream takes up each of these once."""
    if keys & bench.taken:
        return f"another proposal takes up this {what} already"
    bench.taken |= keys
    return None


_JUDGES: Mapping[type, Callable[[_Bench, Any], str | None]] = MappingProxyType(
    {
        MergeEntries: _merge,
        RetireEntry: _retire,
        RefineEntry: _refine,
        AntiPattern: _anti_pattern,
        InferredPreference: _preference,
        Synthesis: _synthesis,
        MergeEntities: _merge_entities,
        WithdrawRelation: _withdraw,
    }
)
