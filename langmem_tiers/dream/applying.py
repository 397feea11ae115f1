"""Carrying out what was decided: one transaction, of which every row that it changes is kept.

Nothing is written over that has changed since the dream looked at it, and what can not be done is refused with its
reason, by itself: the rest is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.documents import making
from langmem_tiers.dream import anti_patterns, diff, lease, merged, preferences
from langmem_tiers.dream.changeset import Recorder
from langmem_tiers.dream.types import (
    AntiPattern,
    ChangedRecord,
    Cited,
    Decision,
    DreamReport,
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
from langmem_tiers.errors import AuthorityTooLow, InvalidInput, UnknownEntity, UnknownRelation
from langmem_tiers.knowledge import checks, forgetting, landing
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.merging import same_fact
from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.knowledge_graph.conflicts import against
from langmem_tiers.knowledge_graph.ledger import Ledger as GraphLedger
from langmem_tiers.settings import Settings
from langmem_tiers.storage import (
    change_log,
    documents,
    drawers,
    dreams,
    entities,
    entries,
    episodes,
    graph_pairs,
    relations,
    tombstones,
)
from langmem_tiers.storage.entries import Filters, NewEntry
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing.proposals import Evidence
from langmem_tiers.writing.storable import storable

CONSOLIDATED = "consolidated"
"""Why an entry that a dream retired is inactive."""
PREFERENCE_TAG = "inferred"
ANTI_PATTERN_TAG = "anti-pattern"

_FOLDER = "_system/dreaming"
_LONGEST_WHY = 200
_Metadata = Mapping[str, Any]
_FINAL = frozenset({"corrected", "updated", "removed"})


class Applied(NamedTuple):
    """What was carried out, what was not after all, and the rows that changed."""

    decision: Decision
    records: tuple[ChangedRecord, ...]


class Refused(Exception):
    """A proposal can not be carried out as things are now; its text is the reason."""


def apply(
    store: SpaceStore,
    material: Material,
    decision: Decision,
    settings: Settings,
    now: datetime,
    *,
    report: DreamReport | None = None,
) -> Applied:
    """Carry out a decision, in one transaction with the changeset and the report.

    `report` is what is known of the dream so far (its id, trigger, cost, notes); it is kept with the decision as it was
    carried out, the diff, and `applied` or `nothing` as its status.

    Raises:
        LeaseLost: another dream has begun since the material was gathered; nothing was written.
        StorageError: nothing was written.
    """
    with store.writing() as connection:
        lease.require(connection, store.key, material.fence)
        applied = _recorded(connection, store.key, material, decision, settings, now)
        draft = report or new_report(material, now)
        done = {
            "status": "applied" if applied.records else "nothing",
            "decision": applied.decision,
            "diff": diff.render(connection, store.key, applied.records),
            "finished_at": now,
        }
        number = dreams.put(connection, store.key, draft.model_copy(update=done), material)
        dreams.put_changes(connection, store.key, number, applied.records)
        if applied.records:
            change_log.append(connection, store.key, "dream.applied", number, at=to_millis(now))
    return applied


def preview(
    store: SpaceStore, material: Material, decision: Decision, settings: Settings, now: datetime
) -> tuple[Applied, str]:
    """What `apply` would do, and its diff; nothing is written, and no lease is needed."""
    with store.writing() as connection:
        applied = _recorded(connection, store.key, material, decision, settings, now)
        shown = diff.render(connection, store.key, applied.records)
        connection.rollback()
    return applied, shown


def note(store: SpaceStore, material: Material, report: DreamReport) -> None:
    """Keep the report of a dream that changed nothing: gated, failed, or without anything to do.

    Raises:
        LeaseLost: another dream has begun since; this one is not kept.
    """
    with store.writing() as connection:
        lease.require(connection, store.key, material.fence)
        dreams.put(connection, store.key, report, material)


def new_report(material: Material, now: datetime) -> DreamReport:
    """The report of a dream that begins."""
    return DreamReport(id=checks.new_id(), space=material.space, status="nothing", started_at=now)


def carry_out(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Decision:
    """Carry out a decision in the caller's transaction; what was accepted in the end, and what not."""
    return _Dreaming(connection, space, material, settings, now).run(decision)


