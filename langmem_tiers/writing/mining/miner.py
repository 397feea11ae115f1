"""The miner: window after window is looked at, what is found lands in the knowledge, and a report says what did.

A window is noted as mined together with its activity, after its facts have landed: a miner that is killed in between
looks at it once more, and finds its facts there. No transaction is open while a model or an embedder works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, from_millis, to_millis
from langmem_tiers.knowledge import intake
from langmem_tiers.knowledge.nearby import Embed, by_words
from langmem_tiers.knowledge.types import Activity, Authority, Entry, Landed
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.settings import Settings
from langmem_tiers.storage import activities, mined
from langmem_tiers.storage.mined import Again, MinedPath, Waiting
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.telemetry import figures
from langmem_tiers.trust.taint import derived_trust
from langmem_tiers.types import Origin
from langmem_tiers.writing.listeners import Listener, tell
from langmem_tiers.writing.mining import edits, looking, placing, reading, windows
from langmem_tiers.writing.mining.types import Found, MiningReport, RefusedProposal, Window

ACTIVITY = "memory_mined"

# The calls that one question may take: itself, and a repair round.
_CALLS = 2


@dataclass(frozen=True, kw_only=True)
class Miner:
    """Mines windows of one space; `asker` is None where there is no model."""

    store: SpaceStore
    settings: Settings
    clock: Clock
    asker: ModelAsker | None = None
    embed: Embed = by_words
    listeners: Sequence[Listener] = ()

    def windows(self, room: Waiting) -> Iterator[Window]:
        """What of a room is not mined yet, each part read when the one before it is done with."""
        done = room.mined
        while done < room.drawers:
            with self.store.reading() as connection:
                rest, most = room._replace(mined=done), self.settings.mining.window_turns
                window = windows.next_window(connection, self.store.key, rest, most=most)
            yield window
            done = window.last_place

    def mine(self, window: Window) -> MiningReport | None:
        """Mine turns that were not mined yet; None where they say nothing, or somebody else was faster.

        Raises:
            StorageError: the window is mined again later.
        """
        if not window.told:
            self._note(window, "rule")
            return None
        return figures.mine(self.store.name, lambda: self._first_look(window))

    def _first_look(self, window: Window) -> MiningReport | None:
        found = self._look(window)
        path: MinedPath = "again" if found.temporary else found.path
        landed = self._land(window, found)
        return self._report(window, found, landed, lambda connection, at: self._mined(connection, window, path, at))

    def mine_again(self, once: Again) -> MiningReport | None:
        """Ask the model about turns that were mined while it was away; None where it has no answer now either.

        Raises:
            StorageError: it is asked again later.
        """
        return figures.mine(self.store.name, lambda: self._second_look(once))

    def _second_look(self, once: Again) -> MiningReport | None:
        with self.store.reading() as connection:
            window = windows.same_window(connection, self.store.key, once)
        found = self._look(window) if window.told else Found(path="rule")
        if found.path == "rule":
            path: MinedPath = "again" if found.temporary else "rule"
            with self.store.writing() as connection:
                mined.note_again(connection, self.store.key, once, path=path, at=to_millis(self.clock()))
            return None
        landed = self._land(window, found)
        return self._report(window, found, landed, lambda connection, at: self._mined_again(connection, once, at))

    def _look(self, window: Window) -> Found:
        now = self.clock()
        if self.asker is None or not looking.says_enough(window):
            return looking.by_rule(window, self.settings, now)
        with self.store.reading() as connection:
            calls = mined.model_calls(connection, self.store.key, window.session, looking.SOURCE)
        most = self.settings.mining.calls_per_session
        if calls + _CALLS > most:
            return looking.by_rule(window, self.settings, now, reason=f"budget: no more than {most} calls a session")
        return looking.by_model(window, self.asker, self.settings, now)

    def _land(self, window: Window, found: Found) -> Landed:
        return intake.take_in(
            self.store,
            found.proposals,
            authority=Authority.SYSTEM,
            origin=_origin(window),
            settings=self.settings,
            now=self.clock(),
            session=window.session,
            embed=self.embed,
        )

    def _note(self, window: Window, path: MinedPath) -> None:
        with self.store.writing() as connection:
            self._mined(connection, window, path, to_millis(self.clock()))

    def _mined(self, connection: Connection, window: Window, path: MinedPath, at: int) -> bool:
        places = (window.first_place, window.last_place)
        return mined.note(connection, self.store.key, window.room, *places, path=path, at=at)

    def _mined_again(self, connection: Connection, once: Again, at: int) -> bool:
        return mined.note_again(connection, self.store.key, once, path="model", at=at)

    def _report(
        self, window: Window, found: Found, landed: Landed, note: Callable[[Connection, int], bool]
    ) -> MiningReport | None:
        """Note that a window is mined, with what it brought for the graph and the activity; then tell of it."""
        report = _made(window, found, landed)
        at, body = to_millis(self.clock()), _body(report)
        with self.store.writing() as connection:
            if not note(connection, at):
                return None
            mined.propose(connection, self.store.key, found.for_graph, path=found.path, at=at)
            placing.place(connection, self.store.key, window, found, kind=ACTIVITY, at=at)
            number = activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=window.session)
        activity = Activity(number=number, at=from_millis(at), kind=ACTIVITY, session=window.session, body=body)
        tell(self.listeners, activity)
        return report


def mine(miner: Miner, session: str | None = None) -> tuple[MiningReport, ...]:
    """Mine all that is not mined yet, of a session or of the space, whether it paused or not; what was done.

    Mining again does nothing, but for turns about which the model could not be asked: it is asked again, once a call.

    Raises:
        StorageError: the rest is mined later.
    """
    while edits.follow(miner.store, to_millis(miner.clock())):
        pass
    with miner.store.reading() as connection:
        rooms = mined.waiting(connection, miner.store.key, session)
        again = mined.again(connection, miner.store.key, session) if miner.asker else []
    reports = [miner.mine_again(once) for once in again]
    reports += [miner.mine(window) for room in rooms for window in miner.windows(room)]
    return tuple(report for report in reports if report is not None)


def _origin(window: Window) -> Origin:
    """That of the least trusted of the user's turns: what is derived is trusted no more than what it rests on."""
    return derived_trust(turn.origin for turn in window.told)


def _made(window: Window, found: Found, landed: Landed) -> MiningReport:
    # What was deleted leaves no words, here neither.
    refused = [
        reading.refusal("" if each.reason == intake.DELETED else each.proposal.content, each.reason)
        for each in landed.refused
    ]
    kinds = [each.kind for each in found.for_graph]
    return MiningReport(
        session=window.session,
        first_place=window.first_place,
        last_place=window.last_place,
        path=found.path,
        kept=_ids(landed.kept),
        merged=_ids(landed.merged),
        known=_ids(landed.known),
        corrected=landed.corrected,
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


def _ids(landed: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entry.id for entry in landed))


def _body(report: MiningReport) -> dict[str, Any]:
    """The report as an activity keeps it. Entries by id only: their texts would outlive them here."""
    return {
        "path": report.path,
        "reason": report.reason,
        "places": [report.first_place, report.last_place],
        "kept": list(report.kept),
        "merged": list(report.merged),
        "known": list(report.known),
        "corrected": list(report.corrected),
        "refused": [_told(each) for each in report.refused],
        "entities": report.entities,
        "relations": report.relations,
        "topics": list(report.topics),
        "subject": report.subject,
        "calls": report.calls,
        "tokens": report.input_tokens + report.output_tokens,
    }


def _told(refused: RefusedProposal) -> dict[str, str]:
    return {"content": refused.content, "reason": refused.reason}
