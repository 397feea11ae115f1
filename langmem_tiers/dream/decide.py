"""Decides which of a dream's proposals are applied, and why the others are not. Pure.

It trusts no one. Each proposal is checked against the material: a model's reply may be cut off, forged, or written by
the author of a remembered mail. What is unsupported is refused with a reason, never repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from langmem_tiers.dream import grounding, retirement
from langmem_tiers.dream.faithfulness import objection, says
from langmem_tiers.dream.retirement import ByWord
from langmem_tiers.dream.types import (
    AntiPattern,
    CloseWindows,
    Decision,
    InferredPreference,
    Material,
    MergeEntities,
    MergeEntries,
    Proposal,
    ProposalRefused,
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
from langmem_tiers.records import Authority, Entry
from langmem_tiers.settings import Settings
from langmem_tiers.trust import secrets
from langmem_tiers.wording import beginning

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
    for proposal in sorted(proposals, key=_rank):
        try:
            docket.judge(proposal)
        except ProposalRefused as refusal:
            rejected.append(Rejected(proposal=showable(proposal, settings), reason=str(refusal)))
        else:
            accepted.append(proposal)
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
        shown["evidence"] = tuple(replace(each, quote=_showable(each.quote, settings)) for each in proposal.evidence)
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


def only_repeats(merge: MergeEntries, entries: Mapping[str, Entry]) -> bool:
    """Whether a merge by rule only removes repetitions: these do not count against the cap."""
    return merge.path == "rule" and all(plain(entries[each].content) == plain(merge.content) for each in merge.sources)


@dataclass
class Docket:
    """What the proposals accepted so far leave to later ones; what is not acceptable raises `ProposalRefused`."""

    material: Material
    settings: Settings
    retired: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)
    """Entries that others were retired for: they must stay."""
    refused: set[str] = field(default_factory=set)
    """Sources of merges refused to a model: it may not retire them instead."""
    taken: set[str] = field(default_factory=set)
    """What only one proposal may touch: refined entries, drawers of corrections, entities, relations, contents."""
    judged: set[Proposal] = field(default_factory=set)
    entries: dict[str, Entry] = field(init=False)
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

    def judge(self, proposal: Proposal) -> None:
        """Accept a proposal, and remember what that means for the next ones."""
        if proposal in self.judged:
            raise ProposalRefused("it is proposed twice")
        self.judged.add(proposal)
        _JUDGES[proposal.kind](self, proposal)

    def changeable(self, entry_id: str) -> Entry:
        """An entry, provided that this dream may change it."""
        entry = self.entries.get(entry_id)
        if entry is None:
            raise ProposalRefused(f"there is no entry {beginning(entry_id, 40)!r} in this dream")
        if entry_id in self.retired:
            raise ProposalRefused(f"entry {entry_id} is retired already")
        if reason := retirement.untouchable(entry):
            raise ProposalRefused(reason)
        return entry

    def require_room(self, count: int) -> None:
        """Refuse to retire this many more entries where that is too many for one dream."""
        if count > self.left:
            most = retirement_cap(self.material, self.settings)
            raise ProposalRefused(f"no more than {most} entries are retired by one dream")

    def change_relations(self, count: int) -> None:
        """Count this many more relations as withdrawn or closed, unless there are too many."""
        most = self.settings.dream.retire_most
        if self.relations + count > most:
            raise ProposalRefused(f"no more than {most} relations are withdrawn or closed by one dream")
        self.relations += count

    def take(self, keys: Iterable[str], what: str) -> None:
        """Take up what a proposal is about: one dream uses each of these once."""
        keys = set(keys)
        if keys & self.taken:
            raise ProposalRefused(f"another proposal takes up this {what} already")
        self.taken |= keys


# Merging entries.


def _merge(docket: Docket, merge: MergeEntries) -> None:
    try:
        _require_sound(docket, merge)
    except ProposalRefused:
        docket.refused.update(merge.sources if merge.path == "model" else ())
        raise
    docket.retired.update(merge.sources)
    docket.left -= 0 if only_repeats(merge, docket.entries) else len(merge.sources)
    docket.taken.add(_content_key(merge.content))


def _require_sound(docket: Docket, merge: MergeEntries) -> None:
    sources = _sources(docket, merge.sources)
    if reason := next((why for each in sources[1:] if (why := retirement.alike_kept(sources[0], each))), None):
        raise ProposalRefused(reason)
    if len({each.from_tool for each in sources}) > 1:
        raise ProposalRefused("what a tool brought in is not merged with what is known from elsewhere")
    rests = any(each.evidence for each in sources)
    if not rests and not any(same_fact(merge.content, each.content, None).same for each in sources):
        raise ProposalRefused("it would rest on no message, and no entry says it in these words")
    _require_new_text(docket, merge)
    if merge.category and retirement.special(merge.category) != retirement.special(sources[0].category):
        raise ProposalRefused(f"{beginning(merge.category, 40)!r} is no category for these entries")
    kept = {tag for each in sources for tag in each.tags}
    _require_filing(merge.category, set(merge.tags), kept, docket.settings)
    if reason := objection(merge.content, [each.content for each in sources]):
        raise ProposalRefused(reason)
    # A merge has the authority of its least trusted source, whoever proposes it. If a more trusted entry already says
    # all of it, that entry stays as it is, and the others can give way to it.
    lowest = min(each.rank for each in sources)
    above = next((each for each in sources if each.rank > lowest and says(each.content, merge.content)), None)
    if above is not None:
        raise ProposalRefused(f"entry {above.id} says all of it, and is trusted more than the merge would be")
    if not only_repeats(merge, docket.entries):
        docket.require_room(len(sources))


def _sources(docket: Docket, ids: Sequence[str]) -> list[Entry]:
    sources = [docket.changeable(each) for each in ids]
    if len(set(ids)) < len(ids):
        raise ProposalRefused("it names an entry twice")
    if len(ids) < 2:
        raise ProposalRefused("it has fewer than two sources")
    if len(ids) > _MOST_SOURCES:
        raise ProposalRefused(f"it has more than {_MOST_SOURCES} sources")
    if expired := [each.id for each in sources if retirement.has_expired(each, docket.material.at)]:
        raise ProposalRefused(f"entry {expired[0]} has expired")
    return sources


def _require_new_text(docket: Docket, merge: MergeEntries) -> None:
    grounding.require_content(merge.content, docket.settings)
    if _content_key(merge.content) in docket.taken:
        raise ProposalRefused("another merge says it already")
    others = (each for each in docket.by_word.with_words_of(merge.content) if each.id not in merge.sources)
    twin = next((each for each in others if plain(each.content) == plain(merge.content)), None)
    if twin is not None:
        raise ProposalRefused(f"entry {twin.id} says it already")


def _content_key(content: str) -> str:
    return f"content:{plain(content)}"


def _require_filing(category: str | None, tags: set[str], kept: set[str], settings: Settings) -> None:
    """Refuse a category and tags that are not allowed. Tags with a special meaning are kept."""
    if own := OWN_TAGS & (tags - kept):
        raise ProposalRefused(f"the tag {min(own)!r} is not given by a refinement")
    for each in (*([category] if category else []), *sorted(tags)):
        grounding.require_fit(each, "filing", settings)
    try:
        validation.category(category, settings)
        validation.tags(tags, settings)
    except InvalidInput as error:
        raise ProposalRefused(error.message) from error


# Retiring entries.


def _retire(docket: Docket, proposal: RetireEntry) -> None:
    entry = docket.changeable(proposal.id)
    if entry.id in docket.needed:
        raise ProposalRefused(f"another entry is retired because entry {entry.id} stays")
    if proposal.path == "model" and entry.id in docket.refused:
        raise ProposalRefused(f"the merge of entry {entry.id} was refused")
    due = proposal.successor is None and retirement.has_expired(entry, docket.material.at)
    if not due:
        docket.require_room(1)
        if (stays := _successor(docket, proposal, entry)) is not None:
            docket.needed.add(stays.id)
        docket.left -= 1
    docket.retired.add(entry.id)


def _successor(docket: Docket, proposal: RetireEntry, entry: Entry) -> Entry | None:
    """The entry that stands for the one that goes; None for noise, and for what has faded, which need none."""
    others: Iterable[Entry] = docket.by_word.with_words_of(entry.content)
    if proposal.successor is not None:
        others = filter(None, [docket.entries.get(proposal.successor)])
    elif retirement.says_nothing(entry) or retirement.has_faded(
        entry, docket.material.at, docket.settings.dream.fade_days
    ):
        return None
    for other in others:
        stays = other.id not in docket.retired and not retirement.has_expired(other, docket.material.at)
        if stays and (retirement.covers(other, entry) or retirement.outdates(other, entry)):
            return other
    if proposal.successor is None:
        raise ProposalRefused("nothing shows that it is noise: no other entry says it, and it has not expired")
    raise ProposalRefused(f"entry {beginning(proposal.successor, 40)!r} does not stand for it")


# Refiling entries.


def _refine(docket: Docket, proposal: RefineEntry) -> None:
    entry = docket.changeable(proposal.id)
    _require_better_place(proposal, entry)
    _require_filing(proposal.category, set(proposal.tags or ()), set(entry.tags), docket.settings)
    docket.take({f"refined:{entry.id}"}, "entry")
    if proposal.path == "model":
        dream = docket.settings.dream
        most = _cap(dream.refine_share, dream.refine_most, docket.material.active)
        docket.refinements += 1
        if docket.refinements > most:
            raise ProposalRefused(f"a model files no more than {most} entries elsewhere in one dream")


def _require_better_place(proposal: RefineEntry, entry: Entry) -> None:
    moved, tagged = proposal.category not in (None, entry.category), proposal.tags not in (None, entry.tags)
    if not (moved or tagged):
        raise ProposalRefused("it changes nothing")
    if any(map(retirement.special, filter(None, (entry.category, proposal.category)))):
        raise ProposalRefused("its place has a meaning of its own")
    if proposal.path == "rule" and retirement.filed_on_purpose(entry):
        raise ProposalRefused("its place is chosen by the user")
    # A model only fills in what is missing.
    if proposal.path == "model" and moved and entry.category != validation.DEFAULT_CATEGORY:
        raise ProposalRefused(f"it has a category already: {entry.category}")
    if proposal.path == "model" and tagged and entry.tags:
        raise ProposalRefused("it has tags already")
    if proposal.tags is not None and OWN_TAGS & (set(entry.tags) - set(proposal.tags)):
        raise ProposalRefused("it would lose a tag with a meaning of its own")


# Learned entries, episodes and the graph.


def _anti_pattern(docket: Docket, proposal: AntiPattern) -> None:
    grounding.require_anti_pattern(proposal, docket.material, docket.settings)
    docket.take({f"correction:{each.drawer}" for each in proposal.evidence}, "correction")


def _preference(docket: Docket, proposal: InferredPreference) -> None:
    grounding.require_preference(proposal, docket.material, docket.settings)
    _require_filing(proposal.category, set(proposal.tags), set(OWN_TAGS), docket.settings)
    docket.take({_content_key(proposal.content)}, "preference")


def _synthesis(docket: Docket, proposal: Synthesis) -> None:
    grounding.require_synthesis(proposal, docket.material, docket.settings)
    docket.take({"synthesis"}, "synthesis")


def _merge_entities(docket: Docket, proposal: MergeEntities) -> None:
    pairs = [{pair.first, pair.second} for pair in docket.material.pairs]
    if {proposal.source, proposal.target} not in pairs:
        raise ProposalRefused("these two entities are no likely pair")
    docket.take({f"entity:{proposal.source}", f"entity:{proposal.target}"}, "entity")


def _withdraw_relation(docket: Docket, proposal: WithdrawRelation) -> None:
    if proposal.path != "rule":
        raise ProposalRefused("only rules withdraw relations")
    seen = next((each for each in docket.material.relations if each.id == proposal.id), None)
    if seen is None:
        raise ProposalRefused(f"there is no relation {beginning(proposal.id, 40)!r} in this dream")
    if retirement.orphaned(seen, docket.material.at, docket.settings.dream.mention_days) is None:
        raise ProposalRefused(f"relation {proposal.id} has its grounds")
    docket.change_relations(1)
    docket.take({f"relation:{proposal.id}"}, "relation")


def _close_windows(docket: Docket, proposal: CloseWindows) -> None:
    if proposal.path != "rule":
        raise ProposalRefused("only rules close windows of time")
    same = (proposal.subject, proposal.predicate)
    seen = next((each for each in docket.material.windows if (each.subject, each.predicate) == same), None)
    if seen is None:
        raise ProposalRefused(f"there are no open windows of {beginning(proposal.subject, 40)!r} in this dream")
    if seen.authority > Authority.SYSTEM:
        raise ProposalRefused("somebody stands behind what would be closed")
    docket.change_relations(seen.closing)
    docket.take({f"windows:{proposal.subject} {proposal.predicate}"}, "group of relations")


_JUDGES: Mapping[str, Callable[[Docket, Any], None]] = MappingProxyType(
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
# In the order in which the kinds are judged.
_ORDER = {kind: place for place, kind in enumerate(_JUDGES)}
