"""Ingests mined proposals: they are checked, decided upon and written in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import decide, tombstones, validation
from langmem_tiers.knowledge.decide import ExistingKnowledge
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.neighbours import Embed, Neighbours, find_neighbours
from langmem_tiers.knowledge.results import IngestedEntries, RefusedEntry, Saved
from langmem_tiers.language import contradictions
from langmem_tiers.language.quotations import own_words_of
from langmem_tiers.language.words import occurs
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.naming import new_id
from langmem_tiers.records import Authority, Entry, Evidence, NewEntry, Proposal
from langmem_tiers.settings import Settings
from langmem_tiers.storage import drawers, entries, rooms
from langmem_tiers.storage.entries import Filters
from langmem_tiers.store import SpaceStore
from langmem_tiers.trust.instructions import suspicious
from langmem_tiers.types import Drawer, Origin

DELETED = "it was deleted"
"""Why what was deleted on purpose is not taken in."""

# Active entries searched for another value of a contradicted statement.
_MOST_RIVALS = 500
# Nothing is learned from tools and prompts.
_NO_WITNESS = frozenset({"tool", "system"})
_SAID_BY_ALL = frozenset({"tool", "system", "dream"})


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """A valid proposal: the entry it would become, its evidence, and whether that is only the user's own words."""

    proposal: Proposal
    new: NewEntry
    evidence: tuple[Evidence, ...]
    by_user: bool

    @property
    def texts(self) -> list[str]:
        """Its statement, and the statement it corrects."""
        said = self.proposal.corrects
        return [self.new.content, said] if said and said.strip() else [self.new.content]

    def is_newer_than(self, entry: Entry) -> bool:
        """Whether all evidence of an entry is older."""
        newest = max(each.drawer for each in self.evidence)
        return all(drawer <= newest for drawer in entry.drawers)


def ingest(
    store: SpaceStore,
    proposals: Sequence[Proposal],
    *,
    authority: Authority,
    origin: Origin,
    settings: Settings,
    now: datetime,
    session: str | None = None,
    embed: Embed,
) -> IngestedEntries:
    """Turn acceptable proposals into entries; ingesting them again changes nothing.

    A proposal is accepted if each cited drawer exists, is current, and contains the quote; if its statement was neither
    deleted nor corrected; and if it holds no secret and no instruction. It is merged with another wording of itself,
    never with other values. A correction retires the entry with the wrong value.

    Args:
        store: The space.
        proposals: The proposals.
        authority: Authority of what rests only on the user's own words. A correction there has the highest, what
            rests on others' words the lowest.
        origin: The origin recorded in the entries.
        settings: Limits, and the minimum similarity at which two wordings are compared.
        now: The time of writing.
        session: The conversation, which determines the agent; without it, that of the first drawer cited.
        embed: Computes vectors of texts, or None; called once, with no transaction open.

    """
    if not proposals:
        return IngestedEntries()
    with store.reading() as connection:
        cited = drawers.read(connection, store.key, {each.drawer for one in proposals for each in one.evidence})
        agent = _agent(connection, store.key, session, cited)
    candidates: list[_Candidate] = []
    refused: list[RefusedEntry] = []
    for proposal in proposals:
        try:
            found = _checked(proposal, cited, authority, origin, settings)
            project, task = _subject(proposal, cited)
            candidates.append(replace(found, new=replace(found.new, project=project, agent=agent, task=task)))
        except InvalidInput as error:
            refused.append(RefusedEntry(proposal=proposal, reason=error.message))
    if not candidates:
        return IngestedEntries(refused=tuple(refused))
    neighbours = find_neighbours(store, [text for each in candidates for text in each.texts], embed)
    with store.writing() as connection:
        writer = EntryWriter(connection, store.key, to_millis(now))
        ingestion = _Ingestion(writer, cited, neighbours, settings.knowledge.merge_similarity, refused)
        there = drawers.existing(connection, store.key, cited)  # a message may be forgotten while a model reads it
        for each in candidates:
            if there.issuperset(one.drawer for one in each.evidence):
                ingestion.take(each)
        return ingestion.result()


