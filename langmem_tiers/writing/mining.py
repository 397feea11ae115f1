"""Mining: examines conversations window by window, turns findings into knowledge, and reports.

A window is marked as mined together with its activity, after its facts were stored: after a crash in between it is
mined again, and its facts are found to exist. No transaction is open while a model or an embedder works.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from langmem_tiers import replies
from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import tombstones
from langmem_tiers.knowledge.ingest import DELETED, ingest
from langmem_tiers.knowledge.neighbours import Embed, by_words, embed_with
from langmem_tiers.knowledge.results import IngestedEntries
from langmem_tiers.knowledge.transcript import may_be_shown
from langmem_tiers.knowledge.validation import refusal
from langmem_tiers.language import reader, summaries, turns
from langmem_tiers.language.claims import Claim
from langmem_tiers.language.endings import Revised
from langmem_tiers.language.words import meaningful_words
from langmem_tiers.listeners import notify
from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.calls import ModelAnswer
from langmem_tiers.records import Authority, Entry, Evidence, MiningReport, Proposal, RefusedProposal, Said
from langmem_tiers.settings import Settings
from langmem_tiers.storage import activities, drawers, feedback, progress, revisions
from langmem_tiers.storage.progress import Again, MinedPath, ProposalRow
from langmem_tiers.storage.rooms import Unfinished
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.trust import secrets
from langmem_tiers.trust.taint import derived_trust, tainted
from langmem_tiers.writing import edits, filing, mining_reply
from langmem_tiers.writing.mining_prompt import MinedWindow, prompt
from langmem_tiers.writing.windows import Window, WindowFindings, next_window, same_window

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

log = logging.getLogger(__name__)

ACTIVITY = "memory_mined"
SOURCE = "memory_extract"

# Calls per question: the question itself, and one repair round.
_CALLS = 2
# Turns that are read again in one step, and those before each that say what "it" means.
_READ_AGAIN, _BEHIND = 50, 4
_LEAST_WORDS = 3  # content words; fewer are not worth a model call
_MOST_TOPICS = 3


@dataclass(frozen=True, kw_only=True)
class Miner:
    """Mines windows of one space; `asker` is None if there is no model."""

    context: SpaceContext
    store: SpaceStore
    asker: ModelAsker | None = None
    embed: Embed = by_words

    @classmethod
    def of(cls, context: SpaceContext, store: SpaceStore) -> Miner:
        """The miner of an open space, using the memory's model and embedder."""
        return cls(context=context, store=store, asker=context.asker(store), embed=embed_with(context.embedder))

    def of_agent(self, agent: str | None) -> Miner:
        """The same with the settings of an agent."""
        context = self.context.of_agent(agent)
        return self if context is self.context else replace(self, context=context)

    def windows(self, room: Unfinished) -> Iterator[Window]:
        """The unmined windows of a room; each is read when the previous one is done."""
        done = room.done
        while done < room.drawers:
            with self.store.reading() as connection:
                rest, most = room._replace(done=done), self.context.settings.mining.window_turns
                window = next_window(connection, self.store.key, rest, most=most)
            yield window
            done = window.last_place

    def mine(self, window: Window) -> MiningReport | None:
        """Mine a window; None if it is empty, or another process was faster.

        Raises:
            StorageError: the window is mined again later.
        """
        if not window.told:
            self._note(window, "rule")
            return None
        return _traced(self.store.name, lambda: self._first_look(window))

    def _first_look(self, window: Window) -> MiningReport | None:
        found = self._look(window)
        path: MinedPath = "again" if found.temporary else found.path
        ingested = self._take_in(window, found)
        return self._report(window, found, ingested, lambda connection, at: self._mined(connection, window, path, at))

    def glance(self, window: Window) -> MiningReport | None:
        """Save what the rules find now, and leave the turns to be mined later."""
        if not window.told:
            return None
        found = by_rule(window, self.context.settings, self.context.clock())
        ingested = self._take_in(window, found)
        return _report_of(window, replace(ingested, refused=()), WindowFindings(path="rule"))

    def mine_again(self, once: Again) -> MiningReport | None:
        """Ask the model about turns that were mined by rule while it was unavailable; None if it still is.

        Raises:
            StorageError: it is asked again later.
        """
        return _traced(self.store.name, lambda: self._second_look(once))

    def _second_look(self, once: Again) -> MiningReport | None:
        with self.store.reading() as connection:
            window = same_window(connection, self.store.key, once)
        found = self._look(window) if window.told else WindowFindings(path="rule")
        if found.path == "rule":
            path: MinedPath = "again" if found.temporary else "rule"
            with self.store.writing() as connection:
                progress.note_mined_again(
                    connection, self.store.key, once, path=path, at=to_millis(self.context.clock())
                )
            return None
        ingested = self._take_in(window, found)
        return self._report(window, found, ingested, lambda connection, at: self._mined_again(connection, once, at))

    def _look(self, window: Window) -> WindowFindings:
        now = self.context.clock()
        if self.asker is None or not _says_enough(window):
            return by_rule(window, self.context.settings, now)
        with self.store.reading() as connection:
            calls = progress.model_calls(connection, self.store.key, window.session, SOURCE)
        most = self.context.settings.mining.calls_per_session
        if calls + _CALLS > most:
            return by_rule(window, self.context.settings, now, reason=f"budget: no more than {most} calls a session")
        return _by_model(window, self.asker, self.context.settings, now)

    def _take_in(self, window: Window, found: WindowFindings) -> IngestedEntries:
        self._keep_revisions(window)
        return ingest(
            self.store,
            found.proposals,
            authority=Authority.SYSTEM,
            # A derived fact is trusted no more than its least trusted source.
            origin=derived_trust(turn.origin for turn in window.told),
            settings=self.context.settings,
            now=self.context.clock(),
            session=window.session,
            embed=self.embed,
        )

    def _keep_revisions(self, window: Window) -> None:
        """Store which sentences of a window end, change or take back something, without deleted ones and secrets."""
        if found := self._revised(window.turns, window.before):
            with self.store.writing() as connection:
                for each in self._allowed(connection, found):
                    revisions.put(connection, self.store.key, each, at=to_millis(self.context.clock()))

    def _revised(self, said: Sequence[Said], before: Sequence[Said]) -> list[Revised]:
        read = reader.read_revisions(said, self.context.clock(), before=before, speaks=_is_trusted)
        keeps_secrets = self.context.settings.privacy.derived == "keep"
        return [each for each in read if keeps_secrets or not secrets.find(each.quote)]

    def _allowed(self, connection: Connection, found: Sequence[Revised]) -> list[Revised]:
        """Those that are still there and were not deleted."""
        there = drawers.existing(connection, self.store.key, {each.drawer for each in found})
        found = [each for each in found if each.drawer in there]
        left = tombstones.cleared(connection, self.store.key, [(each.drawer, each.quote) for each in found])
        return [each for each, words in zip(found, left, strict=True) if words.strip()]

    def revise_again(self) -> bool:
        """Read some sentences again that an older edition of the rules took for the end of something.

        Returns whether there were any.

        Raises:
            StorageError: they are read again later.
        """
        with self.store.reading() as connection:
            places = revisions.of_older_rules(connection, self.store.key, _READ_AGAIN)
            seen = [_seen(connection, self.store.key, each) for each in places]
        if not places:
            return False
        found = [each for said, before in seen for each in self._revised(said, before)]
        with self.store.writing() as connection:
            if revisions.of_older_rules(connection, self.store.key, _READ_AGAIN)[: len(places)] == places:
                # What was replaced has none either: should it stand again, older ones would.
                read = [each.drawer for each in places]
                told = {"upto": places[-1].drawer, "at": to_millis(self.context.clock())}
                revisions.replace(connection, self.store.key, read, self._allowed(connection, found), **told)
        return True

    def _note(self, window: Window, path: MinedPath) -> None:
        with self.store.writing() as connection:
            self._mined(connection, window, path, to_millis(self.context.clock()))

    def _mined(self, connection: Connection, window: Window, path: MinedPath, at: int) -> bool:
        places = (window.first_place, window.last_place)
        return progress.note_mined(connection, self.store.key, window.room, *places, path=path, at=at)

    def _mined_again(self, connection: Connection, once: Again, at: int) -> bool:
        return progress.note_mined_again(connection, self.store.key, once, path="model", at=at)

    def _report(
        self, window: Window, found: WindowFindings, ingested: IngestedEntries, note: Callable[[Connection, int], bool]
    ) -> MiningReport | None:
        """Mark a window as mined together with its graph proposals and activity, and notify listeners."""
        at = to_millis(self.context.clock())
        with self.store.writing() as connection:
            if not note(connection, at):
                return None
            there = drawers.existing(connection, self.store.key, {turn.drawer for turn in window.turns})
            if len(there) < len(window.turns):
                found, ingested = _of_remaining(found, there), replace(ingested, refused=())
            report = _report_of(window, ingested, found)
            body = _body(report)
            progress.propose(connection, self.store.key, found.for_graph, path=found.path, at=at)
            feedback.put_new(connection, self.store.key, found.feedback)
            if len(there) == len(window.turns):
                filing.file_window(connection, self.store.key, window, found, kind=ACTIVITY, at=at)
            activity = activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=window.session)
        notify(self.context.listeners, activity)
        return report


