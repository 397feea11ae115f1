"""Decides which of a dream's proposals are applied, and why the others are not. Pure.

It trusts no one. Each proposal is checked against the material: a model's reply may be cut off, forged, or written by
the author of a remembered mail. What is unsupported is refused with a reason, never repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from langmem_tiers.dream import grounding, retirement
from langmem_tiers.dream.faithfulness import objection, says
from langmem_tiers.dream.retirement import ByWord
from langmem_tiers.dream.types import (
    AntiPattern,
    CloseWindows,
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
from langmem_tiers.knowledge import validation
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.wordings import plain
from langmem_tiers.records import Authority
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets

OWN_TAGS = frozenset({"anti-pattern", "inferred"})
"""Tags with a meaning of their own."""

_MOST_SOURCES = 10
_LEAST_RETIRED = 2  # in a small memory, two entries can still be merged
_LONGEST_SHOWN = 2000
_TEXTS = ("content", "text", "why", "domain", "category")


def decide(material: Material, proposals: Sequence[Proposal], settings: Settings) -> Decision:
    """Accept or reject each proposal, with the reason for each rejection.

    The order of the proposals does not matter: merges are judged before plain retirements, and within a kind the rules'
    proposals before the model's. Accepting a proposal may rule out later ones.

    Args:
        material: What the dream saw.
        proposals: From rules and models, in any order.
        settings: The memory's settings: `settings.dream` has the caps.
    """
    docket = Docket(material, settings)
    accepted: list[Proposal] = []
    rejected: list[Rejected] = []
    heard: set[Proposal] = set()
    for proposal in sorted(proposals, key=_rank):
        reason = "it is proposed twice" if proposal in heard else _JUDGES[proposal.kind](docket, proposal)
        heard.add(proposal)
        if reason is None:
            accepted.append(proposal)
        else:
            rejected.append(Rejected(proposal=showable(proposal, settings), reason=reason))
    return Decision(accepted=tuple(accepted), rejected=tuple(rejected))


def _rank(proposal: Proposal) -> tuple[int, bool, int, str]:
    length = len(proposal.sources) if isinstance(proposal, MergeEntries) else 0
    return (_ORDER[proposal.kind], proposal.path == "model", length, repr(proposal))


def showable(proposal: Proposal, settings: Settings) -> Proposal:
    """A proposal as stored in a report: without secrets, and with very long texts cut."""
    shown: dict[str, Any] = {
        name: _showable(text, settings) for name in _TEXTS if (text := getattr(proposal, name, None))
    }
    if isinstance(proposal, AntiPattern | InferredPreference):
        cited = (each.model_copy(update={"quote": _showable(each.quote, settings)}) for each in proposal.evidence)
        shown["evidence"] = tuple(cited)
    return proposal.model_copy(update=shown)


def _showable(text: str, settings: Settings) -> str:
    whole = text.encode("utf-8", "replace").decode()  # lone surrogates cannot be stored
    short = whole if len(whole) <= _LONGEST_SHOWN else f"{whole[:_LONGEST_SHOWN]}…"
    return short if settings.privacy.derived == "keep" else secrets.mask(short)


def retirement_cap(material: Material, settings: Settings) -> int:
    """How many entries a dream may retire: a share of the active ones, up to a maximum."""
    return _cap(settings.dream.retire_share, settings.dream.retire_most, material.active)


def _cap(share: float, most: int, active: int) -> int:
    """A share of the active entries, up to a maximum; none if either is 0."""
    return min(max(_LEAST_RETIRED, int(share * active)), most) if share and active else 0


def only_repeats(merge: MergeEntries, entries: Mapping[str, EntrySeen]) -> bool:
    """Whether a merge by rule only removes repetitions: these do not count against the cap."""
    return merge.path == "rule" and all(plain(entries[each].content) == plain(merge.content) for each in merge.sources)


@dataclass
class Docket:
    """Tracks what the proposals accepted so far leave to later ones."""

    material: Material
    settings: Settings
    retired: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    """Entries that others were retired for: they must stay."""
    refused: set[str] = field(default_factory=set)
    """Sources of merges refused to a model: it may not retire them instead."""
    taken: set[str] = field(default_factory=set)
    """What only one proposal may touch: refined entries, drawers of corrections, entities, relations, contents."""
    entries: dict[str, EntrySeen] = field(init=False)
    by_word: ByWord = field(init=False)
    left: int = field(init=False)
    """How many more entries may be retired."""
    relations: int = 0
    """How many relations are withdrawn or closed so far."""
    refinements: int = 0
    """How many entries a model has refiled so far."""

    def __post_init__(self) -> None:
        self.entries = {entry.id: entry for entry in self.material.entries}
        self.by_word = ByWord(self.material.entries)
        self.left = retirement_cap(self.material, self.settings)

    def retire(self, ids: Iterable[str], *, cost: int) -> None:
        """Record that entries are retired; `cost` counts against the cap."""
        self.retired.update(ids)
        self.left -= cost

    def unavailable(self, entry_id: str) -> str | None:
        """Why this dream cannot change an entry, or None."""
        entry = self.entries.get(entry_id)
        if entry is None:
            return f"there is no entry {entry_id[:40]!r} in this dream"
        if entry_id in self.retired:
            return f"entry {entry_id} is retired already"
        return retirement.untouchable(entry)

    def over_cap(self, cost: int) -> str | None:
        """Why this many more entries cannot be retired, or None."""
        most = retirement_cap(self.material, self.settings)
        return f"no more than {most} entries are retired by one dream" if cost > self.left else None

    def change_relations(self, count: int) -> str | None:
        """Why this many more relations cannot be withdrawn or closed; None if they are."""
        most = self.settings.dream.retire_most
        if self.relations + count > most:
            return f"no more than {most} relations are withdrawn or closed by one dream"
        self.relations += count
        return None

    def refined_too_many(self, proposal: RefineEntry) -> str | None:
        """Why a model cannot refile another entry, or None."""
        dream = self.settings.dream
        most = _cap(dream.refine_share, dream.refine_most, self.material.active)
        if proposal.path == "rule":
            return None
        self.refinements += 1
        return f"a model files no more than {most} entries elsewhere in one dream" if self.refinements > most else None

    def take(self, keys: set[str], what: str) -> str | None:
        """Why a proposal duplicates an accepted one, or None; one dream uses each of these once."""
        if keys & self.taken:
            return f"another proposal takes up this {what} already"
        self.taken |= keys
        return None


# Merging entries.


def _merge(docket: Docket, merge: MergeEntries) -> str | None:
    reason = _unsound(docket, merge)
    if reason is not None:
        docket.refused.update(merge.sources if merge.path == "model" else ())
        return reason
    docket.retire(merge.sources, cost=0 if only_repeats(merge, docket.entries) else len(merge.sources))
    docket.taken.add(_content_key(merge.content))
    return None


def _unsound(docket: Docket, merge: MergeEntries) -> str | None:
    """Why a merge is refused, or None."""
    if reason := _wrong_sources(docket, merge.sources):
        return reason
    sources = [docket.entries[each] for each in merge.sources]
    reason = (
        next((why for each in sources[1:] if (why := retirement.alike_kept(sources[0], each))), None)
        or _made_up(merge, sources)
        or _wrong_text(docket, merge)
        or _wrong_filing(merge, sources, docket.settings)
        or objection(merge.content, [each.content for each in sources])
        or _demoting(merge, sources)
    )
    if reason or only_repeats(merge, docket.entries):
        return reason
    return docket.over_cap(len(sources))


def _wrong_sources(docket: Docket, sources: Sequence[str]) -> str | None:
    if reason := next((why for each in sources if (why := docket.unavailable(each))), None):
        return reason
    if len(set(sources)) < len(sources):
        return "it names an entry twice"
    if len(sources) < 2:
        return "it has fewer than two sources"
    if len(sources) > _MOST_SOURCES:
        return f"it has more than {_MOST_SOURCES} sources"
    at = docket.material.at
    expired = next((each for each in sources if retirement.has_expired(docket.entries[each], at)), None)
    return f"entry {expired} has expired" if expired else None


def _made_up(merge: MergeEntries, sources: Sequence[EntrySeen]) -> str | None:
    """Whether the text would rest on nothing; one copied from a source rests on the source's evidence."""
    if any(each.evidence for each in sources):
        return None
    if any(same_fact(merge.content, each.content, None).same for each in sources):
        return None
    return "it would rest on no message, and no entry says it in these words"


