"""Enriching: a model cleans hastily saved entries, splits them into single facts and files them, in the background.

Each entry is processed once. Progress is recorded in the transaction that writes the result: after a crash, the
model is asked about that entry once more. No transaction is open while the model works.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langmem_tiers.clock import paused, to_millis
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.knowledge import lifecycle, tombstones
from langmem_tiers.knowledge.decide import ExistingKnowledge
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.neighbours import Neighbours, embed_with, find_neighbours
from langmem_tiers.knowledge.results import Saved
from langmem_tiers.listeners import notify
from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.calls import ModelAnswer
from langmem_tiers.models.directives import Directives
from langmem_tiers.naming import new_id
from langmem_tiers.records import Entry
from langmem_tiers.storage import activities, drawers, entries, progress
from langmem_tiers.storage.progress import Task, Waits
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry.logs import say
from langmem_tiers.writing.enriching_reply import Checked, Ordered, Part, check, prompt

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext

log = logging.getLogger(__name__)

ACTIVITY = "memory_enriched"
SOURCE = "memory_extract"
RULES = "memory-rules"

# Origins: agents and users; mined facts are already well worded.
_PATHS = frozenset({"tool", "user"})
# Calls per question: the question itself, and one repair round.
_CALLS = 2
_CATEGORIES_SHOWN = 20
# How many failed attempts are made per entry, and the pause after the first; each further pause is twice as long.
_MOST_TRIES = 5
_PAUSE = 5 * 60_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Enriched:
    """The outcome of enriching an entry: where its facts are now, and the inactive copy of its former content.

    `kept` are new entries, `known` existing ones that already say one of its facts, `merged` those merged with one.
    `reason` says why nothing was done.
    """

    former: str | None = None
    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Enricher:
    """Enriches entries of one space."""

    context: SpaceContext
    store: SpaceStore
    asker: ModelAsker

    @classmethod
    def of(cls, context: SpaceContext, store: SpaceStore) -> Enricher | None:
        """The enricher of an open space, None if there is no model."""
        asker = context.asker(store)
        enabled = asker is not None and context.settings.knowledge.enrich
        return cls(context=context, store=store, asker=asker) if enabled and asker else None

    def next_task(self) -> Task | None:
        """The next entry to enrich; unsuitable entries are skipped for good."""
        with self.store.reading() as connection:
            task = self.waiting(connection)
            after = progress.enriched_upto(connection, self.store.key)
            newest = entries.newest(connection, self.store.key)
        if task is None and newest > after:
            with self.store.writing() as connection:
                progress.note_enriched(connection, self.store.key, newest, after=after)
        return task

    def waiting(self, connection: Connection) -> Task | None:
        """The next entry to enrich, for whoever only wants to know."""
        return progress.next_to_enrich(connection, self.store.key, paths=_PATHS)

    def due(self, task: Task) -> int:
        """When the entry may be enriched, in UTC milliseconds; may be in the past."""
        pause = _PAUSE * 2 ** (task.waits.tries - 1) if task.waits.tries else 0
        resting = self.asker.resting()
        now = to_millis(self.context.clock())
        return max(paused(task.waits.at, pause, now), now + round(resting * 1000) if resting else 0)

    def enrich(self, task: Task) -> bool:
        """Enrich one entry; False if the model is unavailable.

        Raises:
            StorageError: it is enriched later.
        """
        session, left = self._session(task.entry)
        if left < _CALLS:
            most = self.context.settings.mining.calls_per_session // 2
            self._write(task, Checked(), ModelAnswer(reason=f"budget: no more than {most} calls a session"), session)
            return True
        answer = self._ask(task.entry, session)
        if answer.value is None and answer.temporary and answer.failure != "budget" and self._put_off(task, answer):
            return False
        checked = Checked() if answer.value is None else check(answer.value, task.entry, self.context.settings)
        self._write(task, checked, answer, session)
        return True

    def _session(self, entry: Entry) -> tuple[str | None, int]:
        """The conversation an entry was saved in, and how many calls are left there for enriching."""
        cited = [each.drawer for each in entry.evidence]
        if not cited:
            return None, _CALLS
        with self.store.reading() as connection:
            found = drawers.read(connection, self.store.key, cited)
            session = found[cited[0]].session
            calls = progress.model_calls(connection, self.store.key, session, SOURCE)
        # The other half of the budget is left to mining, which comes later.
        return session, self.context.settings.mining.calls_per_session // 2 - calls

    def _ask(self, entry: Entry, session: str | None) -> ModelAnswer[Ordered]:
        with self.store.reading() as connection:
            used = entries.categories(connection, self.store.key, to_millis(self.context.clock()))
        shown = sorted(used, key=lambda path: (-used[path], path))[:_CATEGORIES_SHOWN]
        return self.asker.ask(Ordered, prompt(entry, self._rules(), shown), source=SOURCE, session=session)

    def _rules(self) -> str:
        try:
            return Directives(self.context.folder, self.context.settings.directives).text(RULES)
        except InvalidDirective as error:
            say(log, logging.WARNING, "directive_ignored", directive=RULES, reason=error.message)
            return Directives(None).text(RULES)

    def _put_off(self, task: Task, answer: ModelAnswer[Ordered]) -> bool:
        """Retry later, unless there were too many attempts; a paused model does not count as an attempt."""
        tries = task.waits.tries + (answer.failure != "resting")
        if tries >= _MOST_TRIES:
            return False
        with self.store.writing() as connection:
            waits = Waits(task.entry.number, tries, to_millis(self.context.clock()))
            progress.put_off(connection, self.store.key, waits)
        return True

    def _write(self, task: Task, checked: Checked, answer: ModelAnswer[Ordered], session: str | None) -> None:
        """Write the result and notify listeners, unless the entry has changed or another process was faster."""
        near = find_neighbours(self.store, [part.content for part in checked.parts], embed_with(self.context.embedder))
        at = to_millis(self.context.clock())
        with self.store.writing() as connection:
            if not progress.note_enriched(connection, self.store.key, task.entry.number, after=task.after):
                return
            writer = EntryWriter(connection, self.store.key, at)
            entry = writer.read(task.entry.id)
            if entry is None or not progress.untouched(entry):
                return
            enriched_to = _divide(
                writer, entry, checked.parts, near, least=self.context.settings.knowledge.merge_similarity
            )
            body = _body(task.entry, enriched_to, checked, answer)
            if not _worth_telling(body):
                return
            activity = activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=session)
        notify(self.context.listeners, activity)


def _divide(writer: EntryWriter, entry: Entry, parts: Sequence[Part], near: Neighbours, *, least: float) -> Enriched:
    """Split an entry into its parts. Its former content is kept as an inactive entry, so that this can be undone."""
    if not parts or list(parts) == [Part(content=entry.content, category=entry.category, tags=entry.tags)]:
        return Enriched()
    met = {part: _known(writer, entry, part, near) for part in parts}
    if reason := next(filter(None, (_reason_against(writer, entry, part, met[part]) for part in parts)), None):
        return Enriched(reason=reason)
    holders = {part: known.holder for part, known in met.items() if known.holder and known.holder.id != entry.id}
    for holder in holders.values():
        writer.join(holder, entry.evidence)
    told = tuple(dict.fromkeys(holder.id for holder in holders.values()))
    new = [part for part in parts if part not in holders]
    if not new:
        writer.retire(entry, "enriched", told[0])
        return Enriched(former=entry.id, known=told)
    former = lifecycle.keep_former(writer, entry, "enriched")
    _take_place(writer, entry, new[0])
    others = [_beside(writer, entry, part, near, least) for part in new[1:]]
    kept = [each.entry.id for each in others if each.outcome == "saved"]
    merged = [each.entry.id for each in others if each.outcome == "merged"]
    return Enriched(former=former.id, kept=(entry.id, *kept), merged=tuple(merged), known=told)


def _known(writer: EntryWriter, entry: Entry, part: Part, near: Neighbours) -> ExistingKnowledge:
    return writer.known(part.content, project=entry.project, agent=entry.agent, neighbours=near)


def _beside(writer: EntryWriter, entry: Entry, part: Part, near: Neighbours, least: float) -> Saved:
    """Store a part as an entry of its own, or merge it with another wording."""
    known = ExistingKnowledge(near=_known(writer, entry, part, near).near)
    new = entry.copy(id=new_id(), content=part.content, category=part.category, tags=part.tags, path="model")
    return writer.place(new, entry.evidence, known, least=least)


def _reason_against(writer: EntryWriter, entry: Entry, part: Part, known: ExistingKnowledge) -> str | None:
    """Why a part may not become an entry although the whole was saved, or None."""
    if part.content == entry.content:
        return None
    if tombstones.is_buried(writer, part.content):
        return "a part of it was deleted before"
    if known.twin is not None and known.holder is None:
        return f"a part of it was put aside before: {known.twin.reason}"
    return None


def _take_place(writer: EntryWriter, entry: Entry, part: Part) -> Entry:
    values = {"category": part.category, "tags": part.tags}
    if part.content != entry.content:
        values |= {"content": part.content, "path": "model"}
    return writer.change(entry, **values)


def _body(entry: Entry, enriched_to: Enriched, checked: Checked, answer: ModelAnswer[Ordered]) -> dict[str, Any]:
    """The activity record. Entries by id only: their texts would outlive them here."""
    return {
        "entry": entry.id,
        "former": enriched_to.former,
        "kept": list(enriched_to.kept),
        "merged": list(enriched_to.merged),
        "known": list(enriched_to.known),
        "reason": checked.refused or enriched_to.reason or answer.reason,
        "calls": answer.calls,
        "tokens": answer.input_tokens + answer.output_tokens,
    }


def _worth_telling(body: dict[str, Any]) -> bool:
    return bool(body["former"] or body["reason"])
