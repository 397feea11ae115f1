"""What happened in a period: the sessions and the tasks of it, with what was decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidPeriod
from langmem_tiers.knowledge import summaries
from langmem_tiers.knowledge.episode_writer import EpisodeWriter
from langmem_tiers.language.characters import one_line
from langmem_tiers.language.questions import asked_period
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.pointers import Pointer
from langmem_tiers.records import Entry, Episode, Said, Task, TaskStatus
from langmem_tiers.storage import change_log, entries, episodes, progress, tasks, turn_counts
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.turn_counts import SessionTurns, TaskTurns

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.language.periods import When
    from langmem_tiers.store import SpaceStore

ReportKind = Literal["all", "tasks"]
"""Sessions and tasks, or tasks only."""

_DECISIONS = "decisions"
_ABSTRACT = 300  # characters
_MINUTE = 60_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionReport:
    """A session of a period: what was said in it then, from `began_at` to `ended_at`.

    `abstracts` are those of its summaries; unless it is `archived` to its end, the last one is of what was said since.
    `running` says that it goes on. `pointer` is that of its room, `episodes` are the ids of its summaries.
    """

    session: str
    pointer: str
    project: str | None
    began_at: datetime
    ended_at: datetime
    turns: int
    running: bool
    archived: bool
    abstracts: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskReport:
    """A task that was begun, changed, spoken in or closed in a period; `turns` counts what was said in it then.

    `abstract` is that of its archive or, of an open task, the beginning of its working state. `status` is None for a
    task that turns name and that was never begun here.
    """

    id: str
    title: str
    status: TaskStatus | None
    project: str | None
    began_at: datetime
    closed_at: datetime | None = None
    turns: int = 0
    abstract: str = ""
    topics: tuple[str, ...] = ()
    episode: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What happened from `since` until just before `until`; each list in the order of time.

    `decisions` are the entries on what was decided then. `left_out` counts the older sessions and tasks over the limit.
    """

    since: datetime
    until: datetime
    kind: ReportKind
    project: str | None
    sessions: tuple[SessionReport, ...] = ()
    tasks: tuple[TaskReport, ...] = ()
    decisions: tuple[Entry, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.sessions or self.tasks or self.decisions)

    @property
    def title(self) -> str:
        """Its days: "2026-02-23 to 2026-03-01, project infra"."""
        last = self.until - timedelta(milliseconds=1)
        days = [f"{self.since:%Y-%m-%d}", *([] if self.since.date() == last.date() else [f"{last:%Y-%m-%d}"])]
        return " to ".join(days) + (f", project {self.project}" if self.project else "")

    @property
    def sections(self) -> dict[str, list[str]]:
        """Its lines by heading, for people: no heading without lines."""
        found = {
            "Tasks": [_task_line(each) for each in self.tasks],
            "Sessions": [_session_line(each) for each in self.sessions],
            "Decisions": [f"{each.said_at:%Y-%m-%d} {one_line(each.content)} [{each.id}]" for each in self.decisions],
        }
        return {heading: lines for heading, lines in found.items() if lines}

    @property
    def markdown(self) -> str:
        """The report as a page in Markdown; an empty one says that nothing is known."""
        lines = [f"# {self.title}", ""]
        for heading, shown in self.sections.items():
            lines += [f"## {heading}", "", *(f"- {line}" for line in shown), ""]
        lines += [] if self else ["Nothing is known of this time.", ""]
        lines += [f"({self.left_out:,} older ones are left out.)", ""] if self.left_out else []
        return "\n".join(lines)


def report(
    context: SpaceContext,
    period: When | None,
    *,
    since: When | None,
    until: When | None,
    kind: ReportKind,
    project: str | None,
    limit: int,
) -> Report:
    """What happened in a period; see `Space.report`."""
    which: ReportKind = arguments.one_of(kind, "kind", get_args(ReportKind))
    about, most = arguments.optional_name(project, "project"), arguments.whole(limit, "limit", least=1)
    first, last = _bounds(period, since, until, context.now)
    with context.open() as store, store.reading() as connection:
        made = _Reporting(context, store, connection, to_millis(first), to_millis(last), about)
        spoken_in = made.spoken_in() if which == "all" else []
        worked_on = made.worked_on()
        return Report(
            since=first,
            until=last,
            kind=which,
            project=about,
            sessions=tuple(made.sessions(spoken_in[-most:])),
            tasks=tuple(made.with_archives(worked_on[-most:])),
            decisions=tuple(made.decisions({each.id for each in worked_on} if which == "tasks" else None)),
            left_out=max(0, len(spoken_in) - most) + max(0, len(worked_on) - most),
        )


