"""Ingests mined proposals: claims become relations at their place in the timeline, or are refused.

All decisions are made within one transaction of the caller. The writes of a refused claim are rolled back.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.errors import InvalidRelation, MemoryTiersError, StorageError
from langmem_tiers.knowledge.validation import refusal
from langmem_tiers.knowledge_graph import claims
from langmem_tiers.knowledge_graph.apply_claim import NOTHING, ClaimApplier, Ingested, Refused
from langmem_tiers.knowledge_graph.mentions import DELETED, Mentions, UnclearMention
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language import kinship, predicates, reader
from langmem_tiers.language.claims import Claim
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.slugs import name_key
from langmem_tiers.records import Entity, Episode, Said
from langmem_tiers.settings import Settings
from langmem_tiers.storage import episodes
from langmem_tiers.storage.progress import ProposalRow
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.types import Drawer

_THE_USERS = re.compile(r"\b[Tt]he user['’]s\b")
_THE_USER = re.compile(r"\b[Tt]he user\b")
# The author of a summary is not the user.
_WRITER = re.compile(r"\b(?:I|me|my|mine|we|us|our|you|your)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A message (or, where `drawer` is None, the text of an episode) and the proposals found in it."""

    drawer: Drawer | None
    said_at: datetime
    proposals: Sequence[ProposalRow]


def ingest(
    connection: Connection, space: str, messages: Iterable[Message], *, now: int, settings: Settings
) -> Ingested:
    """Ingest the proposals of messages, oldest first; repeating it changes nothing."""
    done = Ingested()
    for message in sorted(messages, key=lambda each: (each.said_at, each.drawer.number if each.drawer else 0)):
        _Ingestion(connection, space, message, now, settings, done).run()
    return done


def messages_of_episodes(connection: Connection, space: str, numbers: Sequence[int], now: datetime) -> list[Message]:
    """Proposals from episodes without known messages, such as imported ones; other episodes' messages are mined."""
    imported = [each for each in episodes.by_numbers(connection, space, numbers) if each.first_drawer is None]
    return [message for each in imported if (message := _message(each, now)).proposals]


def _message(episode: Episode, now: datetime) -> Message:
    said = Said(
        drawer=0,
        place=0,
        role="user",
        origin="import",
        speaker=None,
        content=_as_told_by_the_user(episode.summary),
        said_at=min(episode.ended_at, now),
    )
    rows = [
        ProposalRow(number=0, kind="relation", body=each.body(), drawer=0, quote="", path="rule")
        for each in reader.read([said], now).claims
    ]
    return Message(drawer=None, said_at=said.said_at, proposals=rows)


def _as_told_by_the_user(summary: str) -> str:
    """Sentences about the user and others in the third person, reworded so that the rules can read them."""
    lines = (each.text for each in sentences(summary) if not _WRITER.search(each.text))
    return "\n".join(_THE_USER.sub("I", _THE_USERS.sub("My", each)) for each in lines)


