"""Taking up what mining found: claims become relations, each where it belongs in the timeline, or are refused.

Everything is decided within one transaction of the caller. What a claim would write is undone where it is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidRelation, MemoryTiersError, StorageError
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import checks, forgetting, kinship, naming, periods, predicates, told
from langmem_tiers.knowledge_graph.ending import Ending
from langmem_tiers.knowledge_graph.ledger import Ledger, NewRelation
from langmem_tiers.knowledge_graph.mentions import DELETED, Mentions, NotMeant
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim
from langmem_tiers.knowledge_graph.types import Entity, Exactness, RelationLanded, Value
from langmem_tiers.settings import Settings
from langmem_tiers.storage import relations
from langmem_tiers.storage.mined import ProposalRow
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.types import Drawer
from langmem_tiers.writing.mining.reading import refusal
from langmem_tiers.writing.mining.types import RefusedProposal
from langmem_tiers.writing.proposals import Evidence

# Who is related to many is known for it; that they were named together with somebody says nothing.
_HUB = 25
_CONFIDENCE = {"rule": 0.9, "model": 0.8}
_OF_MENTION = 0.3
# What does not begin on the day that it is told of.
_TIMELESS = frozenset({"is_a", "born_in", "born_on", "has_birthday", "from", "grew_up_in", "named", "has_nationality"})
_BY_BLOOD = kinship.FAMILY - kinship.PARTNERS


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

    @property
    def anything(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.added or self.changed or self.withdrawn or self.refused)


class _Refused(ValueError):
    """A claim that is not taken up; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message, or the text of an episode where `drawer` is None, and what was found in it."""

    drawer: Drawer | None
    said_at: datetime
    proposals: Sequence[ProposalRow]


def take(connection: Connection, space: str, messages: Iterable[Message], *, now: int, settings: Settings) -> Taken:
    """Take up what was found in messages, those said first first; taking it up again changes nothing."""
    taken = Taken()
    for message in sorted(messages, key=lambda each: (each.said_at, each.drawer.number if each.drawer else 0)):
        _Taking(connection, space, message, now, settings, taken).run()
    return taken


class _Taking:
    """One message being taken up."""

    def __init__(
        self, connection: Connection, space: str, message: Message, now: int, settings: Settings, taken: Taken
    ) -> None:
        self._connection = connection
        self._space = space
        self._message = message
        self._now = now
        self._settings = settings
        self._taken = taken
        self._same: dict[str, Entity] = {}

    def run(self) -> None:
        """Take up the relations first that tell who is who, then the others; at most so many of one message."""
        claims = self._contradicted(self._read())
        most = self._settings.graph.window_proposals
        for place, (row, claim) in enumerate(claims):
            if place < most:
                self._take_or_refuse(row, claim)
            else:
                self._refuse(claim, f"more than {most} relations of one message")
        for row in [row for row in self._message.proposals if row.kind == "entity"][:most]:
            self._name_or_refuse(row)

    def _read(self) -> list[tuple[ProposalRow, Claim]]:
        known = told.types(self._message.proposals)
        found: list[tuple[ProposalRow, Claim]] = []
        for row in self._message.proposals:
            if row.kind != "relation":
                continue
            try:
                claim = told.read(row, self._message.said_at, known)
                predicates.normalise(claim.predicate)
                found.append((row, claim))
            except (ValueError, InvalidRelation) as error:
                self._taken.refused.append(refusal(" ".join(map(str, row.body.values())), str(error)))
        return sorted(found, key=lambda each: _order(each[1]))

    def _contradicted(self, found: Sequence[tuple[ProposalRow, Claim]]) -> list[tuple[ProposalRow, Claim]]:
        """The claims without those that one message makes twice with different values for the same time."""
        values: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for _, claim in found:
            if key := self._exclusive(claim):
                values[key].add(_led_to(claim))
        kept = []
        for row, claim in found:
            key = self._exclusive(claim)
            if key and len(values[key]) > 1:
                self._refuse(claim, "it contradicts another one of the same message")
            else:
                kept.append((row, claim))
        return kept

    def _exclusive(self, claim: Claim) -> tuple[str, str, str] | None:
        read = predicates.reading(claim.predicate)
        if claim.ended or claim.until or not predicates.single_valued(read.predicate, self._settings.graph):
            return None
        return naming.slug(claim.object if read.turned else claim.subject), read.predicate, claim.since

    def _take_or_refuse(self, row: ProposalRow, claim: Claim) -> None:
        """Take up a claim, or note why not."""
        self._do_or_refuse(claim, lambda ledger: self._take(ledger, row, claim))

    def _name_or_refuse(self, row: ProposalRow) -> None:
        """Note that somebody or something is spoken of, also where nothing is said of it."""
        name, kind = (str(row.body.get(part) or "") for part in ("name", "type"))
        claim = Claim(subject=name, predicate="")
        self._do_or_refuse(claim, lambda ledger: self._name(ledger, row, claim, told.type_of(kind)))

    def _name(self, ledger: Ledger, row: ProposalRow, claim: Claim, kind: str) -> None:
        self._require_harmless(row, claim)
        if not claim.subject.strip():
            raise _Refused("a part of it is missing")
        self._mentions(ledger, row).meant(claim.subject, kind)

    def _do_or_refuse(self, claim: Claim, do: Callable[[Ledger], None]) -> None:
        """Do what a claim asks for; what it wrote before it was refused is undone."""
        part = self._connection.begin_nested()
        # A ledger remembers what it has logged, so none outlives what is undone.
        ledger = Ledger(self._connection, self._space, self._now, self._settings)
        same = dict(self._same)
        try:
            do(ledger)
        except StorageError:
            raise
        except (MemoryTiersError, _Refused, NotMeant) as error:
            part.rollback()
            self._same = same
            self._refuse(claim, getattr(error, "message", "") or str(error))
        else:
            part.commit()

    def _take(self, ledger: Ledger, row: ProposalRow, claim: Claim) -> None:
        self._require_harmless(row, claim)
        mentions = self._mentions(ledger, row)
        subject = mentions.meant(claim.subject, claim.subject_type, owned=claim.owned == "subject")
        if claim.ended and (claim.ended == "known" or not (claim.object or claim.value)):
            self._end(ledger, mentions, subject, claim)
            return
        landed = ledger.add(self._relation(ledger, mentions, row, subject, claim))
        self._taken.note(landed)

    def _mentions(self, ledger: Ledger, row: ProposalRow) -> Mentions:
        return Mentions(
            ledger=ledger,
            drawer=self._message.drawer,
            path=row.path,
            quote=row.quote,
            seen=self._message.said_at,
            same=self._same,
        )

    def _relation(
        self, ledger: Ledger, mentions: Mentions, row: ProposalRow, subject: Entity, claim: Claim
    ) -> NewRelation:
        target, value = self._target(ledger, mentions, subject, claim)
        if target is not None and claim.kind == "mentioned":
            subject, target = self._mentioned(ledger, subject, target)
        self._require_not_deleted(ledger, subject, claim, target or value)
        if predicates.normalise(claim.predicate) == "named":
            self._also_called(mentions, subject, claim)
        start, start_unit = self._start(claim)
        end, end_unit = self._ended_at(claim)
        return NewRelation(
            subject=subject,
            predicate=checks.predicate(claim.predicate, self._settings),
            object=target,
            value=value,
            valid_from=start,
            from_unit=start_unit,
            from_stated=bool(claim.since),
            valid_to=end,
            to_unit=end_unit,
            kind="mentioned" if claim.kind == "mentioned" else "stated",
            origin=mentions.drawer.origin if mentions.drawer else "assistant",
            path=row.path,
            authority=Authority.SYSTEM,
            confidence=_OF_MENTION if claim.kind == "mentioned" else _CONFIDENCE[row.path],
            evidence=(Evidence(drawer=mentions.drawer.number, quote=row.quote),) if mentions.drawer else (),
        )

    def _target(
        self, ledger: Ledger, mentions: Mentions, subject: Entity, claim: Claim
    ) -> tuple[Entity | None, Value | None]:
        if claim.value:
            return None, checks.value(claim.value, claim.unit or None, self._settings)
        if not claim.object:
            raise _Refused("a part of it is missing")
        kin = kinship.read(claim.predicate)
        if kin is not None and not kin.turned and claim.object != ME and not kinship.mine(claim.object):
            return self._kin(ledger, mentions, subject, kin.word, claim.object), None
        return mentions.meant(claim.object, claim.object_type, owned=claim.owned == "object"), None

    def _kin(self, ledger: Ledger, mentions: Mentions, of: Entity, word: str, name: str) -> Entity:
        """Somebody by name; whoever was told of as kin without a name is them, if there is no other."""
        waiting = mentions.unnamed(of, word)
        found = mentions.kin(of, word, name)
        if waiting is not None and waiting.number != ledger.canonical(found).number:
            ledger.merge(waiting, found, reason=f"the only {word} that is known", path="rule")
        return found

    def _mentioned(self, ledger: Ledger, subject: Entity, target: Entity) -> tuple[Entity, Entity]:
        """The two in one order, if neither is named together with everybody."""
        if naming.USER in {subject.name, target.name}:
            raise _Refused(_NOTHING)
        for each in (subject, target):
            numbers = relations.numbers_of_entities(self._connection, self._space, [each.number])
            if len(numbers) >= _HUB:
                raise _Refused(_NOTHING)
        first, second = sorted((subject, target), key=lambda each: each.number)
        return first, second

    def _also_called(self, mentions: Mentions, subject: Entity, claim: Claim) -> None:
        """'My name is Alice': an alias, unless somebody else has the name."""
        if mentions.ledger.find(claim.value, type="person") is None:
            mentions.ledger.said(subject.id, aliases=(claim.value,), authority=Authority.SYSTEM)

    def _end(self, ledger: Ledger, mentions: Mentions, subject: Entity, claim: Claim) -> None:
        at, unit = self._moment(claim.until) if claim.until else (self._message.said_at, "moment")
        over = Ending(ledger, mentions).of(subject, claim)
        if not over:
            raise _Refused("nothing is known that it could end")
        for number in over:
            start = ledger.row(number).last.valid_from
            if not claim.until and start is not None and to_millis(at) <= start:
                # Said in the same breath, as far as the clock tells.
                at = from_millis(start + 1)
            ended = ledger.end(number, at, unit=unit, by=Authority.SYSTEM)
            if mentions.drawer is not None:
                evidence = (Evidence(drawer=mentions.drawer.number, quote=mentions.quote),)
                relations.add_evidence(self._connection, self._space, number, evidence, self._now)
            self._taken.changed.append(ended.id)

    def _start(self, claim: Claim) -> tuple[datetime | None, Exactness]:
        if claim.since:
            return self._moment(claim.since)
        predicate = predicates.normalise(claim.predicate)
        kin = kinship.read(claim.predicate)
        timeless = predicate in _TIMELESS or (kin is not None and kin.word in _BY_BLOOD)
        if timeless or claim.ended or claim.until:
            return None, "moment"
        return self._message.said_at, "moment"

    def _ended_at(self, claim: Claim) -> tuple[datetime | None, Exactness]:
        if claim.until:
            return self._moment(claim.until)
        return (self._message.said_at, "moment") if claim.ended else (None, "moment")

    def _moment(self, said: str) -> tuple[datetime, Exactness]:
        return periods.parse(said, now=from_millis(self._now))

    def _require_harmless(self, row: ProposalRow, claim: Claim) -> None:
        text = " ".join((claim.subject, claim.predicate, claim.object, claim.value))
        if reason := instructions.suspicious(text):
            raise _Refused(reason)
        if self._settings.privacy.derived != "keep" and secrets.find(f"{text} {row.quote}"):
            raise _Refused("it holds a secret")

    def _require_not_deleted(
        self, ledger: Ledger, subject: Entity, claim: Claim, target: Entity | Value | None
    ) -> None:
        read = predicates.reading(claim.predicate)
        if target is None:
            return
        ends = (target, subject) if read.turned and isinstance(target, Entity) else (subject, target)
        if forgetting.deleted_relation(self._connection, self._space, ends[0], read.predicate, ends[1]):
            raise _Refused(DELETED)

    def _refuse(self, claim: Claim, reason: str) -> None:
        """Note what is refused; what was deleted leaves no words, and what nobody would miss leaves nothing."""
        if reason == _NOTHING:
            return
        parts = (claim.subject, claim.predicate, claim.object, claim.value, claim.unit)
        content = "" if reason == DELETED else " ".join(filter(None, parts))
        self._taken.refused.append(refusal(content, reason))


_NOTHING = "nobody would miss it"


def _led_to(claim: Claim) -> str:
    """What a claim leads to, the same for all ways to write it."""
    if predicates.reading(claim.predicate).turned:
        return naming.slug(claim.subject)
    return naming.slug(f"{claim.object}{claim.value} {claim.unit}")


def _order(claim: Claim) -> tuple[bool, bool, bool]:
    """Who is kin of whom comes first, then what is so, what is over, and who was only named."""
    return claim.kind == "mentioned", bool(claim.ended), kinship.read(claim.predicate) is None