def mine(miner: Miner, session: str | None = None) -> tuple[MiningReport, ...]:
    """Mine everything unmined in a session or the space now, without waiting for a pause.

    Mining again does nothing, except for turns the model could not be asked about: it is asked again, once per call.

    Raises:
        StorageError: the rest is mined later.
    """
    return tuple(mine_by_window(miner, session))


def mine_by_window(miner: Miner, session: str | None = None) -> Iterator[MiningReport]:
    """Like `mine`, giving each report as soon as its window is done.

    Raises:
        StorageError: the rest is mined later.
    """
    while edits.follow(miner.store, to_millis(miner.context.clock())):
        pass
    with miner.store.reading() as connection:
        rooms = progress.unmined(connection, miner.store.key, session)
        again = progress.to_mine_again(connection, miner.store.key, session) if miner.asker else []
    reports = chain(
        (miner.of_agent(once.agent).mine_again(once) for once in again),
        (each.mine(window) for room in rooms for each in [miner.of_agent(room.agent)] for window in each.windows(room)),
    )
    yield from (report for report in reports if report is not None)


def unmined(store: SpaceStore, session: str | None = None) -> int:
    """How many messages of a session or the space have not been mined."""
    with store.reading() as connection:
        return sum(room.drawers - room.done for room in progress.unmined(connection, store.key, session))