class _Ingestion:
    """The ingestion of one message."""

    def __init__(
        self, connection: Connection, space: str, message: Message, now: int, settings: Settings, done: Ingested
    ) -> None:
        self._connection = connection
        self._space = space
        self._message = message
        self._now = now
        self._settings = settings
        self._done = done
        self._same: dict[str, Entity] = {}

    def run(self) -> None:
        """Apply the relations that identify people first, then the others; their number per message is limited."""
        most = self._settings.graph.window_proposals
        for place, (row, claim) in enumerate(self._contradicted(self._read())):
            if place < most:
                self._apply_or_refuse(row, claim)
            else:
                self._refuse(claim, f"more than {most} relations of one message")
        for row in [row for row in self._message.proposals if row.kind == "entity"][:most]:
            self._name_or_refuse(row)

    @property
    def _turn(self) -> str:
        return self._message.drawer.content if self._message.drawer else ""

    def _read(self) -> list[tuple[ProposalRow, Claim]]:
        known = claims.types(self._message.proposals)
        found: list[tuple[ProposalRow, Claim]] = []
        for row in self._message.proposals:
            if row.kind != "relation":
                continue
            try:
                claim = claims.read(row, self._message.said_at, known, self._turn)
                predicates.normalise(claim.predicate)
                found.append((row, claim))
            except (ValueError, InvalidRelation) as error:
                self._done.refused.append(refusal(" ".join(map(str, row.body.values())), str(error)))
        return sorted(found, key=lambda each: _order(each[1]))

    def _contradicted(self, found: Sequence[tuple[ProposalRow, Claim]]) -> list[tuple[ProposalRow, Claim]]:
        """The claims, without those for which one message gives two different values for the same time."""
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
        return name_key(claim.object if read.turned else claim.subject), read.predicate, claim.since

    def _apply_or_refuse(self, row: ProposalRow, claim: Claim) -> None:
        """Apply a claim, or record why it was refused."""
        self._do_or_refuse(claim, lambda graph: self._apply(graph, row, claim))

    def _name_or_refuse(self, row: ProposalRow) -> None:
        """Record an entity that is mentioned, even if nothing is said about it."""
        name = str(row.body.get("name") or "")
        kind = claims.types(self._message.proposals).get(name_key(name), "")
        claim = Claim(subject=name, predicate="")
        self._do_or_refuse(claim, lambda graph: self._name(graph, row, claim, kind))

    def _name(self, graph: GraphTransaction, row: ProposalRow, claim: Claim, kind: str) -> None:
        self._require_harmless(row, claim)
        if not claim.subject.strip():
            raise Refused("a part of it is missing")
        self._mentions(graph, row).entity(claim.subject, kind)

    def _do_or_refuse(self, claim: Claim, do: Callable[[GraphTransaction], None]) -> None:
        """Run an operation in a savepoint, and roll back its writes if it is refused."""
        part = self._connection.begin_nested()
        same = dict(self._same)
        try:
            # A transaction remembers what it has logged, so it must not outlive the savepoint.
            with GraphTransaction(self._connection, self._space, self._now, self._settings) as graph:
                do(graph)
        except StorageError:
            raise
        except (MemoryTiersError, Refused, UnclearMention) as error:
            part.rollback()
            self._same = same
            self._refuse(claim, getattr(error, "message", "") or str(error))
        else:
            part.commit()

    def _apply(self, graph: GraphTransaction, row: ProposalRow, claim: Claim) -> None:
        self._require_harmless(row, claim)
        applier = ClaimApplier(graph, self._mentions(graph, row))
        applier.apply(claim)
        self._done.join(applier.done)

    def _mentions(self, graph: GraphTransaction, row: ProposalRow) -> Mentions:
        return Mentions(
            graph=graph,
            drawer=self._message.drawer,
            path=row.path,
            quote=row.quote,
            seen=self._message.said_at,
            same=self._same,
        )

    def _require_harmless(self, row: ProposalRow, claim: Claim) -> None:
        text = " ".join((claim.subject, claim.predicate, claim.object, claim.value))
        if reason := instructions.suspicious(text):
            raise Refused(reason)
        if self._settings.privacy.derived != "keep" and secrets.find(f"{text} {row.quote}"):
            raise Refused("it holds a secret")

    def _refuse(self, claim: Claim, reason: str) -> None:
        """Record a refusal; without the words of anything deleted, and not at all where no one would miss it."""
        if reason == NOTHING:
            return
        parts = (claim.subject, claim.predicate, claim.object, claim.value, claim.unit)
        content = "" if reason == DELETED else " ".join(filter(None, parts))
        self._done.refused.append(refusal(content, reason))


def _led_to(claim: Claim) -> str:
    """The object of a claim in canonical form."""
    if predicates.reading(claim.predicate).turned:
        return name_key(claim.subject)
    return name_key(f"{claim.object}{claim.value} {claim.unit}")


def _order(claim: Claim) -> tuple[bool, ...]:
    """Order of application: denials, kinship, statements, endings, and mere mentions last."""
    kin = kinship.read(claim.predicate) is not None
    return claim.kind == "mentioned", claim.ended not in {"", "never"}, claim.ended != "never", not kin
