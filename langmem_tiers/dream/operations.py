"""How each accepted proposal is applied, within the single transaction of a dream.

Nothing that has changed since the dream read it is overwritten: what cannot be done raises `ProposalRefused`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.dream import anti_patterns, preferences
from langmem_tiers.dream.gather import open_window
from langmem_tiers.dream.retirement import orphaned
from langmem_tiers.dream.types import (
    AntiPattern,
    CloseWindows,
    InferredPreference,
    Material,
    MergeEntities,
    MergeEntries,
    ProposalRefused,
    RefineEntry,
    RetireEntry,
    Synthesis,
    WithdrawRelation,
)
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import document_text, tombstones, validation
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge_graph import merging
from langmem_tiers.knowledge_graph import relations as graph_relations
from langmem_tiers.knowledge_graph.duplicates import against
from langmem_tiers.knowledge_graph.entities import require_known
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language import predicates
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.paraphrase import same_fact
from langmem_tiers.language.quotations import own_words_of
from langmem_tiers.language.words import occurs
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.naming import new_id
from langmem_tiers.records import Authority, Entry, Evidence, NewEntry
from langmem_tiers.settings import Settings
from langmem_tiers.storage import documents, drawers, entities, entries, orphans
from langmem_tiers.storage import episodes as episode_rows
from langmem_tiers.storage.entries import Filters
from langmem_tiers.trust.taint import derived_trust
from langmem_tiers.wording import beginning

CONSOLIDATED = "consolidated"
"""Why an entry that a dream retired is inactive."""
PREFERENCE_TAG = "inferred"
ANTI_PATTERN_TAG = "anti-pattern"

_LONGEST_WHY = 200
_T = TypeVar("_T")


class DreamTransaction:
    """The changes of one dream within one transaction; `own` are the entries it has changed itself."""

    def __init__(
        self, connection: Connection, space: str, material: Material, settings: Settings, now: datetime
    ) -> None:
        self.connection = connection
        self.space = space
        self.settings = settings
        self.now = now
        self.writer = EntryWriter(connection, space, to_millis(now))
        self.seen = {entry.id: entry for entry in material.entries}
        self.episodes = {episode.id: episode for episode in material.episodes}
        self.own: set[str] = set()

    @property
    def graph(self) -> GraphTransaction:
        """A new one for each proposal: it remembers what it logged, which may be rolled back with the proposal."""
        return GraphTransaction(self.connection, self.space, self.writer.now, self.settings)

    def untouched(self, entry_id: str) -> Entry:
        """An entry, provided it is unchanged since the dream read it."""
        seen, entry = self.seen.get(entry_id), self.writer.read(entry_id)
        if seen is None:
            raise ProposalRefused(f"entry {entry_id[:40]} was not looked at")
        if entry is None:
            raise ProposalRefused(f"entry {entry_id} was deleted meanwhile")
        if entry_id in self.own:
            raise ProposalRefused(f"entry {entry_id} was changed by this dream already")
        # Undoing another dream resets versions, so the same version may have another content by now.
        if (entry.version, entry.content) != (seen.version, seen.content) or not entry.active:
            raise ProposalRefused(f"entry {entry_id} has changed since the dream looked at it")
        if entry.pinned or entry.authority is Authority.CORRECTION:
            raise ProposalRefused(f"entry {entry_id} is {'pinned' if entry.pinned else 'a correction by the user'}")
        return entry

    def retire(self, entry: Entry, successor: str | None) -> None:
        """Retire an entry."""
        self.writer.retire(entry, CONSOLIDATED, successor)
        self.own.add(entry.id)

    def require_new(self, new: NewEntry, besides: Collection[str] = ()) -> None:
        """Raise Refused for what an entry already says, and for what someone deleted or retired."""
        twin = self.writer.known(new.content, project=new.project, agent=new.agent).twin
        if twin is not None and twin.id in besides:
            return
        if twin is not None and twin.active:
            raise ProposalRefused(f"entry {twin.id} says so already")
        key = tombstones.key(new.content)
        if tombstones.is_buried(self.writer, new.content):
            raise ProposalRefused("it was deleted")
        if key in self._put_aside:
            raise ProposalRefused(f"it was put aside before: {self._put_aside[key]}")

    @lazy_property
    def _put_aside(self) -> Mapping[bytes, str]:
        return tombstones.put_aside(self.writer)


# Entries.


def _merge(dream: DreamTransaction, proposal: MergeEntries) -> None:
    """Replace several entries by one with the evidence of all."""
    sources = [dream.untouched(each) for each in dict.fromkeys(proposal.sources)]
    new = _merged_entry(proposal, sources, dream.settings)
    dream.require_new(new, besides={source.id for source in sources})
    holder = dream.writer.add(new, ())
    holder = entries.change(dream.connection, dream.space, holder, _history(sources))
    dream.own.add(holder.id)
    for source in sources:
        holder = dream.writer.join(holder, source.evidence, via=source)
        dream.retire(source, holder.id)


def _merged_entry(proposal: MergeEntries, sources: Sequence[Entry], settings: Settings) -> NewEntry:
    """The entry that replaces its sources: as trusted as the least trusted of them, valid as long as any of them.

    What is not put together here is taken from the first source.

    Raises:
        InvalidInput: its words, category or tags cannot be stored, or the sources concern different projects or
            agents: what is known for one is not known for another.
    """
    if len(sources) < 2:
        raise InvalidInput("A merge of fewer than two entries is none.")
    content = validation.content(proposal.content, settings)
    tags = proposal.tags or _union(source.tags for source in sources)
    ends = [source.expires_at for source in sources]
    return sources[0].copy(
        id=new_id(),
        content=content,
        category=validation.category(proposal.category or sources[0].category, settings),
        tags=validation.tags(list(tags), settings),
        origin=derived_trust(["dream", *(source.origin for source in sources)]),
        path=proposal.path,
        authority=Authority(min(source.authority for source in sources)),
        flags=tuple(_union([validation.flags(content), *(source.flags for source in sources)])),
        project=_common("project", {source.project for source in sources}),
        agent=_common("agent", {source.agent for source in sources}),
        task=sources[0].task if len({source.task for source in sources}) == 1 else None,
        metadata=dict(ChainMap(*(dict(source.metadata) for source in sources))),
        expires_at=None if None in ends else max(to_millis(end) for end in ends if end is not None),
    )


def _history(sources: Sequence[Entry]) -> dict[str, Any]:
    """The merged entry's age and recall count, as columns of its row."""
    recalled = [source.last_recalled_at for source in sources if source.last_recalled_at is not None]
    return {
        "created_at": to_millis(min(source.created_at for source in sources)),
        "recall_count": sum(source.recall_count for source in sources),
        "last_recalled_at": to_millis(max(recalled)) if recalled else None,
    }


