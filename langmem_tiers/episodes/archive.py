"""The archive of a space: writing, finding, keeping and deleting episodes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.episodes.archivist import Archivist
from langmem_tiers.episodes.types import Episode, EpisodeFound
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge.nearby import terms
from langmem_tiers.storage import dreams, episodes
from langmem_tiers.storage.change_log import moment
from langmem_tiers.twins import twin

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.storage.store import SpaceStore
    from langmem_tiers.writing.listeners import Listener

# Notes looked at before the filters: enough that a filter leaves something.
_MOST = 1000
_DECIMALS = 4
_LONGEST_SUMMARY = 20_000


class Episodes:
    """What was done and said in earlier sessions: a summary of each, with topics and a one-sentence abstract.

    Sessions are archived in the background when they end. Episodes expire (`Settings.episodes.ttl_days`) unless they
    are kept. Every method has an asynchronous twin: `awrite`, `asearch` and so on.

    Example:
        >>> archive = Episodes(memory.user("alice"))
        >>> fixed = archive.archive_task("login", "The login failed on old cookies; they are cleared now.")
        >>> [found.episode.task for found in archive.search("How did we fix the login?")]
        ['login']
    """

    def __init__(self, space: Space, listeners: Sequence[Listener] = ()) -> None:
        self.space = space
        self._listeners = listeners

    def __repr__(self) -> str:
        return f"Episodes({self.space.name!r})"

    def write(self, session: str, *, summary: str | None = None, compaction: int | None = None) -> Episode | None:
        """Archive what was said in a session since it was last archived; None where there is nothing to tell.

        Args:
            session: The conversation.
            summary: One that is there already, such as that of a compaction; without it, the model writes one within
                `Settings.episodes`, else it is made of what was said.
            compaction: How many summaries the session had before. The same session and count are archived once, and
                not again after they were deleted; None counts on.

        Raises:
            InvalidInput: the summary is blank or longer than 20,000 characters.
        """
        _require_name(session, "session")
        count = arguments.optional_whole(compaction, "compaction", least=0)
        with self._archivist() as archivist:
            if summary is not None:
                return archivist.keep_summary(session, _text(summary, "summary"), count)
            store = archivist.store
            with store.reading() as connection:
                known = [] if count is None else episodes.of_session(connection, store.key, session, count)
                rooms = episodes.unarchived(connection, store.key, session)
            if known or not rooms:
                return next(iter(known), None)
            return archivist.archive(rooms[0])

    def archive_task(self, task: str, text: str, *, session: str | None = None) -> Episode:
        """Archive what a task came to; the same text of the same task once.

        Raises:
            InvalidInput: the name or the text is blank, or the text longer than 20,000 characters.
        """
        _require_name(task, "task")
        said_in = arguments.optional_text(session, "session") or ""
        with self._archivist() as archivist:
            return archivist.keep_task(task, _text(text, "text"), said_in)

    def get(self, episode_id: str) -> Episode | None:
        """The episode of an id, None when there is none."""
        wanted = arguments.text(episode_id, "episode_id")
        with self._store() as store, store.reading() as connection:
            return episodes.by_ids(connection, store.key, [wanted]).get(wanted)

    def search(
        self, query: str, *, limit: int = 5, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[EpisodeFound, ...]:
        """The episodes that fit a query by words and meaning, best first; without one, those that ended last.

        Args:
            query: What is asked.
            limit: Most episodes.
            since: Leave out what ended before.
            until: Leave out what began later.

        Raises:
            NaiveDatetime: a time has no zone.
            InvalidInput: the limit is below 1, or the query no text.
        """
        asked, most = arguments.any_text(query, "query"), arguments.whole(limit, "limit", least=1)
        if not asked.strip():
            return tuple(EpisodeFound(episode=each) for each in self.recent(most, since=since, until=until))
        at, first, last = self._now(), _millis(since, "since"), _millis(until, "until")
        vector = self.space.memory.embedder_of(self.space.name).query(asked)[0]
        with self._store() as store, store.reading() as connection:
            now = moment(connection, store.key)
            hits = store.notes.search(now, terms(asked), vector, _MOST, kinds={"episode"})
            best = {hit.ref: hit for hit in reversed(hits)}  # of several pieces the best one
            held = episodes.holding(connection, store.key, best.keys(), at=at, since=first, until=last)
        ranked = sorted(held.values(), key=lambda each: (-best[each.id].score, -each.number))[:most]
        return tuple(
            EpisodeFound(
                episode=each,
                score=round(best[each.id].score, _DECIMALS),
                channels=_channels(best[each.id].keyword, best[each.id].vector),
            )
            for each in ranked
        )

    def recent(
        self, limit: int = 5, *, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[Episode, ...]:
        """The episodes that ended last, newest first.

        Raises:
            NaiveDatetime: a time has no zone.
            InvalidInput: the limit is below 1.
        """
        most = arguments.whole(limit, "limit", least=1)
        at, first, last = self._now(), _millis(since, "since"), _millis(until, "until")
        with self._store() as store, store.reading() as connection:
            return tuple(episodes.latest(connection, store.key, most, at=at, since=first, until=last))

    def of_session(self, session: str) -> tuple[Episode, ...]:
        """The episodes of a session, in the order they were archived."""
        wanted = arguments.text(session, "session")
        with self._store() as store, store.reading() as connection:
            return tuple(episodes.of_session(connection, store.key, wanted))

    def keep(self, episode_id: str) -> Episode | None:
        """Let an episode never expire; the episode, None when there is none."""
        wanted = arguments.text(episode_id, "episode_id")
        with self._store() as store, store.writing() as connection:
            known = episodes.by_ids(connection, store.key, [wanted]).get(wanted)
            if known is not None and known.expires_at is not None:
                episodes.keep(connection, store.key, known.number)
            return episodes.by_ids(connection, store.key, [wanted]).get(wanted)

    def delete(self, episode_id: str) -> bool:
        """Delete an episode with all that it is found by, so that it is not written again; whether there was one.

        What was said stays in the drawers.
        """
        unwanted = arguments.text(episode_id, "episode_id")
        with self._store() as store, store.writing() as connection:
            gone = list(episodes.by_ids(connection, store.key, [unwanted]).values())
            for each in gone:
                episodes.bury(connection, store.key, each, self._now())
            episodes.remove(connection, store.key, gone, self._now())
            dreams.forget(connection, store.key, [each.id for each in gone])
        return bool(gone)

    def prune(self) -> int:
        """Delete the episodes that have expired; how many. The background does so as well."""
        with self._store() as store, store.writing() as connection:
            gone = episodes.expired(connection, store.key, self._now())
            episodes.remove(connection, store.key, gone, self._now())
        return len(gone)

    def count_recalled(self, ids: Collection[str]) -> None:
        """Note that episodes were shown to a model."""
        shown = arguments.texts(ids, "ids")
        with self._store() as store, store.writing(durable=False) as connection:
            episodes.count_recalled(connection, store.key, shown, self._now())

    awrite = twin(write)
    aarchive_task = twin(archive_task)
    aget = twin(get)
    asearch = twin(search)
    arecent = twin(recent)
    aof_session = twin(of_session)
    akeep = twin(keep)
    adelete = twin(delete)
    aprune = twin(prune)
    acount_recalled = twin(count_recalled)

    @contextmanager
    def _store(self) -> Iterator[SpaceStore]:
        with self.space.memory.use(self.space.name) as store:
            yield store

    @contextmanager
    def _archivist(self) -> Iterator[Archivist]:
        """What writes episodes; the background then gives what is new its vectors."""
        memory = self.space.memory
        with self._store() as store:
            yield Archivist(
                store=store,
                settings=memory.settings,
                clock=memory.clock,
                asker=memory.asker(store),
                listeners=self._listeners,
            )
        memory.wake(self.space.name)

    def _now(self) -> int:
        return to_millis(self.space.memory.clock())


def _millis(given: datetime | None, name: str) -> int | None:
    return None if given is None else to_millis(arguments.moment(given, name))


def _channels(keyword: float | None, vector: float | None) -> dict[str, float]:
    known = {"keyword": keyword, "vector": vector}
    return {name: round(share, _DECIMALS) for name, share in known.items() if share is not None}


def _require_name(name: str, what: str) -> None:
    if not arguments.text(name, what).strip():
        raise InvalidInput(f"The name of the {what} is blank.", way_out=f"Name the {what}.")


def _text(given: str, what: str) -> str:
    if not arguments.text(given, what).strip():
        raise InvalidInput(f"The {what} is blank.", way_out="Say in a few sentences what was done.")
    if len(given) > _LONGEST_SUMMARY:
        raise InvalidInput(f"The {what} has {len(given):,} characters.", way_out="Keep it under 20,000 characters.")
    return given
