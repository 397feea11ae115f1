"""Applies one claim: adds its relation, or ends or withdraws the relations it says are over or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge_graph import checks, naming
from langmem_tiers.knowledge_graph.endings import NAMES, Corrections, Endings
from langmem_tiers.knowledge_graph.entities import Named, find_entity, upsert_entity
from langmem_tiers.knowledge_graph.mentions import DELETED, Mentions
from langmem_tiers.knowledge_graph.merging import merge_entities
from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation, end_relation
from langmem_tiers.knowledge_graph.tombstones import statement_deleted
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import RelationLanded
from langmem_tiers.language import kinship, periods, predicates
from langmem_tiers.language.claims import ME, Claim
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.values import Value
from langmem_tiers.records import Authority, Entity, RefusedProposal
from langmem_tiers.storage import relations

# An entity with many relations is a hub; a mention next to it carries no information.
_HUB = 25
_CONFIDENCE = {"rule": 0.9, "model": 0.8}
_OF_MENTION = 0.3
# Predicates that did not start on the day they are mentioned.
_TIMELESS = frozenset(
    {"is_a", "born_in", "born_on", "has_birthday", "from", "grew_up_in", "named", "has_nickname", "has_nationality"}
)


@dataclass(kw_only=True, slots=True)
class Ingested:
    """The outcome of ingesting proposals: ids of relations, and refusals."""

    added: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    refused: list[RefusedProposal] = field(default_factory=list)

    def note(self, added: RelationLanded) -> None:
        """Record the outcome of one relation."""
        where = {"added": self.added, "known": self.known}.get(added.outcome, self.changed)
        where.append(added.relation.id)
        self.changed += [each.id for each in added.changed]

    def join(self, other: Ingested) -> None:
        """Add the outcome of another ingestion."""
        self.added += other.added
        self.known += other.known
        self.changed += other.changed
        self.withdrawn += other.withdrawn
        self.refused += other.refused

    @property
    def anything(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.added or self.changed or self.withdrawn or self.refused)


class Refused(ValueError):
    """A claim that is not ingested; the message says why."""


NOTHING = "nobody would miss it"
"""Why nothing is told of what was refused."""


class ClaimApplier:
    """Applies one claim within a savepoint; `done` collects the outcome."""

    def __init__(self, graph: GraphTransaction, mentions: Mentions) -> None:
        self.done = Ingested()
        self._graph = graph
        self._mentions = mentions
        self._said_at = mentions.seen
        self._corrections = Corrections(graph, mentions)
        self._endings = Endings(graph, mentions)

    def apply(self, claim: Claim) -> None:
        """Write what a claim says.

        Raises:
            Refused, UnclearMention, MemoryTiersError: it was rejected; the caller must roll back what it wrote so far.
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
        """The relations that a claim ends without adding one; None where the claim also states something new."""
        if claim.ended == "others":
            return self._endings.others(subject, claim)
        if claim.ended in {"known", "former"} or (claim.ended and not (claim.object or claim.value)):
            return self._endings.of(subject, claim)
        return (self._endings.beside(subject, claim) or None) if claim.ended == "said" else None

    def _say(self, subject: Entity, claim: Claim) -> None:
        """Add the relation, and withdraw what it corrects."""
        new = self._relation(subject, claim)
        if self._corrections.is_set_right(new):
            raise Refused(NOTHING)
        if claim.instead:
            wrong = self._corrections.wrong(new, claim.instead)
            self.done.withdrawn += self._corrections.withdraw([each.number for each in wrong])
            self._corrections.unname(subject, wrong)
            new = self._corrections.placed(new, wrong)
        if predicates.normalise(claim.predicate) in NAMES:
            self._also_called(subject, claim)
        self.done.note(add_relation(self._graph, new))

    def _deny(self, subject: Entity, claim: Claim) -> None:
        """Withdraw the relations a claim says were never true."""
        denied = self._endings.denied(subject, claim)
        if not denied:
            raise Refused(NOTHING)
        self.done.withdrawn += self._corrections.withdraw([row.number for row in denied])
        self._corrections.unname(subject, denied)

    def _die(self, claim: Claim) -> None:
        """Record a death and end what ends with a life; an unknown person is noted with the date of death."""
        being = self._mentions.being(claim.subject)
        if being is None and not (claim.subject_type and claim.value):
            raise Refused(NOTHING)
        subject = self._mentions.entity(claim.subject, claim.subject_type) if being is None else being
        over = self._endings.of_life(subject)
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
            predicate=checks.predicate(claim.predicate, self._graph.settings),
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
            return None, checks.value(claim.value, claim.unit or None, self._graph.settings)
        if not claim.object:
            raise Refused("a part of it is missing")
        kin = kinship.read(claim.predicate)
        if kin is not None and not kin.turned and claim.object != ME and not kinship.mine(claim.object):
            return self._kin(subject, kin.word, claim.object), None
        return _entity(self._mentions, claim, "object"), None

    def _kin(self, of: Entity, word: str, name: str) -> Entity:
        """A named relative; a relative known without a name becomes this one, unless there is another candidate."""
        waiting = self._mentions.unnamed(of, word)
        found = self._mentions.kin(of, word, name)
        if waiting is not None and waiting.number != self._graph.canonical(found.number):
            merge_entities(self._graph, waiting, found, reason=f"the only {word} that is known", path="rule")
        return found

    def _mentioned(self, subject: Entity, target: Entity) -> tuple[Entity, Entity]:
        """The two ends of a mention in a fixed order; None if either is a hub."""
        if naming.USER in {subject.name, target.name}:
            raise Refused(NOTHING)
        for each in (subject, target):
            if len(relations.numbers_of_entities(*self._graph.at, [each.number])) >= _HUB:
                raise Refused(NOTHING)
        first, second = sorted((subject, target), key=lambda each: each.number)
        return first, second

    def _also_called(self, subject: Entity, claim: Claim) -> None:
        """'My name is Alice': add an alias, unless someone else has that name."""
        if find_entity(self._graph, claim.value, type="person", whole=False) is None:
            named = Named(name=subject.id, aliases=(claim.value,), authority=Authority.SYSTEM)
            upsert_entity(self._graph, named)

    def _end(self, over: Sequence[int], claim: Claim) -> None:
        at, unit = self._moment(claim.until) if claim.until else (self._said_at, "moment")
        if not over:
            raise Refused(NOTHING if claim.ended in {"former", "others"} else "nothing is known that it could end")
        for number in over:
            start = self._graph.row(number).last.valid_from
            if not claim.until and start is not None and to_millis(at) <= start:
                # Recorded at the same moment, as far as the clock can tell.
                at = from_millis(start + 1)
            ended = end_relation(self._graph, number, at, unit=unit, by=Authority.SYSTEM)
            self._corrections.rest(number)
            self.done.changed.append(ended.id)

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
        return periods.parse(said, now=from_millis(self._graph.now))

    def _require_not_deleted(self, subject: Entity, claim: Claim, target: Entity | Value | None) -> None:
        read = predicates.reading(claim.predicate)
        if target is None:
            return
        ends = (target, subject) if read.turned and isinstance(target, Entity) else (subject, target)
        if statement_deleted(self._graph, ends[0], read.predicate, ends[1]):
            raise Refused(DELETED)


def _entity(mentions: Mentions, claim: Claim, side: Literal["subject", "object"]) -> Entity:
    """The entity at one end of a claim."""
    words, type = (claim.subject, claim.subject_type) if side == "subject" else (claim.object, claim.object_type)
    if claim.owned == side or (side == "object" and claim.owned == "new"):
        return mentions.own(words, type, new=claim.owned == "new")
    return mentions.entity(words, type)