def _wrong_text(docket: Docket, merge: MergeEntries) -> str | None:
    if reason := grounding.content(merge.content, docket.settings):
        return reason
    if _content_key(merge.content) in docket.taken:
        return "another merge says it already"
    others = (each for each in docket.by_word.with_words_of(merge.content) if each.id not in merge.sources)
    twin = next((each for each in others if plain(each.content) == plain(merge.content)), None)
    return f"entry {twin.id} says it already" if twin else None


def _content_key(content: str) -> str:
    return f"content:{plain(content)}"


def _wrong_filing(merge: MergeEntries, sources: Sequence[EntrySeen], settings: Settings) -> str | None:
    if merge.category and retirement.special(merge.category) != retirement.special(sources[0].category):
        return f"{merge.category[:40]!r} is no category for these entries"
    kept = {tag for each in sources for tag in each.tags}
    return _invalid_filing(merge.category, set(merge.tags), kept, settings)


def _invalid_filing(category: str | None, tags: set[str], kept: set[str], settings: Settings) -> str | None:
    """Why a category and tags are not allowed, or None. Tags with a special meaning are kept."""
    if own := OWN_TAGS & (tags - kept):
        return f"the tag {min(own)!r} is not given by a refinement"
    texts = (*([category] if category else []), *sorted(tags))
    if reason := next((why for each in texts if (why := grounding.unfit(each, "filing", settings))), None):
        return reason
    try:
        validation.category(category, settings)
        validation.tags(tags, settings)
    except InvalidInput as error:
        return error.message
    return None


