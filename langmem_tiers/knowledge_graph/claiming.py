"""Taking up one claim: the relation that it is, or which ones it says are over or never were so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import checks, forgetting, kinship, naming, periods, predicates
from langmem_tiers.knowledge_graph.ending import Ending
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.mentions import DELETED, Mentions
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.setting_right import NAMES, SettingRight
from langmem_tiers.knowledge_graph.stating import NewRelation
from langmem_tiers.knowledge_graph.types import Entity, Exactness, RelationLanded, Value
from langmem_tiers.storage import relations
from langmem_tiers.writing.mining.types import RefusedProposal

# Who is related to many is known for it; that they were named together with somebody says nothing.
_HUB = 25
_CONFIDENCE = {"rule": 0.9, "model": 0.8}
_OF_MENTION = 0.3
# What does not begin on the day that it is told of.
_TIMELESS = frozenset(
    {"is_a", "born_in", "born_on", "has_birthday", "from", "grew_up_in", "named", "has_nickname", "has_nationality"}
)


@dataclass(kw_only=True, slots=True)
class Taken:
    """What became of proposals: ids of relations, and what was refused."""

    added: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    refused: list[RefusedProposal] = field(default_factory=list)

    def note(self, landed: RelationLanded) -> None:
        """Note what became of one of them."""
        where = {"added": self.added, "known": self.known}.get(landed.outcome, self.changed)
        where.append(landed.relation.id)
        self.changed += [each.id for each in landed.changed]

    def join(self, other: Taken) -> None:
        """Note what became of others, too."""
        self.added += other.added
        self.known += other.known
        self.changed += other.changed
        self.withdrawn += other.withdrawn
        self.refused += other.refused

    @property
    def anything(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.added or self.changed or self.withdrawn or self.refused)


class Refused(ValueError):
    """A claim that is not taken up; the message says why."""


NOTHING = "nobody would miss it"
"""Why nothing is told of what was refused."""


class Claiming:
    """One claim being taken up within a part of a transaction; `taken` is what became of it."""

    def __init__(self, ledger: Ledger, mentions: Mentions) -> None:
        self.taken = Taken()
        self._ledger = ledger
        self._mentions = mentions
        self._said_at = mentions.seen
        self._right = SettingRight(ledger, mentions)

    def take(self, claim: Claim) -> None:
        """Take up a claim.

        Raises:
            Refused, NotMeant, MemoryTiersError: it is not taken up; what it wrote before is to be undone.
        """
        if claim.ended == "died":
            self._die(claim)
            return
        subject = _entity(self._mentions, claim, "subject")
        over = self._over(subject, claim)
        if claim.ended == "never":
            self._deny(subject, claim)
        elif over is not None:
            self._end(over, claim)
        else:
            self._say(subject, claim)

    def _over(self, subject: Entity, claim: Claim) -> Sequence[int] | None:
        """The relations that a claim ends and is no news of; None where it says something of its own."""
        ending = Ending(self._ledger, self._mentions)
        if claim.ended == "others":
            return ending.others(subject, claim)
        if claim.ended in {"known", "former"} or (claim.ended and not (claim.object or claim.value)):
            return ending.of(subject, claim)
        return (ending.beside(subject, claim) or None) if claim.ended == "said" else None

    def _say(self, subject: Entity, claim: Claim) -> None:
        """Note that something is so; what it is said instead of never was."""
        new = self._relation(subject, claim)
        if self._right.is_set_right(new):
            raise Refused(NOTHING)
        if claim.instead:
            wrong = self._right.wrong(new, claim.instead)
            self.taken.withdrawn += self._right.withdraw([each.number for each in wrong])
            self._right.unname(subject, wrong)
            new = self._right.placed(new, wrong)
        if predicates.normalise(claim.predicate) in NAMES:
            self._also_called(subject, claim)
        self.taken.note(self._ledger.add(new))

    def _deny(self, subject: Entity, claim: Claim) -> None:
        """Withdraw what is said never to have been so."""
        denied = Ending(self._ledger, self._mentions).denied(subject, claim)
        if not denied:
            raise Refused(NOTHING)
        self.taken.withdrawn += self._right.withdraw([row.number for row in denied])
        self._right.unname(subject, denied)

    def _die(self, claim: Claim) -> None:
        """End what ends with a life; of whom nothing is known it is noted where they are a person, and when it was."""
        being = self._mentions.being(claim.subject)
        if being is None and not (claim.subject_type and claim.value):
            raise Refused(NOTHING)
        subject = self._mentions.meant(claim.subject, claim.subject_type) if being is None else being
        over = Ending(self._ledger, self._mentions).of_life(subject)
        if claim.value:
            died = Claim(subject=claim.subject, predicate=claim.predicate, value=claim.value, since=claim.value)
            self._say(subject, died)
        if over or not claim.value:
            self._end(over, claim)

    def _relation(self, subject: Entity, claim: Claim) -> NewRelation:
        target, value = self._target(subject, claim)
        if target is not None and claim.kind == "mentioned":
            subject, target = self._mentioned(subject, target)
        self._require_not_deleted(subject, claim, target or value)
        start, start_unit = self._start(claim)
        end, end_unit = self._ended_at(claim)
        return NewRelation(
            subject=subject,
            predicate=checks.predicate(claim.predicate, self._ledger.settings),
            object=target,
            value=value,
            valid_from=start,
            from_unit=start_unit,
            from_stated=bool(claim.since),
            valid_to=end,
            to_unit=end_unit,
            kind="mentioned" if claim.kind == "mentioned" else "stated",
            origin=self._mentions.drawer.origin if self._mentions.drawer else "assistant",
            path=self._mentions.path,
            authority=Authority.SYSTEM,
            confidence=_OF_MENTION if claim.kind == "mentioned" else _CONFIDENCE[self._mentions.path],
            evidence=self._mentions.evidence(),
        )

    def _target(self, subject: Entity, claim: Claim) -> tuple[Entity | None, Value | None]:
        if claim.value:
            return None, checks.value(claim.value, claim.unit or None, self._ledger.settings)
        if not claim.object:
            raise Refused("a part of it is missing")
        kin = kinship.read(claim.predicate)
        if kin is not None and not kin.turned and claim.object != ME and not kinship.mine(claim.object):
            return self._kin(subject, kin.word, claim.object), None
        return _entity(self._mentions, claim, "object"), None

    def _kin(self, of: Entity, word: str, name: str) -> Entity:
        """Somebody by name; whoever was told of as kin without a name is them, if there is no other."""
        waiting = self._mentions.unnamed(of, word)
        found = self._mentions.kin(of, word, name)
        if waiting is not None and waiting.number != self._ledger.canonical(found).number:
            self._ledger.merge(waiting, found, reason=f"the only {word} that is known", path="rule")
        return found

    def _mentioned(self, subject: Entity, target: Entity) -> tuple[Entity, Entity]:
        """The two in one order, if neither is named together with everybody."""
        if naming.USER in {subject.name, target.name}:
            raise Refused(NOTHING)
        for each in (subject, target):
            numbers = relations.numbers_of_entities(self._ledger.connection, self._ledger.space, [each.number])
            if len(numbers) >= _HUB:
                raise Refused(NOTHING)
        first, second = sorted((subject, target), key=lambda each: each.number)
        return first, second

    def _also_called(self, subject: Entity, claim: Claim) -> None:
        """'My name is Alice': an alias, unless somebody else has the name."""
        if self._mentions.ledger.find(claim.value, type="person") is None:
            self._mentions.ledger.said(subject.id, aliases=(claim.value,), authority=Authority.SYSTEM)

    def _end(self, over: Sequence[int], claim: Claim) -> None:
        at, unit = self._moment(claim.until) if claim.until else (self._said_at, "moment")
        if not over:
            raise Refused(NOTHING if claim.ended in {"former", "others"} else "nothing is known that it could end")
        for number in over:
            start = self._ledger.row(number).last.valid_from
            if not claim.until and start is not None and to_millis(at) <= start:
                # Said in the same breath, as far as the clock tells.
                at = from_millis(start + 1)
            ended = self._ledger.end(number, at, unit=unit, by=Authority.SYSTEM)
            self._right.rest(number)
            self.taken.changed.append(ended.id)

    def _start(self, claim: Claim) -> tuple[datetime | None, Exactness]:
        if claim.since:
            return self._moment(claim.since)
        predicate = predicates.normalise(claim.predicate)
        kin = kinship.read(claim.predicate)
        timeless = predicate in _TIMELESS or (kin is not None and kin.word in kinship.BY_BLOOD)
        if timeless or claim.ended or claim.until:
            return None, "moment"
        return self._said_at, "moment"

    def _ended_at(self, claim: Claim) -> tuple[datetime | None, Exactness]:
        if claim.until:
            return self._moment(claim.until)
        return (self._said_at, "moment") if claim.ended else (None, "moment")

    def _moment(self, said: str) -> tuple[datetime, Exactness]:
        return periods.parse(said, now=from_millis(self._ledger.now))

    def _require_not_deleted(self, subject: Entity, claim: Claim, target: Entity | Value | None) -> None:
        read = predicates.reading(claim.predicate)
        if target is None:
            return
        ends = (target, subject) if read.turned and isinstance(target, Entity) else (subject, target)
        if forgetting.deleted_relation(self._ledger.connection, self._ledger.space, ends[0], read.predicate, ends[1]):
            raise Refused(DELETED)


def _entity(mentions: Mentions, claim: Claim, side: Literal["subject", "object"]) -> Entity:
    """The entity on one side of a claim."""
    words, type = (claim.subject, claim.subject_type) if side == "subject" else (claim.object, claim.object_type)
    if claim.owned == side or (side == "object" and claim.owned == "new"):
        return mentions.own(words, type, new=claim.owned == "new")
    return mentions.meant(words, type)