def _bounds(period: When | None, since: When | None, until: When | None, now: datetime) -> tuple[datetime, datetime]:
    """The first moment of a period, and the first one after it.

    Raises:
        InvalidPeriod: it is named twice or not at all, is no period, or ends before it begins.
    """
    given = (("period", period), ("since", since), ("until", until))
    asked = {name: _asked(when, name, now) for name, when in given if when is not None}
    if "period" in asked:
        if len(asked) > 1:
            raise InvalidPeriod("The period is given twice.", way_out="Give the period, or `since` and `until`.")
        return asked["period"]
    if "since" not in asked:
        raise InvalidPeriod("The report has no beginning.", way_out="Give a period such as 'last week', or `since`.")
    first, last = asked["since"][0], asked["until"][1] if "until" in asked else now
    if last <= first:
        raise InvalidPeriod(f"The period ends at {last:%Y-%m-%d %H:%M}, before it begins at {first:%Y-%m-%d %H:%M}.")
    return first, last


def _asked(when: When, name: str, now: datetime) -> tuple[datetime, datetime]:
    """Both ends of the period that an argument names."""
    try:
        return asked_period(when, now=now)
    except InvalidPeriod as error:
        raise InvalidPeriod(f"The argument `{name}`: {error.message}", way_out=error.way_out) from error