@dataclass
class _Ingestion:
    """Ingests candidates one by one, and collects the results."""

    writer: EntryWriter
    cited: Mapping[int, Drawer]
    neighbours: Neighbours
    least: float
    refused: list[RefusedEntry]
    stored: list[Saved] = field(default_factory=list)
    corrected: list[str] = field(default_factory=list)

    @lazy_property
    def _put_aside(self) -> dict[bytes, str]:
        """Why entries that mining must not bring back were retired."""
        return tombstones.put_aside(self.writer)

    @lazy_property
    def _something_was_deleted(self) -> bool:
        return tombstones.there_are(self.writer)

    def take(self, candidate: _Candidate) -> None:
        """Write an entry for a candidate, or refuse it."""
        new = candidate.new
        known = self.writer.known(new.content, project=new.project, agent=new.agent, neighbours=self.neighbours)
        # What a proposal makes wrong is found by what it corrects, and by what it contradicts.
        named = self._named_wrong(candidate, known)
        wrong = [*named, *(each for each in self._rivals(candidate) if each not in named)]
        if wrong and candidate.by_user:
            new = replace(new, authority=Authority.CORRECTION)
        reason = self._reason_against(candidate, new, known, wrong)
        if reason:
            self.refused.append(RefusedEntry(proposal=candidate.proposal, reason=reason))
            return
        stored = self.writer.place(new, candidate.evidence, known, least=self.least, wrong={each.id for each in wrong})
        self.stored.append(stored)
        for each in wrong:
            self.writer.retire(each, "corrected", stored.entry.id)
            self._put_aside.setdefault(tombstones.key(each.content), "corrected")
            self.corrected.append(each.id)

    def result(self) -> IngestedEntries:
        """The result for all of them."""
        return IngestedEntries(
            kept=self._of("saved", "reactivated"),
            merged=self._of("merged"),
            known=self._of("known"),
            corrected=tuple(self.corrected),
            refused=tuple(self.refused),
        )

    def _of(self, *outcomes: str) -> tuple[Entry, ...]:
        return tuple(each.entry for each in self.stored if each.outcome in outcomes)

    def _named_wrong(self, candidate: _Candidate, known: ExistingKnowledge) -> list[Entry]:
        """Active entries that say what a correction names, and those retired without a replacement."""
        said, new = candidate.proposal.corrects, candidate.new
        if candidate.proposal.kind != "correction" or not said:
            return []
        near = {entry.id: entry for entry, _ in known.near}
        for text in candidate.texts[1:]:
            also = self.writer.known(text, project=new.project, agent=new.agent, neighbours=self.neighbours).near
            near |= {entry.id: entry for entry, _ in also}
        removed = Filters(status="inactive", substring=said.strip())
        aside = entries.find(self.writer.connection, self.writer.space, removed, -1)
        there = [*near.values(), *(each for each in aside if each.reason == "removed" and each.successor is None)]
        before = [each for each in there if candidate.is_newer_than(each) and each.content != new.content]
        return [each for each in before if contradictions.is_wrong(new.content, said, each.content)]

    def _rivals(self, candidate: _Candidate) -> list[Entry]:
        """Active entries with another value for the property that a proposal corrects."""
        new = candidate.new
        slot = contradictions.slot(new.content) if candidate.proposal.contradicts else None
        if slot is None:
            return []
        holding = Filters(status="active", substring=slot.clue)
        there = entries.find(self.writer.connection, self.writer.space, holding, _MOST_RIVALS)
        concerned = [each for each in there if decide.concerns(each, project=new.project, agent=new.agent)]
        before = [each for each in concerned if candidate.is_newer_than(each)]
        return [each for each in before if contradictions.differ(new.content, each.content)]

    def _reason_against(
        self, candidate: _Candidate, new: NewEntry, known: ExistingKnowledge, wrong: Sequence[Entry]
    ) -> str | None:
        """Why a valid proposal is refused all the same, or None."""
        if self._something_was_deleted and tombstones.brings_back(self.writer, candidate.proposal, self.cited):
            return DELETED
        for each in wrong:
            if each.pinned:
                return f"it would correct the pinned entry {each.id}"
            if reason := decide.forbidden(each, new.authority):
                return f"it would correct entry {each.id}: {reason}"
        if wrong and new.authority is Authority.CORRECTION:
            return None
        reason = self._why_put_aside(candidate, known)
        return f"it was put aside before: {reason}" if reason else None

    def _why_put_aside(self, candidate: _Candidate, known: ExistingKnowledge) -> str | None:
        """Why an entry that said this was retired; None if there is none, or an active one says it."""
        if known.holder is not None:
            return None
        if known.twin is not None and known.twin.reason == "expired":
            said_again = {each.drawer for each in candidate.evidence} - set(known.twin.drawers)
            return None if said_again else "expired"
        if not self._put_aside:
            return None
        key = tombstones.key(candidate.new.content)
        if any(tombstones.key(entry.content) == key for entry, _ in known.near):
            return None
        return self._put_aside.get(key)