def _union(named: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(named)))


def _common(what: str, found: set[_T]) -> _T:
    if len(found) > 1:
        raise InvalidInput(f"The entries are not of one {what}.")
    return found.pop()


def _retire(dream: DreamTransaction, proposal: RetireEntry) -> None:
    """Retire an entry, in favour of its successor if it has one."""
    entry = dream.writer.read(proposal.id)
    if entry is not None and proposal.id in dream.own and entry.reason == CONSOLIDATED:
        return  # a merge has already retired it
    entry = dream.untouched(proposal.id)
    dream.retire(entry, None if proposal.successor is None else _holder(dream, proposal.successor, entry).id)


def _holder(dream: DreamTransaction, successor: str, entry: Entry) -> Entry:
    """The active entry a successor has become: this dream may have merged it."""
    named = dream.writer.read(successor)
    line = [] if named is None else dream.writer.succession(named)
    holder = next((each for each in line if each.active or each.id not in dream.own), None)
    if holder is None or not holder.active or holder.id == entry.id:
        raise ProposalRefused(f"entry {successor[:40]} does not hold, and can take the place of nothing")
    return holder


def _refine(dream: DreamTransaction, proposal: RefineEntry) -> None:
    entry = dream.untouched(proposal.id)
    values: dict[str, Any] = {}
    if proposal.category is not None:
        values["category"] = validation.category(proposal.category, dream.settings)
    if proposal.tags is not None:
        values["tags"] = validation.tags(proposal.tags, dream.settings)
    if all(getattr(entry, name) == value for name, value in values.items()):
        raise ProposalRefused(f"entry {entry.id} is so already")
    dream.writer.change(entry, **values)
    dream.own.add(entry.id)


