"""Ingests mined proposals: claims become relations at their place in the timeline, or are refused.

All decisions are made within one transaction of the caller. The writes of a refused claim are rolled back.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidRelation, MemoryTiersError, StorageError
from langmem_tiers.knowledge.validation import refusal
from langmem_tiers.knowledge_graph import checks, claims, endings
from langmem_tiers.knowledge_graph.entities import NamedEntity, find_entity, upsert_entity
from langmem_tiers.knowledge_graph.mentions import DELETED, NOTHING, Mentions, RefusedClaim
from langmem_tiers.knowledge_graph.merging import keep_apart, merge_entities
from langmem_tiers.knowledge_graph.relations import NewRelation, add_relation, end_relation
from langmem_tiers.knowledge_graph.tombstones import statement_deleted
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import RelationLanded
from langmem_tiers.language import kinship, periods, predicates, reader
from langmem_tiers.language.claims import ME, SOMEBODY_ELSE, Claim
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.quotations import own_words_of
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.values import Value
from langmem_tiers.language.words import occurs
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.records import Authority, Entity, Episode, RefusedProposal, Said
from langmem_tiers.settings import Settings
from langmem_tiers.storage import drawers, episodes, relations
from langmem_tiers.storage.progress import ProposalRow
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.types import Drawer

_THE_USERS = re.compile(r"\b[Tt]he user['’]s\b")
_THE_USER = re.compile(r"\b[Tt]he user\b")
# The author of a summary is not the user.
_WRITER = re.compile(r"\b(?:I|me|my|mine|we|us|our|you|your)\b", re.IGNORECASE)
_CONFIDENCE = {"rule": 0.9, "model": 0.8}
# Predicates that did not start on the day they are mentioned.
_TIMELESS = frozenset(
    {"is_a", "born_in", "born_on", "has_birthday", "from", "grew_up_in", "named", "has_nickname", "has_nationality"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message (or, where `drawer` is None, the text of an episode) and the proposals found in it."""

    drawer: Drawer | None
    said_at: datetime
    proposals: Sequence[ProposalRow]


@dataclass(kw_only=True, slots=True)
class IngestedClaims:
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

    def join(self, other: IngestedClaims) -> None:
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


def ingest(
    connection: Connection, space: str, messages: Iterable[Message], *, now: int, settings: Settings
) -> IngestedClaims:
    """Ingest the proposals of messages, oldest first; repeating it changes nothing."""
    done = IngestedClaims()
    for message in sorted(messages, key=lambda each: (each.said_at, each.drawer.number if each.drawer else 0)):
        _Ingestion(connection=connection, space=space, message=message, now=now, settings=settings, done=done).run()
    return done


def messages_of(connection: Connection, space: str, rows: Iterable[ProposalRow]) -> list[Message]:
    """Proposals grouped by message, for messages that are still current."""
    by_drawer: defaultdict[int, list[ProposalRow]] = defaultdict(list)
    for row in rows:
        by_drawer[row.drawer].append(row)
    held = drawers.read(connection, space, by_drawer)
    return [
        Message(drawer=drawer, said_at=drawer.said_at, proposals=by_drawer[number])
        for number, drawer in held.items()
        if drawer.status == "active"
    ]


def messages_of_episodes(connection: Connection, space: str, numbers: Sequence[int], now: datetime) -> list[Message]:
    """Proposals from episodes without known messages, such as imported ones; other episodes' messages are mined."""
    imported = [each for each in episodes.by_numbers(connection, space, numbers) if each.first_drawer is None]
    return [message for each in imported if (message := _message(each, now)).proposals]


def _message(episode: Episode, now: datetime) -> Message:
    """What a summary says of the user and others, reworded as the user would, so that the rules can read it."""
    lines = (each.text for each in sentences(episode.summary) if not _WRITER.search(each.text))
    said = Said(
        drawer=0,
        place=0,
        role="user",
        origin="import",
        speaker=None,
        content="\n".join(_THE_USER.sub("I", _THE_USERS.sub("My", each)) for each in lines),
        said_at=min(episode.ended_at, now),
    )
    rows = [
        ProposalRow(kind="relation", body=each.body(), drawer=0, quote="") for each in reader.read([said], now).claims
    ]
    return Message(drawer=None, said_at=said.said_at, proposals=rows)