def _report_of(window: Window, ingested: IngestedEntries, found: WindowFindings) -> MiningReport:
    """The report on a window."""
    # Nothing here may quote deleted content.
    refused = [
        refusal("" if each.reason == DELETED else each.proposal.content, each.reason) for each in ingested.refused
    ]
    kinds = [each.kind for each in found.for_graph]
    return MiningReport(
        session=window.session,
        first_place=window.first_place,
        last_place=window.last_place,
        path=found.path,
        kept=_ids(ingested.kept),
        merged=_ids(ingested.merged),
        known=_ids(ingested.known),
        corrected=ingested.corrected,
        refused=(*found.refused, *refused),
        entities=kinds.count("entity"),
        relations=kinds.count("relation"),
        topics=found.topics,
        subject=found.subject,
        reason=found.reason,
        calls=found.calls,
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
    )


def _of_remaining(found: WindowFindings, there: Collection[int]) -> WindowFindings:
    """What was found, without what rests on messages that were forgotten meanwhile, or may repeat them."""
    for_graph = tuple(each for each in found.for_graph if each.drawer in there)
    feedback = tuple(each for each in found.feedback if each.drawer in there)
    return replace(found, for_graph=for_graph, feedback=feedback, refused=(), topics=(), subject="")


def by_rule(
    window: Window, settings: Settings, now: datetime, *, reason: str = "", temporary: bool = False
) -> WindowFindings:
    """What the rules find in a window; `reason` says why the model was not asked."""
    read = reader.read(window.turns, now, before=window.before, speaks=_is_trusted)
    proposals = _of_window(read.entries, window)
    most = settings.mining.facts_per_window
    kept, quoting = _without_secrets(proposals[:most], settings)
    over = [refusal(each.content, f"more than {most} facts of one window") for each in proposals[most:]]
    return WindowFindings(
        path="rule",
        proposals=kept,
        for_graph=_for_graph(read.claims, settings),
        refused=(*quoting, *over, *_cut(window)),
        topics=summaries.key_topics([turn.content for turn in window.turns], _MOST_TOPICS),
        reason=reason,
        temporary=temporary,
    )


def _seen(connection: Connection, space: str, found: revisions.Found) -> tuple[list[Said], list[Said]]:
    """The turn in which later words were found, unless it was replaced since, and those before it."""
    said = progress.standing(connection, space, found.room, after=found.place - 1, upto=found.place)
    before = progress.before(connection, space, found.room, place=found.place, most=_BEHIND)
    return [*filter(may_be_shown, said)], [*filter(may_be_shown, before)]


def _is_trusted(turn: Said) -> bool:
    """Whether a turn is free of instructions and of what others wrote; gives way before it is read."""
    replies.give_way()
    return tainted(turn) is None


