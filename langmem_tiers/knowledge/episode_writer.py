"""Writes episodes: each part of a session is archived once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import summaries, tombstones
from langmem_tiers.knowledge.summaries import SummaryDraft
from langmem_tiers.knowledge.transcript import may_be_shown
from langmem_tiers.listeners import notify
from langmem_tiers.models.chunking import split
from langmem_tiers.naming import new_id
from langmem_tiers.records import Activity, Episode, Said, Task
from langmem_tiers.storage import activities, drawers, episodes, progress
from langmem_tiers.storage.episodes import NewEpisode
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.rooms import Unfinished
from langmem_tiers.store import SpaceStore

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

ACTIVITY = "memory_archived"
_DAY = 86_400_000


@dataclass(frozen=True)
class EpisodeWriter:
    """Writes the episodes of one space."""

    context: SpaceContext
    store: SpaceStore

    def archive(self, room: Unfinished) -> Episode | None:
        """Summarise what was said in a room since it was last archived; None if there is nothing to summarise.

        Raises:
            StorageError: it is archived later.
        """
        with self.store.reading() as connection:
            said = self._said(connection, room)
        draft = summaries.draft(said, room.session, self.context.asker(self.store), self.context.settings)
        with self.store.writing() as connection:
            if self._lost(connection, said):
                return None  # something was forgotten meanwhile: it is summed up again, without that
            if not episodes.archived_to(connection, self.store.key, room, room.drawers) or draft is None:
                return None
            draft = self._cleared(connection, draft)
            if draft is None:
                return None
            count = episodes.next_count(connection, self.store.key, room.session, task=False)
            episode, activity = self._written(connection, draft, room.session, count, said)
        notify(self.context.listeners, activity)
        return episode

    def keep_summary(self, session: str, summary: str, compaction: int | None) -> Episode | None:
        """Archive an existing summary; returns the session's current episode with it, or None if that was deleted.

        Raises:
            StorageError: it is not archived.
        """
        with self.store.writing() as connection:
            key = self.store.key
            draft = self._cleared(connection, summaries.given(summary, self.context.settings))
            count = compaction
            if count is None:
                count = episodes.next_count(connection, key, session, task=False)
            known = episodes.of_session(connection, key, session, count)
            if known or episodes.buried(connection, key, session, count):
                return next(iter(known), None)
            room = next(iter(episodes.unarchived(connection, key, session)), None)
            said = [] if room is None else self._said(connection, room)
            if room is not None:
                episodes.archived_to(connection, key, room, room.drawers)
            if draft is None:
                return None
            episode, activity = self._written(connection, draft, session, count, said)
        notify(self.context.listeners, activity)
        return episode

    def said_in(self, connection: Connection, task: Task) -> list[Said]:
        """What users and assistants said in a task, without deleted content."""
        return self.shown(connection, progress.said_in_task(connection, self.store.key, task.id))

    def draft_of_task(self, said: Sequence[Said], summary: str | None) -> SummaryDraft | None:
        """The summary of a task: the given one, else what the model or the rules make of what was said in it."""
        if summary is not None:
            return summaries.given(summary, self.context.settings)
        return summaries.draft(said, "", self.context.asker(self.store), self.context.settings)

    def archive_task(
        self, connection: Connection, task: Task, draft: SummaryDraft | None, said: Sequence[Said]
    ) -> tuple[Episode, Activity] | None:
        """Archive a task in the caller's transaction, with its working state; None if there is nothing to archive.

        The archive does not expire: nothing else has the working state.
        """
        if draft is not None and draft.path != "compaction":
            draft = self._cleared(connection, draft)
        whole = summaries.with_state(draft, task.state, self.context.settings)
        if whole is None:
            return None
        count = episodes.next_count(connection, self.store.key, "", task=True)
        return self._written(connection, whole, "", count, said, task=task)

    def _said(self, connection: Connection, room: Unfinished) -> list[Said]:
        """What users and assistants said in a room since it was last archived, without deleted content."""
        standing = progress.standing(connection, self.store.key, room.room, after=room.done, upto=room.drawers)
        return self.shown(connection, standing)

    def shown(self, connection: Connection, standing: Iterable[Said]) -> list[Said]:
        """What users and assistants said in these turns, without deleted content."""
        turns = [turn for turn in standing if may_be_shown(turn)]
        left = tombstones.cleared(connection, self.store.key, [(turn.drawer, turn.content) for turn in turns])
        shown = (replace(turn, content=text) for turn, text in zip(turns, left, strict=True))
        return [turn for turn in shown if turn.content.strip()]

    def _lost(self, connection: Connection, said: Sequence[Said]) -> bool:
        """Whether some of what was read has been forgotten since."""
        numbers = {turn.drawer for turn in said}
        return len(drawers.existing(connection, self.store.key, numbers)) < len(numbers)

    def _cleared(self, connection: Connection, draft: SummaryDraft) -> SummaryDraft | None:
        """A draft without deleted content, even if deleted meanwhile; None if nothing is left of its summary."""
        if not draft.summary:
            return draft
        told = [(None, draft.summary), (None, draft.abstract)]
        summary, abstract = tombstones.cleared(connection, self.store.key, told)
        if not summary.strip():
            return None
        return replace(draft, summary=summary, abstract=abstract or summaries.abstract(summary, self.context.settings))

    def _written(
        self,
        connection: Connection,
        draft: SummaryDraft,
        session: str,
        count: int,
        said: Sequence[Said],
        *,
        task: Task | None = None,
    ) -> tuple[Episode, Activity]:
        at, limit = to_millis(self.context.clock()), self.context.settings.text.chunk_characters
        days = None if task is not None else self.context.settings.episodes.ttl_days
        if task is None:
            project, within = drawers.project_and_task(connection, self.store.key, [turn.drawer for turn in said])
        else:
            project, within = task.project, task.id
        new = NewEpisode(
            id=new_id(),
            session=session,
            compaction=count,
            project=project,
            task=within,
            summary=draft.summary,
            abstract=draft.abstract,
            topics=draft.topics,
            path=draft.path,
            first_drawer=said[0].drawer if said else None,
            last_drawer=said[-1].drawer if said else None,
            expires_at=None if days is None else at + round(days * _DAY),
        )
        title = "" if task is None else task.title
        texts = searched_texts(new.summary, new.abstract, new.topics, title, limit)
        episode = episodes.put(connection, self.store.key, new, texts, at)
        body: dict[str, Any] = {"episode": episode.id, "task": within, "path": draft.path}
        body |= {"reason": draft.reason, "calls": draft.calls, "tokens": draft.tokens}
        return episode, activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=session or None)


def searched_texts(summary: str, abstract: str, topics: Sequence[str], title: str, limit: int) -> list[NoteText]:
    """The searchable texts of an episode: its abstract, and its summary in pieces of at most `limit` characters.

    Without a summary they are its topics. That of a task has its `title` before the abstract.
    """
    pieces = [summary[start:stop].strip() for start, stop in split(summary, limit)] if summary else [", ".join(topics)]
    known = any(abstract.rstrip("…") in piece for piece in pieces)
    first = f"{title.rstrip(' .:')}: {abstract}" if title else "" if known else abstract
    tags = " ".join((*topics, title)).strip()
    return [NoteText(text=text, tags=tags) for text in (*((first,) if first else ()), *pieces)]