@dataclass(kw_only=True)
class _Ingestion:
    """The ingestion of one message."""

    connection: Connection
    space: str
    message: Message
    now: int
    settings: Settings
    done: IngestedClaims
    same: dict[str, Entity] = field(default_factory=dict)
    """Names already resolved in this message."""

    def run(self) -> None:
        """Apply the relations that identify people first, then the others; their number per message is limited.

        Last come the entities that are named even though nothing is said about them.
        """
        most = self.settings.graph.window_proposals
        types = claims.types(self.message.proposals)
        for place, (row, claim) in enumerate(self._contradicted(self._read(types))):
            if place < most:
                self._apply_or_refuse(row, claim)
            else:
                self._refuse(claim, f"more than {most} relations of one message")
        for row in [row for row in self.message.proposals if row.kind == "entity"][:most]:
            name = str(row.body.get("name") or "")
            self._apply_or_refuse(row, Claim(subject=name, predicate="", subject_type=types.get(name_key(name), "")))

    @lazy_property
    def _own(self) -> str:
        """The message without what it only quotes."""
        return own_words_of(self.message.drawer) if self.message.drawer else ""

    def _read(self, types: Mapping[str, str]) -> list[tuple[ProposalRow, Claim]]:
        turn = self._own
        found: list[tuple[ProposalRow, Claim]] = []
        for row in self.message.proposals:
            if row.kind != "relation":
                continue
            try:
                claim = claims.read(row, self.message.said_at, types, turn)
                predicates.normalise(claim.predicate)
                found.append((row, claim))
            except (ValueError, InvalidRelation) as error:
                self.done.refused.append(refusal(" ".join(map(str, row.body.values())), str(error)))
        return sorted(found, key=lambda each: _order(each[1]))

    def _contradicted(self, found: Sequence[tuple[ProposalRow, Claim]]) -> list[tuple[ProposalRow, Claim]]:
        """The claims, without those for which one message gives two different values for the same time."""
        values: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        for _, claim in found:
            if key := self._exclusive(claim):
                turned = predicates.reading(claim.predicate).turned
                values[key].add(name_key(claim.subject if turned else f"{claim.object}{claim.value} {claim.unit}"))
        kept = []
        for row, claim in found:
            key = self._exclusive(claim)
            if key and len(values[key]) > 1:
                self._refuse(claim, "it contradicts another one of the same message")
            else:
                kept.append((row, claim))
        return kept

    def _exclusive(self, claim: Claim) -> tuple[str, str, str] | None:
        """What a claim gives the only value of: a subject, a predicate and a time."""
        read = predicates.reading(claim.predicate)
        if claim.ended or claim.until or not predicates.single_valued(read.predicate, self.settings.graph):
            return None
        return name_key(claim.object if read.turned else claim.subject), read.predicate, claim.since

    def _apply_or_refuse(self, row: ProposalRow, claim: Claim) -> None:
        """Apply a claim in a savepoint; if it is refused, roll back what it wrote, and record why."""
        part = self.connection.begin_nested()
        same = dict(self.same)
        try:
            self._require_harmless(row, claim)
            # A transaction remembers what it has logged, so it must not outlive the savepoint.
            with GraphTransaction(self.connection, self.space, self.now, self.settings) as graph:
                mentions = Mentions(
                    graph=graph,
                    drawer=self.message.drawer,
                    path=row.path,
                    quote=row.quote,
                    seen=self.message.said_at,
                    same=self.same,
                )
                if row.kind == "entity":
                    mentions.entity(claim.subject, claim.subject_type)
                else:
                    applying = _Applying(graph, mentions)
                    applying.apply(claim)
                    self.done.join(applying.done)
        except StorageError:
            raise
        except (MemoryTiersError, RefusedClaim) as error:
            part.rollback()
            self.same = same
            self._refuse(claim, getattr(error, "message", "") or str(error))
        else:
            part.commit()

    def _require_harmless(self, row: ProposalRow, claim: Claim) -> None:
        text = " ".join((claim.subject, claim.predicate, claim.object, claim.value))
        if reason := instructions.suspicious(text):
            raise RefusedClaim(reason)
        if self.settings.privacy.derived != "keep" and secrets.find(f"{text} {row.quote}"):
            raise RefusedClaim("it holds a secret")
        if not claim.subject.strip():
            raise RefusedClaim("a part of it is missing")
        # The rules read nothing else; a model may cite anything.
        if row.path == "model" and not occurs(row.quote, self._own):
            raise RefusedClaim("the message only quotes it")

    def _refuse(self, claim: Claim, reason: str) -> None:
        """Record a refusal; without the words of anything deleted, and not at all where no one would miss it."""
        if reason == NOTHING:
            return
        parts = (claim.subject, claim.predicate, claim.object, claim.value, claim.unit)
        content = "" if reason == DELETED else " ".join(filter(None, parts))
        self.done.refused.append(refusal(content, reason))