def _by_model(window: Window, asker: ModelAsker, settings: Settings, now: datetime) -> WindowFindings:
    """What the model finds in a window, or the rules if it gives no answer."""
    asked = prompt(window, facts=settings.mining.facts_per_window)
    answer = asker.ask(MinedWindow, asked, source=SOURCE, session=window.session)
    if answer.value is None:
        # Over budget the rules are final; after a temporary failure the model is asked again.
        temporary = answer.temporary and answer.failure != "budget"
        found = by_rule(window, settings, now, reason=answer.reason, temporary=temporary)
    else:
        found = _read(answer.value, window, settings)
    return _with_cost(found, answer)


def _for_graph(claims: Iterable[Claim], settings: Settings) -> tuple[ProposalRow, ...]:
    """What the rules find for the graph, except quotes next to a secret."""
    return tuple(
        ProposalRow(kind="relation", body=each.body(), drawer=each.drawer, quote=each.quote)
        for each in claims
        if settings.privacy.derived == "keep" or not secrets.find(each.quote)
    )


def _says_enough(window: Window) -> bool:
    """Whether the user says enough in a window to ask a model about it."""
    return sum(len(meaningful_words(turn.content)) for turn in window.told) >= _LEAST_WORDS


def _read(told: MinedWindow, window: Window, settings: Settings) -> WindowFindings:
    checked = mining_reply.check(told, window, settings)
    kept, quoting = _without_secrets(checked.proposals, settings)
    return WindowFindings(
        path="model",
        proposals=kept,
        for_graph=tuple(checked.for_graph),
        refused=(*checked.refused, *quoting),
        topics=mining_reply.topics(told),
        subject=mining_reply.subject(told),
        feedback=mining_reply.feedback(told, window),
    )


def _of_window(proposals: Sequence[Proposal], window: Window) -> list[Proposal]:
    """Proposals based on turns of the window; the turns before it were mined already."""
    inside = {turn.drawer for turn in window.turns}
    cited = [(each, _inside(each.evidence, inside)) for each in proposals]
    return [replace(each, evidence=evidence) for each, evidence in cited if evidence]


def _inside(evidence: Sequence[Evidence], drawers: set[int]) -> tuple[Evidence, ...]:
    return tuple(each for each in evidence if each.drawer in drawers)


def _cut(window: Window) -> list[RefusedProposal]:
    """Report unread text: of very long turns, mostly pasted, only the beginning is read."""
    reason = f"longer than {turns.LONGEST:,} characters: the rest was not looked at"
    return [refusal(turn.content[turns.LONGEST :], reason) for turn in window.told if turns.is_cut(turn)]


def _without_secrets(
    proposals: Sequence[Proposal], settings: Settings
) -> tuple[tuple[Proposal, ...], list[RefusedProposal]]:
    """Proposals without secrets in their quotes: if drawers keep secrets, a quote would copy them."""
    if settings.privacy.derived == "keep":
        return tuple(proposals), []
    kept = tuple(each for each in proposals if not any(secrets.find(one.quote) for one in each.evidence))
    refused = [each for each in proposals if each not in kept]
    return kept, [refusal(each.content, "it quotes a secret") for each in refused]


def _with_cost(found: WindowFindings, answer: ModelAnswer[MinedWindow]) -> WindowFindings:
    took = {"calls": answer.calls, "input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return replace(found, **took)  # type: ignore[arg-type]


def _ids(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.id for entry in entries))


def _body(report: MiningReport) -> dict[str, Any]:
    """The activity record for the log. Entries by id only: their texts would outlive them here."""
    return {
        "path": report.path,
        "reason": report.reason,
        "places": [report.first_place, report.last_place],
        "kept": list(report.kept),
        "merged": list(report.merged),
        "known": list(report.known),
        "corrected": list(report.corrected),
        "refused": [{"content": each.content, "reason": each.reason} for each in report.refused],
        "entities": report.entities,
        "relations": report.relations,
        "topics": list(report.topics),
        "subject": report.subject,
        "calls": report.calls,
        "tokens": report.input_tokens + report.output_tokens,
    }


def _traced(space: str, mine: Callable[[], MiningReport | None]) -> MiningReport | None:
    """The result of mining a window, with a span and a log record."""
    began = perf_counter()
    with otel.step("mine", space) as span:
        report = mine()
        if report is None:
            return None
        counts: dict[str, Any] = {
            "path": report.path,
            "kept": len(report.kept),
            "merged": len(report.merged),
            "known": len(report.known),
            "corrected": len(report.corrected),
            "refused": len(report.refused),
            "relations": report.relations,
            "calls": report.calls,
        }
        span.note({**otel.named(counts), **otel.tokens(report.input_tokens, report.output_tokens)})
    say(log, logging.INFO, "mined", space=space, **counts, ms=round((perf_counter() - began) * 1000, 3))
    return report
