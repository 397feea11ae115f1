"""The archive of a space: writing, finding, keeping and deleting episodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import standing, validation
from langmem_tiers.knowledge.episode_writer import EpisodeWriter
from langmem_tiers.knowledge.fallbacks import first_of, search_all
from langmem_tiers.knowledge.results import EpisodeFound
from langmem_tiers.knowledge.search import DECIMALS, MOST, channels, terms
from langmem_tiers.knowledge.summaries import checked
from langmem_tiers.records import Episode
from langmem_tiers.storage import dreams, episodes, purging, receipts
from langmem_tiers.storage.change_log import moment
from langmem_tiers.twins import twin

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.storage.embedding_cache import Vectors


class Episodes:
    """What happened in earlier sessions: a summary of each, with topics and a one-sentence abstract.

    Sessions are archived in the background when they end, tasks when they are closed (`space.tasks`). Episodes of
    sessions expire (`Settings.episodes.ttl_days`) unless they are kept. Every method has an asynchronous twin:
    `awrite`, `asearch` and so on.

    Example:
        >>> alice = memory.user("alice")
        >>> fixed = alice.tasks.start("Login", id="login")
        >>> fixed = alice.tasks.complete("login", summary="The login failed on old cookies; they are cleared now.")
        >>> [found.episode.task for found in alice.archive.search("How did we fix the login?")]
        ['login']
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Episodes({self._context.name!r})"

    def write(self, session: str, *, summary: str | None = None, compaction: int | None = None) -> Episode | None:
        """Archive what was said in a session since it was last archived; None if there is nothing to archive.

        Args:
            session: The conversation.
            summary: An existing one, such as that of a compaction; without it, the model writes one within
                `Settings.episodes`, or it is extracted from what was said.
            compaction: How many summaries the session had before. The same session and count are archived only once,
                even if deleted since; None counts on.

        Raises:
            InvalidInput: the summary is blank or longer than 20,000 characters.
        """
        if not arguments.text(session, "session").strip():
            raise InvalidInput("The name of the session is blank.", way_out="Name the session.")
        count = arguments.optional_whole(compaction, "compaction", least=0)
        with self._writer() as writer:
            if summary is not None:
                return writer.keep_summary(session, checked(summary, "summary"), count)
            store = writer.store
            with store.reading() as connection:
                known = [] if count is None else episodes.of_session(connection, store.key, session, count)
                rooms = episodes.unarchived(connection, store.key, session)
            if known or not rooms:
                return next(iter(known), None)
            return writer.archive(rooms[0])

    def get(self, episode_id: str) -> Episode | None:
        """The episode with this id, in the space or else in a fallback, or None; an id may name its space.

        Raises:
            InvalidPointer: it names a space that is neither.
        """
        return first_of(self._context, arguments.text(episode_id, "episode_id"), _episode)

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        task: str | None = None,
    ) -> tuple[EpisodeFound, ...]:
        """The episodes that match a query by words and meaning, best first; without one, the latest.

        They are those of the space and of its fallbacks, of which the own count more.

        Args:
            query: The search text.
            limit: Maximum number of episodes.
            since: Leave out episodes that ended before.
            until: Leave out episodes that began later.
            project: Only episodes of this project.
            task: Only episodes of the task with this id: its archive, and those of sessions that were all about it.

        Raises:
            NaiveDatetime: a time has no zone.
            InvalidPeriod: `since` is after `until`.
            InvalidInput: the limit is below 1, or the query is not a string.
        """
        about = _about(project, task)
        asked, most = arguments.any_text(query, "query"), arguments.whole(limit, "limit", least=1)
        first, last = validation.period(since, until)
        vector = self._context.embedder.query(asked)[0] if asked.strip() else None

        def found_in(source: SpaceContext) -> tuple[EpisodeFound, ...]:
            archive = Episodes(source)
            if asked.strip():
                return archive._matching(asked, vector, most, since=first, until=last, **about)
            latest = archive.recent(most, since=since, until=until, **about)
            over = archive.ended(latest)
            return tuple(EpisodeFound(episode=each, ended=over[each.id]) for each in latest)

        order = _best_first if asked.strip() else _latest_first
        return search_all(self._context, found_in, text=lambda each: each.episode.summary, order=order, limit=most)

    def _matching(self, asked: str, vector: Vectors | None, most: int, **filters: Any) -> tuple[EpisodeFound, ...]:
        with self._context.open() as store, store.reading() as connection:
            now = moment(connection, store.key)
            hits = store.search_notes(now, terms(asked), vector, MOST, kinds={"episode"})
            best = {hit.ref: hit for hit in reversed(hits)}  # the best of several pieces
            held = episodes.holding(connection, store.key, best.keys(), at=self._now(), **filters)
            over = standing.in_episodes(store, now, held.values(), self._context.clock())
        ranked = sorted(held.values(), key=lambda each: (-best[each.id].score, -each.number))[:most]
        return tuple(
            EpisodeFound(
                episode=each,
                score=round(best[each.id].score, DECIMALS),
                channels=channels(best[each.id]),
                ended=over[each.id],
            )
            for each in ranked
        )

    def recent(
        self,
        limit: int = 5,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        project: str | None = None,
        task: str | None = None,
    ) -> tuple[Episode, ...]:
        """The latest episodes, newest first; the filters are those of `search`.

        Raises:
            NaiveDatetime: a time has no zone.
            InvalidPeriod: `since` is after `until`.
            InvalidInput: the limit is below 1.
        """
        most, about = arguments.whole(limit, "limit", least=1), _about(project, task)
        at, (first, last) = self._now(), validation.period(since, until)
        with self._context.open() as store, store.reading() as connection:
            found = episodes.latest(connection, store.key, most, at=at, since=first, until=last, **about)
            return tuple(found)

    def ended(self, known: Iterable[Episode]) -> dict[str, tuple[str, ...]]:
        """For each episode by id, what the user said later that contradicts its summary; empty if nothing.

        Raises:
            InvalidInput: `known` holds something else.
        """
        about = arguments.instances(known, "known", Episode, "episodes")
        with self._context.open() as store, store.reading() as connection:
            return standing.in_episodes(store, moment(connection, store.key), about, self._context.clock())

    def of_session(self, session: str) -> tuple[Episode, ...]:
        """The episodes of a session, in the order they were archived."""
        wanted = arguments.text(session, "session")
        with self._context.open() as store, store.reading() as connection:
            return tuple(episodes.of_session(connection, store.key, wanted))

    def keep(self, episode_id: str) -> Episode | None:
        """Keep an episode from expiring; the episode as it is now.

        None, as from `get`, if there is no such episode: it never existed, was deleted, or was pruned.
        """
        wanted = arguments.text(episode_id, "episode_id")
        with self._context.open() as store, store.writing() as connection:
            known = episodes.by_ids(connection, store.key, [wanted]).get(wanted)
            if known is not None and known.expires_at is not None:
                episodes.keep(connection, store.key, known.number)
            return episodes.by_ids(connection, store.key, [wanted]).get(wanted)

    def delete(self, episode_id: str) -> bool:
        """Delete an episode and its index entries, so that it is not written again; returns whether it existed.

        What was said stays in the drawers.
        """
        unwanted = arguments.text(episode_id, "episode_id")
        with self._context.open() as store, store.writing() as connection:
            gone = list(episodes.by_ids(connection, store.key, [unwanted]).values())
            delete_episodes(connection, store.key, gone, self._now())
        return bool(gone)

    def prune(self) -> int:
        """Delete expired episodes and return their number. The background does so as well."""
        with self._context.open() as store, store.writing() as connection:
            gone = episodes.expired(connection, store.key, self._now())
            episodes.remove(connection, store.key, gone, self._now())
        return len(gone)

    def count_recalled(self, ids: Collection[str]) -> None:
        """Count episodes as shown to a model."""
        shown = arguments.texts(ids, "ids")
        with self._context.open() as store, store.writing(durable=False) as connection:
            episodes.count_recalled(connection, store.key, shown, self._now())

    awrite = twin(write)
    aget = twin(get)
    asearch = twin(search)
    arecent = twin(recent)
    aended = twin(ended)
    aof_session = twin(of_session)
    akeep = twin(keep)
    adelete = twin(delete)
    aprune = twin(prune)
    acount_recalled = twin(count_recalled)

    @contextmanager
    def _writer(self) -> Iterator[EpisodeWriter]:
        """The writer of episodes; the background then embeds what is new."""
        with self._context.open() as store:
            yield EpisodeWriter(self._context, store)
        self._context.wake()

    def _now(self) -> int:
        return to_millis(self._context.clock())


def delete_episodes(connection: Connection, space: str, gone: Sequence[Episode], at: int) -> None:
    """Delete episodes with all that shows them, such as recalls and dreams, so that they are not written again."""
    for each in gone:
        episodes.bury(connection, space, each, at)
    episodes.remove(connection, space, gone, at)
    dreams.forget(connection, space, [each.id for each in gone])
    receipts.forget(connection, space, [each.id for each in gone], kind="episode")
    if gone:
        purging.request(connection, space, at=at)


def _about(project: str | None, task: str | None) -> dict[str, str | None]:
    return {"project": arguments.optional_name(project, "project"), "task": arguments.optional_name(task, "task")}


def _episode(source: SpaceContext, episode_id: str) -> Episode | None:
    with source.open() as store, store.reading() as connection:
        return episodes.by_ids(connection, store.key, [episode_id]).get(episode_id)


def _best_first(found: EpisodeFound) -> float:
    return -found.score


def _latest_first(found: EpisodeFound) -> int:
    return -to_millis(found.episode.ended_at)