def _demoting(merge: MergeEntries, sources: Sequence[EntrySeen]) -> str | None:
    """Why a merge would only lower the authority of what is already said, or None.

    A merge has the authority of its least trusted source, whoever proposes it. If a more trusted entry already says all
    of it, that entry stays as it is, and the others can give way to it.
    """
    lowest = min(each.authority for each in sources)
    higher = (each for each in sources if each.authority > lowest and says(each.content, merge.content))
    found = next(higher, None)
    return f"entry {found.id} says all of it, and is trusted more than the merge would be" if found else None


# Retiring entries.


def _retire(docket: Docket, proposal: RetireEntry) -> str | None:
    reason = docket.unavailable(proposal.id) or _needed(docket, proposal)
    if reason is not None:
        return reason
    entry = docket.entries[proposal.id]
    if proposal.successor is None and retirement.has_expired(entry, docket.material.at):
        docket.retire([entry.id], cost=0)  # it was due to expire
        return None
    if reason := docket.over_cap(1):
        return reason
    if not _needs_no_successor(docket, proposal, entry):
        successors = _successors(docket, proposal, entry)
        instead = next((each for each in successors if _stands_for(docket, each, entry)), None)
        if instead is None:
            return _groundless(proposal)
        docket.needed.add(instead.id)
    docket.retire([entry.id], cost=1)
    return None


def _needed(docket: Docket, proposal: RetireEntry) -> str | None:
    if proposal.id in docket.needed:
        return f"another entry is retired because entry {proposal.id} stays"
    in_vain = proposal.path == "model" and proposal.id in docket.refused
    return f"the merge of entry {proposal.id} was refused" if in_vain else None


def _needs_no_successor(docket: Docket, proposal: RetireEntry, entry: EntrySeen) -> bool:
    if proposal.successor is not None:
        return False
    faded = retirement.has_faded(entry, docket.material.at, docket.settings.dream.fade_days)
    return retirement.says_nothing(entry) or faded


def _successors(docket: Docket, proposal: RetireEntry, entry: EntrySeen) -> Iterable[EntrySeen]:
    if proposal.successor is None:
        return docket.by_word.with_words_of(entry.content)
    named = docket.entries.get(proposal.successor)
    return [] if named is None else [named]


def _stands_for(docket: Docket, other: EntrySeen, entry: EntrySeen) -> bool:
    stays = other.id not in docket.retired and not retirement.has_expired(other, docket.material.at)
    return stays and (retirement.covers(other, entry) or retirement.outdates(other, entry))


def _groundless(proposal: RetireEntry) -> str:
    if proposal.successor is None:
        return "nothing shows that it is noise: no other entry says it, and it has not expired"
    return f"entry {proposal.successor[:40]!r} does not stand for it"


# Refiling entries.