def _recorded(
    connection: Connection, space: str, material: Material, decision: Decision, settings: Settings, now: datetime
) -> Applied:
    with Recorder(connection, space) as recorder:
        done = carry_out(connection, space, material, decision, settings, now)
    return Applied(done, recorder.records)


class _Dreaming:
    """One dream's changes, within one transaction."""

    def __init__(
        self, connection: Connection, space: str, material: Material, settings: Settings, now: datetime
    ) -> None:
        self.connection = connection
        self.space = space
        self.settings = settings
        self.now = now
        self.ledger = Ledger(connection, space, to_millis(now))
        self._seen: Mapping[str, EntrySeen] = {entry.id: entry for entry in material.entries}
        self._episodes = {episode.id: episode for episode in material.episodes}
        self._own: set[str] = set()
        """Entries that this dream has changed itself."""

    def run(self, decision: Decision) -> Decision:
        """Carry it out, what others depend on first."""
        refused: dict[int, str] = {}
        order = sorted(range(len(decision.accepted)), key=lambda place: _ORDER[decision.accepted[place].kind])
        for place in order:
            reason = self._attempt(decision.accepted[place])
            if reason is not None:
                refused[place] = reason
        kept = tuple(each for place, each in enumerate(decision.accepted) if place not in refused)
        rejected = (Rejected(proposal=decision.accepted[place], reason=refused[place]) for place in sorted(refused))
        return Decision(accepted=kept, rejected=(*decision.rejected, *rejected))

    def _attempt(self, proposal: Proposal) -> str | None:
        """Carry out one proposal, or nothing of it; why not."""
        before = set(self._own)
        try:
            with self.connection.begin_nested():
                _HOW[proposal.kind](self, proposal)
        except Refused as refusal:
            reason = str(refusal)
        except (InvalidInput, AuthorityTooLow, UnknownEntity, UnknownRelation) as error:
            reason = error.message
        else:
            return None
        self._own = before
        return reason

    # Entries.

    def merge(self, proposal: MergeEntries) -> None:
        sources = [self._untouched(each) for each in dict.fromkeys(proposal.sources)]
        new = merged.entry(proposal, sources, self.settings)
        self._require_new(new, besides={source.id for source in sources})
        holder = self.ledger.add(new, ())
        entries.change(self.connection, self.space, holder.number, merged.history(sources))
        self._own.add(holder.id)
        for source in sources:
            brought = [Evidence(drawer=each.drawer, quote=each.quote) for each in source.evidence]
            holder = self.ledger.join(holder, brought, via=source)
            self._retire(source, holder.id)

    def retire(self, proposal: RetireEntry) -> None:
        entry = self.ledger.read(proposal.id)
        if entry is not None and proposal.id in self._own and entry.reason == CONSOLIDATED:
            return  # a merge has retired it already
        entry = self._untouched(proposal.id)
        self._retire(entry, None if proposal.successor is None else self._holder(proposal.successor, entry).id)

    def refine(self, proposal: RefineEntry) -> None:
        entry = self._untouched(proposal.id)
        values: dict[str, Any] = {}
        if proposal.category is not None:
            values["category"] = checks.category(proposal.category, self.settings)
        if proposal.tags is not None:
            values["tags"] = checks.tags(proposal.tags, self.settings)
        if all(getattr(entry, name) == value for name, value in values.items()):
            raise Refused(f"entry {entry.id} is so already")
        self.ledger.change(entry, **values)
        self._own.add(entry.id)

    def avoid(self, proposal: AntiPattern) -> None:
        category = checks.category(f"anti-patterns/{proposal.domain}", self.settings)

        def metadata(held: _Metadata | None, news: Sequence[Cited]) -> dict[str, Any]:
            return {} if held is None else anti_patterns.came_back(held, len(news))

        self._learn(proposal, category, (ANTI_PATTERN_TAG,), metadata)

    def prefer(self, proposal: InferredPreference) -> None:
        category = checks.category(proposal.category, self.settings)

        def metadata(held: _Metadata | None, news: Sequence[Cited]) -> dict[str, Any]:
            return preferences.metadata(proposal.model_copy(update={"evidence": tuple(news)}), held)

        self._learn(proposal, category, (PREFERENCE_TAG, *proposal.tags), metadata)

    def _learn(
        self,
        proposal: AntiPattern | InferredPreference,
        category: str,
        tags: Sequence[str],
        metadata: Callable[[_Metadata | None, Sequence[Cited]], dict[str, Any]],
    ) -> None:
        """Store what was found, or let what says so already rest on this too."""
        evidence = self._cited(proposal.evidence)
        content = checks.content(proposal.content, self.settings)
        known = self._known(content, category)
        if known is not None:
            news = [each for each in proposal.evidence if each.drawer not in {one.drawer for one in known.evidence}]
            self._bear_out(known, evidence, metadata(known.metadata, news) if news else None)
            return
        new = NewEntry(
            id=checks.new_id(),
            content=content,
            category=category,
            tags=checks.tags(tags, self.settings),
            origin="dream",
            path=proposal.path,
            authority=Authority.SYSTEM,
            flags=checks.flags(content),
            metadata=metadata(None, proposal.evidence),
        )
        self._require_new(new)
        self._own.add(self.ledger.add(new, evidence).id)

    def _bear_out(self, known: Entry, evidence: Sequence[Evidence], metadata: _Metadata | None) -> None:
        """Let an entry rest on more, which is as good as said anew; what somebody stands behind keeps its own date."""
        if metadata is None:
            raise Refused(f"entry {known.id} says so already")
        if known.authority is Authority.SYSTEM and not known.pinned:
            known = self.ledger.change(known, metadata=metadata)
            self._own.add(known.id)
        self.ledger.join(known, evidence)

    def _known(self, content: str, category: str) -> Entry | None:
        there = entries.find(self.connection, self.space, Filters(status="active", category=category), -1)
        return next((each for each in there if same_fact(content, each.content, None).same), None)

    def _untouched(self, entry_id: str) -> Entry:
        """An entry that is as the dream saw it."""
        seen, entry = self._seen.get(entry_id), self.ledger.read(entry_id)
        if seen is None:
            raise Refused(f"entry {entry_id[:40]} was not looked at")
        if entry is None:
            raise Refused(f"entry {entry_id} was deleted meanwhile")
        if entry_id in self._own:
            raise Refused(f"entry {entry_id} was changed by this dream already")
        # Undoing another dream sets versions back: the same one may say something else by now.
        if (entry.version, entry.content) != (seen.version, seen.content) or not entry.active:
            raise Refused(f"entry {entry_id} has changed since the dream looked at it")
        if entry.pinned or entry.authority is Authority.CORRECTION:
            raise Refused(f"entry {entry_id} is {'pinned' if entry.pinned else 'a correction by the user'}")
        return entry

    def _retire(self, entry: Entry, successor: str | None) -> None:
        self.ledger.retire(entry, CONSOLIDATED, successor)
        self._own.add(entry.id)

    def _holder(self, successor: str, entry: Entry) -> Entry:
        """The active entry that a successor is now: this dream may have merged it."""
        holder = self.ledger.read(successor)
        while holder is not None and holder.id in self._own and not holder.active:
            holder = self.ledger.read(holder.successor or "")
        if holder is None or not holder.active or holder.id == entry.id:
            raise Refused(f"entry {successor[:40]} does not hold, and can take the place of nothing")
        return holder

    def _require_new(self, new: NewEntry, besides: Collection[str] = ()) -> None:
        """Nothing, where no entry says this, nobody deleted it, and nobody put it aside."""
        twin = landing.twin(self.ledger, new.content, project=new.project, agent=new.agent)
        if twin is not None and twin.id in besides:
            return
        if twin is not None and twin.active:
            raise Refused(f"entry {twin.id} says so already")
        told = forgetting.key(new.content)
        if tombstones.among(self.connection, self.space, "entry", {told}):
            raise Refused("it was deleted")
        if told in self._aside:
            raise Refused(f"it was put aside before: {self._aside[told]}")

    @cached_property
    def _aside(self) -> Mapping[bytes, str]:
        """Why entries do not hold that nobody is to bring back, by what they say; a dream adds none of these."""
        found = entries.put_aside(self.connection, self.space, _FINAL)
        return {forgetting.key(content): reason for reason, content in found}

    def _cited(self, cited: Sequence[Cited]) -> list[Evidence]:
        found = drawers.read(self.connection, self.space, {each.drawer for each in cited})
        if not cited:
            raise Refused("it rests on nothing")
        for each in cited:
            drawer = found.get(each.drawer)
            if drawer is None or drawer.status != "active":
                raise Refused(f"drawer {each.drawer} does not stand")
            if not occurs(each.quote, drawer.content):
                raise Refused(f"drawer {each.drawer} does not hold {each.quote[:80]!r}")
        return [Evidence(drawer=each.drawer, quote=each.quote) for each in cited]

    # Episodes.

    def synthesize(self, proposal: Synthesis) -> None:
        wanted = list(dict.fromkeys(proposal.episodes))
        held = episodes.by_ids(self.connection, self.space, wanted)
        for each in wanted:
            seen = self._episodes.get(each)
            if seen is None:
                raise Refused(f"episode {each[:40]} was not looked at")
            if each not in held or held[each].summary != seen.summary:
                raise Refused(f"episode {each} has changed since the dream looked at it")
            if held[each].promoted_at is not None:
                raise Refused(f"episode {each} is in another synthesis already")
        path = making.path(f"{_FOLDER}/{self.now:%Y%m%d}-consolidated.md", self.settings)
        text = storable(proposal.text, "document", self.settings)
        there = documents.read(self.connection, self.space, path)
        new = making.with_more(path, there, text, "dream", self.settings)
        documents.put(self.connection, self.space, new, self.ledger.now)
        episodes.promote(self.connection, self.space, [held[each] for each in wanted], self.ledger.now)

    # The graph.

    def merge_entities(self, proposal: MergeEntities) -> None:
        graph = self._graph()
        one, other = graph.existing(proposal.source), graph.existing(proposal.target)
        here, there = (entities.members(self.connection, self.space, each.number) for each in (one, other))
        if any(row.status == "apart" for row in graph_pairs.between(self.connection, self.space, here, there)):
            raise Refused(f"{one.name!r} and {other.name!r} were said to be two")
        if max(one.authority, other.authority) > Authority.SYSTEM:
            raise Refused(f"somebody else stands behind {one.name!r} or {other.name!r}")
        rows = [next(entities.rows(self.connection, self.space, each.number, each.number)) for each in (one, other)]
        speaks = against(self.connection, self.space, rows[0], rows[1], self.settings)
        if speaks is not None:
            raise Refused(speaks.reason)
        reason = " ".join(proposal.why.split())[:_LONGEST_WHY] or "found in a dream"
        graph.merge(one, other, reason=reason, path=proposal.path)

    def withdraw_relation(self, proposal: WithdrawRelation) -> None:
        graph = self._graph()
        row = graph.row(proposal.id)
        rests = relations.evidence(self.connection, self.space, [row.number]).get(row.number, ())
        cited = drawers.read(self.connection, self.space, {each.drawer for each in rests})
        if any(drawer.status == "active" for drawer in cited.values()):
            raise Refused(f"relation {row.id} rests on messages that stand")
        if not row.believed:
            raise Refused(f"relation {row.id} is not believed any more")
        graph.withdraw(row.number, by=Authority.SYSTEM)

    def _graph(self) -> GraphLedger:
        """One for each proposal: it remembers what it has logged, which may be undone with the proposal."""
        return GraphLedger(self.connection, self.space, self.ledger.now, self.settings)


_HOW: Mapping[str, Callable[[_Dreaming, Any], None]] = {
    "merge": _Dreaming.merge,
    "retire": _Dreaming.retire,
    "refine": _Dreaming.refine,
    "anti_pattern": _Dreaming.avoid,
    "preference": _Dreaming.prefer,
    "synthesis": _Dreaming.synthesize,
    "merge_entities": _Dreaming.merge_entities,
    "withdraw_relation": _Dreaming.withdraw_relation,
}
_ORDER = {kind: place for place, kind in enumerate(_HOW)}
