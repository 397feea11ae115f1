"""The way in for mining: proposals are checked, merged with what is known, and written in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import authority as ranks
from langmem_tiers.knowledge import correcting, forgetting, landing, nearby, slots
from langmem_tiers.knowledge.landing import Landing
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.nearby import Embed, Nearby
from langmem_tiers.knowledge.sifting import Sound, Whose, sift
from langmem_tiers.knowledge.types import Authority, Entry, Landed, Refused
from langmem_tiers.settings import Settings
from langmem_tiers.storage import drawers, entries, rooms
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.types import Drawer, Origin
from langmem_tiers.writing.proposals import Proposal

# Active entries that are looked through for another value of what is contradicted.
_MOST_RIVALS = 500
# An entry that was put aside for one of these reasons does not come back because it is found once more.
_FINAL = frozenset({"corrected", "updated", "removed"})

DELETED = "it was deleted"
"""Why what was deleted on purpose does not land."""


def take_in(
    store: SpaceStore,
    proposals: Sequence[Proposal],
    *,
    authority: Authority,
    origin: Origin,
    settings: Settings,
    now: datetime,
    session: str | None = None,
    embed: Embed,
) -> Landed:
    """Let proposals become knowledge, those that may; taking them in again changes nothing.

    A proposal lands when each drawer it cites is there, stands, and holds the quote; when nobody deleted or corrected
    what it says; when it holds no secret and no instruction. It is merged with another wording of itself, never with
    other values. A correction makes the entry inactive that holds the wrong value.

    Args:
        store: The space.
        proposals: What was found.
        authority: That of what rests on the user's own words alone. A correction there has the highest, anything that
            rests on others' words the lowest.
        origin: What the entries note as their origin.
        settings: Limits, and from which similarity on two wordings are compared.
        now: The moment of writing.
        session: The conversation; without it, that of each proposal's first drawer tells project and agent.
        embed: Gives vectors of texts, or None; called once, with no transaction open.

    """
    if not proposals:
        return Landed()
    with store.reading() as connection:
        cited = drawers.read(connection, store.key, {each.drawer for one in proposals for each in one.evidence})
        whose = _whose(connection, store.key, session, cited)
    sound, refused = sift(proposals, cited, whose, authority=authority, origin=origin, settings=settings)
    if not sound:
        return Landed(refused=tuple(refused))
    near = nearby.look(store, [text for each in sound for text in _texts(each)], embed)
    with store.writing() as connection:
        ledger = Ledger(connection, store.key, to_millis(now))
        intake = _Intake(ledger, near, settings.knowledge.merge_similarity, refused=refused)
        for each in sound:
            intake.take(each)
        return intake.landed()


@dataclass
class _Intake:
    """Proposals on their way in, one after the other, and what became of them."""

    ledger: Ledger
    near: Nearby
    least: float
    landings: list[Landing] = field(default_factory=list)
    corrected: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def take(self, sound: Sound) -> None:
        wrong = self._wrong(sound)
        if wrong and sound.by_user:
            sound = replace(sound, new=replace(sound.new, authority=Authority.CORRECTION))
        reason = self._reason_against(sound, wrong)
        if reason:
            self.refused.append(Refused(proposal=sound.proposal, reason=reason))
            return
        landed = self._land(sound, wrong)
        self.landings.append(landed)
        for each in wrong:
            self.ledger.retire(each, "corrected", landed.entry.id)
            self.corrected.append(each.id)

    def landed(self) -> Landed:
        """What became of all."""
        return Landed(
            kept=self._of("saved", "reactivated"),
            merged=self._of("merged"),
            known=self._of("known"),
            corrected=tuple(self.corrected),
            refused=tuple(self.refused),
        )

    def _of(self, *outcomes: str) -> tuple[Entry, ...]:
        return tuple(each.entry for each in self.landings if each.outcome in outcomes)

    def _wrong(self, sound: Sound) -> list[Entry]:
        """The entries that a proposal makes wrong, by what it says that it corrects, and by what it contradicts."""
        named = self._named_wrong(sound)
        return [*named, *(each for each in self._rivals(sound) if each not in named)]

    def _named_wrong(self, sound: Sound) -> list[Entry]:
        """Active entries that hold what a correction names, and those removed without anything in their place."""
        said = sound.proposal.corrects
        if sound.proposal.kind != "correction" or not said:
            return []
        found = {each.entry.id: each.entry for text in _texts(sound) for each in self.near.of(self.ledger, text)}
        removed = Filters(status="inactive", substring=said.strip())
        aside = entries.find(self.ledger.connection, self.ledger.space, removed, -1)
        there = [*found.values(), *(each for each in aside if each.reason == "removed" and each.successor is None)]
        before = [each for each in there if _said_before(each, sound) and each.content != sound.new.content]
        return correcting.wrong_ones(sound.new.content, said, before)

    def _rivals(self, sound: Sound) -> list[Entry]:
        """Active entries that give another value to the one thing that a proposal was said to set right."""
        new = sound.new
        told = slots.slot(new.content) if sound.proposal.contradicts else None
        if told is None:
            return []
        holding = Filters(status="active", substring=told.clue)
        there = entries.find(self.ledger.connection, self.ledger.space, holding, _MOST_RIVALS)
        concerned = [each for each in there if landing.concerns(each, project=new.project, agent=new.agent)]
        return slots.rivals(new.content, [each for each in concerned if _said_before(each, sound)])

    def _reason_against(self, sound: Sound, wrong: Sequence[Entry]) -> str | None:
        """Why a sound proposal does not land all the same."""
        if forgetting.deleted(self.ledger, sound.proposal):
            return DELETED
        for each in wrong:
            if each.pinned:
                return f"it would correct the pinned entry {each.id}"
            if reason := ranks.forbidden(each, sound.new.authority):
                return f"it would correct entry {each.id}: {reason}"
        aside = self._put_aside(sound)
        if aside is not None and not (wrong and sound.new.authority is Authority.CORRECTION):
            return f"it was put aside before: {aside}"
        return None

    def _put_aside(self, sound: Sound) -> str | None:
        """Why an entry that said this holds no longer; None where there is none, or an active one says it."""
        twin = self._twin(sound)
        if twin is not None and landing.holder(self.ledger, twin) is not None:
            return None
        if twin is not None and twin.reason == "expired":
            return twin.reason if _rests_on(twin, sound) else None
        told = forgetting.key(sound.new.content)
        near = self.near.of(self.ledger, sound.new.content)
        if any(forgetting.key(each.entry.content) == told for each in near):
            return None
        aside = entries.put_aside(self.ledger.connection, self.ledger.space, _FINAL)
        return next((reason for reason, content in aside if forgetting.key(content) == told), None)

    def _twin(self, sound: Sound) -> Entry | None:
        new = sound.new
        return landing.twin(self.ledger, new.content, project=new.project, agent=new.agent)

    def _land(self, sound: Sound, wrong: Sequence[Entry]) -> Landing:
        twin = self._twin(sound)
        holder = None if twin is None else landing.holder(self.ledger, twin)
        if twin is not None and holder is not None and holder not in wrong:
            return landing.confirm(self.ledger, twin, holder, sound.new, sound.evidence)
        if twin is not None and not twin.active:
            return landing.revive(self.ledger, twin, sound.new, sound.evidence)
        near = self.near.of(self.ledger, sound.new.content)
        others = [each for each in near if each.entry not in wrong]
        return landing.settle(self.ledger, sound.new, sound.evidence, others, least=self.least)


def _whose(connection: Connection, space: str, session: str | None, cited: dict[int, Drawer]) -> Whose:
    first = next(iter(cited.values()), None)
    named = session or (None if first is None else first.session)
    room = None if named is None else rooms.of_session(connection, space, named)
    return Whose() if room is None else Whose(project=room.project, agent=room.agent)


def _texts(sound: Sound) -> list[str]:
    said = sound.proposal.corrects
    return [sound.new.content, said] if said and said.strip() else [sound.new.content]


def _said_before(entry: Entry, sound: Sound) -> bool:
    """Whether an entry rests on nothing that was said after the correction."""
    return all(each.drawer <= sound.newest for each in entry.evidence)


def _rests_on(entry: Entry, sound: Sound) -> bool:
    """Whether an entry rests on all of this already: it is not said anew."""
    return {each.drawer for each in sound.evidence} <= {each.drawer for each in entry.evidence}