def _refine(docket: Docket, proposal: RefineEntry) -> str | None:
    if reason := docket.unavailable(proposal.id):
        return reason
    entry = docket.entries[proposal.id]
    return (
        _ill_filed(proposal, entry)
        or _invalid_filing(proposal.category, set(proposal.tags or ()), set(entry.tags), docket.settings)
        or docket.take({f"refined:{entry.id}"}, "entry")
        or docket.refined_too_many(proposal)
    )


def _ill_filed(proposal: RefineEntry, entry: EntrySeen) -> str | None:
    if proposal.category in (None, entry.category) and proposal.tags in (None, entry.tags):
        return "it changes nothing"
    if any(map(retirement.special, filter(None, (entry.category, proposal.category)))):
        return "its place has a meaning of its own"
    if proposal.path == "rule" and retirement.filed_on_purpose(entry):
        return "its place is chosen by the user"
    if proposal.path == "model" and (reason := _given(proposal, entry)):
        return reason
    if proposal.tags is not None and OWN_TAGS & (set(entry.tags) - set(proposal.tags)):
        return "it would lose a tag with a meaning of its own"
    return None


def _given(proposal: RefineEntry, entry: EntrySeen) -> str | None:
    """Why a model may not refile an entry: it only fills in what is missing."""
    if proposal.category not in (None, entry.category) and entry.category != validation.DEFAULT_CATEGORY:
        return f"it has a category already: {entry.category}"
    return "it has tags already" if proposal.tags not in (None, entry.tags) and entry.tags else None


# Learned entries, episodes and the graph.


def _anti_pattern(docket: Docket, proposal: AntiPattern) -> str | None:
    keys = {f"correction:{each.drawer}" for each in proposal.evidence}
    return grounding.anti_pattern(proposal, docket.material, docket.settings) or docket.take(keys, "correction")


def _preference(docket: Docket, proposal: InferredPreference) -> str | None:
    return (
        grounding.preference(proposal, docket.material, docket.settings)
        or _invalid_filing(proposal.category, set(proposal.tags), set(OWN_TAGS), docket.settings)
        or docket.take({_content_key(proposal.content)}, "preference")
    )


def _synthesis(docket: Docket, proposal: Synthesis) -> str | None:
    return grounding.synthesis(proposal, docket.material, docket.settings) or docket.take({"synthesis"}, "synthesis")


def _merge_entities(docket: Docket, proposal: MergeEntities) -> str | None:
    pairs = {frozenset((pair.first, pair.second)) for pair in docket.material.pairs}
    if frozenset((proposal.source, proposal.target)) not in pairs:
        return "these two entities are no likely pair"
    return docket.take({f"entity:{proposal.source}", f"entity:{proposal.target}"}, "entity")


def _withdraw_relation(docket: Docket, proposal: WithdrawRelation) -> str | None:
    if proposal.path != "rule":
        return "only rules withdraw relations"
    seen = next((each for each in docket.material.relations if each.id == proposal.id), None)
    if seen is None:
        return f"there is no relation {proposal.id[:40]!r} in this dream"
    if retirement.orphaned(seen, docket.material.at, docket.settings.dream.mention_days) is None:
        return f"relation {proposal.id} has its grounds"
    return docket.change_relations(1) or docket.take({f"relation:{proposal.id}"}, "relation")


def _close_windows(docket: Docket, proposal: CloseWindows) -> str | None:
    if proposal.path != "rule":
        return "only rules close windows of time"
    same = (proposal.subject, proposal.predicate)
    seen = next((each for each in docket.material.windows if (each.subject, each.predicate) == same), None)
    if seen is None:
        return f"there are no open windows of {proposal.subject[:40]!r} in this dream"
    if seen.authority > Authority.SYSTEM:
        return "somebody stands behind what would be closed"
    key = f"windows:{proposal.subject} {proposal.predicate}"
    return docket.change_relations(seen.closing) or docket.take({key}, "group of relations")


_JUDGES: Mapping[str, Callable[[Docket, Any], str | None]] = MappingProxyType(
    {
        "merge": _merge,
        "retire": _retire,
        "refine": _refine,
        "anti_pattern": _anti_pattern,
        "preference": _preference,
        "synthesis": _synthesis,
        "merge_entities": _merge_entities,
        "withdraw_relation": _withdraw_relation,
        "close_windows": _close_windows,
    }
)
# Why a proposal of each kind is refused, or None; in the order in which the kinds are judged.
_ORDER = {kind: place for place, kind in enumerate(_JUDGES)}
