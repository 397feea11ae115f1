"""The enricher: entries that were saved are looked at by the model, one after the other, each once.

How far it came is noted in the transaction that writes what came of an entry: killed anywhere, it is asked about once
more. No transaction is open while the model works.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langmem_tiers.clock import Clock, from_millis, to_millis
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.knowledge import nearby
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.nearby import Embed, by_words
from langmem_tiers.knowledge.types import Activity, Entry
from langmem_tiers.llm.answers import Answer
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.llm.directives import Directives
from langmem_tiers.settings import Settings
from langmem_tiers.storage import activities, drawers, enriched, entries, mined
from langmem_tiers.storage.enriched import Task, Waits
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.telemetry.logs import say
from langmem_tiers.writing.enriching.checking import Checked, check
from langmem_tiers.writing.enriching.prompt import Ordered, prompt
from langmem_tiers.writing.enriching.settling import Settled, settle
from langmem_tiers.writing.listeners import Listener, tell

log = logging.getLogger(__name__)

ACTIVITY = "memory_enriched"
SOURCE = "memory_extract"
RULES = "memory-rules"

# What agents and users save; mining words what it finds itself.
_PATHS = frozenset({"tool", "user"})
# The calls that one question may take: itself, and a repair round.
_CALLS = 2
_CATEGORIES_SHOWN = 20
# How often the model is asked in vain about one entry, and the first pause after that; each is twice as long.
_MOST_TRIES = 5
_PAUSE = 5 * 60_000


@dataclass(frozen=True, kw_only=True)
class Enricher:
    """Enriches entries of one space."""

    store: SpaceStore
    settings: Settings
    clock: Clock
    asker: ModelAsker
    directives: Directives
    embed: Embed = by_words
    listeners: Sequence[Listener] = ()

    def next_task(self) -> Task | None:
        """The next entry to look at; what needs no look is passed over for good."""
        with self.store.reading() as connection:
            task = enriched.next_task(connection, self.store.key, paths=_PATHS)
            after = enriched.upto(connection, self.store.key)
            newest = entries.newest(connection, self.store.key)
        if task is None and newest > after:
            with self.store.writing() as connection:
                enriched.note(connection, self.store.key, newest, after=after)
        return task

    def due(self, task: Task) -> int:
        """When an entry may be looked at, in UTC milliseconds, be it past."""
        pause = _PAUSE * 2 ** (task.waits.tries - 1) if task.waits.tries else 0
        resting = self.asker.resting()
        rested = to_millis(self.clock()) + round(resting * 1000) if resting else 0
        return max(task.waits.at + pause, rested)

    def enrich(self, task: Task) -> bool:
        """Look at one entry; False where the model can not be asked now.

        Raises:
            StorageError: it is looked at again later.
        """
        session, left = self._session(task.entry)
        if left < _CALLS:
            most = self.settings.mining.calls_per_session // 2
            self._write(task, Checked(), Answer(reason=f"budget: no more than {most} calls a session"), session)
            return True
        answer = self._ask(task.entry, session)
        if answer.value is None and answer.temporary and answer.failure != "budget" and self._put_off(task, answer):
            return False
        checked = Checked() if answer.value is None else check(answer.value, task.entry, self.settings)
        self._write(task, checked, answer, session)
        return True

    def _session(self, entry: Entry) -> tuple[str | None, int]:
        """The conversation that an entry was saved in, and how many calls enriching may still take there."""
        cited = [each.drawer for each in entry.evidence]
        if not cited:
            return None, _CALLS
        with self.store.reading() as connection:
            found = drawers.read(connection, self.store.key, cited)
            session = found[cited[0]].session
            calls = mined.model_calls(connection, self.store.key, session, SOURCE)
        # The other half is left for mining, which comes later.
        return session, self.settings.mining.calls_per_session // 2 - calls

    def _ask(self, entry: Entry, session: str | None) -> Answer[Ordered]:
        with self.store.reading() as connection:
            used = entries.categories(connection, self.store.key, to_millis(self.clock()))
        shown = sorted(used, key=lambda path: (-used[path], path))[:_CATEGORIES_SHOWN]
        return self.asker.ask(Ordered, prompt(entry, self._rules(), shown), source=SOURCE, session=session)

    def _rules(self) -> str:
        try:
            return self.directives.text(RULES)
        except InvalidDirective as error:
            say(log, logging.WARNING, "directive_ignored", directive=RULES, reason=error.message)
            return Directives(None).text(RULES)

    def _put_off(self, task: Task, answer: Answer[Ordered]) -> bool:
        """Leave an entry for later, unless it was tried often enough; a model that rests was not tried."""
        tries = task.waits.tries + (answer.failure != "resting")
        if tries >= _MOST_TRIES:
            return False
        with self.store.writing() as connection:
            waits = Waits(task.entry.number, tries, to_millis(self.clock()))
            enriched.put_off(connection, self.store.key, waits)
        return True

    def _write(self, task: Task, checked: Checked, answer: Answer[Ordered], session: str | None) -> None:
        """Write down what came of an entry, unless it has changed, or somebody else was faster; then tell of it."""
        near = nearby.look(self.store, [part.content for part in checked.parts], self.embed)
        at = to_millis(self.clock())
        with self.store.writing() as connection:
            if not enriched.note(connection, self.store.key, task.entry.number, after=task.after):
                return
            ledger = Ledger(connection, self.store.key, at)
            entry = ledger.read(task.entry.id)
            if entry is None or not enriched.untouched(entry):
                return
            settled = settle(ledger, entry, checked.parts, near, least=self.settings.knowledge.merge_similarity)
            body = _body(task.entry, settled, checked, answer)
            if not _worth_telling(body):
                return
            number = activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=session)
        tell(
            self.listeners,
            Activity(number=number, at=from_millis(at), kind=ACTIVITY, session=session, body=body),
        )


def _body(entry: Entry, settled: Settled, checked: Checked, answer: Answer[Ordered]) -> dict[str, Any]:
    """What was done, as an activity keeps it. Entries by id only: their texts would outlive them here."""
    return {
        "entry": entry.id,
        "former": settled.former,
        "kept": list(settled.kept),
        "merged": list(settled.merged),
        "known": list(settled.known),
        "reason": checked.refused or settled.reason or answer.reason,
        "calls": answer.calls,
        "tokens": answer.input_tokens + answer.output_tokens,
    }


def _worth_telling(body: dict[str, Any]) -> bool:
    return bool(body["former"] or body["reason"])