# Learned entries.


def _add_anti_pattern(dream: DreamTransaction, proposal: AntiPattern) -> None:
    """Store an anti-pattern, or count that its mistake came back."""
    category = validation.category(f"anti-patterns/{proposal.domain}", dream.settings)
    _add_finding(dream, proposal, category, (ANTI_PATTERN_TAG,))


def _add_preference(dream: DreamTransaction, proposal: InferredPreference) -> None:
    """Store a preference, or raise the confidence of a known one."""
    category = validation.category(proposal.category, dream.settings)
    _add_finding(dream, proposal, category, (PREFERENCE_TAG, *proposal.tags))


def _add_finding(
    dream: DreamTransaction, proposal: AntiPattern | InferredPreference, category: str, tags: Sequence[str]
) -> None:
    """Store a finding, or add its evidence to the entry that already says it."""
    evidence = _standing_evidence(dream, proposal.evidence)
    content = validation.content(proposal.content, dream.settings)
    active = entries.find(dream.connection, dream.space, Filters(status="active", category=category), -1)
    known = next((each for each in active if same_fact(content, each.content, None).same), None)
    if known is not None:
        _strengthen(dream, known, proposal, evidence)
        return
    new = NewEntry(
        id=new_id(),
        content=content,
        category=category,
        tags=validation.tags(tags, dream.settings),
        origin="dream",
        path=proposal.path,
        authority=Authority.SYSTEM,
        flags=validation.flags(content),
        metadata=_metadata(proposal, proposal.evidence, None, dream.settings),
    )
    dream.require_new(new)
    dream.own.add(dream.writer.add(new, evidence).id)


def _strengthen(
    dream: DreamTransaction, known: Entry, proposal: AntiPattern | InferredPreference, evidence: Sequence[Evidence]
) -> None:
    """Add evidence to an entry, which renews its date unless a user or agent is its author."""
    news = [each for each in proposal.evidence if each.drawer not in known.drawers]
    if not news:
        raise ProposalRefused(f"entry {known.id} says so already")
    if known.authority is Authority.SYSTEM and not known.pinned:
        known = dream.writer.change(known, metadata=_metadata(proposal, news, known.metadata, dream.settings))
        dream.own.add(known.id)
    dream.writer.join(known, evidence)


def _metadata(
    proposal: AntiPattern | InferredPreference,
    news: Sequence[Evidence],
    held: Mapping[str, Any] | None,
    settings: Settings,
) -> dict[str, Any]:
    """The metadata of a finding with this new evidence; `held` is that of the entry that already says it."""
    if isinstance(proposal, InferredPreference):
        return preferences.metadata(proposal.model_copy(update={"evidence": tuple(news)}), settings, held)
    return {} if held is None else anti_patterns.came_back(held, len(news))


def _standing_evidence(dream: DreamTransaction, cited: Sequence[Evidence]) -> Sequence[Evidence]:
    """The evidence of a finding, provided that its drawers stand and say so."""
    found = drawers.read(dream.connection, dream.space, {each.drawer for each in cited})
    if not cited:
        raise ProposalRefused("it rests on nothing")
    for each in cited:
        drawer = found.get(each.drawer)
        if drawer is None or drawer.status != "active":
            raise ProposalRefused(f"drawer {each.drawer} does not stand")
        if not occurs(each.quote, drawer.content):
            raise ProposalRefused(f"drawer {each.drawer} does not hold {beginning(each.quote, 80)!r}")
        if drawer.role == "user" and not occurs(each.quote, own_words_of(drawer)):
            raise ProposalRefused(f"drawer {each.drawer} only quotes {beginning(each.quote, 80)!r}")
    return cited


# Episodes and the graph.