def _order(claim: Claim) -> tuple[bool, ...]:
    """Order of application: denials, kinship, statements, and endings last."""
    kin = kinship.read(claim.predicate) is not None
    return claim.ended not in {"", "never"}, claim.ended != "never", not kin


# Which relations claims take back, by how they say so.
_TAKES_BACK = {"never": endings.denied, "planned": endings.planned}


@dataclass
class _Applying:
    """Writes what one claim says; `done` collects the outcome."""

    graph: GraphTransaction
    mentions: Mentions
    done: IngestedClaims = field(default_factory=IngestedClaims)

    def apply(self, claim: Claim) -> None:
        """Add its relation, or end or withdraw the relations that it says are over or wrong.

        Raises:
            Refused, MemoryTiersError: it was rejected; the caller must roll back what it wrote so far.
        """
        if claim.ended == "died":
            self._die(claim)
            return
        subject = self._entity(claim, "subject")
        if claim.predicate == SOMEBODY_ELSE:
            self._keep_apart(subject, self._entity(claim, "object"))
        elif claim.ended in _TAKES_BACK:
            wrong = _TAKES_BACK[claim.ended](self.mentions, subject, claim)
            if not wrong:
                raise RefusedClaim(NOTHING)
            self.done.withdrawn += endings.withdraw(self.mentions, subject, wrong)
        elif claim.ended == "put off":
            self._put_off(subject, claim)
        elif (over := endings.over(self.mentions, subject, claim)) is not None:
            self._end(over, claim)
        else:
            self._say(subject, claim)

    def _entity(self, claim: Claim, side: Literal["subject", "object"]) -> Entity:
        """The entity at one end of a claim."""
        words, type = (claim.subject, claim.subject_type) if side == "subject" else (claim.object, claim.object_type)
        if claim.owned == side or (side == "object" and claim.owned == "new"):
            return self.mentions.own(words, type, new=claim.owned == "new")
        return self.mentions.entity(words, type)

    def _say(self, subject: Entity, claim: Claim) -> None:
        """Add the relation, and withdraw what it corrects."""
        new = self._relation(subject, claim)
        if endings.is_set_right(self.mentions, new):
            raise RefusedClaim(NOTHING)
        if claim.instead:
            wrong = endings.wrong(self.graph, new, claim.instead)
            self.done.withdrawn += endings.withdraw(self.mentions, subject, wrong)
            new = endings.in_place_of(wrong, new)
        is_name = predicates.normalise(claim.predicate) in endings.NAMES
        if is_name and find_entity(self.graph, claim.value, type="person", whole=False) is None:  # "I am called Alice"
            upsert_entity(self.graph, NamedEntity(name=subject.id, aliases=(claim.value,), authority=Authority.SYSTEM))
        self.done.note(add_relation(self.graph, new))

    def _put_off(self, subject: Entity, claim: Claim) -> None:
        """Let the one thing that is planned begin on another day."""
        wrong = endings.planned(self.mentions, subject, claim)
        names = {each.target for each in self.graph.relations(wrong, evidence=False)}
        if len(names) != 1:
            raise RefusedClaim("several may be meant" if names else NOTHING)
        self.done.withdrawn += endings.withdraw(self.mentions, subject, wrong)
        self._say(subject, replace(claim, object=names.pop(), ended=""))

    def _keep_apart(self, one: Entity, other: Entity) -> None:
        """Note that two entities that one sentence names side by side are two."""
        if one.number == other.number:
            raise RefusedClaim(NOTHING)
        keep_apart(self.graph, one, other, "one sentence names both")

    def _die(self, claim: Claim) -> None:
        """Record a death and end what ends with a life; an unknown person is noted with the date of death."""
        being = self.mentions.being(claim.subject)
        if being is None and not (claim.subject_type and claim.value):
            raise RefusedClaim(NOTHING)
        subject = self.mentions.entity(claim.subject, claim.subject_type) if being is None else being
        over = endings.over_with_life(self.graph, subject)
        if claim.value:
            died = Claim(subject=claim.subject, predicate=claim.predicate, value=claim.value, since=claim.value)
            self._say(subject, died)
        if over or not claim.value:
            self._end(over, claim)

    def _relation(self, subject: Entity, claim: Claim) -> NewRelation:
        target, value = self._target(subject, claim)
        read = predicates.reading(claim.predicate)
        ends = (target, subject) if read.turned and target is not None else (subject, target or value)
        if ends[1] is not None and statement_deleted(self.graph, ends[0], read.predicate, ends[1]):
            raise RefusedClaim(DELETED)
        start, start_unit = self._start(claim)
        over: tuple[datetime | None, Exactness] = (self.mentions.seen if claim.ended else None, "moment")
        end, end_unit = self._moment(claim.until) if claim.until else over
        return NewRelation(
            subject=subject,
            predicate=checks.predicate(claim.predicate, self.graph.settings),
            object=target,
            value=value,
            valid_from=start,
            from_unit=start_unit,
            from_stated=bool(claim.since),
            valid_to=end,
            to_unit=end_unit,
            origin=self.mentions.drawer.origin if self.mentions.drawer else "assistant",
            path=self.mentions.path,
            authority=Authority.SYSTEM,
            confidence=_CONFIDENCE[self.mentions.path],
            evidence=self.mentions.evidence(),
            said_at=self.mentions.seen,
        )

    def _target(self, subject: Entity, claim: Claim) -> tuple[Entity | None, Value | None]:
        if claim.value:
            return None, checks.value(claim.value, claim.unit or None, self.graph.settings)
        if not claim.object:
            raise RefusedClaim("a part of it is missing")
        kin = kinship.read(claim.predicate)
        if kin is not None and not kin.turned and claim.object != ME and not kinship.mine(claim.object):
            return self._kin(subject, kin.word, claim.object), None
        return self._entity(claim, "object"), None

    def _kin(self, of: Entity, word: str, name: str) -> Entity:
        """A named relative; a relative known without a name becomes this one, unless there is another candidate."""
        waiting = self.mentions.unnamed(of, word)
        found = self.mentions.kin(of, word, name)
        if waiting is not None and waiting.number != self.graph.canonical(found.number):
            merge_entities(self.graph, waiting, found, reason=f"the only {word} that is known", path="rule")
        return found

    def _end(self, over: Sequence[int], claim: Claim) -> None:
        at, unit = self._moment(claim.until) if claim.until else (self.mentions.seen, "moment")
        if not over:
            raise RefusedClaim(NOTHING if claim.ended in {"former", "others"} else "nothing is known that it could end")
        for number in over:
            start = self.graph.row(number).last.valid_from
            if not claim.until and start is not None and to_millis(at) <= start:
                # Recorded at the same moment, as far as the clock can tell.
                at = from_millis(start + 1)
            ended = end_relation(self.graph, number, at, unit=unit, by=Authority.SYSTEM)
            relations.add_evidence(*self.graph.at, number, self.mentions.evidence(), self.graph.now)
            self.done.changed.append(ended.id)

    def _start(self, claim: Claim) -> tuple[datetime | None, Exactness]:
        if claim.since:
            return self._moment(claim.since)
        predicate = predicates.normalise(claim.predicate)
        kin = kinship.read(claim.predicate)
        timeless = predicate in _TIMELESS or (kin is not None and kin.word in kinship.BY_BLOOD)
        if timeless or claim.ended or claim.until:
            return None, "moment"
        return self.mentions.seen, "moment"

    def _moment(self, said: str) -> tuple[datetime, Exactness]:
        return periods.parse(said, now=from_millis(self.graph.now))
