"""Taking up what mining found: claims become relations, each where it belongs in the timeline, or are refused.

Everything is decided within one transaction of the caller. What a claim would write is undone where it is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.errors import InvalidRelation, MemoryTiersError, StorageError
from langmem_tiers.knowledge_graph import kinship, naming, predicates, told
from langmem_tiers.knowledge_graph.claiming import NOTHING, Claiming, Refused, Taken
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.mentions import DELETED, Mentions, NotMeant
from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.settings import Settings
from langmem_tiers.storage.mined import ProposalRow
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.types import Drawer
from langmem_tiers.writing.mining.reading import refusal


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

    @property
    def _turn(self) -> str:
        return self._message.drawer.content if self._message.drawer else ""

    def _read(self) -> list[tuple[ProposalRow, Claim]]:
        known = told.types(self._message.proposals)
        found: list[tuple[ProposalRow, Claim]] = []
        for row in self._message.proposals:
            if row.kind != "relation":
                continue
            try:
                claim = told.read(row, self._message.said_at, known, self._turn)
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
        name = str(row.body.get("name") or "")
        kind = told.types(self._message.proposals).get(naming.slug(name), "")
        claim = Claim(subject=name, predicate="")
        self._do_or_refuse(claim, lambda ledger: self._name(ledger, row, claim, kind))

    def _name(self, ledger: Ledger, row: ProposalRow, claim: Claim, kind: str) -> None:
        self._require_harmless(row, claim)
        if not claim.subject.strip():
            raise Refused("a part of it is missing")
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
        except (MemoryTiersError, Refused, NotMeant) as error:
            part.rollback()
            self._same = same
            self._refuse(claim, getattr(error, "message", "") or str(error))
        else:
            part.commit()

    def _take(self, ledger: Ledger, row: ProposalRow, claim: Claim) -> None:
        self._require_harmless(row, claim)
        claiming = Claiming(ledger, self._mentions(ledger, row))
        claiming.take(claim)
        self._taken.join(claiming.taken)

    def _mentions(self, ledger: Ledger, row: ProposalRow) -> Mentions:
        return Mentions(
            ledger=ledger,
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
        """Note what is refused; what was deleted leaves no words, and what nobody would miss leaves nothing."""
        if reason == NOTHING:
            return
        parts = (claim.subject, claim.predicate, claim.object, claim.value, claim.unit)
        content = "" if reason == DELETED else " ".join(filter(None, parts))
        self._taken.refused.append(refusal(content, reason))


def _led_to(claim: Claim) -> str:
    """What a claim leads to, the same for all ways to write it."""
    if predicates.reading(claim.predicate).turned:
        return naming.slug(claim.subject)
    return naming.slug(f"{claim.object}{claim.value} {claim.unit}")


def _order(claim: Claim) -> tuple[bool, ...]:
    """What never was so comes first, then who is kin of whom, what is so, what is over, and who was only named."""
    kin = kinship.read(claim.predicate) is not None
    return claim.kind == "mentioned", claim.ended not in {"", "never"}, claim.ended != "never", not kin