def _agent(connection: Connection, space: str, session: str | None, cited: Mapping[int, Drawer]) -> str | None:
    first = next(iter(cited.values()), None)
    named = session or (None if first is None else first.session)
    room = None if named is None else rooms.of_session(connection, space, named)
    return None if room is None else room.agent


def _subject(proposal: Proposal, cited: Mapping[int, Drawer]) -> tuple[str | None, str | None]:
    """The project and the task that all of a proposal was said in."""
    said = [cited[each.drawer] for each in proposal.evidence]
    projects, tasks = {each.project for each in said}, {each.task for each in said}
    return projects.pop() if len(projects) == 1 else None, tasks.pop() if len(tasks) == 1 else None


def _checked(
    proposal: Proposal, cited: Mapping[int, Drawer], authority: Authority, origin: Origin, settings: Settings
) -> _Candidate:
    """A proposal as the entry it would become.

    Raises:
        InvalidInput: it is unfounded, hostile, or cannot be stored.
    """
    evidence = tuple({each.drawer: each for each in reversed(proposal.evidence)}.values())[::-1]
    if reason := _unfounded(evidence, cited) or _only_quoted(proposal, evidence, cited) or _hostile(proposal):
        raise InvalidInput(reason)
    by_user = all(decide.is_users(cited[each.drawer]) for each in evidence)
    rank = Authority.CORRECTION if proposal.kind == "correction" else authority
    new = _entry(proposal, rank if by_user else Authority.SYSTEM, origin, settings)
    return _Candidate(proposal=proposal, new=new, evidence=evidence, by_user=by_user)


def _unfounded(evidence: Sequence[Evidence], cited: Mapping[int, Drawer]) -> str | None:
    """Why the cited evidence does not count, or None."""
    if not evidence:
        return "it rests on nothing"
    return next((reason for each in evidence if (reason := _no_witness(each, cited.get(each.drawer)))), None)


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


def _only_quoted(proposal: Proposal, evidence: Sequence[Evidence], cited: Mapping[int, Drawer]) -> str | None:
    """Why words that a user quotes are no evidence, or None. The rules read nothing else; a model may cite anything."""
    if proposal.path == "rule":
        return None
    shown = ((each, cited[each.drawer]) for each in evidence)
    return next(
        (
            f"drawer {each.drawer} only quotes it"
            for each, drawer in shown
            if drawer.role == "user" and not occurs(each.quote, own_words_of(drawer))
        ),
        None,
    )


def _hostile(proposal: Proposal) -> str | None:
    """Why a proposal reads like an instruction to the agent, or None."""
    texts = (proposal.content, *(each.quote for each in proposal.evidence))
    return next((reason for text in texts if (reason := suspicious(text))), None)


def _entry(proposal: Proposal, rank: Authority, origin: Origin, settings: Settings) -> NewEntry:
    return NewEntry(
        id=new_id(),
        content=validation.content(proposal.content, settings),
        category=validation.category(proposal.category, settings),
        tags=validation.tags(proposal.tags, settings),
        origin=origin,
        path=proposal.path,
        authority=rank,
        expires_at=validation.moment(proposal.expires_at, "expires_at"),
    )