def _synthesize(dream: DreamTransaction, proposal: Synthesis) -> None:
    """Add to the document of the day, and mark the episodes as promoted."""
    wanted = list(dict.fromkeys(proposal.episodes))
    held = episode_rows.by_ids(dream.connection, dream.space, wanted)
    for each in wanted:
        seen = dream.episodes.get(each)
        if seen is None:
            raise ProposalRefused(f"episode {each[:40]} was not looked at")
        if each not in held or held[each].summary != seen.summary:
            raise ProposalRefused(f"episode {each} has changed since the dream looked at it")
        if held[each].promoted_at is not None:
            raise ProposalRefused(f"episode {each} is in another synthesis already")
    if proposal.text:
        _add_to_document(dream, proposal.text)
    episode_rows.promote(dream.connection, dream.space, [held[each] for each in wanted], dream.writer.now)


def _add_to_document(dream: DreamTransaction, told: str) -> None:
    path = document_text.path(f"{document_text.DREAMT}{dream.now:%Y%m%d}-consolidated.md", dream.settings)
    text = validation.text(told, "document", dream.settings)
    there = documents.read(dream.connection, dream.space, path)
    new = document_text.with_more(path, there, text, "dream", dream.settings)
    documents.put(dream.connection, dream.space, new, dream.writer.now)


def _merge_entities(dream: DreamTransaction, proposal: MergeEntities) -> None:
    """Merge two entities, unless they were marked as different or something contradicts it."""
    graph = dream.graph
    one, other = require_known(graph, proposal.source), require_known(graph, proposal.target)
    if merging.kept_apart_marks(graph, one.number, other.number):
        raise ProposalRefused(f"{one.name!r} and {other.name!r} were said to be two")
    if max(one.authority, other.authority) > Authority.SYSTEM:
        raise ProposalRefused(f"somebody else stands behind {one.name!r} or {other.name!r}")
    rows = [next(entities.rows(dream.connection, dream.space, each.number, each.number)) for each in (one, other)]
    conflict = against(graph, *rows)
    if conflict is not None:
        raise ProposalRefused(conflict.reason)
    reason = one_line(proposal.why)[:_LONGEST_WHY] or "found in a dream"
    merging.merge_entities(graph, one, other, reason=reason, path=proposal.path)


def _withdraw_relation(dream: DreamTransaction, proposal: WithdrawRelation) -> None:
    graph = dream.graph
    row = graph.row(proposal.id)
    if not row.believed:
        raise ProposalRefused(f"relation {row.id} is not believed any more")
    found = orphans.of_numbers(dream.connection, dream.space, [row.number])
    if not found:
        raise ProposalRefused(f"somebody stands behind relation {row.id}")
    if found[0].standing and orphaned(found[0], dream.now, dream.settings.dream.mention_days) is None:
        raise ProposalRefused(f"relation {row.id} rests on messages that stand")
    graph_relations.withdraw_relation(graph, row.number, by=Authority.SYSTEM)


def _close_windows(dream: DreamTransaction, proposal: CloseWindows) -> None:
    """End each of an entity's relations by a predicate where the next one begins."""
    graph = dream.graph
    entity = require_known(graph, proposal.subject)
    seen = open_window(graph, entity.number, proposal.predicate)
    if not predicates.single_valued(proposal.predicate, dream.settings.graph) or not seen.closing:
        raise ProposalRefused(f"nothing of {entity.name!r} stands open any more")
    if seen.authority > Authority.SYSTEM:
        raise ProposalRefused(f"somebody stands behind what would be closed of {entity.name!r}")
    graph_relations.resolve_groups(graph, [(entity.number, proposal.predicate)])


OPERATIONS: Mapping[str, Callable[[DreamTransaction, Any], None]] = MappingProxyType(
    {
        "merge": _merge,
        "retire": _retire,
        "refine": _refine,
        "anti_pattern": _add_anti_pattern,
        "preference": _add_preference,
        "synthesis": _synthesize,
        "merge_entities": _merge_entities,
        "withdraw_relation": _withdraw_relation,
        "close_windows": _close_windows,
    }
)
"""How each kind of proposal is carried out, in the order of the kinds: what others depend on first."""