@dataclass
class _Reporting:
    """Reads what happened in a period, as one transaction sees it."""

    context: SpaceContext
    store: SpaceStore
    connection: Connection
    since: int
    until: int
    project: str | None

    def spoken_in(self) -> list[SessionTurns]:
        """The sessions in which something was said, the latest to end last."""
        return turn_counts.by_session(self.connection, self.store.key, self.since, self.until, self.project)

    def sessions(self, wanted: Sequence[SessionTurns]) -> list[SessionReport]:
        """What was said in these sessions; what is not archived is summed up here."""
        unarchived = {each.room: each.done for each in episodes.unarchived(self.connection, self.store.key)}
        return [self._session(each, unarchived.get(each.room)) for each in wanted]

    def worked_on(self) -> list[TaskReport]:
        """The tasks that were begun, changed, closed or spoken in, in the order in which they were begun.

        They do not say yet what their archives do.
        """
        said = turn_counts.by_task(self.connection, self.store.key, self.since, self.until)
        known = {each.id: each for each in tasks.find(self.connection, self.store.key)}
        changed = self._changed()
        touched = (each for each in known.values() if each.id in said or self._is_of_period(each, changed))
        found = [self._task(each, said.get(each.id)) for each in touched]
        found += [
            TaskReport(
                id=name,
                title=name,
                status=None,
                project=each.project,
                began_at=from_millis(each.first),
                turns=each.turns,
            )
            for name, each in said.items()
            if name not in known
        ]
        wanted = [each for each in found if self.project in (None, each.project)]
        return sorted(wanted, key=lambda each: (each.began_at, each.id))

    def with_archives(self, worked_on: Sequence[TaskReport]) -> Iterator[TaskReport]:
        """These tasks, the closed ones with what their archives say."""
        ids = [each.episode for each in worked_on if each.episode]
        archives = episodes.by_ids(self.connection, self.store.key, ids)
        for each in worked_on:
            archive = None if each.status == "open" else archives.get(each.episode or "")
            yield each if archive is None else replace(each, abstract=archive.abstract, topics=archive.topics)

    def decisions(self, of_tasks: Collection[str] | None) -> list[Entry]:
        """What was decided, of these tasks if any are given."""
        holding = Filters(category=_DECISIONS, status="active", project=self.project)
        found = entries.find(self.connection, self.store.key, holding, -1)
        said = [each for each in found if self._is_within(each.said_at)]
        wanted = said if of_tasks is None else [each for each in said if each.task in of_tasks]
        return sorted(wanted, key=lambda each: (each.said_at, each.number))

    @lazy_property
    def _summaries(self) -> dict[str, list[Episode]]:
        """The summaries of sessions that overlap the period, oldest first, by session."""
        at, by_session = to_millis(self.context.now), defaultdict[str, list[Episode]](list)
        within: dict[str, Any] = {"at": at, "since": self.since, "until": self.until - 1}
        for each in reversed(episodes.latest(self.connection, self.store.key, None, **within)):
            if not each.of_task:
                by_session[each.session].append(each)
        return by_session

    def _session(self, turns: SessionTurns, archived_to: int | None) -> SessionReport:
        told = self._summaries.get(turns.session, [])
        abstracts = [each.abstract for each in told if each.abstract]
        topics = [topic for each in told for topic in each.topics]
        if archived_to is not None or not told:
            said = self._said(turns.room, after=archived_to or 0)
            draft = summaries.draft(said, turns.session, None, self.context.settings)
            abstracts += [draft.abstract] if draft is not None and draft.abstract else []
            topics += () if draft is None else draft.topics
        idle = to_millis(self.context.now) - self.context.settings.sessions.idle_minutes * _MINUTE
        return SessionReport(
            session=turns.session,
            pointer=str(Pointer(turns.wing, turns.address, None)),
            project=turns.project,
            began_at=from_millis(turns.first),
            ended_at=from_millis(turns.last),
            turns=turns.turns,
            running=turns.ended_at is None and turns.touched_at > idle,
            archived=archived_to is None,
            abstracts=tuple(dict.fromkeys(abstracts)),
            topics=tuple(dict.fromkeys(topics)),
            episodes=tuple(each.id for each in told),
        )

    def _said(self, room: int, *, after: int) -> list[Said]:
        """What was said in a room in the period, behind a place."""
        standing = progress.standing(self.connection, self.store.key, room, after=after)
        within = (turn for turn in standing if self._is_within(turn.said_at))
        return EpisodeWriter(self.context, self.store).shown(self.connection, within)

    def _task(self, task: Task, said: TaskTurns | None) -> TaskReport:
        return TaskReport(
            id=task.id,
            title=task.title,
            status=task.status,
            project=task.project,
            began_at=task.created_at,
            closed_at=task.closed_at,
            turns=0 if said is None else said.turns,
            abstract=one_line(task.state, _ABSTRACT),
            episode=task.episode,
        )

    def _changed(self) -> set[str]:
        """The ids of the tasks that were begun, changed or closed in the period, as the change log says."""
        within = {"since": self.since, "until": self.until}
        return change_log.details(self.connection, self.store.key, "task.changed", **within)

    def _is_of_period(self, task: Task, changed: Collection[str]) -> bool:
        """Whether something was done about a task.

        What was changed before it was begun was another one of the same id. Tasks that a migration made are not in the
        change log.
        """
        moments = (task.created_at, task.closed_at)
        begun = to_millis(task.created_at) < self.until
        return (begun and task.id in changed) or any(each is not None and self._is_within(each) for each in moments)

    def _is_within(self, moment: datetime) -> bool:
        return self.since <= to_millis(moment) < self.until


def _task_line(task: TaskReport) -> str:
    status = task.status or "never begun here"
    about = [f"{status} {task.closed_at:%Y-%m-%d}" if task.closed_at else status, *filter(None, [task.project])]
    told = f": {one_line(task.abstract)}" if task.abstract else ""
    marks = [f"task {task.id}", *([f"episode {task.episode}"] if task.episode else []), *_turns(task.turns)]
    return f"{task.began_at:%Y-%m-%d} {one_line(task.title)} ({', '.join(about)}){told} [{'; '.join(marks)}]"


def _session_line(session: SessionReport) -> str:
    days = dict.fromkeys((f"{session.began_at:%Y-%m-%d}", f"{session.ended_at:%Y-%m-%d}"))
    about = [*filter(None, [session.project]), *(["running"] if session.running else [])]
    about += [] if session.archived else ["not archived yet"]
    marks = [session.pointer, *(f"episode {each}" for each in session.episodes), *_turns(session.turns)]
    told = " ".join(map(one_line, session.abstracts)) or f"about {', '.join(session.topics) or 'nothing in particular'}"
    status = f" ({', '.join(about)})" if about else ""
    return f"{' to '.join(days)} {one_line(session.session)}{status}: {told} [{'; '.join(marks)}]"


def _turns(count: int) -> Iterator[str]:
    if count:
        yield f"{count:,} {'turn' if count == 1 else 'turns'}"
