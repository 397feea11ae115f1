"""The archivist: writes episodes of what was said and is in none yet, each once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, from_millis, to_millis
from langmem_tiers.episodes import drafting
from langmem_tiers.episodes.drafting import Draft
from langmem_tiers.episodes.findable import findable
from langmem_tiers.episodes.types import Episode
from langmem_tiers.knowledge import forgetting
from langmem_tiers.knowledge.types import Activity
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.settings import Settings
from langmem_tiers.storage import activities, episodes, mined
from langmem_tiers.storage.episodes import Ended, NewEpisode
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing.listeners import Listener, tell
from langmem_tiers.writing.mining.windows import may_be_shown
from langmem_tiers.writing.proposals import Said

ACTIVITY = "memory_archived"
_DAY = 86_400_000


class _Written(NamedTuple):
    """An episode that was stored, and what is to be told of it once that is so."""

    episode: Episode
    activity: Activity


@dataclass(frozen=True, kw_only=True)
class Archivist:
    """Writes the episodes of one space; `asker` is None where there is no model."""

    store: SpaceStore
    settings: Settings
    clock: Clock
    asker: ModelAsker | None = None
    listeners: Sequence[Listener] = ()

    def archive(self, room: Ended) -> Episode | None:
        """Sum up what was said in a room since it was last archived; None where there is nothing to tell.

        Raises:
            StorageError: it is done later.
        """
        said = self._said(room)
        draft = drafting.draft(said, room.session, self.asker, self.settings)
        with self.store.writing() as connection:
            if not episodes.archived_to(connection, self.store.key, room, room.drawers) or draft is None:
                return None
            draft = self._cleared(connection, draft)
            if draft is None:
                return None
            count = episodes.next_count(connection, self.store.key, room.session, task=False)
            written = self._written(connection, draft, room.session, count, said)
        return self._told(written)

    def keep_summary(self, session: str, summary: str, compaction: int | None) -> Episode | None:
        """Archive a summary that is there already; the one that stands where the session has it, None if deleted.

        Raises:
            StorageError: it is not archived.
        """
        with self.store.writing() as connection:
            key = self.store.key
            draft = self._cleared(connection, drafting.given(summary, self.settings))
            count = compaction
            if count is None:
                count = episodes.next_count(connection, key, session, task=False)
            known = episodes.of_session(connection, key, session, count)
            if known or episodes.buried(connection, key, session, count):
                return next(iter(known), None)
            room = next(iter(episodes.unarchived(connection, key, session)), None)
            said = [] if room is None else self._of_room(connection, room)
            if room is not None:
                episodes.archived_to(connection, key, room, room.drawers)
            if draft is None:
                return None
            written = self._written(connection, draft, session, count, said)
        return self._told(written)

    def keep_task(self, task: str, text: str, session: str) -> Episode:
        """Archive what a task came to; the episode that stands where the same was archived before.

        Raises:
            StorageError: it is not archived.
        """
        task = drafting.unsecret(task, self.settings)
        draft = drafting.given(text, self.settings)
        with self.store.writing() as connection:
            of_session = episodes.of_session(connection, self.store.key, session)
            known = (each for each in of_session if each.task == task and each.summary == draft.summary)
            if (same := next(known, None)) is not None:
                return same
            count = episodes.next_count(connection, self.store.key, session, task=True)
            written = self._written(connection, draft, session, count, (), task=task)
        return self._told(written)

    def _said(self, room: Ended) -> list[Said]:
        with self.store.reading() as connection:
            return self._of_room(connection, room)

    def _of_room(self, connection: Connection, room: Ended) -> list[Said]:
        """What users and assistants said in a room since it was last archived, without what was deleted."""
        standing = mined.standing(connection, self.store.key, room.room, after=room.archived, upto=room.drawers)
        turns = [turn for turn in standing if may_be_shown(turn)]
        left = forgetting.cleared(connection, self.store.key, [(turn.drawer, turn.content) for turn in turns])
        shown = (replace(turn, content=text) for turn, text in zip(turns, left, strict=True))
        return [turn for turn in shown if turn.content.strip()]

    def _cleared(self, connection: Connection, draft: Draft) -> Draft | None:
        """A draft without what was deleted, also while it was made; None where nothing is left."""
        told = [(None, draft.summary), (None, draft.abstract)]
        summary, abstract = forgetting.cleared(connection, self.store.key, told)
        if not summary.strip():
            return None
        return replace(draft, summary=summary, abstract=abstract or drafting.abstract(summary, self.settings))

    def _written(
        self,
        connection: Connection,
        draft: Draft,
        session: str,
        count: int,
        said: Sequence[Said],
        *,
        task: str | None = None,
    ) -> _Written:
        at, limit = to_millis(self.clock()), self.settings.text.chunk_characters
        days = self.settings.episodes.ttl_days
        new = NewEpisode(
            id=secrets.token_hex(6),
            session=session,
            compaction=count,
            task=task,
            summary=draft.summary,
            abstract=draft.abstract,
            topics=draft.topics,
            path=draft.path,
            first_drawer=said[0].drawer if said else None,
            last_drawer=said[-1].drawer if said else None,
            expires_at=None if days is None else at + round(days * _DAY),
        )
        episode = episodes.put(
            connection, self.store.key, new, findable(new.summary, new.abstract, new.topics, new.task, limit), at
        )
        told: dict[str, Any] = {"kind": ACTIVITY, "session": session or None, "body": _body(episode, draft)}
        number = activities.append(connection, self.store.key, at=at, **told)
        return _Written(episode, Activity(number=number, at=from_millis(at), **told))

    def _told(self, written: _Written) -> Episode:
        tell(self.listeners, written.activity)
        return written.episode


def _body(episode: Episode, draft: Draft) -> dict[str, Any]:
    return {
        "episode": episode.id,
        "task": episode.task,
        "path": episode.path,
        "reason": draft.reason,
        "calls": draft.calls,
        "tokens": draft.tokens,
    }
